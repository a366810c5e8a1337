// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * The tables of a site: linking, finding and generations, against a plain model, and a
 * reader beside the writer.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/harness.h"
#include "shm/memfile.h"
#include "shm/tables.h"

static struct shm_tables *tables;
static int tables_fd;

static int set_up(void **state)
{
	return shm_tables_create(&tables_fd, &tables);
}

static int tear_down(void **state)
{
	shm_tables_destroy(tables_fd, tables);
	return 0;
}

static void mgid_of(uint32_t n, uint8_t mgid[16])
{
	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	memcpy(mgid + 12, &n, 4);
}

static uint32_t find(uint32_t ingress, uint32_t n)
{
	uint8_t mgid[16];

	mgid_of(n, mgid);
	return shm_group_find(tables, ingress, mgid, 0);
}

static uint32_t link_group(uint32_t ingress, uint32_t n)
{
	uint8_t mgid[16];
	uint32_t entry;

	mgid_of(n, mgid);
	assert_int_equal(shm_group_link(tables, ingress, mgid, 0, &entry), 0);
	return entry;
}

/* Link groups until one takes the entry, which was given up. */
static void use_again(uint32_t entry, uint32_t n)
{
	for (uint32_t i = 0; i <= SHM_GROUPS_RESTING; i++) {
		uint32_t got = link_group(5, n);

		if (got == entry)
			return;
		shm_group_unlink(tables, got);
	}
	fail();
}

static void a_new_file_is_checked_and_read_only_to_others(void **state)
{
	void *p;

	assert_int_equal(shm_tables_check(tables, sizeof(*tables)), 0);
	assert_int_equal(shm_tables_check(tables, sizeof(*tables) - 1), -EPROTO);
	assert_int_equal(
		shm_memfile_verify(tables_fd, sizeof(*tables), SHM_SEALS_READ_ONLY), 0);
	assert_int_equal(shm_memfile_map(tables_fd, sizeof(*tables), true, &p), -EPERM);
	tables->h.layout_version++;
	assert_int_equal(shm_tables_check(tables, sizeof(*tables)), -EPROTO);
}

static void an_entry_is_found_by_port_and_mgid(void **state)
{
	uint32_t a = link_group(3, 1), b = link_group(4, 1), c = link_group(3, 2);

	assert_int_equal(find(3, 1), a);
	assert_int_equal(find(4, 1), b);
	assert_int_equal(find(3, 2), c);
	assert_int_equal(find(4, 2), SHM_NONE);
	shm_group_unlink(tables, a);
	shm_group_unlink(tables, a); /* twice is harmless */
	assert_int_equal(find(3, 1), SHM_NONE);
	assert_int_equal(find(4, 1), b);
	assert_int_not_equal(link_group(9, 9), a); /* it rests */
}

/* Enough for chains of several. */
static void many_groups_are_all_found_while_some_leave(void **state)
{
	enum {
		N = 20000
	};
	static uint32_t entries[N];

	for (uint32_t i = 0; i < N; i++)
		entries[i] = link_group(i % 7, i);
	for (uint32_t i = 0; i < N; i += 3)
		shm_group_unlink(tables, entries[i]);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(find(i % 7, i), i % 3 ? entries[i] : SHM_NONE);
	for (uint32_t i = 0; i < N; i += 3)
		link_group(i % 7, i);
	for (uint32_t i = 0; i < N; i++)
		assert_int_not_equal(find(i % 7, i), SHM_NONE);
	assert_int_equal(tables->h.groups_used, N + SHM_GROUPS_RESTING);
}

static void the_table_takes_exactly_its_groups(void **state)
{
	uint8_t mgid[16];
	uint32_t entry;

	for (uint32_t i = 0; i < SHM_GROUPS_MAX; i++)
		link_group(0, i);
	mgid_of(SHM_GROUPS_MAX, mgid);
	assert_int_equal(shm_group_link(tables, 0, mgid, 0, &entry), -ENOSPC);
	shm_group_unlink(tables, 77);
	assert_int_equal(shm_group_link(tables, 0, mgid, 0, &entry), 0);
	assert_int_equal(entry, 77);
}

