// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * ib_sa_join_multicast on a fabric of three nodes in this process (spec/kernel 2): joins
 * with the subnet administrator, records, freeing, and datagrams between nodes.
 */
#include <rdma/rdma_cm.h>

#include "kapi/calls.h"
#include "mcmember.h"
#include "site.h"

#define NODES 3

struct joiner {
	struct ib_sa_client client;
	struct ib_device *device;
	struct completion done;
	struct ib_sa_multicast *member;
	struct ib_sa_mcmember_rec rec;
	int status, calls;
	int answer;         /* what the callback returns */
	bool free_in_there; /* the member, in its own callback */
};

static int open_fabric(void **state)
{
	const struct kapi_site_config config = { .nodes = NODES };

	return kapi_site_open(&config);
}

static struct ib_device *vib_of(unsigned int node)
{
	assert_int_equal(kapi_node_enter(node), 0);
	return site_device("vib0");
}

static void joiner_init(struct joiner *j, unsigned int node)
{
	memset(j, 0, sizeof(*j));
	j->device = vib_of(node);
	init_completion(&j->done);
	ib_sa_register_client(&j->client);
}

static void joiner_fini(struct joiner *j)
{
	ib_sa_unregister_client(&j->client);
	ib_device_put(j->device);
	kapi_node_enter(0);
}

static int joined(int status, struct ib_sa_multicast *multicast)
{
	struct joiner *j = multicast->context;

	j->status = status;
	j->rec = multicast->rec;
	j->calls++;
	if (j->free_in_there)
		ib_sa_free_multicast(multicast);
	complete(&j->done);
	return j->answer;
}

static void join(struct joiner *j, union ib_gid mgid, u8 state)
{
	struct ib_sa_mcmember_rec rec = {
		.mgid = mgid,
		.pkey = cpu_to_be16(0xffff),
		.join_state = state,
	};
	struct ib_sa_mcmember_rec broadcast;
	union ib_gid all = { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 0xff,
				      0xff, 0xff, 0xff } };

	/* As IPoIB does: what the group does not say comes from the broadcast group. */
	assert_int_equal(ib_sa_get_mcmember_rec(j->device, 1, &all, &broadcast), 0);
	rec.qkey = broadcast.qkey;
	assert_int_equal(rdma_query_gid(j->device, 1, 0, &rec.port_gid), 0);
	j->member = ib_sa_join_multicast(&j->client, j->device, 1, &rec,
					 MCMEMBER_CREATE_MASK, GFP_KERNEL, joined, j);
	assert_false(IS_ERR(j->member));
	assert_true(wait_for_completion_timeout(&j->done, 20 * HZ));
}

static void nodes_have_devices_of_their_own(void **state)
{
	assert_int_equal(kapi_site_nodes(), NODES);
	for (unsigned int n = 0; n < NODES; n++) {
		struct ib_device *device = vib_of(n);
		struct ib_port_attr attr;

		assert_int_equal(ib_query_port(device, 1, &attr), 0);
		assert_int_equal(attr.state, IB_PORT_ACTIVE);
		assert_int_not_equal(attr.lid, 0);
		assert_true(rdma_cap_ib_mcast(device, 1));
		ib_device_put(device);
	}
	assert_null(ib_device_get_by_name("vroce0", RDMA_DRIVER_UNKNOWN));
	kapi_node_enter(0);
	assert_int_equal(kapi_node_enter(NODES), -EINVAL);
}

