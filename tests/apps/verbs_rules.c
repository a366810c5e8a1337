// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * The limits and rules of the verbs a UD program may call: sizes, overflows, elements,
 * states, access flags, tables, self loopback (spec/userland 2.4, 5.5, spec/kernel 4).
 */
#include <poll.h>

#include "client.h"

#define BYTES CLIENT_BYTES

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_device_attr device;

/* -- completion queues -------------------------------------------------------------- */

static void the_largest_completion_queue_costs_nothing(void)
{
	unsigned int before = client_rss_kib(0);
	struct ibv_cq *cq[16];

	for (int i = 0; i < 16; i++) {
		CHECK(cq[i] = ibv_create_cq(context, device.max_cqe, NULL, NULL, 0));
		CHECK(cq[i]->cqe >= device.max_cqe);
	}
	/* Each would have been 200 MiB. */
	CHECK(client_sanitized() || client_rss_kib(0) < before + 4096);
	for (int i = 0; i < 16; i++)
		CHECK(!ibv_destroy_cq(cq[i]));
}

static void more_completions_are_refused(void)
{
	struct ibv_cq *cq;

	CHECK_NULL(ibv_create_cq(context, device.max_cqe + 1, NULL, NULL, 0), EINVAL);
	CHECK_NULL(ibv_create_cq(context, 0, NULL, NULL, 0), EINVAL);
	CHECK_NULL(ibv_create_cq(context, -1, NULL, NULL, 0), EINVAL);
	CHECK_NULL(ibv_create_cq(context, 1, NULL, NULL, context->num_comp_vectors),
		   EINVAL);
	CHECK_NULL(ibv_create_cq(context, 1, NULL, NULL, -1), EINVAL);
	CHECK(cq = ibv_create_cq(context, 1, NULL, NULL, 0));
	CHECK(!ibv_resize_cq(cq, device.max_cqe) && cq->cqe >= device.max_cqe);
	CHECK(ibv_resize_cq(cq, device.max_cqe + 1) == EINVAL);
	CHECK(ibv_resize_cq(cq, 0) == EINVAL);
	CHECK(cq->cqe >= device.max_cqe);
	CHECK(!ibv_destroy_cq(cq));
}

/* Not below what lies in it; and what lies in it survives. */
static void a_resize_keeps_completions(void)
{
	union ibv_gid gid = client_gid("239.1.28.1");
	struct client_qp q;
	struct ibv_ah *ah;

	client_qp_open(&q, pd, 8);
	ah = client_ah(pd, &gid);
	CHECK(!client_attach(q.qp, &gid));
	client_post_recvs(&q, 8);
	for (char i = 0; i < 8; i++)
		client_cast(&q, ah, i);
	CHECK(client_wait(&q).wr_id == 0); /* seven are left, known or to be found */
	CHECK(ibv_resize_cq(q.cq, 6) == EINVAL && q.cq->cqe >= 9);
	CHECK(!ibv_resize_cq(q.cq, 1000));
	for (unsigned int i = 1; i < 8; i++)
		CHECK(client_wait(&q).wr_id == i && client_got(&q, i) == (char)i);
	CHECK(!ibv_resize_cq(q.cq, 1));
	CHECK(!client_detach(q.qp, &gid) && !ibv_destroy_ah(ah));
	client_qp_close(&q);
}

static int post_send(struct ibv_qp *qp, struct ibv_ah *ah, uint64_t wr_id, int num_sge,
		     unsigned int flags);
static struct ibv_qp *try_caps(struct ibv_cq *cq, struct ibv_qp_cap cap,
			       struct ibv_qp_cap *ret);

/* It holds what it reports; one more is lost, which is told once, and its destruction
 * waits until that is acknowledged. */
