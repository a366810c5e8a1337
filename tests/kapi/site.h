/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the kernel API share: a site that begins and ends with the test, its
 * devices, and a queue pair with all that it stands on.
 */
#ifndef KAPI_SITE_H
#define KAPI_SITE_H

#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>
#include <verbcast/kapi.h>

#include "harness/harness.h"

#define SITE_QKEY  0x01234567u
#define SITE_DEPTH 64
#define SITE_ROOM  (40 + 256)

static inline int site_setup(void **state)
{
	return kapi_site_open(NULL);
}

static inline int site_teardown(void **state)
{
	return kapi_site_close();
}

/* A reference, that site_put_device drops. */
static inline struct ib_device *site_device(const char *name)
{
	struct ib_device *device = ib_device_get_by_name(name, RDMA_DRIVER_UNKNOWN);

	assert_non_null(device);
	return device;
}

/* A queue pair in RTS, with completion queues and receive buffers of its own. */
struct site_qp {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *cq; /* of receives */
	struct ib_cq *send_cq;
	struct ib_qp *qp;
	u8 *buffers; /* SITE_DEPTH times SITE_ROOM */
};

static inline void site_qp_modify(struct ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qkey = SITE_QKEY,
	};
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
	if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN;
	assert_int_equal(ib_modify_qp(qp, &attr, mask), 0);
}

static inline void site_qp_post(struct site_qp *q, int n)
{
	struct ib_sge sge = {
		.addr = ib_dma_map_single(q->device, q->buffers + n * SITE_ROOM,
					  SITE_ROOM, DMA_FROM_DEVICE),
		.length = SITE_ROOM,
		.lkey = q->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ib_post_recv(q->qp, &wr, NULL), 0);
}

static inline void site_qp_create_on(struct site_qp *q, struct ib_device *device,
				     struct ib_cq *cq, u32 flags)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.create_flags = flags,
		.cap = { .max_send_wr = SITE_DEPTH,
			 .max_recv_wr = SITE_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	memset(q, 0, sizeof(*q));
	q->device = device;
	q->pd = ib_alloc_pd(device, 0);
	assert_false(IS_ERR(q->pd));
	q->cq = cq ? cq : ib_alloc_cq_any(device, q, SITE_DEPTH, IB_POLL_DIRECT);
	assert_false(IS_ERR(q->cq));
	q->send_cq = ib_alloc_cq_any(device, q, SITE_DEPTH, IB_POLL_DIRECT);
	assert_false(IS_ERR(q->send_cq));
	init.send_cq = q->send_cq;
	init.recv_cq = q->cq;
	q->qp = ib_create_qp(q->pd, &init);
	assert_false(IS_ERR(q->qp));
	q->buffers = kcalloc(SITE_DEPTH, SITE_ROOM, GFP_KERNEL);
	site_qp_modify(q->qp, IB_QPS_INIT);
	for (int i = 0; i < SITE_DEPTH; i++)
		site_qp_post(q, i);
	site_qp_modify(q->qp, IB_QPS_RTR);
	site_qp_modify(q->qp, IB_QPS_RTS);
}

static inline void site_qp_create(struct site_qp *q, struct ib_device *device)
{
	site_qp_create_on(q, device, NULL, 0);
}

static inline void site_qp_destroy(struct site_qp *q)
{
	assert_int_equal(ib_destroy_qp(q->qp), 0);
	ib_free_cq(q->cq);
	ib_free_cq(q->send_cq);
	ib_dealloc_pd(q->pd);
	kfree(q->buffers);
}

/* An address of a group on a RoCE port, from its first GID. */
static inline struct ib_ah *site_group_ah(struct site_qp *q, union ib_gid *mgid, u32 mlid)
{
	struct rdma_ah_attr attr = {
		.type = rdma_ah_find_type(q->device, 1),
		.port_num = 1,
	};
	struct ib_ah *ah;

	rdma_ah_set_grh(&attr, mgid, 0, 0, 64, 0);
	rdma_ah_set_dlid(&attr, mlid);
	ah = rdma_create_user_ah(q->pd, &attr, NULL);
	assert_false(IS_ERR(ah));
	return ah;
}

