/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Management datagrams: agents on the queue pairs 0 and 1 of a port.
 *
 * Handlers come from the loop. A received message is whole (segments put together) in one
 * flat buffer; `recv_buf_list` has that one entry.
 */
#ifndef KAPI_RDMA_IB_MAD_H
#define KAPI_RDMA_IB_MAD_H

#include <rdma/ib_verbs.h>

#define IB_MGMT_BASE_VERSION 1

#define IB_MGMT_CLASS_SUBN_LID_ROUTED     0x01
#define IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE 0x81
#define IB_MGMT_CLASS_SUBN_ADM            0x03
#define IB_MGMT_CLASS_PERF_MGMT           0x04
#define IB_MGMT_CLASS_BM                  0x05
#define IB_MGMT_CLASS_DEVICE_MGMT         0x06
#define IB_MGMT_CLASS_CM                  0x07
#define IB_MGMT_CLASS_SNMP                0x08
#define IB_MGMT_CLASS_VENDOR_RANGE2_START 0x30
#define IB_MGMT_CLASS_VENDOR_RANGE2_END   0x4F

#define IB_MGMT_METHOD_GET          0x01
#define IB_MGMT_METHOD_SET          0x02
#define IB_MGMT_METHOD_GET_RESP     0x81
#define IB_MGMT_METHOD_SEND         0x03
#define IB_MGMT_METHOD_TRAP         0x05
#define IB_MGMT_METHOD_REPORT       0x06
#define IB_MGMT_METHOD_REPORT_RESP  0x86
#define IB_MGMT_METHOD_TRAP_REPRESS 0x07
#define IB_MGMT_METHOD_RESP         0x80
#define IB_MGMT_MAX_METHODS         128

#define IB_MGMT_MAD_STATUS_SUCCESS                   0x0000
#define IB_MGMT_MAD_STATUS_BUSY                      0x0001
#define IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD        0x0008
#define IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB 0x000c

#define IB_QP0         0
#define IB_QP1         cpu_to_be32(1)
#define IB_QP1_QKEY    0x80010000
#define IB_QP_SET_QKEY 0x80000000

enum {
	IB_MGMT_MAD_HDR = 24,
	IB_MGMT_MAD_DATA = 232,
	IB_MGMT_RMPP_HDR = 36,
	IB_MGMT_RMPP_DATA = 220,
	IB_MGMT_VENDOR_HDR = 40,
	IB_MGMT_VENDOR_DATA = 216,
	IB_MGMT_SA_HDR = 56,
	IB_MGMT_SA_DATA = 200,
	IB_MGMT_DEVICE_HDR = 64,
	IB_MGMT_DEVICE_DATA = 192,
	IB_MGMT_MAD_SIZE = IB_MGMT_MAD_HDR + IB_MGMT_MAD_DATA,
};

#define IB_MGMT_RMPP_STATUS_SUCCESS 0
#define IB_MGMT_RMPP_FLAG_ACTIVE    1

struct ib_mad_hdr {
	u8 base_version;
	u8 mgmt_class;
	u8 class_version;
	u8 method;
	__be16 status;
	__be16 class_specific;
	__be64 tid;
	__be16 attr_id;
	__be16 resv;
	__be32 attr_mod;
};

struct ib_rmpp_hdr {
	u8 rmpp_version;
	u8 rmpp_type;
	u8 rmpp_rtime_flags;
	u8 rmpp_status;
	__be32 seg_num;
	__be32 paylen_newwin;
};

struct ib_sa_hdr {
	__be64 sm_key;
	__be16 attr_offset;
	__be16 reserved;
	__be64 comp_mask;
} __packed;

struct ib_mad {
	struct ib_mad_hdr mad_hdr;
	u8 data[IB_MGMT_MAD_DATA];
};

struct ib_rmpp_mad {
	struct ib_mad_hdr mad_hdr;
	struct ib_rmpp_hdr rmpp_hdr;
	u8 data[IB_MGMT_RMPP_DATA];
};

