/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control protocol between a client (our libraries, the verbcast command) and
 * verbcastd: one Unix seqpacket socket a process.
 *
 * One request, one reply, in order, on the control socket; a request is one message of
 * a fixed header and a body whose length the operation fixes. Descriptors travel by
 * SCM_RIGHTS beside the reply (or the request) that names them. What verbcastd has to
 * tell unasked goes over a second seqpacket socket, handed out at HELLO: the event
 * socket. Both ends check every length, number and descriptor of the other.
 *
 * Integers are host order: both ends are on one machine. Fields that verbs keep in
 * network order say so. Handles are numbers that verbcastd gave out to this client and
 * looks up again; they mean nothing to another client. `uid` fields are the client's own
 * and come back unchanged.
 */
#ifndef UAPI_PROTOCOL_H
#define UAPI_PROTOCOL_H

#include <assert.h>
#include <stdint.h>
#include <sys/socket.h>

#define UAPI_MAGIC       0x56434354u /* "VCCT" */
#define UAPI_VERSION     5u
#define UAPI_MESSAGE_MAX 65536u
#define UAPI_FDS_MAX     4

struct uapi_header {
	uint32_t length; /* header and body, in bytes; equals the message's size */
	uint16_t op;     /* enum uapi_op */
	uint16_t fds;    /* descriptors that travel along */
	uint32_t serial; /* the reply bears the request's */
	int32_t status;  /* replies: 0 or a negative errno; requests: 0 */
};
static_assert(sizeof(struct uapi_header) == 16, "protocol");

/*
 * Every operation, its request and its reply. A body type `uapi_none` is empty. A failed
 * reply has no body. `+` marks bodies followed by a variable part whose length the body
 * tells. The table makes the enum, the names in the log and the server's dispatch table.
 *
 *   OP(number, NAME, request, reply)
 */
#define UAPI_OPS(OP)                                                   \
	OP(1, HELLO, uapi_hello, uapi_hello_reply)                     \
	OP(2, LEASE, uapi_lease, uapi_none)                            \
	OP(3, STATUS, uapi_none, uapi_status_reply)                    \
	OP(4, STOP, uapi_none, uapi_none)                              \
	OP(5, MAP_PEER, uapi_map_peer, uapi_map_peer_reply)            \
	OP(6, PUBLISH_LOG, uapi_none, uapi_none)                       \
	OP(7, DRAINED, uapi_drained, uapi_none)                        \
	OP(8, ADMIN, uapi_admin, uapi_admin_reply)                     \
	OP(9, NETNS_GET, uapi_netns, uapi_none)                        \
	OP(10, NETNS_PUT, uapi_netns, uapi_none)                       \
	OP(11, NETNS_ADDRESS, uapi_none, uapi_netns_address)           \
	OP(16, QUERY_DEVICE, uapi_query_device, uapi_device)           \
	OP(17, OPEN_DEVICE, uapi_open_device, uapi_handle_reply)       \
	OP(18, CLOSE_DEVICE, uapi_handle, uapi_none)                   \
	OP(19, ALLOC_PD, uapi_handle, uapi_handle_reply)               \
	OP(20, DEALLOC_PD, uapi_handle, uapi_none)                     \
	OP(21, REG_MR, uapi_reg_mr, uapi_reg_mr_reply)                 \
	OP(22, REREG_MR, uapi_rereg_mr, uapi_reg_mr_reply)             \
	OP(23, DEREG_MR, uapi_handle, uapi_none)                       \
	OP(24, CREATE_CQ, uapi_create_cq, uapi_create_cq_reply)        \
	OP(25, RESIZE_CQ, uapi_resize_cq, uapi_create_cq_reply)        \
	OP(26, DESTROY_CQ, uapi_handle, uapi_none)                     \
	OP(27, CREATE_QP, uapi_create_qp, uapi_create_qp_reply)        \
	OP(28, MODIFY_QP, uapi_modify_qp, uapi_modify_qp_reply)        \
	OP(29, DESTROY_QP, uapi_handle, uapi_none)                     \
	OP(30, ATTACH_MCAST, uapi_mcast, uapi_attach_reply)            \
	OP(31, DETACH_MCAST, uapi_mcast, uapi_none)                    \
	OP(32, CREATE_SRQ, uapi_create_srq, uapi_create_srq_reply)     \
	OP(33, MODIFY_SRQ, uapi_modify_srq, uapi_srq_attr)             \
	OP(34, QUERY_SRQ, uapi_handle, uapi_srq_attr)                  \
	OP(35, DESTROY_SRQ, uapi_handle, uapi_none)                    \
	OP(64, CM_CREATE_ID, uapi_cm_create_id, uapi_handle_reply)     \
	OP(65, CM_DESTROY_ID, uapi_handle, uapi_none)                  \
	OP(66, CM_BIND_ADDR, uapi_cm_addr, uapi_cm_route)              \
	OP(67, CM_RESOLVE_ADDR, uapi_cm_resolve_addr, uapi_none)       \
	OP(68, CM_RESOLVE_ROUTE, uapi_cm_resolve_route, uapi_none)     \
	OP(69, CM_QUERY_ROUTE, uapi_handle, uapi_cm_route)             \
	OP(70, CM_JOIN, uapi_cm_join, uapi_handle_reply)               \
	OP(71, CM_LEAVE, uapi_handle, uapi_none)                       \
	OP(72, CM_INIT_QP_ATTR, uapi_cm_init_qp_attr, uapi_cm_qp_attr) \
	OP(73, CM_SET_OPTION, uapi_cm_option, uapi_none)               \
	OP(74, CM_LISTEN, uapi_cm_listen, uapi_cm_route)               \
	OP(80, UMAD_QUERY, uapi_umad_query, uapi_umad_port)            \
	OP(81, UMAD_OPEN, uapi_umad_open, uapi_none)                   \
	OP(82, UMAD_REGISTER, uapi_umad_register, uapi_umad_agent)     \
	OP(83, UMAD_UNREGISTER, uapi_umad_agent, uapi_none)            \
	OP(84, UMAD_SEND, uapi_umad_message, uapi_none)                \
	OP(85, UMAD_ISSM, uapi_umad_open, uapi_umad_issm)              \
	OP(86, UMAD_FETCH, uapi_none, uapi_none)

