/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other records: what the SM found, paths, services, the server itself (spec/sa-sm 4).
 */
#include "unit/fabric_sa/world.h"

static int setup(void **state)
{
	*state = world_create(6);
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

static const uint8_t *record(struct world *w, const struct world_ask *ask, int status,
			     unsigned int stride)
{
	const struct world_mad *m = world_do(w, ask);

	assert_non_null(m);
	assert_int_equal(m->mad.status, status);
	assert_int_equal(m->sa.attr_offset, stride);
	return m->bytes + SA_DATA;
}

static unsigned int table_count(struct world *w, const struct world_ask *ask)
{
	struct world_table t;
	unsigned int count;

	world_table_get(w, &t, ask);
	count = t.count;
	world_table_end(&t);
	return count;
}

/* -- the server itself --------------------------------------------------------------- */

static void the_class_port_info_claims_what_is_served(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H2 get attr=1", 0);
	struct sa_class_port_info info;

	sa_class_port_info_get(record(w, &ask, 0, 0), &info);
	assert_int_equal(info.base_version, 1);
	assert_int_equal(info.class_version, 2);
	assert_int_equal(info.cap_mask, 0x2600); /* multicast, paths, capability match */
	assert_int_equal(info.cap_mask2,
			 0x1420); /* send-only full, the same for 2, aliases */
	assert_int_equal(info.resp_time, 16);
	assert_int_equal(info.redirect_qp, 1);
	assert_int_equal(info.redirect_lid, 0);
	assert_int_equal(info.trap_qkey, IB_GSI_QKEY);
}

static void the_sm_is_shown(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H2 get attr=18", 0);
	const uint8_t *data = record(w, &ask, 0, 4);
	struct smp_sm_info info;

	assert_int_equal(data[1], 1);
	smp_sm_info_get(data + 4, &info);
	assert_int_equal(info.guid, small_guid(1));
	assert_int_equal(info.state, SMP_SM_MASTER);
	assert_int_equal(info.priority, 3);
	assert_int_equal(info.sm_key, 0);
}

/* -- the subnet ---------------------------------------------------------------------- */

static void nodes_are_found_by_their_fields(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H2 table attr=11", 0);
	struct sa_node_record rec = { .lid = 4 };

	assert_int_equal(table_count(w, &ask), 7);
	ask = world_ask_of(w, "H2 get attr=11", 1);
	sa_node_record_put(ask.data, &rec);
	sa_node_record_get(record(w, &ask, 0, 14), &rec);
	assert_int_equal(rec.lid, 4);
	assert_int_equal(rec.info.port_guid, small_guid(4));
	assert_int_equal(rec.info.node_guid, small_guid(4) - 1);
	assert_int_equal(rec.info.local_port, 1);
	assert_string_equal((const char *)rec.description, "H04");
	/* By GUID, by type, by description. */
	ask = world_ask_of(w, "H2 get attr=11", 1ull << 8);
	sa_node_record_put(ask.data, &rec);
	record(w, &ask, 0, 14);
	ask = world_ask_of(w, "H2 get attr=11", 1ull << 14);
	sa_node_record_put(ask.data, &rec);
	record(w, &ask, 0, 14);
	rec.info.node_type = SMP_NODE_SWITCH;
	ask = world_ask_of(w, "H2 get attr=11", 1ull << 4);
	sa_node_record_put(ask.data, &rec);
	sa_node_record_get(record(w, &ask, 0, 14), &rec);
	assert_int_equal(rec.lid, SMALL_SWITCH_LID);
	ask = world_ask_of(w, "H2 get attr=11", 1);
	record(w, &ask, SA_NO_RECORDS, 0);
}

static void ports_out_of_sight_are_not_shown(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	small_host(&w->sm, 3)->pkeys[0] = 0x8001;
	ask = world_ask_of(w, "H2 table attr=11", 0);
	assert_int_equal(table_count(w, &ask), 6);
	small_lose(&w->sm, 4);
	ask = world_ask_of(w, "H2 table attr=11", 0);
	assert_int_equal(table_count(w, &ask), 5);
	/* Two limited members do not see each other. */
	small_host(&w->sm, 2)->pkeys[0] = 0x7fff;
	small_host(&w->sm, 5)->pkeys[0] = 0x7fff;
	ask = world_ask_of(w, "H2 table attr=11", 0);
	assert_int_equal(table_count(w, &ask), 5 - 1);
}

static void ports_are_matched_by_capabilities(void **state)
{
	struct world *w = *state;
	struct sa_port_record rec = { 0 };
	struct world_ask ask;

	for (unsigned int host = 1; host <= 6; host++)
		small_host(&w->sm, host)->info.cap_mask = SMP_CAP_CM | SMP_CAP_TRAP;
	small_host(&w->sm, 1)->info.cap_mask |= SMP_CAP_SM;
	small_host(&w->sm, 5)->info.mkey = 0x1234;
	ask = world_ask_of(w, "H2 table attr=12", 0);
	/* Six hosts, 64 ports of the switch, with a link or without, and its own. */
	assert_int_equal(table_count(w, &ask), 71);
	rec.info.cap_mask = SMP_CAP_SM;
	ask = world_ask_of(w, "H2 table attr=12 mod=80000000", 1 << 7);
	sa_port_record_put(ask.data, &rec);
	assert_int_equal(table_count(w, &ask), 1);
	ask = world_ask_of(w, "H2 table attr=12", 1 << 7);
	sa_port_record_put(ask.data, &rec);
	assert_int_equal(table_count(w, &ask), 0);
	rec.info.cap_mask = SMP_CAP_CM | SMP_CAP_TRAP;
	ask = world_ask_of(w, "H2 table attr=12", 1 << 7);
	sa_port_record_put(ask.data, &rec);
	assert_int_equal(table_count(w, &ask), 5);
	rec.lid = 5;
	rec.port = 1;
	ask = world_ask_of(w, "H2 get attr=12", 3);
	sa_port_record_put(ask.data, &rec);
	sa_port_record_get(record(w, &ask, 0, 9), &rec);
	assert_int_equal(rec.info.neighbor_mtu, 4);
	assert_int_equal(rec.info.state, SMP_PORT_ACTIVE);
	assert_int_equal(rec.info.mkey, 0); /* keys are not told */
}

static void links_are_shown_from_both_ends(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H2 table attr=20", 0);
	const uint8_t *data;

	assert_int_equal(table_count(w, &ask), 12);
	ask = world_ask_of(w, "H2 get attr=20", 1);
	ask.data[1] = 3;
	data = record(w, &ask, 0, 1);
	assert_int_equal(data[2], 1);
	assert_int_equal(data[3], 3);
	assert_int_equal(data[5], SMALL_SWITCH_LID);
	ask = world_ask_of(w, "H2 get attr=20", 1 << 3);
	ask.data[5] = 3;
	data = record(w, &ask, 0, 1);
	assert_int_equal(data[1], SMALL_SWITCH_LID);
	assert_int_equal(data[2], 3);
}

static void switches_pkeys_and_guids(void **state)
{
	struct world *w = *state;
	struct smp_switch_info info;
	struct world_ask ask;
	const uint8_t *data;

	w->sm.nodes[0].switch_info.mft_cap = 1024;
	ask = world_ask_of(w, "H2 get attr=14", 0);
	data = record(w, &ask, 0, 3);
	assert_int_equal(data[1], SMALL_SWITCH_LID);
	smp_switch_info_get(data + 4, &info);
	assert_int_equal(info.mft_cap, 1024);

	for (unsigned int i = 1; i < 40; i++)
		small_host(&w->sm, 3)->pkeys[i] = (uint16_t)(0x8000 + i);
	small_host(&w->sm, 3)->pkey_count = 40;
	ask = world_ask_of(w, "H2 get attr=33", 1);
	ask.data[1] = 3;
	record(w, &ask, SA_REQ_INVALID, 0);
	ask = world_ask_of(w, "H2 table attr=33 key=1", 1);
	ask.data[1] = 3;
	assert_int_equal(table_count(w, &ask), 2);
	ask = world_ask_of(w, "H2 get attr=33 key=1", 3);
	ask.data[1] = 3;
	ask.data[3] = 1;
	data = record(w, &ask, 0, 9);
	assert_int_equal(data[4], 1);
	assert_int_equal(data[8], 0x80);
	assert_int_equal(data[9], 32);
	assert_int_equal(data[8 + 2 * 8], 0); /* there are no more */

	ask = world_ask_of(w, "H2 get attr=30", 1);
	ask.data[1] = 3;
	data = record(w, &ask, 0, 9);
	assert_int_equal(data[15], small_guid(3) & 0xff);
}

static void forwarding_tables(void **state)
{
	struct world *w = *state;
	struct world_ask ask;
	const uint8_t *data;

	ask = world_ask_of(w, "H2 get attr=15", 1);
	ask.data[1] = SMALL_SWITCH_LID;
	data = record(w, &ask, 0, 9);
	assert_int_equal(data[3], 0);
	assert_int_equal(data[8 + 5], 5);
	ask = world_ask_of(w, "H2 table attr=17", 1);
	ask.data[1] = SMALL_SWITCH_LID;
	assert_int_equal(table_count(w, &ask), 2);
	ask = world_ask_of(w, "H2 get attr=17", 1 << 1);
	ask.data[2] = 1 << 4;
	data = record(w, &ask, 0, 9);
	assert_int_equal(data[2], 1 << 4);
	assert_int_equal(data[8 + 3], 1 << 1);
	ask = world_ask_of(w, "H2 table attr=17", 1 << 3);
	ask.data[3] = 1;
	assert_int_equal(table_count(w, &ask), 0);
}

/* -- tables that are read from the ports when somebody asks ---------------------------- */

static void lanes_of_every_pair_are_read(void **state)
{
	struct world *w = *state;
	struct world_table t;
	struct world_ask ask;
	const uint8_t *data;

	/* Six hosts; the switch has six ports and its own. */
	ask = world_ask_of(w, "H2 table attr=13", 0);
	world_table_get(w, &t, &ask);
	assert_int_equal(t.stride, 16);
	assert_int_equal(t.count, 7 * 7 + 6);
	for (unsigned int i = 0; i < 49; i++) {
		assert_int_equal(t.records[16 * i + 1], SMALL_SWITCH_LID);
		assert_int_equal(t.records[16 * i + 2], i % 7);
		assert_int_equal(t.records[16 * i + 3], i / 7);
		assert_int_equal(t.records[16 * i + 8], SMP_SL_TO_VL);
		assert_int_equal(t.records[16 * i + 10], i % 7);
		assert_int_equal(t.records[16 * i + 11], i / 7);
	}
	world_table_end(&t);
	assert_int_equal(w->sm.asked_most, 16);
	ask = world_ask_of(w, "H2 get attr=13", 7);
	ask.data[1] = SMALL_SWITCH_LID;
	ask.data[2] = 3;
	ask.data[3] = 5;
	data = record(w, &ask, 0, 2);
	assert_int_equal(data[2], 3);
	assert_int_equal(data[11], 5);
	ask = world_ask_of(w, "H2 get attr=13", 0);
	record(w, &ask, SA_TOO_MANY_RECORDS, 0);
	ask.data[1] = 77;
	ask = world_ask_of(w, "H2 get attr=13", 1);
	record(w, &ask, SA_NO_RECORDS, 0);
}

static void arbitration_has_four_blocks_a_port(void **state)
{
	struct world *w = *state;
	struct world_ask ask;
	const uint8_t *data;

	ask = world_ask_of(w, "H2 table attr=36", 0);
	assert_int_equal(table_count(w, &ask), 4 * (7 + 6));
	ask = world_ask_of(w, "H2 get attr=36", 7);
	ask.data[1] = 3;
	ask.data[2] = 77; /* an adapter's LID is the port */
	ask.data[3] = 4;
	data = record(w, &ask, 0, 9);
	assert_int_equal(data[2], 1);
	assert_int_equal(data[8], SMP_VL_ARB);
	assert_int_equal(data[9], 4);
	assert_int_equal(data[11], 1);
	ask.data[3] = 5;
	ask.mad.tid++;
	record(w, &ask, SA_NO_RECORDS, 0);
	/* Of ports in sight. */
	small_host(&w->sm, 3)->pkeys[0] = 0x8001;
	ask = world_ask_of(w, "H2 table attr=36", 1);
	ask.data[1] = 3;
	assert_int_equal(table_count(w, &ask), 0);
}

static void what_cannot_be_read_has_no_record(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.ask_error = -ETIMEDOUT;
	ask = world_ask_of(w, "H2 get attr=30", 1);
	ask.data[1] = 3;
	record(w, &ask, SA_NO_RECORDS, 0);
	ask = world_ask_of(w, "H2 table attr=30", 0);
	assert_int_equal(table_count(w, &ask), 0);
	/* Nor has a port that goes between. */
	w->sm.ask_error = 0;
	w->sm.ask_ns = TIMER_MS;
	ask = world_ask_of(w, "H2 get attr=30", 1);
	ask.data[1] = 3;
	world_ask_send(w, &ask);
	small_lose(&w->sm, 3);
	world_run(w, 2 * TIMER_MS);
	assert_int_equal(world_answer(w, &ask)->mad.status, SA_NO_RECORDS);
}

static uint64_t left_out(const struct world *w)
{
	struct sa_counters c;

	sa_server_counters(w->server, &c);
	return c.records_left_out;
}

static void what_a_mute_port_leaves_out_is_counted(void **state)
{
	struct world *w = *state;
	struct world_ask ask = world_ask_of(w, "H2 table attr=30", 0);
	unsigned int whole = table_count(w, &ask), arbitration;

	assert_int_equal(left_out(w), 0);
	w->sm.mute = 3;
	ask = world_ask_of(w, "H2 table attr=30", 0);
	assert_int_equal(table_count(w, &ask), whole - 1);
	assert_int_equal(left_out(w), 1);
	ask = world_ask_of(w, "H2 table attr=36", 0);
	arbitration = table_count(w, &ask);
	assert_int_equal(left_out(w), 1 + 4);
	ask = world_ask_of(w, "H2 table attr=13", 0);
	assert_true(table_count(w, &ask) > 16); /* in more than one round */
	assert_int_equal(left_out(w), 1 + 4 + 1);
	/* What has no such table has nothing that could be left out. */
	w->sm.mute = 0;
	w->sm.ask_error = -EREMOTEIO;
	ask = world_ask_of(w, "H2 table attr=30", 0);
	assert_int_equal(table_count(w, &ask), 0);
	w->sm.ask_error = 0;
	ask = world_ask_of(w, "H2 table attr=36", 0);
	assert_int_equal(table_count(w, &ask), arbitration + 4);
	assert_int_equal(left_out(w), 1 + 4 + 1);
}

static void a_reading_ends_with_the_master(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	w->sm.ask_ns = TIMER_MS;
	ask = world_ask_of(w, "H2 table attr=13", 0);
	assert_null(world_do(w, &ask));
	assert_int_equal(w->sm.asked_now, 16);
	assert_null(world_do(w, &ask)); /* a repetition asks nothing again */
	assert_int_equal(w->sm.asked_now, 16);
	sa_server_sm_ops.down(w->server);
	assert_int_equal(w->sm.asked_now, 0);
	sa_server_sm_ops.up(w->server);
	world_run(w, 5 * TIMER_MS);
	assert_null(world_answer(w, &ask));
	/* So many at once are refused. */
	for (unsigned int i = 0; i < 65; i++) {
		ask = world_ask_of(w, "H2 get attr=36", 7);
		ask.data[1] = 3;
		ask.data[2] = 1;
		ask.data[3] = 1;
		world_ask_send(w, &ask);
	}
	world_run(w, 0);
	assert_int_equal(world_answer(w, &ask)->mad.status, SA_NO_RESOURCES);
}

/* -- paths --------------------------------------------------------------------------- */

static struct world_ask ask_path(struct world *w, const char *text,
				 const struct sa_path *path, uint64_t mask)
{
	struct world_ask ask = world_ask_of(w, text, mask);

	sa_path_put(ask.data, path);
	return ask;
}

static struct sa_path path_of(unsigned int from, unsigned int to)
{
	struct sa_path path = { .numb_path = 1 };

	small_gid(&path.sgid, SMALL_PREFIX, small_guid(from));
	small_gid(&path.dgid, SMALL_PREFIX, small_guid(to));
	return path;
}

#define ENDS (SA_PR_DGID | SA_PR_SGID | SA_PR_NUMB_PATH)

/* The tail of the record measured for two hosts: spec/sa-sm 8. */
static void a_path_is_as_measured(void **state)
{
	static const uint8_t tail[24] = { 0x00, 0x05, 0x00, 0x02, 0x00, 0x00,
					  0x00, 0x00, 0x00, 0x80, 0xff, 0xff,
					  0x00, 0x00, 0x84, 0x83, 0x92 };
	struct world *w = *state;
	struct sa_path path = path_of(2, 5);
	struct world_ask ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	const uint8_t *data = record(w, &ask, 0, 8);

	assert_memory_equal(data + 8, path.dgid.raw, 16);
	assert_memory_equal(data + 24, path.sgid.raw, 16);
	assert_memory_equal(data + 40, tail, sizeof(tail));
}

static void a_path_is_as_wide_as_its_narrower_end(void **state)
{
	struct world *w = *state;
	struct sa_path path = path_of(2, 5), got;
	struct world_ask ask;

	small_host(&w->sm, 5)->info.neighbor_mtu = 3;
	small_host(&w->sm, 2)->info.speed_active = 2; /* 20 Gb/s */
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	sa_path_get(record(w, &ask, 0, 8), &got);
	assert_int_equal(got.mtu, 3);
	assert_int_equal(got.rate, 3);
	/* What is asked for exactly is what the path is used for. */
	path.mtu_selector = path.rate_selector = SA_SELECT_EQ;
	path.mtu = 2;
	path.rate = 2;
	ask = ask_path(w, "H2 get attr=35", &path,
		       ENDS | SA_PR_MTU | SA_PR_MTU_SELECTOR | SA_PR_RATE |
			       SA_PR_RATE_SELECTOR);
	sa_path_get(record(w, &ask, 0, 8), &got);
	assert_int_equal(got.mtu, 2);
	assert_int_equal(got.rate, 2);
	path.mtu = 4;
	ask = ask_path(w, "H2 get attr=35", &path, ENDS | SA_PR_MTU | SA_PR_MTU_SELECTOR);
	record(w, &ask, SA_NO_RECORDS, 0);
	path.mtu_selector = SA_SELECT_GT;
	path.mtu = 2;
	ask = ask_path(w, "H2 get attr=35", &path, ENDS | SA_PR_MTU | SA_PR_MTU_SELECTOR);
	record(w, &ask, 0, 8);
	/* The switch's end of a link counts as well. */
	w->sm.switch_ports[5].info.neighbor_mtu = 2;
	w->sm.switch_ports[5].info.width_active = 1;
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	sa_path_get(record(w, &ask, 0, 8), &got);
	assert_int_equal(got.mtu, 2);
	assert_int_equal(got.rate, 2);
	path.lifetime = 17;
	path.lifetime_selector = SA_SELECT_LT;
	ask = ask_path(w, "H2 get attr=35", &path,
		       ENDS | SA_PR_LIFE | SA_PR_LIFE_SELECTOR);
	record(w, &ask, SA_NO_RECORDS, 0);
	path.sl = 1;
	ask = ask_path(w, "H2 get attr=35", &path, ENDS | SA_PR_SL);
	record(w, &ask, SA_NO_RECORDS, 0);
}

static void paths_stay_in_partitions(void **state)
{
	struct world *w = *state;
	struct sa_path path = path_of(2, 5), got;
	struct world_ask ask;

	small_host(&w->sm, 2)->pkeys[1] = 0x8001;
	small_host(&w->sm, 2)->pkey_count = 2;
	small_host(&w->sm, 5)->pkeys[1] = 0x0001;
	small_host(&w->sm, 5)->pkey_count = 2;
	path.pkey = 0x8001;
	ask = ask_path(w, "H2 get attr=35", &path, ENDS | SA_PR_PKEY);
	sa_path_get(record(w, &ask, 0, 8), &got);
	assert_int_equal(got.pkey, 0x8001);
	path.pkey = 0x8002;
	ask = ask_path(w, "H2 get attr=35", &path, ENDS | SA_PR_PKEY);
	record(w, &ask, SA_NO_RECORDS, 0);
	/* Others see no path to where they cannot send. */
	small_host(&w->sm, 5)->pkey_count = 1;
	small_host(&w->sm, 5)->pkeys[0] = 0x8001;
	ask = ask_path(w, "H3 get attr=35", &path, ENDS);
	record(w, &ask, SA_NO_RECORDS, 0);
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	record(w, &ask, 0, 8);
	small_gid(&path.dgid, SMALL_PREFIX, 0x99);
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	record(w, &ask, SA_NO_RECORDS, 0);
}

static void tables_of_paths(void **state)
{
	struct world *w = *state;
	struct sa_path path = path_of(2, 5);
	struct world_ask ask;

	/* From one to all, by LID, from all to all; the switch is one of them. */
	ask = ask_path(w, "H2 table attr=35", &path, SA_PR_SGID);
	assert_int_equal(table_count(w, &ask), 7);
	path.slid = 2;
	path.dlid = 5;
	ask = ask_path(w, "H2 table attr=35", &path, SA_PR_SLID | SA_PR_DLID);
	assert_int_equal(table_count(w, &ask), 1);
	ask = ask_path(w, "H2 get attr=35", &path, SA_PR_SGID | SA_PR_DLID);
	record(w, &ask, 0, 8);
	path.dlid = 4; /* not of that GID */
	ask = ask_path(w, "H2 get attr=35", &path, ENDS | SA_PR_DLID);
	record(w, &ask, SA_NO_RECORDS, 0);
	ask = ask_path(w, "H2 table attr=35", &path, 0);
	assert_int_equal(table_count(w, &ask), 49);
	ask = ask_path(w, "H2 get attr=35", &path, SA_PR_SGID);
	record(w, &ask, SA_TOO_MANY_RECORDS, 0);
}

/* The tail measured for a group, with its flow label the right way round. */
static void a_path_to_a_group_is_the_group(void **state)
{
	static const uint8_t tail[24] = { 0xc0, 0x01, 0x00, 0x00, 0x00, 0x00,
					  0x77, 0x05, 0x03, 0x01, 0xff, 0xff,
					  0x00, 0x02, 0x84, 0x83, 0x80 };
	struct world *w = *state;
	struct sa_path path = path_of(2, 5), got;
	struct world_ask ask;

	world_assert(w, "H2 set create js=1 mgid=ff12::1 flow=77 hop=5 tclass=3 sl=2", 0);
	world_gid(&path.dgid, "ff12::1");
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	assert_memory_equal(record(w, &ask, 0, 8) + 40, tail, sizeof(tail));
	path.slid = 2;
	ask = ask_path(w, "H2 table attr=35", &path, ENDS | SA_PR_SLID);
	assert_int_equal(table_count(w, &ask), 1);
	/* Beyond the subnet it may travel. */
	world_assert(w, "H2 set create js=1 mgid=ff15::1 hop=5", 0);
	world_gid(&path.dgid, "ff15::1");
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	sa_path_get(record(w, &ask, 0, 8), &got);
	assert_int_equal(got.hop_limit, 255);
	assert_int_equal(got.reversible, 0);
	world_gid(&path.dgid, "ff12::2");
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	record(w, &ask, SA_NO_RECORDS, 0);
}

static void groups_of_other_partitions_have_no_path(void **state)
{
	struct world *w = *state;
	struct sa_path path = path_of(3, 5);
	struct world_ask ask;

	small_host(&w->sm, 2)->pkeys[1] = 0x8001;
	small_host(&w->sm, 2)->pkey_count = 2;
	world_assert(w, "H2 set create js=1 mgid=ff12::1 pkey=8001", 0);
	world_gid(&path.dgid, "ff12::1");
	ask = ask_path(w, "H3 get attr=35", &path, ENDS);
	record(w, &ask, SA_NO_RECORDS, 0);
	/* Nor has a source that is not in it. */
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	record(w, &ask, SA_NO_RECORDS, 0);
	path = path_of(2, 5);
	world_gid(&path.dgid, "ff12::1");
	ask = ask_path(w, "H2 get attr=35", &path, ENDS);
	record(w, &ask, 0, 8);
}

/* -- several paths ------------------------------------------------------------------- */

#define COUNTS (SA_MPR_SGID_COUNT | SA_MPR_DGID_COUNT)

static struct world_ask ask_paths(struct world *w, const struct sa_multi_path *m,
				  uint64_t mask)
{
	struct world_ask ask = world_ask_of(w, "H2 multi attr=3a", mask);

	sa_multi_path_put(ask.data, m);
	return ask;
}

static struct sa_multi_path paths_of(unsigned int from, unsigned int to)
{
	struct sa_multi_path m = { .sgid_count = (uint8_t)from,
				   .dgid_count = (uint8_t)to };

	for (unsigned int i = 0; i < from + to; i++)
		small_gid(&m.gids[i], SMALL_PREFIX, small_guid(1 + i));
	return m;
}

static void paths_between_several_are_one_table(void **state)
{
	struct world *w = *state;
	struct sa_multi_path m = paths_of(2, 3);
	struct world_ask ask = ask_paths(w, &m, COUNTS);
	struct sa_path path;
	struct world_table t;

	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 6);
	assert_int_equal(t.stride, SA_PATH_BYTES);
	for (unsigned int i = 0; i < 6; i++) {
		sa_path_get(t.records + SA_PATH_BYTES * i, &path);
		assert_int_equal(path.slid, 1 + i / 3);
		assert_int_equal(path.dlid, 3 + i % 3);
		assert_memory_equal(path.sgid.raw, m.gids[i / 3].raw, 16);
		assert_memory_equal(path.dgid.raw, m.gids[2 + i % 3].raw, 16);
	}
	world_table_end(&t);
	m.numb_path = 4;
	ask = ask_paths(w, &m, COUNTS | SA_MPR_NUMB_PATH);
	assert_int_equal(table_count(w, &ask), 4);
	m.mtu_selector = SA_SELECT_GT;
	m.mtu = 4; /* nobody can */
	ask = ask_paths(w, &m, COUNTS | SA_MPR_MTU_SELECTOR | SA_MPR_MTU);
	assert_int_equal(table_count(w, &ask), 0);
}

