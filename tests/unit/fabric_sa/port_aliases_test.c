/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port by GUIDs that it has beside its own: joined by them, found by them, reached by
 * them, as OpenSM does it.
 */
#include "unit/fabric_sa/world.h"

#define NEEDED   3ull /* LID and block of a GUIDInfoRecord */
#define PLACE(i) (1ull << (4 + (i)))

/* H2's, in places 1 and 2. */
#define ALIAS       0x1234
#define OTHER       0x5678
#define ALIAS_GID   "fe80::1234"
#define OTHER_GID   "fe80::5678"
#define SECOND      (1000 * TIMER_MS)
#define NOBODYS_GID "fe80::9abc"

static uint64_t guid_of(const union ib_gid *gid)
{
	uint64_t guid = 0;

	for (unsigned int i = 8; i < 16; i++)
		guid = guid << 8 | gid->raw[i];
	return guid;
}

static struct world_ask guids_ask(struct world *w, const char *text, unsigned int host,
				  unsigned int place, uint64_t guid)
{
	struct world_ask ask;

	world_ask_parse(w, &ask, text);
	ask.raw = true;
	ask.sa.comp_mask = NEEDED | PLACE(place);
	ask.data[1] = (uint8_t)host;
	for (unsigned int i = 0; i < 8; i++)
		ask.data[8 + 8 * place + i] = (uint8_t)(guid >> 8 * (7 - i));
	return ask;
}

static int change(struct world *w, const char *text, unsigned int host,
		  unsigned int place, uint64_t guid)
{
	struct world_ask ask = guids_ask(w, text, host, place, guid);
	const struct world_mad *m = world_do(w, &ask);

	assert_non_null(m);
	return m->mad.status;
}

static int setup(void **state)
{
	struct world *w = world_create(6);

	*state = w;
	assert_int_equal(change(w, "H2 set attr=30", 2, 1, ALIAS), 0);
	assert_int_equal(change(w, "H2 set attr=30", 2, 2, OTHER), 0);
	return 0;
}

static int teardown(void **state)
{
	world_destroy(*state);
	return 0;
}

/* -- memberships ---------------------------------------------------------------------- */

static void a_join_by_an_alias_is_a_membership_of_its_own(void **state)
{
	struct world *w = *state;
	struct sa_mcmember rec;

	rec = world_record(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID);
	assert_int_equal(guid_of(&rec.port_gid), ALIAS);
	assert_int_equal(rec.join_state, 1);
	/* The switches lead to the port. */
	assert_int_equal(w->sm.last_count, 1);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(2));
	/* By its own GUID it is no member yet, */
	world_assert(w, "H2 delete join mgid=ff12::1 js=1", SA_REQ_INVALID);
	rec = world_record(w, "H2 set join mgid=ff12::1 js=4");
	assert_int_equal(rec.join_state, 4);
	/* and then twice. */
	assert_int_equal(world_count(w, "H2 table key=1 mgid=ff12::1"), 2);
	assert_int_equal(world_count(w, "H2 table key=1 port=" ALIAS_GID), 1);
	assert_int_equal(world_count(w, "H2 table key=1 port=H2"), 1);
	assert_int_equal(world_count(w, "H2 table key=1 port=" OTHER_GID), 0);
	rec = world_record(w, "H2 get key=1 port=" ALIAS_GID);
	assert_int_equal(guid_of(&rec.port_gid), ALIAS);
	assert_int_equal(rec.proxy_join, 0);
	/* The alias was the last full member. */
	rec = world_record(w, "H2 delete join mgid=ff12::1 js=1 port=" ALIAS_GID);
	assert_int_equal(rec.join_state, 0);
	assert_int_equal(world_count(w, "H2 table mgid=ff12::1"), 0);
}

static void note_port(void *arg, const struct sa_group_view *group,
		      const struct sa_member_view *member)
{
	uint64_t *guids = arg;

	if (group->members != 1)
		return;
	guids[0] = guid_of(&member->port_gid);
	guids[1] = member->port_guid;
}

