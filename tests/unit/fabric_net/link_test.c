// SPDX-License-Identifier: BSD-2-Clause
/*
 * Links and power, who hears of them, and the traps by which firmware tells the SM.
 */
#include <errno.h>

#include "world.h"

#define SECOND 1000000000ull

static struct world world;
static struct seat h1, h2;

/* h1, h2, h3 on s1; h4, h5, h6 on s2; trunks 4 -> 5 both ways. */
static int begin(void **state)
{
	struct topology *t;

	assert_int_equal(topology_ring(2, 3, 1, &t), 0);
	world_begin(&world, t);
	seat_take(&h1, &world, "h1");
	seat_take(&h2, &world, "h2");
	world_configure(&world, &h1, 0);
	seat_forget(&h2);
	return 0;
}

static int end(void **state)
{
	world_end(&world);
	return 0;
}

static struct fabric_link_view view(unsigned int node, unsigned int port)
{
	struct fabric_link_view v;

	fabric_link_view(world.fabric, node, port, &v);
	return v;
}

static struct notice notice_of(const struct arrived *a)
{
	struct notice n;

	assert_int_equal(a->mad[1], MAD_CLASS_SUBN_LID);
	assert_int_equal(a->mad[3], MAD_METHOD_TRAP);
	assert_int_equal(a->mad[17], SMP_NOTICE);
	notice_get(a->mad + SMP_DATA, NOTICE_TRAP_BYTES, &n);
	return n;
}

static void repress(struct seat *s, const struct arrived *a)
{
	uint8_t mad[256];

	memcpy(mad, a->mad, sizeof(mad));
	mad[3] = MAD_METHOD_TRAP_REPRESS;
	assert_int_equal(smp_send(s, mad, a->packet.slid), 0);
	world_run(s->world);
}

/* Bit 26 of the topology's order: switches are nodes 6 and 7. */
enum {
	S1 = 6,
	S2 = 7
};

static bool state_change_bit(struct seat *s, uint32_t node)
{
	struct smp_switch_info info;

	smp_switch_info_get(must(ask(s, &world.routes[node], MAD_METHOD_GET,
				     SMP_SWITCH_INFO, 0, NULL)),
			    &info);
	return info.state_change;
}

static void a_pulled_cable_takes_both_ends_down(void **state)
{
	uint64_t generation = fabric_routes_generation(world.fabric);

	assert_int_equal(view(1, 1).state, SMP_PORT_ACTIVE);
	assert_int_equal(fabric_link_set(world.fabric, "h2", 1, false), 0);
	assert_int_equal(h2.times_told, 0); /* not from inside the call */
	assert_int_equal(view(1, 1).state, SMP_PORT_DOWN);
	assert_int_equal(view(1, 1).phys_state, SMP_PHYS_POLLING);
	assert_false(view(1, 1).up);
	assert_true(view(1, 1).connected);
	assert_int_equal(view(S1, 2).state, SMP_PORT_DOWN);
	assert_true(fabric_routes_generation(world.fabric) > generation);
	assert_null(fabric_walk_unicast(h1.port, world_lid(1), 0xffff));
	world_run(&world);
	assert_int_equal(h2.changes, FABRIC_PORT_STATE);
	assert_int_equal(h2.times_told, 1);
	assert_int_equal(fabric_link_set(world.fabric, "s1", 2, true), 0);
	assert_int_equal(view(1, 1).state, SMP_PORT_INIT);
	assert_int_equal(view(S1, 2).state, SMP_PORT_INIT);
	assert_true(view(S1, 2).up);
	assert_int_equal(view(S1, 2).peer, 1);
	assert_int_equal(view(S1, 2).peer_port, 1);
}

static void changes_are_told_together(void **state)
{
	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_link_set(world.fabric, "h2", 1, true);
	fabric_port_set_issm(h2.port, FABRIC_ISSM_OURS, true);
	world_run(&world);
	assert_int_equal(h2.times_told, 1);
	assert_int_equal(h2.changes, FABRIC_PORT_STATE | FABRIC_PORT_OTHER);
}

static void who_leaves_hears_nothing_more(void **state)
{
	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_port_attach(h2.port, NULL, NULL);
	world_run(&world);
	assert_int_equal(h2.times_told, 0);
}

