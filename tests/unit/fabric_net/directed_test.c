// SPDX-License-Identifier: BSD-2-Clause
/*
 * Directed routes, row by row of the tables in spec/sa-sm 3.2. The fabric:
 *
 *	h1[1] -- [1]s1[2] -- [1]s2[2] -- [1]h2[2] -- [1]s3
 */
#include <errno.h>

#include "world.h"

static const char text[] = "Hca 1 \"h1\"\n[1] \"s1\"[1]\n"
			   "Switch 4 \"s1\"\n[2] \"s2\"[1]\n"
			   "Switch 4 \"s2\"\n[2] \"h2\"[1]\n"
			   "Hca 2 \"h2\"\n[2] \"s3\"[1]\n"
			   "Switch 2 \"s3\"\n";

static struct world world;
static struct seat h1, h2, s1, s2;

static int begin(void **state)
{
	world_begin_text(&world, text);
	seat_take(&h1, &world, "h1");
	seat_take(&h2, &world, "h2");
	seat_take(&s1, &world, "s1");
	seat_take(&s2, &world, "s2");
	return 0;
}

static int end(void **state)
{
	world_end(&world);
	return 0;
}

static uint64_t bad_hops(void)
{
	struct fabric_counters c;

	fabric_counters(world.fabric, &c);
	return c.bad_hops;
}

static uint64_t port_down(void)
{
	struct fabric_counters c;

	fabric_counters(world.fabric, &c);
	return c.port_down;
}

/* A request as a process makes it, for an SM, so that who is there sees it. */
static void request(uint8_t mad[256], uint8_t pointer, uint8_t hops, const uint8_t *path)
{
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_SM_INFO, 0, 77);
	smp_set_path(mad, hops, path);
	mad[6] = pointer;
}

static void response(uint8_t mad[256], uint8_t pointer, uint8_t hops, const uint8_t *path)
{
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET_RESP, SMP_SM_INFO, 0, 77);
	mad[4] = 0x80;
	mad[6] = pointer;
	mad[7] = hops;
	if (hops)
		memcpy(mad + SMP_RETURN_PATH + 1, path, hops);
}

static void assert_discarded(struct seat *from, const uint8_t mad[256])
{
	uint64_t before = bad_hops();

	assert_int_equal(smp_send(from, mad, IB_LID_PERMISSIVE), 0);
	world_run(&world);
	assert_int_equal(bad_hops(), before + 1);
	assert_int_equal(h1.count + h2.count + s1.count + s2.count, 0);
}

static void assert_discarded_by_lid(struct seat *from, const uint8_t mad[256],
				    uint16_t lid)
{
	uint64_t before = bad_hops();

	assert_int_equal(smp_send(from, mad, lid), 0);
	world_run(&world);
	assert_int_equal(bad_hops(), before + 1);
	assert_int_equal(from->count, 0);
}

static const uint8_t *assert_arrives(struct seat *from, const uint8_t mad[256],
				     struct seat *to)
{
	assert_int_equal(smp_send(from, mad, IB_LID_PERMISSIVE), 0);
	assert_int_equal(to->count, 0); /* not from inside the call */
	world_run(&world);
	assert_int_equal(h1.count + h2.count + s1.count + s2.count, 1);
	assert_int_equal(to->count, 1);
	assert_int_equal(to->inbox[0].packet.slid, IB_LID_PERMISSIVE);
	assert_int_equal(to->inbox[0].packet.dlid, IB_LID_PERMISSIVE);
	assert_int_equal(to->inbox[0].packet.vl, 15);
	assert_int_equal(to->inbox[0].packet.dest_qp, 0);
	return to->inbox[0].mad;
}

static void no_hops_end_at_the_own_port(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 0, NULL);
	assert_int_equal(assert_arrives(&h1, mad, &h1)[6], 1);
}

