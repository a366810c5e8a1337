// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * ibv_attach_mcast and ibv_detach_mcast: what they answer (spec/kernel 1), and that the
 * answer is true of the datagrams: who was told that it is attached gets one copy, and
 * who was told otherwise none.
 *
 *	attach                        what needs no lowered limit
 *	attach limits G Q T           on a site where max_mcast_grp is G, max_mcast_qp_attach
 *	                              Q and max_total_mcast_qp_attach T
 */
#include "client.h"

#define DEPTH  4
#define GROUPS 10000u
#define QPS    1000u

static struct ibv_pd *pd;
static struct client_qp sender;

/* Exactly those of `qps` with their bit in `who` get what is sent to the group. */
static void expect_heard(struct client_qp *qps, unsigned int n, const union ibv_gid *gid,
			 unsigned int who)
{
	static char byte = 'a';
	struct ibv_ah *ah = client_ah(pd, gid);

	byte++;
	for (unsigned int i = 0; i < n; i++)
		CHECK(!client_post_recv(&qps[i], 0));
	client_cast(&sender, ah, byte);
	for (unsigned int i = 0; i < n; i++) {
		if (who & 1u << i)
			CHECK(client_wait(&qps[i]).byte_len == CLIENT_GRH + CLIENT_BYTES);
		if (who & 1u << i)
			CHECK(client_got(&qps[i], 0) == byte);
		CHECK(client_idle(&qps[i]));
	}
	CHECK(!ibv_destroy_ah(ah));
	/* What was not used up: a queue pair is emptied by RESET, and its groups stay. */
	for (unsigned int i = 0; i < n; i++) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

		CHECK(!ibv_modify_qp(qps[i].qp, &attr, IBV_QP_STATE));
		client_to_state(qps[i].qp, IBV_QPS_RTS, CLIENT_QKEY);
	}
}

static void open_all(struct client_qp *qps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		client_qp_open(&qps[i], pd, DEPTH);
}

static void close_all(struct client_qp *qps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		client_qp_close(&qps[i]);
}

/* -- addresses ---------------------------------------------------------------------- */

/* RoCEv2 and RoCEv1 have different GIDs for one IPv4 group (spec/kernel 3.5, 4.5). */
static void mapped_and_ff0e_are_two_groups(void)
{
	union ibv_gid v2 = client_gid("239.1.2.3");
	union ibv_gid v1 = client_gid("ff0e::ffff:ef01:0203");
	struct client_qp q[2];

	open_all(q, 2);
	CHECK(!client_attach(q[0].qp, &v2));
	CHECK(!client_attach(q[1].qp, &v1));
	expect_heard(q, 2, &v2, 1);
	expect_heard(q, 2, &v1, 2);
	CHECK(client_detach(q[0].qp, &v1) == EINVAL);
	CHECK(!client_detach(q[0].qp, &v2));
	CHECK(!client_detach(q[1].qp, &v1));
	close_all(q, 2);
}

/* Spec/kernel 0.2; any multicast GID, IPv6 and those that are no IP address at all. */
static void any_multicast_gid_is_taken(void)
{
	static const char *const good[] = { "ff0e::1",          "ff02::1",
					    "ff00::",           "ff01:0:2:c985::1",
					    "224.0.0.0",        "239.255.255.255",
					    "ff12:401b:ffff::1" };
	struct client_qp q;

	open_all(&q, 1);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		union ibv_gid gid = client_gid(good[i]);

		CHECK(!client_attach(q.qp, &gid));
		expect_heard(&q, 1, &gid, 1);
		CHECK(!client_detach(q.qp, &gid));
		expect_heard(&q, 1, &gid, 0);
	}
	close_all(&q, 1);
}

static void any_other_gid_is_refused(void)
{
	static const char *const bad[] = {
		"127.0.0.1",       "::",          "::1",
		"fe80::1",         "2001:db8::1", "223.255.255.255",
		"240.0.0.0",       "::224.0.0.1", "feff::ffff:ffff",
		"::fffe:239.1.2.3"
	};
	struct client_qp q;

	open_all(&q, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		union ibv_gid gid = client_gid(bad[i]);

		CHECK(client_attach(q.qp, &gid) == EINVAL);
		CHECK(client_detach(q.qp, &gid) == EINVAL);
	}
	close_all(&q, 1);
}

