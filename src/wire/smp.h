/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subnet management: directed-route header and the attributes (spec/sa-sm 3). Each
 * attribute is the 64 bytes at SMP_DATA of the MAD; what is reserved is written as zero
 * and not looked at. Pure codecs, host order on this side; GUIDs too, as numbers.
 */
#ifndef WIRE_SMP_H
#define WIRE_SMP_H

#include <stdint.h>

#include "wire/mad.h"

#define SMP_MKEY         24u /* offset in the MAD */
#define SMP_DR_SLID      32u
#define SMP_DR_DLID      34u
#define SMP_DATA         64u
#define SMP_DATA_BYTES   64u
#define SMP_INITIAL_PATH 128u
#define SMP_RETURN_PATH  192u
#define SMP_HOPS_MAX     63u

enum smp_attribute {
	SMP_NOTICE = 0x0002,
	SMP_NODE_DESCRIPTION = 0x0010,
	SMP_NODE_INFO = 0x0011,
	SMP_SWITCH_INFO = 0x0012,
	SMP_GUID_INFO = 0x0014,
	SMP_PORT_INFO = 0x0015,
	SMP_PKEY_TABLE = 0x0016,
	SMP_SL_TO_VL = 0x0017,
	SMP_VL_ARB = 0x0018,
	SMP_LINEAR_FT = 0x0019,
	SMP_RANDOM_FT = 0x001a,
	SMP_MULTICAST_FT = 0x001b,
	SMP_SM_INFO = 0x0020,
	SMP_VENDOR_DIAG = 0x0030,
	SMP_LED_INFO = 0x0031,
};

/* Of a directed-route SMP: in the class specific word and the D bit of the status. */
static inline uint8_t smp_hop_pointer(const uint8_t *mad)
{
	return mad[6];
}
static inline uint8_t smp_hop_count(const uint8_t *mad)
{
	return mad[7];
}

enum smp_node_type {
	SMP_NODE_CA = 1,
	SMP_NODE_SWITCH = 2,
	SMP_NODE_ROUTER = 3,
};

struct smp_node_info {
	uint8_t base_version, class_version, node_type, num_ports;
	uint64_t sys_guid, node_guid, port_guid;
	uint16_t partition_cap, device_id;
	uint32_t revision;
	uint8_t local_port;
	uint32_t vendor_id; /* 24 bits */
};
void smp_node_info_get(const uint8_t data[40], struct smp_node_info *ret);
void smp_node_info_put(uint8_t data[40], const struct smp_node_info *info);

enum smp_port_state {
	SMP_PORT_NOP = 0,
	SMP_PORT_DOWN = 1,
	SMP_PORT_INIT = 2,
	SMP_PORT_ARMED = 3,
	SMP_PORT_ACTIVE = 4,
};

enum smp_phys_state {
	SMP_PHYS_NOP = 0,
	SMP_PHYS_SLEEP = 1,
	SMP_PHYS_POLLING = 2,
	SMP_PHYS_DISABLED = 3,
	SMP_PHYS_TRAINING = 4,
	SMP_PHYS_LINK_UP = 5,
};

/* PortInfo CapabilityMask. */
enum smp_port_cap {
	SMP_CAP_SM = 1u << 1,
	SMP_CAP_NOTICE = 1u << 2,
	SMP_CAP_TRAP = 1u << 3,
	SMP_CAP_SL_MAP = 1u << 6,
	SMP_CAP_EXT_SPEEDS = 1u << 14,
	SMP_CAP_MASK2 = 1u << 15,
	SMP_CAP_CM = 1u << 16,
	SMP_CAP_VENDOR_CLASS = 1u << 20,
	SMP_CAP_CAP_MASK_NOTICE = 1u << 22,
	SMP_CAP_CLIENT_REREG = 1u << 25,
	SMP_CAP_OTHER_LOCAL_CHANGES = 1u << 26,
	SMP_CAP_MFT_TOP = 1u << 30,
};