static void a_request_that_is_a_transfer_is_acknowledged(void **state)
{
	struct world *w = *state;
	struct sa_multi_path m = paths_of(1, 1);
	struct world_ask ask = ask_paths(w, &m, COUNTS);
	struct rmpp_header rmpp;

	ask.rmpp = (struct rmpp_header){ .version = 1,
					 .type = RMPP_DATA,
					 .flags = RMPP_ACTIVE | RMPP_FIRST | RMPP_LAST,
					 .segment = 1,
					 .payload_length = 220 };
	w->sent_count = 0;
	world_ask_send(w, &ask);
	world_run(w, 0);
	assert_int_equal(w->sent_count, 2);
	rmpp_header_get(w->sent[0].bytes, &rmpp);
	assert_int_equal(rmpp.type, RMPP_ACK);
	assert_int_equal(rmpp.segment, 1);
	assert_int_equal(w->sent[0].mad.attr_id, SA_MULTI_PATH_RECORD);
	assert_int_equal(w->sent[0].mad.method,
			 MAD_METHOD_GET_MULTI | MAD_METHOD_RESPONSE);
	rmpp_header_get(w->sent[1].bytes, &rmpp);
	assert_int_equal(rmpp.type, RMPP_DATA);
	assert_int_equal(w->sent[1].mad.attr_id, SA_PATH_RECORD);
	assert_int_equal(w->sent[1].mad.method,
			 MAD_METHOD_GET_MULTI | MAD_METHOD_RESPONSE);
	/* The acknowledgement was lost: once more, and nothing besides. */
	w->sent_count = 0;
	world_ask_send(w, &ask);
	assert_int_equal(w->sent_count, 1);
}

