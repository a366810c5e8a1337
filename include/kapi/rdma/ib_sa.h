/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client of the subnet administrator: joins of multicast groups, counted per port,
 * and queries (spec/kernel 2, 5.2).
 *
 * Callbacks come from the loop. From there nothing may be waited for: a call that would
 * wait for what only the loop can bring is reported in the log and does not wait.
 */
#ifndef KAPI_RDMA_IB_SA_H
#define KAPI_RDMA_IB_SA_H

#include <linux/completion.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

enum {
	IB_SA_CLASS_VERSION = 2,
	IB_SA_METHOD_GET_TABLE = 0x12,
	IB_SA_METHOD_GET_TABLE_RESP = 0x92,
	IB_SA_METHOD_DELETE = 0x15,
	IB_SA_METHOD_DELETE_RESP = 0x95,
	IB_SA_METHOD_GET_MULTI = 0x14,
	IB_SA_METHOD_GET_MULTI_RESP = 0x94,
	IB_SA_METHOD_GET_TRACE_TBL = 0x13
};

enum {
	IB_SA_ATTR_CLASS_PORTINFO = 0x01,
	IB_SA_ATTR_NOTICE = 0x02,
	IB_SA_ATTR_INFORM_INFO = 0x03,
	IB_SA_ATTR_NODE_REC = 0x11,
	IB_SA_ATTR_PORT_INFO_REC = 0x12,
	IB_SA_ATTR_GUID_INFO_REC = 0x30,
	IB_SA_ATTR_SERVICE_REC = 0x31,
	IB_SA_ATTR_PATH_REC = 0x35,
	IB_SA_ATTR_MC_MEMBER_REC = 0x38,
};

enum ib_sa_selector {
	IB_SA_GT = 0,
	IB_SA_LT = 1,
	IB_SA_EQ = 2,
	IB_SA_BEST = 3
};

enum ib_sa_mc_join_states {
	FULLMEMBER_JOIN,
	NONMEMBER_JOIN,
	SENDONLY_NONMEBER_JOIN,
	SENDONLY_FULLMEMBER_JOIN,
	NUM_JOIN_MEMBERSHIP_TYPES,
};

#define IB_SA_CAP_MASK2_SENDONLY_FULL_MEM_SUPPORT BIT(12)

/* 64 bits in network order: component n is cpu_to_be64(1 << n). */
typedef u64 __bitwise ib_sa_comp_mask;
#define IB_SA_COMP_MASK(n) ((ib_sa_comp_mask)cpu_to_be64(1ull << (n)))

#define IB_SA_PATH_REC_SERVICE_ID                (IB_SA_COMP_MASK(0) | IB_SA_COMP_MASK(1))
#define IB_SA_PATH_REC_DGID                      IB_SA_COMP_MASK(2)
#define IB_SA_PATH_REC_SGID                      IB_SA_COMP_MASK(3)
#define IB_SA_PATH_REC_DLID                      IB_SA_COMP_MASK(4)
#define IB_SA_PATH_REC_SLID                      IB_SA_COMP_MASK(5)
#define IB_SA_PATH_REC_RAW_TRAFFIC               IB_SA_COMP_MASK(6)
#define IB_SA_PATH_REC_FLOW_LABEL                IB_SA_COMP_MASK(8)
#define IB_SA_PATH_REC_HOP_LIMIT                 IB_SA_COMP_MASK(9)
#define IB_SA_PATH_REC_TRAFFIC_CLASS             IB_SA_COMP_MASK(10)
#define IB_SA_PATH_REC_REVERSIBLE                IB_SA_COMP_MASK(11)
#define IB_SA_PATH_REC_NUMB_PATH                 IB_SA_COMP_MASK(12)
#define IB_SA_PATH_REC_PKEY                      IB_SA_COMP_MASK(13)
#define IB_SA_PATH_REC_QOS_CLASS                 IB_SA_COMP_MASK(14)
#define IB_SA_PATH_REC_SL                        IB_SA_COMP_MASK(15)
#define IB_SA_PATH_REC_MTU_SELECTOR              IB_SA_COMP_MASK(16)
#define IB_SA_PATH_REC_MTU                       IB_SA_COMP_MASK(17)
#define IB_SA_PATH_REC_RATE_SELECTOR             IB_SA_COMP_MASK(18)
#define IB_SA_PATH_REC_RATE                      IB_SA_COMP_MASK(19)
#define IB_SA_PATH_REC_PACKET_LIFE_TIME_SELECTOR IB_SA_COMP_MASK(20)
#define IB_SA_PATH_REC_PACKET_LIFE_TIME          IB_SA_COMP_MASK(21)
#define IB_SA_PATH_REC_PREFERENCE                IB_SA_COMP_MASK(22)

