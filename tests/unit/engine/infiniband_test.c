// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/*
 * InfiniBand ports: groups to which entries lead that come and go, LIDs, headers with and
 * without GRH, P_Keys, and what a port must be to send.
 *
 * Three nodes with a port each, LIDs 0x10, 0x20 (of four, by LMC 2) and 0x30; a process on
 * each, one more on the first. What the HCA would compile is done by calls here.
 */
#include <sched.h>

#include "world.h"

#include "wire/grh.h"
#include "wire/ib_packet.h"

#define MLID  0xc005
#define PORTS 3u

static struct world world;
static struct world_process *here, *beside, *there, *far; /* ports 0, 0, 1, 2 */
static struct world_qp sender, receiver;
static const uint8_t mgid[16] = { 0xff, 0x12, 0xa0, 0x1b, [15] = 9 };
static const uint16_t lids[PORTS] = { 0x10, 0x20, 0x30 };

static struct shm_port *port_at(uint32_t p)
{
	return &world.tables->ports[p];
}

static void gid_at(uint32_t p, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	gid[15] = (uint8_t)(p + 1);
}

static void infiniband_port(uint32_t p)
{
	struct shm_port *port = port_at(p);

	world_port(&world, p, "10.0.0.1");
	port->link_layer = SHM_LINK_INFINIBAND;
	atomic_store(&port->lid, lids[p]);
	atomic_store(&port->lmc, p == 1 ? 2 : 0);
	atomic_store(&port->pkeys[1], 0x8123);
	atomic_store(&port->pkeys[2], 0x0123);
	gid_at(p, port->gids[0].gid);
	port->gids[0].type = SHM_GID_IB;
}

static void port_changed(uint32_t p)
{
	atomic_fetch_add(&port_at(p)->generation, 1);
	atomic_fetch_add(&world.tables->h.ports_generation, 1);
}

static struct world_process *start(uint32_t slot, uint32_t port)
{
	world.tables->slots[slot].node = port;
	return world_start(&world, slot);
}

/* A queue pair of the process on that port, in RTS. */
static void open_qp(struct world_qp *q, struct world_process *p, uint32_t port,
		    uint16_t pkey_index)
{
	struct engine_qp_attr attr = { .state = IBV_QPS_RTS,
				       .port_index = port,
				       .port_num = 1,
				       .pkey_index = pkey_index,
				       .qkey = WORLD_QKEY };

	world_qp_create_on(q, p, port, (struct world_qp_options){ .depth = 64 });
	engine_qp_modify(q->qp, &attr);
}

static int set_up(void **state)
{
	world_open(&world);
	for (uint32_t p = 0; p < PORTS; p++)
		infiniband_port(p);
	here = start(1, 0);
	beside = start(2, 0);
	there = start(3, 1);
	far = start(4, 2);
	open_qp(&sender, here, 0, 0);
	return 0;
}

static int tear_down(void **state)
{
	world_qp_destroy(&sender);
	world_close(&world);
	return 0;
}

/* -- what the HCA does ---------------------------------------------------------------- */

static uint32_t entry_from(uint32_t ingress)
{
	uint32_t entry = shm_group_find(world.tables, ingress, mgid, MLID);

	if (entry == SHM_NONE)
		assert_int_equal(
			shm_group_link(world.tables, ingress, mgid, MLID, &entry), 0);
	return entry;
}

/* Attach where datagrams come from port `first`, and from `second` unless SHM_NONE. */
static void attach(struct world_qp *q, uint32_t first, uint32_t second)
{
	uint32_t slot = q->process->slot;
	uint64_t generation = shm_group_set(world.tables, entry_from(first), slot);

	if (second != SHM_NONE)
		shm_group_set(world.tables, entry_from(second), slot);
	q->member = q->process->next_member++;
	assert_int_equal(engine_qp_attach_group(q->qp, mgid, MLID, generation, q->member),
			 0);
}