static void generations_only_grow(void **state)
{
	uint32_t entry = link_group(0, 1);
	uint64_t members[SHM_SLOT_WORDS], generation, last;
	uint8_t mgid[16];

	mgid_of(1, mgid);
	last = shm_group_set(tables, entry, 70);
	assert_true(shm_group_read(tables, entry, 0, mgid, 0, members, &generation));
	assert_int_equal(generation, last);
	assert_int_equal(members[1], 1 << 6);
	generation = shm_group_set(tables, entry, 70); /* a further queue pair there */
	assert_true(generation > last);
	last = generation;
	generation = shm_group_clear(tables, entry, 70);
	assert_true(generation > last);
	shm_group_unlink(tables, entry);
	assert_false(shm_group_read(tables, entry, 0, mgid, 0, members, &generation));
	use_again(entry, 5);
	assert_true(atomic_load(&tables->groups[entry].generation) > last);
	assert_int_equal(atomic_load(&tables->groups[entry].members[1]), 0);
	assert_false(shm_group_read(tables, entry, 0, mgid, 0, members, &generation));
	assert_false(
		shm_group_read(tables, SHM_GROUPS_MAX, 0, mgid, 0, members, &generation));
}

static uint32_t link_lid(uint32_t ingress, uint32_t n, uint16_t mlid)
{
	uint8_t mgid[16];
	uint32_t entry;

	mgid_of(n, mgid);
	assert_int_equal(shm_group_link(tables, ingress, mgid, mlid, &entry), 0);
	return entry;
}

static struct shm_group_view view(uint32_t entry, uint32_t slot)
{
	struct shm_group_view v;

	assert_true(shm_group_view(tables, entry, slot, &v));
	return v;
}

static void the_multicast_lid_is_part_of_the_name(void **state)
{
	uint32_t a = link_lid(3, 1, 0xc001), b = link_lid(3, 1, 0xc002);
	uint64_t members[SHM_SLOT_WORDS], generation;
	uint8_t mgid[16];

	mgid_of(1, mgid);
	assert_int_equal(shm_group_find(tables, 3, mgid, 0xc001), a);
	assert_int_equal(shm_group_find(tables, 3, mgid, 0xc002), b);
	assert_int_equal(shm_group_find(tables, 3, mgid, 0xc003), SHM_NONE);
	assert_true(shm_group_exists(tables, 3, mgid));
	assert_false(shm_group_exists(tables, 4, mgid));
	assert_true(shm_group_read(tables, a, 3, mgid, 0xc001, members, &generation));
	assert_false(shm_group_read(tables, a, 3, mgid, 0xc002, members, &generation));
	shm_group_unlink(tables, a);
	assert_true(shm_group_exists(tables, 3, mgid));
	shm_group_unlink(tables, b);
	assert_false(shm_group_exists(tables, 3, mgid));
}

/* So that an attach has one for all the entries that lead to it. */
static void generations_are_the_sites(void **state)
{
	uint32_t a = link_group(0, 1), b = link_group(1, 1);
	uint64_t last = shm_group_set(tables, a, 1);

	for (int i = 0; i < 10; i++) {
		uint64_t next = i % 2 ? shm_group_set(tables, a, 1)
				      : shm_group_clear(tables, b, 2);

		assert_true(next > last);
		last = next;
	}
	assert_true(view(link_group(2, 1), 0).since > last);
}