static void the_sender_starts_the_pointer_and_each_hop_moves_it(void **state)
{
	uint8_t mad[256];
	const uint8_t *at;

	request(mad, 0, 3, (const uint8_t[]){ 1, 2, 2 });
	at = assert_arrives(&h1, mad, &h2);
	assert_int_equal(at[6], 4);
	assert_int_equal(at[7], 3);
	/* Hop 1 came into s1 by port 1, hop 2 into s2 by port 1, hop 3 into h2 by port 1. */
	assert_memory_equal(at + SMP_RETURN_PATH, "\0\1\1\1\0", 5);
	assert_memory_equal(at + SMP_INITIAL_PATH, "\0\1\2\2\0", 5);
	assert_int_equal(mad[6], 0); /* the sender's own bytes are his */
}

static void the_first_hop_must_be_the_senders_port(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 1, (const uint8_t[]){ 2 });
	assert_discarded(&h1, mad);
	request(mad, 0, 1, (const uint8_t[]){ 0 });
	assert_discarded(&h1, mad);
}

static void a_switch_sends_by_any_of_its_ports(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 1, (const uint8_t[]){ 1 });
	assert_arrives(&s1, mad, &h1);
	seat_forget(&h1);
	request(mad, 0, 1, (const uint8_t[]){ 2 });
	assert_arrives(&s1, mad, &s2);
	seat_forget(&s2);
	request(mad, 0, 1, (const uint8_t[]){ 5 });
	assert_discarded(&s1, mad);
}

static void a_pointer_amid_the_path_is_for_switches(void **state)
{
	uint8_t mad[256];

	request(mad, 1, 2, (const uint8_t[]){ 9, 2 });
	assert_arrives(&s1, mad, &s2);
	seat_forget(&s2);
	request(mad, 1, 2, (const uint8_t[]){ 1, 1 });
	assert_discarded(&h1, mad);
}

static void a_pointer_at_the_end_or_behind_is_local(void **state)
{
	uint8_t mad[256];

	request(mad, 2, 2, (const uint8_t[]){ 1, 2 });
	assert_int_equal(assert_arrives(&h1, mad, &h1)[6], 3);
	seat_forget(&h1);
	request(mad, 3, 2, (const uint8_t[]){ 1, 2 });
	assert_int_equal(assert_arrives(&h1, mad, &h1)[6], 3);
	seat_forget(&h1);
	request(mad, 4, 2, (const uint8_t[]){ 1, 2 });
	assert_discarded(&h1, mad);
}

static void an_adapter_forwards_nothing(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 4, (const uint8_t[]){ 1, 2, 2, 2 });
	assert_discarded(&h1, mad);
}

static void a_switch_refuses_ports_it_does_not_have(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 2, (const uint8_t[]){ 1, 5 });
	assert_discarded(&h1, mad);
	request(mad, 0, 2, (const uint8_t[]){ 1, 0 });
	assert_discarded(&h1, mad);
}

static void a_port_without_a_link_passes_nothing(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 2, (const uint8_t[]){ 1, 4 });
	assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), 0);
	world_run(&world);
	assert_int_equal(port_down(), 1);
	assert_int_equal(fabric_link_set(world.fabric, "h1", 1, false), 0);
	assert_int_equal(smp_send(&h1, mad, IB_LID_PERMISSIVE), -ENETDOWN);
	request(mad, 0, 0, NULL);
	assert_arrives(&h1, mad, &h1);
}

static void more_than_63_hops_are_too_many(void **state)
{
	uint8_t mad[256], path[64];

	memset(path, 1, sizeof(path));
	request(mad, 0, 63, path);
	assert_discarded(&s1, mad); /* h1 does not forward; but it went */
	assert_int_equal(bad_hops(), 1);
	mad[7] = 64;
	assert_discarded(&s1, mad);
}

