/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/fields.h"
#include "wire/smp.h"

#define FLAGS_BYTE 16
#define FLAGS      0xf8 /* bits 7..3; the others are reserved */

#define S(name, byte) WIRE_BYTES(struct smp_switch_info, name, byte)
#define B(name, byte, skip, bits) \
	WIRE_BITS(struct smp_switch_info, name, byte, skip, bits)
/* spec/sa-sm 3.7 */
static const struct wire_field switch_fields[] = {
	S(lft_cap, 0),
	S(rft_cap, 2),
	S(mft_cap, 4),
	S(lft_top, 6),
	S(default_port, 8),
	S(default_mcast_primary, 9),
	S(default_mcast_not_primary, 10),
	B(life_time, 11, 0, 5),
	B(state_change, 11, 5, 1),
	B(optimized_sl_to_vl, 11, 6, 2),
	S(lids_per_port, 12),
	S(enforcement_cap, 14),
	S(flags, FLAGS_BYTE),
	S(mft_top, 18),
};
static const struct wire_format switch_format = WIRE_FORMAT(0, 20, switch_fields);

void smp_switch_info_get(const uint8_t data[20], struct smp_switch_info *ret)
{
	wire_get(&switch_format, data, ret);
	ret->flags &= FLAGS;
}

void smp_switch_info_put(uint8_t data[20], const struct smp_switch_info *info)
{
	wire_put(&switch_format, data, info);
	data[FLAGS_BYTE] &= FLAGS;
}
