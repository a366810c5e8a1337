/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/fields.h"
#include "wire/smp.h"

#define P(name, byte)             WIRE_BYTES(struct smp_port_info, name, byte)
#define B(name, byte, skip, bits) WIRE_BITS(struct smp_port_info, name, byte, skip, bits)
/* spec/sa-sm 3.6 */
static const struct wire_field port_fields[] = {
	P(mkey, 0),
	P(gid_prefix, 8),
	P(lid, 16),
	P(sm_lid, 18),
	P(cap_mask, 20),
	P(diag_code, 24),
	P(mkey_lease, 26),
	P(local_port, 28),
	P(width_enabled, 29),
	P(width_supported, 30),
	P(width_active, 31),
	B(speed_supported, 32, 0, 4),
	B(state, 32, 4, 4),
	B(phys_state, 33, 0, 4),
	B(down_default, 33, 4, 4),
	B(mkey_protect, 34, 0, 2),
	B(lmc, 34, 5, 3),
	B(speed_active, 35, 0, 4),
	B(speed_enabled, 35, 4, 4),
	B(neighbor_mtu, 36, 0, 4),
	B(sm_sl, 36, 4, 4),
	B(vl_cap, 37, 0, 4),
	B(init_type, 37, 4, 4),
	P(vl_high_limit, 38),
	P(vl_arb_high_cap, 39),
	P(vl_arb_low_cap, 40),
	B(init_type_reply, 41, 0, 4),
	B(mtu_cap, 41, 4, 4),
	B(vl_stall, 42, 0, 3),
	B(hoq_life, 42, 3, 5),
	B(operational_vls, 43, 0, 4),
	B(enforcement, 43, 4, 4),
	P(mkey_violations, 44),
	P(pkey_violations, 46),
	P(qkey_violations, 48),
	P(guid_cap, 50),
	B(client_rereg, 51, 0, 1),
	B(mcast_pkey_trap, 51, 1, 2),
	B(subnet_timeout, 51, 3, 5),
	B(resp_time, 52, 3, 5),
	B(local_phy_errors, 53, 0, 4),
	B(overrun_errors, 53, 4, 4),
	P(max_credit_hint, 54),
	B(round_trip_latency, 57, 0, 24),
	P(cap_mask2, 60),
	B(speed_ext_active, 62, 0, 4),
	B(speed_ext_supported, 62, 4, 4),
	B(speed_ext_enabled, 63, 3, 5),
};
static const struct wire_format port_format = WIRE_FORMAT(0, 64, port_fields);

void smp_port_info_get(const uint8_t data[64], struct smp_port_info *ret)
{
	wire_get(&port_format, data, ret);
}

void smp_port_info_put(uint8_t data[64], const struct smp_port_info *info)
{
	wire_put(&port_format, data, info);
}