static void sixty_three_hops_are_walked(void **state)
{
	uint8_t mad[256], path[63];
	const uint8_t *at;

	/* To and fro between the switches; the 63rd hop leads into s2. */
	for (int i = 0; i < 63; i++)
		path[i] = i % 2 ? 1 : 2;
	request(mad, 0, 63, path);
	at = assert_arrives(&s1, mad, &s2);
	assert_int_equal(at[6], 64);
	assert_int_equal(at[SMP_RETURN_PATH + 63], 1);
	assert_int_equal(at[SMP_RETURN_PATH + 62], 2);
}

static void a_response_goes_back_by_the_return_path(void **state)
{
	uint8_t mad[256];

	response(mad, 4, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_int_equal(assert_arrives(&h2, mad, &h1)[6], 0);
}

static void a_response_leaves_an_adapter_by_the_port_it_is_sent_from(void **state)
{
	uint8_t mad[256];

	response(mad, 4, 3, (const uint8_t[]){ 1, 1, 2 });
	assert_discarded(&h2, mad);
}

static void a_response_amid_the_path_is_for_switches(void **state)
{
	uint8_t mad[256];

	response(mad, 2, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_arrives(&s1, mad, &h1);
	seat_forget(&h1);
	response(mad, 2, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_discarded(&h2, mad);
	/* h1 is no switch and so cannot be the second hop. */
	response(mad, 4, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_discarded(&s1, mad);
}

static void a_response_at_pointer_1_or_0_has_arrived(void **state)
{
	uint8_t mad[256];

	response(mad, 1, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_int_equal(assert_arrives(&h2, mad, &h2)[6], 0);
	seat_forget(&h2);
	response(mad, 0, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_int_equal(assert_arrives(&h2, mad, &h2)[6], 0);
	seat_forget(&h2);
	response(mad, 1, 0, NULL);
	assert_int_equal(assert_arrives(&h2, mad, &h2)[6], 0);
	seat_forget(&h2);
	response(mad, 5, 3, (const uint8_t[]){ 1, 1, 1 });
	assert_discarded(&h2, mad);
}

/* To a switch by LID, on from there by hops; and back by the hops, then by LID. */
static void a_route_may_begin_by_lid(void **state)
{
	uint16_t switch_lid = world_lid(1), mine = world_lid(0);
	struct smp_node_info info;
	uint8_t mad[256];

	world_configure(&world, &h1, 0);
	seat_forget(&h1);
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, MAD_METHOD_GET, SMP_NODE_INFO, 0, 78);
	smp_set_path(mad, 2, (const uint8_t[]){ 2, 2 });
	mad[SMP_DR_SLID] = (uint8_t)(mine >> 8);
	mad[SMP_DR_SLID + 1] = (uint8_t)mine;
	assert_int_equal(smp_send(&h1, mad, switch_lid), 0);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	assert_int_equal(mad_status(h1.inbox[0].mad), 0);
	assert_int_equal(h1.inbox[0].mad[6], 0);
	smp_node_info_get(h1.inbox[0].mad + SMP_DATA, &info);
	assert_int_equal(info.node_type, SMP_NODE_CA);
	assert_int_equal(info.num_ports, 2);
	/* The switch itself. */
	seat_forget(&h1);
	mad[7] = 0;
	assert_int_equal(smp_send(&h1, mad, switch_lid), 0);
	world_run(&world);
	assert_int_equal(h1.count, 1);
	smp_node_info_get(h1.inbox[0].mad + SMP_DATA, &info);
	assert_int_equal(info.node_type, SMP_NODE_SWITCH);
	/* Adapters have no hops to go on by, and hops begin at the first. */
	seat_forget(&h1);
	mad[7] = 2;
	assert_discarded_by_lid(&h1, mad, world_lid(3));
	mad[6] = 1;
	assert_discarded_by_lid(&h1, mad, switch_lid);
	mad[6] = 0;
	mad[SMP_DR_SLID] = 0xc0; /* where nobody can be told */
	assert_int_equal(smp_send(&h1, mad, switch_lid), 0);
	world_run(&world);
	assert_int_equal(h1.count, 0);
}

static void a_route_that_ends_by_lid_is_refused(void **state)
{
	uint8_t mad[256];

	request(mad, 0, 1, (const uint8_t[]){ 1 });
	mad[SMP_DR_DLID + 1] = 4;
	assert_discarded(&h1, mad);
}

static void firmware_answers_and_the_asker_sees_pointer_0(void **state)
{
	static const struct world_route far = { true, 3, { 1, 2, 2 } };
	uint8_t *answer = ask(&h1, &far, MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL);
	struct smp_node_info info;

	smp_node_info_get(must(answer), &info);
	assert_int_equal(answer[6], 0);
	assert_int_equal(answer[7], 3);
	assert_int_equal(answer[4] & 0x80, 0x80);
	assert_int_equal(info.local_port, 1);
	assert_int_equal(info.node_type, SMP_NODE_CA);
	assert_int_equal(h2.count, 0);
}

static void the_port_that_was_asked_is_the_one_it_came_in_by(void **state)
{
	static const struct world_route near = { true, 1, { 1 } },
					far = { true, 2, { 1, 2 } };
	struct smp_node_info info;
	struct seat other;
	static const struct world_route from_s3 = { true, 1, { 1 } };

	smp_node_info_get(must(ask(&h1, &near, MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL)),
			  &info);
	assert_int_equal(info.local_port, 1);
	smp_node_info_get(must(ask(&h1, &far, MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL)),
			  &info);
	assert_int_equal(info.local_port, 1);
	smp_node_info_get(must(ask(&s2, &near, MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL)),
			  &info);
	assert_int_equal(info.local_port, 2);
	seat_take(&other, &world, "s3");
	smp_node_info_get(
		must(ask(&other, &from_s3, MAD_METHOD_GET, SMP_NODE_INFO, 0, NULL)),
		&info);
	assert_int_equal(info.local_port, 2);
	assert_int_equal(info.port_guid, info.node_guid + 2);
}

static void what_is_no_mad_is_counted(void **state)
{
	uint8_t mad[256];
	struct ib_packet packet = { .dlid = 0xffff, .payload = mad, .length = 255 };
	struct fabric_counters c;

	request(mad, 0, 0, NULL);
	assert_int_equal(fabric_port_send(h1.port, &packet), 0);
	packet.length = 256;
	mad[1] = MAD_CLASS_SUBN_ADM; /* not on QP0 */
	assert_int_equal(fabric_port_send(h1.port, &packet), 0);
	world_run(&world);
	fabric_counters(world.fabric, &c);
	assert_int_equal(c.malformed, 2);
	assert_int_equal(c.delivered, 0);
}

#define case_of(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		case_of(no_hops_end_at_the_own_port),
		case_of(the_sender_starts_the_pointer_and_each_hop_moves_it),
		case_of(the_first_hop_must_be_the_senders_port),
		case_of(a_switch_sends_by_any_of_its_ports),
		case_of(a_pointer_amid_the_path_is_for_switches),
		case_of(a_pointer_at_the_end_or_behind_is_local),
		case_of(an_adapter_forwards_nothing),
		case_of(a_switch_refuses_ports_it_does_not_have),
		case_of(a_port_without_a_link_passes_nothing),
		case_of(more_than_63_hops_are_too_many),
		case_of(sixty_three_hops_are_walked),
		case_of(a_response_goes_back_by_the_return_path),
		case_of(a_response_leaves_an_adapter_by_the_port_it_is_sent_from),
		case_of(a_response_amid_the_path_is_for_switches),
		case_of(a_response_at_pointer_1_or_0_has_arrived),
		case_of(a_route_may_begin_by_lid),
		case_of(a_route_that_ends_by_lid_is_refused),
		case_of(firmware_answers_and_the_asker_sees_pointer_0),
		case_of(the_port_that_was_asked_is_the_one_it_came_in_by),
		case_of(what_is_no_mad_is_counted),
	};

	return harness_run(tests);
}
