/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager of the kernel, as far as datagrams and groups go (spec/kernel 3):
 * ids that bind, resolve and join. No device here carries connections yet: rdma_connect,
 * rdma_accept and rdma_listen are -EOPNOTSUPP after their checks.
 *
 * Events come from the loop.
 */
#ifndef KAPI_RDMA_RDMA_CM_H
#define KAPI_RDMA_RDMA_CM_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,
	RDMA_CM_EVENT_ADDR_ERROR,
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_REQUEST,
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,
	RDMA_CM_EVENT_REJECTED,
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,
	RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_MULTICAST_JOIN,
	RDMA_CM_EVENT_MULTICAST_ERROR,
	RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT,
};

const char *rdma_event_msg(enum rdma_cm_event_type event) KAPI(rdma_event_msg);

enum rdma_ucm_port_space {
	RDMA_PS_IPOIB = 0x0002,
	RDMA_PS_IB = 0x013F,
	RDMA_PS_TCP = 0x0106,
	RDMA_PS_UDP = 0x0111,
};

#define RDMA_IB_IP_PS_MASK    0xFFFFFFFFFFFF0000ULL
#define RDMA_UDP_QKEY         0x01234567
#define RDMA_MAX_PRIVATE_DATA 56

struct rdma_dev_addr {
	unsigned char src_dev_addr[MAX_ADDR_LEN];
	unsigned char dst_dev_addr[MAX_ADDR_LEN];
	unsigned char broadcast[MAX_ADDR_LEN];
	unsigned short dev_type;
	int bound_dev_if;
	enum rdma_transport_type transport;
	struct net *net;
	const struct ib_gid_attr *sgid_attr;
	enum rdma_network_type network;
	int hoplimit;
};

struct rdma_addr {
	struct sockaddr_storage src_addr;
	struct sockaddr_storage dst_addr;
	struct rdma_dev_addr dev_addr;
};

struct rdma_route {
	struct rdma_addr addr;
	struct sa_path_rec *path_rec;
	int num_pri_alt_paths;
};

struct rdma_conn_param {
	const void *private_data;
	u8 private_data_len;
	u8 responder_resources;
	u8 initiator_depth;
	u8 flow_control;
	u8 retry_count;
	u8 rnr_retry_count;
	u8 srq;
	u32 qp_num;
	u32 qkey;
};

struct rdma_ud_param {
	const void *private_data;
	u8 private_data_len;
	struct rdma_ah_attr ah_attr;
	u32 qp_num;
	u32 qkey;
};

struct rdma_cm_event {
	enum rdma_cm_event_type event;
	int status;
	union {
		struct rdma_conn_param conn;
		struct rdma_ud_param ud;
	} param;
};

struct rdma_cm_id;

/* Non-zero: the id is destroyed, but for multicast events, where it is reported. */
typedef int (*rdma_cm_event_handler)(struct rdma_cm_id *id, struct rdma_cm_event *event);

struct rdma_cm_id {
	struct ib_device *device;
	void *context;
	struct ib_qp *qp;
	rdma_cm_event_handler event_handler;
	struct rdma_route route;
	enum rdma_ucm_port_space ps;
	enum ib_qp_type qp_type;
	u32 port_num;
};

struct rdma_cm_id *__rdma_create_kernel_id(struct net *net,
					   rdma_cm_event_handler event_handler,
					   void *context, enum rdma_ucm_port_space ps,
					   enum ib_qp_type qp_type, const char *caller)
	KAPI(__rdma_create_kernel_id);
#define rdma_create_id(net, event_handler, context, ps, qp_type) \
	__rdma_create_kernel_id(net, event_handler, context, ps, qp_type, "verbcast")
/* Leaves its groups; no event comes afterwards. Not from the id's own event (reported;
 * return non-zero from it instead). */
void rdma_destroy_id(struct rdma_cm_id *id) KAPI(rdma_destroy_id);
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr) KAPI(rdma_bind_addr);
int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
		      const struct sockaddr *dst_addr, unsigned long timeout_ms)
	KAPI(rdma_resolve_addr);
int rdma_resolve_route(struct rdma_cm_id *id, unsigned long timeout_ms)
	KAPI(rdma_resolve_route);
/* -EINVAL: of another device. A UD queue pair is taken to RTS; failure destroys it. */
int rdma_create_qp(struct rdma_cm_id *id, struct ib_pd *pd,
		   struct ib_qp_init_attr *qp_init_attr) KAPI(rdma_create_qp);
void rdma_destroy_qp(struct rdma_cm_id *id) KAPI(rdma_destroy_qp);
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ib_qp_attr *qp_attr,
		      int *qp_attr_mask) KAPI(rdma_init_qp_attr);
int rdma_listen(struct rdma_cm_id *id, int backlog) KAPI(rdma_listen);
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
	KAPI(rdma_connect);
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
	KAPI(rdma_accept);
int rdma_disconnect(struct rdma_cm_id *id) KAPI(rdma_disconnect);
int rdma_reject(struct rdma_cm_id *id, const void *private_data, u8 private_data_len,
		u8 reason) KAPI(rdma_reject);

/* Spec/kernel 3.1: -EINVAL where the id has a queue pair, no device, or is not of UD. The
 * queue pair is not attached: ib_attach_mcast does that. */
int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, u8 join_state,
			void *context) KAPI(rdma_join_multicast);
/* The newest membership of exactly this address; without one nothing happens. */
void rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
	KAPI(rdma_leave_multicast);

void rdma_set_service_type(struct rdma_cm_id *id, int tos) KAPI(rdma_set_service_type);
int rdma_set_reuseaddr(struct rdma_cm_id *id, int reuse) KAPI(rdma_set_reuseaddr);
int rdma_set_afonly(struct rdma_cm_id *id, int afonly) KAPI(rdma_set_afonly);
int rdma_set_ack_timeout(struct rdma_cm_id *id, u8 timeout) KAPI(rdma_set_ack_timeout);

#endif
