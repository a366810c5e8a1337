/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's interfaces as RoCE devices follow them: what there is at a moment, and a
 * word when that may have changed.
 *
 * The monitor says nothing of what changed: whoever hears it looks at everything anew. So
 * nothing is lost when the kernel has more to say than its socket holds, and a change
 * that was taken back meanwhile is none.
 */
#ifndef CORE_ADDR_LINKS_H
#define CORE_ADDR_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDR_LINK_NAME_MAX 16

struct addr_link {
	uint32_t ifindex;
	char name[ADDR_LINK_NAME_MAX];
	uint32_t mtu;
	bool loopback;
	bool up;      /* switched on */
	bool carrier; /* and something answers at the other end */
	bool has_mac;
	uint8_t mac[6];
};

/* An address as a GID: IPv4 ones v4-mapped. Tentative IPv6 ones are none yet. */
struct addr_local {
	uint32_t ifindex;
	uint8_t gid[16];
};

struct addr_links {
	struct addr_link *links; /* by ifindex */
	size_t link_count;
	struct addr_local *locals; /* IPv4 first, else in the kernel's order */
	size_t local_count;
	uint32_t default_ifindex; /* of the best default route; 0: there is none */
};

/* What is there now, in the network namespace of the calling thread. 0, -ENOMEM, or
 * -ENOBUFS: rtnetlink does not answer. */
int addr_links_read(struct addr_links *ret);
void addr_links_free(struct addr_links *l);

const struct addr_link *addr_links_find(const struct addr_links *l, uint32_t ifindex);
const struct addr_link *addr_links_named(const struct addr_links *l, const char *name);

/* The GID that Linux makes of an Ethernet address: fe80:: and its EUI-64. */
void addr_gid_from_mac(const uint8_t mac[6], uint8_t gid[16]);

struct addr_monitor;

int addr_monitor_open(struct addr_monitor **ret);
void addr_monitor_close(struct addr_monitor *m);
/* Readable when there is something to be read by the next call. */
int addr_monitor_fd(const struct addr_monitor *m);
/* Never waits. True: interfaces, addresses or default routes may differ now. */
bool addr_monitor_read(struct addr_monitor *m);

#endif
