// SPDX-License-Identifier: BSD-2-Clause
/*
 * The Ethernet address that stands for a GID. Provider libraries of real adapters ask for
 * it; on the machine's own device nothing is sent to an Ethernet address.
 */
#include <errno.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "shim/export.h"
#include "wire/gid.h"

#define ETH_BYTES 6

/* RFC 1112 and RFC 2464: the low 23 or 32 bits of the group's address. */
static int multicast_address(const uint8_t gid[16], uint8_t mac[ETH_BYTES])
{
	if (!gid_is_multicast(gid))
		return -EADDRNOTAVAIL;
	if (gid_is_v4_mapped(gid)) {
		memcpy(mac, "\x01\x00\x5e", 3);
		mac[3] = gid[13] & 0x7f;
		memcpy(mac + 4, gid + 14, 2);
		return 0;
	}
	memcpy(mac, "\x33\x33", 2);
	memcpy(mac + 2, gid + 12, 4);
	return 0;
}

/* The interface identifier of a link-local address holds it, with a bit turned over. */
static int link_local_address(const uint8_t gid[16], uint8_t mac[ETH_BYTES])
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	if (memcmp(gid, prefix, sizeof(prefix)) != 0 || gid[11] != 0xff ||
	    gid[12] != 0xfe)
		return -EADDRNOTAVAIL;
	memcpy(mac, gid + 8, 3);
	memcpy(mac + 3, gid + 13, 3);
	mac[0] ^= 2;
	return 0;
}

/* 0 or a negative errno. */
VC_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
					  struct ibv_ah_attr *attr,
					  uint8_t mac[ETH_BYTES], uint16_t *vid)
{
	const uint8_t *gid = attr->grh.dgid.raw;

	*vid = 0xffff; /* none */
	if (multicast_address(gid, mac) == 0)
		return 0;
	return link_local_address(gid, mac);
}