static void members_on_other_nodes_receive(void **state)
{
	union ib_gid mgid = mcmember_group(0, 1);
	struct rdma_ah_attr attr;
	struct joiner a, b;
	struct site_qp qa, qb;
	struct ib_ah *ah;
	u16 mlid;

	joiner_init(&a, 1);
	joiner_init(&b, 2);
	join(&a, mgid, BIT(FULLMEMBER_JOIN));
	join(&b, mgid, BIT(FULLMEMBER_JOIN));
	assert_int_equal(a.status, 0);
	assert_int_equal(b.status, 0);
	assert_int_equal(a.rec.mlid, b.rec.mlid);
	mlid = be16_to_cpu(a.rec.mlid);
	site_qp_create(&qa, a.device);
	site_qp_create(&qb, b.device);
	assert_int_equal(ib_attach_mcast(qb.qp, &mgid, 0), -EINVAL);
	assert_int_equal(ib_attach_mcast(qb.qp, &mgid, mlid), 0);
	assert_int_equal(ib_init_ah_from_mcmember(a.device, 1, &a.rec, NULL,
						  IB_GID_TYPE_IB, &attr),
			 0);
	assert_int_equal(rdma_ah_get_dlid(&attr), mlid);
	ah = rdma_create_ah(qa.pd, &attr, 0);
	assert_false(IS_ERR(ah));
	rdma_destroy_ah_attr(&attr);
	site_send(&qa, ah, "across");
	site_expect(&qb, "across");
	assert_int_equal(ib_detach_mcast(qb.qp, &mgid, mlid), 0);
	rdma_destroy_ah(ah, 0);
	site_qp_destroy(&qa);
	site_qp_destroy(&qb);
	ib_free_multicast(a.member);
	ib_free_multicast(b.member);
	joiner_fini(&a);
	joiner_fini(&b);
}

/* Switches go by the LID; who hears it, by the MGID (spec/sa-sm 7.6). The embedded
 * administrator gives no two groups one LID, others do. */
static void two_groups_on_one_mlid_are_told_apart(void **state)
{
	union ib_gid one = mcmember_group(0, 1), two = mcmember_group(0, 2);
	struct site_qp from, qs[2];
	struct joiner a, b;
	struct ib_ah *ahs[2];
	u16 mlid;

	joiner_init(&a, 1);
	joiner_init(&b, 2);
	join(&a, one, BIT(FULLMEMBER_JOIN));
	join(&b, one, BIT(FULLMEMBER_JOIN));
	mlid = be16_to_cpu(b.rec.mlid);
	site_qp_create(&from, a.device);
	site_qp_create(&qs[0], b.device);
	site_qp_create(&qs[1], b.device);
	assert_int_equal(ib_attach_mcast(qs[0].qp, &one, mlid), 0);
	assert_int_equal(ib_attach_mcast(qs[1].qp, &two, mlid), 0);
	ahs[0] = site_group_ah(&from, &one, mlid);
	ahs[1] = site_group_ah(&from, &two, mlid);
	site_send(&from, ahs[0], "to one");
	site_send(&from, ahs[1], "to two");
	site_send(&from, ahs[0], "to one again");
	site_expect(&qs[0], "to one");
	site_expect(&qs[0], "to one again");
	site_expect(&qs[1], "to two");
	site_expect_nothing(&qs[0]);
	site_expect_nothing(&qs[1]);
	assert_int_equal(ib_detach_mcast(qs[0].qp, &one, mlid), 0);
	assert_int_equal(ib_detach_mcast(qs[1].qp, &two, mlid), 0);
	for (int i = 0; i < 2; i++)
		rdma_destroy_ah(ahs[i], 0);
	site_qp_destroy(&from);
	for (int i = 0; i < 2; i++)
		site_qp_destroy(&qs[i]);
	ib_sa_free_multicast(a.member);
	ib_sa_free_multicast(b.member);
	joiner_fini(&a);
	joiner_fini(&b);
}

static void a_record_is_there_while_there_are_members(void **state)
{
	union ib_gid mgid = mcmember_group(0, 2);
	struct ib_sa_mcmember_rec rec;
	struct joiner j;

	joiner_init(&j, 1);
	assert_int_equal(ib_sa_get_mcmember_rec(j.device, 1, &mgid, &rec),
			 -EADDRNOTAVAIL);
	join(&j, mgid, BIT(FULLMEMBER_JOIN));
	assert_int_equal(ib_sa_get_mcmember_rec(j.device, 1, &mgid, &rec), 0);
	assert_int_equal(rec.mlid, j.rec.mlid);
	ib_sa_free_multicast(j.member);
	harness_until(ib_sa_get_mcmember_rec(j.device, 1, &mgid, &rec) == -EADDRNOTAVAIL,
		      5000, harness_pause());
	joiner_fini(&j);
}