static inline void site_send(struct site_qp *q, struct ib_ah *ah, const char *text)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)text,
		.length = strlen(text) + 1,
		.lkey = q->pd->local_dma_lkey,
	};
	struct ib_ud_wr wr = {
		.wr = { .sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND_WITH_IMM,
			.send_flags = IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0x11223344) },
		.ah = ah,
		.remote_qpn = IB_MULTICAST_QPN,
		.remote_qkey = SITE_QKEY,
		.port_num = 1,
	};
	struct ib_wc wc;

	assert_int_equal(ib_post_send(q->qp, &wr.wr, NULL), 0);
	harness_until(ib_poll_cq(q->send_cq, 1, &wc) == 1, 5000, harness_pause());
	assert_int_equal(wc.status, IB_WC_SUCCESS);
	assert_ptr_equal(wc.qp, q->qp);
}

/* Spec/kernel 4.6: on RoCE, what the first 40 bytes are; nothing on InfiniBand. */
static inline void site_check_network(const struct site_qp *q, const struct ib_wc *wc)
{
	const void *header = q->buffers + wc->wr_id * SITE_ROOM;

	if (rdma_protocol_ib(q->device, 1)) {
		assert_int_equal(wc->wc_flags, IB_WC_GRH | IB_WC_WITH_IMM);
		assert_int_equal(wc->network_hdr_type, RDMA_NETWORK_IB);
		return;
	}
	assert_int_equal(wc->wc_flags,
			 IB_WC_GRH | IB_WC_WITH_IMM | IB_WC_WITH_NETWORK_HDR_TYPE);
	assert_int_equal(wc->network_hdr_type, ib_get_rdma_header_version(header) == 4
						       ? RDMA_NETWORK_IPV4
						       : RDMA_NETWORK_IPV6);
}

/* The next datagram, which must be `text`. */
static inline void site_expect(struct site_qp *q, const char *text)
{
	struct ib_wc wc;

	harness_until(ib_poll_cq(q->cq, 1, &wc) == 1, 5000, harness_pause());
	assert_int_equal(wc.status, IB_WC_SUCCESS);
	assert_int_equal(wc.opcode, IB_WC_RECV);
	assert_int_equal(wc.byte_len, 40 + strlen(text) + 1);
	site_check_network(q, &wc);
	assert_int_equal(be32_to_cpu(wc.ex.imm_data), 0x11223344);
	assert_ptr_equal(wc.qp, q->qp);
	assert_int_equal(wc.port_num, 1);
	assert_string_equal((char *)q->buffers + wc.wr_id * SITE_ROOM + 40, text);
	site_qp_post(q, wc.wr_id);
}

static inline void site_expect_nothing(struct site_qp *q)
{
	struct ib_wc wc;

	assert_int_equal(ib_poll_cq(q->cq, 1, &wc), 0);
}

/* An address of a port on InfiniBand. */
static inline struct ib_ah *site_ah(struct ib_pd *pd, u32 lid)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB, .port_num = 1 };
	struct ib_ah *ah;

	rdma_ah_set_dlid(&attr, lid);
	ah = rdma_create_ah(pd, &attr, 0);
	assert_false(IS_ERR(ah));
	return ah;
}

/* That of the device's subnet manager, and so of the administrator. */
static inline struct ib_ah *site_sm_ah(struct ib_device *device, struct ib_pd *pd)
{
	struct ib_port_attr port;

	assert_int_equal(ib_query_port(device, 1, &port), 0);
	return site_ah(pd, port.sm_lid);
}

/* A request to the administrator, whose address that is; its record is all zeroes. */
static inline struct ib_mad_send_buf *site_sa_request(struct ib_mad_agent *agent,
						      struct ib_ah *ah, u8 method,
						      u16 attribute, int timeout_ms)
{
	struct ib_mad_send_buf *send =
		ib_create_send_mad(agent, 1, 0, 0, IB_MGMT_SA_HDR, IB_MGMT_SA_DATA,
				   GFP_KERNEL, IB_MGMT_BASE_VERSION);
	struct ib_mad_hdr *mad;

	assert_false(IS_ERR(send));
	send->ah = ah;
	send->timeout_ms = timeout_ms;
	mad = send->mad;
	mad->base_version = IB_MGMT_BASE_VERSION;
	mad->mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	mad->class_version = IB_SA_CLASS_VERSION;
	mad->method = method;
	mad->attr_id = cpu_to_be16(attribute);
	return send;
}

/* ::ffff:239.1.2.n */
static inline union ib_gid site_group(u8 n)
{
	return (union ib_gid){
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = n },
	};
}

#endif
