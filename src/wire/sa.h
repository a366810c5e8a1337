/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subnet administration: the SA header and the records (spec/sa-sm 1, 2.2, 4). Pure
 * codecs; host order on this side, but GIDs and GUID-like byte strings as they are.
 * Component masks are host-order numbers here: bit n is component n.
 */
#ifndef WIRE_SA_H
#define WIRE_SA_H

#include <stdint.h>

#include "wire/gid.h"
#include "wire/mad.h"
#include "wire/smp.h"

#define SA_DATA       56u  /* offset of the first record in the MAD */
#define SA_DATA_BYTES 200u /* in one MAD */

enum sa_attribute {
	SA_NODE_RECORD = 0x0011,
	SA_PORT_INFO_RECORD = 0x0012,
	SA_SL_TO_VL_RECORD = 0x0013,
	SA_SWITCH_INFO_RECORD = 0x0014,
	SA_LFT_RECORD = 0x0015,
	SA_RFT_RECORD = 0x0016,
	SA_MFT_RECORD = 0x0017,
	SA_SM_INFO_RECORD = 0x0018,
	SA_LINK_RECORD = 0x0020,
	SA_GUID_INFO_RECORD = 0x0030,
	SA_SERVICE_RECORD = 0x0031,
	SA_PKEY_TABLE_RECORD = 0x0033,
	SA_PATH_RECORD = 0x0035,
	SA_VL_ARB_RECORD = 0x0036,
	SA_MCMEMBER_RECORD = 0x0038,
	SA_TRACE_RECORD = 0x0039,
	SA_MULTI_PATH_RECORD = 0x003a,
	SA_SERVICE_ASSOCIATION_RECORD = 0x003b,
	SA_INFORM_INFO_RECORD = 0x00f3,
};

enum sa_status {
	SA_NO_RESOURCES = 0x0100,
	SA_REQ_INVALID = 0x0200,
	SA_NO_RECORDS = 0x0300,
	SA_TOO_MANY_RECORDS = 0x0400,
	SA_REQ_INVALID_GID = 0x0500,
	SA_INSUFFICIENT_COMPONENTS = 0x0600,
	SA_REQ_DENIED = 0x0700,
};

/* Behind the common and the RMPP header, at 36 of the MAD. */
struct sa_header {
	uint64_t sm_key;
	uint16_t attr_offset; /* stride of the records, in 8 bytes */
	uint64_t comp_mask;
};
void sa_header_get(const uint8_t mad[SA_DATA], struct sa_header *ret);
void sa_header_put(uint8_t mad[SA_DATA], const struct sa_header *header);

enum sa_selector {
	SA_SELECT_GT = 0,
	SA_SELECT_LT = 1,
	SA_SELECT_EQ = 2,
	SA_SELECT_BEST = 3,
};

/* -- MCMemberRecord: spec/sa-sm 1.3 -------------------------------------------------- */

#define SA_MCMEMBER_BYTES  52u
#define SA_MCMEMBER_STRIDE 56u

enum sa_join_state {
	SA_JOIN_FULL = 1u << 0,
	SA_JOIN_NON = 1u << 1,
	SA_JOIN_SEND_ONLY_NON = 1u << 2,
	SA_JOIN_SEND_ONLY_FULL = 1u << 3,
};

#define SA_MCM_MGID              (1ull << 0)
#define SA_MCM_PORT_GID          (1ull << 1)
#define SA_MCM_QKEY              (1ull << 2)
#define SA_MCM_MLID              (1ull << 3)
#define SA_MCM_MTU_SELECTOR      (1ull << 4)
#define SA_MCM_MTU               (1ull << 5)
#define SA_MCM_TCLASS            (1ull << 6)
#define SA_MCM_PKEY              (1ull << 7)
#define SA_MCM_RATE_SELECTOR     (1ull << 8)
#define SA_MCM_RATE              (1ull << 9)
#define SA_MCM_LIFETIME_SELECTOR (1ull << 10)
#define SA_MCM_LIFETIME          (1ull << 11)
#define SA_MCM_SL                (1ull << 12)
#define SA_MCM_FLOW_LABEL        (1ull << 13)
#define SA_MCM_HOP_LIMIT         (1ull << 14)
#define SA_MCM_SCOPE             (1ull << 15)
#define SA_MCM_JOIN_STATE        (1ull << 16)
#define SA_MCM_PROXY_JOIN        (1ull << 17)

