/* SPDX-License-Identifier: BSD-2-Clause */
/* The header of subnet administration, and what stands for itself behind it. */
#include "wire/sa.h"

#include "wire/fields.h"

/* spec/sa-sm 1.1 */
static const struct wire_field header_fields[] = {
	WIRE_BYTES(struct sa_header, sm_key, 36),
	WIRE_BYTES(struct sa_header, attr_offset, 44),
	WIRE_BYTES(struct sa_header, comp_mask, 48),
};
static const struct wire_format header_format =
	WIRE_FORMAT(RMPP_HEADER_BYTES, SA_DATA, header_fields);

#define C(name, byte) WIRE_BYTES(struct sa_class_port_info, name, byte)
#define B(name, byte, skip, bits) \
	WIRE_BITS(struct sa_class_port_info, name, byte, skip, bits)
/* spec/sa-sm 4.2 */
static const struct wire_field class_port_fields[] = {
	C(base_version, 0),        C(class_version, 1),   C(cap_mask, 2),
	B(cap_mask2, 4, 0, 27),    B(resp_time, 7, 3, 5), C(redirect_gid, 8),
	C(redirect_tcslfl, 24),    C(redirect_lid, 28),   C(redirect_pkey, 30),
	B(redirect_qp, 33, 0, 24), C(redirect_qkey, 36),  C(trap_gid, 40),
	C(trap_tcslfl, 56),        C(trap_lid, 60),       C(trap_pkey, 62),
	C(trap_hlqp, 64),          C(trap_qkey, 68),
};
static const struct wire_format class_port_format =
	WIRE_FORMAT(0, SA_CLASS_PORT_BYTES, class_port_fields);

#define I(name, byte) WIRE_BYTES(struct sa_inform_info, name, byte)
/* spec/sa-sm 2.2 */
static const struct wire_field inform_fields[] = {
	I(gid, 0),
	I(lid_begin, 16),
	I(lid_end, 18),
	I(is_generic, 22),
	I(subscribe, 23),
	I(type, 24),
	I(trap, 26),
	WIRE_BITS(struct sa_inform_info, qpn, 28, 0, 24),
	WIRE_BITS(struct sa_inform_info, resp_time, 31, 3, 5),
	WIRE_BITS(struct sa_inform_info, producer_type, 33, 0, 24),
};
static const struct wire_format inform_format =
	WIRE_FORMAT(0, SA_INFORM_BYTES, inform_fields);

void sa_header_get(const uint8_t mad[SA_DATA], struct sa_header *ret)
{
	wire_get(&header_format, mad, ret);
}

void sa_header_put(uint8_t mad[SA_DATA], const struct sa_header *header)
{
	wire_put(&header_format, mad, header);
}

void sa_class_port_info_get(const uint8_t data[SA_CLASS_PORT_BYTES],
			    struct sa_class_port_info *ret)
{
	wire_get(&class_port_format, data, ret);
}

void sa_class_port_info_put(uint8_t data[SA_CLASS_PORT_BYTES],
			    const struct sa_class_port_info *info)
{
	wire_put(&class_port_format, data, info);
}

void sa_inform_info_get(const uint8_t data[SA_INFORM_BYTES], struct sa_inform_info *ret)
{
	wire_get(&inform_format, data, ret);
}

void sa_inform_info_put(uint8_t data[SA_INFORM_BYTES], const struct sa_inform_info *info)
{
	wire_put(&inform_format, data, info);
}
