/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices, the table of their operations, and the clients that hear of them. */
#ifndef KAPI_RDMA_VERBS_DEVICE_H
#define KAPI_RDMA_VERBS_DEVICE_H

#include <rdma/ib_user_ioctl_verbs.h> /* enum rdma_driver_id */

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/verbs/event.h>

enum ib_device_cap_flags {
	IB_DEVICE_RESIZE_MAX_WR = 1 << 0,
	IB_DEVICE_BAD_PKEY_CNTR = 1 << 1,
	IB_DEVICE_BAD_QKEY_CNTR = 1 << 2,
	IB_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	IB_DEVICE_PORT_ACTIVE_EVENT = 1 << 10,
	IB_DEVICE_SYS_IMAGE_GUID = 1 << 11,
	IB_DEVICE_RC_RNR_NAK_GEN = 1 << 12,
	IB_DEVICE_SRQ_RESIZE = 1 << 13,
	IB_DEVICE_MEM_MGT_EXTENSIONS = 1 << 21,
};

enum ib_kernel_cap_flags {
	IBK_LOCAL_DMA_LKEY = 1 << 0,
	IBK_UD_TSO = 1 << 4,
	IBK_BLOCK_MULTICAST_LOOPBACK = 1 << 5,
};

struct ib_device_attr {
	u64 fw_ver;
	__be64 sys_image_guid;
	u64 max_mr_size;
	u64 page_size_cap;
	u32 vendor_id;
	u32 vendor_part_id;
	u32 hw_ver;
	int max_qp;
	int max_qp_wr;
	u64 device_cap_flags;
	u64 kernel_cap_flags;
	int max_send_sge;
	int max_recv_sge;
	int max_sge_rd;
	int max_cq;
	int max_cqe;
	int max_mr;
	int max_pd;
	int max_mcast_grp;
	int max_mcast_qp_attach;
	int max_total_mcast_qp_attach;
	int max_ah;
	int max_srq;
	int max_srq_wr;
	int max_srq_sge;
	u16 max_pkeys;
	u8 local_ca_ack_delay;
};

/* A user's command buffers. No call here comes from one: it is always null. */
struct ib_udata {
	const void __user *inbuf;
	void __user *outbuf;
	size_t inlen;
	size_t outlen;
};

struct ib_ucontext;

#define RDMA_HW_STAT_FLAG_OPTIONAL (1 << 0)
enum {
	IB_STAT_FLAG_OPTIONAL = 1 << 0,
};

/* One counter of a port. */
struct rdma_stat_desc {
	const char *name;
	unsigned int flags;
	const void *priv;
};

#define RDMA_HW_STATS_DEFAULT_LIFESPAN 10

/* The counters of a port; rdma_get_hw_stats (verbcast/kapi.h) fills it. */
struct rdma_hw_stats {
	struct mutex lock;
	unsigned long timestamp; /* jiffies of the last reading */
	unsigned long lifespan;  /* jiffies that one is good for */
	const struct rdma_stat_desc *descs;
	unsigned long *is_disabled;
	int num_counters;
	u64 value[];
};

struct rdma_hw_stats *rdma_alloc_hw_stats_struct(const struct rdma_stat_desc *descs,
						 int num_counters, unsigned long lifespan)
	KAPI(rdma_alloc_hw_stats_struct);
void rdma_free_hw_stats_struct(struct rdma_hw_stats *stats)
	KAPI(rdma_free_hw_stats_struct);

/* An interface that a device works for. There are none in user space: the type alone. */
struct rdma_netdev {
	void *clnt_priv;
	struct ib_device *hca;
	u32 port_num;
	int mtu;
	void (*free_rdma_netdev)(struct net_device *netdev);
	void (*set_id)(struct net_device *netdev, int id);
	int (*send)(struct net_device *dev, void *skb, struct ib_ah *address, u32 dqpn);
	int (*attach_mcast)(struct net_device *dev, struct ib_device *hca,
			    union ib_gid *gid, u16 mlid, int set_qkey, u32 qkey);
	int (*detach_mcast)(struct net_device *dev, struct ib_device *hca,
			    union ib_gid *gid, u16 mlid);
	void (*tx_timeout)(struct net_device *dev, unsigned int txqueue);
};

