// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * Datagrams to a group between queue pairs of one program, in the kernel's dialect.
 */
#include "site.h"

static void every_attached_queue_pair_receives_a_copy(void **state)
{
	struct ib_device *device = site_device("vroce0");
	union ib_gid group = site_group(3);
	struct site_qp a, b, c;
	struct ib_ah *ah;

	site_qp_create(&a, device);
	site_qp_create(&b, device);
	site_qp_create_on(&c, device, NULL, IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK);
	assert_int_equal(ib_attach_mcast(a.qp, &group, 0), 0);
	assert_int_equal(ib_attach_mcast(b.qp, &group, 0), 0);
	assert_int_equal(ib_attach_mcast(c.qp, &group, 0), 0);
	/* A second time is no second copy (spec/kernel 6, 1). */
	assert_int_equal(ib_attach_mcast(b.qp, &group, 0), 0);
	assert_int_equal(atomic_read(&b.qp->usecnt), 1);
	ah = site_group_ah(&c, &group, 0);
	site_send(&c, ah, "to all");
	site_expect(&a, "to all");
	site_expect(&b, "to all");
	site_expect_nothing(&b);
	site_expect_nothing(&c);
	assert_int_equal(ib_destroy_qp(a.qp), -EBUSY);
	assert_int_equal(ib_detach_mcast(a.qp, &group, 0), 0);
	assert_int_equal(ib_detach_mcast(a.qp, &group, 0), -EINVAL);
	site_send(&c, ah, "to one");
	site_expect(&b, "to one");
	site_expect_nothing(&a);
	assert_int_equal(ib_detach_mcast(b.qp, &group, 0), 0);
	assert_int_equal(ib_detach_mcast(c.qp, &group, 0), 0);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	site_qp_destroy(&a);
	site_qp_destroy(&b);
	site_qp_destroy(&c);
	ib_device_put(device);
}

/* The source is an IPv4 address in both cases. */
static void completions_tell_the_network(void **state)
{
	struct ib_device *device = site_device("vroce0");
	union ib_gid groups[] = { site_group(6), { .raw = { 0xff, 0x0e, [15] = 6 } } };
	static const int networks[] = { RDMA_NETWORK_IPV4, RDMA_NETWORK_IPV6 };
	struct site_qp q;

	site_qp_create(&q, device);
	for (int i = 0; i < 2; i++) {
		struct ib_ah *ah = site_group_ah(&q, &groups[i], 0);
		struct ib_wc wc;

		assert_int_equal(ib_attach_mcast(q.qp, &groups[i], 0), 0);
		site_send(&q, ah, "which");
		site_send(&q, ah, "and again, to find the way known");
		harness_until(ib_poll_cq(q.cq, 1, &wc) == 1, 5000, harness_pause());
		assert_true(wc.wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE);
		assert_int_equal(wc.network_hdr_type, networks[i]);
		site_check_network(&q, &wc);
		site_expect(&q, "and again, to find the way known");
		assert_int_equal(ib_detach_mcast(q.qp, &groups[i], 0), 0);
		rdma_destroy_ah(ah, 0);
	}
	site_qp_destroy(&q);
	ib_device_put(device);
}

struct seen {
	struct ib_cqe cqe;
	struct completion done;
	atomic_t count;
	int want;
};

static void receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct seen *seen = container_of(wc->wr_cqe, struct seen, cqe);

	if (wc->status == IB_WC_SUCCESS && atomic_inc_return(&seen->count) == seen->want)
		complete(&seen->done);
}

static void post_with_function(struct site_qp *q, struct seen *seen, int n)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)(q->buffers + n * SITE_ROOM),
		.length = SITE_ROOM,
		.lkey = q->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &seen->cqe, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(ib_post_recv(q->qp, &wr, NULL), 0);
}

