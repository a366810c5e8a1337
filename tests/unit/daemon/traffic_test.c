/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes have sent, carried by the fabric: when it is asked for, and once. */
#include <unistd.h>

#include "daemon/traffic.h"
#include "unit/fabric_net/world.h"

/* On one switch, LID 4: h1 .. h3 with LIDs 1 .. 3. h1 looks, h2 sends. */
static struct world world;
static struct seat h1;
static struct traffic *traffic;
static struct shm_counters *counters;
static int counters_fd;

#define SLOT 17u

static void carry(void *arg, uint16_t first, uint16_t last)
{
	if (traffic)
		traffic_carry(traffic, first, last);
}

static void process_begins(void)
{
	assert_int_equal(shm_counters_create(SLOT, &counters_fd), 0);
	assert_int_equal(shm_counters_map(counters_fd, 1, &counters), 0);
	assert_int_equal(traffic_process_began(traffic, SLOT, counters,
					       fabric_hca_port(world.fabric, 1)),
			 0);
}

static void process_ends(void)
{
	traffic_process_ended(traffic, SLOT);
	shm_counters_unmap(counters);
	close(counters_fd);
}

static int begin(void **state)
{
	struct topology *t;

	assert_int_equal(topology_star(3, 1, &t), 0);
	world_begin_with(&world, t, (struct fabric_config){ .carry = carry });
	seat_take(&h1, &world, "h1");
	world_configure(&world, &h1, 0);
	assert_int_equal(traffic_create(&world.timers, &traffic), 0);
	process_begins();
	return 0;
}

static int end(void **state)
{
	process_ends();
	traffic_destroy(traffic);
	traffic = NULL;
	world_end(&world);
	return 0;
}

/* As an engine does. */
static void send_some(uint32_t pkey_index, uint16_t lid, uint64_t packets, uint64_t bytes)
{
	counters->flow_pkeys[lid] |= 1u << pkey_index;
	counters->flow_lids[lid / 64] |= 1ull << lid % 64;
	counters->flows[pkey_index][lid].sent += packets;
	counters->flows[pkey_index][lid].sent_bytes += bytes;
}

static const uint8_t *counters_of(uint8_t port, uint16_t attribute)
{
	uint8_t mad[256];

	seat_forget(&h1);
	smp_begin(mad, MAD_CLASS_PERF, MAD_METHOD_GET, attribute, 0, h1.next_tid++);
	mad[65] = port;
	assert_int_equal(gmp_send(&h1, mad, 4, 0xffff), 0);
	return must(seat_answer(&h1, mad));
}

static uint64_t counter(uint8_t port, unsigned int at)
{
	const uint8_t *data = counters_of(port, 0x1d);
	uint64_t v = 0;

	for (unsigned int i = 0; i < 8; i++)
		v = v << 8 | data[at + i];
	return v;
}

/* What the switch's port before h2 has received. */
static uint64_t words(void)
{
	return counter(2, 16);
}

static uint64_t packets(void)
{
	return counter(2, 32);
}

static uint64_t before_words, before_packets;

static void look(void)
{
	before_words = words();
	before_packets = packets();
}

static void each_datagram_is_carried_once(void **state)
{
	look();
	send_some(0, 3, 10, 400);
	assert_int_equal(packets() - before_packets, 10);
	assert_int_equal(words() - before_words, (400 + 10 * 32) / 4);
	assert_int_equal(packets() - before_packets, 10);
	send_some(0, 3, 5, 0);
	assert_int_equal(packets() - before_packets, 15);
}

static void multicast_has_a_grh(void **state)
{
	look();
	send_some(0, 0xc001, 10, 400);
	assert_int_equal(words() - before_words, (400 + 10 * 72) / 4);
	assert_int_equal(counter(2, 64), 10);
}

static void lids_at_every_edge_are_carried(void **state)
{
	static const uint16_t lids[] = { 1, 3, 63, 64, 127, 0xbfff, 0xc000, 0xfffe };

	look();
	for (size_t i = 0; i < sizeof(lids) / sizeof(lids[0]); i++)
		send_some(0, lids[i], 1, 0);
	traffic_carry(traffic, 64, 127);
	send_some(0, 0, 1000, 0); /* RoCE's */
	assert_int_equal(packets() - before_packets, 8);
}