static void what_several_paths_need(void **state)
{
	struct world *w = *state;
	struct sa_multi_path m = paths_of(1, 1);
	struct world_ask ask;

	ask = ask_paths(w, &m, SA_MPR_SGID_COUNT);
	record(w, &ask, SA_INSUFFICIENT_COMPONENTS, 0);
	ask = ask_paths(w, &m, 0);
	record(w, &ask, SA_INSUFFICIENT_COMPONENTS, 0);
	m.dgid_count = 0;
	ask = ask_paths(w, &m, COUNTS);
	record(w, &ask, SA_INSUFFICIENT_COMPONENTS, 0);
	m.dgid_count = 11;
	ask = ask_paths(w, &m, COUNTS);
	record(w, &ask, SA_REQ_INVALID, 0);
	m.sgid_count = m.dgid_count = 255;
	ask = ask_paths(w, &m, COUNTS);
	record(w, &ask, SA_REQ_INVALID, 0);
	m = paths_of(1, 1);
	small_gid(&m.gids[1], SMALL_PREFIX, 4711);
	ask = ask_paths(w, &m, COUNTS);
	record(w, &ask, SA_REQ_INVALID_GID, 0);
	small_gid(&m.gids[1], 0xfec0000000000000ull, small_guid(2));
	ask = ask_paths(w, &m, COUNTS);
	record(w, &ask, SA_REQ_INVALID_GID, 0);
}