static void a_view_says_what_an_entry_is(void **state)
{
	uint32_t entry = link_lid(7, 5, 0xc123);
	struct shm_group_view v = view(entry, 70);
	uint64_t generation, linked = v.since;
	uint8_t mgid[16];

	mgid_of(5, mgid);
	assert_memory_equal(v.mgid, mgid, 16);
	assert_int_equal(v.ingress, 7);
	assert_int_equal(v.mlid, 0xc123);
	assert_int_equal(v.generation, v.since);
	assert_false(v.member);
	generation = shm_group_set(tables, entry, 70);
	assert_int_equal(view(entry, 70).generation, generation);
	assert_true(view(entry, 70).member);
	assert_false(view(entry, 6).member);
	assert_int_equal(view(entry, 70).since, linked);
	assert_false(shm_group_view(tables, SHM_GROUPS_MAX, 0, &v));
	assert_false(shm_group_view(tables, SHM_NONE, 0, &v));
}

/* Datagrams stamped with it may be on their way. */
static void an_entry_given_up_says_what_it_was(void **state)
{
	uint32_t entry = link_lid(7, 5, 0xc123), other = link_group(1, 1);
	struct shm_group_view before, after;

	shm_group_set(tables, entry, 9);
	before = view(entry, 9);
	shm_group_unlink(tables, other);
	shm_group_unlink(tables, entry);
	after = view(entry, 9);
	assert_true(after.member);
	assert_int_equal(after.since, before.since);
	assert_int_equal(after.mlid, 0xc123);
	assert_true(after.generation > before.generation);
	/* That one was free for longer. */
	use_again(other, 8);
	assert_int_equal(view(entry, 9).since, before.since);
	use_again(entry, 9);
	assert_true(view(entry, 9).since > after.generation);
	assert_false(view(entry, 9).member);
}

static void a_replaced_entry_keeps_its_members_and_name(void **state)
{
	uint64_t added[SHM_SLOT_WORDS] = { [1] = 1ull << 6 };
	uint32_t to, entry = link_lid(7, 5, 0xc123);
	struct shm_group_view was, is;
	uint64_t generation;
	uint8_t mgid[16];

	mgid_of(5, mgid);
	shm_group_set(tables, entry, 9);
	generation = atomic_load(&tables->groups[entry].generation);
	assert_int_equal(shm_group_relink(tables, entry, added, true, &to), 0);
	assert_int_not_equal(to, entry);
	assert_int_equal(shm_group_find(tables, 7, mgid, 0xc123), to);
	is = view(to, 70);
	assert_true(is.member && view(to, 9).member && !view(to, 10).member);
	assert_true(is.since > generation);
	was = view(entry, 70);
	assert_false(was.member);
	assert_true(view(entry, 9).member);
	assert_true(was.since < generation && was.generation > generation);
	/* And without them again; the one in between says what it was. */
	entry = to;
	assert_int_equal(shm_group_relink(tables, entry, added, false, &to), 0);
	assert_true(view(entry, 70).member);
	assert_true(!view(to, 70).member && view(to, 9).member);
	shm_group_unlink(tables, to);
	assert_int_equal(shm_group_find(tables, 7, mgid, 0xc123), SHM_NONE);
}

static void a_full_table_replaces_nothing(void **state)
{
	uint64_t added[SHM_SLOT_WORDS] = { 1 };
	uint8_t mgid[16];
	uint32_t to;

	mgid_of(3, mgid);
	for (uint32_t i = 0; i < SHM_GROUPS_MAX; i++)
		link_group(0, i);
	assert_int_equal(shm_group_relink(tables, 3, added, true, &to), -ENOSPC);
	assert_int_equal(shm_group_find(tables, 0, mgid, 0), 3);
	assert_false(view(3, 0).member);
}

static void reach_is_a_bit_a_lid(void **state)
{
	assert_false(shm_reaches(tables, 1, 0));
	assert_true(shm_reach_set(tables, 1, 0xbfff, true));
	assert_false(shm_reach_set(tables, 1, 0xbfff, true));
	assert_true(shm_reaches(tables, 1, 0xbfff));
	assert_false(shm_reaches(tables, 1, 0xbffe));
	assert_false(shm_reaches(tables, 2, 0xbfff));
	assert_false(shm_reaches(tables, 1, 0xc000));
	assert_false(shm_reaches(tables, 1, 0xffff));
	assert_true(shm_reach_set(tables, 1, 0xbfff, false));
	assert_false(shm_reach_set(tables, 1, 0xbfff, false));
	assert_false(shm_reaches(tables, 1, 0xbfff));
}

