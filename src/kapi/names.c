// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pure functions: rates, speeds, headers in front of datagrams, texts of numbers.
 */
#include <netinet/ip.h>
#include <rdma/ib.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_cm.h>

union ib_gid zgid;

/* -- rates (spec/kernel 5.4) -------------------------------------------------------- */

static const struct {
	enum ib_rate rate;
	int mult, mbps;
} rates[] = {
	{ IB_RATE_2_5_GBPS, 1, 2500 },       { IB_RATE_5_GBPS, 2, 5000 },
	{ IB_RATE_10_GBPS, 4, 10000 },       { IB_RATE_20_GBPS, 8, 20000 },
	{ IB_RATE_30_GBPS, 12, 30000 },      { IB_RATE_40_GBPS, 16, 40000 },
	{ IB_RATE_60_GBPS, 24, 60000 },      { IB_RATE_80_GBPS, 32, 80000 },
	{ IB_RATE_120_GBPS, 48, 120000 },    { IB_RATE_14_GBPS, 6, 14062 },
	{ IB_RATE_56_GBPS, 22, 56250 },      { IB_RATE_112_GBPS, 45, 112500 },
	{ IB_RATE_168_GBPS, 67, 168750 },    { IB_RATE_25_GBPS, 10, 25781 },
	{ IB_RATE_100_GBPS, 40, 103125 },    { IB_RATE_200_GBPS, 80, 206250 },
	{ IB_RATE_300_GBPS, 120, 309375 },   { IB_RATE_28_GBPS, 11, 28125 },
	{ IB_RATE_50_GBPS, 20, 53125 },      { IB_RATE_400_GBPS, 160, 425000 },
	{ IB_RATE_600_GBPS, 240, 637500 },   { IB_RATE_800_GBPS, 320, 850000 },
	{ IB_RATE_1600_GBPS, 640, 1700000 },
};

int ib_rate_to_mult(enum ib_rate rate)
{
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		if (rates[i].rate == rate)
			return rates[i].mult;
	return -1;
}

int ib_rate_to_mbps(enum ib_rate rate)
{
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		if (rates[i].rate == rate)
			return rates[i].mbps;
	return -1;
}

enum ib_rate mult_to_ib_rate(int mult)
{
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		if (rates[i].mult == mult)
			return rates[i].rate;
	return IB_RATE_PORT_CURRENT;
}

int ib_port_attr_to_speed_info(struct ib_port_attr *attr,
			       struct ib_port_speed_info *speed_info)
{
	static const struct {
		u16 speed;
		int lane; /* of 100 Mb/s */
		const char *name;
	} speeds[] = {
		{ IB_SPEED_SDR, 25, " SDR" },   { IB_SPEED_DDR, 50, " DDR" },
		{ IB_SPEED_QDR, 100, " QDR" },  { IB_SPEED_FDR10, 100, " FDR10" },
		{ IB_SPEED_FDR, 140, " FDR" },  { IB_SPEED_EDR, 250, " EDR" },
		{ IB_SPEED_HDR, 500, " HDR" },  { IB_SPEED_NDR, 1000, " NDR" },
		{ IB_SPEED_XDR, 2000, " XDR" },
	};
	size_t i, found = 0;

	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].speed == attr->active_speed)
			found = i;
	speed_info->str = speeds[found].name;
	speed_info->rate = speeds[found].lane *
			   ib_width_enum_to_int((enum ib_port_width)attr->active_width);
	return speed_info->rate < 0 ? -EINVAL : 0;
}

/* -- headers (spec/kernel 4.6) ------------------------------------------------------ */