#define IB_SA_MCMEMBER_REC_MGID                      IB_SA_COMP_MASK(0)
#define IB_SA_MCMEMBER_REC_PORT_GID                  IB_SA_COMP_MASK(1)
#define IB_SA_MCMEMBER_REC_QKEY                      IB_SA_COMP_MASK(2)
#define IB_SA_MCMEMBER_REC_MLID                      IB_SA_COMP_MASK(3)
#define IB_SA_MCMEMBER_REC_MTU_SELECTOR              IB_SA_COMP_MASK(4)
#define IB_SA_MCMEMBER_REC_MTU                       IB_SA_COMP_MASK(5)
#define IB_SA_MCMEMBER_REC_TRAFFIC_CLASS             IB_SA_COMP_MASK(6)
#define IB_SA_MCMEMBER_REC_PKEY                      IB_SA_COMP_MASK(7)
#define IB_SA_MCMEMBER_REC_RATE_SELECTOR             IB_SA_COMP_MASK(8)
#define IB_SA_MCMEMBER_REC_RATE                      IB_SA_COMP_MASK(9)
#define IB_SA_MCMEMBER_REC_PACKET_LIFE_TIME_SELECTOR IB_SA_COMP_MASK(10)
#define IB_SA_MCMEMBER_REC_PACKET_LIFE_TIME          IB_SA_COMP_MASK(11)
#define IB_SA_MCMEMBER_REC_SL                        IB_SA_COMP_MASK(12)
#define IB_SA_MCMEMBER_REC_FLOW_LABEL                IB_SA_COMP_MASK(13)
#define IB_SA_MCMEMBER_REC_HOP_LIMIT                 IB_SA_COMP_MASK(14)
#define IB_SA_MCMEMBER_REC_SCOPE                     IB_SA_COMP_MASK(15)
#define IB_SA_MCMEMBER_REC_JOIN_STATE                IB_SA_COMP_MASK(16)
#define IB_SA_MCMEMBER_REC_PROXY_JOIN                IB_SA_COMP_MASK(17)

enum sa_path_rec_type {
	SA_PATH_REC_TYPE_IB,
	SA_PATH_REC_TYPE_ROCE_V1,
	SA_PATH_REC_TYPE_ROCE_V2,
	SA_PATH_REC_TYPE_OPA
};

struct sa_path_rec_ib {
	__be16 dlid;
	__be16 slid;
	u8 raw_traffic;
};

struct sa_path_rec_roce {
	bool route_resolved;
	u8 dmac[ETH_ALEN];
};

struct sa_path_rec_opa {
	__be32 dlid;
	__be32 slid;
	u8 raw_traffic;
	u8 l2_8B;
	u8 l2_10B;
	u8 l2_9B;
	u8 l2_16B;
	u8 qos_type;
	u8 qos_priority;
};

struct sa_path_rec {
	union ib_gid dgid;
	union ib_gid sgid;
	__be64 service_id;
	__be32 flow_label;
	u8 hop_limit;
	u8 traffic_class;
	u8 reversible;
	u8 numb_path;
	__be16 pkey;
	__be16 qos_class;
	u8 sl;
	u8 mtu_selector;
	u8 mtu;
	u8 rate_selector;
	u8 rate;
	u8 packet_life_time_selector;
	u8 packet_life_time;
	u8 preference;
	union {
		struct sa_path_rec_ib ib;
		struct sa_path_rec_roce roce;
		struct sa_path_rec_opa opa;
	};
	enum sa_path_rec_type rec_type;
	u32 flags;
};

struct sa_service_rec {
	__be64 id;
	__u8 gid[16];
	__be16 pkey;
	__u8 reserved[2];
	__be32 lease;
	__u8 key[16];
	__u8 name[64];
	__u8 data_8[16];
	__be16 data_16[8];
	__be32 data_32[4];
	__be64 data_64[2];
};

struct ib_sa_mcmember_rec {
	union ib_gid mgid;
	union ib_gid port_gid;
	__be32 qkey;
	__be16 mlid;
	u8 mtu_selector;
	u8 mtu;
	u8 traffic_class;
	__be16 pkey;
	u8 rate_selector;
	u8 rate;
	u8 packet_life_time_selector;
	u8 packet_life_time;
	u8 sl;
	__be32 flow_label;
	u8 hop_limit;
	u8 scope;
	u8 join_state;
	u8 proxy_join;
};

struct kapi_sa_client;

struct ib_sa_client {
	atomic_t users;
	struct completion comp;
	struct kapi_sa_client *core;
};