static unsigned int toggles;

static void toggle_issm(void *arg, unsigned int changes)
{
	if (toggles++ < 100)
		fabric_port_set_issm(h2.port, FABRIC_ISSM_OURS, toggles % 2);
}

static void what_hearing_changes_is_told_at_the_next_run(void **state)
{
	static const struct fabric_port_ops ops = { .changed = toggle_issm };

	toggles = 0;
	fabric_port_attach(h2.port, &ops, NULL);
	fabric_link_set(world.fabric, "h2", 1, false);
	timer_queue_run(&world.timers, world.timers.now_ns);
	assert_int_equal(toggles, 1);
	timer_queue_run(&world.timers, world.timers.now_ns);
	assert_int_equal(toggles, 2);
}

static void links_that_are_not_there_cannot_be_pulled(void **state)
{
	assert_int_equal(fabric_link_set(world.fabric, "h9", 1, false), -ENOENT);
	assert_int_equal(fabric_link_set(world.fabric, "h1", 0, false), -ENOENT);
	assert_int_equal(fabric_link_set(world.fabric, "h1", 2, false), -ENOENT);
	assert_int_equal(fabric_power_set(world.fabric, "h9", false), -ENOENT);
}

static void a_switch_tells_the_sm_of_its_ports(void **state)
{
	struct notice n;

	assert_false(state_change_bit(&h1, S2));
	fabric_link_set(world.fabric, "h5", 1, false);
	assert_true(state_change_bit(&h1, S2));
	assert_false(state_change_bit(&h1, S1));
	seat_forget(&h1);
	fabric_link_set(world.fabric, "h2", 1, false);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	n = notice_of(&h1.inbox[0]);
	assert_int_equal(n.trap, TRAP_LINK_STATE);
	assert_true(n.is_generic);
	assert_int_equal(n.type, 1);
	assert_int_equal(n.producer_type, SMP_NODE_SWITCH);
	assert_int_equal(n.issuer_lid, world_lid(S1));
	assert_int_equal(n.details[0] << 8 | n.details[1], world_lid(S1));
	assert_int_equal(h1.inbox[0].packet.slid, world_lid(S1));
	assert_int_equal(h1.inbox[0].packet.vl, 15);
}

static void a_trap_is_repeated_until_it_is_repressed(void **state)
{
	fabric_link_set(world.fabric, "h2", 1, false);
	world_pass(&world, 3 * SECOND); /* SubnetTimeOut 18 is 1.07 s */
	assert_int_equal(h1.count, 3);
	assert_memory_equal(h1.inbox[0].mad, h1.inbox[2].mad, 256);
	repress(&h1, &h1.inbox[0]);
	world_pass(&world, 20 * SECOND);
	assert_int_equal(h1.count, 3);
}

static void a_trap_that_nobody_represses_ends(void **state)
{
	fabric_link_set(world.fabric, "h2", 1, false);
	world_pass(&world, 100 * SECOND);
	assert_int_equal(h1.count, 10);
	seat_forget(&h1);
	fabric_link_set(world.fabric, "h2", 1, true);
	world_run(&world);
	assert_int_equal(h1.count, 1);
}

static void what_happens_meanwhile_is_told_after_the_answer(void **state)
{
	struct fabric_counters c;

	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_link_set(world.fabric, "h3", 1, false);
	fabric_link_set(world.fabric, "h3", 1, true);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	repress(&h1, &h1.inbox[0]);
	assert_int_equal(h1.count, 2);
	assert_memory_not_equal(h1.inbox[0].mad + 8, h1.inbox[1].mad + 8, 8);
	repress(&h1, &h1.inbox[0]); /* once more: of no use */
	world_pass(&world, 2 * SECOND);
	assert_int_equal(h1.count, 3);
	repress(&h1, &h1.inbox[1]);
	world_pass(&world, 20 * SECOND);
	assert_int_equal(h1.count, 3);
	fabric_counters(world.fabric, &c);
	assert_int_equal(c.nobody, 0); /* the switch's firmware took the answers */
}