/* -- queue pairs ---------------------------------------------------------------------- */

static void a_queue_pair_is_found_by_device_and_number(void **state)
{
	assert_int_equal(shm_qp_link(tables, 1, 0x11, 5), 0);
	assert_int_equal(shm_qp_link(tables, 2, 0x11, 6), 0);
	assert_int_equal(shm_qp_link(tables, 1, 0x11, 7), -EEXIST);
	assert_int_equal(shm_qp_find(tables, 1, 0x11), 5);
	assert_int_equal(shm_qp_find(tables, 2, 0x11), 6);
	shm_qp_unlink(tables, 1, 0x11);
	shm_qp_unlink(tables, 1, 0x12);
	assert_int_equal(shm_qp_find(tables, 1, 0x11), SHM_NONE);
	assert_int_equal(shm_qp_find(tables, 2, 0x11), 6);
}

/* Random links and unlinks at high load against an array. */
static void queue_pairs_agree_with_a_plain_array(void **state)
{
	enum {
		NUMBERS = 40000
	};
	static uint8_t linked[NUMBERS];
	unsigned int steps = harness_count(200000, 5000000);
	uint32_t x = 1;

	memset(linked, 0, sizeof(linked));
	for (unsigned int i = 0; i < steps; i++) {
		uint32_t n;

		x = x * 1664525u + 1013904223u;
		n = (x >> 8) % NUMBERS;
		if (linked[n])
			shm_qp_unlink(tables, n % 3, n);
		else
			assert_int_equal(shm_qp_link(tables, n % 3, n, n % SHM_SLOTS_MAX),
					 0);
		linked[n] ^= 1;
	}
	for (uint32_t n = 0; n < NUMBERS; n++)
		assert_int_equal(shm_qp_find(tables, n % 3, n),
				 linked[n] ? n % SHM_SLOTS_MAX : SHM_NONE);
}

static void the_table_takes_exactly_its_queue_pairs(void **state)
{
	for (uint32_t i = 0; i < SHM_QPS_MAX; i++)
		assert_int_equal(shm_qp_link(tables, 0, i, 1), 0);
	assert_int_equal(shm_qp_link(tables, 0, SHM_QPS_MAX, 1), -ENOSPC);
	shm_qp_unlink(tables, 0, 5);
	assert_int_equal(shm_qp_link(tables, 0, SHM_QPS_MAX, 1), 0);
}

/* -- a reader beside the writer -------------------------------------------------------- */

#define STAY 64u /* groups and queue pairs that are there all the time */

static _Atomic bool stop;
static _Atomic unsigned int missed, mixed;

/* A view is of one moment: the generation is not of before the entry was linked. */
static bool view_fits(uint32_t entry)
{
	struct shm_group_view v;

	if (!shm_group_view(tables, entry, 0, &v))
		return true;
	return v.mlid == 0 && v.ingress == 0 && v.since <= v.generation;
}

/* What is linked all the time must be found all the time, whatever moves beside it. A
 * copy of members must fit the group: group n has the slots n % 1024 and no other. */
