// SPDX-License-Identifier: BSD-2-Clause
/*
 * When who compiled answers is told that some are others now: of all in passes that rest,
 * of a multicast LID's at once.
 */
#include "unit/fabric_net/world.h"

#include "path/fabric/fabric_path.h"

#define HOSTS    4u
#define MLID     0xc004
#define SLICE    2048u
/* What path/fabric/changes.c lets be owed, and what is owed for a slice. */
#define DEBT_NS  (500 * TIMER_MS)
#define SLICE_NS (SLICE * 1000ull)
#define BLOCKS   10u
#define ROWS     (32 * BLOCKS)

static struct world world;
static struct seat seat;
static struct path_fabric *pf;
static uint32_t hub;
static unsigned int follows, slices; /* yet to come */
static unsigned int told[0x4000], told_count;
static uint32_t answers; /* of each MLID */

static bool follow(void *arg)
{
	follows++;
	return slices && --slices;
}

static uint32_t follow_mlid(void *arg, uint16_t mlid)
{
	assert_true(mlid >= IB_LID_MULTICAST_BASE);
	told[mlid - IB_LID_MULTICAST_BASE]++;
	told_count++;
	return answers;
}

static void multicast_changed(void *arg, uint16_t first_mlid, uint32_t rows)
{
	path_fabric_multicast_changed(pf, first_mlid, rows);
	path_fabric_routes_changed(pf);
}

static const struct path_fabric_port_ops seat_ops = { .receive = seat_receive };
static const struct path_fabric_port_ops no_ops;

static int set_up(void **state)
{
	struct path_fabric_config config = { .timers = &world.timers,
					     .follow = follow,
					     .follow_mlid = follow_mlid };
	struct topology *t;

	assert_int_equal(topology_star(HOSTS, 7, &t), 0);
	world_begin_with(
		&world, t,
		(struct fabric_config){ .multicast_changed = multicast_changed });
	config.fabric = world.fabric;
	assert_int_equal(path_fabric_create(&config, &pf), 0);
	memset(&seat, 0, sizeof(seat));
	seat.world = &world;
	seat.port = fabric_hca_port(world.fabric, 0);
	for (uint32_t h = 0; h < HOSTS; h++)
		assert_int_equal(path_fabric_bind(pf, h, fabric_hca_port(world.fabric, h),
						  h ? &no_ops : &seat_ops, &seat),
				 0);
	for (hub = 0; !t->nodes[hub].is_switch; hub++)
		;
	world_find_routes(&world, hub ? 0 : 1, 1);
	world_run(&world);
	follows = slices = answers = told_count = 0;
	memset(told, 0, sizeof(told));
	return 0;
}

static int tear_down(void **state)
{
	path_fabric_destroy(pf);
	pf = NULL;
	world_end(&world);
	return 0;
}

static void one_run(uint64_t later_ns)
{
	timer_queue_run(&world.timers, world.timers.now_ns + later_ns);
}

/* A pass that takes so many slices, each of a millisecond. */
static void pass_in_slices(unsigned int n)
{
	unsigned int before = follows;

	slices = n;
	path_fabric_routes_changed(pf);
	for (unsigned int i = 0; i < n; i++)
		one_run(TIMER_MS);
	assert_int_equal(follows, before + n);
	assert_int_equal(slices, 0);
}

static void rows_are_followed_while_all_else_rests(void **state)
{
	pass_in_slices(4);
	set_mft(&seat, &world.routes[hub], MLID, 0, 0x1e);
	assert_int_equal(told[MLID - IB_LID_MULTICAST_BASE], 1);
	assert_int_equal(told_count, 1);
	world_pass(&world, 9 * 3 * TIMER_MS - 1);
	assert_int_equal(follows, 4);
	one_run(1);
	assert_int_equal(follows, 5);
	assert_int_equal(told_count, 1);
}

static void rows_are_followed_between_slices(void **state)
{
	slices = 4;
	path_fabric_routes_changed(pf);
	one_run(TIMER_MS);
	path_fabric_multicast_changed(pf, MLID & 0xffe0, 1u << (MLID & 31));
	one_run(TIMER_MS);
	assert_int_equal(follows, 2);
	assert_int_equal(told[MLID - IB_LID_MULTICAST_BASE], 1);
}

static void each_row_is_told_once_for_many_changes(void **state)
{
	path_fabric_multicast_changed(NULL, 0xc000, 1);
	for (unsigned int i = 0; i < 3; i++) {
		path_fabric_multicast_changed(pf, 0xc000, 1);
		path_fabric_multicast_changed(pf, 0xc020, 0x80000001);
		path_fabric_multicast_changed(pf, 0xffe0, 0x80000000);
	}
	assert_int_equal(told_count, 0); /* not from inside */
	one_run(0);
	assert_int_equal(told_count, 4);
	assert_int_equal(told[0] + told[0x20] + told[0x3f] + told[0x3fff], 4);
	world_run(&world);
	assert_int_equal(told_count, 4);
}

static void many_rows_are_followed_in_slices(void **state)
{
	answers = SLICE / 2;
	path_fabric_multicast_changed(pf, 0xc000, 0x1f);
	one_run(0);
	assert_int_equal(told_count, 2);
	one_run(0);
	assert_int_equal(told_count, 4);
	one_run(0);
	assert_int_equal(told_count, 5);
}

/* Each costs a slice, with a walk from the ports. */
static void change_many_rows(void)
{
	answers = SLICE - HOSTS;
	for (uint16_t block = 0; block < BLOCKS; block++)
		path_fabric_multicast_changed(pf, 0xc000 + 32 * block, 0xffffffff);
	world_run(&world);
}

static void who_has_followed_much_rests_in_the_end(void **state)
{
	unsigned int at_once = DEBT_NS / SLICE_NS + 1;
	uint64_t rest = at_once * SLICE_NS - DEBT_NS;

	assert_true(at_once + 5 < ROWS);
	change_many_rows();
	assert_int_equal(told_count, at_once);
	world_pass(&world, rest - 1);
	assert_int_equal(told_count, at_once);
	one_run(1);
	assert_int_equal(told_count, at_once + 1);
	world_pass(&world, 4 * SLICE_NS);
	assert_int_equal(told_count, at_once + 5);
	world_pass(&world, 200 * SLICE_NS);
	assert_int_equal(told_count, ROWS);
	/* In time it is all forgotten, and no more than that. */
	world_pass(&world, 100000 * TIMER_MS);
	change_many_rows();
	assert_int_equal(told_count, ROWS + at_once);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rows_are_followed_while_all_else_rests),
		T(rows_are_followed_between_slices),
		T(each_row_is_told_once_for_many_changes),
		T(many_rows_are_followed_in_slices),
		T(who_has_followed_much_rests_in_the_end),
	};

	return harness_run(tests);
}
