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

/* What an engine has sent and not told yet. */
static struct {
	struct fabric_port *from;
	struct fabric_load load;
	unsigned int asked;
	uint16_t first, last; /* for what, at last */
} pending;

static void carry(void *arg, uint16_t first, uint16_t last)
{
	pending.asked++;
	pending.first = first;
	pending.last = last;
	if (!pending.from || pending.load.dlid < first || pending.load.dlid > last)
		return;
	fabric_port_carry(pending.from, &pending.load);
	pending.from = NULL;
}

static void begin_with(struct topology *t)
{
	memset(&pending, 0, sizeof(pending));
	world_begin_with(&world, t, (struct fabric_config){ .carry = carry });
	seat_take(&h1, &world, "h1");
	world_configure(&world, &h1, 0);
}

static int begin(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(3, 1, &t), 0);
	begin_with(t);
	return 0;
}

/* h1 .. h3 have LIDs 1 .. 3, s1 .. s3 4 .. 6. Ports of a switch: 1 its host, 2 the next
 * switch, 3 the one before. */
static int begin_ring(void **state)
{
	struct topology *t;

	assert_int_equal(topology_ring(3, 1, 1, &t), 0);
	begin_with(t);
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
	must(perf(lid, MAD_METHOD_SET, PORT_COUNTERS_EXT, 0xff, 0xffff));
	must(perf(lid, MAD_METHOD_SET, PORT_COUNTERS, 0xff, 0xffff));
}

static void the_class_tells_what_it_can(void **state)
{
	const uint8_t *data =
		must(perf(2, MAD_METHOD_GET, MAD_ATTR_CLASS_PORT_INFO, 0, 0));

	assert_int_equal(data[0], 1);
	assert_int_equal(data[1], 1);
	assert_int_equal(number(data, 2, 2), 0x0300);
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

/* -- data ---------------------------------------------------------------------------- */

static void send_data(unsigned int host, uint16_t dlid, uint64_t packets, uint64_t bytes)
{
	pending.from = fabric_hca_port(world.fabric, host - 1);
	pending.load = (struct fabric_load){
		.dlid = dlid, .pkey = 0xffff, .packets = packets, .bytes = bytes
	};
}

static void data_is_counted_and_small_counters_stop(void **state)
{
	const uint8_t *data;

	clear_all(2);
	send_data(2, 3, 10, 40000);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(number(data, 24, 4), 10000 + MAD_ON_LINK / 4);
	assert_int_equal(number(data, 32, 4), 10 + 1);
	send_data(2, 3, 1ull << 33, 1ull << 40);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_true(number(data, 24, 4) == UINT32_MAX);
	assert_true(number(data, 32, 4) == UINT32_MAX);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS_EXT, 1, 0));
	assert_true(number(data, 8, 8) > 1ull << 38);
	assert_true(number(data, 24, 8) > 1ull << 33);
}

static void what_a_port_keeps_to_itself_is_on_no_link(void **state)
{
	const uint8_t *data;

	clear_all(2);
	send_data(2, 2, 10, 40000);
	data = must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(number(data, 32, 4), 1);
	assert_int_equal(number(data, 36, 4), 1);
}

/* To nobody, in a switch, and to an adapter whose port is down: as on hardware. */
static void data_that_gets_lost_is_counted_where_it_does(void **state)
{
	const uint8_t *data;

	fabric_link_set(world.fabric, "h3", 1, false);
	world_run(&world);
	clear_all(4);
	send_data(2, 99, 70000, 70000 * 64);
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 2, 0));
	assert_int_equal(number(data, 36, 4), 70000);
	assert_int_equal(number(data, 12, 2), 65535); /* relay errors */
	send_data(2, 3, 9, 9 * 64);
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 3, 0));
	assert_int_equal(number(data, 14, 2), 9); /* discards */
	assert_int_equal(number(data, 32, 4), 0);
}