struct ib_sa_mad {
	struct ib_mad_hdr mad_hdr;
	struct ib_rmpp_hdr rmpp_hdr;
	struct ib_sa_hdr sa_hdr;
	u8 data[IB_MGMT_SA_DATA];
} __packed;

struct ib_mad_agent;
struct ib_mad_send_wc;
struct ib_mad_recv_wc;
struct ib_mad_send_buf;

typedef void (*ib_mad_send_handler)(struct ib_mad_agent *mad_agent,
				    struct ib_mad_send_wc *mad_send_wc);
/* `send_buf`: of the request that this answers; null: unasked. */
typedef void (*ib_mad_recv_handler)(struct ib_mad_agent *mad_agent,
				    struct ib_mad_send_buf *send_buf,
				    struct ib_mad_recv_wc *mad_recv_wc);

struct ib_mad_agent {
	struct ib_device *device;
	struct ib_qp *qp; /* null: the special queue pairs are the device's own */
	ib_mad_recv_handler recv_handler;
	ib_mad_send_handler send_handler;
	void *context;
	u32 hi_tid;
	u32 flags;
	u32 port_num;
	u8 rmpp_version;
};

struct ib_mad_send_buf {
	struct ib_mad_send_buf *next;
	void *mad;
	struct ib_mad_agent *mad_agent;
	struct ib_ah *ah;
	void *context[2];
	int hdr_len;
	int data_len;
	int seg_count;
	int seg_size;
	int seg_rmpp_size;
	int timeout_ms;
	int retries;
};

struct ib_mad_send_wc {
	struct ib_mad_send_buf *send_buf;
	enum ib_wc_status status;
	u32 vendor_err;
};

struct ib_mad_recv_buf {
	struct list_head list;
	struct ib_grh *grh;
	union {
		struct ib_mad *mad;
	};
};

struct ib_mad_recv_wc {
	struct ib_wc *wc;
	struct ib_mad_recv_buf recv_buf;
	struct list_head rmpp_list;
	int mad_len;
	size_t mad_seg_size;
};

struct ib_mad_reg_req {
	u8 mgmt_class;
	u8 mgmt_class_version;
	u8 oui[3];
	DECLARE_BITMAP(method_mask, IB_MGMT_MAX_METHODS);
};

/* ERR_PTR: -EINVAL, -EBUSY (a method is another's), -ENODEV (no such queue pairs). */
struct ib_mad_agent *
ib_register_mad_agent(struct ib_device *device, u32 port_num, enum ib_qp_type qp_type,
		      struct ib_mad_reg_req *mad_reg_req, u8 rmpp_version,
		      ib_mad_send_handler send_handler, ib_mad_recv_handler recv_handler,
		      void *context, u32 registration_flags) KAPI(ib_register_mad_agent);
void ib_unregister_mad_agent(struct ib_mad_agent *mad_agent)
	KAPI(ib_unregister_mad_agent);
struct ib_mad_send_buf *ib_create_send_mad(struct ib_mad_agent *mad_agent, u32 remote_qpn,
					   u16 pkey_index, int rmpp_active, int hdr_len,
					   int data_len, gfp_t gfp_mask, u8 base_version)
	KAPI(ib_create_send_mad);
void ib_free_send_mad(struct ib_mad_send_buf *send_buf) KAPI(ib_free_send_mad);
int ib_post_send_mad(struct ib_mad_send_buf *send_buf,
		     struct ib_mad_send_buf **bad_send_buf) KAPI(ib_post_send_mad);
void ib_free_recv_mad(struct ib_mad_recv_wc *mad_recv_wc) KAPI(ib_free_recv_mad);
void ib_cancel_mad(struct ib_mad_send_buf *send_buf) KAPI(ib_cancel_mad);

static inline int ib_response_mad(const struct ib_mad_hdr *hdr)
{
	return (hdr->method & IB_MGMT_METHOD_RESP) ||
	       hdr->method == IB_MGMT_METHOD_TRAP_REPRESS ||
	       (hdr->mgmt_class == IB_MGMT_CLASS_BM && (be32_to_cpu(hdr->attr_mod) & 1));
}

#endif
