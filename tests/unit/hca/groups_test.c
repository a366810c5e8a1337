// SPDX-License-Identifier: BSD-2-Clause
/*
 * Spec/kernel 1.3 as this driver does it: entries, bits and generations in the tables,
 * limits in their order, and everything given back.
 */
#include "world.h"

struct fixture {
	struct world w;
	struct world_process a, b; /* slots 1 and 2 */
};

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	world_prepare(&fixture.w);
	*state = &fixture;
	return 0;
}

static void begin(struct fixture *f)
{
	world_boot(&f->w);
	process_begin(&f->w, 1, &f->a);
	process_begin(&f->w, 2, &f->b);
}

static void expect_use(struct fixture *f, uint32_t qps)
{
	struct hca_use use;

	hca_device_use(f->w.device, &use);
	assert_int_equal(use.qps, qps);
	assert_int_equal(use.groups, 0);
	assert_int_equal(use.attachments, 0);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	expect_use(f, 0);
	process_end(&f->a);
	process_end(&f->b);
	world_end(&f->w);
	return 0;
}

static uint32_t entry_of(struct fixture *f, unsigned int n)
{
	union ib_gid gid = group_gid(n);

	return shm_group_find(f->w.tables, WORLD_PORT, gid.raw, 0);
}

static bool bit_of(struct fixture *f, unsigned int n, uint32_t slot)
{
	return f->w.tables->groups[entry_of(f, n)].members[slot / 64] >> (slot % 64) & 1;
}

static struct ib_mcast_info info_of(struct ib_qp *qp, unsigned int n)
{
	union ib_gid gid = group_gid(n);
	struct ib_mcast_info info;

	assert_int_equal(ib_describe_mcast(qp, &gid, &info), 0);
	return info;
}

static void the_entry_lives_from_the_first_attach_to_the_last_detach(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qa, *qb;

	begin(f);
	qa = process_qp(&f->a);
	qb = process_qp(&f->b);
	assert_int_equal(entry_of(f, 1), SHM_NONE);
	assert_int_equal(join(qa, 1), 0);
	assert_int_equal(info_of(qa, 1).entry, entry_of(f, 1));
	assert_true(bit_of(f, 1, 1));
	assert_false(bit_of(f, 1, 2));
	assert_int_equal(join(qb, 1), 0);
	assert_true(bit_of(f, 1, 2));
	assert_int_equal(leave(qa, 1), 0);
	assert_false(bit_of(f, 1, 1));
	assert_true(bit_of(f, 1, 2));
	assert_int_equal(leave(qb, 1), 0);
	assert_int_equal(entry_of(f, 1), SHM_NONE);
	assert_int_equal(ib_destroy_qp(qa), 0);
	assert_int_equal(ib_destroy_qp(qb), 0);
}

static void the_bit_stands_while_the_process_has_a_member(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qps[3];

	begin(f);
	for (int i = 0; i < 3; i++) {
		qps[i] = process_qp(&f->a);
		assert_int_equal(join(qps[i], 1), 0);
	}
	for (int i = 0; i < 3; i++) {
		assert_true(bit_of(f, 1, 1));
		assert_int_equal(leave(qps[i], 1), 0);
		assert_int_equal(ib_destroy_qp(qps[i]), 0);
	}
}

