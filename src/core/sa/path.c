/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Path records: the kernel's form and the wire's, and asking for one (spec/kernel 5.5).
 */
#include <endian.h>

#include "core/sa/sa_priv.h"

void ib_sa_pack_path(const struct sa_path_rec *rec, void *attribute)
{
	struct sa_path wire = {
		.service_id = be64toh(rec->service_id),
		.dgid = rec->dgid,
		.sgid = rec->sgid,
		.dlid = be16toh(rec->ib.dlid),
		.slid = be16toh(rec->ib.slid),
		.raw_traffic = rec->ib.raw_traffic & 0x1,
		.flow_label = be32toh(rec->flow_label) & 0xfffff,
		.hop_limit = rec->hop_limit,
		.tclass = rec->traffic_class,
		.reversible = rec->reversible & 0x1,
		.numb_path = rec->numb_path & 0x7f,
		.pkey = be16toh(rec->pkey),
		.qos_class = be16toh(rec->qos_class) & 0xfff,
		.sl = rec->sl & 0xf,
		.mtu_selector = rec->mtu_selector & 0x3,
		.mtu = rec->mtu & 0x3f,
		.rate_selector = rec->rate_selector & 0x3,
		.rate = rec->rate & 0x3f,
		.lifetime_selector = rec->packet_life_time_selector & 0x3,
		.lifetime = rec->packet_life_time & 0x3f,
		.preference = rec->preference,
	};

	sa_path_put(attribute, &wire);
}

void ib_sa_unpack_path(const void *attribute, struct sa_path_rec *rec)
{
	enum sa_path_rec_type rec_type = rec->rec_type;
	struct sa_path wire;

	sa_path_get(attribute, &wire);
	*rec = (struct sa_path_rec){
		.dgid = wire.dgid,
		.sgid = wire.sgid,
		.service_id = htobe64(wire.service_id),
		.flow_label = htobe32(wire.flow_label),
		.hop_limit = wire.hop_limit,
		.traffic_class = wire.tclass,
		.reversible = wire.reversible,
		.numb_path = wire.numb_path,
		.pkey = htobe16(wire.pkey),
		.qos_class = htobe16(wire.qos_class),
		.sl = wire.sl,
		.mtu_selector = wire.mtu_selector,
		.mtu = wire.mtu,
		.rate_selector = wire.rate_selector,
		.rate = wire.rate,
		.packet_life_time_selector = wire.lifetime_selector,
		.packet_life_time = wire.lifetime,
		.preference = wire.preference,
		.ib = { .dlid = htobe16(wire.dlid),
			.slid = htobe16(wire.slid),
			.raw_traffic = wire.raw_traffic },
		.rec_type = rec_type,
	};
}

static void tell(struct sa_user_query *query, int status, const u8 *mad, size_t length)
{
	struct sa_path_rec rec = { .rec_type = SA_PATH_REC_TYPE_IB };

	(void)length;
	if (mad)
		ib_sa_unpack_path(mad + SA_DATA, &rec);
	query->callback.path(status, mad ? &rec : NULL, query->context);
}

int ib_sa_path_rec_get(struct ib_sa_client *client, struct ib_device *device,
		       u32 port_num, const struct sa_path_rec *rec,
		       ib_sa_comp_mask comp_mask, u32 timeout_ms,
		       void (*callback)(int status, const struct sa_path_rec *rec,
					void *context),
		       void *context, struct ib_sa_query **query)
{
	u8 record[SA_PATH_BYTES];
	struct sa_ask ask = {
		.client = client,
		.device = device,
		.port_num = port_num,
		.request = { .method = MAD_METHOD_GET,
			     .attribute = SA_PATH_RECORD,
			     .comp_mask = comp_mask,
			     .record = record,
			     .record_bytes = sizeof(record),
			     .timeout_ms = timeout_ms },
		.ret_query = query,
	};
	struct sa_user_query model = { .tell = tell,
				       .context = context,
				       .callback = { .path = callback } };

	if (rec->rec_type != SA_PATH_REC_TYPE_IB)
		return -EINVAL;
	ib_sa_pack_path(rec, record);
	return ib_sa_user_query(&ask, &model);
}
