// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300
/*
 * A hundred thousand groups on a port, and as many members of one: what a join costs does
 * not depend on how many there are. The SA's side is as fast as can be, so that what is
 * measured is the client; the time of the first thousands is compared with that of the
 * last, with room for a busy machine.
 */
#include "unit/core_sa/world.h"

#define ROUND      2000u
/* Growth in line with the number would be a factor of the number of rounds. */
#define GROWTH_MAX 8

static unsigned int granted;

static int counts_grants(int status, struct ib_sa_multicast *multicast)
{
	assert_int_equal(status, 0);
	granted++;
	return 0;
}

static struct ib_sa_multicast *join_number(u32 n, u8 join_state)
{
	struct ib_sa_mcmember_rec rec = wanted(0, join_state);

	rec.mgid.raw[10] = (u8)(n >> 16);
	rec.mgid.raw[11] = (u8)(n >> 8);
	rec.mgid.raw[12] = (u8)n;
	return ib_sa_join_multicast(&world.client, &world.hca.ib, 1, &rec,
				    ib_sa_comp_mask_from_host(MASK_MINIMAL),
				    counts_grants, NULL);
}

/* Whatever is asked for is granted as it is. */
static void grant_all(void)
{
	struct fake_mad *mad;

	settle();
	while ((mad = fake_hca_take(&world.hca))) {
		struct fake_mad request = *mad;

		request.bytes[3] = request.bytes[3] == MAD_METHOD_SET
					   ? MAD_METHOD_GET_RESP
					   : MAD_METHOD_DELETE_RESP;
		fake_hca_answer(&world.hca, 1, &request.packet, request.bytes);
	}
	settle();
}

/* Times of the rounds: the lesser of the first five, and of the last five. */
struct growth {
	u64 first, last;
	unsigned int rounds, round;
	u64 began;
};

static void round_begins(struct growth *g)
{
	g->began = clock_now_ns();
}

static void round_ends(struct growth *g)
{
	u64 took = clock_now_ns() - g->began;

	if (g->round < 5 && (!g->first || took < g->first))
		g->first = took;
	if (g->round + 5 >= g->rounds && (!g->last || took < g->last))
		g->last = took;
	g->round++;
}

static void assert_flat(const struct growth *g, const char *what)
{
	print_message("%s: %llu ns each at first, %llu ns at last\n", what,
		      (unsigned long long)g->first / ROUND,
		      (unsigned long long)g->last / ROUND);
	assert_true(g->last < g->first * GROWTH_MAX);
}

static void a_join_costs_the_same_with_many_groups(void **state)
{
	unsigned int rounds = harness_count(50, 50);
	struct ib_sa_multicast **members = calloc(rounds * ROUND, sizeof(*members));
	struct growth joins = { .rounds = rounds }, leaves = { .rounds = rounds };
	u32 n = 0;

	granted = 0;
	for (unsigned int round = 0; round < rounds; round++) {
		round_begins(&joins);
		for (u32 i = 0; i < ROUND; i++, n++)
			members[n] = join_number(n, SA_JOIN_FULL);
		grant_all();
		round_ends(&joins);
	}
	assert_int_equal(granted, n);
	assert_int_equal(group_count(), n);
	for (unsigned int round = 0; round < rounds; round++) {
		round_begins(&leaves);
		for (u32 i = 0; i < ROUND; i++)
			ib_sa_free_multicast(members[--n]);
		grant_all();
		round_ends(&leaves);
	}
	assert_int_equal(group_count(), 0);
	assert_flat(&joins, "join of a new group, answered");
	/* Backwards: the last ones leave a port with few groups. */
	assert_true(leaves.first < leaves.last * GROWTH_MAX);
	free(members);
}

static void a_join_costs_the_same_with_many_members(void **state)
{
	unsigned int rounds = harness_count(50, 50);
	struct ib_sa_multicast **members = calloc(rounds * ROUND, sizeof(*members));
	struct growth joins = { .rounds = rounds };
	u32 n = 0;

	granted = 0;
	for (unsigned int round = 0; round < rounds; round++) {
		round_begins(&joins);
		for (u32 i = 0; i < ROUND; i++, n++)
			members[n] = join_number(7, SA_JOIN_FULL);
		grant_all();
		round_ends(&joins);
	}
	assert_int_equal(granted, n);
	assert_int_equal(group_count(), 1);
	while (n)
		ib_sa_free_multicast(members[--n]);
	grant_all();
	assert_int_equal(group_count(), 0);
	assert_flat(&joins, "join of a group that is joined");
	free(members);
}

static unsigned int lost;

static int counts_losses(int status, struct ib_sa_multicast *multicast)
{
	lost += status == -ENETRESET;
	return status;
}

/* All at once, and none is missed or told twice; no run takes long. */
static void many_groups_are_lost_together(void **state)
{
	enum {
		MANY = 10000
	};
	unsigned int runs = 0;

	lost = 0;
	for (u32 n = 0; n < MANY; n++) {
		struct ib_sa_mcmember_rec rec = wanted(0, SA_JOIN_FULL);

		rec.mgid.raw[11] = (u8)(n >> 8);
		rec.mgid.raw[12] = (u8)n;
		ib_sa_join_multicast(&world.client, &world.hca.ib, 1, &rec,
				     ib_sa_comp_mask_from_host(MASK_MINIMAL),
				     counts_losses, NULL);
	}
	grant_all();
	fake_hca_event(&world.hca, 1, IB_EVENT_CLIENT_REREGISTER);
	while (timer_queue_next(&world.timers) <= world.timers.now_ns) {
		unsigned int before = lost;

		timer_queue_run_some(&world.timers, world.timers.now_ns, 1);
		assert_true(lost - before <= 1);
		runs++;
	}
	assert_true(runs >= MANY);
	assert_int_equal(lost, MANY);
	assert_int_equal(group_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_join_costs_the_same_with_many_groups),
		TEST(a_join_costs_the_same_with_many_members),
		TEST(many_groups_are_lost_together),
	};

	return harness_run(tests);
}