static void detach(struct world_qp *q)
{
	assert_int_equal(engine_qp_detach_group(q->qp, mgid, MLID), 0);
	for (uint32_t p = 0; p < PORTS; p++)
		shm_group_clear(world.tables, entry_from(p), q->process->slot);
}

static void change_route(uint32_t ingress, const struct world_qp *q, bool in)
{
	uint64_t words[SHM_SLOT_WORDS] = { [0] = 1ull << q->process->slot };
	uint32_t to;

	assert_int_equal(
		shm_group_relink(world.tables, entry_from(ingress), words, in, &to), 0);
}

/* A route from the port to the member appears; another one goes. */
static void lead(uint32_t ingress, const struct world_qp *q)
{
	change_route(ingress, q, true);
}

static void lead_no_more(uint32_t ingress, const struct world_qp *q)
{
	change_route(ingress, q, false);
}

/* -- sending and hearing --------------------------------------------------------------- */

static struct ibv_ah_attr group_attr(uint16_t mlid)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .dlid = mlid, .sl = 3 };

	memcpy(attr.grh.dgid.raw, mgid, 16);
	attr.grh.hop_limit = 7;
	attr.grh.traffic_class = 0x5a;
	attr.grh.flow_label = 0xabcde;
	return attr;
}

static void ah_of(struct world_process *p, uint32_t port, struct ibv_ah_attr attr,
		  struct engine_verbs_ah *ah)
{
	memset(ah, 0, sizeof(*ah));
	assert_int_equal(engine_ah_create(p->engine, WORLD_PD, port, &attr, &ah->engine),
			 0);
}

static void send_to(struct engine_verbs_ah *ah, uint32_t qpn, uint32_t number)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(&sender), 32, sender.lkey };
	struct ibv_send_wr *bad, wr = world_wr(ah, &sge);

	wr.wr.ud.remote_qpn = qpn;
	world_fill(world_send_buffer(&sender), number, 32);
	assert_int_equal(engine_qp_post_send(sender.qp, &wr, &bad), 0);
}

static uint64_t drops(enum drop_reason reason)
{
	return atomic_load(&here->counters->qps[sender.counters].drops[reason]);
}

/* Poll until nothing comes; how many came. The last completion is kept. */
static struct ibv_wc last;

static int hear(struct world_qp *q)
{
	struct ibv_wc wc[16];
	int n, total = 0;

	for (int idle = 0; idle < 3;) {
		n = world_poll(q, 16, wc);
		assert_true(n >= 0);
		idle = n ? 0 : idle + 1;
		if (n)
			last = wc[n - 1];
		total += n;
	}
	return total;
}

static void receive_on(struct world_process *p, uint32_t port, uint16_t pkey_index)
{
	open_qp(&receiver, p, port, pkey_index);
	assert_int_equal(world_post_recv(&receiver, 64), 0);
}

/* -- groups --------------------------------------------------------------------------- */