/* -- attach and detach -------------------------------------------------------------- */

static void attached_twice_it_hears_once_and_is_detached_once(void)
{
	union ibv_gid gid = client_gid("239.1.20.1");
	struct client_qp q;

	open_all(&q, 1);
	CHECK(!client_attach(q.qp, &gid));
	CHECK(!client_attach(q.qp, &gid));
	expect_heard(&q, 1, &gid, 1);
	CHECK(!client_detach(q.qp, &gid));
	expect_heard(&q, 1, &gid, 0);
	CHECK(client_detach(q.qp, &gid) == EINVAL);
	/* Linux would count two attachments here, for ever (spec/kernel 1.4, 7.1). */
	close_all(&q, 1);
}

/* The LID means nothing on RoCE but in the comparison (spec/kernel 1.5). */
static void another_lid_is_another_pair_of_the_same_group(void)
{
	union ibv_gid gid = client_gid("239.1.20.2");
	struct client_qp q;

	open_all(&q, 1);
	CHECK(!client_attach(q.qp, &gid));
	CHECK(ibv_detach_mcast(q.qp, &gid, 1) == EINVAL);
	expect_heard(&q, 1, &gid, 1);
	CHECK(!ibv_attach_mcast(q.qp, &gid, 0xc001));
	expect_heard(&q, 1, &gid, 1);
	CHECK(!client_detach(q.qp, &gid));
	expect_heard(&q, 1, &gid, 1);
	CHECK(ibv_destroy_qp(q.qp) == EBUSY);
	CHECK(client_detach(q.qp, &gid) == EINVAL);
	CHECK(!ibv_detach_mcast(q.qp, &gid, 0xc001));
	expect_heard(&q, 1, &gid, 0);
	close_all(&q, 1);
}

static void what_was_never_attached_is_not_detached(void)
{
	union ibv_gid gid = client_gid("239.1.20.3");
	struct client_qp q[2];

	open_all(q, 2);
	CHECK(client_detach(q[0].qp, &gid) == EINVAL);
	CHECK(!client_attach(q[1].qp, &gid));
	CHECK(client_detach(q[0].qp, &gid) == EINVAL);
	expect_heard(q, 2, &gid, 2);
	CHECK(!client_detach(q[1].qp, &gid));
	close_all(q, 2);
}

static void destroyed_while_attached_it_is_busy_and_unharmed(void)
{
	union ibv_gid gid = client_gid("239.1.20.4");
	struct client_qp q;

	open_all(&q, 1);
	CHECK(!client_attach(q.qp, &gid));
	CHECK(ibv_destroy_qp(q.qp) == EBUSY);
	CHECK(ibv_destroy_cq(q.cq) == EBUSY);
	expect_heard(&q, 1, &gid, 1);
	CHECK(!client_detach(q.qp, &gid));
	close_all(&q, 1);
}

/* Attach and detach look at no state; delivery does (spec/kernel 1.1, 4.5). On InfiniBand
 * RESET is none to be attached in (spec/kernel 1.3). */
static void a_queue_pair_is_attached_in_any_state(void)
{
	union ibv_gid gid = client_gid("239.1.20.5");
	struct ibv_qp_attr attr = { 0 };
	struct client_qp q;

	open_all(&q, 1);
	for (enum ibv_qp_state s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		attr.qp_state = IBV_QPS_RESET;
		CHECK(!ibv_modify_qp(q.qp, &attr, IBV_QP_STATE));
		if (s == IBV_QPS_SQE) /* where no request leads */
			continue;
		client_to_state(q.qp, s > IBV_QPS_RTS ? IBV_QPS_RTS : s, CLIENT_QKEY);
		attr.qp_state = s;
		if (s > IBV_QPS_RTS)
			CHECK(!ibv_modify_qp(q.qp, &attr, IBV_QP_STATE));
		if (s == IBV_QPS_RESET && client_infiniband()) {
			CHECK(client_attach(q.qp, &gid) == EINVAL);
			continue;
		}
		CHECK(!client_attach(q.qp, &gid));
		CHECK(!client_detach(q.qp, &gid));
	}
	close_all(&q, 1);
}

