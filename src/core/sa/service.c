/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Service records (spec/kernel 5.6), whose form in memory is the wire's; asking for one,
 * setting and deleting, and asking for all.
 */
#include <stdlib.h>
#include <string.h>

#include "core/sa/sa_priv.h"

_Static_assert(sizeof(struct sa_service_rec) == SA_SERVICE_BYTES, "the wire's layout");

void ib_sa_pack_service(const struct sa_service_rec *rec, void *attribute)
{
	struct sa_service_rec wire = *rec;

	memset(wire.reserved, 0, sizeof(wire.reserved));
	memcpy(attribute, &wire, sizeof(wire));
}

void ib_sa_unpack_service(const void *attribute, struct sa_service_rec *rec)
{
	struct sa_service_rec wire;

	memcpy(&wire, attribute, sizeof(wire));
	memcpy(wire.reserved, rec->reserved, sizeof(wire.reserved));
	*rec = wire;
}

static int query_service(const struct sa_ask *ask, const struct sa_user_query *model,
			 const struct sa_service_rec *rec)
{
	struct sa_ask with_record = *ask;
	u8 record[SA_SERVICE_BYTES];

	ib_sa_pack_service(rec, record);
	with_record.request.record = record;
	with_record.request.record_bytes = sizeof(record);
	return ib_sa_user_query(&with_record, model);
}

/* -- one ---------------------------------------------------------------------------- */

static void tell(struct sa_user_query *query, int status, const u8 *mad, size_t length)
{
	struct sa_service_rec rec = { 0 };

	(void)length;
	if (mad)
		ib_sa_unpack_service(mad + SA_DATA, &rec);
	query->callback.service(status, mad ? &rec : NULL, query->context);
}

int ib_sa_service_rec_query(struct ib_sa_client *client, struct ib_device *device,
			    u32 port_num, u8 method, const struct sa_service_rec *rec,
			    ib_sa_comp_mask comp_mask, u32 timeout_ms,
			    void (*callback)(int status, const struct sa_service_rec *rec,
					     void *context),
			    void *context, struct ib_sa_query **query)
{
	struct sa_ask ask = {
		.client = client,
		.device = device,
		.port_num = port_num,
		.request = { .method = method,
			     .attribute = SA_SERVICE_RECORD,
			     .comp_mask = comp_mask,
			     .timeout_ms = timeout_ms },
		.ret_query = query,
	};
	struct sa_user_query model = { .tell = tell,
				       .context = context,
				       .callback = { .service = callback } };

	if (method != MAD_METHOD_GET && method != MAD_METHOD_SET &&
	    method != MAD_METHOD_DELETE)
		return -EINVAL;
	return query_service(&ask, &model, rec);
}

/* -- all ---------------------------------------------------------------------------- */

/* How many records there are; their stride is the SA's to choose (spec/sa-sm 1.1). */
static unsigned int count_records(const u8 *mad, size_t length, size_t *ret_stride)
{
	struct sa_header header;

	sa_header_get(mad, &header);
	*ret_stride = (size_t)header.attr_offset * 8;
	if (*ret_stride < SA_SERVICE_BYTES || length < SA_DATA)
		return 0;
	return (unsigned int)((length - SA_DATA + *ret_stride - SA_SERVICE_BYTES) /
			      *ret_stride);
}

static void tell_all(struct sa_user_query *query, int status, const u8 *mad,
		     size_t length)
{
	struct sa_service_rec *recs = NULL;
	unsigned int count = 0;
	size_t stride = 0;

	if (mad)
		count = count_records(mad, length, &stride);
	if (count)
		recs = calloc(count, sizeof(*recs));
	if (count && !recs) {
		status = -ENOMEM;
		count = 0;
	}
	for (unsigned int i = 0; i < count; i++)
		ib_sa_unpack_service(mad + SA_DATA + i * stride, &recs[i]);
	query->callback.services(status, recs, count, query->context);
	free(recs);
}

int ib_sa_service_rec_get(struct ib_sa_client *client, struct ib_device *device,
			  u32 port_num, const struct sa_service_rec *rec,
			  ib_sa_comp_mask comp_mask, u32 timeout_ms,
			  void (*callback)(int status, const struct sa_service_rec *recs,
					   unsigned int count, void *context),
			  void *context, struct ib_sa_query **query)
{
	struct sa_ask ask = {
		.client = client,
		.device = device,
		.port_num = port_num,
		.request = { .method = MAD_METHOD_GET_TABLE,
			     .attribute = SA_SERVICE_RECORD,
			     .comp_mask = comp_mask,
			     .timeout_ms = timeout_ms },
		.ret_query = query,
	};
	struct sa_user_query model = { .tell = tell_all,
				       .context = context,
				       .callback = { .services = callback } };

	return query_service(&ask, &model, rec);
}