static void a_member_hears_by_every_entry_that_leads_to_it(void **state)
{
	struct engine_verbs_ah ah;

	receive_on(there, 1, 0);
	attach(&receiver, 1, 0);
	ah_of(here, 0, group_attr(MLID), &ah);
	send_to(&ah, 0xffffff, 1);
	assert_int_equal(hear(&receiver), 1);
	assert_int_equal(last.slid, 0x10);
	assert_int_equal(last.sl, 3);
	assert_int_equal(last.dlid_path_bits, 0);
	assert_int_equal(last.wc_flags, IBV_WC_GRH);
	assert_int_equal(last.byte_len, 72);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 1, 32));
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void the_header_is_a_grh(void **state)
{
	const uint8_t first[8] = { 0x65, 0xaa, 0xbc, 0xde, 0, 20 + 32 + 4, 0x1b, 7 };
	struct engine_verbs_ah ah;
	const uint8_t *grh;
	uint8_t gid[16];

	receive_on(there, 1, 0);
	attach(&receiver, 1, 0);
	ah_of(here, 0, group_attr(MLID), &ah);
	send_to(&ah, 0xffffff, 1);
	assert_int_equal(hear(&receiver), 1);
	grh = world_buffer(&receiver, 0);
	assert_memory_equal(grh, first, 8);
	gid_at(0, gid);
	assert_memory_equal(grh + 8, gid, 16);
	assert_memory_equal(grh + 24, mgid, 16);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void who_follows_the_log_and_is_not_reached_hears_nothing(void **state)
{
	struct ibv_ah_attr other_attr = group_attr(MLID + 1);
	struct engine_verbs_ah ah, other;
	uint32_t entry;

	receive_on(there, 1, 0);
	attach(&receiver, 1, SHM_NONE); /* by its own port's members alone */
	/* Another group's traffic makes it follow the log. */
	assert_int_equal(shm_group_link(world.tables, 0, mgid, MLID + 1, &entry), 0);
	shm_group_set(world.tables, entry, there->slot);
	shm_group_set(world.tables, entry_from(0), far->slot);
	ah_of(here, 0, group_attr(MLID), &ah);
	ah_of(here, 0, other_attr, &other);
	for (uint32_t i = 0; i < 5; i++) {
		send_to(&other, 0xffffff, i);
		send_to(&ah, 0xffffff, i);
	}
	assert_int_equal(hear(&receiver), 0);
	assert_int_equal(world_dropped_any(&receiver), 0);
	engine_ah_destroy(ah.engine);
	engine_ah_destroy(other.engine);
	world_qp_destroy(&receiver);
}

static void a_route_brings_what_is_sent_from_then_on(void **state)
{
	struct engine_verbs_ah ah;

	receive_on(there, 1, 0);
	attach(&receiver, 1, SHM_NONE);
	shm_group_set(world.tables, entry_from(0), far->slot);
	ah_of(here, 0, group_attr(MLID), &ah);
	/* Attached, but not reached: neither now nor when the log is found. */
	for (uint32_t i = 0; i < 5; i++)
		send_to(&ah, 0xffffff, i);
	lead(0, &receiver);
	send_to(&ah, 0xffffff, 5);
	assert_int_equal(hear(&receiver), 1);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 5, 32));
	/* What is on its way when the route goes arrives. */
	send_to(&ah, 0xffffff, 6);
	lead_no_more(0, &receiver);
	send_to(&ah, 0xffffff, 7);
	assert_int_equal(hear(&receiver), 1);
	assert_true(world_filled(world_buffer(&receiver, 1) + 40, 6, 32));
	lead(0, &receiver);
	send_to(&ah, 0xffffff, 8);
	assert_int_equal(hear(&receiver), 1);
	assert_true(world_filled(world_buffer(&receiver, 2) + 40, 8, 32));
	assert_int_equal(world_dropped_any(&receiver), 0);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

/* The entry is replaced for another member's sake; what was stamped with the old one is on
 * its way. */
static void a_member_that_stays_loses_nothing_when_entries_change(void **state)
{
	struct engine_verbs_ah ah;
	struct world_qp other;
	uint32_t n = 0;

	receive_on(there, 1, 0);
	open_qp(&other, far, 2, 0);
	attach(&receiver, 1, 0);
	attach(&other, 2, SHM_NONE);
	ah_of(here, 0, group_attr(MLID), &ah);
	for (unsigned int turn = 0; turn < 10; turn++) {
		send_to(&ah, 0xffffff, n++);
		lead(0, &other);
		send_to(&ah, 0xffffff, n++);
		lead_no_more(0, &other);
		send_to(&ah, 0xffffff, n++);
	}
	assert_int_equal(hear(&receiver), n);
	for (uint32_t i = 0; i < n; i++)
		assert_true(world_filled(world_buffer(&receiver, i) + 40, i, 32));
	assert_int_equal(world_delivered(&receiver), n);
	assert_int_equal(world_dropped_any(&receiver), 0);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&other);
	world_qp_destroy(&receiver);
}

