/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast member records: the kernel's form and the wire's, component masks, and
 * questions about them that join nothing (spec/kernel 2.2, 2.11).
 */
#include <endian.h>

#include "core/sa/sa_priv.h"

ib_sa_comp_mask ib_sa_comp_mask_from_host(u64 mask)
{
	return (ib_sa_comp_mask){ .mask = htobe64(mask) };
}

u64 ib_sa_comp_mask_to_host(ib_sa_comp_mask mask)
{
	return be64toh(mask.mask);
}

void ib_sa_pack_mcmember(const struct ib_sa_mcmember_rec *rec, void *attribute)
{
	struct sa_mcmember wire = {
		.mgid = rec->mgid,
		.port_gid = rec->port_gid,
		.qkey = be32toh(rec->qkey),
		.mlid = be16toh(rec->mlid),
		.mtu_selector = rec->mtu_selector & 0x3,
		.mtu = rec->mtu & 0x3f,
		.tclass = rec->traffic_class,
		.pkey = be16toh(rec->pkey),
		.rate_selector = rec->rate_selector & 0x3,
		.rate = rec->rate & 0x3f,
		.lifetime_selector = rec->packet_life_time_selector & 0x3,
		.lifetime = rec->packet_life_time & 0x3f,
		.sl = rec->sl & 0xf,
		.flow_label = be32toh(rec->flow_label) & 0xfffff,
		.hop_limit = rec->hop_limit,
		.scope = rec->scope & 0xf,
		.join_state = rec->join_state & 0xf,
		.proxy_join = rec->proxy_join & 0x1,
	};

	sa_mcmember_put(attribute, &wire);
}

void ib_sa_unpack_mcmember(const void *attribute, struct ib_sa_mcmember_rec *rec)
{
	struct sa_mcmember wire;

	sa_mcmember_get(attribute, &wire);
	*rec = (struct ib_sa_mcmember_rec){
		.mgid = wire.mgid,
		.port_gid = wire.port_gid,
		.qkey = htobe32(wire.qkey),
		.mlid = htobe16(wire.mlid),
		.mtu_selector = wire.mtu_selector,
		.mtu = wire.mtu,
		.traffic_class = wire.tclass,
		.pkey = htobe16(wire.pkey),
		.rate_selector = wire.rate_selector,
		.rate = wire.rate,
		.packet_life_time_selector = wire.lifetime_selector,
		.packet_life_time = wire.lifetime,
		.sl = wire.sl,
		.flow_label = htobe32(wire.flow_label),
		.hop_limit = wire.hop_limit,
		.scope = wire.scope,
		.join_state = wire.join_state,
		.proxy_join = wire.proxy_join,
	};
}

static void tell(struct sa_user_query *query, int status, const u8 *mad, size_t length)
{
	struct ib_sa_mcmember_rec rec;

	(void)length;
	if (mad)
		ib_sa_unpack_mcmember(mad + SA_DATA, &rec);
	query->callback.mcmember(status, mad ? &rec : NULL, query->context);
}

int ib_sa_mcmember_rec_query(
	struct ib_sa_client *client, struct ib_device *device, u32 port_num, u8 method,
	const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask, u32 timeout_ms,
	void (*callback)(int status, const struct ib_sa_mcmember_rec *rec, void *context),
	void *context, struct ib_sa_query **query)
{
	u8 record[SA_MCMEMBER_BYTES];
	struct sa_ask ask = {
		.client = client,
		.device = device,
		.port_num = port_num,
		.request = { .method = method,
			     .attribute = SA_MCMEMBER_RECORD,
			     .comp_mask = comp_mask,
			     .record = record,
			     .record_bytes = sizeof(record),
			     .timeout_ms = timeout_ms },
		.ret_query = query,
	};
	struct sa_user_query model = { .tell = tell,
				       .context = context,
				       .callback = { .mcmember = callback } };

	if (method != MAD_METHOD_GET && method != MAD_METHOD_SET &&
	    method != MAD_METHOD_DELETE)
		return -EINVAL;
	ib_sa_pack_mcmember(rec, record);
	return ib_sa_user_query(&ask, &model);
}
