// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Shared receive queues under UD queue pairs in a multicast group: who takes from one,
 * what an empty, a full and an unfit one do, the limit and its event, the end of a queue
 * pair, who may be destroyed when; and through rdma_cm. With the argument "death" it says
 * that it is ready, and waits for verbcastd to die.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>

#include "client.h"

#define GRH_BYTES 40
#define BYTES     256 /* of a message */
#define BUFFER    (GRH_BYTES + BYTES)
#define MEMBERS   8
#define DEPTH     64

/* A group of queue pairs on one shared queue, and a sender. */
struct world {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *cq; /* the latter of all members */
	struct ibv_srq *srq;
	struct ibv_srq_attr granted;
	struct ibv_qp *sender, *members[MEMBERS];
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	union ibv_gid mgid;
	unsigned int attached;
	char *memory; /* DEPTH receives and what is sent */
};

static int to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static struct ibv_qp *create_qp(struct world *w, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = w->send_cq,
		.recv_cq = w->cq,
		.srq = srq,
		.cap = { .max_send_wr = DEPTH,
			 .max_send_sge = 1,
			 /* Does not count where there is a shared queue. */
			 .max_recv_wr = srq ? UINT32_MAX : 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(w->pd, &attr);
}

static struct ibv_srq *create_srq(struct world *w, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = w, .attr = { .max_wr = max_wr, .max_sge = max_sge }
	};
	struct ibv_srq *srq = ibv_create_srq(w->pd, &attr);

	if (srq)
		w->granted = attr.attr;
	return srq;
}

static void world_open(struct world *w, unsigned int members)
{
	static const uint8_t mgid[16] = { [10] = 0xff, 0xff, 239, 5, 5, 1 };

	memset(w, 0, sizeof(*w));
	memcpy(w->mgid.raw, mgid, sizeof(mgid));
	w->context = client_open();
	CHECK(w->pd = ibv_alloc_pd(w->context));
	CHECK(w->send_cq = ibv_create_cq(w->context, DEPTH, NULL, NULL, 0));
	CHECK(w->cq = ibv_create_cq(w->context, 4 * DEPTH, NULL, NULL, 0));
	CHECK(w->memory = calloc(DEPTH + 1, BUFFER));
	CHECK(w->mr = ibv_reg_mr(w->pd, w->memory, (DEPTH + 1) * BUFFER,
				 IBV_ACCESS_LOCAL_WRITE));
	CHECK(w->srq = create_srq(w, DEPTH, 2));
	CHECK(w->sender = create_qp(w, NULL));
	client_to_state(w->sender, IBV_QPS_RTS, CLIENT_QKEY);
	w->ah = client_ah(w->pd, &w->mgid);
	for (w->attached = 0; w->attached < members; w->attached++) {
		struct ibv_qp *qp = create_qp(w, w->srq);

		CHECK(qp && qp->srq == w->srq);
		client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
		CHECK(!client_attach(qp, &w->mgid));
		w->members[w->attached] = qp;
	}
}

static void member_close(struct world *w, unsigned int i)
{
	CHECK(!client_detach(w->members[i], &w->mgid));
	CHECK(!ibv_destroy_qp(w->members[i]));
}

static void world_close(struct world *w)
{
	while (w->attached)
		member_close(w, --w->attached);
	CHECK(!ibv_destroy_ah(w->ah));
	CHECK(!ibv_destroy_qp(w->sender));
	CHECK(!ibv_destroy_srq(w->srq));
	CHECK(!ibv_dereg_mr(w->mr));
	CHECK(!ibv_destroy_cq(w->send_cq));
	CHECK(!ibv_destroy_cq(w->cq));
	CHECK(!ibv_dealloc_pd(w->pd));
	CHECK(!ibv_close_device(w->context));
	free(w->memory);
}

static char *buffer(struct world *w, uint64_t i)
{
	return w->memory + (i % DEPTH) * BUFFER;
}

static int post_bytes(struct world *w, uint64_t wr_id, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buffer(w, wr_id),
			       .length = bytes,
			       .lkey = w->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;
	int r = ibv_post_srq_recv(w->srq, &wr, &bad);

	CHECK(bad == (r ? &wr : NULL));
	return r;
}

