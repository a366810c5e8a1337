// SPDX-License-Identifier: BSD-2-Clause
/*
 * Performance management: what is counted, shown and cleared.
 */
#include <errno.h>

#include "world.h"

enum {
	PORT_COUNTERS = 0x12,
	PORT_COUNTERS_EXT = 0x1d
};

#define MAD_ON_LINK 288u /* bytes that count */

static struct world world;
static struct seat h1;

static int begin(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(3, 1, &t), 0);
	world_begin(&world, t);
	seat_take(&h1, &world, "h1");
	world_configure(&world, &h1, 0);
	return 0;
}

static int end(void **state)
{
	world_end(&world);
	return 0;
}

static uint8_t *perf(uint16_t lid, uint8_t method, uint16_t attr, uint8_t port,
		     uint16_t select)
{
	uint8_t mad[256];

	seat_forget(&h1);
	smp_begin(mad, MAD_CLASS_PERF, method, attr, 0, h1.next_tid++);
	mad[65] = port;
	mad[66] = (uint8_t)(select >> 8);
	mad[67] = (uint8_t)select;
	if (gmp_send(&h1, mad, lid, 0xffff) != 0)
		return NULL;
	return seat_answer(&h1, mad);
}

static uint64_t number(const uint8_t *data, unsigned int at, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v = v << 8 | data[at + i];
	return v;
}

static void clear_all(uint16_t lid)
{
	must(perf(lid, MAD_METHOD_SET, PORT_COUNTERS, 0xff, 0xffff));
}

static void the_class_tells_what_it_can(void **state)
{
	const uint8_t *data =
		must(perf(2, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, 0, 0));

	assert_int_equal(data[0], 1);
	assert_int_equal(data[1], 1);
	assert_int_equal(number(data, 2, 2), 0x0500);
	assert_status(perf(2, MAD_METHOD_SET, MAD_ATTR_CLASS_PORT_INFO, 0, 0),
		      MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(perf(2, MAD_METHOD_GET, 0x10, 1, 0), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(perf(2, MAD_METHOD_GET_TABLE, PORT_COUNTERS, 1, 0),
		      MAD_STATUS_BAD_METHOD);
	assert_int_equal(h1.inbox[0].packet.dest_qp, 1);
	assert_int_equal(h1.inbox[0].packet.qkey, IB_GSI_QKEY);
}

static void management_datagrams_are_counted(void **state)
{
	const uint8_t *data;

	clear_all(2);
	/* The clearing's answer, and this question. */
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(data[1], 1);
	assert_int_equal(number(data, 24, 4), MAD_ON_LINK / 4);
	assert_int_equal(number(data, 28, 4), MAD_ON_LINK / 4);
	assert_int_equal(number(data, 32, 4), 1);
	assert_int_equal(number(data, 36, 4), 1);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS_EXT, 1, 0));
	assert_int_equal(number(data, 8, 8), 2 * MAD_ON_LINK / 4);
	assert_int_equal(number(data, 16, 8), 2 * MAD_ON_LINK / 4);
	assert_int_equal(number(data, 24, 8), 2);
	assert_int_equal(number(data, 32, 8), 2);
}

static void data_of_engines_is_added_and_small_counters_stop(void **state)
{
	struct fabric_port *h2 = fabric_hca_port(world.fabric, 1);
	const uint8_t *data;

	clear_all(2);
	fabric_port_count(h2, 40000, 10, 80000, 20);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(number(data, 24, 4), 10000 + MAD_ON_LINK / 4);
	assert_int_equal(number(data, 36, 4), 20 + 1);
	fabric_port_count(h2, 1ull << 40, 1ull << 33, 0, 0);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_true(number(data, 24, 4) == UINT32_MAX);
	assert_true(number(data, 32, 4) == UINT32_MAX);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS_EXT, 1, 0));
	assert_true(number(data, 8, 8) > 1ull << 38);
	assert_true(number(data, 24, 8) > 1ull << 33);
}

static unsigned int counted;

static void count_some(void *arg)
{
	counted++;
	fabric_port_count(arg, 4000, 10, 8000, 20);
}

/* Whoever knows of data is asked before the counters are shown, of a link's either end. */
static void data_is_counted_when_somebody_asks(void **state)
{
	static const struct fabric_port_ops ops = { .count = count_some };
	struct fabric_port *h2 = fabric_hca_port(world.fabric, 1);
	const uint8_t *data;

	fabric_port_attach(h2, &ops, h2);
	clear_all(2);
	assert_int_equal(counted, 1);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(counted, 2);
	assert_int_equal(number(data, 24, 4), (4000 + MAD_ON_LINK) / 4);
	assert_int_equal(number(data, 36, 4), 20 + 1);
	clear_all(4);
	assert_int_equal(counted, 3);
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 2, 0));
	assert_int_equal(counted, 4);
	assert_int_equal(number(data, 36, 4), 10);
	assert_int_equal(number(data, 32, 4), 20);
	must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 0, 0));
	assert_int_equal(counted, 4); /* not of h2's link */
	fabric_port_attach(h2, NULL, NULL);
}

