/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/gid.h"

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool gid_is_v4_mapped(const uint8_t gid[16])
{
	return memcmp(gid, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool gid_is_multicast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (gid_is_v4_mapped(gid) && (gid[12] & 0xf0) == 0xe0);
}

bool gid_is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

void gid_from_ipv4(uint8_t gid[16], uint32_t addr)
{
	memcpy(gid, v4_prefix, sizeof(v4_prefix));
	memcpy(gid + 12, &addr, sizeof(addr));
}

uint32_t gid_to_ipv4(const uint8_t gid[16])
{
	uint32_t addr;

	memcpy(&addr, gid + 12, sizeof(addr));
	return addr;
}