static void an_overrun_is_told(void)
{
	union ibv_gid gid = client_gid("239.1.28.13");
	struct ibv_cq *cq = ibv_create_cq(context, 5, NULL, NULL, 0);
	struct pollfd p = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct ibv_async_event event;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 16, 1, 1, 1, 0 }, NULL)));
	client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
	for (int i = 0; i < cq->cqe; i++)
		CHECK(!post_send(qp, ah, (uint64_t)i, 0, IBV_SEND_SIGNALED));
	CHECK(poll(&p, 1, 0) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(!post_send(qp, ah, 99, 0, IBV_SEND_SIGNALED));
	CHECK(poll(&p, 1, CLIENT_LONG_MS) == 1);
	CHECK(!ibv_get_async_event(context, &event));
	CHECK(event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq);
	ibv_ack_async_event(&event);
	CHECK(poll(&p, 1, 0) == 0);
	for (int i = 0; i < cq->cqe; i++)
		CHECK(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == (uint64_t)i);
	CHECK(ibv_poll_cq(cq, 1, &wc) == 0);
	CHECK(!ibv_destroy_ah(ah) && !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* -- queue pairs: caps and overflow ------------------------------------------------- */

static struct ibv_qp *try_caps(struct ibv_cq *cq, struct ibv_qp_cap cap,
			       struct ibv_qp_cap *ret)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq, .cap = cap
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (ret)
		*ret = attr.cap;
	return qp;
}

static void caps_are_granted_up_to_the_limits(void)
{
	const uint32_t wr = (uint32_t)device.max_qp_wr, sge = (uint32_t)device.max_sge;
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_qp_cap got;
	struct ibv_qp *qp;

	CHECK(cq);
	CHECK(qp = try_caps(cq, (struct ibv_qp_cap){ wr, wr, sge, sge, 0 }, &got));
	CHECK(got.max_send_wr >= wr && got.max_recv_wr >= wr);
	CHECK(got.max_send_sge >= sge && got.max_recv_sge >= sge);
	CHECK(!ibv_destroy_qp(qp));
	CHECK_NULL(try_caps(cq, (struct ibv_qp_cap){ wr + 1, 1, 1, 1, 0 }, NULL), EINVAL);
	CHECK_NULL(try_caps(cq, (struct ibv_qp_cap){ 1, wr + 1, 1, 1, 0 }, NULL), EINVAL);
	CHECK_NULL(try_caps(cq, (struct ibv_qp_cap){ 1, 1, sge + 1, 1, 0 }, NULL),
		   EINVAL);
	CHECK_NULL(try_caps(cq, (struct ibv_qp_cap){ 1, 1, 1, sge + 1, 0 }, NULL),
		   EINVAL);
	CHECK_NULL(try_caps(cq, (struct ibv_qp_cap){ 1, 1, 1, 1, 1u << 20 }, NULL),
		   EINVAL);
	CHECK(!ibv_destroy_cq(cq));
}

static int post_recv(struct ibv_qp *qp, uint64_t wr_id, int num_sge)
{
	static struct ibv_sge sge[64];
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge },
			   *bad = NULL;
	int r = ibv_post_recv(qp, &wr, &bad);

	CHECK(!r || bad == &wr);
	return r;
}

static int post_send(struct ibv_qp *qp, struct ibv_ah *ah, uint64_t wr_id, int num_sge,
		     unsigned int flags)
{
	static struct ibv_sge sge[64];
	struct ibv_send_wr *bad = NULL, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = num_sge,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = CLIENT_QKEY },
	};
	int r = ibv_post_send(qp, &wr, &bad);

	CHECK(!r || bad == &wr);
	return r;
}

/* Full exactly at what creation reported, whatever was asked for. */
static void queues_are_full_at_their_caps(void)
{
	union ibv_gid gid = client_gid("239.1.28.2");
	struct ibv_cq *cq = ibv_create_cq(context, 4096, NULL, NULL, 0);
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 5, 7, 1, 1, 0 }, &cap)));
	client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
	for (uint32_t i = 0; i < cap.max_recv_wr; i++)
		CHECK(!post_recv(qp, i, 1));
	CHECK(post_recv(qp, 0, 1) == ENOMEM);
	CHECK(post_recv(qp, 0, 1) == ENOMEM);
	for (uint32_t i = 0; i < cap.max_send_wr; i++)
		CHECK(!post_send(qp, ah, i, 0, IBV_SEND_SIGNALED));
	CHECK(post_send(qp, ah, 0, 0, IBV_SEND_SIGNALED) == ENOMEM);
	/* A polled completion is a place; one that makes none takes none for long. */
	CHECK(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 0);
	for (uint32_t i = 0; i < 4 * cap.max_send_wr; i++)
		CHECK(!post_send(qp, ah, i, 0, 0));
	CHECK(!post_send(qp, ah, 99, 0, IBV_SEND_SIGNALED));
	CHECK(post_send(qp, ah, 0, 0, IBV_SEND_SIGNALED) == ENOMEM);
	CHECK(!ibv_destroy_ah(ah) && !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* A list stops at the one that does not fit: those before it are posted. */
static void a_list_is_posted_up_to_the_bad_one(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_recv_wr wr[8] = { 0 }, *bad = NULL;
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 1, 4, 1, 2, 0 }, &cap)));
	client_to_state(qp, IBV_QPS_INIT, CLIENT_QKEY);
	CHECK(cap.max_recv_wr < 8);
	for (int i = 0; i < 7; i++)
		wr[i].next = &wr[i + 1];
	CHECK(ibv_post_recv(qp, wr, &bad) == ENOMEM && bad == &wr[cap.max_recv_wr]);
	CHECK(ibv_post_recv(qp, wr, &bad) == ENOMEM && bad == &wr[0]);
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* Copied at once, from anywhere: its key does not matter. */
static int post_inline(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t bytes)
{
	static char from[4097];
	struct ibv_sge sge = { (uintptr_t)from, bytes, 0xdead };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = CLIENT_QKEY },
	};

	return ibv_post_send(qp, &wr, &bad);
}