static void *read_all(void *arg)
{
	while (!atomic_load(&stop)) {
		for (uint32_t i = 0; i < STAY; i++) {
			if (shm_qp_find(tables, 0, i) != i)
				atomic_fetch_add(&missed, 1);
			if (find(0, i) == SHM_NONE)
				atomic_fetch_add(&missed, 1);
		}
		for (uint32_t i = STAY; i < 2 * STAY; i++) {
			uint64_t words[SHM_SLOT_WORDS], generation;
			uint32_t entry = find(0, i);
			uint8_t mgid[16];

			mgid_of(i, mgid);
			if (entry == SHM_NONE || !shm_group_read(tables, entry, 0, mgid,
								 0, words, &generation))
				continue;
			for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++)
				if (words[w] & ~(w == i / 64 ? 1ull << (i % 64) : 0))
					atomic_fetch_add(&mixed, 1);
		}
		for (uint32_t e = 0; e < 2 * STAY; e++)
			if (!view_fits(e))
				atomic_fetch_add(&mixed, 1);
	}
	return NULL;
}

static void churn(unsigned int rounds)
{
	const uint64_t none[SHM_SLOT_WORDS] = { 0 };
	uint32_t entries[2 * STAY];

	for (unsigned int r = 0; r < rounds; r++) {
		for (uint32_t i = STAY; i < 2 * STAY; i++) {
			shm_qp_link(tables, 0, i, i);
			entries[i] = link_group(0, i);
			shm_group_set(tables, entries[i], i);
			shm_group_relink(tables, entries[i], none, true, &entries[i]);
		}
		for (uint32_t i = 2 * STAY - 1; i >= STAY; i--) {
			shm_qp_unlink(tables, 0, i);
			shm_group_clear(tables, entries[i], i);
			shm_group_unlink(tables, entries[i]);
		}
	}
}

static void a_reader_misses_nothing_and_mixes_nothing(void **state)
{
	pthread_t reader;

	for (uint32_t i = 0; i < STAY; i++) {
		assert_int_equal(shm_qp_link(tables, 0, i, i), 0);
		link_group(0, i);
	}
	atomic_store(&stop, false);
	pthread_create(&reader, NULL, read_all, NULL);
	churn(harness_count(500, 50000));
	atomic_store(&stop, true);
	pthread_join(reader, NULL);
	assert_int_equal(missed, 0);
	assert_int_equal(mixed, 0);
}

/* Chains that run in circles, indices that lead out: a look-up ends all the same. */
static void a_damaged_table_only_costs_time(void **state)
{
	uint32_t a = link_group(0, 1);

	atomic_store(&tables->groups[a].next, a);
	for (uint32_t b = 0; b < SHM_GROUP_BUCKETS; b++)
		atomic_store(&tables->group_buckets[b], a + 1);
	assert_int_equal(find(0, 2), SHM_NONE);
	atomic_store(&tables->groups[a].next, SHM_GROUPS_MAX);
	assert_int_equal(find(0, 2), SHM_NONE);
	tables->h.groups_generation = 1; /* its writer died in the middle */
	assert_int_equal(find(0, 2), SHM_NONE);
	for (uint32_t b = 0; b < SHM_QP_BUCKETS; b++)
		atomic_store(&tables->qps[b], UINT64_MAX);
	assert_int_equal(shm_qp_find(tables, 0, 7), SHM_NONE);
	assert_true(shm_qp_find(tables, 0x7fff, 0xffffff) < SHM_SLOTS_MAX);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_new_file_is_checked_and_read_only_to_others),
		T(an_entry_is_found_by_port_and_mgid),
		T(many_groups_are_all_found_while_some_leave),
		T(the_table_takes_exactly_its_groups),
		T(generations_only_grow),
		T(the_multicast_lid_is_part_of_the_name),
		T(generations_are_the_sites),
		T(a_view_says_what_an_entry_is),
		T(an_entry_given_up_says_what_it_was),
		T(a_replaced_entry_keeps_its_members_and_name),
		T(a_full_table_replaces_nothing),
		T(reach_is_a_bit_a_lid),
		T(a_queue_pair_is_found_by_device_and_number),
		T(queue_pairs_agree_with_a_plain_array),
		T(the_table_takes_exactly_its_queue_pairs),
		T(a_reader_misses_nothing_and_mixes_nothing),
		T(a_damaged_table_only_costs_time),
	};

	return harness_run(tests);
}