/* -- services ------------------------------------------------------------------------ */

static struct world_ask ask_service(struct world *w, const char *text,
				    const struct sa_service *rec, uint64_t mask)
{
	struct world_ask ask = world_ask_of(w, text, mask);

	sa_service_put(ask.data, rec);
	return ask;
}

static void services_are_kept_for_their_lease(void **state)
{
	struct world *w = *state;
	struct sa_service rec = { .id = 7, .lease = 10, .name = "ping" }, got;
	struct world_ask ask;

	small_gid(&rec.gid, SMALL_PREFIX, small_guid(2));
	ask = ask_service(w, "H2 set attr=31", &rec, 1);
	record(w, &ask, SA_REQ_INVALID, 0);
	ask = ask_service(w, "H2 set attr=31", &rec, 1 | 2 | 16);
	sa_service_get(record(w, &ask, 0, 22), &got);
	assert_int_equal(got.lease, 10);
	world_run(w, 4000 * TIMER_MS);
	ask = ask_service(w, "H3 get attr=31", &rec, 1 << 6);
	sa_service_get(record(w, &ask, 0, 22), &got);
	assert_int_equal(got.lease, 6);
	assert_int_equal(got.id, 7);
	world_run(w, 6000 * TIMER_MS);
	ask = ask_service(w, "H3 get attr=31", &rec, 1);
	record(w, &ask, SA_NO_RECORDS, 0);
	/* Without the component, for ever. */
	ask = ask_service(w, "H2 set attr=31", &rec, 1 | 2);
	sa_service_get(record(w, &ask, 0, 22), &got);
	assert_int_equal(got.lease, UINT32_MAX);
	world_run(w, 100000 * TIMER_MS);
	ask = ask_service(w, "H3 table attr=31", &rec, 0);
	assert_int_equal(table_count(w, &ask), 1);
	ask = ask_service(w, "H2 delete attr=31", &rec, 1 | 2);
	record(w, &ask, 0, 22);
	ask = ask_service(w, "H2 delete attr=31", &rec, 1 | 2);
	record(w, &ask, SA_NO_RECORDS, 0);
}