/* A queue pair whose receives have functions, which kapi-comp calls. */
static void a_work_queue_calls_what_a_request_carries(void **state)
{
	struct ib_device *device = site_device("vroce0");
	struct seen seen = { .cqe.done = receive_done, .want = 200 };
	union ib_gid group = site_group(4);
	struct site_qp sender, q;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_cq *cq;
	struct ib_ah *ah;

	init_completion(&seen.done);
	cq = ib_alloc_cq_any(device, NULL, 512, IB_POLL_WORKQUEUE);
	assert_false(IS_ERR(cq));
	site_qp_create(&sender, device);
	site_qp_create_on(&q, device, cq, 0);
	/* The receives of the shared code go; those with functions come. */
	assert_int_equal(ib_modify_qp(q.qp, &attr, IB_QP_STATE), 0);
	site_qp_modify(q.qp, IB_QPS_INIT);
	for (int i = 0; i < SITE_DEPTH; i++)
		post_with_function(&q, &seen, i);
	site_qp_modify(q.qp, IB_QPS_RTR);
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0), 0);
	ah = site_group_ah(&sender, &group, 0);
	for (int i = 0; i < seen.want; i++) {
		site_send(&sender, ah, "again");
		harness_until(atomic_read(&seen.count) > i, 5000, harness_pause());
		if (i + SITE_DEPTH < seen.want)
			post_with_function(&q, &seen, i % SITE_DEPTH);
	}
	assert_true(wait_for_completion_timeout(&seen.done, 10 * HZ));
	assert_int_equal(ib_detach_mcast(q.qp, &group, 0), 0);
	rdma_destroy_ah(ah, 0);
	site_qp_destroy(&q);
	site_qp_destroy(&sender);
	ib_device_put(device);
}

struct notified {
	struct completion done;
	atomic_t calls;
};

static void notified(struct ib_cq *cq, void *context)
{
	struct notified *n = context;

	atomic_inc(&n->calls);
	complete(&n->done);
}

static void an_armed_queue_calls_its_handler_once(void **state)
{
	struct ib_device *device = site_device("vroce0");
	const struct ib_cq_init_attr attr = { .cqe = SITE_DEPTH };
	union ib_gid group = site_group(5);
	struct notified n = { .calls = ATOMIC_INIT(0) };
	struct site_qp q, sender;
	struct ib_cq *cq;
	struct ib_ah *ah;

	init_completion(&n.done);
	cq = ib_create_cq(device, notified, NULL, &n, &attr);
	assert_false(IS_ERR(cq));
	site_qp_create_on(&q, device, cq, 0);
	site_qp_create(&sender, device);
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0), 0);
	ah = site_group_ah(&sender, &group, 0);
	assert_int_equal(ib_req_notify_cq(cq, IB_CQ_NEXT_COMP), 0);
	site_send(&sender, ah, "one");
	assert_true(wait_for_completion_timeout(&n.done, 10 * HZ));
	site_send(&sender, ah, "two");
	/* Not armed again: what is there already is told by asking for it. */
	harness_until(ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) >
			      0,
		      5000, harness_pause());
	site_expect(&q, "one");
	site_expect(&q, "two");
	assert_int_equal(ib_detach_mcast(q.qp, &group, 0), 0);
	rdma_destroy_ah(ah, 0);
	site_qp_destroy(&q);
	site_qp_destroy(&sender);
	ib_device_put(device);
}

static void a_refused_request_is_named(void **state)
{
	struct ib_device *device = site_device("vroce0");
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr wr[40];
	struct site_qp q;

	site_qp_create(&q, device);
	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < 40; i++)
		wr[i].next = i < 39 ? &wr[i + 1] : NULL;
	/* The queue is full already. */
	assert_int_equal(ib_post_recv(q.qp, wr, &bad), -ENOMEM);
	assert_ptr_equal(bad, &wr[0]);
	assert_int_equal(ib_post_recv(q.qp, wr, NULL), -ENOMEM);
	site_qp_destroy(&q);
	ib_device_put(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_attached_queue_pair_receives_a_copy,
						site_setup, site_teardown),
		cmocka_unit_test_setup_teardown(completions_tell_the_network, site_setup,
						site_teardown),
		cmocka_unit_test_setup_teardown(a_work_queue_calls_what_a_request_carries,
						site_setup, site_teardown),
		cmocka_unit_test_setup_teardown(an_armed_queue_calls_its_handler_once,
						site_setup, site_teardown),
		cmocka_unit_test_setup_teardown(a_refused_request_is_named, site_setup,
						site_teardown),
	};

	return harness_run(tests);
}
