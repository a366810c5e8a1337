// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * Draining: when the call returns the functions of all that was posted before have
 * returned, on whatever thread they are called, and nothing is left that might post again.
 */
#include "fake.h"
#include "kapi/calls.h"
#include "site.h"

#define DEPTH 32

/* A queue pair of which every request carries a function. */
struct drained {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *recv_cq, *send_cq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	struct ib_cqe received, sent;
	struct ib_cqe *waits;          /* the first function of it stands still */
	struct completion entered, go; /* that one */
	atomic_t good, flushed, sends; /* functions that have returned */
	bool over;                     /* after the call: none is to be called */
	u8 buffer[SITE_ROOM];
};

static int post_receive(struct drained *d)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)d->buffer,
		.length = sizeof(d->buffer),
		.lkey = d->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &d->received, .sg_list = &sge, .num_sge = 1 };

	return d->srq ? ib_post_srq_recv(d->srq, &wr, NULL)
		      : ib_post_recv(d->qp, &wr, NULL);
}

static void wait_once(struct drained *d, const struct ib_cqe *cqe)
{
	if (d->waits != cqe)
		return;
	d->waits = NULL;
	complete(&d->entered);
	wait_for_completion(&d->go);
}

/* As consumers do: what has arrived makes room for the next. */
static void received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct drained *d = container_of(wc->wr_cqe, struct drained, received);

	wait_once(d, wc->wr_cqe);
	if (wc->status != IB_WC_SUCCESS) {
		atomic_inc(&d->flushed);
		return;
	}
	assert_false(READ_ONCE(d->over));
	post_receive(d);
	atomic_inc(&d->good);
}

static void sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct drained *d = container_of(wc->wr_cqe, struct drained, sent);

	wait_once(d, wc->wr_cqe);
	atomic_inc(&d->sends);
}

static void create_shared(struct drained *d)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };

	d->srq = ib_create_srq(d->pd, &init);
	assert_false(IS_ERR(d->srq));
}

static void open_qp(struct drained *d, const char *device, enum ib_poll_context context,
		    bool shared)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = DEPTH + 1,
			 .max_recv_wr = DEPTH + 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	memset(d, 0, sizeof(*d));
	d->device = site_device(device);
	d->received.done = received;
	d->sent.done = sent;
	init_completion(&d->entered);
	init_completion(&d->go);
	d->pd = ib_alloc_pd(d->device, 0);
	/* Room for what a function posts, besides. */
	d->recv_cq = ib_alloc_cq_any(d->device, d, 2 * DEPTH, context);
	d->send_cq = ib_alloc_cq_any(d->device, d, DEPTH + 1, context);
	assert_false(IS_ERR(d->pd) || IS_ERR(d->recv_cq) || IS_ERR(d->send_cq));
	if (shared)
		create_shared(d);
	init.send_cq = d->send_cq;
	init.recv_cq = d->recv_cq;
	init.srq = d->srq;
	d->qp = ib_create_qp(d->pd, &init);
	assert_false(IS_ERR(d->qp));
	site_qp_modify(d->qp, IB_QPS_INIT);
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(post_receive(d), 0);
	site_qp_modify(d->qp, IB_QPS_RTR);
	site_qp_modify(d->qp, IB_QPS_RTS);
}

static void close_qp(struct drained *d)
{
	WRITE_ONCE(d->over, true);
	assert_int_equal(ib_destroy_qp(d->qp), 0);
	if (d->srq)
		ib_destroy_srq(d->srq);
	ib_free_cq(d->recv_cq);
	ib_free_cq(d->send_cq);
	ib_dealloc_pd(d->pd);
	ib_device_put(d->device);
}