static void too_many_elements_are_refused(void)
{
	union ibv_gid gid = client_gid("239.1.28.3");
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 4, 4, 3, 2, 100 }, &cap)));
	CHECK(cap.max_inline_data >= 100);
	client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!post_recv(qp, 0, (int)cap.max_recv_sge));
	CHECK(post_recv(qp, 0, (int)cap.max_recv_sge + 1) == EINVAL);
	CHECK(post_recv(qp, 0, -1) == EINVAL);
	CHECK(!post_send(qp, ah, 0, (int)cap.max_send_sge, 0));
	CHECK(post_send(qp, ah, 0, (int)cap.max_send_sge + 1, 0) == EINVAL);
	CHECK(post_send(qp, ah, 0, -1, 0) == EINVAL);
	CHECK(post_send(qp, NULL, 0, 0, 0) == EINVAL);
	CHECK(!post_inline(qp, ah, cap.max_inline_data));
	CHECK(post_inline(qp, ah, cap.max_inline_data + 1) == EINVAL);
	CHECK(!ibv_destroy_ah(ah) && !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* -- states ------------------------------------------------------------------------- */

static void posting_follows_the_state(void)
{
	union ibv_gid gid = client_gid("239.1.28.4");
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp;
	struct ibv_wc wc[4];

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 8, 8, 1, 1, 0 }, NULL)));
	CHECK(qp->state == IBV_QPS_RESET);
	CHECK(post_recv(qp, 0, 0) == EINVAL && post_send(qp, ah, 0, 0, 0) == EINVAL);
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EINVAL); /* RESET to ERR */
	client_to_state(qp, IBV_QPS_INIT, CLIENT_QKEY);
	CHECK(!post_recv(qp, 1, 0) && post_send(qp, ah, 0, 0, 0) == EINVAL);
	attr.qp_state = IBV_QPS_RTR;
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK(!post_recv(qp, 2, 0) && post_send(qp, ah, 0, 0, 0) == EINVAL);
	attr.qp_state = IBV_QPS_RTS;
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	attr.qp_state = IBV_QPS_ERR;
	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK(!post_recv(qp, 3, 0) && !post_send(qp, ah, 4, 0, 0));
	CHECK(ibv_poll_cq(cq, 4, wc) == 4);
	for (int i = 0; i < 4; i++)
		CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR && wc[i].wr_id == i + 1u);
	CHECK(!ibv_destroy_ah(ah) && !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* Spec/kernel 5.3: what leads where, and what each way wants. */
static void attributes_are_demanded(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = CLIENT_QKEY };
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	struct ibv_qp *qp;

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 1, 1, 1, 1, 0 }, NULL)));
	CHECK(ibv_modify_qp(qp, &attr, init & ~IBV_QP_QKEY) == EINVAL);
	CHECK(ibv_modify_qp(qp, &attr, init & ~IBV_QP_PORT) == EINVAL);
	CHECK(ibv_modify_qp(qp, &attr, init | IBV_QP_ACCESS_FLAGS) == EINVAL);
	CHECK(ibv_modify_qp(qp, &attr, init | IBV_QP_AV) == EINVAL);
	attr.port_num = 0;
	CHECK(ibv_modify_qp(qp, &attr, init) == EINVAL);
	attr.port_num = 2;
	CHECK(ibv_modify_qp(qp, &attr, init) == EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 10000;
	CHECK(ibv_modify_qp(qp, &attr, init) == EINVAL);
	attr.pkey_index = 0;
	CHECK(qp->state == IBV_QPS_RESET && !ibv_modify_qp(qp, &attr, init));
	attr.qp_state = IBV_QPS_RTS;
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == EINVAL);
	CHECK(qp->state == IBV_QPS_INIT);
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