static int post(struct world *w, uint64_t wr_id)
{
	return post_bytes(w, wr_id, BUFFER);
}

static void send_number(struct world *w, uint32_t number, uint32_t bytes)
{
	char *from = w->memory + DEPTH * BUFFER;
	struct ibv_sge sge = { .addr = (uintptr_t)from,
			       .length = bytes,
			       .lkey = w->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;

	memset(from, (int)number, bytes);
	if (bytes >= sizeof(number))
		memcpy(from, &number, sizeof(number));
	wr.wr.ud.ah = w->ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = CLIENT_QKEY;
	CHECK(!ibv_post_send(w->sender, &wr, &bad));
	while (ibv_poll_cq(w->send_cq, 1, &wc) == 0)
		CHECK(client_now_ms() < end);
	CHECK(wc.status == IBV_WC_SUCCESS);
}

static struct ibv_wc expect_one(struct world *w)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;
	struct ibv_wc wc;

	while (ibv_poll_cq(w->cq, 1, &wc) == 0)
		CHECK(client_now_ms() < end);
	return wc;
}

static uint32_t number_in(struct world *w, const struct ibv_wc *wc)
{
	uint32_t number;

	memcpy(&number, buffer(w, wc->wr_id) + GRH_BYTES, sizeof(number));
	return number;
}

/* Which of the members it was. */
static unsigned int member_of(struct world *w, uint32_t qp_num)
{
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (w->members[i] && w->members[i]->qp_num == qp_num)
			return i;
	CHECK(!"a completion of a member");
	return 0;
}

/* What is sent after it is received after it, so nothing came in between: a member that
 * had no receive, and whatever else, is past. */
static void expect_none(struct world *w)
{
	struct ibv_wc wc;

	for (int i = 0; i < 1000; i++)
		CHECK(ibv_poll_cq(w->cq, 1, &wc) == 0);
}

static void all_members_hear_all_in_order(void)
{
	uint32_t next[MEMBERS] = { 0 };
	uint64_t posted = 0;
	struct world w;

	world_open(&w, MEMBERS);
	for (; posted < DEPTH; posted++)
		CHECK(!post(&w, posted));
	for (uint32_t number = 0; number < 1000; number++) {
		send_number(&w, number, 4 + number % (BYTES - 3));
		for (int i = 0; i < MEMBERS; i++) {
			struct ibv_wc wc = expect_one(&w);
			unsigned int m = member_of(&w, wc.qp_num);

			CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
			CHECK(wc.byte_len == GRH_BYTES + 4 + number % (BYTES - 3));
			CHECK(wc.wc_flags & IBV_WC_GRH);
			CHECK(wc.src_qp == w.sender->qp_num);
			CHECK(number_in(&w, &wc) == next[m]);
			next[m]++;
			CHECK(!post(&w, posted++));
		}
	}
	expect_none(&w);
	world_close(&w);
}

/* An empty one costs what comes, and no more. */
static void an_empty_one_drops(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct world w;

	world_open(&w, 3);
	send_number(&w, 1, 100);
	expect_none(&w);
	CHECK(!post(&w, 0));
	send_number(&w, 2, 100); /* for the first; the others go without */
	CHECK(member_of(&w, expect_one(&w).qp_num) == 0);
	expect_none(&w);
	for (int i = 0; i < 3; i++) {
		CHECK(!ibv_query_qp(w.members[i], &attr, IBV_QP_STATE, &init));
		CHECK(attr.qp_state == IBV_QPS_RTS && init.srq == w.srq);
		CHECK(!post(&w, (uint64_t)i));
	}
	send_number(&w, 3, 100);
	for (int i = 0; i < 3; i++) {
		struct ibv_wc wc = expect_one(&w);

		CHECK(wc.status == IBV_WC_SUCCESS && number_in(&w, &wc) == 3);
	}
	world_close(&w);
}