static void services_have_a_key_and_a_partition(void **state)
{
	struct world *w = *state;
	struct sa_service rec = { .id = 7, .key = "secret", .pkey = 0xffff }, got;
	static const uint8_t none[16];
	struct world_ask ask;

	small_gid(&rec.gid, SMALL_PREFIX, small_guid(2));
	ask = ask_service(w, "H2 set attr=31", &rec, 1 | 2 | 4);
	record(w, &ask, 0, 22);
	ask = ask_service(w, "H3 get attr=31", &rec, 1);
	sa_service_get(record(w, &ask, 0, 22), &got);
	assert_memory_equal(got.key, none, sizeof(none));
	ask = ask_service(w, "H3 get attr=31 key=1", &rec, 1);
	sa_service_get(record(w, &ask, 0, 22), &got);
	assert_memory_equal(got.key, rec.key, sizeof(none));
	rec.key[0] = 'x';
	ask = ask_service(w, "H3 delete attr=31", &rec, 1 | 2 | 4);
	record(w, &ask, SA_REQ_INVALID, 0);
	/* The port's own host needs none, and is not shown any. */
	ask = ask_service(w, "H2 set attr=31", &rec, 1 | 2 | 4);
	sa_service_get(record(w, &ask, 0, 22), &got);
	assert_memory_equal(got.key, none, sizeof(none));
	rec.key[0] = 0;
	ask = ask_service(w, "H2 delete attr=31", &rec, 1 << 6);
	record(w, &ask, 0, 22);
	rec.key[0] = 'y';
	ask = ask_service(w, "H2 set attr=31", &rec, 1 | 2 | 4);
	record(w, &ask, 0, 22);
	rec.key[0] = 'z';
	ask = ask_service(w, "H3 set attr=31", &rec, 1 | 2 | 4);
	record(w, &ask, SA_REQ_INVALID, 0);
	rec.pkey = 0x8001;
	ask = ask_service(w, "H3 set attr=31", &rec, 1 | 2 | 4);
	record(w, &ask, SA_REQ_INVALID, 0);
}