static void unknown_ways_to_create_are_unsupported(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 1, 1, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | 1u << 30,
		.pd = pd,
	};
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 1, .wc_flags = 1ull << 60 };

	CHECK(cq);
	CHECK_NULL(ibv_create_qp_ex(context, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = 1u << 30;
	CHECK_NULL(ibv_create_qp_ex(context, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	CHECK_NULL(ibv_create_qp_ex(context, &attr), EOPNOTSUPP);
	CHECK_NULL(ibv_create_cq_ex(context, &cq_attr), EOPNOTSUPP);
	cq_attr.wc_flags = 0;
	cq_attr.comp_mask = 1u << 30;
	CHECK_NULL(ibv_create_cq_ex(context, &cq_attr), EOPNOTSUPP);
	CHECK(!ibv_destroy_cq(cq));
}

/* -- memory regions ----------------------------------------------------------------- */

static void access_flags_are_checked(void)
{
	static char memory[4096];
	/* Not a compile-time constant, so that the header passes them on. */
	volatile unsigned int access;
	struct ibv_mr *mr;

	for (access = 1u << 9; access < 1u << 20; access = access << 1)
		CHECK_NULL(ibv_reg_mr(pd, memory, sizeof(memory), access), EINVAL);
	CHECK_NULL(ibv_reg_mr(pd, memory, sizeof(memory), 1u << 31), EINVAL);
	CHECK_NULL(ibv_reg_mr(pd, memory, 0, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	CHECK_NULL(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_WRITE),
		   EINVAL);
	CHECK_NULL(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_REMOTE_ATOMIC),
		   EINVAL);
	/* Optional ones are hints (2.3). */
	access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING | 1u << 29;
	CHECK(mr = ibv_reg_mr(pd, memory, sizeof(memory), access));
	CHECK(mr->lkey && mr->addr == memory && mr->length == sizeof(memory));
	CHECK(ibv_dealloc_pd(pd) == EBUSY);
	CHECK(!ibv_dereg_mr(mr));
}

/* A receive may only write where LOCAL_WRITE is; a send may read anywhere. */
static void receives_need_local_write(void)
{
	union ibv_gid gid = client_gid("239.1.28.5");
	struct client_qp q, sender;
	struct ibv_ah *ah = client_ah(pd, &gid);

	client_qp_open(&sender, pd, 1);
	client_qp_open(&q, pd, 2);
	CHECK(!ibv_rereg_mr(q.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	CHECK(!client_attach(q.qp, &gid));
	client_post_recvs(&q, 2);
	client_cast(&q, ah, 'r'); /* from read-only memory */
	CHECK(client_poll(q.cq).status == IBV_WC_LOC_PROT_ERR);
	CHECK(client_poll(q.cq).status == IBV_WC_WR_FLUSH_ERR);
	CHECK(!client_detach(q.qp, &gid) && !ibv_destroy_ah(ah));
	client_qp_close(&q);
	client_qp_close(&sender);
}

/* -- tables ------------------------------------------------------------------------- */

static void an_empty_gid_index_is_no_data(void)
{
	struct ibv_gid_entry entry, table[256];
	struct ibv_port_attr port;
	union ibv_gid gid, zero = { 0 };
	unsigned int empty = 0, full = 0;
	int n = ibv_query_gid_table(context, table, 256, 0);

	CHECK(!ibv_query_port(context, 1, &port));
	for (int i = 0; i < port.gid_tbl_len; i++) {
		int r = ibv_query_gid_ex(context, 1, (uint32_t)i, &entry, 0);

		CHECK(!r || r == ENODATA);
		CHECK(!ibv_query_gid(context, 1, i, &gid));
		if (r) {
			empty++;
			CHECK(!memcmp(&gid, &zero, sizeof(gid)));
			continue;
		}
		CHECK(!memcmp(&gid, &entry.gid, sizeof(gid)));
		CHECK(!memcmp(&entry, &table[full], sizeof(entry)));
		full++;
	}
	CHECK(empty >= 1 && full >= 1 && n == (int)full);
	CHECK(ibv_query_gid_ex(context, 1, (uint32_t)port.gid_tbl_len, &entry, 0) ==
	      EINVAL);
	CHECK(ibv_query_gid_ex(context, 2, 0, &entry, 0) == EINVAL);
	CHECK(ibv_query_gid_ex(context, 1, 0, &entry, 1) == EINVAL);
	CHECK_FAILS(ibv_query_gid(context, 1, port.gid_tbl_len, &gid), EINVAL);
	CHECK_FAILS(ibv_query_gid(context, 2, 0, &gid), EINVAL);
	CHECK(ibv_query_gid_table(context, table, 0, 0) == -EINVAL);
	CHECK(ibv_query_gid_table(context, table, 256, 1) == -EINVAL);
	CHECK(ibv_query_gid_table(context, table, 1, 0) == 1);
}

static void p_keys_have_places(void)
{
	struct ibv_port_attr port;
	uint16_t pkey;

	CHECK(!ibv_query_port(context, 1, &port) && port.pkey_tbl_len >= 1);
	CHECK(!ibv_query_pkey(context, 1, 0, &pkey) && pkey == 0xffff);
	CHECK(ibv_query_pkey(context, 1, port.pkey_tbl_len, &pkey) == -1);
	CHECK(ibv_query_pkey(context, 2, 0, &pkey) == -1);
	CHECK(ibv_get_pkey_index(context, 1, 0xffff) == 0);
	CHECK(ibv_get_pkey_index(context, 1, 0xff7f) == -1);
	CHECK(ibv_query_port(context, 2, &port) == EINVAL);
	CHECK(ibv_query_port(context, 0, &port) == EINVAL);
}

static void address_handles_are_checked(void)
{
	union ibv_gid gid = client_gid("239.1.28.6");
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_port_attr port;
	struct ibv_ah *ah;

	CHECK(!ibv_query_port(context, 1, &port));
	if (!client_infiniband()) {
		CHECK(port.flags & IBV_QPF_GRH_REQUIRED);
		CHECK_NULL(ibv_create_ah(pd, &attr), EINVAL); /* RoCE needs a GRH */
	} else {
		CHECK(!(port.flags & IBV_QPF_GRH_REQUIRED));
		attr.dlid = port.lid;
		CHECK((ah = ibv_create_ah(pd, &attr)) && !ibv_destroy_ah(ah));
		attr.dlid = CLIENT_MLID; /* a group needs one, too */
		CHECK_NULL(ibv_create_ah(pd, &attr), EINVAL);
	}
	attr.is_global = 1;
	attr.grh.dgid = gid;
	attr.port_num = 2;
	CHECK_NULL(ibv_create_ah(pd, &attr), EINVAL);
	attr.port_num = 1;
	attr.grh.sgid_index = (uint8_t)port.gid_tbl_len;
	CHECK_NULL(ibv_create_ah(pd, &attr), EINVAL);
	attr.grh.sgid_index = 0;
	CHECK(ah = ibv_create_ah(pd, &attr));
	CHECK(!ibv_destroy_ah(ah));
}

/* -- what a datagram carries -------------------------------------------------------- */

/* Gathered from three pieces, scattered to four, with immediate data. */
static void elements_are_gathered_and_scattered(void)
{
	union ibv_gid gid = client_gid("239.1.28.7");
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_ah *ah = client_ah(pd, &gid);
	static char from[64] = "the quick brown fox jumps over the lazy dog, as ever",
		    to[256];
	struct ibv_mr *mr, *mr_to;
	struct ibv_sge put[3], get[4];
	struct ibv_recv_wr recv = { .wr_id = 5, .sg_list = get, .num_sge = 4 }, *bad_recv;
	struct ibv_send_wr *bad, wr = {
		.wr_id = 6,
		.sg_list = put,
		.num_sge = 3,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(0x11223344),
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = CLIENT_QKEY },
	};
	struct ibv_qp *qp;
	struct ibv_wc wc;
	int seen = 0;

	CHECK(cq && (qp = try_caps(cq, (struct ibv_qp_cap){ 2, 2, 3, 4, 0 }, NULL)));
	client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(mr = ibv_reg_mr(pd, from, sizeof(from), 0));
	CHECK(mr_to = ibv_reg_mr(pd, to, sizeof(to), IBV_ACCESS_LOCAL_WRITE));
	/* 10 + 0 + 54 bytes; into 7, 40, 1 and the rest, backwards in memory. */
	put[0] = (struct ibv_sge){ (uintptr_t)from, 10, mr->lkey };
	put[1] = (struct ibv_sge){ (uintptr_t)from, 0, mr->lkey };
	put[2] = (struct ibv_sge){ (uintptr_t)from + 10, 54, mr->lkey };
	get[0] = (struct ibv_sge){ (uintptr_t)to + 200, 7, mr_to->lkey };
	get[1] = (struct ibv_sge){ (uintptr_t)to + 140, 40, mr_to->lkey };
	get[2] = (struct ibv_sge){ (uintptr_t)to + 130, 1, mr_to->lkey };
	get[3] = (struct ibv_sge){ (uintptr_t)to, 100, mr_to->lkey };
	CHECK(!client_attach(qp, &gid));
	CHECK(!ibv_post_recv(qp, &recv, &bad_recv));
	CHECK(!ibv_post_send(qp, &wr, &bad));
	while (seen != 3) {
		wc = client_poll(cq);
		CHECK(wc.status == IBV_WC_SUCCESS);
		seen |= wc.wr_id == 5 ? 1 : 2;
		if (wc.wr_id != 5)
			continue;
		CHECK(wc.byte_len == CLIENT_GRH + 64 && wc.opcode == IBV_WC_RECV);
		CHECK(wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM));
		CHECK(wc.imm_data == htonl(0x11223344) && wc.src_qp == qp->qp_num);
	}
	/* 40 bytes of header over the first two, then the payload. */
	CHECK(!memcmp(to + 140 + 33, from, 7) && to[130] == from[7]);
	CHECK(!memcmp(to, from + 8, 56));
	CHECK(!client_detach(qp, &gid) && !ibv_destroy_ah(ah));
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
	CHECK(!ibv_dereg_mr(mr) && !ibv_dereg_mr(mr_to));
}

/* The sending queue pair gets no copy; every other one does, in this process, too
 * (spec/kernel 4.7). */
static void block_self_loopback_is_of_one_queue_pair(void)
{
	union ibv_gid gid = client_gid("239.1.28.8");
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	struct client_qp self, other;
	struct ibv_qp *plain;

	client_qp_open(&other, pd, 4);
	client_qp_open(&self, pd, 4);
	/* The same, but with the flag. */
	plain = self.qp;
	attr.send_cq = self.send_cq;
	attr.recv_cq = self.cq;
	CHECK(self.qp = ibv_create_qp_ex(context, &attr));
	client_to_state(self.qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!client_attach(self.qp, &gid) && !client_attach(other.qp, &gid));
	client_post_recvs(&self, 4);
	client_post_recvs(&other, 4);
	for (int i = 0; i < 2; i++) {
		struct ibv_ah *ah = client_ah(pd, &gid);
		struct client_qp *from = i ? &other : &self;

		client_cast(from, ah, (char)('x' + i));
		client_wait(&other);
		if (from == &other)
			CHECK(client_wait(&self).src_qp == other.qp->qp_num);
		CHECK(client_idle(&self) && client_idle(&other));
		CHECK(!ibv_destroy_ah(ah));
	}
	CHECK(!client_detach(self.qp, &gid) && !client_detach(other.qp, &gid));
	CHECK(!ibv_destroy_qp(plain) && !ibv_destroy_cq(cq));
	client_qp_close(&self);
	client_qp_close(&other);
}

/* Longer than the MTU: nothing is sent, and that is a success (spec/kernel 4.2). */
static void a_message_longer_than_the_mtu_is_not_sent(void)
{
	union ibv_gid gid = client_gid("239.1.28.9");
	static char big[8192];
	struct ibv_mr *mr = ibv_reg_mr(pd, big, sizeof(big), 0);
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct ibv_sge sge = { (uintptr_t)big, 4097, 0 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = CLIENT_QKEY },
	};
	struct client_qp q;

	client_qp_open(&q, pd, 2);
	sge.lkey = mr->lkey;
	CHECK(!client_attach(q.qp, &gid));
	client_post_recvs(&q, 2);
	CHECK(!ibv_post_send(q.qp, &wr, &bad));
	CHECK(client_poll(q.send_cq).status == IBV_WC_SUCCESS && client_idle(&q));
	client_cast(&q, ah, 's');
	client_wait(&q);
	CHECK(!client_detach(q.qp, &gid) && !ibv_destroy_ah(ah));
	client_qp_close(&q);
	CHECK(!ibv_dereg_mr(mr));
}

/* -- extended posting and polling --------------------------------------------------- */

struct extended {
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	union ibv_gid gid;
	char memory[4][CLIENT_GRH + BYTES];
};

static void extended_open(struct extended *x, const char *group)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 32, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { 8, 4, 2, 1, BYTES },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge = { .length = sizeof(x->memory[0]) };

	x->gid = client_gid(group);
	CHECK(x->cq = ibv_create_cq_ex(context, &cq));
	attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(x->cq);
	CHECK(x->qp = ibv_create_qp_ex(context, &attr));
	CHECK(x->ex = ibv_qp_to_qp_ex(x->qp));
	CHECK(x->mr = ibv_reg_mr(pd, x->memory, sizeof(x->memory),
				 IBV_ACCESS_LOCAL_WRITE));
	x->ah = client_ah(pd, &x->gid);
	client_to_state(x->qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!client_attach(x->qp, &x->gid));
	sge.lkey = x->mr->lkey;
	wr.sg_list = &sge;
	for (int i = 0; i < 4; i++) {
		wr.wr_id = (uint64_t)i;
		sge.addr = (uintptr_t)x->memory[i];
		CHECK(!ibv_post_recv(x->qp, &wr, &bad));
	}
}

static void extended_close(struct extended *x)
{
	CHECK(!client_detach(x->qp, &x->gid));
	CHECK(!ibv_destroy_ah(x->ah) && !ibv_destroy_qp(x->qp));
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(x->cq)) && !ibv_dereg_mr(x->mr));
}

