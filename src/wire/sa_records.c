/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that hold an attribute of subnet management, and services. */
#include "wire/fields.h"
#include "wire/sa.h"

#define RECORD_HEADER  4 /* in front of the attribute */
#define DESCRIPTION_AT 44

/* spec/sa-sm 4.1 */
static const struct wire_field node_fields[] = {
	WIRE_BYTES(struct sa_node_record, lid, 0),
	WIRE_BYTES(struct sa_node_record, description, DESCRIPTION_AT),
};
static const struct wire_format node_format =
	WIRE_FORMAT(0, SA_NODE_RECORD_BYTES, node_fields);

static const struct wire_field port_fields[] = {
	WIRE_BYTES(struct sa_port_record, lid, 0),
	WIRE_BYTES(struct sa_port_record, port, 2),
	WIRE_BYTES(struct sa_port_record, options, 3),
};
static const struct wire_format port_format =
	WIRE_FORMAT(0, SA_PORT_RECORD_BYTES, port_fields);

#define S(name, byte) WIRE_BYTES(struct sa_service, name, byte)
/* spec/sa-sm 4.4, spec/kernel 5.6 */
static const struct wire_field service_fields[] = {
	S(id, 0),          S(gid, 8),         S(pkey, 24),       S(lease, 28),
	S(key, 32),        S(name, 48),       S(data8, 112),     S(data16[0], 128),
	S(data16[1], 130), S(data16[2], 132), S(data16[3], 134), S(data16[4], 136),
	S(data16[5], 138), S(data16[6], 140), S(data16[7], 142), S(data32[0], 144),
	S(data32[1], 148), S(data32[2], 152), S(data32[3], 156), S(data64[0], 160),
	S(data64[1], 168),
};
static const struct wire_format service_format =
	WIRE_FORMAT(0, SA_SERVICE_BYTES, service_fields);

void sa_node_record_get(const uint8_t data[SA_NODE_RECORD_BYTES],
			struct sa_node_record *ret)
{
	wire_get(&node_format, data, ret);
	smp_node_info_get(data + RECORD_HEADER, &ret->info);
}

void sa_node_record_put(uint8_t data[SA_NODE_RECORD_BYTES],
			const struct sa_node_record *rec)
{
	wire_put(&node_format, data, rec);
	smp_node_info_put(data + RECORD_HEADER, &rec->info);
}

void sa_port_record_get(const uint8_t data[SA_PORT_RECORD_BYTES],
			struct sa_port_record *ret)
{
	wire_get(&port_format, data, ret);
	smp_port_info_get(data + RECORD_HEADER, &ret->info);
}

void sa_port_record_put(uint8_t data[SA_PORT_RECORD_BYTES],
			const struct sa_port_record *rec)
{
	wire_put(&port_format, data, rec);
	smp_port_info_put(data + RECORD_HEADER, &rec->info);
}

void sa_service_get(const uint8_t data[SA_SERVICE_BYTES], struct sa_service *ret)
{
	wire_get(&service_format, data, ret);
}

void sa_service_put(uint8_t data[SA_SERVICE_BYTES], const struct sa_service *rec)
{
	wire_put(&service_format, data, rec);
}