static void services_go_with_the_database(void **state)
{
	struct world *w = *state, *standby = world_create(6);
	struct sa_service rec = { .id = 7, .lease = 10 }, got;
	struct world_ask ask;
	uint8_t *bytes;
	size_t length;

	ask = ask_service(w, "H2 set attr=31", &rec, 1 | 2 | 16);
	record(w, &ask, 0, 22);
	world_run(w, 4000 * TIMER_MS);
	assert_int_equal(sa_server_save(w->server, &bytes, &length), 0);
	assert_int_equal(sa_server_load(standby->server, bytes, length), 0);
	ask = ask_service(standby, "H3 get attr=31", &rec, 1);
	sa_service_get(record(standby, &ask, 0, 22), &got);
	assert_int_equal(got.lease, 6);
	world_run(standby, 6000 * TIMER_MS);
	ask = ask_service(standby, "H3 get attr=31", &rec, 1);
	record(standby, &ask, SA_NO_RECORDS, 0);
	/* Who was master before does not know what has been since. */
	sa_server_sm_ops.down(w->server);
	sa_server_sm_ops.up(w->server);
	ask = ask_service(w, "H3 get attr=31", &rec, 1);
	record(w, &ask, SA_NO_RECORDS, 0);
	free(bytes);
	world_destroy(standby);
}