static void extended_send(struct extended *x, char *text, uint32_t imm)
{
	x->ex->wr_id = 100;
	x->ex->wr_flags = IBV_SEND_SIGNALED;
	if (imm)
		ibv_wr_send_imm(x->ex, htonl(imm));
	else
		ibv_wr_send(x->ex);
	ibv_wr_set_ud_addr(x->ex, x->ah, 0xffffff, CLIENT_QKEY);
	ibv_wr_set_inline_data(x->ex, text, strlen(text));
	memset(text, '?', strlen(text)); /* copied already */
}

/* Completions of `sends` and of receives 0 to `recvs` - 1, in one bracket or more. */
static void extended_poll(struct extended *x, int sends, int recvs)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;
	struct ibv_poll_cq_attr none = { 0 };
	int sent = 0, got = 0, r;

	while (sent < sends || got < recvs) {
		r = ibv_start_poll(x->cq, &none);
		CHECK((!r || r == ENOENT) && client_now_ms() < end);
		if (r)
			continue;
		do {
			CHECK(x->cq->status == IBV_WC_SUCCESS);
			CHECK(ibv_wc_read_qp_num(x->cq) == x->qp->qp_num);
			if (ibv_wc_read_opcode(x->cq) == IBV_WC_SEND) {
				CHECK(x->cq->wr_id == 100);
				sent++;
				continue;
			}
			CHECK(x->cq->wr_id == (uint64_t)got++);
			CHECK(ibv_wc_read_src_qp(x->cq) == x->qp->qp_num);
			CHECK(ibv_wc_read_wc_flags(x->cq) & IBV_WC_GRH);
			if (ibv_wc_read_wc_flags(x->cq) & IBV_WC_WITH_IMM)
				CHECK(ibv_wc_read_imm_data(x->cq) == htonl(0x55));
		} while ((r = ibv_next_poll(x->cq)) == 0);
		CHECK(r == ENOENT);
		ibv_end_poll(x->cq);
	}
	CHECK(ibv_start_poll(x->cq, &none) == ENOENT);
}

