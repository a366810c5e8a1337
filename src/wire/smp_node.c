/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node says of itself and of its subnet manager. */
#include "wire/fields.h"
#include "wire/smp.h"

#define N(name, byte) WIRE_BYTES(struct smp_node_info, name, byte)
/* spec/sa-sm 3.5 */
static const struct wire_field node_fields[] = {
	N(base_version, 0), N(class_version, 1),
	N(node_type, 2),    N(num_ports, 3),
	N(sys_guid, 4),     N(node_guid, 12),
	N(port_guid, 20),   N(partition_cap, 28),
	N(device_id, 30),   N(revision, 32),
	N(local_port, 36),  WIRE_BITS(struct smp_node_info, vendor_id, 37, 0, 24),
};
static const struct wire_format node_format = WIRE_FORMAT(0, 40, node_fields);

/* spec/sa-sm 2.6 */
static const struct wire_field sm_fields[] = {
	WIRE_BYTES(struct smp_sm_info, guid, 0),
	WIRE_BYTES(struct smp_sm_info, sm_key, 8),
	WIRE_BYTES(struct smp_sm_info, act_count, 16),
	WIRE_BITS(struct smp_sm_info, priority, 20, 0, 4),
	WIRE_BITS(struct smp_sm_info, state, 20, 4, 4),
};
static const struct wire_format sm_format = WIRE_FORMAT(0, 21, sm_fields);

void smp_node_info_get(const uint8_t data[40], struct smp_node_info *ret)
{
	wire_get(&node_format, data, ret);
}

void smp_node_info_put(uint8_t data[40], const struct smp_node_info *info)
{
	wire_put(&node_format, data, info);
}

void smp_sm_info_get(const uint8_t data[21], struct smp_sm_info *ret)
{
	wire_get(&sm_format, data, ret);
}

void smp_sm_info_put(uint8_t data[21], const struct smp_sm_info *info)
{
	wire_put(&sm_format, data, info);
}