static void whose_an_alias_is_is_told(void **state)
{
	struct world *w = *state;
	uint64_t guids[2] = { 0 };

	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
	sa_server_each_group(w->server, NULL, note_port, guids);
	assert_int_equal(guids[0], ALIAS);
	assert_int_equal(guids[1], small_guid(2));
	world_assert(w, "H2 delete join mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
	world_assert(w, "H2 set create mgid=ff12::1 js=1", 0);
	sa_server_each_group(w->server, NULL, note_port, guids);
	assert_int_equal(guids[0], small_guid(2));
	assert_int_equal(guids[1], small_guid(2));
}

static void others_join_an_alias_as_they_join_a_port(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
	world_assert(w, "H3 set join mgid=ff12::1 js=1 port=" ALIAS_GID, SA_REQ_INVALID);
	world_assert(w, "H3 delete join mgid=ff12::1 js=1 port=" ALIAS_GID,
		     SA_REQ_INVALID);
	world_assert(w, "H3 set join mgid=ff12::1 js=1 port=" OTHER_GID, 0);
	assert_int_equal(
		world_record(w, "H2 get key=1 mgid=ff12::1 port=" OTHER_GID).proxy_join,
		1);
	world_assert(w, "H2 set join mgid=ff12::1 js=4 port=" OTHER_GID, 0);
	world_assert(w, "H3 delete join mgid=ff12::1 js=5 port=" OTHER_GID, 0);
	world_assert(w, "H2 set join mgid=ff12::1 js=1 port=" NOBODYS_GID,
		     SA_REQ_INVALID);
	/* With the port's partitions. */
	small_host(&w->sm, 2)->pkeys[0] = 0x8001;
	world_assert(w, "H3 set create mgid=ff12::2 js=1 port=" OTHER_GID,
		     SA_REQ_INVALID);
}

static void an_alias_that_is_a_member_is_not_given_back(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
	assert_int_equal(change(w, "H2 delete attr=30", 2, 1, 0), SA_REQ_DENIED);
	assert_int_equal(change(w, "H2 set attr=30", 2, 1, 0x4711), SA_REQ_DENIED);
	assert_int_equal(w->sm.guids[2][1], ALIAS);
	assert_int_equal(change(w, "H3 set attr=30", 3, 1, 0x4711), 0);
	world_assert(w, "H2 delete join mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
	assert_int_equal(change(w, "H2 delete attr=30", 2, 1, 0), 0);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID,
		     SA_REQ_INVALID);
}

/* The port is about to lose it. */
static void nobody_joins_by_what_is_being_given_back(void **state)
{
	struct world *w = *state;
	struct world_ask ask = guids_ask(w, "H2 delete attr=30", 2, 1, 0);

	w->sm.ask_ns = 1000;
	world_ask_send(w, &ask);
	world_run(w, 1500); /* it is read, and being written */
	assert_int_equal(w->sm.asked_now, 1);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID,
		     SA_REQ_INVALID);
	/* Nothing comes of it. */
	w->sm.ask_error = -ETIMEDOUT;
	world_run(w, 1000);
	assert_int_equal(w->sm.asked_now, 0);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
}

static void with_the_port_all_its_memberships_go(void **state)
{
	struct world *w = *state;

	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
	world_assert(w, "H2 set join mgid=ff12::1 js=1 port=" OTHER_GID, 0);
	world_assert(w, "H2 set join mgid=ff12::1 js=1", 0);
	world_assert(w, "H3 set join mgid=ff12::1 js=1", 0);
	assert_int_equal(world_count(w, "H4 table key=1 mgid=ff12::1"), 4);
	small_lose(&w->sm, 2);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	assert_int_equal(world_count(w, "H4 table key=1 mgid=ff12::1"), 1);
	world_assert(w, "H4 set join mgid=ff12::1 js=1 port=" ALIAS_GID, SA_REQ_INVALID);
}

/* -- GUIDs of ports --------------------------------------------------------------------- */

/* Who was away finds nobody in his place. */
static void a_ports_own_guid_is_no_alias_when_it_comes(void **state)
{
	struct world *w = *state;
	struct sa_mcmember rec;

	small_lose(&w->sm, 3);
	sa_server_sm_ops.port_out(w->server, small_guid(3));
	assert_int_equal(change(w, "H2 set attr=30", 2, 3, small_guid(3)), 0);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=H3", 0);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(2));
	world_assert(w, "H2 set create mgid=ff12::2 js=1 port=H3", 0);
	world_assert(w, "H2 set join mgid=ff12::2 js=1", 0);
	small_host(&w->sm, 3)->seen = true;
	sa_server_sm_ops.port_anew(w->server, small_guid(3));
	assert_int_equal(world_count(w, "H4 table key=1 mgid=ff12::1"), 0);
	assert_int_equal(world_count(w, "H4 table key=1 mgid=ff12::2"), 1);
	rec = world_record(w, "H3 set create mgid=ff12::1 js=1");
	assert_int_equal(guid_of(&rec.port_gid), small_guid(3));
	assert_int_equal(w->sm.last_count, 1);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(3));
	world_assert(w, "H2 delete join mgid=ff12::1 js=1 port=H3", SA_REQ_INVALID);
	assert_int_equal(world_count(w, "H4 table key=1 mgid=ff12::1"), 1);
}