static void only_what_is_selected_is_cleared(void **state)
{
	const uint8_t *data;

	send_data(2, 3, 1000000, 4000000);
	must(perf(2, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	send_data(3, 2, 1000000, 4000000);
	data = must(perf(2, MAD_METHOD_SET, PORT_COUNTERS, 1, 1 << 12 | 1 << 15));
	assert_int_equal(number(data, 24, 4), 0);
	assert_true(number(data, 28, 4) >= 1000000);
	assert_true(number(data, 32, 4) >= 1000000);
	assert_int_equal(number(data, 36, 4), 0);
	data = must(perf(2, MAD_METHOD_SET, PORT_COUNTERS_EXT, 1, 1 << 1 | 1 << 5));
	assert_int_equal(number(data, 16, 8), 0);
	assert_true(number(data, 24, 8) >= 1000000);
	assert_true(number(data, 40, 8) >= 1000000);
	assert_int_equal(number(data, 48, 8), 0);
}

/* -- data from switch to switch ------------------------------------------------------ */

static struct {
	uint64_t xmit_words, rcv_words, xmit, rcv;
	uint64_t xmit_unicast, rcv_unicast, xmit_multicast, rcv_multicast;
} shown;

static void look(uint16_t lid, uint8_t port)
{
	const uint8_t *data = must(perf(lid, MAD_METHOD_GET, PORT_COUNTERS_EXT, port, 0));

	shown.xmit_words = number(data, 8, 8);
	shown.rcv_words = number(data, 16, 8);
	shown.xmit = number(data, 24, 8);
	shown.rcv = number(data, 32, 8);
	shown.xmit_unicast = number(data, 40, 8);
	shown.rcv_unicast = number(data, 48, 8);
	shown.xmit_multicast = number(data, 56, 8);
	shown.rcv_multicast = number(data, 64, 8);
}

/* Nobody asks but h1, and only s1, so that there is no management beyond it. */
static void switches_count_what_they_forward(void **state)
{
	clear_all(4);
	send_data(3, 1, 20, 4000);
	look(4, 3);
	assert_int_equal(shown.rcv, 20);
	assert_int_equal(shown.rcv_words, 1000);
	assert_int_equal(shown.rcv_unicast, 20);
	assert_int_equal(shown.xmit, 0);
	assert_int_equal(shown.rcv_multicast, 0);
	send_data(1, 2, 30, 3000);
	look(4, 2);
	assert_int_equal(shown.xmit, 30);
	assert_int_equal(shown.xmit_words, 750);
	assert_int_equal(shown.xmit_unicast, 30);
	assert_int_equal(shown.rcv, 0);
	/* At the other end, and behind it; questions come the same way. */
	clear_all(5);
	send_data(1, 2, 30, 3000);
	look(5, 3);
	assert_int_equal(shown.rcv, 30 + 1);
	look(5, 1);
	assert_int_equal(shown.xmit, 30);
}

static void every_copy_is_counted(void **state)
{
	const struct world_route *to = world.routes;

	set_mft(&h1, &to[3], 0xc001, 0, 1 << 1 | 1 << 2 | 1 << 3);
	set_mft(&h1, &to[4], 0xc001, 0, 1 << 1 | 1 << 3);
	set_mft(&h1, &to[5], 0xc001, 0, 1 << 1 | 1 << 2);
	clear_all(4);
	send_data(2, 0xc001, 5, 500);
	look(4, 2);
	assert_int_equal(shown.rcv_multicast, 5);
	assert_int_equal(shown.rcv, 5);
	assert_int_equal(shown.rcv_words, 125);
	assert_int_equal(shown.rcv_unicast, 0);
	assert_int_equal(shown.xmit, 0);
	look(4, 1);
	assert_int_equal(shown.xmit_multicast, 5);
	look(4, 3);
	assert_int_equal(shown.xmit_multicast, 5);
	assert_int_equal(shown.xmit_words, 125);
	look(6, 1);
	assert_int_equal(shown.xmit_multicast, 5);
}

static void a_copy_with_nowhere_to_go_is_a_relay_error(void **state)
{
	const uint8_t *data;

	set_mft(&h1, &world.routes[3], 0xc001, 0, 1 << 1);
	clear_all(4);
	send_data(1, 0xc001, 5, 500);
	data = must(perf(4, MAD_METHOD_GET, PORT_COUNTERS, 1, 0));
	assert_int_equal(number(data, 12, 2), 5);
}

static void route_h2_by(unsigned int port)
{
	uint8_t lft[64];

	memcpy(lft,
	       must(ask(&h1, &world.routes[3], MAD_METHOD_GET, SMP_LINEAR_FT, 0, NULL)),
	       sizeof(lft));
	lft[2] = (uint8_t)port;
	must(ask(&h1, &world.routes[3], MAD_METHOD_SET, SMP_LINEAR_FT, 0, lft));
}

static void what_was_sent_goes_by_the_tables_of_then(void **state)
{
	clear_all(4);
	send_data(1, 2, 40, 4000);
	pending.asked = 0;
	route_h2_by(3);
	assert_int_equal(pending.asked, 1);
	assert_int_equal(pending.first, 0);
	assert_int_equal(pending.last, 63);
	route_h2_by(3); /* as it is */
	assert_int_equal(pending.asked, 1);
	send_data(1, 2, 50, 5000);
	look(4, 2);
	assert_int_equal(shown.xmit, 40);
	look(4, 3);
	assert_int_equal(shown.xmit, 50);
}

static void whatever_moves_data_asks_for_it_first(void **state)
{
	const struct world_route *s1 = &world.routes[3];
	struct smp_port_info info;

	pending.asked = 0;
	set_mft(&h1, s1, 0xc021, 0, 1 << 1);
	assert_int_equal(pending.asked, 1);
	assert_int_equal(pending.first, 0xc020);
	assert_int_equal(pending.last, 0xc03f);
	set_switch_info(&h1, s1, 100, 0xc3ff);
	assert_int_equal(pending.asked, 2);
	assert_int_equal(pending.first, 0);
	assert_int_equal(pending.last, 0xffff);
	info = port_info_for_set(&h1, s1, 1);
	info.enforcement = 0xc;
	must(set_port_info(&h1, s1, 1, &info));
	assert_int_equal(pending.asked, 3);
	must(set_port_info(&h1, s1, 1, &info));
	assert_int_equal(pending.asked, 3);
	send_data(3, 1, 60, 6000);
	clear_all(4);
	send_data(3, 1, 60, 6000);
	fabric_link_set(world.fabric, "s3", 2, false);
	assert_null(pending.from);
	look(4, 3);
	assert_int_equal(shown.rcv, 60);
	send_data(1, 2, 70, 7000);
	fabric_power_set(world.fabric, "s2", false);
	assert_null(pending.from);
	look(4, 2);
	assert_int_equal(shown.xmit, 70);
}

/* -- the class ----------------------------------------------------------------------- */

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

#define case_of(name)      cmocka_unit_test_setup_teardown(name, begin, end)
#define ring_case_of(name) cmocka_unit_test_setup_teardown(name, begin_ring, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(the_class_tells_what_it_can),
		case_of(management_datagrams_are_counted),
		case_of(data_is_counted_and_small_counters_stop),
		case_of(what_a_port_keeps_to_itself_is_on_no_link),
		case_of(data_that_gets_lost_is_counted_where_it_does),
		case_of(only_what_is_selected_is_cleared),
		ring_case_of(switches_count_what_they_forward),
		ring_case_of(every_copy_is_counted),
		ring_case_of(a_copy_with_nowhere_to_go_is_a_relay_error),
		ring_case_of(what_was_sent_goes_by_the_tables_of_then),
		ring_case_of(whatever_moves_data_asks_for_it_first),
		case_of(a_switch_shows_each_port_or_all),
		case_of(what_goes_wrong_is_counted_where_it_does),
		case_of(what_would_go_back_is_a_relay_error),
		case_of(a_switch_refuses_what_it_does_not_serve),
	};

	return harness_run(tests);
}