#define RECORDS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECORDS_TEST(the_class_port_info_claims_what_is_served),
		RECORDS_TEST(the_sm_is_shown),
		RECORDS_TEST(nodes_are_found_by_their_fields),
		RECORDS_TEST(ports_out_of_sight_are_not_shown),
		RECORDS_TEST(ports_are_matched_by_capabilities),
		RECORDS_TEST(links_are_shown_from_both_ends),
		RECORDS_TEST(switches_pkeys_and_guids),
		RECORDS_TEST(forwarding_tables),
		RECORDS_TEST(lanes_of_every_pair_are_read),
		RECORDS_TEST(arbitration_has_four_blocks_a_port),
		RECORDS_TEST(what_cannot_be_read_has_no_record),
		RECORDS_TEST(what_a_mute_port_leaves_out_is_counted),
		RECORDS_TEST(a_reading_ends_with_the_master),
		RECORDS_TEST(a_path_is_as_measured),
		RECORDS_TEST(a_path_is_as_wide_as_its_narrower_end),
		RECORDS_TEST(paths_stay_in_partitions),
		RECORDS_TEST(tables_of_paths),
		RECORDS_TEST(a_path_to_a_group_is_the_group),
		RECORDS_TEST(groups_of_other_partitions_have_no_path),
		RECORDS_TEST(paths_between_several_are_one_table),
		RECORDS_TEST(a_request_that_is_a_transfer_is_acknowledged),
		RECORDS_TEST(what_several_paths_need),
		RECORDS_TEST(services_are_kept_for_their_lease),
		RECORDS_TEST(services_have_a_key_and_a_partition),
		RECORDS_TEST(services_go_with_the_database),
	};

	return harness_run(tests);
}