/* An entry's index is used by another group that leads here, too. */
static void a_stale_stamp_is_not_taken_for_the_entrys_new_name(void **state)
{
	struct engine_verbs_ah ah;
	uint32_t old, entry;

	receive_on(there, 1, 0);
	attach(&receiver, 1, SHM_NONE);
	/* A group that leads to `there`, where nobody is attached. */
	assert_int_equal(shm_group_link(world.tables, 0, mgid, MLID + 1, &old), 0);
	shm_group_set(world.tables, old, there->slot);
	ah_of(here, 0, group_attr(MLID + 1), &ah);
	send_to(&ah, 0xffffff, 1);
	shm_group_unlink(world.tables, old);
	for (entry = entry_from(0); entry != old; entry = entry_from(0))
		shm_group_unlink(world.tables, entry);
	shm_group_set(world.tables, entry, there->slot);
	assert_int_equal(hear(&receiver), 0);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void exact_to_attach_and_detach(void **state)
{
	struct engine_verbs_ah ah;
	struct world_qp second;

	receive_on(there, 1, 0);
	open_qp(&second, there, 1, 0);
	assert_int_equal(world_post_recv(&second, 16), 0);
	attach(&receiver, 1, 0);
	ah_of(here, 0, group_attr(MLID), &ah);
	send_to(&ah, 0xffffff, 1);
	attach(&second, 1, 0);
	send_to(&ah, 0xffffff, 2);
	assert_int_equal(hear(&receiver), 2);
	assert_int_equal(hear(&second), 1);
	send_to(&ah, 0xffffff, 3);
	assert_int_equal(engine_qp_detach_group(receiver.qp, mgid, MLID), 0);
	assert_int_equal(engine_qp_detach_group(receiver.qp, mgid, MLID), -ENOENT);
	assert_int_equal(hear(&receiver), 0);
	assert_int_equal(hear(&second), 1);
	detach(&second);
	send_to(&ah, 0xffffff, 4);
	assert_int_equal(hear(&second), 0);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&second);
	world_qp_destroy(&receiver);
}