void ib_sa_register_client(struct ib_sa_client *client) KAPI(ib_sa_register_client);
/* Waits until every member and query is gone. From the loop it cannot: reported. */
void ib_sa_unregister_client(struct ib_sa_client *client) KAPI(ib_sa_unregister_client);

struct ib_sa_multicast {
	struct ib_sa_mcmember_rec rec;
	ib_sa_comp_mask comp_mask;
	int (*callback)(int status, struct ib_sa_multicast *multicast);
	void *context;
};

/*
 * Spec/kernel 2.4. The callback comes once with the outcome, perhaps before this returns,
 * and again with -ENETRESET if the membership is lost. Non-zero returned from it: the
 * member is freed then. ERR_PTR: -ENODEV (no port with an SA; RoCE has none), -ENOMEM.
 */
struct ib_sa_multicast *
ib_sa_join_multicast(struct ib_sa_client *client, struct ib_device *device, u32 port_num,
		     struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask comp_mask,
		     gfp_t gfp_mask,
		     int (*callback)(int status, struct ib_sa_multicast *multicast),
		     void *context) KAPI(ib_sa_join_multicast);
/* Waits for a running callback; not to be called from it (done after it, and reported). */
void ib_sa_free_multicast(struct ib_sa_multicast *multicast) KAPI(ib_sa_free_multicast);
/* The name that the manual pages use. */
#define ib_free_multicast(multicast) ib_sa_free_multicast(multicast)

int ib_sa_get_mcmember_rec(struct ib_device *device, u32 port_num, union ib_gid *mgid,
			   struct ib_sa_mcmember_rec *rec) KAPI(ib_sa_get_mcmember_rec);
/* rdma_destroy_ah_attr lets go of what `ah_attr` holds. */
int ib_init_ah_from_mcmember(struct ib_device *device, u32 port_num,
			     struct ib_sa_mcmember_rec *rec, struct net_device *ndev,
			     enum ib_gid_type gid_type, struct rdma_ah_attr *ah_attr)
	KAPI(ib_init_ah_from_mcmember);

struct ib_sa_query;

/* Spec/kernel 2.11: an id, or -EAGAIN, -ENODEV, -EINVAL, -ENOMEM. */
int ib_sa_path_rec_get(struct ib_sa_client *client, struct ib_device *device,
		       u32 port_num, struct sa_path_rec *rec, ib_sa_comp_mask comp_mask,
		       unsigned long timeout_ms, gfp_t gfp_mask,
		       void (*callback)(int status, struct sa_path_rec *resp,
					unsigned int num_paths, void *context),
		       void *context, struct ib_sa_query **query)
	KAPI(ib_sa_path_rec_get);
int ib_sa_service_rec_get(struct ib_sa_client *client, struct ib_device *device,
			  u32 port_num, struct sa_service_rec *rec,
			  ib_sa_comp_mask comp_mask, unsigned long timeout_ms,
			  gfp_t gfp_mask,
			  void (*callback)(int status, struct sa_service_rec *resp,
					   unsigned int num_services, void *context),
			  void *context, struct ib_sa_query **sa_query)
	KAPI(ib_sa_service_rec_get);
void ib_sa_cancel_query(int id, struct ib_sa_query *query) KAPI(ib_sa_cancel_query);

/* Spec/kernel 5.5 and 5.6: the wire's 64 and 176 bytes. Unpacking sets no rec_type. */
void ib_sa_pack_path(struct sa_path_rec *rec, void *attribute) KAPI(ib_sa_pack_path);
void ib_sa_unpack_path(void *attribute, struct sa_path_rec *rec) KAPI(ib_sa_unpack_path);
void ib_sa_pack_service(struct sa_service_rec *rec, void *attribute)
	KAPI(ib_sa_pack_service);
void ib_sa_unpack_service(void *attribute, struct sa_service_rec *rec)
	KAPI(ib_sa_unpack_service);

static inline bool sa_path_is_roce(struct sa_path_rec *rec)
{
	return rec->rec_type == SA_PATH_REC_TYPE_ROCE_V1 ||
	       rec->rec_type == SA_PATH_REC_TYPE_ROCE_V2;
}

static inline u8 *sa_path_get_dmac(struct sa_path_rec *rec)
{
	return sa_path_is_roce(rec) ? rec->roce.dmac : NULL;
}

static inline __be32 sa_path_get_dlid(const struct sa_path_rec *rec)
{
	return htonl(rec->rec_type == SA_PATH_REC_TYPE_IB ? ntohs(rec->ib.dlid) : 0);
}

#endif
