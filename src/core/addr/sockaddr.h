/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket addresses as rdma_cm uses them: AF_INET, AF_INET6 and AF_IB. Pure functions; an
 * address of another family is nothing of what is asked and has size 0.
 */
#ifndef CORE_ADDR_SOCKADDR_H
#define CORE_ADDR_SOCKADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "wire/gid.h"

#ifndef AF_IB
#define AF_IB 27
#endif

/* The address of an InfiniBand service, a public layout of rdma_cm. Network order. */
struct addr_sockaddr_ib {
	sa_family_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t addr[16];
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope_id;
};

/* Bytes of an address of its family; 0: none that rdma_cm knows. */
size_t addr_size(const struct sockaddr *addr);
/* All of it zero bits (0.0.0.0, ::). */
bool addr_is_any(const struct sockaddr *addr);
/* 127.0.0.0/8, ::1. */
bool addr_is_loopback(const struct sockaddr *addr);
/* 224.0.0.0/4, ff00::/8. */
bool addr_is_multicast(const struct sockaddr *addr);
/* fe80::/10. */
bool addr_is_link_local(const struct sockaddr *addr);
/* The same host address; ports are not looked at, scopes only where they tell apart. */
bool addr_equal_host(const struct sockaddr *a, const struct sockaddr *b);
/* Host order; AF_IB has none. */
uint16_t addr_port(const struct sockaddr *addr);
void addr_set_port(struct sockaddr *addr, uint16_t port);
/* IPv4 becomes a v4-mapped GID, the other families' 16 bytes are GIDs. */
void addr_to_gid(const struct sockaddr *addr, uint8_t gid[16]);
/* The other way round, port 0; `scope_id` counts for link-local addresses. */
void addr_from_gid(struct sockaddr_storage *addr, const uint8_t gid[16],
		   uint32_t scope_id);
/* The wildcard of a family, port 0. */
void addr_set_any(struct sockaddr_storage *addr, sa_family_t family);

#endif
