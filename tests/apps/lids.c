// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * The LID of ibv_attach_mcast and ibv_detach_mcast, to the errno (spec/kernel 1.1 to
 * 1.3): on InfiniBand it must be a multicast LID, and one for a group; on Ethernet it is
 * any. And what InfiniBand does with it on one port: loopback needs no membership, and a
 * datagram by another LID than the group's is nobody's.
 */
#include "client.h"

#define DEPTH 4
#define MLID  0xc001

static struct ibv_pd *pd;

/* In this state, with this LID. */
static void attach_answers(enum ibv_qp_state state, uint16_t lid, int want)
{
	union ibv_gid gid = client_gid("ff12:601b:ffff::1d");
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct client_qp q;

	client_qp_open(&q, pd, DEPTH);
	CHECK(!ibv_modify_qp(q.qp, &reset, IBV_QP_STATE));
	if (state != IBV_QPS_RESET)
		client_to_state(q.qp, state, CLIENT_QKEY);
	CHECK(ibv_attach_mcast(q.qp, &gid, lid) == want);
	CHECK(ibv_detach_mcast(q.qp, &gid, lid) == want);
	client_qp_close(&q);
}

static void the_lid_has_its_range(void)
{
	static const struct {
		uint16_t lid;
		bool good;
	} cases[] = {
		{ 0, false },      { 1, false },      { 0xbfff, false }, { 0xc000, true },
		{ MLID, true },    { 0x00c0, false }, /* with its bytes swapped */
		{ 0x01c0, false }, { 0xfffe, true },  { 0xffff, false },
	};
	bool any = !client_infiniband();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int want = any || cases[i].good ? 0 : EINVAL;

		/* In RESET the driver of InfiniBand takes none (spec/kernel 1.3). */
		attach_answers(IBV_QPS_RESET, cases[i].lid, any ? 0 : EINVAL);
		attach_answers(IBV_QPS_INIT, cases[i].lid, want);
		attach_answers(IBV_QPS_RTS, cases[i].lid, want);
	}
}

static void no_unicast_gid_is_a_group(void)
{
	struct ibv_gid_entry own;
	union ibv_gid gid = client_gid("2001:db8::1");
	struct client_qp q;

	client_qp_open(&q, pd, DEPTH);
	CHECK(ibv_query_gid_table(pd->context, &own, 1, 0) == 1);
	CHECK(ibv_attach_mcast(q.qp, &own.gid, MLID) == EINVAL);
	CHECK(ibv_attach_mcast(q.qp, &gid, MLID) == EINVAL);
	CHECK(ibv_detach_mcast(q.qp, &gid, MLID) == EINVAL);
	client_qp_close(&q);
}

/* Only UD is in groups; what else could be refused there does not come into being. */
static void other_queue_pairs_are_none_of_ours(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC,
						  IBV_QPT_RAW_PACKET };
	struct ibv_cq *cq = ibv_create_cq(pd->context, 4, NULL, NULL, 0);

	CHECK(cq);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct ibv_qp_init_attr attr = { .qp_type = types[i],
						 .send_cq = cq,
						 .recv_cq = cq,
						 .cap = { 1, 1, 1, 1, 0 } };

		CHECK_NULL(ibv_create_qp(pd, &attr), EOPNOTSUPP);
	}
	CHECK(!ibv_destroy_cq(cq));
}

static void a_group_has_one_lid(void)
{
	union ibv_gid gid = client_gid("ff12:601b:ffff::1e");
	struct client_qp one, two;

	client_qp_open(&one, pd, DEPTH);
	client_qp_open(&two, pd, DEPTH);
	CHECK(!ibv_attach_mcast(one.qp, &gid, MLID));
	CHECK(!ibv_attach_mcast(one.qp, &gid, MLID));
	CHECK(ibv_attach_mcast(one.qp, &gid, MLID + 1) == EINVAL);
	CHECK(ibv_attach_mcast(two.qp, &gid, MLID + 1) == EINVAL);
	CHECK(ibv_detach_mcast(one.qp, &gid, MLID + 1) == EINVAL);
	CHECK(ibv_destroy_qp(one.qp) == EBUSY);
	CHECK(!ibv_detach_mcast(one.qp, &gid, MLID));
	/* With the last member it is free to have another. */
	CHECK(!ibv_attach_mcast(two.qp, &gid, MLID + 1));
	CHECK(!ibv_detach_mcast(two.qp, &gid, MLID + 1));
	client_qp_close(&one);
	client_qp_close(&two);
}

/* Nobody has joined: what a port sends comes back to it all the same. */
static void loopback_needs_no_membership(void)
{
	union ibv_gid gid = client_gid("ff12:601b:ffff::1f");
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct client_qp q[2];
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++) {
		client_qp_open(&q[i], pd, DEPTH);
		client_post_recvs(&q[i], DEPTH);
		CHECK(!client_attach(q[i].qp, &gid));
	}
	client_cast(&q[0], ah, 'l');
	for (int i = 0; i < 2; i++) {
		wc = client_wait(&q[i]);
		CHECK(wc.byte_len == CLIENT_GRH + CLIENT_BYTES);
		CHECK(wc.src_qp == q[0].qp->qp_num && client_got(&q[i], 0) == 'l');
	}
	CHECK(!ibv_destroy_ah(ah));
	for (int i = 0; i < 2; i++) {
		CHECK(!client_detach(q[i].qp, &gid));
		client_qp_close(&q[i]);
	}
}

static void by_another_lid_nobody_hears(void)
{
	union ibv_gid gid = client_gid("ff12:601b:ffff::20");
	struct ibv_ah *ah = client_ah(pd, &gid); /* by CLIENT_MLID */
	struct client_qp q;

	client_qp_open(&q, pd, DEPTH);
	client_post_recvs(&q, DEPTH);
	CHECK(!ibv_attach_mcast(q.qp, &gid, MLID));
	client_cast(&q, ah, 'n');
	CHECK(client_idle(&q));
	CHECK(!ibv_detach_mcast(q.qp, &gid, MLID) && !ibv_destroy_ah(ah));
	client_qp_close(&q);
}

int main(void)
{
	struct ibv_context *context = client_open();

	CHECK(pd = ibv_alloc_pd(context));
	the_lid_has_its_range();
	no_unicast_gid_is_a_group();
	other_queue_pairs_are_none_of_ours();
	loopback_needs_no_membership();
	if (client_infiniband()) {
		a_group_has_one_lid();
		by_another_lid_nobody_hears();
	}
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return 0;
}