/* Spec/sa-sm 3.6. Values that mean "no change" in a Set are as on the wire. */
struct smp_port_info {
	uint64_t mkey, gid_prefix;
	uint16_t lid, sm_lid;
	uint32_t cap_mask;
	uint16_t diag_code, mkey_lease;
	uint8_t local_port;
	uint8_t width_enabled, width_supported, width_active;
	uint8_t speed_supported, state, phys_state, down_default;
	uint8_t mkey_protect, lmc;
	uint8_t speed_active, speed_enabled;
	uint8_t neighbor_mtu, sm_sl, vl_cap, init_type;
	uint8_t vl_high_limit, vl_arb_high_cap, vl_arb_low_cap;
	uint8_t init_type_reply, mtu_cap, vl_stall, hoq_life;
	uint8_t operational_vls;
	uint8_t enforcement; /* bits 3..0: PartEnfIn, PartEnfOut, FilterRawIn, FilterRawOut */
	uint16_t mkey_violations, pkey_violations, qkey_violations;
	uint8_t guid_cap, client_rereg, mcast_pkey_trap, subnet_timeout, resp_time;
	uint8_t local_phy_errors, overrun_errors;
	uint16_t max_credit_hint;
	uint32_t round_trip_latency;
	uint16_t cap_mask2;
	uint8_t speed_ext_active, speed_ext_supported, speed_ext_enabled;
};
void smp_port_info_get(const uint8_t data[64], struct smp_port_info *ret);
void smp_port_info_put(uint8_t data[64], const struct smp_port_info *info);

struct smp_switch_info {
	uint16_t lft_cap, rft_cap, mft_cap, lft_top;
	uint8_t default_port, default_mcast_primary, default_mcast_not_primary;
	uint8_t life_time;    /* 5 bits */
	uint8_t state_change; /* a Set of 1 clears it */
	uint8_t optimized_sl_to_vl;
	uint16_t lids_per_port, enforcement_cap;
	/* Byte 16 as on the wire, bits 7 to 3: inbound and outbound enforcement, raw filter
	 * in and out, enhanced port 0. */
	uint8_t flags;
	uint16_t mft_top;
};
void smp_switch_info_get(const uint8_t data[20], struct smp_switch_info *ret);
void smp_switch_info_put(uint8_t data[20], const struct smp_switch_info *info);

struct smp_sm_info {
	uint64_t guid, sm_key;
	uint32_t act_count;
	uint8_t priority, state;
};
enum smp_sm_state {
	SMP_SM_NOT_ACTIVE = 0,
	SMP_SM_DISCOVERING = 1,
	SMP_SM_STANDBY = 2,
	SMP_SM_MASTER = 3,
};
void smp_sm_info_get(const uint8_t data[21], struct smp_sm_info *ret);
void smp_sm_info_put(uint8_t data[21], const struct smp_sm_info *info);

/* Rate enum (spec/sa-sm 1.3) of a link by its active width and speeds; 0: none such. */
uint8_t smp_link_rate(uint8_t width_active, uint8_t speed_active,
		      uint8_t speed_ext_active);
/* Gb/s in tenths, for comparisons between rate enums; 0: no such rate. */
uint32_t smp_rate_speed(uint8_t rate);

/* -- notices (spec/sa-sm 2.1) --------------------------------------------------------- */

#define NOTICE_BYTES      80u /* with the issuer's GID, as in a Report */
#define NOTICE_TRAP_BYTES 64u /* in an SMP */
#define NOTICE_DETAILS    54u

enum notice_trap {
	TRAP_GID_IN_SERVICE = 64,
	TRAP_GID_OUT_OF_SERVICE = 65,
	TRAP_MGID_CREATED = 66,
	TRAP_MGID_DELETED = 67,
	TRAP_LINK_STATE = 128,
	TRAP_LOCAL_CHANGE = 144,
	TRAP_SYS_GUID = 145,
	TRAP_BAD_MKEY = 256,
	TRAP_BAD_PKEY = 257,
	TRAP_BAD_QKEY = 258,
	TRAP_SWITCH_BAD_PKEY = 259,
};

struct notice {
	uint8_t is_generic, type;
	uint32_t producer_type; /* or vendor: 24 bits */
	uint16_t trap;          /* or device */
	uint16_t issuer_lid;
	uint16_t toggle_count;
	uint8_t details[NOTICE_DETAILS];
	uint8_t issuer_gid[16]; /* only in the long form */
};
void notice_get(const uint8_t *data, uint32_t bytes, struct notice *ret);
void notice_put(uint8_t *data, uint32_t bytes, const struct notice *notice);

#endif