enum uapi_op {
#define UAPI_ENUM(number, name, request, reply) UAPI_##name = number,
	UAPI_OPS(UAPI_ENUM)
#undef UAPI_ENUM
};

struct uapi_none {
	uint8_t none[0];
};

/* -- the client's life -------------------------------------------------------------- */

enum uapi_hello_flags {
	UAPI_HELLO_TOOL =
		1u << 0, /* status, stop, lease, admin: no slot, no memory, no events */
};

/* Descriptor: a pidfd of the sender itself (fds 1; 0 where the kernel has none). */
struct uapi_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t layout_version; /* SHM_LAYOUT_VERSION of the client */
	uint32_t flags;
	uint32_t pid; /* as the client sees itself; checked against the socket's */
	uint32_t reserved;
	char node[64];    /* the node to be on; empty: the site's first */
	char program[64]; /* for people: /proc/self/comm or the like */
};

/* Descriptors: [0] event socket, [1] tables (read-only), [2] doorbell, [3] counters;
 * none for a tool. The version fields are verbcastd's even when status is -EPROTO
 * (this one failed reply has a body, so that the client can name both versions). */
struct uapi_hello_reply {
	uint32_t version;
	uint32_t layout_version;
	uint32_t slot;
	uint32_t incarnation;
	uint32_t devices; /* number of devices of the client's node, just now */
	uint32_t node;
	uint64_t tables_bytes;
	char site[64];
	char release[32]; /* VERBCAST_VERSION of verbcastd */
};

/* The site lives at least as long as the process behind the pidfd sent along (fds 1). */
struct uapi_lease {
	uint32_t flags; /* 1: `run --private`, the site ends with the process */
	uint32_t reserved;
};

/* Descriptor: a memory file with the JSON text, `bytes` long. */
struct uapi_status_reply {
	uint64_t bytes;
};

struct uapi_map_peer {
	uint32_t slot;
	uint32_t reserved;
};

/* Descriptors as told, in this order: doorbell, log, the process itself. */
struct uapi_map_peer_reply {
	uint32_t incarnation;
	uint32_t dead;
	uint32_t has_doorbell;
	uint32_t has_log;
	uint32_t has_process;
	uint32_t reserved;
};

struct uapi_drained {
	uint32_t slot;
	uint32_t incarnation;
};

/* A command of verbcast(1), in words (src/admin): of tools alone. Its answer may take as
 * long as the command does; nothing else may be asked meanwhile. -EAGAIN: this site ends, for
 * the sake of the command; the next one is to be asked. */
struct uapi_admin {
	uint32_t argc;    /* at least 1 */
	uint32_t bytes;   /* of `words` in use; 0 behind them */
	char words[4088]; /* one after the other, each with its 0 */
};
static_assert(sizeof(struct uapi_admin) == 4096, "protocol");

/* Network namespaces of the caller's node, and the one that connects them: of tools alone.
 * GET has a descriptor in its reply; -ENOENT: there is none yet. PUT takes one, until the
 * site ends; -EEXIST: there is one. */
