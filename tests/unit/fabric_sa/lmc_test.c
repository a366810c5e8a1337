/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports with several LIDs: all of them name the port, records have the first, and there is
 * a path by each. Hosts have four here, H1 4 to 7, H2 8 to 11 ...; "H9" asks by the second
 * LID of H2.
 */
#include "unit/fabric_sa/world.h"

#define LMC   2u
#define LIDS  (1u << LMC)
#define HOSTS 6u

static int setup(void **state)
{
	struct world *w = world_create(HOSTS);

	small_set_lmc(&w->sm, LMC);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

static const uint8_t *record(struct world *w, const struct world_ask *ask)
{
	const struct world_mad *m = world_do(w, ask);

	assert_non_null(m);
	assert_int_equal(m->mad.status, 0);
	return m->bytes + SA_DATA;
}

static void put_lid(struct world_ask *ask, unsigned int at, uint16_t lid)
{
	ask->data[at] = (uint8_t)(lid >> 8);
	ask->data[at + 1] = (uint8_t)lid;
}

static uint16_t lid_at(const uint8_t *data, unsigned int at)
{
	return (uint16_t)(data[at] << 8 | data[at + 1]);
}

/* -- records ----------------------------------------------------------------------------- */

/* By any of H3's, or of what comes after it. */
static void a_port_is_found_by_any_of_its_lids(void **state)
{
	static const char *const asks[] = {
		"H9 get attr=11", "H9 get attr=12",       "H9 get attr=20",
		"H9 get attr=13", "H9 get attr=33 key=1", "H9 get attr=36",
	};
	struct world *w = *state;

	for (unsigned int lid = 12; lid < 16; lid++) {
		for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
			struct world_ask ask = world_ask_of(w, asks[i], 1);
			const struct world_mad *m;

			put_lid(&ask, 0, (uint16_t)lid);
			m = world_do(w, &ask);
			assert_non_null(m);
			/* Of VL arbitration a port has several. */
			if (m->mad.status == SA_TOO_MANY_RECORDS)
				continue;
			assert_int_equal(m->mad.status, 0);
			assert_int_equal(lid_at(m->bytes, SA_DATA), 12);
		}
	}
}

static void nobodys_lid_finds_nothing(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H9 get attr=11", 1);

	/* Those before H1's, and behind the switch's, which has one. */
	for (unsigned int lid = 0; lid < 4; lid++) {
		put_lid(&ask, 0, (uint16_t)lid);
		assert_int_equal(world_do(w, &ask)->mad.status, SA_NO_RECORDS);
	}
	put_lid(&ask, 0, SMALL_SWITCH_LID + 1);
	assert_int_equal(world_do(w, &ask)->mad.status, SA_NO_RECORDS);
}

static void a_link_is_found_by_either_end(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H9 get attr=20", 1 << 3);
	const uint8_t *data;

	put_lid(&ask, 4, 14);
	data = record(w, &ask);
	assert_int_equal(lid_at(data, 0), SMALL_SWITCH_LID);
	assert_int_equal(lid_at(data, 4), 12);
}

/* -- who asks ------------------------------------------------------------------------------ */

static void a_member_may_ask_by_any_of_its_lids(void **state)
{
	struct world *w = *state;

	world_assert(w, "H9 set create js=1 port=H2 mgid=ff12::1", 0);
	world_assert(w, "H10 set join js=1 port=H2 mgid=ff12::1", 0);
	assert_int_equal(world_count(w, "H11 table key=1 mgid=ff12::1"), 1);
	/* Nobody else may change what is not a proxy's. */
	world_assert(w, "H12 delete join js=1 port=H2 mgid=ff12::1", SA_REQ_INVALID);
	world_assert(w, "H8 delete join js=1 port=H2 mgid=ff12::1", 0);
}

static void the_answer_comes_from_where_it_was_asked(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H9 get attr=1", 0);
	uint8_t bytes[MAD_BYTES];

	world_ask_put(&ask, bytes);
	for (uint16_t lid = 4; lid < 9; lid++) {
		struct ib_packet packet = { .slid = 9,
					    .dlid = lid,
					    .pkey = 0xffff,
					    .dest_qp = IB_QP_GSI,
					    .src_qp = IB_QP_GSI,
					    .qkey = IB_GSI_QKEY,
					    .payload = bytes,
					    .length = MAD_BYTES };

		w->sent_count = 0;
		sa_server_sm_ops.receive(w->server, &packet);
		world_run(w, 0);
		assert_int_equal(w->sent_count, 1);
		assert_int_equal(w->sent[0].packet.dlid, 9);
		/* 8 is H2's: what it was sent to has changed since. */
		assert_int_equal(w->sent[0].packet.slid, lid < 8 ? lid : 4);
	}
}