struct rdma_ah_init_attr {
	struct rdma_ah_attr *ah_attr;
	u32 flags;
	struct net_device *xmit_slave;
};

struct module;

/* Objects that a driver extends: it names the size, and embeds the core's first. */
#define DECLARE_RDMA_OBJ_SIZE(ib_struct) size_t size_##ib_struct
#define INIT_RDMA_OBJ_SIZE(ib_struct, drv_struct, member) \
	.size_##ib_struct = sizeof(struct drv_struct) +   \
			    BUILD_BUG_ON_ZERO(offsetof(struct drv_struct, member))
#define BUILD_BUG_ON_ZERO(e) ((int)(sizeof(struct { int : (-!!(e)); })))

struct uverbs_attr_bundle;

/* What a driver does. A call whose operation is missing is -EOPNOTSUPP. */
struct ib_device_ops {
	struct module *owner;
	enum rdma_driver_id driver_id;
	u32 uverbs_abi_ver;

	int (*post_send)(struct ib_qp *qp, const struct ib_send_wr *send_wr,
			 const struct ib_send_wr **bad_send_wr);
	int (*post_recv)(struct ib_qp *qp, const struct ib_recv_wr *recv_wr,
			 const struct ib_recv_wr **bad_recv_wr);
	/* May be missing: then a marker is posted, to a queue pair in ERR. */
	void (*drain_rq)(struct ib_qp *qp);
	void (*drain_sq)(struct ib_qp *qp);
	int (*poll_cq)(struct ib_cq *cq, int num_entries, struct ib_wc *wc);
	int (*req_notify_cq)(struct ib_cq *cq, enum ib_cq_notify_flags flags);
	int (*post_srq_recv)(struct ib_srq *srq, const struct ib_recv_wr *recv_wr,
			     const struct ib_recv_wr **bad_recv_wr);
	int (*query_device)(struct ib_device *device, struct ib_device_attr *device_attr,
			    struct ib_udata *udata);
	int (*query_port)(struct ib_device *device, u32 port_num,
			  struct ib_port_attr *port_attr);
	int (*get_port_immutable)(struct ib_device *device, u32 port_num,
				  struct ib_port_immutable *immutable);
	enum rdma_link_layer (*get_link_layer)(struct ib_device *device, u32 port_num);
	int (*query_gid)(struct ib_device *device, u32 port_num, int index,
			 union ib_gid *gid);
	int (*add_gid)(const struct ib_gid_attr *attr, void **context);
	int (*del_gid)(const struct ib_gid_attr *attr, void **context);
	int (*query_pkey)(struct ib_device *device, u32 port_num, u16 index, u16 *pkey);
	int (*alloc_pd)(struct ib_pd *pd, struct ib_udata *udata);
	int (*dealloc_pd)(struct ib_pd *pd, struct ib_udata *udata);
	int (*create_ah)(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			 struct ib_udata *udata);
	int (*create_user_ah)(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			      struct ib_udata *udata);
	int (*modify_ah)(struct ib_ah *ah, struct rdma_ah_attr *ah_attr);
	int (*query_ah)(struct ib_ah *ah, struct rdma_ah_attr *ah_attr);
	int (*destroy_ah)(struct ib_ah *ah, u32 flags);
	int (*create_srq)(struct ib_srq *srq, struct ib_srq_init_attr *srq_init_attr,
			  struct ib_udata *udata);
	int (*modify_srq)(struct ib_srq *srq, struct ib_srq_attr *srq_attr,
			  enum ib_srq_attr_mask srq_attr_mask, struct ib_udata *udata);
	int (*query_srq)(struct ib_srq *srq, struct ib_srq_attr *srq_attr);
	int (*destroy_srq)(struct ib_srq *srq, struct ib_udata *udata);
	int (*create_qp)(struct ib_qp *qp, struct ib_qp_init_attr *qp_init_attr,
			 struct ib_udata *udata);
	int (*modify_qp)(struct ib_qp *qp, struct ib_qp_attr *qp_attr, int qp_attr_mask,
			 struct ib_udata *udata);
	int (*query_qp)(struct ib_qp *qp, struct ib_qp_attr *qp_attr, int qp_attr_mask,
			struct ib_qp_init_attr *qp_init_attr);
	int (*destroy_qp)(struct ib_qp *qp, struct ib_udata *udata);
	int (*create_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			 struct uverbs_attr_bundle *attrs);
	int (*modify_cq)(struct ib_cq *cq, u16 cq_count, u16 cq_period);
	int (*destroy_cq)(struct ib_cq *cq, struct ib_udata *udata);
	int (*resize_cq)(struct ib_cq *cq, int cqe, struct ib_udata *udata);
	struct ib_mr *(*get_dma_mr)(struct ib_pd *pd, int mr_access_flags);
	int (*dereg_mr)(struct ib_mr *mr, struct ib_udata *udata);
	struct ib_mr *(*alloc_mr)(struct ib_pd *pd, enum ib_mr_type mr_type,
				  u32 max_num_sg);
	int (*check_mr_status)(struct ib_mr *mr, u32 check_mask,
			       struct ib_mr_status *mr_status);
	int (*attach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	int (*detach_mcast)(struct ib_qp *qp, union ib_gid *gid, u16 lid);
	struct rdma_hw_stats *(*alloc_hw_port_stats)(struct ib_device *device,
						     u32 port_num);
	/* The number of counters, or which one was read; negative: an error. */
	int (*get_hw_stats)(struct ib_device *device, struct rdma_hw_stats *stats,
			    u32 port, int index);
	void (*dealloc_driver)(struct ib_device *dev);

	DECLARE_RDMA_OBJ_SIZE(ib_ah);
	DECLARE_RDMA_OBJ_SIZE(ib_cq);
	DECLARE_RDMA_OBJ_SIZE(ib_pd);
	DECLARE_RDMA_OBJ_SIZE(ib_qp);
	DECLARE_RDMA_OBJ_SIZE(ib_srq);
	DECLARE_RDMA_OBJ_SIZE(ib_ucontext);
};

#define IB_DEVICE_NAME_MAX      64
#define IB_DEVICE_NODE_DESC_MAX 64

struct ib_client;
struct kapi_device; /* what the core keeps of one */

struct ib_device {
	struct device *dma_device; /* null: pointers are addresses */
	struct ib_device_ops ops;
	char name[IB_DEVICE_NAME_MAX];
	struct device dev;
	int num_comp_vectors;
	u64 uverbs_cmd_mask;
	char node_desc[IB_DEVICE_NODE_DESC_MAX];
	__be64 node_guid;
	u32 local_dma_lkey;
	u8 node_type;
	u32 phys_port_cnt;
	struct ib_device_attr attrs;
	unsigned int index;
	struct kapi_device *core;
};

/* -- for drivers -------------------------------------------------------------------- */

struct ib_device *_ib_alloc_device(size_t size) KAPI(_ib_alloc_device);
#define ib_alloc_device(drv_struct, member)                                           \
	container_of(_ib_alloc_device(                                                \
			     sizeof(struct drv_struct) +                              \
			     BUILD_BUG_ON_ZERO(offsetof(struct drv_struct, member))), \
		     struct drv_struct, member)
void ib_dealloc_device(struct ib_device *device) KAPI(ib_dealloc_device);
/* Takes the operations that are set. */
void ib_set_device_ops(struct ib_device *device, const struct ib_device_ops *ops)
	KAPI(ib_set_device_ops);
/* `name` may have one %d, for the first free number. Clients of the calling thread's node
 * hear of it. -EEXIST: there is one of that name. */
int ib_register_device(struct ib_device *device, const char *name,
		       struct device *dma_device) KAPI(ib_register_device);
/* Clients let go of it; waits until nobody holds it (ib_device_try_get). */
void ib_unregister_device(struct ib_device *device) KAPI(ib_unregister_device);

/* -- clients ------------------------------------------------------------------------ */

struct ib_client {
	const char *name;
	int (*add)(struct ib_device *ibdev);
	void (*remove)(struct ib_device *ibdev, void *client_data);
	void (*rename)(struct ib_device *dev, void *client_data);
	/* the core's */
	struct list_head list;
	unsigned int node;
};

/* For the devices of the calling thread's node (kapi_node_enter); inside verbcastd, of all
 * nodes. `add` is called for every device there is before this returns, from the caller's
 * thread, and for later ones from the thread of events. */
int ib_register_client(struct ib_client *client) KAPI(ib_register_client);
/* `remove` is called for every device, and then nothing any more. */
void ib_unregister_client(struct ib_client *client) KAPI(ib_unregister_client);
void *ib_get_client_data(struct ib_device *device, struct ib_client *client)
	KAPI(ib_get_client_data);
void ib_set_client_data(struct ib_device *device, struct ib_client *client, void *data)
	KAPI(ib_set_client_data);

/* A reference that keeps the device registered; false: it is being unregistered. */
bool ib_device_try_get(struct ib_device *dev) KAPI(ib_device_try_get);
void ib_device_put(struct ib_device *device) KAPI(ib_device_put);
struct ib_device *ib_device_get_by_name(const char *name, enum rdma_driver_id driver_id)
	KAPI(ib_device_get_by_name);

/* -- what can be asked -------------------------------------------------------------- */

int ib_query_port(struct ib_device *device, u32 port_num, struct ib_port_attr *port_attr)
	KAPI(ib_query_port);
enum rdma_link_layer rdma_port_get_link_layer(struct ib_device *device, u32 port_num)
	KAPI(rdma_port_get_link_layer);
/* RDMA_CORE_CAP_... of a port; 0: no such port. */
u32 kapi_port_caps(const struct ib_device *device, u32 port_num) KAPI(port_caps);
int rdma_query_gid(struct ib_device *device, u32 port_num, int index, union ib_gid *gid)
	KAPI(rdma_query_gid);
int ib_query_pkey(struct ib_device *device, u32 port_num, u16 index, u16 *pkey)
	KAPI(ib_query_pkey);
int ib_find_pkey(struct ib_device *device, u32 port_num, u16 pkey, u16 *index)
	KAPI(ib_find_pkey);
int ib_find_gid(struct ib_device *device, union ib_gid *gid, u32 *port_num, u16 *index)
	KAPI(ib_find_gid);

static inline bool rdma_cap_ib_switch(const struct ib_device *device)
{
	return device->node_type == RDMA_NODE_IB_SWITCH;
}

static inline u32 rdma_start_port(const struct ib_device *device)
{
	return rdma_cap_ib_switch(device) ? 0 : 1;
}

static inline u32 rdma_end_port(const struct ib_device *device)
{
	return rdma_cap_ib_switch(device) ? 0 : device->phys_port_cnt;
}

#define rdma_for_each_port(device, iter)                                                 \
	for (iter = rdma_start_port(device) +                                            \
		    BUILD_BUG_ON_ZERO(!__builtin_types_compatible_p(typeof(iter), u32)); \
	     iter <= rdma_end_port(device); iter++)

static inline int rdma_is_port_valid(const struct ib_device *device, unsigned int port)
{
	return port >= rdma_start_port(device) && port <= rdma_end_port(device);
}

static inline bool rdma_protocol_ib(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_PROT_IB;
}

static inline bool rdma_protocol_roce_udp_encap(const struct ib_device *device,
						u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
}

static inline bool rdma_protocol_roce_eth_encap(const struct ib_device *device,
						u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_PROT_ROCE;
}

static inline bool rdma_protocol_roce(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) &
	       (RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP);
}