enum uapi_netns_which {
	UAPI_NETNS_HUB = 0,
	UAPI_NETNS_NODE = 1,
};

struct uapi_netns {
	uint32_t which; /* enum uapi_netns_which */
	uint32_t reserved;
};

/* The addresses of the node's InfiniBand port, network order. */
struct uapi_netns_address {
	uint8_t ip4[4];
	uint8_t ip6[16];
	uint32_t ip4_prefix, ip6_prefix;
};

/* Descriptor: a memory file, `bytes` long: what to print where exit_status is 0, else why
 * it is not. */
struct uapi_admin_reply {
	uint32_t exit_status;
	uint32_t reserved;
	uint64_t bytes;
};

/* -- verbs -------------------------------------------------------------------------- */

struct uapi_handle {
	uint32_t handle;
	uint32_t reserved;
};

struct uapi_handle_reply {
	uint32_t handle;
	uint32_t reserved;
};

/* Devices come and go: who asks for all of them asks until -ENODEV, and again if
 * shm_tables_header.devices_generation has moved meanwhile. */
struct uapi_query_device {
	uint32_t index; /* place in the list of the moment, from 0 */
	uint32_t reserved;
};

/* A device as the client's library presents it. Ports are described by the tables:
 * ports[first_port .. first_port + phys_port_cnt - 1]. */
struct uapi_device {
	char name[64];           /* "vroce0" */
	uint32_t device;         /* number in the site's tables (shm_port.device) */
	uint32_t first_port;     /* index of port 1 in shm_tables.ports */
	uint32_t node_type;      /* enum ibv_node_type */
	uint32_t transport;      /* enum ibv_transport_type */
	uint64_t node_guid;      /* network order */
	uint64_t sys_image_guid; /* network order */
	uint64_t max_mr_size;
	uint64_t page_size_cap;
	uint32_t vendor_id, vendor_part_id, hw_ver, phys_port_cnt;
	uint32_t max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_pd, max_ah;
	uint32_t max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
	uint32_t max_srq, max_srq_wr, max_srq_sge, max_inline;
	uint32_t device_cap_flags, max_pkeys, local_ca_ack_delay;
	char fw_ver[64];
	char netdev[16]; /* name of the interface behind it; empty: none */
	uint32_t id;     /* what other messages name it by; never used again */
	uint32_t reserved;
};

struct uapi_open_device {
	uint32_t id; /* -ENODEV: gone */
	uint32_t reserved;
};

struct uapi_reg_mr {
	uint32_t pd;
	uint32_t access; /* enum ibv_access_flags */
	uint64_t addr;
	uint64_t length;
	uint64_t iova;
};

struct uapi_rereg_mr {
	uint32_t mr;
	uint32_t flags; /* enum ibv_rereg_mr_flags */
	struct uapi_reg_mr to;
};

struct uapi_reg_mr_reply {
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t reserved;
};

struct uapi_create_cq {
	uint32_t context; /* handle of OPEN_DEVICE */
	uint32_t cqe;
	uint32_t vector;
	uint32_t reserved;
};

struct uapi_resize_cq {
	uint32_t cq;
	uint32_t cqe;
};

struct uapi_create_cq_reply {
	uint32_t handle;
	uint32_t cqe; /* granted, at least what was asked for */
};

struct uapi_srq_attr {
	uint32_t max_wr, max_sge, srq_limit, reserved;
};

struct uapi_create_srq {
	uint32_t pd;
	uint32_t srq_type;         /* enum ibv_srq_type */
	struct uapi_srq_attr attr; /* srq_limit: 0 */
};

struct uapi_create_srq_reply {
	uint32_t handle;
	uint32_t reserved;
	struct uapi_srq_attr attr; /* granted */
};

/* The reply is how it stands after the change; srq_limit as set last: whether it was
 * reached since only the process knows. */
struct uapi_modify_srq {
	uint32_t srq;
	uint32_t mask; /* enum ibv_srq_attr_mask */
	struct uapi_srq_attr attr;
};

struct uapi_qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct uapi_create_qp {
	uint32_t pd, send_cq, recv_cq, srq; /* handles; srq 0: none */
	uint32_t qp_type;                   /* enum ibv_qp_type */
	uint32_t create_flags;              /* enum ibv_qp_create_flags */
	uint32_t sq_sig_all;
	struct uapi_qp_cap cap;
};

struct uapi_create_qp_reply {
	uint32_t handle;
	uint32_t qpn;
	uint32_t counters; /* index in shm_counters.qps */
	uint32_t reserved;
	struct uapi_qp_cap cap; /* granted */
};

