// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300
/*
 * Joins that the subnet administrator refuses, seen from both sides: the status that it
 * answers a datagram of ours with, and the errno that ib_sa_join_multicast makes of the
 * same record and mask (spec/sa-sm 1.6 to 1.8, spec/kernel 2.12). Each row differs from a
 * good request in one thing.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "site.h"

#define JOIN (M(MGID) | M(PORT_GID) | M(JOIN_STATE))
#define CREATE                                                                 \
	(JOIN | M(QKEY) | M(TRAFFIC_CLASS) | M(PKEY) | M(SL) | M(FLOW_LABEL) | \
	 M(HOP_LIMIT) | MTU | RATE)
#define MTU     (M(MTU) | M(MTU_SELECTOR))
#define RATE    (M(RATE) | M(RATE_SELECTOR))
#define LIFE    (M(PACKET_LIFE_TIME) | M(PACKET_LIFE_TIME_SELECTOR))
#define M(name) IB_SA_MCMEMBER_REC_##name

#define ERR_REQ_INVALID                 0x0200
#define ERR_REQ_INVALID_GID             0x0500
#define ERR_REQ_INSUFFICIENT_COMPONENTS 0x0600

/* The group that is there, and what is created unless a row says otherwise. */
static const struct ib_sa_mcmember_rec good = {
	.mgid = { .raw = { 0xff, 0x15, 0xa0, 0x1b, [15] = 1 } },
	.mtu_selector = IB_SA_EQ,
	.mtu = IB_MTU_2048,
	.traffic_class = 5,
	.rate_selector = IB_SA_EQ,
	.rate = IB_RATE_10_GBPS,
	.packet_life_time_selector = IB_SA_EQ,
	.packet_life_time = 18,
	.sl = 3,
	.hop_limit = 9,
	.join_state = BIT(FULLMEMBER_JOIN),
};

#define QKEY 0x1234
#define FLOW 77

static struct {
	struct ib_sa_client client;
	struct ib_device *device;
	struct ib_mad_agent *agent;
	struct ib_pd *pd;
	struct ib_ah *sm;
	union ib_gid gid;
	struct ib_sa_multicast *group; /* another node's */
	struct completion done;
	int status;            /* of the last join */
	unsigned int answered; /* by the administrator */
} node;

static struct ib_sa_mcmember_rec good_record(void)
{
	struct ib_sa_mcmember_rec rec = good;

	rec.port_gid = node.gid;
	rec.qkey = cpu_to_be32(QKEY);
	rec.pkey = cpu_to_be16(0xffff);
	rec.flow_label = cpu_to_be32(FLOW);
	return rec;
}

/* -- by a datagram ------------------------------------------------------------------ */

static void mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	node.status = wc->status;
	complete(&node.done);
}

static void mad_received(struct ib_mad_agent *agent, struct ib_mad_send_buf *send,
			 struct ib_mad_recv_wc *recv)
{
	node.answered = be16_to_cpu(recv->recv_buf.mad->mad_hdr.status);
	ib_free_recv_mad(recv);
}

/* The record on the wire: spec/kernel 2.2. */
static void pack(const struct ib_sa_mcmember_rec *rec, u8 *to)
{
	u32 flow =
		(u32)rec->sl << 28 | be32_to_cpu(rec->flow_label) << 8 | rec->hop_limit;
	__be32 word = cpu_to_be32(flow);

	memcpy(to, rec->mgid.raw, 16);
	memcpy(to + 16, rec->port_gid.raw, 16);
	memcpy(to + 32, &rec->qkey, 4);
	to[38] = (u8)(rec->mtu_selector << 6 | rec->mtu);
	to[39] = rec->traffic_class;
	memcpy(to + 40, &rec->pkey, 2);
	to[42] = (u8)(rec->rate_selector << 6 | rec->rate);
	to[43] = (u8)(rec->packet_life_time_selector << 6 | rec->packet_life_time);
	memcpy(to + 44, &word, 4);
	to[48] = (u8)(rec->scope << 4 | rec->join_state);
}

static void ask_by_mad(const struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask mask)
{
	struct ib_mad_send_buf *send = site_sa_request(
		node.agent, node.sm, IB_MGMT_METHOD_SET, IB_SA_ATTR_MC_MEMBER_REC, 2000);
	struct ib_sa_mad *mad = send->mad;

	send->retries = 3;
	mad->sa_hdr.comp_mask = mask;
	pack(rec, mad->data);
	node.answered = UINT_MAX;
	reinit_completion(&node.done);
	assert_int_equal(ib_post_send_mad(send, NULL), 0);
	assert_true(wait_for_completion_timeout(&node.done, 20 * HZ));
	assert_int_equal(node.status, IB_WC_SUCCESS);
	ib_free_send_mad(send);
}

/* -- by the client ------------------------------------------------------------------ */

static int joined(int status, struct ib_sa_multicast *multicast)
{
	node.status = status;
	complete(&node.done);
	return 0;
}