static void send_to(struct drained *d, const union ib_gid *group)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE, .port_num = 1 };
	struct ib_sge sge = {
		.addr = (uintptr_t)d->buffer,
		.length = 8,
		.lkey = d->pd->local_dma_lkey,
	};
	struct ib_ud_wr wr = {
		.wr = { .wr_cqe = &d->sent,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED },
		.remote_qpn = IB_MULTICAST_QPN,
		.remote_qkey = SITE_QKEY,
	};

	rdma_ah_set_grh(&attr, (union ib_gid *)group, 0, 0, 64, 0);
	wr.ah = rdma_create_ah(d->pd, &attr, 0);
	assert_false(IS_ERR(wr.ah));
	assert_int_equal(ib_post_send(d->qp, &wr.wr, NULL), 0);
	rdma_destroy_ah(wr.ah, 0);
}

/* -- the call, while a function is in the middle ---------------------------------------- */

struct drainer {
	struct drained *d;
	void (*drain)(struct ib_qp *qp);
	pthread_t thread;
	atomic_t returned;
};

static void *drain_there(void *arg)
{
	struct drainer *t = arg;

	t->drain(t->d->qp);
	atomic_inc(&t->returned);
	return NULL;
}

static enum ib_qp_state state_of(struct ib_qp *qp)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	assert_int_equal(ib_query_qp(qp, &attr, IB_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* It has begun, and stands still for as long as the function does. */
static void drain_around_a_function(struct drained *d, void (*drain)(struct ib_qp *qp))
{
	struct drainer t = { .d = d, .drain = drain };

	wait_for_completion(&d->entered);
	assert_int_equal(pthread_create(&t.thread, NULL, drain_there, &t), 0);
	harness_until(state_of(d->qp) == IB_QPS_ERR, 20000, harness_pause());
	assert_int_equal(atomic_read(&t.returned), 0);
	complete(&d->go);
	assert_int_equal(pthread_join(t.thread, NULL), 0);
}

static void functions_have_returned_and_post_no_more(void **state)
{
	union ib_gid group = site_group(7);
	struct drained d;

	open_qp(&d, "vroce0", IB_POLL_WORKQUEUE, false);
	assert_int_equal(ib_attach_mcast(d.qp, &group, 0), 0);
	d.waits = &d.received;
	send_to(&d, &group);
	drain_around_a_function(&d, ib_drain_rq);
	/* What the function posted in ERR is flushed behind the marker. */
	assert_int_equal(atomic_read(&d.good), 1);
	assert_in_range(atomic_read(&d.flushed), DEPTH - 1, DEPTH);
	assert_int_equal(ib_detach_mcast(d.qp, &group, 0), 0);
	close_qp(&d);
}

static void sends_have_returned(void **state)
{
	union ib_gid group = site_group(8);
	struct drained d;

	open_qp(&d, "vroce0", IB_POLL_WORKQUEUE, false);
	d.waits = &d.sent;
	for (int i = 0; i < DEPTH; i++)
		send_to(&d, &group);
	drain_around_a_function(&d, ib_drain_sq);
	assert_int_equal(atomic_read(&d.sends), DEPTH);
	/* It is in ERR already, and that is no reason not to. */
	ib_drain_qp(d.qp);
	assert_int_equal(atomic_read(&d.flushed), DEPTH);
	close_qp(&d);
}

static void queues_without_a_thread_are_processed_here(void **state)
{
	union ib_gid group = site_group(9);
	struct drained d;

	open_qp(&d, "vroce0", IB_POLL_DIRECT, false);
	for (int i = 0; i < DEPTH; i++)
		send_to(&d, &group);
	assert_int_equal(atomic_read(&d.sends), 0);
	ib_drain_qp(d.qp);
	assert_int_equal(atomic_read(&d.sends), DEPTH);
	assert_int_equal(atomic_read(&d.flushed), DEPTH);
	close_qp(&d);
}

/* -- shared receive queues -------------------------------------------------------------- */

static void what_a_shared_queue_holds_stays_there(void **state)
{
	union ib_gid group = site_group(10);
	struct drained d;

	open_qp(&d, "vroce0", IB_POLL_WORKQUEUE, true);
	assert_int_equal(ib_attach_mcast(d.qp, &group, 0), 0);
	d.waits = &d.received;
	send_to(&d, &group);
	drain_around_a_function(&d, ib_drain_qp);
	assert_int_equal(atomic_read(&d.good), 1);
	assert_int_equal(atomic_read(&d.flushed), 0);
	/* The function has put back what the datagram took. */
	assert_int_equal(post_receive(&d), -ENOMEM);
	assert_int_equal(ib_detach_mcast(d.qp, &group, 0), 0);
	close_qp(&d);
}

/* -- a device that goes ----------------------------------------------------------------- */

static struct {
	struct drained d;
	struct completion removed;
} leaving;

static int here(struct ib_device *device)
{
	return strcmp(device->name, "vroce0") ? -EOPNOTSUPP : 0;
}

static void going(struct ib_device *device, void *data)
{
	ib_drain_qp(leaving.d.qp);
	assert_int_equal(atomic_read(&leaving.d.flushed), DEPTH);
	close_qp(&leaving.d);
	complete(&leaving.removed);
}

static void queue_pairs_of_a_device_that_has_gone_are_drained(void **state)
{
	struct ib_client client = { .name = "drain", .add = here, .remove = going };

	init_completion(&leaving.removed);
	assert_int_equal(ib_register_client(&client), 0);
	open_qp(&leaving.d, "vroce0", IB_POLL_WORKQUEUE, false);
	assert_int_equal(kapi_device_unplug(leaving.d.device), 0);
	assert_true(wait_for_completion_timeout(&leaving.removed, 60 * HZ));
	ib_unregister_client(&client);
}

/* -- queues that are full, or never empty ----------------------------------------------- */

static void drains_in_time(struct drained *d)
{
	struct drainer t = { .d = d, .drain = ib_drain_qp };

	assert_int_equal(pthread_create(&t.thread, NULL, drain_there, &t), 0);
	harness_until(atomic_read(&t.returned), 20000, harness_pause());
	assert_int_equal(pthread_join(t.thread, NULL), 0);
}

/* What is flushed leaves the marker no room before it is worked off. */
static void a_queue_that_is_just_large_enough_is_drained(void **state)
{
	struct drained d;

	open_qp(&d, "vroce0", IB_POLL_DIRECT, false);
	assert_int_equal(ib_resize_cq(d.recv_cq, DEPTH), 0);
	drains_in_time(&d);
	assert_int_equal(atomic_read(&d.flushed), DEPTH);
	close_qp(&d);
}

struct busy {
	struct ib_cqe cqe;
	struct ib_qp *qp;
	struct completion idle;
	bool enough;
};

/* Flushed, and flushed again. */
static void once_more(struct ib_cq *cq, struct ib_wc *wc)
{
	struct busy *b = container_of(wc->wr_cqe, struct busy, cqe);
	struct ib_recv_wr wr = { .wr_cqe = &b->cqe };

	if (READ_ONCE(b->enough))
		complete(&b->idle);
	else
		ib_post_recv(b->qp, &wr, NULL);
}

static void others_may_keep_a_queue_busy(void **state)
{
	struct busy b = { .cqe.done = once_more };
	struct ib_recv_wr wr = { .wr_cqe = &b.cqe };
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct drained d;

	init_completion(&b.idle);
	open_qp(&d, "vroce0", IB_POLL_WORKQUEUE, true);
	init.send_cq = d.send_cq;
	init.recv_cq = d.recv_cq;
	b.qp = ib_create_qp(d.pd, &init);
	assert_false(IS_ERR(b.qp));
	site_qp_modify(b.qp, IB_QPS_INIT);
	site_qp_modify(b.qp, IB_QPS_ERR);
	assert_int_equal(ib_post_recv(b.qp, &wr, NULL), 0);
	drains_in_time(&d);
	WRITE_ONCE(b.enough, true);
	assert_true(wait_for_completion_timeout(&b.idle, 20 * HZ));
	assert_int_equal(ib_destroy_qp(b.qp), 0);
	close_qp(&d);
}

/* -- what cannot be ---------------------------------------------------------------------- */

struct careless {
	struct drained d;
	struct ib_cqe cqe;
	struct completion done;
};

static void drain_oneself(struct ib_cq *cq, struct ib_wc *wc)
{
	struct careless *c = container_of(wc->wr_cqe, struct careless, cqe);

	ib_drain_rq(c->d.qp);
	complete(&c->done);
}

static void a_function_that_drains_does_not_wait_for_itself(void **state)
{
	unsigned int reports = kapi_reports();
	struct careless c = { .cqe.done = drain_oneself };
	struct ib_recv_wr wr = { .wr_cqe = &c.cqe };

	init_completion(&c.done);
	open_qp(&c.d, "vroce0", IB_POLL_WORKQUEUE, false);
	site_qp_modify(c.d.qp, IB_QPS_ERR);
	assert_int_equal(ib_post_recv(c.d.qp, &wr, NULL), 0);
	assert_true(wait_for_completion_timeout(&c.done, 20 * HZ));
	assert_int_equal(kapi_reports(), reports + 1);
	ib_drain_rq(c.d.qp);
	assert_int_equal(atomic_read(&c.d.flushed), DEPTH);
	close_qp(&c.d);
}

/* Its requests have numbers, which are no functions. */
static void a_queue_with_a_handler_is_left_alone(void **state)
{
	const struct ib_cq_init_attr attr = { .cqe = SITE_DEPTH };
	struct ib_device *device = site_device("vroce0");
	struct site_qp q;
	struct ib_cq *cq;

	cq = ib_create_cq(device, NULL, NULL, NULL, &attr);
	assert_false(IS_ERR(cq));
	site_qp_create_on(&q, device, cq, 0);
	ib_drain_rq(q.qp);
	assert_int_equal(state_of(q.qp), IB_QPS_RTS);
	site_qp_destroy(&q);
	ib_device_put(device);
}

/* -- a driver's own --------------------------------------------------------------------- */

static int sq_calls, rq_calls;

static void own_sq(struct ib_qp *qp)
{
	assert_int_equal(rq_calls, 0);
	sq_calls++;
}

static void own_rq(struct ib_qp *qp)
{
	rq_calls++;
}

static void a_driver_may_drain_itself(void **state)
{
	static const struct ib_device_ops ops = { .drain_sq = own_sq,
						  .drain_rq = own_rq };
	struct fake *f = fake_create(IB_LINK_LAYER_ETHERNET, IB_LINK_LAYER_ETHERNET);
	struct fake_qp q;

	ib_set_device_ops(&f->ib, &ops);
	assert_int_equal(ib_register_device(&f->ib, "fake%d", NULL), 0);
	fake_qp_make(&q, &f->ib, IB_QPT_UD);
	ib_drain_qp(q.qp);
	assert_int_equal(sq_calls, 1);
	assert_int_equal(rq_calls, 1);
	fake_qp_free(&q);
	ib_unregister_device(&f->ib);
	fake_destroy(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
	const struct CMUnitTest tests[] = {
		TEST(functions_have_returned_and_post_no_more),
		TEST(sends_have_returned),
		TEST(queues_without_a_thread_are_processed_here),
		TEST(what_a_shared_queue_holds_stays_there),
		TEST(queue_pairs_of_a_device_that_has_gone_are_drained),
		TEST(a_queue_that_is_just_large_enough_is_drained),
		TEST(others_may_keep_a_queue_busy),
		TEST(a_function_that_drains_does_not_wait_for_itself),
		TEST(a_queue_with_a_handler_is_left_alone),
		TEST(a_driver_may_drain_itself),
	};

	return harness_run(tests);
}