/* struct ibv_qp_attr, field by field, as far as a mask bit can name it. */
struct uapi_ah_attr {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint16_t dlid;
	uint8_t sgid_index, hop_limit, traffic_class;
	uint8_t sl, src_path_bits, static_rate, is_global, port_num;
	uint8_t reserved[6];
};
static_assert(sizeof(struct uapi_ah_attr) == 36, "protocol");

struct uapi_qp_attr {
	uint32_t qp_state, cur_qp_state;
	uint32_t path_mtu, path_mig_state;
	uint32_t qkey, rq_psn, sq_psn, dest_qp_num;
	uint32_t qp_access_flags;
	uint16_t pkey_index, alt_pkey_index;
	uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer, port_num, timeout, retry_cnt;
	uint8_t rnr_retry, alt_port_num, alt_timeout, reserved;
	uint32_t rate_limit;
	struct uapi_ah_attr ah, alt_ah;
};

struct uapi_modify_qp {
	uint32_t qp;
	uint32_t mask; /* enum ibv_qp_attr_mask */
	struct uapi_qp_attr attr;
};

/* The attributes as they stand after the change: what ibv_query_qp returns. */
struct uapi_modify_qp_reply {
	struct uapi_qp_attr attr;
	uint32_t port_index; /* in shm_tables.ports; UINT32_MAX before INIT */
	uint32_t reserved;
};

struct uapi_mcast {
	uint32_t qp;
	uint16_t lid; /* host order */
	uint16_t reserved;
	uint8_t gid[16];
};

struct uapi_attach_reply {
	uint32_t entry;    /* in shm_tables.groups; UINT32_MAX: many, by (GID, LID) */
	uint32_t counters; /* index in shm_counters.members */
	uint64_t generation;
	uint32_t again; /* 1: this pair was attached already, nothing new */
	uint32_t reserved;
};

/* -- rdma_cm ------------------------------------------------------------------------ */

struct uapi_cm_create_id {
	uint64_t uid;     /* comes back in every event of the id */
	uint32_t ps;      /* enum rdma_port_space */
	uint32_t qp_type; /* enum ibv_qp_type */
};

struct uapi_cm_addr {
	uint32_t id;
	uint32_t length; /* of the address; what the family says */
	struct sockaddr_storage addr;
};

struct uapi_cm_resolve_addr {
	uint32_t id;
	uint32_t timeout_ms;
	uint32_t src_length; /* 0: none given */
	uint32_t dst_length;
	struct sockaddr_storage src, dst;
};

struct uapi_cm_resolve_route {
	uint32_t id;
	uint32_t timeout_ms;
};

struct uapi_cm_listen {
	uint32_t id;
	int32_t backlog;
};

/* Where an id stands: addresses and, when bound to a device, that device. */
struct uapi_cm_route {
	uint32_t bound;  /* 1: device, port_num, sgid and pkey below count */
	uint32_t device; /* uapi_device.id */
	uint32_t port_num;
	uint32_t src_length, dst_length; /* 0: not set */
	uint32_t pkey;                   /* host order */
	uint32_t num_paths;
	uint32_t path_mtu;  /* enum ibv_mtu */
	uint32_t path_rate; /* enum ibv_rate */
	uint32_t flow_label;
	uint16_t slid, dlid; /* host order; 0 on RoCE */
	uint8_t hop_limit, traffic_class, sl, packet_life_time;
	uint8_t sgid[16], dgid[16];
	struct sockaddr_storage src, dst;
};

enum uapi_cm_join_flags {
	UAPI_CM_JOIN_SENDONLY = 1u << 0,
};

struct uapi_cm_join {
	uint64_t uid; /* comes back in every event of this membership */
	uint32_t id;
	uint32_t flags; /* enum uapi_cm_join_flags */
	uint32_t length;
	uint32_t reserved;
	struct sockaddr_storage addr;
};

struct uapi_cm_init_qp_attr {
	uint32_t id;
	uint32_t qp_state; /* the state wanted */
};

struct uapi_cm_qp_attr {
	uint32_t mask;
	uint32_t reserved;
	struct uapi_qp_attr attr;
};

struct uapi_cm_option {
	uint32_t id;
	uint32_t level, name, length;
	uint8_t value[64];
};

/* -- management datagrams (libibumad, which is a tool) -------------------------------- */

#define UAPI_UMAD_PKEYS_MAX  128
#define UAPI_UMAD_AGENTS_MAX 32         /* a port that is open */
#define UAPI_UMAD_BYTES_MAX  (8u << 20) /* one message: far above any table of an SA */