static void without_lids_nobody_is_told(void **state)
{
	struct topology *t;

	world_end(&world);
	assert_int_equal(topology_star(2, 1, &t), 0);
	world_begin(&world, t);
	seat_take(&h1, &world, "h1");
	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_port_set_issm(h1.port, FABRIC_ISSM_OURS, true);
	world_pass(&world, 5 * SECOND);
	assert_int_equal(h1.count, 0);
}

static void an_sm_that_comes_is_told_to_the_one_there_is(void **state)
{
	struct notice n;

	fabric_port_set_issm(h2.port, FABRIC_ISSM_OURS, true);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	n = notice_of(&h1.inbox[0]);
	assert_int_equal(n.trap, TRAP_LOCAL_CHANGE);
	assert_int_equal(n.producer_type, SMP_NODE_CA);
	assert_int_equal(n.type, 4);
	assert_int_equal(n.details[2] << 8 | n.details[3], world_lid(1));
	assert_int_equal(n.details[9] & SMP_CAP_SM, SMP_CAP_SM);
	repress(&h1, &h1.inbox[0]);
	assert_int_equal(port_info(&h1, &world.routes[1], 1).cap_mask & SMP_CAP_SM,
			 SMP_CAP_SM);
	seat_forget(&h1);
	fabric_port_set_issm(h2.port, FABRIC_ISSM_OURS, true); /* no news */
	world_run(&world);
	assert_int_equal(h1.count, 0);
	fabric_port_set_issm(h2.port, FABRIC_ISSM_OURS, false);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	n = notice_of(&h1.inbox[0]);
	assert_int_equal(n.details[9] & SMP_CAP_SM, 0);
}

static void the_sms_own_trap_reaches_it_too(void **state)
{
	fabric_port_set_issm(h1.port, FABRIC_ISSM_OURS, true);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	assert_int_equal(h1.inbox[0].packet.slid, world_lid(0));
	repress(&h1, &h1.inbox[0]);
	world_pass(&world, 5 * SECOND);
	assert_int_equal(h1.count, 1); /* its own firmware took the answer */
}

/* -- ARMED --------------------------------------------------------------------------- */

/* The link of h2 anew, ACTIVE at the switch and ARMED at h2. */
static void arm_h2(void)
{
	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_link_set(world.fabric, "h2", 1, true);
	must(set_state(&h1, &world.routes[S1], 2, SMP_PORT_ARMED));
	must(set_state(&h1, &world.routes[S1], 2, SMP_PORT_ACTIVE));
	must(set_state(&h1, &world.routes[1], 1, SMP_PORT_ARMED));
	world_run(&world);
	seat_forget(&h2);
	assert_true(fabric_awaits_data(h1.port));
}

static void management_on_qp1_makes_an_armed_port_active(void **state)
{
	uint64_t generation;
	uint8_t mad[256];

	arm_h2();
	must(ask_lid(&h1, world_lid(1), MAD_METHOD_GET, SMP_NODE_INFO, 0)); /* VL15 */
	assert_int_equal(view(1, 1).state, SMP_PORT_ARMED);
	assert_non_null(fabric_walk_unicast(h1.port, world_lid(1), 0xffff)); /* asked */
	assert_int_equal(view(1, 1).state, SMP_PORT_ARMED);
	assert_null(fabric_walk_unicast(h2.port, world_lid(0), 0xffff));
	smp_begin(mad, MAD_CLASS_SUBN_ADM, MAD_METHOD_GET, 0x35, 0, 1);
	generation = fabric_routes_generation(world.fabric);
	assert_int_equal(gmp_send(&h1, mad, world_lid(1), 0xffff), 0);
	assert_int_equal(view(1, 1).state, SMP_PORT_ACTIVE);
	assert_true(fabric_routes_generation(world.fabric) > generation);
	world_run(&world);
	assert_int_equal(h2.count, 1);
	assert_int_equal(h2.changes, FABRIC_PORT_STATE);
	assert_non_null(fabric_walk_unicast(h2.port, world_lid(0), 0xffff));
	assert_false(fabric_awaits_data(h1.port));
	/* The SM's own step comes late, and is none. */
	must(set_state(&h1, &world.routes[1], 1, SMP_PORT_ACTIVE));
}

