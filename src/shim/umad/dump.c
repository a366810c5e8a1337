// SPDX-License-Identifier: BSD-2-Clause
/*
 * Printing to standard error what a caller asks to see.
 */
#include <endian.h>
#include <infiniband/umad.h>
#include <stdio.h>

#include "shim/export.h"

/* Kept for whoever asks; nothing here prints unasked. */
static int debug_level;

VC_EXPORT int umad_debug(int level)
{
	debug_level = level;
	return debug_level;
}

VC_EXPORT void umad_addr_dump(ib_mad_addr_t *addr)
{
	int i;

	fprintf(stderr, "qpn %u qkey 0x%x lid %u sl %u\n", be32toh(addr->qpn),
		be32toh(addr->qkey), be16toh(addr->lid), addr->sl);
	fprintf(stderr,
		"grh_present %u gid_index %u hop_limit %u traffic_class %u flow_label "
		"0x%x "
		"pkey_index 0x%x\n",
		addr->grh_present, addr->gid_index, addr->hop_limit, addr->traffic_class,
		be32toh(addr->flow_label), addr->pkey_index);
	fprintf(stderr, "gid 0x");
	for (i = 0; i < 16; i++)
		fprintf(stderr, "%02x", addr->gid[i]);
	fprintf(stderr, "\n");
}

VC_EXPORT void umad_dump(void *umad)
{
	struct ib_user_mad *mad = umad;

	fprintf(stderr, "agent %u status %x timeout %u ms\n", mad->agent_id, mad->status,
		mad->timeout_ms);
	umad_addr_dump(&mad->addr);
}
