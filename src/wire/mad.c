/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mad.h"

#include "wire/fields.h"

#define H(name, byte) WIRE_BYTES(struct mad_header, name, byte)
/* spec/sa-sm 1.1 */
static const struct wire_field header_fields[] = {
	H(base_version, 0), H(mgmt_class, 1), H(class_version, 2),
	H(method, 3),       H(status, 4),     H(class_specific, 6),
	H(tid, 8),          H(attr_id, 16),   H(attr_mod, 20),
};
static const struct wire_format header_format =
	WIRE_FORMAT(0, MAD_HEADER_BYTES, header_fields);

#define R(name, byte) WIRE_BYTES(struct rmpp_header, name, byte)
/* spec/sa-sm 1.1, 1.2 */
static const struct wire_field rmpp_fields[] = {
	R(version, 24),
	R(type, 25),
	WIRE_BITS(struct rmpp_header, resp_time, 26, 0, 5),
	WIRE_BITS(struct rmpp_header, flags, 26, 5, 3),
	R(status, 27),
	R(segment, 28),
	R(payload_length, 32),
};
static const struct wire_format rmpp_format =
	WIRE_FORMAT(MAD_HEADER_BYTES, RMPP_HEADER_BYTES, rmpp_fields);

void mad_header_get(const uint8_t mad[MAD_HEADER_BYTES], struct mad_header *ret)
{
	wire_get(&header_format, mad, ret);
}

void mad_header_put(uint8_t mad[MAD_HEADER_BYTES], const struct mad_header *header)
{
	wire_put(&header_format, mad, header);
}

bool mad_is_response(const struct mad_header *header)
{
	return (header->method & MAD_METHOD_RESPONSE) ||
	       header->method == MAD_METHOD_TRAP_REPRESS;
}

void rmpp_header_get(const uint8_t mad[RMPP_HEADER_BYTES], struct rmpp_header *ret)
{
	wire_get(&rmpp_format, mad, ret);
}

void rmpp_header_put(uint8_t mad[RMPP_HEADER_BYTES], const struct rmpp_header *header)
{
	wire_put(&rmpp_format, mad, header);
}

#define CLASS_DEVICE_ADM    0x10
#define CLASS_BIS           0x12
#define CLASS_VENDOR2_FIRST 0x30
#define CLASS_VENDOR2_LAST  0x4f

/* What libibumad's headers lay out (umad_types.h): vendors have their OUI behind the RMPP
 * header, device management begins its data at 64. */
size_t rmpp_data_offset(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case MAD_CLASS_SUBN_ADM:
		return 56;
	case MAD_CLASS_DEVICE:
	case CLASS_DEVICE_ADM:
	case CLASS_BIS:
		return 64;
	default:
		if (mgmt_class >= CLASS_VENDOR2_FIRST && mgmt_class <= CLASS_VENDOR2_LAST)
			return 40;
		return 0;
	}
}