/* Spec/kernel 4.6: used up, with an error, and the queue pair goes on. */
static void a_small_buffer_is_used_up(void)
{
	struct world w;
	struct ibv_wc wc;

	world_open(&w, 1);
	CHECK(!post_bytes(&w, 0, GRH_BYTES + 99));
	CHECK(!post_bytes(&w, 1, GRH_BYTES + 100));
	send_number(&w, 1, 100);
	wc = expect_one(&w);
	CHECK(wc.status == IBV_WC_REM_INV_REQ_ERR && wc.wr_id == 0);
	CHECK(wc.qp_num == w.members[0]->qp_num);
	expect_none(&w);
	send_number(&w, 2, 100);
	wc = expect_one(&w);
	CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == 1 && number_in(&w, &wc) == 2);
	world_close(&w);
}

static void it_is_full_exactly_at_its_cap(void)
{
	struct ibv_sge sges[4] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = 3 }, *bad = NULL;
	struct world w;

	world_open(&w, 1);
	CHECK(w.granted.max_wr >= DEPTH && w.granted.max_sge >= 2);
	CHECK(ibv_post_srq_recv(w.srq, &wr, &bad) == EINVAL && bad == &wr);
	for (uint64_t i = 0; i < w.granted.max_wr; i++)
		CHECK(!post(&w, i));
	CHECK(post(&w, 0) == ENOMEM);
	send_number(&w, 1, 100);
	expect_one(&w);
	CHECK(!post(&w, 0));
	CHECK(post(&w, 0) == ENOMEM);
	/* Its queue pairs have no receives of their own. */
	bad = NULL;
	CHECK(ibv_post_recv(w.members[0], &wr, &bad) == EINVAL && bad == &wr);
	world_close(&w);
}

/* -- events ------------------------------------------------------------------------- */