/* -- many --------------------------------------------------------------------------- */

static void one_queue_pair_is_in_ten_thousand_groups(void)
{
	unsigned int n = client_sanitized() ? GROUPS / 10 : GROUPS;
	const unsigned int probes[] = { 0, 1, n / 3, n / 2, n - 2, n - 1 };
	struct client_qp q;
	union ibv_gid gid;

	open_all(&q, 1);
	for (unsigned int i = 0; i < n; i++) {
		gid = client_gid_number(i);
		CHECK(!client_attach(q.qp, &gid));
	}
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		gid = client_gid_number(probes[i]);
		expect_heard(&q, 1, &gid, 1);
	}
	gid = client_gid_number(n);
	expect_heard(&q, 1, &gid, 0);
	for (unsigned int i = 0; i < n; i++) {
		gid = client_gid_number(i);
		CHECK(!client_detach(q.qp, &gid));
	}
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		gid = client_gid_number(probes[i]);
		expect_heard(&q, 1, &gid, 0);
	}
	close_all(&q, 1);
}

static void a_thousand_queue_pairs_are_in_one_group(void)
{
	unsigned int n = client_sanitized() ? QPS / 10 : QPS;
	union ibv_gid gid = client_gid("239.1.20.6");
	struct client_qp *q = calloc(n, sizeof(*q));
	struct ibv_ah *ah = client_ah(pd, &gid);

	CHECK(q);
	open_all(q, n);
	for (unsigned int i = 0; i < n; i++) {
		client_post_recvs(&q[i], DEPTH);
		CHECK(!client_attach(q[i].qp, &gid));
	}
	for (char byte = 0; byte < DEPTH; byte++)
		client_cast(&sender, ah, 'A' + byte);
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < DEPTH; k++) {
			CHECK(client_wait(&q[i]).wr_id == k);
			CHECK(client_got(&q[i], k) == 'A' + (char)k);
		}
		CHECK(client_idle(&q[i]));
	}
	for (unsigned int i = 0; i < n; i++)
		CHECK(!client_detach(q[i].qp, &gid));
	close_all(q, n);
	CHECK(!ibv_destroy_ah(ah));
	free(q);
}

/* -- limits ------------------------------------------------------------------------- */

static void check_reported(unsigned int groups, unsigned int qps, unsigned int total)
{
	struct ibv_device_attr attr;

	CHECK(!ibv_query_device(pd->context, &attr));
	CHECK(attr.max_mcast_grp == (int)groups);
	CHECK(attr.max_mcast_qp_attach == (int)qps);
	CHECK(attr.max_total_mcast_qp_attach == (int)total);
}

/* One group too many: nothing of the others is lost, and one may go for another. */
static void groups_are_limited(unsigned int limit)
{
	struct client_qp q;
	union ibv_gid gid;

	open_all(&q, 1);
	for (unsigned int i = 0; i < limit; i++) {
		gid = client_gid_number(i);
		CHECK(!client_attach(q.qp, &gid));
	}
	gid = client_gid_number(limit);
	for (int again = 0; again < 3; again++)
		CHECK(client_attach(q.qp, &gid) == ENOMEM);
	CHECK(client_detach(q.qp, &gid) == EINVAL);
	expect_heard(&q, 1, &gid, 0);
	for (unsigned int i = 0; i < limit; i++) {
		gid = client_gid_number(i);
		expect_heard(&q, 1, &gid, 1);
	}
	gid = client_gid_number(0);
	CHECK(!client_detach(q.qp, &gid));
	gid = client_gid_number(limit);
	CHECK(!client_attach(q.qp, &gid));
	expect_heard(&q, 1, &gid, 1);
	for (unsigned int i = 1; i <= limit; i++) {
		gid = client_gid_number(i);
		CHECK(!client_detach(q.qp, &gid));
	}
	close_all(&q, 1);
}