static struct ib_sa_multicast *join(struct ib_sa_mcmember_rec *rec, ib_sa_comp_mask mask)
{
	struct ib_sa_multicast *member;

	reinit_completion(&node.done);
	member = ib_sa_join_multicast(&node.client, node.device, 1, rec, mask, GFP_KERNEL,
				      joined, NULL);
	assert_false(IS_ERR(member));
	assert_true(wait_for_completion_timeout(&node.done, 20 * HZ));
	return member;
}

static void is_refused(struct ib_sa_mcmember_rec rec, ib_sa_comp_mask mask,
		       unsigned int status)
{
	struct ib_sa_multicast *member;

	ask_by_mad(&rec, mask);
	assert_int_equal(node.answered, status);
	member = join(&rec, mask);
	ib_sa_free_multicast(member);
	assert_int_equal(node.status, -EINVAL);
}

static void is_accepted(struct ib_sa_mcmember_rec rec, ib_sa_comp_mask mask)
{
	struct ib_sa_multicast *member = join(&rec, mask);

	ib_sa_free_multicast(member);
	assert_int_equal(node.status, 0);
}

/* -- a node that asks, and another one's group ---------------------------------------- */

static void be_on(unsigned int number)
{
	assert_int_equal(kapi_node_enter(number), 0);
	node.device = site_device("vib0");
	assert_int_equal(rdma_query_gid(node.device, 1, 0, &node.gid), 0);
}

static int open_node(void **state)
{
	const struct kapi_site_config config = { .nodes = 2 };
	int r = kapi_site_open(&config);

	if (r)
		return r;
	be_on(1);
	init_completion(&node.done);
	ib_sa_register_client(&node.client);
	node.pd = ib_alloc_pd(node.device, 0);
	node.sm = site_sm_ah(node.device, node.pd);
	node.agent = ib_register_mad_agent(node.device, 1, IB_QPT_GSI, NULL, 0, mad_sent,
					   mad_received, NULL, 0);
	assert_false(IS_ERR(node.pd) || IS_ERR(node.sm) || IS_ERR(node.agent));
	return 0;
}

static int close_node(void **state)
{
	if (node.group)
		ib_sa_free_multicast(node.group);
	node.group = NULL;
	ib_unregister_mad_agent(node.agent);
	rdma_destroy_ah(node.sm, 0);
	ib_dealloc_pd(node.pd);
	ib_sa_unregister_client(&node.client);
	ib_device_put(node.device);
	kapi_node_enter(0);
	return kapi_site_close();
}

/* The first node creates the group and stays; the second one asks. */
static void create_group(void)
{
	struct ib_device *asking = node.device;
	union ib_gid gid = node.gid;
	struct ib_sa_mcmember_rec rec;

	be_on(0);
	rec = good_record();
	node.group = join(&rec, CREATE | LIFE);
	assert_int_equal(node.status, 0);
	ib_device_put(node.device);
	assert_int_equal(kapi_node_enter(1), 0);
	node.device = asking;
	node.gid = gid;
}

/* -- cases -------------------------------------------------------------------------- */

#define WITH(field, value)                                      \
	({                                                      \
		struct ib_sa_mcmember_rec rec_ = good_record(); \
		rec_.field = (value);                           \
		rec_;                                           \
	})

static void what_differs_from_the_group_is_refused(void **state)
{
	create_group();
	is_accepted(good_record(), JOIN);
	is_accepted(good_record(), CREATE);
	is_refused(WITH(qkey, cpu_to_be32(QKEY + 1)), JOIN | M(QKEY), ERR_REQ_INVALID);
	is_refused(WITH(sl, 4), JOIN | M(SL), ERR_REQ_INVALID);
	is_refused(WITH(traffic_class, 6), JOIN | M(TRAFFIC_CLASS), ERR_REQ_INVALID);
	is_refused(WITH(flow_label, cpu_to_be32(FLOW + 1)), JOIN | M(FLOW_LABEL),
		   ERR_REQ_INVALID);
	is_refused(WITH(hop_limit, 10), JOIN | M(HOP_LIMIT), ERR_REQ_INVALID);
	is_refused(WITH(pkey, cpu_to_be16(0x8001)), JOIN | M(PKEY), ERR_REQ_INVALID);
	is_refused(WITH(port_gid.raw[0], 0xfd), JOIN, ERR_REQ_INVALID_GID);
	is_refused(WITH(port_gid.raw[15], 0xee), JOIN, ERR_REQ_INVALID);
	is_refused(WITH(join_state, 0), JOIN | M(QKEY), ERR_REQ_INVALID);
}