static void a_refused_join_says_so_once(void **state)
{
	struct joiner j;

	joiner_init(&j, 1);
	/* Send only, to a group that is not there, as a non-member (spec/kernel 2.12). */
	join(&j, mcmember_group(0, 3), BIT(NONMEMBER_JOIN));
	assert_int_equal(j.status, -EINVAL);
	assert_int_equal(j.calls, 1);
	ib_sa_free_multicast(j.member);
	/* Non-zero returned: the core frees it. */
	j.answer = 1;
	join(&j, mcmember_group(0, 3), BIT(NONMEMBER_JOIN));
	assert_int_equal(j.status, -EINVAL);
	joiner_fini(&j);
}

/* What would deadlock in Linux (spec/kernel 6, row 24). */
static void a_member_freed_in_its_own_callback_is_reported(void **state)
{
	unsigned int reports = kapi_reports();
	struct joiner j;

	joiner_init(&j, 1);
	j.free_in_there = true;
	join(&j, mcmember_group(0, 4), BIT(FULLMEMBER_JOIN));
	assert_int_equal(j.status, 0);
	assert_int_equal(kapi_reports(), reports + 1);
	joiner_fini(&j);
}

static void *unregister(void *arg)
{
	struct joiner *j = arg;

	ib_sa_unregister_client(&j->client);
	complete(&j->done);
	return NULL;
}

static void unregistering_waits_for_the_last_member(void **state)
{
	struct joiner j;
	pthread_t thread;

	joiner_init(&j, 1);
	join(&j, mcmember_group(0, 5), BIT(FULLMEMBER_JOIN));
	pthread_create(&thread, NULL, unregister, &j);
	assert_int_equal(wait_for_completion_timeout(&j.done, 50), 0);
	ib_sa_free_multicast(j.member);
	assert_true(wait_for_completion_timeout(&j.done, 10 * HZ));
	pthread_join(thread, NULL);
	ib_device_put(j.device);
	kapi_node_enter(0);
}

static void path_found(int status, struct sa_path_rec *resp, unsigned int num_paths,
		       void *context)
{
	struct joiner *j = context;

	j->status = status ? status : (int)be16_to_cpu(resp->ib.dlid);
	complete(&j->done);
}

static void paths_are_asked_for(void **state)
{
	struct sa_path_rec rec = { .numb_path = 1, .reversible = 1 };
	struct ib_sa_query *query;
	struct ib_port_attr attr;
	struct ib_device *there;
	struct joiner j;
	int id;

	joiner_init(&j, 1);
	there = vib_of(2);
	assert_int_equal(rdma_query_gid(j.device, 1, 0, &rec.sgid), 0);
	assert_int_equal(rdma_query_gid(there, 1, 0, &rec.dgid), 0);
	assert_int_equal(ib_query_port(there, 1, &attr), 0);
	id = ib_sa_path_rec_get(&j.client, j.device, 1, &rec,
				IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
					IB_SA_PATH_REC_NUMB_PATH |
					IB_SA_PATH_REC_REVERSIBLE,
				10000, GFP_KERNEL, path_found, &j, &query);
	assert_true(id >= 0);
	assert_true(wait_for_completion_timeout(&j.done, 20 * HZ));
	assert_int_equal(j.status, attr.lid);
	/* Over by now: harmless. */
	ib_sa_cancel_query(id, query);
	ib_device_put(there);
	joiner_fini(&j);
}

/* -- MADs ------------------------------------------------------------------------------ */

static void mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct joiner *j = agent->context;

	j->status = wc->status;
	complete(&j->done);
}

static void mad_received(struct ib_mad_agent *agent, struct ib_mad_send_buf *send,
			 struct ib_mad_recv_wc *recv)
{
	struct joiner *j = agent->context;