/* H2 has H3's GUID in place 3, and is a member by it, when H3 comes. */
static void owner_comes(struct world *w)
{
	small_lose(&w->sm, 3);
	sa_server_sm_ops.port_out(w->server, small_guid(3));
	assert_int_equal(change(w, "H2 set attr=30", 2, 3, small_guid(3)), 0);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=H3", 0);
	w->sent_count = 0;
	small_host(&w->sm, 3)->seen = true;
	sa_server_sm_ops.port_in(w->server, small_guid(3));
}

static unsigned int reports(const struct world *w, unsigned int trap)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < w->sent_count; i++) {
		const struct world_mad *m = &w->sent[i];
		const uint8_t *notice = m->bytes + SA_DATA;

		count += m->mad.method == MAD_METHOD_REPORT &&
			 (unsigned int)(notice[4] << 8 | notice[5]) == trap;
	}
	return count;
}

static void who_loses_an_alias_to_its_owner_is_told(void **state)
{
	struct world *w = *state;
	struct sa_inform_info info = inform_all_of(0xffff);

	assert_int_equal(world_inform(w, 4, 1, &info)->mad.status, 0);
	owner_comes(w);
	world_run(w, TIMER_MS);
	assert_int_equal(reports(w, TRAP_MGID_DELETED), 1);
	assert_int_equal(reports(w, TRAP_GID_IN_SERVICE), 1);
	assert_int_equal(w->sm.guids[2][3], 0);
	/* Its others it keeps. */
	assert_int_equal(w->sm.guids[2][1], ALIAS);
	assert_int_equal(w->sm.guids[2][2], OTHER);
	world_assert(w, "H2 delete join mgid=ff12::1 js=1 port=H3", SA_REQ_INVALID);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID, 0);
}

static void a_mute_port_is_told_when_it_answers(void **state)
{
	struct world *w = *state;

	owner_comes(w);
	w->sm.mute = 2;
	world_run(w, 5 * SECOND);
	assert_int_equal(w->sm.guids[2][3], small_guid(3));
	/* Which keeps nothing else waiting. */
	assert_int_equal(change(w, "H2 set attr=30", 2, 4, 0x4711), SA_NO_RESOURCES);
	w->sm.mute = 0;
	world_run(w, SECOND);
	assert_int_equal(w->sm.guids[2][3], 0);
	assert_null(w->sm.asked);
}

/* What is asked for while it rests is not disturbed when it wakes. */
static void who_is_told_again_waits_for_others(void **state)
{
	struct world *w = *state;
	struct world_ask ask;

	owner_comes(w);
	w->sm.mute = 2;
	world_run(w, SECOND / 2);
	w->sm.mute = 0;
	w->sm.ask_ns = SECOND;
	ask = guids_ask(w, "H2 set attr=30", 2, 4, 0x4711);
	world_ask_send(w, &ask);
	for (unsigned int i = 0; i < 60; i++) {
		world_run(w, SECOND / 10);
		assert_true(w->sm.asked_now <= 1);
	}
	assert_int_equal(world_answer(w, &ask)->mad.status, 0);
	assert_int_equal(w->sm.guids[2][4], 0x4711);
	assert_int_equal(w->sm.guids[2][3], 0);
}

/* And not for ever. */
static void a_port_that_goes_is_not_told(void **state)
{
	struct world *w = *state;
	unsigned int questions;

	owner_comes(w);
	w->sm.mute = 2;
	world_run(w, SECOND);
	small_lose(&w->sm, 2);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	world_run(w, SECOND);
	questions = w->sm.questions;
	world_run(w, 10 * SECOND);
	assert_int_equal(w->sm.questions, questions);
}

