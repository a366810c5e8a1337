// SPDX-License-Identifier: BSD-2-Clause
/*
 * The buffer of a MAD: an ib_user_mad header of 64 bytes with its address, and the MAD
 * behind it (spec/userland 4.1). Pure accessors.
 *
 * Differs: the stock library starts with a header of 56 bytes, for kernels without
 * P_Key index, and grows it when a port is opened. Ours is 64 from the start, so that a
 * size asked for early stays right.
 */
#include <endian.h>
#include <infiniband/umad.h>
#include <string.h>

#include "shim/export.h"

_Static_assert(sizeof(struct ib_user_mad) == 64, "umad ABI");

static ib_mad_addr_t *addr_of(void *umad)
{
	struct ib_user_mad *mad = umad;

	return &mad->addr;
}

VC_EXPORT size_t umad_size(void)
{
	return sizeof(struct ib_user_mad);
}

VC_EXPORT void *umad_get_mad(void *umad)
{
	struct ib_user_mad *mad = umad;

	return mad->data;
}

VC_EXPORT int umad_status(void *umad)
{
	struct ib_user_mad *mad = umad;

	return mad->status;
}

VC_EXPORT ib_mad_addr_t *umad_get_mad_addr(void *umad)
{
	return addr_of(umad);
}

VC_EXPORT int umad_set_addr_net(void *umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey)
{
	ib_mad_addr_t *addr = addr_of(umad);

	addr->qpn = dqp;
	addr->lid = dlid;
	addr->qkey = qkey;
	addr->sl = sl;
	return 0;
}

VC_EXPORT int umad_set_addr(void *umad, int dlid, int dqp, int sl, int qkey)
{
	return umad_set_addr_net(umad, htobe16(dlid), htobe32(dqp), sl, htobe32(qkey));
}

/* `mad_addr` has its flow label in host order; NULL: no GRH. */
VC_EXPORT int umad_set_grh(void *umad, void *mad_addr)
{
	ib_mad_addr_t *to = addr_of(umad);
	const ib_mad_addr_t *from = mad_addr;

	to->grh_present = from != NULL;
	if (!from)
		return 0;
	memcpy(to->gid, from->gid, sizeof(to->gid));
	to->flow_label = htobe32(from->flow_label);
	to->hop_limit = from->hop_limit;
	to->traffic_class = from->traffic_class;
	return 0;
}

VC_EXPORT int umad_set_pkey(void *umad, int pkey_index)
{
	addr_of(umad)->pkey_index = pkey_index;
	return 0;
}

VC_EXPORT int umad_get_pkey(void *umad)
{
	return addr_of(umad)->pkey_index;
}