	assert_non_null(send);
	assert_int_equal(recv->mad_len, IB_MGMT_MAD_SIZE);
	j->calls = recv->recv_buf.mad->mad_hdr.method;
	ib_free_recv_mad(recv);
}

static void an_agent_is_answered(void **state)
{
	struct ib_mad_agent *agent;
	struct ib_mad_send_buf *send;
	struct ib_pd *pd;
	struct joiner j;

	joiner_init(&j, 1);
	pd = ib_alloc_pd(j.device, 0);
	assert_int_equal(PTR_ERR(ib_register_mad_agent(j.device, 1, IB_QPT_UD, NULL, 0,
						       mad_sent, mad_received, &j, 0)),
			 -EINVAL);
	agent = ib_register_mad_agent(j.device, 1, IB_QPT_GSI, NULL, 0, mad_sent,
				      mad_received, &j, 0);
	assert_false(IS_ERR(agent));
	send = site_sa_request(agent, site_sm_ah(j.device, pd), IB_MGMT_METHOD_GET,
			       IB_SA_ATTR_CLASS_PORTINFO, 5000);
	send->retries = 3;
	assert_int_equal(ib_post_send_mad(send, NULL), 0);
	assert_true(wait_for_completion_timeout(&j.done, 20 * HZ));
	assert_int_equal(j.status, IB_WC_SUCCESS);
	assert_int_equal(j.calls, IB_MGMT_METHOD_GET_RESP);
	ib_unregister_mad_agent(agent);
	rdma_destroy_ah(send->ah, 0);
	ib_free_send_mad(send);
	ib_dealloc_pd(pd);
	joiner_fini(&j);
}

/* -- rdma_cm on InfiniBand ------------------------------------------------------------- */

static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct joiner *j = id->context;

	j->calls = event->event;
	j->status = event->status;
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN)
		j->rec.mgid = event->param.ud.ah_attr.grh.dgid;
	complete(&j->done);
	return 0;
}

static void rdma_cm_joins_with_the_administrator(void **state)
{
	struct sockaddr_in group = { .sin_family = AF_INET }, there = group;
	struct joiner j = { .calls = -1 };
	struct rdma_cm_id *id;

	init_completion(&j.done);
	id = rdma_create_id(kapi_node_net(1), cm_handler, &j, RDMA_PS_UDP, IB_QPT_UD);
	assert_false(IS_ERR(id));
	group.sin_addr.s_addr = htonl(0xef010203);
	there.sin_addr.s_addr = htonl(0xc6120003); /* 198.18.0.3: the third node */
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 2000), 0);
	assert_true(wait_for_completion_timeout(&j.done, 10 * HZ));
	assert_int_equal(j.calls, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_string_equal(id->device->name, "vib0");
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&group,
					     BIT(FULLMEMBER_JOIN), NULL),
			 0);
	assert_true(wait_for_completion_timeout(&j.done, 20 * HZ));
	assert_int_equal(j.calls, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(j.status, 0);
	/* ff12:4001:ffff::f01:203, spec/kernel 3.2 */
	assert_memory_equal(j.rec.mgid.raw,
			    "\xff\x12\x40\x01\xff\xff\0\0\0\0\0\0\x0f\x01\x02\x03", 16);
	rdma_destroy_id(id);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fabric, site_teardown)
	const struct CMUnitTest tests[] = {
		TEST(nodes_have_devices_of_their_own),
		TEST(members_on_other_nodes_receive),
		TEST(two_groups_on_one_mlid_are_told_apart),
		TEST(a_record_is_there_while_there_are_members),
		TEST(a_refused_join_says_so_once),
		TEST(a_member_freed_in_its_own_callback_is_reported),
		TEST(unregistering_waits_for_the_last_member),
		TEST(paths_are_asked_for),
		TEST(an_agent_is_answered),
		TEST(rdma_cm_joins_with_the_administrator),
	};

	return harness_run(tests);
}