/* What it has in the port does not make it his: it is gone from each answer. */
static void a_lost_alias_is_not_granted_anew(void **state)
{
	struct world *w = *state;

	owner_comes(w);
	w->sm.guids[2][4] = small_guid(3);
	assert_int_equal(change(w, "H2 set attr=30", 2, 3, small_guid(3)), SA_REQ_DENIED);
	assert_int_equal(w->sm.guids[2][3], 0);
	assert_int_equal(w->sm.guids[2][4], 0);
	w->sm.guids[2][3] = small_guid(3);
	assert_int_equal(change(w, "H2 set attr=30", 2, 3, 0), 0);
	assert_int_not_equal(w->sm.guids[2][3], 0);
	assert_int_not_equal(w->sm.guids[2][3], small_guid(3));
	/* Another's alias as little. */
	w->sm.guids[3][1] = ALIAS;
	assert_int_equal(change(w, "H3 set attr=30", 3, 1, ALIAS), SA_REQ_DENIED);
	assert_int_equal(change(w, "H3 set attr=30", 3, 2, 0x4711), 0);
	assert_int_equal(w->sm.guids[3][1], 0);
}

/* It knows of none until somebody asks. */
static void who_asks_a_new_master_first_has_it(void **state)
{
	struct world *w = *state;

	sa_server_sm_ops.down(w->server);
	sa_server_sm_ops.up(w->server);
	world_run(w, SECOND);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" ALIAS_GID,
		     SA_REQ_INVALID);
	assert_int_equal(change(w, "H3 set attr=30", 3, 1, ALIAS), 0);
	assert_int_equal(change(w, "H2 set attr=30", 2, 1, ALIAS), SA_REQ_DENIED);
	/* All that the block has besides is known by that. */
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=" OTHER_GID, 0);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(2));
	assert_int_equal(change(w, "H2 set attr=30", 2, 2, OTHER), 0);
	assert_int_equal(w->sm.guids[2][1], 0);
	assert_int_equal(w->sm.guids[2][2], OTHER);
	world_assert(w, "H3 set create mgid=ff12::2 js=1 port=" ALIAS_GID, 0);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(3));
}

/* One that is on its way when the owner comes is undone. */
static void what_is_being_granted_meanwhile_is_taken_too(void **state)
{
	struct world *w = *state;
	struct world_ask ask = guids_ask(w, "H2 set attr=30", 2, 3, small_guid(3));

	small_lose(&w->sm, 3);
	sa_server_sm_ops.port_out(w->server, small_guid(3));
	w->sm.ask_ns = 1000;
	world_ask_send(w, &ask);
	world_run(w, 1500); /* it is being written */
	small_host(&w->sm, 3)->seen = true;
	sa_server_sm_ops.port_in(w->server, small_guid(3));
	world_run(w, 1000);
	assert_int_equal(w->sm.guids[2][3], small_guid(3));
	world_run(w, 5000);
	assert_int_equal(w->sm.guids[2][3], 0);
}

static void the_manager_goes_before_it_is_told(void **state)
{
	struct world *w = *state;

	w->sm.ask_ns = 1000;
	small_lose(&w->sm, 3);
	sa_server_sm_ops.port_out(w->server, small_guid(3));
	for (unsigned int place = 3; place < 5; place++) {
		struct world_ask ask =
			guids_ask(w, "H2 set attr=30", 2, place, small_guid(3));

		world_ask_send(w, &ask);
		world_run(w, 500);
	}
	world_run(w, 1000);
	small_host(&w->sm, 3)->seen = true;
	sa_server_sm_ops.port_in(w->server, small_guid(3));
	sa_server_sm_ops.down(w->server);
	assert_null(w->sm.asked);
	world_run(w, 10 * SECOND);
	assert_null(w->sm.asked);
}

/* Somebody has written it into his port, past the administrator. */
static void what_a_port_claims_of_others_does_not_count(void **state)
{
	struct world *w = *state;

	w->sm.guids[2][3] = small_guid(3);
	assert_int_equal(change(w, "H2 set attr=30", 2, 4, 0x9abc), 0);
	world_assert(w, "H3 set create mgid=ff12::1 js=1", 0);
	assert_int_equal(w->sm.last[0].port_guid, small_guid(3));
	assert_int_equal(w->sm.guids[2][3], 0);
	small_lose(&w->sm, 2);
	sa_server_sm_ops.port_out(w->server, small_guid(2));
	assert_int_equal(world_count(w, "H4 table key=1 mgid=ff12::1"), 1);
}

/* -- paths ---------------------------------------------------------------------------- */