/* What a port may hold is not more for having more LIDs. */
static void all_lids_share(void **state)
{
	struct world *w = *state;
	unsigned int subscribed = 0;
	int status = 0;

	for (unsigned int n = 0; status == 0; n++) {
		struct sa_inform_info info = { .lid_end = (uint16_t)(0xffff - n),
					       .is_generic = 1,
					       .subscribe = true,
					       .type = 0xffff,
					       .trap = 66,
					       .qpn = 1,
					       .producer_type = 0xffffff };
		struct world_ask ask;
		char text[32];

		snprintf(text, sizeof(text), "H%u set attr=3", 8 + n % LIDS);
		ask = world_ask_of(w, text, 0);
		sa_inform_info_put(ask.data, &info);
		status = world_do(w, &ask)->mad.status;
		subscribed += status == 0;
	}
	assert_int_equal(status, SA_NO_RESOURCES);
	assert_int_equal(subscribed, 1024);
}

/* -- paths --------------------------------------------------------------------------------- */

#define ENDS (SA_PR_DGID | SA_PR_SGID)

static struct world_ask ask_path(struct world *w, const char *text, unsigned int from,
				 unsigned int to, uint64_t mask)
{
	struct sa_path path = { 0 };
	struct world_ask ask = world_ask_of(w, text, mask);

	small_gid(&path.sgid, SMALL_PREFIX, small_guid(from));
	small_gid(&path.dgid, SMALL_PREFIX, small_guid(to));
	sa_path_put(ask.data, &path);
	return ask;
}

static struct sa_path *paths(struct world *w, const struct world_ask *ask,
			     unsigned int *count)
{
	struct sa_path *all;
	struct world_table t;

	world_table_get(w, &t, ask);
	*count = t.count;
	all = calloc(t.count + 1, sizeof(*all));
	for (unsigned int i = 0; i < t.count; i++)
		sa_path_get(t.records + SA_PATH_BYTES * i, &all[i]);
	world_table_end(&t);
	return all;
}

static unsigned int path_count(struct world *w, const struct world_ask *ask)
{
	unsigned int count;

	free(paths(w, ask, &count));
	return count;
}

/* Those first that share neither end (measured of OpenSM, with LMC 1). */
static void there_is_a_path_by_each_pair_of_lids(void **state)
{
	struct world *w = *state;
	struct world_ask ask = ask_path(w, "H9 table attr=35", 2, 5, ENDS);
	bool met[LIDS][LIDS] = { 0 };
	unsigned int count;
	struct sa_path *all = paths(w, &ask, &count);

	assert_int_equal(count, LIDS * LIDS);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int from = all[i].slid - 8u, to = all[i].dlid - 20u;

		assert_true(from < LIDS && to < LIDS);
		assert_false(met[from][to]);
		met[from][to] = true;
		assert_int_equal(all[i].preference, from == to ? 0 : 2);
		assert_true((i < LIDS) == (from == to));
		if (i < LIDS)
			assert_int_equal(from, i);
	}
	free(all);
}

static void so_many_are_told_as_are_wanted(void **state)
{
	struct world *w = *state;
	struct world_ask ask =
		ask_path(w, "H9 table attr=35", 2, 5, ENDS | SA_PR_NUMB_PATH);
	struct sa_path path, *all;
	unsigned int count;

	sa_path_get(ask.data, &path);
	for (unsigned int wanted = 0; wanted < 20; wanted++) {
		path.numb_path = (uint8_t)wanted;
		sa_path_put(ask.data, &path);
		assert_int_equal(path_count(w, &ask),
				 wanted < LIDS * LIDS ? wanted : LIDS * LIDS);
	}
	/* Of each pair of ports, all six and the switch. */
	path.numb_path = 2;
	ask.sa.comp_mask = SA_PR_SGID | SA_PR_NUMB_PATH;
	sa_path_put(ask.data, &path);
	all = paths(w, &ask, &count);
	assert_int_equal(count, 2 * (HOSTS + 1));
	free(all);
}

