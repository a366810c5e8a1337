// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Members of a group that cannot take its datagrams, each for a reason of its own, beside
 * two that can: those miss nothing. Says which queue pair is what, and how much was sent:
 *
 *	unfit_members PID-OF-VERBCASTD
 *	qkey 17
 *	...
 *	sent 5000
 */
#include "client.h"

#define DEPTH 64
#define BURST 16
#define SLACK (16u << 10)

enum who {
	GOOD,
	QKEY,
	ERROR,
	INIT,
	EMPTY,
	SMALL,
	LAST,
	MEMBERS
};

static const char *const names[MEMBERS] = {
	[GOOD] = "good",   [QKEY] = "qkey",   [ERROR] = "error", [INIT] = "init",
	[EMPTY] = "empty", [SMALL] = "small", [LAST] = "last",
};

static struct client_qp members[MEMBERS], sender;

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

static void set_qkey(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qkey = qkey };

	CHECK(!ibv_modify_qp(qp, &attr, IBV_QP_QKEY));
}

/* One byte too few for the datagram with its header. */
static void post_small(struct client_qp *q)
{
	struct ibv_sge sge = { .addr = (uintptr_t)q->memory,
			       .length = CLIENT_GRH + CLIENT_BYTES - 1,
			       .lkey = q->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(q->qp, &wr, &bad));
}

/* Those that are good for nothing stand between the two that are good. */
static void join_all(struct ibv_pd *pd, union ibv_gid *gid)
{
	for (int i = 0; i < MEMBERS; i++) {
		client_qp_open(&members[i], pd, DEPTH);
		if (i == INIT) {
			to_state(members[i].qp, IBV_QPS_RESET);
			client_to_state(members[i].qp, IBV_QPS_INIT, CLIENT_QKEY);
		}
		if (i == SMALL)
			post_small(&members[i]);
		else if (i != EMPTY)
			client_post_recvs(&members[i], DEPTH);
		if (i == QKEY)
			set_qkey(members[i].qp, CLIENT_QKEY + 1);
		if (i == ERROR)
			to_state(members[i].qp, IBV_QPS_ERR);
		CHECK(!client_attach(members[i].qp, gid));
		printf("%s %u\n", names[i], members[i].qp->qp_num);
	}
}

static void hear(struct client_qp *q, char byte)
{
	struct ibv_wc wc = client_wait(q);

	CHECK(client_got(q, (unsigned int)wc.wr_id) == byte);
	CHECK(!client_post_recv(q, (unsigned int)wc.wr_id));
}

static void cast_all(struct ibv_ah *ah, unsigned int count)
{
	for (unsigned int i = 0; i < count; i += BURST) {
		for (unsigned int k = 0; k < BURST; k++)
			client_cast(&sender, ah, (char)(i + k));
		for (unsigned int k = 0; k < BURST; k++) {
			hear(&members[GOOD], (char)(i + k));
			hear(&members[LAST], (char)(i + k));
		}
	}
}

/* What they had posted comes back to the one in ERR alone; the others are as they were,
 * and good members as soon as their fault is mended. */
static void check_unfit(struct ibv_ah *ah)
{
	struct ibv_wc wc;

	for (int i = 0; i < DEPTH; i++)
		CHECK(ibv_poll_cq(members[ERROR].cq, 1, &wc) == 1 &&
		      wc.status == IBV_WC_WR_FLUSH_ERR);
	for (int i = 0; i < MEMBERS; i++)
		CHECK(client_idle(&members[i]));
	set_qkey(members[QKEY].qp, CLIENT_QKEY);
	client_post_recvs(&members[EMPTY], 1);
	client_cast(&sender, ah, 'm');
	hear(&members[QKEY], 'm');
	hear(&members[EMPTY], 'm');
	hear(&members[GOOD], 'm');
	hear(&members[LAST], 'm');
}

static void nobody_is_there(struct ibv_pd *pd, unsigned int count)
{
	union ibv_gid gid = client_gid("239.1.23.2");
	struct ibv_ah *ah = client_ah(pd, &gid);

	for (unsigned int i = 0; i < count; i++)
		client_cast(&sender, ah, 'n');
	CHECK(!ibv_destroy_ah(ah));
}

int main(int argc, char **argv)
{
	unsigned int count = client_count(4000, 100000) / BURST * BURST;
	union ibv_gid gid = client_gid("239.1.23.1");
	struct ibv_context *context = client_open();
	struct client_holdings before;
	struct ibv_pd *pd;
	struct ibv_ah *ah;

	CHECK(argc == 2);
	CHECK(pd = ibv_alloc_pd(context));
	client_qp_open(&sender, pd, 1);
	join_all(pd, &gid);
	ah = client_ah(pd, &gid);
	cast_all(ah, BURST);
	before = client_hold(atoi(argv[1]));
	cast_all(ah, count - BURST);
	nobody_is_there(pd, count);
	client_check_flat(&before, SLACK);
	check_unfit(ah);
	printf("sender %u\nsent %u\n", sender.qp->qp_num, count + 1);
	CHECK(!ibv_destroy_ah(ah));
	for (int i = 0; i < MEMBERS; i++) {
		CHECK(!client_detach(members[i].qp, &gid));
		client_qp_close(&members[i]);
	}
	client_qp_close(&sender);
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return 0;
}