static bool event_is_there(struct world *w, int timeout_ms)
{
	struct pollfd p = { .fd = w->context->async_fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static struct ibv_async_event take_event(struct world *w)
{
	struct ibv_async_event event;

	CHECK(event_is_there(w, CLIENT_LONG_MS));
	CHECK(!ibv_get_async_event(w->context, &event));
	return event;
}

static int arm(struct world *w, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT);
}

static uint32_t limit_now(struct world *w)
{
	struct ibv_srq_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	CHECK(!ibv_query_srq(w->srq, &attr));
	CHECK(attr.max_wr == w->granted.max_wr && attr.max_sge == w->granted.max_sge);
	return attr.srq_limit;
}

static void receive_one(struct world *w)
{
	send_number(w, 1, 100);
	CHECK(expect_one(w).status == IBV_WC_SUCCESS);
}

static void the_limit_is_told_once(void)
{
	struct ibv_async_event event;
	struct world w;

	world_open(&w, 1);
	for (uint64_t i = 0; i < 10; i++)
		CHECK(!post(&w, i));
	CHECK(limit_now(&w) == 0);
	CHECK(!arm(&w, 8));
	CHECK(limit_now(&w) == 8);
	receive_one(&w);
	receive_one(&w);
	CHECK(!event_is_there(&w, 0)); /* 8 are not fewer than 8 */
	receive_one(&w);
	event = take_event(&w);
	CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == w.srq);
	ibv_ack_async_event(&event);
	CHECK(limit_now(&w) == 0);
	receive_one(&w);
	CHECK(!event_is_there(&w, 0));
	CHECK(!arm(&w, 6));
	receive_one(&w);
	event = take_event(&w);
	CHECK(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	CHECK(!arm(&w, 5));
	CHECK(!arm(&w, 0));
	receive_one(&w);
	CHECK(!event_is_there(&w, 0));
	CHECK(arm(&w, w.granted.max_wr + 1) == EINVAL);
	world_close(&w);
}

static void its_size_changes_round_what_is_posted(void)
{
	struct ibv_srq_attr attr = { .max_wr = 2 * DEPTH };
	struct ibv_device_attr device;
	struct world w;

	world_open(&w, 1);
	CHECK(!ibv_query_device(w.context, &device));
	CHECK(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	for (uint64_t i = 0; i < w.granted.max_wr; i++)
		CHECK(!post(&w, i));
	CHECK(!ibv_modify_srq(w.srq, &attr, IBV_SRQ_MAX_WR));
	CHECK(!post(&w, 0));
	attr.max_wr = w.granted.max_wr;
	CHECK(ibv_modify_srq(w.srq, &attr, IBV_SRQ_MAX_WR) == EINVAL);
	CHECK(!ibv_query_srq(w.srq, &attr) && attr.max_wr == 2 * DEPTH);
	receive_one(&w);
	attr.max_wr = w.granted.max_wr;
	CHECK(!ibv_modify_srq(w.srq, &attr, IBV_SRQ_MAX_WR));
	CHECK(post(&w, 0) == ENOMEM);
	for (uint64_t i = 1; i < w.granted.max_wr; i++) {
		send_number(&w, 1, 100);
		CHECK(expect_one(&w).wr_id == i);
	}
	attr.max_wr = device.max_srq_wr + 1;
	CHECK(ibv_modify_srq(w.srq, &attr, IBV_SRQ_MAX_WR) == EINVAL);
	CHECK(ibv_modify_srq(w.srq, &attr, 1 << 2) == EINVAL);
	CHECK(!ibv_modify_srq(w.srq, &attr, 0));
	world_close(&w);
}

/* It takes no more; what is posted is the others'. */
static void a_queue_pair_in_error_says_that_it_is_done(void)
{
	struct ibv_async_event event;
	struct world w;

	world_open(&w, 2);
	CHECK(!post(&w, 0));
	CHECK(!to_error(w.members[0]));
	event = take_event(&w);
	CHECK(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
	CHECK(event.element.qp == w.members[0]);
	ibv_ack_async_event(&event);
	CHECK(!to_error(w.members[0]));
	CHECK(!event_is_there(&w, 0));
	expect_none(&w);
	send_number(&w, 1, 100);
	CHECK(expect_one(&w).qp_num == w.members[1]->qp_num);
	CHECK(!to_error(w.sender)); /* has none */
	CHECK(!event_is_there(&w, 0));
	world_close(&w);
}

static void *acknowledge_later(void *arg)
{
	struct timespec moment = { .tv_nsec = 50000000 };

	nanosleep(&moment, NULL);
	ibv_ack_async_event(arg);
	return NULL;
}

/* Fetched, so its event must be acknowledged first; not fetched, so it is gone. */
static void destroying_waits_for_acknowledgements(void)
{
	struct ibv_async_event event;
	pthread_t thread;
	struct world w;

	world_open(&w, 1);
	for (int round = 0; round < 2; round++) {
		CHECK(!post(&w, 0));
		CHECK(!arm(&w, 1));
		receive_one(&w);
		CHECK(event_is_there(&w, CLIENT_LONG_MS));
		if (!round)
			event = take_event(&w);
	}
	member_close(&w, --w.attached);
	CHECK(!pthread_create(&thread, NULL, acknowledge_later, &event));
	CHECK(!ibv_destroy_srq(w.srq));
	CHECK(!pthread_join(thread, NULL));
	CHECK(!event_is_there(&w, 0));
	CHECK(w.srq = create_srq(&w, 1, 1));
	world_close(&w);
}

/* -- creation and destruction ------------------------------------------------------- */

static void who_is_used_is_busy(void)
{
	struct world w;

	world_open(&w, 2);
	CHECK(ibv_destroy_srq(w.srq) == EBUSY);
	member_close(&w, --w.attached);
	CHECK(ibv_destroy_srq(w.srq) == EBUSY);
	CHECK(!post(&w, 0)); /* and unharmed */
	receive_one(&w);
	member_close(&w, --w.attached);
	CHECK(!ibv_destroy_srq(w.srq));
	CHECK(!ibv_destroy_ah(w.ah));
	CHECK(!ibv_destroy_qp(w.sender));
	CHECK(!ibv_dereg_mr(w.mr));
	CHECK(w.srq = create_srq(&w, 1, 1));
	CHECK(ibv_dealloc_pd(w.pd) == EBUSY);
	CHECK(!ibv_destroy_srq(w.srq));
	CHECK(!ibv_dealloc_pd(w.pd));
	CHECK(!ibv_destroy_cq(w.send_cq));
	CHECK(!ibv_destroy_cq(w.cq));
	CHECK(!ibv_close_device(w.context));
	free(w.memory);
}

static void limits_are_those_of_the_device(void)
{
	struct ibv_device_attr device;
	struct world w;
	struct ibv_srq *srq;

	world_open(&w, 0);
	CHECK(!ibv_query_device(w.context, &device));
	CHECK(device.max_srq && device.max_srq_wr && device.max_srq_sge);
	CHECK(!create_srq(&w, device.max_srq_wr + 1, 1) && errno == EINVAL);
	CHECK(!create_srq(&w, 1, device.max_srq_sge + 1) && errno == EINVAL);
	CHECK(!create_srq(&w, 0, 1) && errno == EINVAL);
	/* The largest is not paid for in memory. */
	CHECK(srq = create_srq(&w, device.max_srq_wr, device.max_srq_sge));
	CHECK(srq->srq_context == &w && srq->pd == w.pd && srq->context == w.context);
	CHECK(!ibv_destroy_srq(srq));
	world_close(&w);
}

static void the_extended_call_knows_the_basic_kind(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_context *other = client_open();
	struct ibv_srq *srq;
	struct world w;
	uint32_t number;

	world_open(&w, 0);
	attr.pd = w.pd;
	CHECK(srq = ibv_create_srq_ex(w.context, &attr));
	CHECK(ibv_get_srq_num(srq, &number) == EOPNOTSUPP);
	CHECK(!ibv_destroy_srq(srq));
	attr.srq_type = IBV_SRQT_BASIC;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_CQ;
	CHECK(srq = ibv_create_srq_ex(w.context, &attr));
	CHECK(!ibv_destroy_srq(srq));
	CHECK(!ibv_create_srq_ex(other, &attr) && errno == EINVAL);
	attr.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_PD;
	CHECK(!ibv_create_srq_ex(w.context, &attr) && errno == EINVAL);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD | 1u << 31;
	CHECK(!ibv_create_srq_ex(w.context, &attr) && errno == EOPNOTSUPP);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	attr.srq_type = IBV_SRQT_XRC;
	CHECK(!ibv_create_srq_ex(w.context, &attr) && errno == EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_TM;
	CHECK(!ibv_create_srq_ex(w.context, &attr) && errno == EOPNOTSUPP);
	world_close(&w);
	CHECK(!ibv_close_device(other));
}

/* Of another opening of the device; of another protection domain is fine. */
static void a_queue_pair_takes_from_its_own_context_s(void)
{
	struct world w, other;
	struct ibv_pd *pd, *own;
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	world_open(&w, 0);
	world_open(&other, 0);
	CHECK(!create_qp(&w, other.srq) && errno == EINVAL);
	CHECK(pd = ibv_alloc_pd(w.context));
	own = w.pd;
	w.pd = pd;
	CHECK(srq = create_srq(&w, 4, 1));
	w.pd = own;
	CHECK(qp = create_qp(&w, srq));
	CHECK(!ibv_destroy_qp(qp));
	CHECK(!ibv_destroy_srq(srq));
	CHECK(!ibv_dealloc_pd(pd));
	world_close(&other);
	world_close(&w);
}

/* As the kernel: what is left goes with the device. */
static void a_closed_device_takes_it_along(void)
{
	struct world w;

	world_open(&w, 2);
	CHECK(!post(&w, 0));
	CHECK(!ibv_close_device(w.context));
	free(w.memory);
}

/* In the child nothing of it works, but it can be destroyed; the parent does not notice. */
static void a_child_can_but_destroy_it(void)
{
	struct ibv_srq_attr attr;
	struct world w;
	pid_t child;
	int status;

	world_open(&w, 2);
	CHECK(!post(&w, 0));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(post(&w, 1) == ENODEV);
		CHECK(arm(&w, 1) == ENODEV);
		CHECK(ibv_query_srq(w.srq, &attr) == ENODEV);
		CHECK(ibv_destroy_srq(w.srq) == EBUSY);
		CHECK(!ibv_destroy_qp(w.members[0]) && !ibv_destroy_qp(w.members[1]));
		CHECK(!ibv_destroy_srq(w.srq));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	receive_one(&w);
	world_close(&w);
}

/* As with a queue pair's own receives, but that those in the queue are the program's. */
static void verbcastd_dies(void)
{
	struct ibv_async_event event;
	unsigned int done = 0;
	struct world w;

	world_open(&w, 2);
	CHECK(!post(&w, 0));
	puts("ready");
	fflush(stdout);
	do {
		event = take_event(&w);
		done += event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	CHECK(done == 2);
	expect_none(&w);
	CHECK(post(&w, 1) == ENODEV);
	CHECK(arm(&w, 1) == ENODEV);
	CHECK(ibv_destroy_srq(w.srq) == EBUSY); /* nobody but us knows now */
	CHECK(!ibv_destroy_qp(w.members[0]) && !ibv_destroy_qp(w.members[1]));
	w.attached = 0;
	world_close(&w);
}

/* -- rdma_cm ------------------------------------------------------------------------ */

static struct rdma_cm_event *expect_event(struct rdma_event_channel *channel,
					  enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	CHECK(!rdma_get_cm_event(channel, &event));
	CHECK(event->event == type && !event->status);
	return event;
}

static void cm_create(struct rdma_cm_id *id)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .cap = { .max_send_wr = 4,
						  .max_recv_wr = 4,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };

	CHECK(!rdma_create_srq(id, NULL, &srq));
	CHECK(id->srq && id->srq->pd == id->pd && srq.attr.max_wr >= 8);
	CHECK(rdma_create_srq(id, NULL, &srq) == -1 && errno == EINVAL);
	CHECK(!rdma_create_qp(id, NULL, &attr));
	CHECK(id->qp->srq == id->srq && attr.srq == id->srq);
}

/* To the group the id is a member of, by itself. */
static void cm_send_and_receive(struct rdma_cm_id *id, struct rdma_cm_event *joined)
{
	struct ibv_ah *ah = ibv_create_ah(id->pd, &joined->param.ud.ah_attr);
	char message[64] = "to myself", got[GRH_BYTES + sizeof(message)] = "";
	struct ibv_mr *send_mr = rdma_reg_msgs(id, message, sizeof(message));
	struct ibv_mr *mr = rdma_reg_msgs(id, got, sizeof(got));
	struct ibv_wc wc;

	CHECK(ah && send_mr && mr);
	CHECK(!rdma_post_recv(id, &wc, got, sizeof(got), mr)); /* into the shared one */
	CHECK(!rdma_post_ud_send(id, NULL, message, sizeof(message), send_mr,
				 IBV_SEND_SIGNALED, ah, joined->param.ud.qp_num));
	CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(wc.byte_len == sizeof(got) && !strcmp(got + GRH_BYTES, message));
	CHECK(!rdma_dereg_mr(mr) && !rdma_dereg_mr(send_mr) && !ibv_destroy_ah(ah));
}

static void an_id_has_one(void)
{
	struct sockaddr_in local = client_ipv4(client_address());
	struct sockaddr_in group = { .sin_family = AF_INET,
				     .sin_addr.s_addr = inet_addr("239.5.5.2") };
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	CHECK(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	CHECK(rdma_create_srq(id, NULL, &attr) == -1 && errno == EINVAL); /* no device */
	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&local));
	cm_create(id);
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	event = expect_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	cm_send_and_receive(id, event);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	CHECK(!id->srq);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		verbcastd_dies();
		return 0;
	}
	all_members_hear_all_in_order();
	an_empty_one_drops();
	a_small_buffer_is_used_up();
	it_is_full_exactly_at_its_cap();
	the_limit_is_told_once();
	its_size_changes_round_what_is_posted();
	a_queue_pair_in_error_says_that_it_is_done();
	destroying_waits_for_acknowledgements();
	who_is_used_is_busy();
	limits_are_those_of_the_device();
	the_extended_call_knows_the_basic_kind();
	a_queue_pair_takes_from_its_own_context_s();
	a_closed_device_takes_it_along();
	a_child_can_but_destroy_it();
	an_id_has_one();
	return 0;
}