static inline bool rdma_protocol_iwarp(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_PROT_IWARP;
}

static inline bool rdma_cap_ib_mad(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_IB_MAD;
}

/* No port here is one of Omni-Path, but for a driver's that says so. */
static inline bool rdma_cap_opa_mad(struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_OPA_MAD;
}

static inline bool rdma_cap_ib_smi(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_IB_SMI;
}

static inline bool rdma_cap_ib_cm(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_IB_CM;
}

static inline bool rdma_cap_iw_cm(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_IW_CM;
}

static inline bool rdma_cap_ib_sa(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_IB_SA;
}

static inline bool rdma_cap_ib_mcast(const struct ib_device *device, u32 port_num)
{
	return rdma_cap_ib_sa(device, port_num);
}

static inline bool rdma_cap_af_ib(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_AF_IB;
}

static inline bool rdma_cap_eth_ah(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_ETH_AH;
}

static inline bool rdma_cap_opa_ah(struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) & RDMA_CORE_CAP_OPA_AH;
}

size_t rdma_max_mad_size(const struct ib_device *device, u32 port_num)
	KAPI(rdma_max_mad_size);

static inline bool rdma_cap_roce_gid_table(const struct ib_device *device, u32 port_num)
{
	return rdma_protocol_roce(device, port_num) && device->ops.add_gid &&
	       device->ops.del_gid;
}