static u16 header_sum(const struct iphdr *ip)
{
	const u8 *p = (const u8 *)ip;
	u32 sum = 0;

	for (size_t i = 0; i < sizeof(*ip); i += 2)
		sum += (u32)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Junk may stand in front of an IPv4 header, even what looks like IPv6: only a right
 * checksum tells. */
int ib_get_rdma_header_version(const union rdma_network_hdr *hdr)
{
	const u8 *bytes = (const u8 *)hdr;
	struct iphdr ip;

	memcpy(&ip, bytes + 20, sizeof(ip));
	if (bytes[0] >> 4 != 6)
		return ip.version == 4 ? 4 : 0;
	if (ip.ihl != 5)
		return 6;
	return header_sum(&ip) == 0xffff ? 4 : 6;
}

int ib_get_gids_from_rdma_hdr(const union rdma_network_hdr *hdr,
			      enum rdma_network_type net_type, union ib_gid *sgid,
			      union ib_gid *dgid)
{
	if (!hdr || !sgid || !dgid)
		return -EINVAL;
	switch (net_type) {
	case RDMA_NETWORK_IPV4:
		memset(sgid, 0, sizeof(*sgid));
		memset(dgid, 0, sizeof(*dgid));
		memset(sgid->raw + 10, 0xff, 2);
		memset(dgid->raw + 10, 0xff, 2);
		memcpy(sgid->raw + 12, (const u8 *)hdr + 32, 4);
		memcpy(dgid->raw + 12, (const u8 *)hdr + 36, 4);
		return 0;
	case RDMA_NETWORK_IPV6:
	case RDMA_NETWORK_IB:
	case RDMA_NETWORK_ROCE_V1:
		*sgid = hdr->ibgrh.sgid;
		*dgid = hdr->ibgrh.dgid;
		return 0;
	default:
		return -EINVAL;
	}
}

int rdma_addr_size(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

/* -- texts -------------------------------------------------------------------------- */

static const char *text_of(const char *const *texts, size_t count, size_t n,
			   const char *none)
{
	return n < count && texts[n] ? texts[n] : none;
}

const char *ib_event_msg(enum ib_event_type event)
{
	static const char *const texts[] = {
		[IB_EVENT_CQ_ERR] = "CQ error",
		[IB_EVENT_QP_FATAL] = "QP fatal error",
		[IB_EVENT_QP_REQ_ERR] = "QP request error",
		[IB_EVENT_QP_ACCESS_ERR] = "QP access error",
		[IB_EVENT_COMM_EST] = "communication established",
		[IB_EVENT_SQ_DRAINED] = "send queue drained",
		[IB_EVENT_PATH_MIG] = "path migrated",
		[IB_EVENT_PATH_MIG_ERR] = "path migration failed",
		[IB_EVENT_DEVICE_FATAL] = "device fatal error",
		[IB_EVENT_PORT_ACTIVE] = "port active",
		[IB_EVENT_PORT_ERR] = "port error",
		[IB_EVENT_LID_CHANGE] = "LID changed",
		[IB_EVENT_PKEY_CHANGE] = "P_Key table changed",
		[IB_EVENT_SM_CHANGE] = "SM changed",
		[IB_EVENT_SRQ_ERR] = "SRQ error",
		[IB_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
		[IB_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
		[IB_EVENT_CLIENT_REREGISTER] = "clients are to register anew",
		[IB_EVENT_GID_CHANGE] = "GID table changed",
		[IB_EVENT_WQ_FATAL] = "WQ fatal error",
	};

	return text_of(texts, ARRAY_SIZE(texts), event, "unknown event");
}

const char *ib_wc_status_msg(enum ib_wc_status status)
{
	static const char *const texts[] = {
		[IB_WC_SUCCESS] = "success",
		[IB_WC_LOC_LEN_ERR] = "local length error",
		[IB_WC_LOC_QP_OP_ERR] = "local QP operation error",
		[IB_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
		[IB_WC_LOC_PROT_ERR] = "local protection error",
		[IB_WC_WR_FLUSH_ERR] = "work request flushed",
		[IB_WC_MW_BIND_ERR] = "memory window bind error",
		[IB_WC_BAD_RESP_ERR] = "bad response",
		[IB_WC_LOC_ACCESS_ERR] = "local access error",
		[IB_WC_REM_INV_REQ_ERR] = "remote invalid request",
		[IB_WC_REM_ACCESS_ERR] = "remote access error",
		[IB_WC_REM_OP_ERR] = "remote operation error",
		[IB_WC_RETRY_EXC_ERR] = "retries exceeded",
		[IB_WC_RNR_RETRY_EXC_ERR] = "RNR retries exceeded",
		[IB_WC_LOC_RDD_VIOL_ERR] = "local RDD violation",
		[IB_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
		[IB_WC_REM_ABORT_ERR] = "aborted by the remote side",
		[IB_WC_INV_EECN_ERR] = "invalid EE context number",
		[IB_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
		[IB_WC_FATAL_ERR] = "fatal error",
		[IB_WC_RESP_TIMEOUT_ERR] = "response timeout",
		[IB_WC_GENERAL_ERR] = "general error",
	};

	return text_of(texts, ARRAY_SIZE(texts), status, "unknown status");
}

const char *rdma_event_msg(enum rdma_cm_event_type event)
{
	static const char *const texts[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "address resolved",
		[RDMA_CM_EVENT_ADDR_ERROR] = "address error",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "route resolved",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "route error",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "connect request",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "connect response",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "connect error",
		[RDMA_CM_EVENT_UNREACHABLE] = "unreachable",
		[RDMA_CM_EVENT_REJECTED] = "rejected",
		[RDMA_CM_EVENT_ESTABLISHED] = "established",
		[RDMA_CM_EVENT_DISCONNECTED] = "disconnected",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "device removal",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "multicast join",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "multicast error",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "address change",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "timewait exit",
	};

	return text_of(texts, ARRAY_SIZE(texts), event, "unknown event");
}