struct sa_mcmember {
	union ib_gid mgid, port_gid;
	uint32_t qkey;
	uint16_t mlid;
	uint8_t mtu_selector, mtu, tclass;
	uint16_t pkey;
	uint8_t rate_selector, rate, lifetime_selector, lifetime;
	uint8_t sl;
	uint32_t flow_label;
	uint8_t hop_limit, scope, join_state, proxy_join;
};
void sa_mcmember_get(const uint8_t data[SA_MCMEMBER_BYTES], struct sa_mcmember *ret);
void sa_mcmember_put(uint8_t data[SA_MCMEMBER_BYTES], const struct sa_mcmember *rec);

/* -- PathRecord: spec/sa-sm 4.3, spec/kernel 5.5 ------------------------------------- */

#define SA_PATH_BYTES 64u

#define SA_PR_SERVICE_ID    (3ull << 0)
#define SA_PR_DGID          (1ull << 2)
#define SA_PR_SGID          (1ull << 3)
#define SA_PR_DLID          (1ull << 4)
#define SA_PR_SLID          (1ull << 5)
#define SA_PR_RAW           (1ull << 6)
#define SA_PR_FLOW_LABEL    (1ull << 8)
#define SA_PR_HOP_LIMIT     (1ull << 9)
#define SA_PR_TCLASS        (1ull << 10)
#define SA_PR_REVERSIBLE    (1ull << 11)
#define SA_PR_NUMB_PATH     (1ull << 12)
#define SA_PR_PKEY          (1ull << 13)
#define SA_PR_QOS_CLASS     (1ull << 14)
#define SA_PR_SL            (1ull << 15)
#define SA_PR_MTU_SELECTOR  (1ull << 16)
#define SA_PR_MTU           (1ull << 17)
#define SA_PR_RATE_SELECTOR (1ull << 18)
#define SA_PR_RATE          (1ull << 19)
#define SA_PR_LIFE_SELECTOR (1ull << 20)
#define SA_PR_LIFE          (1ull << 21)

struct sa_path {
	uint64_t service_id;
	union ib_gid dgid, sgid;
	uint16_t dlid, slid;
	uint8_t raw_traffic;
	uint32_t flow_label;
	uint8_t hop_limit, tclass, reversible, numb_path;
	uint16_t pkey, qos_class;
	uint8_t sl, mtu_selector, mtu, rate_selector, rate, lifetime_selector, lifetime;
	uint8_t preference;
};
void sa_path_get(const uint8_t data[SA_PATH_BYTES], struct sa_path *ret);
void sa_path_put(uint8_t data[SA_PATH_BYTES], const struct sa_path *rec);

/* -- MultiPathRecord: between some ports and some others, as PathRecords ---------------- */

#define SA_MULTI_PATH_BYTES 200u
#define SA_MULTI_PATH_GIDS  11u /* that one MAD holds */

#define SA_MPR_NUMB_PATH     (1ull << 6)
#define SA_MPR_PKEY          (1ull << 7)
#define SA_MPR_SL            (1ull << 9)
#define SA_MPR_MTU_SELECTOR  (1ull << 10)
#define SA_MPR_MTU           (1ull << 11)
#define SA_MPR_RATE_SELECTOR (1ull << 12)
#define SA_MPR_RATE          (1ull << 13)
#define SA_MPR_LIFE_SELECTOR (1ull << 14)
#define SA_MPR_LIFE          (1ull << 15)
#define SA_MPR_SGID_COUNT    (1ull << 19)
#define SA_MPR_DGID_COUNT    (1ull << 20)