static inline bool rdma_core_cap_opa_port(struct ib_device *device, u32 port_num)
{
	u32 all = RDMA_CORE_CAP_OPA_MAD | RDMA_CORE_PORT_IBA_IB;

	return (kapi_port_caps(device, port_num) & all) == all;
}

static inline int rdma_mtu_enum_to_int(struct ib_device *device, u32 port, int mtu)
{
	if (rdma_core_cap_opa_port(device, port) && (mtu == 6 || mtu == 7))
		return mtu == 6 ? 8192 : 10240;
	return ib_mtu_enum_to_int((enum ib_mtu)mtu);
}

static inline int rdma_mtu_from_attr(struct ib_device *device, u32 port,
				     struct ib_port_attr *attr)
{
	if (rdma_core_cap_opa_port(device, port))
		return attr->phys_mtu;
	return ib_mtu_enum_to_int(attr->max_mtu);
}

static inline bool rdma_ah_grh_required(const struct ib_device *device, u32 port_num)
{
	return kapi_port_caps(device, port_num) &
	       (RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP |
		RDMA_CORE_CAP_IB_GRH_REQUIRED);
}

static inline u16 ib_lid_cpu16(u32 lid)
{
	WARN_ON_ONCE(lid & 0xFFFF0000);
	return (u16)lid;
}

