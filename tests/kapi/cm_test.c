// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * rdma_join_multicast in the kernel's flavour, on the loopback's RoCE device
 * (spec/kernel 3).
 */
#include <linux/inet.h>
#include <rdma/rdma_cm.h>

#include "kapi/calls.h"
#include "site.h"

struct heard {
	struct completion done;
	struct rdma_cm_event event;
	struct rdma_ah_attr ah;
	int count;
	bool destroy; /* the id, from inside its event */
};

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct heard *h = id->context;

	h->event = *event;
	h->count++;
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN)
		rdma_copy_ah_attr(&h->ah, &event->param.ud.ah_attr);
	if (h->destroy)
		rdma_destroy_id(id);
	complete(&h->done);
	return 0;
}

static struct sockaddr *address(struct sockaddr_in *in, const char *text)
{
	*in = (struct sockaddr_in){ .sin_family = AF_INET };
	in->sin_addr.s_addr = in_aton(text);
	return (struct sockaddr *)in;
}

static struct rdma_cm_id *bound_id(struct heard *h)
{
	struct sockaddr_in in;
	struct rdma_cm_id *id;

	memset(h, 0, sizeof(*h));
	init_completion(&h->done);
	id = rdma_create_id(&init_net, handler, h, RDMA_PS_UDP, IB_QPT_UD);
	assert_false(IS_ERR(id));
	assert_int_equal(rdma_bind_addr(id, address(&in, "127.0.0.1")), 0);
	assert_string_equal(id->device->name, "vroce0");
	assert_int_equal(id->port_num, 1);
	return id;
}

static void a_group_is_joined_and_used(void **state)
{
	struct sockaddr_in in;
	struct heard h;
	struct rdma_cm_id *id = bound_id(&h);
	struct site_qp q;
	union ib_gid mgid, group = site_group(9);
	struct ib_ah *ah;

	site_qp_create(&q, id->device);
	assert_int_equal(rdma_join_multicast(id, address(&in, "239.1.2.9"),
					     BIT(FULLMEMBER_JOIN), &q),
			 0);
	assert_true(wait_for_completion_timeout(&h.done, 10 * HZ));
	assert_int_equal(h.event.event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(h.event.status, 0);
	assert_ptr_equal(h.event.param.ud.private_data, &q);
	assert_int_equal(h.event.param.ud.qp_num, IB_MULTICAST_QPN);
	assert_int_equal(h.event.param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(h.ah.grh.hop_limit, 64);
	/* The kernel attaches nothing. */
	mgid = h.ah.grh.dgid;
	assert_memory_equal(&mgid, &group, sizeof(mgid));
	assert_int_equal(ib_attach_mcast(q.qp, &mgid, 0), 0);
	ah = rdma_create_ah(q.pd, &h.ah, RDMA_CREATE_AH_SLEEPABLE);
	assert_false(IS_ERR(ah));
	site_send(&q, ah, "joined");
	site_expect(&q, "joined");
	rdma_leave_multicast(id, address(&in, "239.1.2.9"));
	rdma_leave_multicast(id, address(&in, "239.1.2.9"));
	assert_int_equal(ib_detach_mcast(q.qp, &mgid, 0), 0);
	rdma_destroy_ah(ah, 0);
	rdma_destroy_ah_attr(&h.ah);
	site_qp_destroy(&q);
	rdma_destroy_id(id);
}

static void an_id_makes_its_queue_pair(void **state)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	}, got;
	struct ib_qp_attr attr;
	struct sockaddr_in in;
	struct heard h;
	struct rdma_cm_id *id = bound_id(&h);
	struct ib_pd *pd = ib_alloc_pd(id->device, 0);
	struct ib_cq *cq = ib_alloc_cq_any(id->device, NULL, 8, IB_POLL_DIRECT);

	init.send_cq = init.recv_cq = cq;
	assert_int_equal(rdma_create_qp(id, pd, &init), 0);
	assert_int_equal(ib_query_qp(id->qp, &attr, 0, &got), 0);
	assert_int_equal(attr.qp_state, IB_QPS_RTS);
	assert_int_equal(attr.qkey, RDMA_UDP_QKEY);
	/* Who has one may not join: it would not be attached (spec/kernel 3.1). */
	assert_int_equal(rdma_join_multicast(id, address(&in, "239.1.2.9"), 1, NULL),
			 -EINVAL);
	rdma_destroy_qp(id);
	assert_null(id->qp);
	ib_free_cq(cq);
	ib_dealloc_pd(pd);
	rdma_destroy_id(id);
}

static void what_is_not_bound_does_not_join(void **state)
{
	struct sockaddr_in in;
	struct heard h = { .count = 0 };
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, handler, &h, RDMA_PS_UDP, IB_QPT_UD);
	assert_int_equal(rdma_join_multicast(id, address(&in, "239.1.2.9"), 1, NULL),
			 -EINVAL);
	assert_int_equal(rdma_connect(id, NULL), -EINVAL);
	assert_int_equal(rdma_bind_addr(id, address(&in, "198.51.100.1")),
			 -EADDRNOTAVAIL);
	rdma_destroy_id(id);
}

static void addresses_resolve(void **state)
{
	struct sockaddr_in in;
	struct heard h = { .count = 0 };
	struct rdma_cm_id *id;

	init_completion(&h.done);
	id = rdma_create_id(&init_net, handler, &h, RDMA_PS_UDP, IB_QPT_UD);
	assert_int_equal(rdma_resolve_addr(id, NULL, address(&in, "127.0.0.1"), 2000), 0);
	assert_true(wait_for_completion_timeout(&h.done, 10 * HZ));
	assert_int_equal(h.event.event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_string_equal(id->device->name, "vroce0");
	assert_int_equal(rdma_resolve_route(id, 2000), 0);
	assert_true(wait_for_completion_timeout(&h.done, 10 * HZ));
	assert_int_equal(h.event.event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(id->route.num_pri_alt_paths, 1);
	assert_int_equal(rdma_connect(id, NULL), -EOPNOTSUPP);
	rdma_destroy_id(id);
}

/* What would hang in Linux is reported, and done afterwards. */
static void an_id_destroyed_in_its_own_event_is_reported(void **state)
{
	unsigned int reports = kapi_reports();
	struct sockaddr_in in;
	struct heard h;
	struct rdma_cm_id *id = bound_id(&h);

	h.destroy = true;
	assert_int_equal(rdma_join_multicast(id, address(&in, "239.1.2.9"), 1, NULL), 0);
	assert_true(wait_for_completion_timeout(&h.done, 10 * HZ));
	assert_int_equal(kapi_reports(), reports + 1);
	rdma_destroy_ah_attr(&h.ah);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_setup, site_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_group_is_joined_and_used),
		TEST(an_id_makes_its_queue_pair),
		TEST(what_is_not_bound_does_not_join),
		TEST(addresses_resolve),
		TEST(an_id_destroyed_in_its_own_event_is_reported),
	};

	return harness_run(tests);
}