static struct world_ask path_ask(struct world *w, const char *text, const char *from,
				 const char *to)
{
	struct sa_path path = { 0 };
	struct world_ask ask;

	world_ask_parse(w, &ask, text);
	ask.raw = true;
	if (from) {
		world_gid(&path.sgid, from);
		ask.sa.comp_mask |= SA_PR_SGID;
	}
	if (to) {
		world_gid(&path.dgid, to);
		ask.sa.comp_mask |= SA_PR_DGID;
	}
	sa_path_put(ask.data, &path);
	return ask;
}

static unsigned int paths(struct world *w, const char *from, const char *to,
			  struct sa_path *ret_first)
{
	struct world_ask ask = path_ask(w, "H2 table attr=35", from, to);
	struct world_table t;
	unsigned int count;

	world_table_get(w, &t, &ask);
	count = t.count;
	if (count && ret_first)
		sa_path_get(t.records, ret_first);
	world_table_end(&t);
	return count;
}

static void a_path_begins_and_ends_at_an_alias(void **state)
{
	struct world *w = *state;
	struct sa_path path;

	assert_int_equal(paths(w, ALIAS_GID, "H3", &path), 1);
	assert_int_equal(path.slid, 2);
	assert_int_equal(path.dlid, 3);
	assert_int_equal(guid_of(&path.sgid), ALIAS);
	assert_int_equal(paths(w, "H3", ALIAS_GID, &path), 1);
	assert_int_equal(path.slid, 3);
	assert_int_equal(path.dlid, 2);
	assert_int_equal(guid_of(&path.dgid), ALIAS);
	assert_int_equal(paths(w, ALIAS_GID, OTHER_GID, &path), 1);
	assert_int_equal(path.slid, 2);
	assert_int_equal(path.dlid, 2);
	assert_int_equal(path.lifetime, 0);
	assert_int_equal(paths(w, NOBODYS_GID, "H3", NULL), 0);
	assert_int_equal(paths(w, "fec0::1234", "H3", NULL), 0);
}

/* Of another prefix than the default one, which goes on meaning it. */
static void the_prefix_is_the_subnets_or_the_default_one(void **state)
{
	struct world *w = *state;
	struct sa_path path;
	union ib_gid gid;

	w->sm.subnet.prefix = 0xfec0000000000007ull;
	world_gid(&gid, "fec0:0:0:7::1234");
	assert_int_equal(paths(w, "fec0:0:0:7::1234", "H3", &path), 1);
	assert_memory_equal(path.sgid.raw, gid.raw, 16);
	world_gid(&gid, ALIAS_GID);
	assert_int_equal(paths(w, ALIAS_GID, "H3", &path), 1);
	assert_memory_equal(path.sgid.raw, gid.raw, 16);
	assert_int_equal(paths(w, "fec0:0:0:8::1234", "H3", NULL), 0);
	world_assert(w, "H2 set create mgid=ff12::1 js=1 port=fec0:0:0:7::1234", 0);
	world_assert(w, "H2 set join mgid=ff12::1 js=4 port=fec0:0:0:8::1234",
		     SA_REQ_INVALID_GID);
}

/* What no GID names is meant by each that it has: seven ports, of which H2 has three. */
static void who_is_not_named_is_reached_by_each_guid(void **state)
{
	struct world *w = *state;
	struct world_ask ask;
	struct world_table t;
	unsigned int aliases = 0;

	assert_int_equal(paths(w, ALIAS_GID, NULL, NULL), 9);
	assert_int_equal(paths(w, NULL, ALIAS_GID, NULL), 9);
	assert_int_equal(paths(w, NULL, NULL, NULL), 9 * 9);
	ask = path_ask(w, "H2 table attr=35", NULL, "H3");
	ask.sa.comp_mask |= SA_PR_SLID;
	ask.data[43] = 2; /* SLID */
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 3);
	for (unsigned int i = 0; i < t.count; i++) {
		struct sa_path path;

		sa_path_get(t.records + i * SA_PATH_BYTES, &path);
		assert_int_equal(path.slid, 2);
		aliases += guid_of(&path.sgid) == ALIAS || guid_of(&path.sgid) == OTHER;
	}
	assert_int_equal(aliases, 2);
	world_table_end(&t);
	/* The LID has to be the GID's port's. */
	ask = path_ask(w, "H2 table attr=35", ALIAS_GID, "H3");
	ask.sa.comp_mask |= SA_PR_SLID;
	ask.data[43] = 2;
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 1);
	world_table_end(&t);
	ask.mad.tid++;
	ask.data[43] = 3;
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 0);
	world_table_end(&t);
}