static void a_path_is_by_the_lids_that_are_named(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H9 get attr=35", SA_PR_SLID | SA_PR_DLID);
	struct sa_path path = { .slid = 10, .dlid = 23 };

	sa_path_put(ask.data, &path);
	sa_path_get(record(w, &ask), &path);
	assert_int_equal(path.slid, 10);
	assert_int_equal(path.dlid, 23);
	assert_int_equal(path.preference, 0);
	/* One end by its LID, the other by its GID: by all of its LIDs. */
	ask = ask_path(w, "H9 table attr=35", 2, 5, SA_PR_SLID | SA_PR_DGID);
	sa_path_get(ask.data, &path);
	path.slid = 11;
	sa_path_put(ask.data, &path);
	assert_int_equal(path_count(w, &ask), LIDS);
	/* The LID is not the GID's. */
	ask.sa.comp_mask = SA_PR_SGID | SA_PR_SLID | SA_PR_DGID;
	path.slid = 12;
	sa_path_put(ask.data, &path);
	assert_int_equal(path_count(w, &ask), 0);
}

static void get_has_the_first_of_them(void **state)
{
	struct world *w = *state;
	struct world_ask ask = ask_path(w, "H9 get attr=35", 2, 5, ENDS);
	struct sa_path path;

	sa_path_get(record(w, &ask), &path);
	assert_int_equal(path.slid, 8);
	assert_int_equal(path.dlid, 20);
}

static void a_switch_has_one_end_for_all(void **state)
{
	struct world *w = *state;
	struct world_ask ask =
		world_ask_of(w, "H9 table attr=35", SA_PR_SGID | SA_PR_DLID);
	struct sa_path path = { .dlid = SMALL_SWITCH_LID }, *all;
	unsigned int count;

	small_gid(&path.sgid, SMALL_PREFIX, small_guid(2));
	sa_path_put(ask.data, &path);
	all = paths(w, &ask, &count);
	assert_int_equal(count, LIDS);
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(all[i].slid, 8 + i);
		assert_int_equal(all[i].dlid, SMALL_SWITCH_LID);
	}
	free(all);
}

static void all_paths_between_all(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H9 table attr=35", 0);
	const unsigned int lids = HOSTS * LIDS + 1;

	assert_int_equal(path_count(w, &ask), lids * lids);
	/* With seven bits they are more than an answer has room for. */
	small_set_lmc(&w->sm, 7);
	ask.host = 2 << 7;
	assert_int_equal(world_do(w, &ask)->mad.status, SA_NO_RESOURCES);
	ask = world_ask_of(w, "H256 table attr=35", SA_PR_NUMB_PATH);
	sa_path_put(ask.data, &(struct sa_path){ .numb_path = 1 });
	assert_int_equal(path_count(w, &ask), (HOSTS + 1) * (HOSTS + 1));
}

/* One of each pair before a second one of any. */
static void several_paths_are_different_ones(void **state)
{
	struct world *w = *state;
	struct sa_multi_path m = { .sgid_count = 1, .dgid_count = 2, .numb_path = 6 };
	struct world_ask ask =
		world_ask_of(w, "H9 multi attr=3a",
			     SA_MPR_SGID_COUNT | SA_MPR_DGID_COUNT | SA_MPR_NUMB_PATH);
	unsigned int count;
	struct sa_path *all;

	for (unsigned int i = 0; i < 3; i++)
		small_gid(&m.gids[i], SMALL_PREFIX, small_guid(2 + i));
	sa_multi_path_put(ask.data, &m);
	all = paths(w, &ask, &count);
	assert_int_equal(count, 6);
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(all[i].slid, 8 + i / 2);
		assert_int_equal(all[i].dlid, (i % 2 ? 16 : 12) + i / 2);
	}
	free(all);
	ask.sa.comp_mask &= ~SA_MPR_NUMB_PATH;
	assert_int_equal(path_count(w, &ask), 2 * LIDS * LIDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_port_is_found_by_any_of_its_lids, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nobodys_lid_finds_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_link_is_found_by_either_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_member_may_ask_by_any_of_its_lids,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_answer_comes_from_where_it_was_asked,
						setup, teardown),
		cmocka_unit_test_setup_teardown(all_lids_share, setup, teardown),
		cmocka_unit_test_setup_teardown(there_is_a_path_by_each_pair_of_lids,
						setup, teardown),
		cmocka_unit_test_setup_teardown(so_many_are_told_as_are_wanted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_path_is_by_the_lids_that_are_named,
						setup, teardown),
		cmocka_unit_test_setup_teardown(get_has_the_first_of_them, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_switch_has_one_end_for_all, setup,
						teardown),
		cmocka_unit_test_setup_teardown(all_paths_between_all, setup, teardown),
		cmocka_unit_test_setup_teardown(several_paths_are_different_ones, setup,
						teardown),
	};

	return harness_run(tests);
}