static void other_lids_wait(void **state)
{
	struct fabric_port *h2 = fabric_hca_port(world.fabric, 1);

	look();
	send_some(0, 63, 1, 0);
	send_some(0, 64, 2, 0);
	send_some(0, 95, 4, 0);
	send_some(0, 96, 8, 0);
	traffic_carry(traffic, 64, 95);
	traffic_process_ended(traffic, SLOT); /* takes what is left along */
	assert_int_equal(packets() - before_packets, 15);
	assert_int_equal(traffic_process_began(traffic, SLOT, counters, h2), 0);
}

/* Index 1 is the partition of a switch's port that checks. */
static void each_goes_with_its_pkey(void **state)
{
	struct smp_port_info info = port_info_for_set(&h1, &world.routes[3], 3);
	uint8_t pkeys[64] = { 0xff, 0xff, 0x80, 0x07 };
	const struct world_route *to = world.routes;
	uint64_t before;

	must(ask(&h1, &to[1], MAD_METHOD_SET, SMP_PKEY_TABLE, 0, pkeys));
	info.enforcement = 0xc;
	must(set_port_info(&h1, &to[3], 3, &info));
	before = counter(3, 24);
	send_some(0, 3, 100, 0);
	send_some(1, 3, 7, 0);
	assert_int_equal(counter(3, 24) - before, 100);
	assert_int_equal(counters_of(3, 0x12)[16], 7); /* constraint errors */
}

/* What a program has written over its counters ends nowhere. */
static void nonsense_is_survived(void **state)
{
	look();
	for (uint32_t lid = 0; lid < SHM_LIDS_MAX; lid++)
		for (uint32_t i = 0; i < SHM_PKEYS_MAX; i += 5)
			send_some(i, (uint16_t)lid, lid, UINT64_MAX / 3);
	assert_true(packets() > before_packets);
	counters->flows[0][3].sent = 0;
	look();
	assert_int_equal(packets(), before_packets);
}

static uint64_t violations(struct smp_port_info *ret)
{
	*ret = port_info(&h1, &world.routes[1], 1);
	return (uint64_t)ret->pkey_violations << 16 | ret->qkey_violations;
}

/* And the SM, at h1, is told. */
static void refused_keys_are_counted_within_a_second(void **state)
{
	struct smp_port_info info;

	counters->pkey_violations = 3;
	counters->qkey_violations = 4;
	assert_int_equal(violations(&info), 0);
	seat_forget(&h1);
	world_pass(&world, 1000 * TIMER_MS);
	assert_int_equal(h1.count, 2);
	assert_int_equal(violations(&info), 3 << 16 | 4);
	world_pass(&world, 1000 * TIMER_MS);
	assert_int_equal(violations(&info), 3 << 16 | 4);
	counters->pkey_violations += 70000;
	counters->qkey_violations++;
	traffic_process_ended(traffic, SLOT);
	assert_int_equal(violations(&info), 65535u << 16 | 5);
	assert_int_equal(traffic_process_began(traffic, SLOT, counters,
					       fabric_hca_port(world.fabric, 1)),
			 0);
}

/* Nobody asks for counters. */
static void data_makes_an_armed_port_active_within_a_second(void **state)
{
	struct fabric_link_view v;

	fabric_link_set(world.fabric, "h3", 1, false);
	fabric_link_set(world.fabric, "h3", 1, true);
	must(set_state(&h1, &world.routes[3], 3, SMP_PORT_ARMED));
	must(set_state(&h1, &world.routes[3], 3, SMP_PORT_ACTIVE));
	must(set_state(&h1, &world.routes[2], 1, SMP_PORT_ARMED));
	send_some(0, 3, 1, 64);
	world_pass(&world, 1000 * TIMER_MS);
	fabric_link_view(world.fabric, 2, 1, &v);
	assert_int_equal(v.state, SMP_PORT_ACTIVE);
}

static void a_process_without_a_port_is_not_counted(void **state)
{
	assert_int_equal(traffic_process_began(traffic, SLOT + 1, counters, NULL), 0);
	traffic_process_ended(traffic, SLOT + 1);
	traffic_process_ended(traffic, SLOT + 2);
}

#define case_of(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(each_datagram_is_carried_once),
		case_of(multicast_has_a_grh),
		case_of(lids_at_every_edge_are_carried),
		case_of(other_lids_wait),
		case_of(each_goes_with_its_pkey),
		case_of(nonsense_is_survived),
		case_of(refused_keys_are_counted_within_a_second),
		case_of(data_makes_an_armed_port_active_within_a_second),
		case_of(a_process_without_a_port_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