struct sa_multi_path {
	uint8_t raw_traffic;
	uint32_t flow_label;
	uint8_t hop_limit, tclass, reversible, numb_path;
	uint16_t pkey, qos_class;
	uint8_t sl, mtu_selector, mtu, rate_selector, rate, lifetime_selector, lifetime;
	uint8_t sgid_count, dgid_count;
	union ib_gid gids[SA_MULTI_PATH_GIDS]; /* the sources, then the destinations */
};
void sa_multi_path_get(const uint8_t data[SA_MULTI_PATH_BYTES],
		       struct sa_multi_path *ret);
void sa_multi_path_put(uint8_t data[SA_MULTI_PATH_BYTES],
		       const struct sa_multi_path *rec);

/* -- the others ---------------------------------------------------------------------- */

#define SA_NODE_RECORD_BYTES   108u
#define SA_NODE_RECORD_STRIDE  112u
#define SA_PORT_RECORD_BYTES   68u
#define SA_PORT_RECORD_STRIDE  72u
#define SA_SERVICE_BYTES       176u
#define SA_CLASS_PORT_BYTES    72u
#define SA_INFORM_BYTES        36u
#define SA_INFORM_RECORD_BYTES 64u

struct sa_node_record {
	uint16_t lid;
	struct smp_node_info info;
	uint8_t description[64];
};
void sa_node_record_get(const uint8_t data[SA_NODE_RECORD_BYTES],
			struct sa_node_record *ret);
void sa_node_record_put(uint8_t data[SA_NODE_RECORD_BYTES],
			const struct sa_node_record *rec);

struct sa_port_record {
	uint16_t lid;
	uint8_t port, options;
	struct smp_port_info info;
};
void sa_port_record_get(const uint8_t data[SA_PORT_RECORD_BYTES],
			struct sa_port_record *ret);
void sa_port_record_put(uint8_t data[SA_PORT_RECORD_BYTES],
			const struct sa_port_record *rec);

struct sa_service {
	uint64_t id;
	union ib_gid gid;
	uint16_t pkey;
	uint32_t lease; /* seconds; all ones: for ever */
	uint8_t key[16];
	uint8_t name[64];
	uint8_t data8[16];
	uint16_t data16[8];
	uint32_t data32[4];
	uint64_t data64[2];
};
void sa_service_get(const uint8_t data[SA_SERVICE_BYTES], struct sa_service *ret);
void sa_service_put(uint8_t data[SA_SERVICE_BYTES], const struct sa_service *rec);

/* Spec/sa-sm 4.2. */
#define SA_CPI_UD_MULTICAST    (1u << 9)
#define SA_CPI2_SEND_ONLY_FULL (1u << 12)
struct sa_class_port_info {
	uint8_t base_version, class_version;
	uint16_t cap_mask;
	uint32_t cap_mask2; /* 27 bits */
	uint8_t resp_time;
	uint8_t redirect_gid[16];
	uint32_t redirect_tcslfl;
	uint16_t redirect_lid, redirect_pkey;
	uint32_t redirect_qp, redirect_qkey;
	uint8_t trap_gid[16];
	uint32_t trap_tcslfl;
	uint16_t trap_lid, trap_pkey;
	uint32_t trap_hlqp, trap_qkey;
};
void sa_class_port_info_get(const uint8_t data[SA_CLASS_PORT_BYTES],
			    struct sa_class_port_info *ret);
void sa_class_port_info_put(uint8_t data[SA_CLASS_PORT_BYTES],
			    const struct sa_class_port_info *info);

struct sa_inform_info {
	union ib_gid gid;
	uint16_t lid_begin, lid_end;
	uint8_t is_generic, subscribe;
	uint16_t type, trap;
	uint32_t qpn; /* 24 bits */
	uint8_t resp_time;
	uint32_t producer_type; /* 24 bits */
};
void sa_inform_info_get(const uint8_t data[SA_INFORM_BYTES], struct sa_inform_info *ret);
void sa_inform_info_put(uint8_t data[SA_INFORM_BYTES], const struct sa_inform_info *info);

#endif
