// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS noasan
/*
 * What groups and members take: of the shared memory at most 256 bytes a group and 64 a
 * member, counted in the pages that 10,000 of them really take; and of verbcastd's own a
 * number that is said, and may not grow unnoticed.
 */
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shm/counters.h"
#include "world.h"

#define GROUPS           10000u
#define GROUP_BYTES      256u /* shared */
#define MEMBER_BYTES     64u
#define OWN_GROUP_BYTES  384u /* verbcastd's own: what it is now, and some air */
#define OWN_MEMBER_BYTES 256u
#define PAGE_BYTES       4096u

static struct world w;

struct sizes {
	size_t tables, own;
};

static size_t resident(const void *at, size_t bytes)
{
	static unsigned char pages[(64u << 20) / PAGE_BYTES];
	size_t n = (bytes + PAGE_BYTES - 1) / PAGE_BYTES, sum = 0;

	assert_true(n <= sizeof(pages));
	assert_int_equal(mincore((void *)(uintptr_t)at, bytes, pages), 0);
	for (size_t i = 0; i < n; i++)
		sum += pages[i] & 1u;
	return sum * PAGE_BYTES;
}

static struct sizes sizes_now(void)
{
	struct mallinfo2 m = mallinfo2();

	return (struct sizes){ resident(w.tables, sizeof(*w.tables)),
			       m.uordblks + m.hblkhd };
}

static void join_all(struct ib_qp *qp)
{
	for (uint32_t n = 0; n < GROUPS; n++)
		assert_int_equal(join(qp, n), 0);
}

static void leave_all(struct ib_qp *qp)
{
	for (uint32_t n = 0; n < GROUPS; n++)
		assert_int_equal(leave(qp, n), 0);
	assert_int_equal(ib_destroy_qp(qp), 0);
}

static void groups_and_members_are_small(void **state)
{
	struct sizes none, groups, members;
	struct world_process process;
	struct ib_qp *first, *second;
	size_t own_member, own_group;

	world_prepare(&w);
	w.config.ops = NULL;
	world_boot(&w);
	process_begin(&w, 1, &process);
	first = process_qp(&process);
	second = process_qp(&process);
	none = sizes_now();
	join_all(first);
	groups = sizes_now();
	join_all(second);
	members = sizes_now();
	own_member = (members.own - groups.own) / GROUPS;
	own_group = (groups.own - none.own) / GROUPS - own_member;
	printf("%zu bytes of tables a group; of verbcastd's own %zu, and %zu a member\n",
	       (groups.tables - none.tables) / GROUPS, own_group, own_member);
	assert_true(groups.tables - none.tables <= (size_t)GROUPS * GROUP_BYTES);
	assert_int_equal(members.tables, groups.tables);
	assert_true(own_group <= OWN_GROUP_BYTES);
	assert_true(own_member <= OWN_MEMBER_BYTES);
	leave_all(first);
	leave_all(second);
	process_end(&process);
	world_end(&w);
}

/* As the engine does: all of a member's counters are zeroed when it attaches. */
static void a_members_counters_are_a_line(void **state)
{
	struct shm_counters *c;
	size_t before;
	int fd;

	assert_int_equal(shm_counters_create(1, &fd), 0);
	assert_int_equal(shm_counters_map(fd, 1, &c), 0);
	before = resident(c, sizeof(*c));
	for (uint32_t i = 0; i < GROUPS; i++) {
		atomic_store(&c->members[i].drops[0], 0);
		atomic_store(&c->delivered[i], 0);
	}
	assert_true(resident(c, sizeof(*c)) - before <=
		    (size_t)GROUPS * MEMBER_BYTES + 2 * PAGE_BYTES);
	shm_counters_unmap(c);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_and_members_are_small),
		cmocka_unit_test(a_members_counters_are_a_line),
	};

	return harness_run(tests);
}
