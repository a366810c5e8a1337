// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a port does to those who send by it: a network that no wire reaches, a link that
 * is down, an address that is taken away, a device that is removed.
 */
#include "world.h"

static struct world world;
static struct world_process *alice, *bob;
static struct world_qp sender, receiver;
static struct engine_verbs_ah group_ah, empty_ah, nowhere_ah;

/* The receiver is in group 1 and nobody in group 2; nobody has 192.0.2.1. */
static int set_up(void **state)
{
	uint8_t gid[16];

	world_open(&world);
	alice = world_start(&world, 1);
	bob = world_start(&world, 2);
	world_qp_create(&sender, alice,
			(struct world_qp_options){ .depth = 4, .signal_all = true });
	world_qp_create(&receiver, bob, (struct world_qp_options){ .depth = 64 });
	world_attach(&receiver, 1);
	world_post_recv(&receiver, 64);
	world_group_ah(alice, 1, &group_ah);
	world_group_ah(alice, 2, &empty_ah);
	gid_from_ipv4(gid, inet_addr("192.0.2.1"));
	world_ah(alice, gid, &nowhere_ah);
	return 0;
}

static int tear_down(void **state)
{
	engine_ah_destroy(group_ah.engine);
	engine_ah_destroy(empty_ah.engine);
	engine_ah_destroy(nowhere_ah.engine);
	world_qp_destroy(&sender);
	world_qp_destroy(&receiver);
	world_close(&world);
	return 0;
}

static struct shm_port *port(void)
{
	return &world.tables->ports[0];
}

static uint64_t drops(enum drop_reason reason)
{
	return atomic_load(&alice->counters->qps[sender.counters].drops[reason]);
}

/* Succeeds, as far as the sender sees. */
static void send_to(struct engine_verbs_ah *ah)
{
	struct ibv_wc wc;

	assert_int_equal(world_send(&sender, ah, 8), 0);
	assert_int_equal(engine_cq_poll(sender.send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static int received(void)
{
	struct ibv_wc wc[8];

	while (engine_turn(bob->engine))
		;
	return world_poll(&receiver, 8, wc);
}

static void on_the_loopback_nobody_is_nobody(void **state)
{
	send_to(&empty_ah);
	send_to(&nowhere_ah);
	assert_int_equal(drops(DROP_NO_GROUP), 1);
	assert_int_equal(drops(DROP_NO_ROUTE), 1);
	assert_int_equal(drops(DROP_WIRE_OFF), 0);
}

static void on_a_network_nobody_may_be_somebody_beyond_the_wire(void **state)
{
	atomic_store(&port()->flags, SHM_PORT_NETWORK);
	send_to(&empty_ah);
	send_to(&nowhere_ah);
	assert_int_equal(drops(DROP_WIRE_OFF), 2);
	/* A group that had members is the same. */
	send_to(&group_ah);
	assert_int_equal(received(), 1);
	world_detach(&receiver, 1, true);
	send_to(&group_ah);
	assert_int_equal(drops(DROP_WIRE_OFF), 3);
	/* With members here, it is theirs, and nothing is said of others. */
	world_attach(&receiver, 1);
	send_to(&group_ah);
	assert_int_equal(received(), 1);
	assert_int_equal(drops(DROP_WIRE_OFF), 3);
	assert_int_equal(drops(DROP_NO_GROUP) + drops(DROP_NO_MEMBER), 0);
}

static void a_foreign_address_that_appears_is_found(void **state)
{
	atomic_store(&port()->flags, SHM_PORT_NETWORK);
	for (int i = 0; i < 3; i++)
		send_to(&nowhere_ah);
	assert_int_equal(drops(DROP_WIRE_OFF), 3);
	world_port(&world, 1, "192.0.2.1");
	send_to(&nowhere_ah);
	assert_int_equal(drops(DROP_WIRE_OFF), 3);
	assert_int_equal(drops(DROP_NO_QP), 1);
	/* And lost again. */
	atomic_store(&world.tables->ports[1].gids[0].valid, 0);
	atomic_fetch_add(&world.tables->h.ports_generation, 1);
	send_to(&nowhere_ah);
	assert_int_equal(drops(DROP_WIRE_OFF), 4);
}

static void a_port_without_a_link_sends_nothing(void **state)
{
	atomic_store(&port()->state, IBV_PORT_DOWN);
	send_to(&group_ah);
	assert_int_equal(received(), 0);
	assert_int_equal(drops(DROP_PORT_DOWN), 1);
	atomic_store(&port()->state, IBV_PORT_ACTIVE);
	send_to(&group_ah);
	assert_int_equal(received(), 1);
	assert_int_equal(drops(DROP_PORT_DOWN), 1);
}

/* Not even by whoever has the place in the table now: it would speak with another's
 * address. */
static void a_source_that_is_gone_sends_nothing(void **state)
{
	struct engine_verbs_ah fresh;

	send_to(&group_ah);
	assert_int_equal(received(), 1);
	atomic_store(&port()->gids[0].valid, 0);
	send_to(&group_ah);
	assert_int_equal(drops(DROP_NO_SOURCE), 1);
	atomic_store(&port()->gids[0].valid, 99);
	send_to(&group_ah);
	assert_int_equal(drops(DROP_NO_SOURCE), 2);
	assert_int_equal(received(), 0);
	world_group_ah(alice, 1, &fresh);
	send_to(&fresh);
	assert_int_equal(received(), 1);
	engine_ah_destroy(fresh.engine);
}

static void the_mtu_is_the_ports_at_the_moment(void **state)
{
	struct ibv_wc wc;

	atomic_store(&port()->active_mtu, IBV_MTU_256);
	assert_int_equal(world_send(&sender, &group_ah, 257), 0);
	assert_int_equal(drops(DROP_TOO_LONG), 1);
	assert_int_equal(world_send(&sender, &group_ah, 256), 0);
	assert_int_equal(received(), 1);
	while (engine_cq_poll(sender.send_cq, 1, &wc))
		;
}

static void a_removed_device_takes_its_queue_pairs_alone(void **state)
{
	struct ibv_wc wc[8];

	/* All queue pairs of this world are of device 0. */
	engine_fail_device(bob->engine, 7);
	assert_int_equal(engine_qp_state(receiver.qp), IBV_QPS_RTS);
	engine_fail_device(bob->engine, 0);
	assert_int_equal(engine_qp_state(receiver.qp), IBV_QPS_ERR);
	assert_int_equal(world_poll(&receiver, 8, wc), 8);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	/* Posting is flushed, not refused: the process is not cut off. */
	engine_fail_device(alice->engine, 0);
	assert_int_equal(world_send(&sender, &group_ah, 8), 0);
	assert_int_equal(engine_cq_poll(sender.send_cq, 8, wc), 1);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(on_the_loopback_nobody_is_nobody),
		TEST(on_a_network_nobody_may_be_somebody_beyond_the_wire),
		TEST(a_foreign_address_that_appears_is_found),
		TEST(a_port_without_a_link_sends_nothing),
		TEST(a_source_that_is_gone_sends_nothing),
		TEST(the_mtu_is_the_ports_at_the_moment),
		TEST(a_removed_device_takes_its_queue_pairs_alone),
	};

	return harness_run(tests);
}