static void queue_pairs_of_a_group_are_limited(unsigned int limit)
{
	union ibv_gid gid = client_gid("239.1.20.7");
	struct client_qp q[8];
	unsigned int all = (1u << limit) - 1;

	CHECK(limit < 8);
	open_all(q, limit + 1);
	for (unsigned int i = 0; i < limit; i++)
		CHECK(!client_attach(q[i].qp, &gid));
	for (int again = 0; again < 3; again++)
		CHECK(client_attach(q[limit].qp, &gid) == ENOMEM);
	CHECK(!client_attach(q[0].qp, &gid)); /* is none more */
	expect_heard(q, limit + 1, &gid, all);
	CHECK(!client_detach(q[0].qp, &gid));
	CHECK(!client_attach(q[limit].qp, &gid));
	expect_heard(q, limit + 1, &gid, (all | 1u << limit) & ~1u);
	for (unsigned int i = 1; i <= limit; i++)
		CHECK(!client_detach(q[i].qp, &gid));
	close_all(q, limit + 1);
}

/* Two queue pairs and as many groups as the sum allows. The one too many would have made
 * a new group: none is left behind of it. */
static void attachments_are_limited(unsigned int limit)
{
	struct client_qp q[2];
	union ibv_gid gid;

	open_all(q, 2);
	for (unsigned int i = 0; i < limit; i++) {
		gid = client_gid_number(i / 2);
		CHECK(!client_attach(q[i % 2].qp, &gid));
	}
	gid = client_gid_number(limit);
	for (int again = 0; again < 3; again++)
		CHECK(client_attach(q[0].qp, &gid) == ENOMEM);
	for (unsigned int i = 0; i < limit / 2; i++) {
		gid = client_gid_number(i);
		expect_heard(q, 2, &gid, 3);
	}
	for (unsigned int i = 0; i < limit; i++) {
		gid = client_gid_number(i / 2);
		CHECK(!client_detach(q[i % 2].qp, &gid));
	}
	gid = client_gid_number(limit);
	CHECK(!client_attach(q[0].qp, &gid));
	CHECK(!client_detach(q[0].qp, &gid));
	close_all(q, 2);
}

static void no_groups_at_all_is_invalid(void)
{
	union ibv_gid gid = client_gid("239.1.20.8");
	struct client_qp q;

	open_all(&q, 1);
	CHECK(client_attach(q.qp, &gid) == EINVAL);
	close_all(&q, 1);
}

static void limited(unsigned int groups, unsigned int qps, unsigned int total)
{
	check_reported(groups, qps, total);
	if (!groups) {
		no_groups_at_all_is_invalid();
		return;
	}
	if (groups <= total)
		groups_are_limited(groups);
	if (qps <= total)
		queue_pairs_of_a_group_are_limited(qps);
	if ((total + 1) / 2 < groups)
		attachments_are_limited(total);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = client_open();

	CHECK(pd = ibv_alloc_pd(context));
	client_qp_open(&sender, pd, 1);
	if (argc == 5 && !strcmp(argv[1], "limits")) {
		limited(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
	} else {
		mapped_and_ff0e_are_two_groups();
		any_multicast_gid_is_taken();
		any_other_gid_is_refused();
		attached_twice_it_hears_once_and_is_detached_once();
		if (!client_infiniband())
			another_lid_is_another_pair_of_the_same_group();
		what_was_never_attached_is_not_detached();
		destroyed_while_attached_it_is_busy_and_unharmed();
		a_queue_pair_is_attached_in_any_state();
		one_queue_pair_is_in_ten_thousand_groups();
		a_thousand_queue_pairs_are_in_one_group();
	}
	client_qp_close(&sender);
	CHECK(!ibv_dealloc_pd(pd));
	CHECK(!ibv_close_device(context));
	return 0;
}