/* Without its bit in the mask nothing counts; nor does half of a selector and its value. */
static void what_is_not_named_does_not_count(void **state)
{
	create_group();
	is_accepted(WITH(qkey, cpu_to_be32(QKEY + 1)), JOIN);
	is_accepted(WITH(sl, 4), JOIN);
	is_accepted(WITH(traffic_class, 6), JOIN);
	is_accepted(WITH(flow_label, cpu_to_be32(FLOW + 1)), JOIN);
	is_accepted(WITH(hop_limit, 10), JOIN);
	is_accepted(WITH(pkey, cpu_to_be16(0x8001)), JOIN);
	is_accepted(WITH(mtu, 1), JOIN);
	is_accepted(WITH(mtu, 1), JOIN | M(MTU));
	is_accepted(WITH(rate, 2), JOIN);
	is_accepted(WITH(rate, 2), JOIN | M(RATE));
	is_accepted(WITH(packet_life_time, 1), JOIN);
	is_accepted(WITH(packet_life_time, 1), JOIN | M(PACKET_LIFE_TIME));
	is_accepted(WITH(scope, 9), JOIN);
	is_accepted(WITH(mlid, cpu_to_be16(0xc222)), JOIN);
	/* The best there is: whatever it is. */
	is_accepted(WITH(mtu_selector, IB_SA_BEST), JOIN | MTU);
	is_accepted(WITH(rate_selector, IB_SA_BEST), JOIN | RATE);
	is_accepted(WITH(packet_life_time_selector, IB_SA_BEST), JOIN | LIFE);
}

/* The administrator looks at neither; the client compares what it was answered. */
static void what_the_client_alone_compares(void **state)
{
	create_group();
	is_refused(WITH(mlid, cpu_to_be16(0xc222)), JOIN | M(MLID), 0);
	is_refused(WITH(scope, 9), JOIN | M(SCOPE), 0);
	is_refused(WITH(pkey, cpu_to_be16(0x7fff)), JOIN | M(PKEY), 0);
}

/* MTU and rate by each selector. The administrator does not look at the life time; the
 * client does, at what it was answered (spec/kernel 2.7). */
static void selectors_compare_with_the_group(void **state)
{
	static const struct {
		u8 selector;
		int above; /* the group's value by so much */
		bool fits;
	} rows[] = {
		{ IB_SA_GT, -1, true },  { IB_SA_GT, 0, false }, { IB_SA_GT, 1, false },
		{ IB_SA_LT, -1, false }, { IB_SA_LT, 0, false }, { IB_SA_LT, 1, true },
		{ IB_SA_EQ, -1, false }, { IB_SA_EQ, 0, true },  { IB_SA_EQ, 1, false },
	};

	create_group();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ib_sa_mcmember_rec mtu = good_record(), rate = mtu, life = mtu;

		mtu.mtu_selector = rate.rate_selector = rows[i].selector;
		life.packet_life_time_selector = rows[i].selector;
		mtu.mtu = (u8)(mtu.mtu + rows[i].above);
		rate.rate = (u8)(rate.rate + rows[i].above);
		life.packet_life_time = (u8)(life.packet_life_time + rows[i].above);
		if (rows[i].fits) {
			is_accepted(mtu, JOIN | MTU);
			is_accepted(rate, JOIN | RATE);
			is_accepted(life, JOIN | LIFE);
		} else {
			is_refused(mtu, JOIN | MTU, ERR_REQ_INVALID);
			is_refused(rate, JOIN | RATE, ERR_REQ_INVALID);
			is_refused(life, JOIN | LIFE, 0);
		}
	}
}

static void what_creates_must_be_complete(void **state)
{
	const ib_sa_comp_mask needed[] = { M(QKEY), M(TRAFFIC_CLASS), M(PKEY), M(SL),
					   M(FLOW_LABEL) };

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		is_refused(good_record(), CREATE & ~needed[i],
			   ERR_REQ_INSUFFICIENT_COMPONENTS);
	is_refused(good_record(), JOIN, ERR_REQ_INSUFFICIENT_COMPONENTS);
	is_refused(good_record(), CREATE & ~M(PORT_GID), ERR_REQ_INSUFFICIENT_COMPONENTS);
	is_accepted(good_record(), CREATE & ~(MTU | RATE | M(HOP_LIMIT)));
}

static void what_creates_must_be_possible(void **state)
{
	is_refused(WITH(mgid.raw[0], 0xfe), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(mgid.raw[1], 0x22), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(mgid.raw[1], 0x12), CREATE, ERR_REQ_INVALID); /* the SA's own */
	is_refused(WITH(pkey, cpu_to_be16(0x8000)), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(mtu, 6), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(rate, 1), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(port_gid.raw[0], 0xfd), CREATE, ERR_REQ_INVALID_GID);
	is_refused(WITH(port_gid.raw[15], 0xee), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(join_state, BIT(NONMEMBER_JOIN)), CREATE, ERR_REQ_INVALID);
	is_refused(WITH(join_state, BIT(SENDONLY_NONMEBER_JOIN)), CREATE,
		   ERR_REQ_INVALID);
	is_accepted(good_record(), CREATE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
	const struct CMUnitTest tests[] = {
		TEST(what_differs_from_the_group_is_refused),
		TEST(what_is_not_named_does_not_count),
		TEST(what_the_client_alone_compares),
		TEST(selectors_compare_with_the_group),
		TEST(what_creates_must_be_complete),
		TEST(what_creates_must_be_possible),
	};

	return harness_run(tests);
}