static inline __be16 ib_lid_be16(u32 lid)
{
	return cpu_to_be16(ib_lid_cpu16(lid));
}

/* Reads the addresses of the machine again, now; the devices of a site follow them of
 * their own. */
void rdma_roce_rescan_device(struct ib_device *ibdev) KAPI(rdma_roce_rescan_device);

/* There is no driver model: only the `dev` of a device of ours leads back to it. */
static inline struct ib_device *rdma_device_to_ibdev(struct device *device)
{
	return container_of(device, struct ib_device, dev);
}

#define rdma_device_to_drv_device(dev, drv_dev_struct, ibdev_member) \
	container_of(rdma_device_to_ibdev(dev), drv_dev_struct, ibdev_member)

static inline int ibdev_to_node(struct ib_device *ibdev)
{
	return ibdev->dev.parent ? dev_to_node(ibdev->dev.parent) : NUMA_NO_NODE;
}

#define ibdev_err(d, fmt, ...)  dev_err(&(d)->dev, fmt, ##__VA_ARGS__)
#define ibdev_warn(d, fmt, ...) dev_warn(&(d)->dev, fmt, ##__VA_ARGS__)
#define ibdev_info(d, fmt, ...) dev_info(&(d)->dev, fmt, ##__VA_ARGS__)
#define ibdev_dbg(d, fmt, ...)  dev_dbg(&(d)->dev, fmt, ##__VA_ARGS__)

#endif
