/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports: states, capabilities, speeds, and what can be asked of one. */
#ifndef KAPI_RDMA_VERBS_PORT_H
#define KAPI_RDMA_VERBS_PORT_H

#include <rdma/verbs/gid.h>

enum ib_mtu {
	IB_MTU_256 = 1,
	IB_MTU_512 = 2,
	IB_MTU_1024 = 3,
	IB_MTU_2048 = 4,
	IB_MTU_4096 = 5
};

static inline int ib_mtu_enum_to_int(enum ib_mtu mtu)
{
	return mtu >= IB_MTU_256 && mtu <= IB_MTU_4096 ? 128 << mtu : -1;
}

static inline enum ib_mtu ib_mtu_int_to_enum(int mtu)
{
	return mtu >= 4096   ? IB_MTU_4096
	       : mtu >= 2048 ? IB_MTU_2048
	       : mtu >= 1024 ? IB_MTU_1024
	       : mtu >= 512  ? IB_MTU_512
			     : IB_MTU_256;
}

enum ib_port_state {
	IB_PORT_NOP = 0,
	IB_PORT_DOWN = 1,
	IB_PORT_INIT = 2,
	IB_PORT_ARMED = 3,
	IB_PORT_ACTIVE = 4,
	IB_PORT_ACTIVE_DEFER = 5
};

enum ib_port_phys_state {
	IB_PORT_PHYS_STATE_SLEEP = 1,
	IB_PORT_PHYS_STATE_POLLING = 2,
	IB_PORT_PHYS_STATE_DISABLED = 3,
	IB_PORT_PHYS_STATE_PORT_CONFIGURATION_TRAINING = 4,
	IB_PORT_PHYS_STATE_LINK_UP = 5,
	IB_PORT_PHYS_STATE_LINK_ERROR_RECOVERY = 6,
	IB_PORT_PHYS_STATE_PHY_TEST = 7,
};

enum ib_port_width {
	IB_WIDTH_1X = 1,
	IB_WIDTH_2X = 16,
	IB_WIDTH_4X = 2,
	IB_WIDTH_8X = 4,
	IB_WIDTH_12X = 8
};

/* Lanes of a width; -1: no such width. */
static inline int ib_width_enum_to_int(enum ib_port_width width)
{
	switch (width) {
	case IB_WIDTH_1X:
		return 1;
	case IB_WIDTH_2X:
		return 2;
	case IB_WIDTH_4X:
		return 4;
	case IB_WIDTH_8X:
		return 8;
	case IB_WIDTH_12X:
		return 12;
	default:
		return -1;
	}
}

enum ib_port_speed {
	IB_SPEED_SDR = 1,
	IB_SPEED_DDR = 2,
	IB_SPEED_QDR = 4,
	IB_SPEED_FDR10 = 8,
	IB_SPEED_FDR = 16,
	IB_SPEED_EDR = 32,
	IB_SPEED_HDR = 64,
	IB_SPEED_NDR = 128,
	IB_SPEED_XDR = 256,
};

enum ib_port_capability_mask_bits {
	IB_PORT_SM = 1 << 1,
	IB_PORT_NOTICE_SUP = 1 << 2,
	IB_PORT_TRAP_SUP = 1 << 3,
	IB_PORT_OPT_IPD_SUP = 1 << 4,
	IB_PORT_AUTO_MIGR_SUP = 1 << 5,
	IB_PORT_SL_MAP_SUP = 1 << 6,
	IB_PORT_SM_DISABLED = 1 << 10,
	IB_PORT_SYS_IMAGE_GUID_SUP = 1 << 11,
	IB_PORT_CM_SUP = 1 << 16,
	IB_PORT_REINIT_SUP = 1 << 18,
	IB_PORT_DEVICE_MGMT_SUP = 1 << 19,
	IB_PORT_CLIENT_REG_SUP = 1 << 25,
	IB_PORT_IP_BASED_GIDS = 1 << 26,
};

struct ib_port_attr {
	u64 subnet_prefix;
	enum ib_port_state state;
	enum ib_mtu max_mtu;
	enum ib_mtu active_mtu;
	u32 phys_mtu;
	int gid_tbl_len;
	unsigned int ip_gids : 1;
	u32 port_cap_flags;
	u32 max_msg_sz;
	u32 bad_pkey_cntr;
	u32 qkey_viol_cntr;
	u16 pkey_tbl_len;
	u32 sm_lid;
	u32 lid;
	u8 lmc;
	u8 max_vl_num;
	u8 sm_sl;
	u8 subnet_timeout;
	u8 init_type_reply;
	u8 active_width;
	u16 active_speed;
	u8 phys_state;
	u16 port_cap_flags2;
};

struct ib_port_speed_info {
	const char *str;
	int rate; /* of 100 Mb/s */
};

/* -EINVAL: no such width. An unknown speed counts as SDR (spec/kernel 5.1). */
int ib_port_attr_to_speed_info(struct ib_port_attr *attr,
			       struct ib_port_speed_info *speed_info)
	KAPI(ib_port_attr_to_speed_info);

#define RDMA_CORE_CAP_IB_MAD              0x00000001
#define RDMA_CORE_CAP_IB_SMI              0x00000002
#define RDMA_CORE_CAP_IB_CM               0x00000004
#define RDMA_CORE_CAP_IW_CM               0x00000008
#define RDMA_CORE_CAP_IB_SA               0x00000010
#define RDMA_CORE_CAP_OPA_MAD             0x00000020
#define RDMA_CORE_CAP_AF_IB               0x00001000
#define RDMA_CORE_CAP_ETH_AH              0x00002000
#define RDMA_CORE_CAP_OPA_AH              0x00004000
#define RDMA_CORE_CAP_IB_GRH_REQUIRED     0x00008000
#define RDMA_CORE_CAP_PROT_IB             0x00100000
#define RDMA_CORE_CAP_PROT_ROCE           0x00200000
#define RDMA_CORE_CAP_PROT_IWARP          0x00400000
#define RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP 0x00800000

#define RDMA_CORE_PORT_IBA_IB                                                  \
	(RDMA_CORE_CAP_PROT_IB | RDMA_CORE_CAP_IB_MAD | RDMA_CORE_CAP_IB_SMI | \
	 RDMA_CORE_CAP_IB_CM | RDMA_CORE_CAP_IB_SA | RDMA_CORE_CAP_AF_IB)
#define RDMA_CORE_PORT_IBA_ROCE                                                 \
	(RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_IB_MAD | RDMA_CORE_CAP_IB_CM | \
	 RDMA_CORE_CAP_AF_IB | RDMA_CORE_CAP_ETH_AH)
#define RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP                           \
	(RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP | RDMA_CORE_CAP_IB_MAD | \
	 RDMA_CORE_CAP_IB_CM | RDMA_CORE_CAP_AF_IB | RDMA_CORE_CAP_ETH_AH)
#define RDMA_CORE_PORT_IWARP (RDMA_CORE_CAP_PROT_IWARP | RDMA_CORE_CAP_IW_CM)

#define RDMA_MAX_MAD_SIZE 256

struct ib_port_immutable {
	int pkey_tbl_len;
	int gid_tbl_len;
	u32 core_cap_flags;
	u32 max_mad_size;
};

#define IB_MGMT_MAD_SIZE_IB   IB_MGMT_MAD_SIZE
#define OPA_MGMT_MAD_SIZE_MAX 2048

#endif