static void batches_are_posted_whole_or_not(void)
{
	char one[] = "one", two[] = "two", three[] = "three", big[BYTES + 2];
	struct extended x = { 0 };
	struct ibv_data_buf pieces[2] = { { (void *)"pie", 3 }, { (void *)"ces", 3 } };

	extended_open(&x, "239.1.28.10");
	ibv_wr_start(x.ex);
	extended_send(&x, one, 0);
	extended_send(&x, two, 0x55);
	CHECK(!ibv_wr_complete(x.ex));
	extended_poll(&x, 2, 2);
	CHECK(!memcmp(x.memory[0] + CLIENT_GRH, "one", 3));
	CHECK(!memcmp(x.memory[1] + CLIENT_GRH, "two", 3));

	ibv_wr_start(x.ex);
	extended_send(&x, three, 0);
	ibv_wr_abort(x.ex);
	/* One that is wrong spoils all; the error is told once. */
	memset(big, 'b', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	ibv_wr_start(x.ex);
	extended_send(&x, three, 0);
	extended_send(&x, big, 0);
	CHECK(ibv_wr_complete(x.ex) == EINVAL);
	ibv_wr_start(x.ex);
	x.ex->wr_flags = 0;
	ibv_wr_send(x.ex);
	ibv_wr_set_ud_addr(x.ex, x.ah, 0xffffff, CLIENT_QKEY);
	ibv_wr_set_inline_data_list(x.ex, 2, pieces);
	CHECK(!ibv_wr_complete(x.ex));
	/* Receive 2; the request was not signalled. */
	CHECK(client_poll(ibv_cq_ex_to_cq(x.cq)).wr_id == 2);
	CHECK(!memcmp(x.memory[2] + CLIENT_GRH, "pieces", 6));
	extended_close(&x);
}

/* -- solicited events --------------------------------------------------------------- */

static void solicited_only_hears_no_other(void)
{
	union ibv_gid gid = client_gid("239.1.28.11");
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq = ibv_create_cq(context, 16, &gid, channel, 0), *which;
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct ibv_qp *qp = try_caps(cq, (struct ibv_qp_cap){ 4, 4, 1, 1, 0 }, NULL);
	static char memory[4][CLIENT_GRH];
	struct ibv_mr *mr =
		ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc;
	void *of;

	CHECK(channel && cq && qp && mr);
	client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!client_attach(qp, &gid));
	for (int i = 0; i < 2; i++) {
		struct ibv_sge sge = { (uintptr_t)memory[i], CLIENT_GRH, mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

		CHECK(!ibv_post_recv(qp, &wr, &bad));
	}
	CHECK(!ibv_req_notify_cq(cq, 1));
	CHECK(!post_send(qp, ah, 0, 0, 0));
	client_poll(cq);
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(!post_send(qp, ah, 0, 0, IBV_SEND_SOLICITED));
	CHECK(poll(&p, 1, CLIENT_LONG_MS) == 1);
	CHECK(!ibv_get_cq_event(channel, &which, &of) && which == cq && of == &gid);
	ibv_ack_cq_events(cq, 1);
	CHECK(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(!client_detach(qp, &gid) && !ibv_destroy_ah(ah));
	CHECK(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dereg_mr(mr));
	CHECK(!ibv_destroy_comp_channel(channel));
}

static void moderation_is_accepted(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { .cq_count = 8,
							 .cq_period = 10 } };

	CHECK(cq && !ibv_modify_cq(cq, &attr));
	CHECK(!ibv_destroy_cq(cq));
}

/* A reply to what came by a group needs an address made by hand: its destination is in no
 * table (spec/kernel 5.1). By unicast it works. */
static void addresses_from_completions(void)
{
	union ibv_gid gid = client_gid("239.1.28.12");
	struct ibv_gid_entry own;
	struct client_qp q;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	CHECK(ibv_query_gid_table(context, &own, 1, 0) == 1);
	client_qp_open(&q, pd, 4);
	client_post_recvs(&q, 4);
	CHECK(!client_attach(q.qp, &gid));
	ah = client_ah(pd, &gid);
	client_cast(&q, ah, 'm');
	wc = client_wait(&q);
	CHECK(!ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)q.memory, 1));
	CHECK(!ibv_destroy_ah(ah));
	ah = client_ah(pd, &own.gid);
	client_send(&q, ah, q.qp->qp_num, 'u');
	wc = client_wait(&q);
	CHECK(!ibv_destroy_ah(ah));
	CHECK(ah = ibv_create_ah_from_wc(
		      pd, &wc, (struct ibv_grh *)(q.memory + CLIENT_GRH + BYTES), 1));
	client_send(&q, ah, wc.src_qp, 'a');
	CHECK(client_wait(&q).wr_id == 2 && client_got(&q, 2) == 'a');
	CHECK(!ibv_destroy_ah(ah) && !client_detach(q.qp, &gid));
	client_qp_close(&q);
}

int main(void)
{
	context = client_open();
	CHECK(pd = ibv_alloc_pd(context));
	CHECK(!ibv_query_device(context, &device));
	the_largest_completion_queue_costs_nothing();
	more_completions_are_refused();
	a_resize_keeps_completions();
	an_overrun_is_told();
	caps_are_granted_up_to_the_limits();
	queues_are_full_at_their_caps();
	a_list_is_posted_up_to_the_bad_one();
	too_many_elements_are_refused();
	posting_follows_the_state();
	attributes_are_demanded();
	unknown_ways_to_create_are_unsupported();
	access_flags_are_checked();
	receives_need_local_write();
	an_empty_gid_index_is_no_data();
	p_keys_have_places();
	address_handles_are_checked();
	elements_are_gathered_and_scattered();
	block_self_loopback_is_of_one_queue_pair();
	a_message_longer_than_the_mtu_is_not_sent();
	batches_are_posted_whole_or_not();
	solicited_only_hears_no_other();
	moderation_is_accepted();
	addresses_from_completions();
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return 0;
}