static void only_what_is_selected_is_cleared(void **state)
{
	struct fabric_port *h2 = fabric_hca_port(world.fabric, 1);
	const uint8_t *data;

	fabric_port_count(h2, 4000000, 1000000, 4000000, 1000000);
	data = must(perf(2, MAD_METHOD_SET, PORT_COUNTERS, 1, 1 << 12 | 1 << 15));
	assert_int_equal(number(data, 24, 4), 0);
	assert_true(number(data, 28, 4) >= 1000000);
	assert_true(number(data, 32, 4) >= 1000000);
	assert_int_equal(number(data, 36, 4), 0);
	data = must(perf(2, MAD_METHOD_SET, PORT_COUNTERS_EXT, 1, 1 << 1));
	assert_int_equal(number(data, 16, 8), 0);
	assert_true(number(data, 24, 8) >= 1000000);
}

static void a_switch_shows_each_port_or_all(void **state)
{
	uint64_t all, sum = 0;
	const uint8_t *data;

	clear_all(4);
	for (uint8_t p = 0; p <= 3; p++) {
		data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, p, 0));
		sum += number(data, 36, 4);
		/* All came in by port 1, so far p + 1 questions. */
		assert_int_equal(number(data, 36, 4), p == 1 ? 2 : 0);
	}
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 0xff, 0));
	all = number(data, 36, 4);
	assert_int_equal(all, 5);
	assert_int_equal(sum, 2);
	assert_status(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 4, 0), MAD_STATUS_BAD_VALUE);
	assert_status(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 0, 0), MAD_STATUS_BAD_VALUE);
	assert_status(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 2, 0), MAD_STATUS_BAD_VALUE);
}

static void what_goes_wrong_is_counted_where_it_does(void **state)
{
	const uint8_t *data;

	clear_all(4);
	assert_null(ask_lid(&h1, 99, MAD_METHOD_GET, SMP_NODE_INFO, 0));
	fabric_link_set(world.fabric, "h3", 1, false);
	world_run(&world);
	assert_null(ask_lid(&h1, 3, MAD_METHOD_GET, SMP_NODE_INFO, 0));
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(number(data, 12, 2), 1); /* relay errors */
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 3, 0));
	assert_int_equal(number(data, 7, 1), 1);  /* link downed */
	assert_int_equal(number(data, 14, 2), 1); /* discards */
}

/* A table that sends packets back where they came from has a loop of two. */
static void what_would_go_back_is_a_relay_error(void **state)
{
	const uint8_t *data;
	uint8_t lft[64];

	memcpy(lft,
	       must(ask(&h1, &world.routes[3], MAD_METHOD_GET, SMP_LINEAR_FT, 0, NULL)),
	       sizeof(lft));
	lft[5] = 1;
	must(ask(&h1, &world.routes[3], MAD_METHOD_SET, SMP_LINEAR_FT, 0, lft));
	clear_all(4);
	assert_null(ask_lid(&h1, 5, MAD_METHOD_GET, SMP_NODE_INFO, 0));
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(number(data, 12, 2), 1);
	assert_int_equal(number(data, 32, 4), 1); /* sent: the clearing's answer alone */
}

static uint8_t *ask_class(uint8_t mgmt_class, uint16_t lid, uint8_t method)
{
	uint8_t mad[256];

	seat_forget(&h1);
	smp_begin(mad, mgmt_class, method, 1, 0, h1.next_tid++);
	return gmp_send(&h1, mad, lid, 0xffff) ? NULL : seat_answer(&h1, mad);
}

static void a_switch_refuses_what_it_does_not_serve(void **state)
{
	assert_status(ask_class(0x0a, 4, MAD_METHOD_GET), MAD_STATUS_BAD_ATTRIBUTE);
	assert_status(ask_class(0x21, 4, MAD_METHOD_SET), MAD_STATUS_BAD_ATTRIBUTE);
	assert_null(ask_class(0x21, 4, MAD_METHOD_SEND));
	/* There may be an administrator, and ibping takes any answer for its partner's. */
	assert_null(ask_class(MAD_CLASS_SUBN_ADM, 4, MAD_METHOD_GET));
	assert_null(ask_class(0x32, 4, MAD_METHOD_GET));
	/* What is behind an adapter answers for itself. */
	assert_null(ask_class(0x0a, 2, MAD_METHOD_GET));
}

#define case_of(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(the_class_tells_what_it_can),
		case_of(management_datagrams_are_counted),
		case_of(data_of_engines_is_added_and_small_counters_stop),
		case_of(data_is_counted_when_somebody_asks),
		case_of(only_what_is_selected_is_cleared),
		case_of(a_switch_shows_each_port_or_all),
		case_of(what_goes_wrong_is_counted_where_it_does),
		case_of(what_would_go_back_is_a_relay_error),
		case_of(a_switch_refuses_what_it_does_not_serve),
	};

	return harness_run(tests);
}
