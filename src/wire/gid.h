/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Global identifiers: 16 bytes in network order, and what an IPv4 address looks like in
 * them. Pure functions.
 */
#ifndef WIRE_GID_H
#define WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

union ib_gid {
	uint8_t raw[16];
};

/* ::ffff:a.b.c.d */
bool gid_is_v4_mapped(const uint8_t gid[16]);
/* First byte 0xff, or a v4-mapped address in 224.0.0.0/4; nothing else is looked at
 * (spec/kernel 0.2). */
bool gid_is_multicast(const uint8_t gid[16]);
bool gid_is_zero(const uint8_t gid[16]);
/* `addr` in network order. */
void gid_from_ipv4(uint8_t gid[16], uint32_t addr);
uint32_t gid_to_ipv4(const uint8_t gid[16]);
static inline bool gid_equal(const uint8_t a[16], const uint8_t b[16])
{
	return memcmp(a, b, 16) == 0;
}

#endif