static void data_makes_an_armed_port_active(void **state)
{
	const struct fabric_load load = {
		.dlid = world_lid(1), .pkey = 0xffff, .packets = 1, .bytes = 64
	};

	arm_h2();
	fabric_port_carry(h1.port, &load);
	assert_int_equal(view(1, 1).state, SMP_PORT_ACTIVE);
	assert_false(fabric_awaits_data(h1.port));
}

static void a_switchs_port_is_made_active_too(void **state)
{
	uint8_t mad[256];

	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_link_set(world.fabric, "h2", 1, true);
	must(set_state(&h1, &world.routes[S1], 2, SMP_PORT_ARMED));
	must(set_state(&h1, &world.routes[1], 1, SMP_PORT_ARMED));
	must(set_state(&h1, &world.routes[1], 1, SMP_PORT_ACTIVE));
	smp_begin(mad, MAD_CLASS_SUBN_ADM, MAD_METHOD_GET, 0x35, 0, 1);
	assert_int_equal(gmp_send(&h2, mad, world_lid(0), 0xffff), 0);
	assert_int_equal(view(S1, 2).state, SMP_PORT_ACTIVE);
	fabric_power_set(world.fabric, "h2", false);
	assert_false(fabric_awaits_data(h1.port));
}

static void an_armed_port_that_falls_is_not_awaited(void **state)
{
	arm_h2();
	fabric_power_set(world.fabric, "h2", false);
	assert_false(fabric_awaits_data(h1.port));
}

/* -- power ------------------------------------------------------------------------- */

static void a_node_without_power_is_silent_and_its_links_are_down(void **state)
{
	uint8_t mad[256];

	assert_int_equal(fabric_power_set(world.fabric, "h2", false), 0);
	world_run(&world);
	assert_int_equal(h1.count, 1); /* s1 tells */
	assert_int_equal(view(S1, 2).state, SMP_PORT_DOWN);
	assert_true(h2.changes & FABRIC_PORT_STATE);
	assert_null(ask(&h1, &world.routes[1], MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL));
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_NODE_INFO, 0, 1);
	assert_int_equal(smp_send(&h2, mad, IB_LID_PERMISSIVE), -ENETDOWN);
	assert_int_equal(fabric_power_set(world.fabric, "h2", true), 0);
	must(ask(&h1, &world.routes[1], MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL));
}

static void power_off_forgets_what_an_sm_wrote(void **state)
{
	struct fabric_port_info info;
	struct fabric_node_view node;

	set_mft(&h1, &world.routes[S2], 0xc000, 0, 0x7);
	fabric_port_set_issm(h2.port, FABRIC_ISSM_OURS, true);
	for (unsigned int i = 0; i < 2; i++) {
		fabric_power_set(world.fabric, "h2", i);
		fabric_power_set(world.fabric, "s2", i);
		fabric_node_view(world.fabric, S2, &node);
		assert_int_equal(node.powered, i);
		assert_int_equal(node.lid, 0);
	}
	fabric_port_info(h2.port, &info);
	assert_int_equal(info.info.lid, 0);
	assert_int_equal(info.info.sm_lid, 0);
	assert_int_equal(info.info.state, SMP_PORT_INIT);
	assert_true(info.info.cap_mask & SMP_CAP_SM); /* who is attached still is */
	assert_false(fabric_mft_has(world.fabric, S2, 0xc000, 1));
	assert_true(state_change_bit(&h1, S2));
	assert_int_equal(must(ask(&h1, &world.routes[S2], MAD_METHOD_GET, SMP_LINEAR_FT,
				  0, NULL))[1],
			 0xff);
}

static void a_node_that_is_off_takes_a_cable_that_comes_back(void **state)
{
	fabric_power_set(world.fabric, "h2", false);
	fabric_link_set(world.fabric, "h2", 1, false);
	fabric_power_set(world.fabric, "h2", true);
	assert_int_equal(view(1, 1).state, SMP_PORT_DOWN);
	fabric_link_set(world.fabric, "h2", 1, true);
	assert_int_equal(view(1, 1).state, SMP_PORT_INIT);
}

/* -- trouble, time ----------------------------------------------------------------- */