static void every_attach_has_a_later_generation(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qps[4];
	uint64_t last = 0;

	begin(f);
	for (int i = 0; i < 4; i++) {
		struct ib_mcast_info info;

		qps[i] = process_qp(i % 2 ? &f->b : &f->a);
		assert_int_equal(join(qps[i], 1), 0);
		info = info_of(qps[i], 1);
		assert_true(info.generation > last);
		last = info.generation;
		assert_int_equal(f->w.tables->groups[info.entry].generation, last);
	}
	/* Of an entry that was given up and taken again, too. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(leave(qps[i], 1), 0);
	assert_int_equal(join(qps[0], 1), 0);
	assert_true(info_of(qps[0], 1).generation > last);
	assert_int_equal(leave(qps[0], 1), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ib_destroy_qp(qps[i]), 0);
}

static void attached_again_nothing_changes(void **state)
{
	struct fixture *f = *state;
	struct ib_mcast_info before, after;
	struct hca_use use;
	struct ib_qp *qp;

	begin(f);
	qp = process_qp(&f->a);
	assert_int_equal(join(qp, 1), 0);
	before = info_of(qp, 1);
	assert_int_equal(join(qp, 1), 0);
	after = info_of(qp, 1);
	assert_memory_equal(&before, &after, sizeof(before));
	hca_device_use(f->w.device, &use);
	assert_int_equal(use.attachments, 1);
	assert_int_equal(leave(qp, 1), 0);
	assert_int_equal(leave(qp, 1), -EINVAL);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void what_is_not_attached_is_not_detached(void **state)
{
	struct fixture *f = *state;
	union ib_gid gid = group_gid(1);
	struct ib_mcast_info info;
	struct ib_qp *qa, *qb;

	begin(f);
	qa = process_qp(&f->a);
	qb = process_qp(&f->b);
	assert_int_equal(leave(qa, 1), -EINVAL);
	assert_int_equal(join(qa, 1), 0);
	assert_int_equal(leave(qb, 1), -EINVAL);
	assert_int_equal(leave(qa, 2), -EINVAL);
	assert_int_equal(ib_describe_mcast(qb, &gid, &info), -ENOENT);
	assert_int_equal(leave(qa, 1), 0);
	assert_int_equal(ib_destroy_qp(qa), 0);
	assert_int_equal(ib_destroy_qp(qb), 0);
}

static void groups_stay_through_reset_and_attach_needs_no_state(void **state)
{
	struct fixture *f = *state;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_qp *qp;

	begin(f);
	qp = process_qp(&f->a);
	assert_int_equal(join(qp, 1), 0);
	assert_int_equal(ib_modify_qp(qp, &attr, IB_QP_STATE), 0);
	assert_true(bit_of(f, 1, 1));
	assert_int_equal(ib_destroy_qp(qp), -EBUSY);
	assert_int_equal(leave(qp, 1), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

/* -- limits ------------------------------------------------------------------------- */

static void the_limit_of_a_group_is_told_by_the_one_too_many(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qps[57];
	struct hca_use use;

	f->w.config.limits.max_mcast_qp_attach = 56;
	begin(f);
	for (int i = 0; i < 57; i++) {
		qps[i] = process_qp(&f->a);
		assert_int_equal(join(qps[i], 1), i < 56 ? 0 : -ENOMEM);
	}
	hca_device_use(f->w.device, &use);
	assert_int_equal(use.attachments, 56);
	assert_int_equal(qps[56]->usecnt, 0);
	assert_int_equal(join(qps[56], 2), 0); /* another group has room */
	assert_int_equal(leave(qps[0], 1), 0);
	assert_int_equal(join(qps[56], 1), 0);
	assert_int_equal(join(qps[0], 1), -ENOMEM);
	assert_int_equal(leave(qps[56], 2), 0);
	for (int i = 0; i < 57; i++) {
		assert_int_equal(leave(qps[i], 1), i ? 0 : -EINVAL);
		assert_int_equal(ib_destroy_qp(qps[i]), 0);
	}
}

static void the_limit_of_groups_gives_back_what_failed(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qp;

	f->w.config.limits.max_mcast_grp = 3;
	begin(f);
	qp = process_qp(&f->a);
	for (unsigned int turn = 0; turn < 5; turn++) {
		for (unsigned int n = 0; n < 3; n++)
			assert_int_equal(join(qp, n), 0);
		assert_int_equal(join(qp, 3), -ENOMEM);
		assert_int_equal(join(qp, 3), -ENOMEM);
		assert_int_equal(entry_of(f, 3), SHM_NONE);
		for (unsigned int n = 0; n < 3; n++)
			assert_int_equal(leave(qp, n), 0);
	}
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void no_groups_at_all_is_an_invalid_request(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qp;

	f->w.config.limits.max_mcast_grp = 0;
	begin(f);
	qp = process_qp(&f->a);
	assert_int_equal(join(qp, 1), -EINVAL);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void the_limit_of_all_attachments_leaves_no_group_behind(void **state)
{
	struct fixture *f = *state;
	struct hca_use use;
	struct ib_qp *qp;

	f->w.config.limits.max_total_mcast_qp_attach = 2;
	begin(f);
	qp = process_qp(&f->a);
	assert_int_equal(join(qp, 1), 0);
	assert_int_equal(join(qp, 2), 0);
	assert_int_equal(join(qp, 3), -ENOMEM);
	assert_int_equal(entry_of(f, 3), SHM_NONE);
	hca_device_use(f->w.device, &use);
	assert_int_equal(use.groups, 2);
	assert_int_equal(leave(qp, 1), 0);
	assert_int_equal(join(qp, 3), 0);
	assert_int_equal(leave(qp, 2), 0);
	assert_int_equal(leave(qp, 3), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void full_tables_are_a_limit_too(void **state)
{
	struct fixture *f = *state;
	uint32_t entry, first = SHM_NONE;
	struct ib_qp *qp;

	begin(f);
	for (unsigned int n = 0; n < SHM_GROUPS_MAX; n++) {
		union ib_gid gid = group_gid(n);

		assert_int_equal(shm_group_link(f->w.tables, 0, gid.raw, 0, &entry), 0);
		if (n == 0)
			first = entry;
	}
	qp = process_qp(&f->a);
	assert_int_equal(join(qp, 1), -ENOMEM);
	expect_use(f, 1);
	shm_group_unlink(f->w.tables, first);
	assert_int_equal(join(qp, 1), 0);
	assert_int_equal(leave(qp, 1), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static int path_answer;
static const struct path answering_path = { .ops = &world_path_ops, .arg = &path_answer };

static void a_port_that_nobody_reaches_joins_nothing(void **state)
{
	struct fixture *f = *state;
	struct ib_qp *qp;

	f->w.config.path = &answering_path;
	begin(f);
	qp = process_qp(&f->a);
	path_answer = -EHOSTDOWN;
	assert_int_equal(join(qp, 1), -EHOSTDOWN);
	path_answer = 0;
	assert_int_equal(join(qp, 1), -ENETUNREACH);
	expect_use(f, 1);
	path_answer = 1;
	assert_int_equal(join(qp, 1), 0);
	assert_int_equal(leave(qp, 1), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

/* -- many --------------------------------------------------------------------------- */

static void many_groups_of_one_queue_pair_are_quick(void **state)
{
	struct fixture *f = *state;
	unsigned int count = harness_count(20000, 100000);
	struct hca_use use;
	struct ib_qp *qp;

	begin(f);
	qp = process_qp(&f->a);
	for (unsigned int n = 0; n < count; n++)
		assert_int_equal(join(qp, n), 0);
	hca_device_use(f->w.device, &use);
	assert_int_equal(use.groups, count);
	for (unsigned int n = 0; n < count; n++)
		assert_int_equal(leave(qp, n), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

/* Random attaches and detaches against a plain table of who is where. */
static void the_tables_say_what_a_plain_list_says(void **state)
{
	enum {
		QPS = 12,
		GROUPS = 5
	};
	struct fixture *f = *state;
	bool in[QPS][GROUPS] = { 0 };
	struct ib_qp *qps[QPS];
	uint32_t x = 7;

	begin(f);
	for (int q = 0; q < QPS; q++)
		qps[q] = process_qp(q % 2 ? &f->b : &f->a);
	for (int turn = 0; turn < 3000; turn++) {
		unsigned int q = (x = x * 1664525u + 1013904223u) >> 8;
		unsigned int g = q / QPS % GROUPS;
		int r;

		q %= QPS;
		r = in[q][g] ? leave(qps[q], g) : join(qps[q], g);
		assert_int_equal(r, 0);
		in[q][g] = !in[q][g];
		for (unsigned int slot = 1; slot <= 2; slot++) {
			bool any = false;

			for (unsigned int i = slot - 1; i < QPS; i += 2)
				any |= in[i][g];
			if (entry_of(f, g) == SHM_NONE)
				assert_false(any);
			else
				assert_int_equal(bit_of(f, g, slot), any);
		}
	}
	for (unsigned int q = 0; q < QPS; q++) {
		for (unsigned int g = 0; g < GROUPS; g++)
			assert_int_equal(leave(qps[q], g), in[q][g] ? 0 : -EINVAL);
		assert_int_equal(ib_destroy_qp(qps[q]), 0);
	}
}

/* -- what status and history are told ----------------------------------------------- */

static void who_leaves_is_told_with_its_counters(void **state)
{
	struct fixture *f = *state;
	union ib_gid gid = group_gid(4);
	struct ib_mcast_info info;
	struct ib_qp_info qp_info;
	struct ib_qp *qp;
	uint32_t qpn;

	begin(f);
	qp = process_qp(&f->b);
	qpn = qp->qp_num;
	assert_int_equal(ib_describe_qp(qp, &qp_info), 0);
	assert_int_equal(join(qp, 3), 0);
	assert_int_equal(join(qp, 4), 0);
	info = info_of(qp, 4);
	assert_int_equal(info.counters, 1);
	assert_int_equal(leave(qp, 4), 0);
	assert_int_equal(f->w.member_count_left, 1);
	assert_memory_equal(&f->w.members_left[0].mgid, &gid, sizeof(gid));
	assert_int_equal(f->w.members_left[0].slot, 2);
	assert_int_equal(f->w.members_left[0].qpn, qpn);
	assert_int_equal(f->w.members_left[0].counters, info.counters);
	assert_int_equal(leave(qp, 3), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
	assert_int_equal(f->w.qp_count_left, 1);
	assert_int_equal(f->w.qps_left[0].qpn, qpn);
	assert_int_equal(f->w.qps_left[0].counters, qp_info.counters);
}

struct seen {
	unsigned int qps, groups, members;
	struct hca_member_view member[8];
	union ib_gid of[8];
};

static void see_qp(void *arg, const struct hca_qp_view *qp)
{
	struct seen *s = arg;

	s->qps++;
	assert_int_equal(qp->type, IB_QPT_UD);
	assert_int_equal(qp->state, IB_QPS_RESET);
}

static void see_group(void *arg, const struct hca_group_view *group)
{
	struct seen *s = arg;

	s->groups++;
	assert_int_equal(group->port_num, 1);
}

static void see_member(void *arg, const struct hca_group_view *group,
		       const struct hca_member_view *member)
{
	struct seen *s = arg;

	s->of[s->members] = group->mgid;
	s->member[s->members++] = *member;
}

static void all_groups_and_members_are_shown_in_order(void **state)
{
	struct fixture *f = *state;
	struct seen seen = { 0 };
	struct ib_qp *qa, *qb;

	begin(f);
	qa = process_qp(&f->a);
	qb = process_qp(&f->b);
	assert_int_equal(join(qb, 1), 0);
	assert_int_equal(join(qa, 2), 0);
	assert_int_equal(join(qa, 1), 0);
	hca_device_each_qp(f->w.device, see_qp, &seen);
	hca_device_each_group(f->w.device, see_group, see_member, &seen);
	assert_int_equal(seen.qps, 2);
	assert_int_equal(seen.groups, 2);
	assert_int_equal(seen.members, 3);
	assert_int_equal(seen.of[0].raw[15], 1);
	assert_int_equal(seen.member[0].qpn, qb->qp_num);
	assert_int_equal(seen.member[0].slot, 2);
	assert_int_equal(seen.member[1].qpn, qa->qp_num);
	assert_int_equal(seen.member[1].counters, info_of(qa, 1).counters);
	assert_int_equal(seen.of[2].raw[15], 2);
	hca_device_each_group(f->w.device, NULL, NULL, NULL);
	assert_int_equal(leave(qb, 1), 0);
	assert_int_equal(leave(qa, 2), 0);
	assert_int_equal(leave(qa, 1), 0);
	assert_int_equal(ib_destroy_qp(qa), 0);
	assert_int_equal(ib_destroy_qp(qb), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_entry_lives_from_the_first_attach_to_the_last_detach),
		TEST(the_bit_stands_while_the_process_has_a_member),
		TEST(every_attach_has_a_later_generation),
		TEST(attached_again_nothing_changes),
		TEST(what_is_not_attached_is_not_detached),
		TEST(groups_stay_through_reset_and_attach_needs_no_state),
		TEST(the_limit_of_a_group_is_told_by_the_one_too_many),
		TEST(the_limit_of_groups_gives_back_what_failed),
		TEST(no_groups_at_all_is_an_invalid_request),
		TEST(the_limit_of_all_attachments_leaves_no_group_behind),
		TEST(full_tables_are_a_limit_too),
		TEST(a_port_that_nobody_reaches_joins_nothing),
		TEST(many_groups_of_one_queue_pair_are_quick),
		TEST(the_tables_say_what_a_plain_list_says),
		TEST(who_leaves_is_told_with_its_counters),
		TEST(all_groups_and_members_are_shown_in_order),
	};

	return harness_run(tests);
}