/* The ports that carry MADs, in the order of the devices; -ENODEV past the end. */
struct uapi_umad_query {
	uint32_t index; /* of the device, among those with such ports */
	uint32_t port_num;
};

/* As it stands at that moment. */
struct uapi_umad_port {
	char device[64];
	char fw_ver[64];
	uint64_t node_guid, sys_image_guid; /* network order */
	uint32_t id;                        /* uapi_device.id */
	uint32_t node_type, hw_ver, vendor_id, vendor_part_id, phys_port_cnt;
	uint32_t link_layer; /* enum rdma_link_layer */
	uint32_t state, phys_state;
	uint32_t lid, lmc, sm_lid, sm_sl; /* host order */
	uint32_t cap_mask;
	uint32_t active_width, active_speed; /* as verbs have them */
	uint8_t gid[16];                     /* the port's first: prefix and GUID */
	uint32_t pkey_count;
	uint16_t pkeys[UAPI_UMAD_PKEYS_MAX]; /* host order */
	uint32_t port_num;
};

/* One port a connection (-EBUSY), until that ends. Descriptors: [0] the port's own socket,
 * to close which is to end the connection, [1] its rings (umad_ring.h). The socket has a
 * bell (UAPI_UMAD_BELL) to be read while something is in the ring to the program. */
struct uapi_umad_open {
	uint32_t id; /* uapi_umad_port.id */
	uint32_t port_num;
};

/* The file that says, while anybody has it open for reading, that a subnet manager is
 * behind the port. It is there until the site ends. */
struct uapi_umad_issm {
	char path[256];
};

struct uapi_umad_register {
	uint8_t mgmt_class, mgmt_class_version, rmpp_version;
	uint8_t oui[3]; /* vendor classes 0x30 to 0x4f, in the order of the wire */
	uint8_t raw;    /* 1: segments of a message are the client's own business */
	uint8_t reserved;
	uint32_t qpn; /* 0 or 1 */
	uint32_t reserved2;
	uint64_t method_mask[2];
};

struct uapi_umad_agent {
	uint32_t agent; /* the smallest that is free; below UAPI_UMAD_AGENTS_MAX */
	uint32_t reserved;
};

/*
 * A message, both ways. `mad` has it, or the beginning of it where it is longer; then all
 * of it is in a memory file, sealed against shrinking.
 *
 * Out: where to. As a request, with the memory file; 0: it is under way. Or, what fits in
 * `mad` alone, in the port's ring, which nobody answers: what is refused then comes back as
 * if it had failed.
 *
 * In, in the port's ring: where from; or, status not 0, what went out and has come back,
 * its header alone. Of a longer one UMAD_FETCH brings the memory file, once, the oldest
 * first (-ENOENT: there is none); if that fails the message is lost.
 */
struct uapi_umad_message {
	uint32_t agent;
	int32_t status;      /* a positive errno; out: 0 */
	uint32_t timeout_ms; /* 0: no answer is expected, and nothing comes back */
	uint32_t retries;
	uint32_t length;
	uint32_t qpn, qkey, flow_label; /* host order, as is `lid` */
	uint16_t lid, pkey_index;
	uint8_t sl, path_bits, has_grh, gid_index;
	uint8_t hop_limit, traffic_class;
	uint8_t reserved[2];
	uint8_t gid[16];
	uint8_t mad[256];
};
static_assert(sizeof(struct uapi_umad_message) == 316, "protocol");

/* -- events (verbcastd to client, on the event socket) ------------------------------ */

enum uapi_event_op {
	UAPI_EVENT_CM = 0x8001,    /* body uapi_cm_event */
	UAPI_EVENT_ASYNC = 0x8002, /* body uapi_async_event */
	UAPI_UMAD_BELL = 0x8003,   /* no body; both ways, on a port's socket */
};

struct uapi_cm_event {
	uint64_t id_uid;
	uint64_t join_uid; /* multicast events; else 0 */
	uint32_t event;    /* enum rdma_cm_event_type */
	int32_t status;
	uint32_t qp_num;
	uint32_t qkey;
	uint16_t mlid; /* host order */
	uint16_t private_length;
	struct uapi_ah_attr ah; /* multicast and UD events */
	struct uapi_cm_route
		route; /* ADDR_RESOLVED, ROUTE_RESOLVED: where the id stands now */
	uint8_t private_data[256];
};

struct uapi_async_event {
	uint32_t event;    /* enum ibv_event_type */
	uint32_t device;   /* uapi_device.id */
	uint32_t port_num; /* port events; else 0 */
	uint32_t handle;   /* of the QP, CQ or SRQ; else 0 */
};

const char *uapi_op_name(unsigned int op);

#endif