/* In several steps: each GUID once, those of a port that is in the middle of it too. */
static void a_table_of_all_has_each_pair_once(void **state)
{
	struct world *w = *state;
	struct world_ask ask;
	struct world_table t;
	struct sa_path a, b;

	for (unsigned int host = 3; host <= 6; host++)
		for (unsigned int i = 1; i < 8; i++)
			assert_int_equal(change(w, "H2 set key=1 attr=30", host, i, 0),
					 0);
	ask = path_ask(w, "H2 table attr=35", NULL, NULL);
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, (9 + 28) * (9 + 28));
	for (unsigned int i = 0; i < t.count; i++) {
		sa_path_get(t.records + i * SA_PATH_BYTES, &a);
		for (unsigned int k = 0; k < i; k++) {
			sa_path_get(t.records + k * SA_PATH_BYTES, &b);
			assert_false(memcmp(&a.sgid, &b.sgid, 16) == 0 &&
				     memcmp(&a.dgid, &b.dgid, 16) == 0);
		}
	}
	world_table_end(&t);
}

static void paths_between_several_have_aliases_among_them(void **state)
{
	struct world *w = *state;
	struct sa_multi_path m = { .sgid_count = 2, .dgid_count = 1 };
	struct world_ask ask;
	struct world_table t;
	struct sa_path path;

	world_gid(&m.gids[0], ALIAS_GID);
	world_gid(&m.gids[1], "H4");
	world_gid(&m.gids[2], OTHER_GID);
	world_ask_parse(w, &ask, "H2 multi attr=3a");
	ask.raw = true;
	ask.sa.comp_mask = SA_MPR_SGID_COUNT | SA_MPR_DGID_COUNT;
	sa_multi_path_put(ask.data, &m);
	world_table_get(w, &t, &ask);
	assert_int_equal(t.count, 2);
	sa_path_get(t.records, &path);
	assert_memory_equal(path.sgid.raw, m.gids[0].raw, 16);
	assert_memory_equal(path.dgid.raw, m.gids[2].raw, 16);
	assert_int_equal(path.slid, 2);
	assert_int_equal(path.dlid, 2);
	world_table_end(&t);
}

/* -- what else names a port ----------------------------------------------------------- */

static void a_subscription_names_an_alias(void **state)
{
	struct world *w = *state;
	struct sa_inform_info info = { .subscribe = 1,
				       .is_generic = 1,
				       .type = 0xffff,
				       .trap = 0xffff,
				       .producer_type = 0xffffff };
	struct world_ask ask;

	world_ask_parse(w, &ask, "H2 set attr=3");
	ask.raw = true;
	world_gid(&info.gid, ALIAS_GID);
	sa_inform_info_put(ask.data, &info);
	assert_int_equal(world_do(w, &ask)->mad.status, 0);
	world_gid(&info.gid, NOBODYS_GID);
	sa_inform_info_put(ask.data, &info);
	ask.mad.tid++;
	assert_int_equal(world_do(w, &ask)->mad.status, SA_REQ_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_join_by_an_alias_is_a_membership_of_its_own),
		TEST(whose_an_alias_is_is_told),
		TEST(others_join_an_alias_as_they_join_a_port),
		TEST(an_alias_that_is_a_member_is_not_given_back),
		TEST(nobody_joins_by_what_is_being_given_back),
		TEST(with_the_port_all_its_memberships_go),
		TEST(a_ports_own_guid_is_no_alias_when_it_comes),
		TEST(who_loses_an_alias_to_its_owner_is_told),
		TEST(a_mute_port_is_told_when_it_answers),
		TEST(who_is_told_again_waits_for_others),
		TEST(a_port_that_goes_is_not_told),
		TEST(a_lost_alias_is_not_granted_anew),
		TEST(who_asks_a_new_master_first_has_it),
		TEST(what_is_being_granted_meanwhile_is_taken_too),
		TEST(the_manager_goes_before_it_is_told),
		TEST(what_a_port_claims_of_others_does_not_count),
		TEST(a_path_begins_and_ends_at_an_alias),
		TEST(the_prefix_is_the_subnets_or_the_default_one),
		TEST(who_is_not_named_is_reached_by_each_guid),
		TEST(a_table_of_all_has_each_pair_once),
		TEST(paths_between_several_have_aliases_among_them),
		TEST(a_subscription_names_an_alias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