static void what_is_lost_is_counted(void **state)
{
	struct fabric_trouble trouble = { .loss = 200000 };
	struct fabric_counters before, c;
	unsigned int answers = 0;

	fabric_counters(world.fabric, &before);
	fabric_trouble_set(world.fabric, &trouble);
	for (int i = 0; i < 1000; i++)
		answers += ask(&h1, &world.routes[3], MAD_METHOD_GET, SMP_NODE_INFO, 0,
			       NULL) != NULL;
	fabric_counters(world.fabric, &c);
	/* Three hops there and three back: 0.8 ^ 6 = 0.262. */
	assert_in_range(answers, 180, 350);
	assert_int_equal(c.lost - before.lost, 1000 - answers);
	assert_int_equal(c.delivered - before.delivered, answers);
}

static void packets_take_their_time_and_keep_their_order(void **state)
{
	struct fabric_config config = { .hop_latency_ns = 100 };
	struct topology *t;
	uint8_t mad[256];

	world_end(&world);
	assert_int_equal(topology_star(2, 1, &t), 0);
	world_begin_with(&world, t, config);
	seat_take(&h1, &world, "h1");
	seat_take(&h2, &world, "h2");
	for (uint64_t i = 0; i < 5; i++) {
		smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_SM_INFO, 0,
			  i);
		smp_set_path(mad, 2, (const uint8_t[]){ 1, 2 });
		assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	}
	world_pass(&world, 199);
	assert_int_equal(h2.count, 0);
	world_pass(&world, 1);
	assert_int_equal(h2.count, 5);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(h2.inbox[i].mad[15], i);
}

static void some_may_be_held_back(void **state)
{
	struct fabric_trouble trouble = { .reorder = 300000, .delay_ns = 1000 };
	unsigned int swaps = 0;
	uint8_t mad[256];

	fabric_trouble_set(world.fabric, &trouble);
	for (uint64_t i = 0; i < 50; i++) {
		smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_SM_INFO, 0,
			  i);
		smp_set_path(mad, 2, (const uint8_t[]){ 1, 2 });
		assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	}
	world_pass(&world, 2000);
	assert_int_equal(h2.count, 50);
	for (unsigned int i = 1; i < 50; i++)
		swaps += h2.inbox[i].mad[15] < h2.inbox[i - 1].mad[15];
	assert_in_range(swaps, 1, 49);
}

static void a_fabric_can_go_with_packets_under_way(void **state)
{
	uint8_t mad[256];

	fabric_link_set(world.fabric, "h2", 1, false); /* a trap and a notice */
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_SM_INFO, 0, 1);
	assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	fabric_destroy(world.fabric);
	world.fabric = NULL;
	assert_true(timer_queue_next(&world.timers) == UINT64_MAX);
}

#define case_of(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(management_on_qp1_makes_an_armed_port_active),
		case_of(data_makes_an_armed_port_active),
		case_of(a_switchs_port_is_made_active_too),
		case_of(an_armed_port_that_falls_is_not_awaited),
		case_of(a_pulled_cable_takes_both_ends_down),
		case_of(changes_are_told_together),
		case_of(who_leaves_hears_nothing_more),
		case_of(what_hearing_changes_is_told_at_the_next_run),
		case_of(links_that_are_not_there_cannot_be_pulled),
		case_of(a_switch_tells_the_sm_of_its_ports),
		case_of(a_trap_is_repeated_until_it_is_repressed),
		case_of(a_trap_that_nobody_represses_ends),
		case_of(what_happens_meanwhile_is_told_after_the_answer),
		case_of(without_lids_nobody_is_told),
		case_of(an_sm_that_comes_is_told_to_the_one_there_is),
		case_of(the_sms_own_trap_reaches_it_too),
		case_of(a_node_without_power_is_silent_and_its_links_are_down),
		case_of(power_off_forgets_what_an_sm_wrote),
		case_of(a_node_that_is_off_takes_a_cable_that_comes_back),
		case_of(what_is_lost_is_counted),
		case_of(packets_take_their_time_and_keep_their_order),
		case_of(some_may_be_held_back),
		case_of(a_fabric_can_go_with_packets_under_way),
	};

	return harness_run(tests);
}