/* The bit stands a moment before the engine knows of the attach. */
static void what_came_between_grant_and_attach_is_looked_at_anew(void **state)
{
	struct engine_verbs_ah ah;
	uint64_t generation;

	receive_on(there, 1, 0);
	generation = shm_group_set(world.tables, entry_from(0), there->slot);
	ah_of(here, 0, group_attr(MLID), &ah);
	send_to(&ah, 0xffffff, 1);
	assert_int_equal(hear(&receiver), 0);
	assert_int_equal(engine_qp_attach_group(receiver.qp, mgid, MLID, generation, 0),
			 0);
	assert_int_equal(engine_qp_attach_group(receiver.qp, mgid, MLID, generation, 0),
			 -EEXIST);
	send_to(&ah, 0xffffff, 2);
	assert_int_equal(hear(&receiver), 1);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void another_mlid_is_told_from_no_group(void **state)
{
	struct engine_verbs_ah ah, none;
	struct ibv_ah_attr attr = group_attr(MLID);

	receive_on(beside, 0, 0);
	attach(&receiver, 0, SHM_NONE);
	ah_of(here, 0, group_attr(MLID + 1), &ah);
	send_to(&ah, 0xffffff, 1);
	assert_int_equal(drops(DROP_MLID), 1);
	attr.grh.dgid.raw[15]++;
	ah_of(here, 0, attr, &none);
	send_to(&none, 0xffffff, 1);
	assert_int_equal(drops(DROP_NO_GROUP), 1);
	assert_int_equal(hear(&receiver), 0);
	engine_ah_destroy(ah.engine);
	engine_ah_destroy(none.engine);
	world_qp_destroy(&receiver);
}

/* -- unicast -------------------------------------------------------------------------- */

static struct ibv_ah_attr lid_attr(uint16_t lid)
{
	return (struct ibv_ah_attr){ .port_num = 1, .dlid = lid, .sl = 9 };
}

static void a_lid_leads_where_the_tables_do(void **state)
{
	struct engine_verbs_ah ah;

	receive_on(there, 1, 0);
	ah_of(here, 0, lid_attr(0x22), &ah);
	send_to(&ah, receiver.qpn, 1);
	assert_int_equal(drops(DROP_NO_ROUTE), 1);
	shm_reach_set(world.tables, 0, 0x22, true);
	port_changed(0);
	send_to(&ah, receiver.qpn, 2);
	assert_int_equal(hear(&receiver), 1);
	assert_int_equal(last.wc_flags, 0);
	assert_int_equal(last.byte_len, 72);
	assert_int_equal(last.slid, 0x10);
	assert_int_equal(last.sl, 9);
	assert_int_equal(last.dlid_path_bits, 2);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(world_buffer(&receiver, 0)[i], 0);
	shm_reach_set(world.tables, 0, 0x22, false);
	port_changed(0);
	send_to(&ah, receiver.qpn, 3);
	assert_int_equal(drops(DROP_NO_ROUTE), 2);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void a_lid_that_moves_is_followed(void **state)
{
	struct engine_verbs_ah ah;

	receive_on(far, 2, 0);
	shm_reach_set(world.tables, 0, 0x30, true);
	shm_reach_set(world.tables, 0, 0x31, true);
	ah_of(here, 0, lid_attr(0x31), &ah);
	send_to(&ah, receiver.qpn, 1);
	assert_int_equal(drops(DROP_NO_ROUTE), 1);
	atomic_store(&port_at(2)->lid, 0x31);
	atomic_store(&port_at(0)->lid, 0x12);
	port_changed(2);
	port_changed(0);
	send_to(&ah, receiver.qpn, 2);
	assert_int_equal(hear(&receiver), 1);
	assert_int_equal(last.slid, 0x12);
	/* The sender's LID once more, with the header at hand. */
	atomic_store(&port_at(0)->lid, 0x14);
	port_changed(0);
	send_to(&ah, receiver.qpn, 3);
	assert_int_equal(hear(&receiver), 1);
	assert_int_equal(last.slid, 0x14);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void ones_own_lid_needs_no_switch(void **state)
{
	struct engine_verbs_ah ah;

	receive_on(beside, 0, 0);
	ah_of(here, 0, lid_attr(0x10), &ah);
	send_to(&ah, receiver.qpn, 1);
	assert_int_equal(hear(&receiver), 1);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void a_grh_must_name_who_has_the_lid(void **state)
{
	struct ibv_ah_attr attr = lid_attr(0x30);
	struct engine_verbs_ah right, wrong;

	receive_on(far, 2, 0);
	shm_reach_set(world.tables, 0, 0x30, true);
	attr.is_global = 1;
	attr.grh.flow_label = 0x12345;
	attr.grh.hop_limit = 1;
	gid_at(1, attr.grh.dgid.raw);
	ah_of(here, 0, attr, &wrong);
	gid_at(2, attr.grh.dgid.raw);
	ah_of(here, 0, attr, &right);
	send_to(&wrong, receiver.qpn, 1);
	assert_int_equal(drops(DROP_NO_ROUTE), 1);
	send_to(&right, receiver.qpn, 2);
	assert_int_equal(hear(&receiver), 1);
	assert_int_equal(last.wc_flags, IBV_WC_GRH);
	assert_memory_equal(world_buffer(&receiver, 0) + 24, attr.grh.dgid.raw, 16);
	assert_int_equal(world_buffer(&receiver, 0)[1], 0x01);
	assert_int_equal(world_buffer(&receiver, 0)[2], 0x23);
	assert_int_equal(world_buffer(&receiver, 0)[3], 0x45);
	engine_ah_destroy(right.engine);
	engine_ah_destroy(wrong.engine);
	world_qp_destroy(&receiver);
}

/* -- P_Keys, port states, handles ------------------------------------------------------- */

static void two_limited_members_do_not_hear_each_other(void **state)
{
	struct engine_verbs_ah ah;
	struct engine_qp_attr attr = {
		.state = IBV_QPS_RTS, .port_num = 1, .pkey_index = 2, .qkey = WORLD_QKEY
	};
	struct shm_counters *c = here->counters;

	receive_on(there, 1, 2); /* limited */
	attach(&receiver, 1, 0);
	ah_of(here, 0, group_attr(MLID), &ah);
	send_to(&ah, 0xffffff, 1); /* default partition */
	engine_qp_modify(sender.qp, &attr);
	send_to(&ah, 0xffffff, 2); /* limited */
	attr.pkey_index = 1;
	engine_qp_modify(sender.qp, &attr);
	send_to(&ah, 0xffffff, 3); /* full */
	assert_int_equal(hear(&receiver), 1);
	assert_int_equal(last.pkey_index, 2);
	assert_int_equal(world_dropped(&receiver, DROP_PKEY), 2);
	assert_true(world_filled(world_buffer(&receiver, 0) + 40, 3, 32));
	assert_int_equal(there->counters->pkey_violations, 2);
	assert_int_equal(there->counters->qkey_violations, 0);
	/* What was sent is counted by LID and P_Key. */
	assert_true(c->flow_lids[MLID / 64] >> MLID % 64 & 1);
	assert_int_equal(c->flow_pkeys[MLID] & 6, 6);
	assert_int_equal(c->flows[1][MLID].sent, 1);
	assert_int_equal(c->flows[2][MLID].sent, 1);
	assert_int_equal(c->flows[2][MLID].sent_bytes, 32);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void only_an_active_port_sends(void **state)
{
	static const enum ibv_port_state states[] = { IBV_PORT_DOWN, IBV_PORT_INIT,
						      IBV_PORT_ARMED };
	struct engine_verbs_ah ah;

	receive_on(beside, 0, 0);
	attach(&receiver, 0, SHM_NONE);
	ah_of(here, 0, group_attr(MLID), &ah);
	for (uint32_t i = 0; i < 3; i++) {
		atomic_store(&port_at(0)->state, states[i]);
		send_to(&ah, 0xffffff, i);
		assert_int_equal(drops(DROP_PORT_DOWN), i + 1);
	}
	atomic_store(&port_at(0)->state, IBV_PORT_ACTIVE);
	send_to(&ah, 0xffffff, 3);
	assert_int_equal(hear(&receiver), 1);
	engine_ah_destroy(ah.engine);
	world_qp_destroy(&receiver);
}

static void a_handle_must_be_sound(void **state)
{
	struct ibv_ah_attr attr = group_attr(MLID);
	struct engine_ah *ah;

	attr.is_global = 0; /* multicast has a GRH */
	assert_int_equal(engine_ah_create(here->engine, WORLD_PD, 0, &attr, &ah),
			 -EINVAL);
	attr = lid_attr(0x20);
	attr.sl = 16;
	assert_int_equal(engine_ah_create(here->engine, WORLD_PD, 0, &attr, &ah),
			 -EINVAL);
	attr = group_attr(MLID);
	attr.grh.sgid_index = SHM_GIDS_MAX;
	assert_int_equal(engine_ah_create(here->engine, WORLD_PD, 0, &attr, &ah),
			 -EINVAL);
}

static void a_source_gid_counts_with_a_grh_only(void **state)
{
	struct engine_verbs_ah with, without;

	receive_on(beside, 0, 0);
	attach(&receiver, 0, SHM_NONE);
	ah_of(here, 0, group_attr(MLID), &with);
	ah_of(here, 0, lid_attr(0x10), &without);
	atomic_store(&port_at(0)->gids[0].valid, 77);
	port_changed(0);
	send_to(&with, 0xffffff, 1);
	assert_int_equal(drops(DROP_NO_SOURCE), 1);
	send_to(&without, receiver.qpn, 2);
	assert_int_equal(hear(&receiver), 1);
	engine_ah_destroy(with.engine);
	engine_ah_destroy(without.engine);
	world_qp_destroy(&receiver);
}

/* -- entries that change under traffic -------------------------------------------------- */

/* How far each of the three is. Entries are changed a few times for each datagram that
 * came, so that fewer are used again than rest while any is on its way. */
static struct {
	_Atomic uint32_t sent, received, changes;
	_Atomic bool over;
	struct engine_verbs_ah ah;
	struct world_qp other;
} race;

#define RACE_WINDOW        32u
#define DATAGRAMS_A_CHANGE 64u /* at most */

/* Neither the receiver nor who changes is left behind. */
static bool may_send(uint32_t i)
{
	return i - atomic_load(&race.received) < RACE_WINDOW &&
	       i / DATAGRAMS_A_CHANGE <= atomic_load(&race.changes);
}

/* Who has nothing to do, and yields alone, keeps the others from a CPU that is shared. */
static void let_others(uint32_t *turns)
{
	if (++*turns % 8)
		sched_yield();
	else
		harness_pause();
}

static void *send_all(void *arg)
{
	uint32_t count = harness_count(20000, 2000000), turns = 0;

	for (uint32_t i = 0; i < count; i++) {
		while (!may_send(i))
			let_others(&turns);
		send_to(&race.ah, 0xffffff, i);
		atomic_store(&race.sent, i + 1);
	}
	return NULL;
}

static void *change_all(void *arg)
{
	uint32_t n = 0, seen = 0, left = 8, turns = 0;

	while (!atomic_load(&race.over)) {
		uint32_t received = atomic_load(&race.received);

		left = received == seen ? left : 8;
		seen = received;
		if (!left) {
			let_others(&turns);
			continue;
		}
		left--;
		lead(0, &race.other);
		lead_no_more(0, &race.other);
		atomic_store(&race.changes, ++n);
	}
	return NULL;
}

static void who_stays_hears_all_while_entries_are_replaced(void **state)
{
	uint32_t count = harness_count(20000, 2000000), next = 0, turns = 0;
	pthread_t sending, changing;

	memset(&race, 0, sizeof(race));
	receive_on(there, 1, 0);
	open_qp(&race.other, far, 2, 0);
	attach(&receiver, 1, 0);
	attach(&race.other, 2, SHM_NONE);
	ah_of(here, 0, group_attr(MLID), &race.ah);
	pthread_create(&sending, NULL, send_all, NULL);
	pthread_create(&changing, NULL, change_all, NULL);
	while (next < count) {
		struct ibv_wc wc[16];
		int n = world_poll(&receiver, 16, wc);

		if (!n)
			let_others(&turns);
		for (int i = 0; i < n; i++, next++)
			assert_true(world_filled(
				world_buffer(&receiver, wc[i].wr_id) + 40, next, 32));
		assert_int_equal(world_post_recv(&receiver, (uint32_t)n), 0);
		atomic_store(&race.received, next);
		assert_int_equal(world_dropped_any(&receiver), 0);
	}
	atomic_store(&race.over, true);
	pthread_join(sending, NULL);
	pthread_join(changing, NULL);
	assert_true(atomic_load(&race.changes) >= (count - 1) / DATAGRAMS_A_CHANGE);
	engine_ah_destroy(race.ah.engine);
	world_qp_destroy(&race.other);
	world_qp_destroy(&receiver);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_member_hears_by_every_entry_that_leads_to_it),
		T(the_header_is_a_grh),
		T(who_follows_the_log_and_is_not_reached_hears_nothing),
		T(a_route_brings_what_is_sent_from_then_on),
		T(a_member_that_stays_loses_nothing_when_entries_change),
		T(a_stale_stamp_is_not_taken_for_the_entrys_new_name),
		T(exact_to_attach_and_detach),
		T(what_came_between_grant_and_attach_is_looked_at_anew),
		T(another_mlid_is_told_from_no_group),
		T(a_lid_leads_where_the_tables_do),
		T(a_lid_that_moves_is_followed),
		T(ones_own_lid_needs_no_switch),
		T(a_grh_must_name_who_has_the_lid),
		T(two_limited_members_do_not_hear_each_other),
		T(only_an_active_port_sends),
		T(a_handle_must_be_sound),
		T(a_source_gid_counts_with_a_grh_only),
		T(who_stays_hears_all_while_entries_are_replaced),
	};

	return harness_run(tests);
}
