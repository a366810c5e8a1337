/* SPDX-License-Identifier: BSD-2-Clause */
/* Partitions: from a file, into adapters' and switches' tables, and what passes there. */
// uses: fabric_net
#include <stdio.h>

#include "fabric/sm/partitions.h"
#include "world.h"

/* -- the file --------------------------------------------------------------------------- */

static uint64_t guid_of(void *arg, const char *name)
{
	return strncmp(name, "h", 1) == 0 ? 0x1000 + strtoull(name + 1, NULL, 10) : 0;
}

static struct sm_partitions *good(const char *text)
{
	struct sm_partitions *p = NULL;
	char error[128] = "";

	if (sm_partitions_parse(text, strlen(text), guid_of, NULL, &p, error,
				sizeof(error)) < 0)
		fail_msg("%s", error);
	return p;
}

static void bad(const char *text, const char *because)
{
	struct sm_partitions *p = NULL;
	char error[128] = "";

	assert_int_equal(sm_partitions_parse(text, strlen(text), guid_of, NULL, &p, error,
					     sizeof(error)),
			 -22);
	assert_null(p);
	if (!strstr(error, because))
		fail_msg("'%s' and not '%s'", error, because);
}

static void a_file_is_read(void **state)
{
	struct sm_partitions *p =
		good("# what everybody knows\n"
		     "Default=0x7fff, ipoib : ALL, SELF=full ;\n"
		     "blue = 0x8300 , ipoib , mtu=5, rate=7,sl=3,scope=2,scope=0xe,\n"
		     "\tdefmember=full :\n"
		     "\tmgid=ff12:401b::707,sl=1 # some group\n"
		     "\tmgid=ff15::1,Q_Key=0x1234,TClass=9,FlowLabel=0x77,mtu=1,rate=2\n"
		     "\t0x10=limi, h2, ALL_SWITCHES = limited;\n"
		     "empty=0x12:;");
	const struct sm_partition *part;

	assert_int_equal(p->count, 3);
	part = &p->list[0];
	assert_string_equal(part->name, "Default");
	assert_int_equal(part->pkey, 0x7fff);
	assert_true(part->ipoib);
	assert_int_equal(part->member_count, 2);
	assert_int_equal(part->members[0].kind, SM_MEMBER_PORT);
	assert_int_equal(part->members[0].port_guid, 0);
	assert_false(part->members[0].full);
	assert_int_equal(part->members[1].kind, SM_MEMBER_SELF);
	assert_true(part->members[1].full);
	part = &p->list[1];
	assert_int_equal(part->pkey, 0x300);
	assert_int_equal(part->mtu, 5);
	assert_int_equal(part->rate, 7);
	assert_int_equal(part->sl, 3);
	assert_int_equal(part->scopes, 1 << 2 | 1 << 14);
	assert_int_equal(part->group_count, 2);
	assert_int_equal(part->groups[0].sl, 1);
	assert_int_equal(part->groups[0].mtu, 5);
	assert_int_equal(part->groups[0].qkey, SM_IPOIB_QKEY);
	assert_int_equal(part->groups[1].qkey, 0x1234);
	assert_int_equal(part->groups[1].tclass, 9);
	assert_int_equal(part->groups[1].flow_label, 0x77);
	assert_int_equal(part->groups[1].mtu, 1);
	assert_int_equal(part->groups[1].mgid[1], 0x15);
	assert_int_equal(part->member_count, 3);
	assert_int_equal(part->members[0].port_guid, 0x10);
	assert_false(part->members[0].full);
	assert_int_equal(part->members[1].port_guid, 0x1002);
	assert_true(part->members[1].full);
	assert_int_equal(part->members[2].kind, SM_MEMBER_SWITCHES);
	assert_int_equal(p->list[2].member_count, 0);
	sm_partitions_destroy(p);
	p = good(" # nothing\n");
	assert_int_equal(p->count, 0);
	sm_partitions_destroy(p);
}

static void what_is_wrong_is_said(void **state)
{
	bad("Default=0x7fff : ALL\n", "line 2: where is the ;");
	bad("a=1:;\n\nb=2 ALL;", "line 3: where is the :");
	bad("a=0x10000:;", "P_Key: '0x10000'");
	bad("a=0x8000:;", "no P_Key");
	bad("a=0:;", "P_Key: '0'");
	bad("a:;", "without a P_Key");
	bad("=1:;", "begins with its name");
	bad("a=1,mtu=6:;", "mtu: '6' is not a number from 1 to 5");
	bad("a=1,rate=1:;", "rate");
	bad("a=1,rate:;", "rate is without a value");
	bad("a=1,indx0:;", "no such flag: 'indx0'");
	bad("a=1,Q_Key=1:;", "of groups alone");
	bad("a=1,:;", "a flag is missing");
	bad("a=1,defmember=both:;", "'both' is neither");
	bad("a=1:ALL=some;", "'some' is neither");
	bad("a=1:ALL,;", "a member is missing");
	bad("a=1:nobody;", "'nobody' is neither a port GUID nor a node");
	bad("a=1:mgid=fe80::1;", "is no MGID");
	bad("a=1:mgid=ff12:401b::1;", "without ipoib");
	bad("a=1,ipoib:mgid=ff12:401b::1,scope=1;", "of partitions alone");
	bad("a=1:mgid;", "mgid is without a value");
	bad("aVeryLongNameThatNobodyCanReadAtAll=1:;", "too long");
}

/* -- the tables -------------------------------------------------------------------------- */

#define BLUE 0x0101u

static struct fabric_port *walk(struct world *w, unsigned int from, unsigned int to,
				uint16_t pkey)
{
	return fabric_walk_unicast(w->hosts[from], world_lid(w, to), pkey);
}

/* Hosts 1 and 3 are full, 4 and 7 limited members of blue, the others none; three hosts a
 * leaf. */
static struct world *blue_world(struct sm_partitions **ret)
{
	struct topology *t = NULL;
	struct sm_config config = { 0 };
	struct world *w;
	char text[512];

	assert_int_equal(topology_two_level(3, 2, 3, 1, &t), 0);
	w = world_create(t, 1);
	/* By GUIDs, as people write it. */
	snprintf(text, sizeof(text),
		 "Default=0x7fff,ipoib : ALL=full;\n"
		 "blue=0x101,ipoib,mtu=5 : %#llx=full,%#llx=full,%#llx,%#llx;\n",
		 (unsigned long long)world_guid(w, 1),
		 (unsigned long long)world_guid(w, 3),
		 (unsigned long long)world_guid(w, 4),
		 (unsigned long long)world_guid(w, 7));
	*ret = good(text);
	config.partitions = (*ret)->list;
	config.partition_count = (*ret)->count;
	world_sm_start(w, 0, 0, &config);
	world_until(w, world_is_up(w, 0), SECOND);
	return w;
}

static void expect_blue(struct world *w)
{
	static const char memberships[] = "-F-FL--L-";

	for (unsigned int a = 0; a < w->host_count; a++) {
		for (unsigned int b = 0; b < w->host_count; b++) {
			char from = memberships[a], to = memberships[b];
			uint16_t pkey = from == 'F' ? BLUE | 0x8000u : BLUE;
			/* Two limited ones are the adapters' business. */
			bool passes = from != '-' && to != '-';

			if (a == b)
				continue;
			if ((walk(w, a, b, pkey) == w->hosts[b]) != passes)
				fail_msg("host %u %s host %u", a,
					 passes ? "does not reach" : "reaches", b);
			assert_ptr_equal(walk(w, a, b, 0xffff), w->hosts[b]);
		}
	}
}

static void switches_let_pass_whom_they_should(void **state)
{
	struct sm_partitions *p;
	struct world *w = blue_world(&p);

	expect_blue(w);
	world_run(w, 25 * SECOND);
	expect_blue(w);
	/* Whoever begins anew has it again. */
	for (uint32_t i = 0; i < w->topology->count; i++) {
		if (!w->topology->nodes[i].is_switch)
			continue;
		assert_int_equal(
			fabric_power_set(w->fabric, w->topology->nodes[i].name, false),
			0);
		world_run(w, SECOND);
		assert_int_equal(
			fabric_power_set(w->fabric, w->topology->nodes[i].name, true), 0);
		world_run(w, 15 * SECOND);
		assert_true(world_is_up(w, 0));
		expect_blue(w);
	}
	world_destroy(w);
	sm_partitions_destroy(p);
}

/* What other ports of the group's tree would let through does not matter. */
static void groups_stay_in_their_partition(void **state)
{
	struct world_group g = { .mlid = 0xc010 };
	struct sm_partitions *p;
	struct world *w = blue_world(&p);

	/* As if the SA had let host 8 in, too: it has not the P_Key. */
	g.members[1] = g.members[3] = g.members[4] = g.members[7] = g.members[8] = 'r';
	assert_int_equal(world_route_now(w, &g), 0);
	memset(w->reached, 0, sizeof(w->reached));
	fabric_walk_multicast(w->hosts[1], g.mlid, BLUE | 0x8000, walk_reached, w);
	assert_int_equal(w->reached[3], 1);
	assert_int_equal(w->reached[4], 1);
	assert_int_equal(w->reached[7], 1);
	assert_int_equal(w->reached[8], 0);
	world_destroy(w);
	sm_partitions_destroy(p);
}

/* While a sweep reads the tables anew, joins and paths go by what they were. */
static void no_key_is_missed_while_tables_are_read(void **state)
{
	struct sm_partitions *p;
	struct world *w = blue_world(&p);
	const struct sm *sm = w->sms[0].sm;
	const struct subnet_port *port =
		subnet_port_by_guid(sm_subnet(sm), world_guid(w, 3));
	uint64_t sweeps = world_sweeps(w, 0);

	assert_true(subnet_port_has_pkey(port, BLUE));
	while (world_sweeps(w, 0) == sweeps) {
		assert_true(world_step(w, w->timers.now_ns + 60 * SECOND));
		port = subnet_port_by_guid(sm_subnet(sm), world_guid(w, 3));
		assert_true(subnet_port_has_pkey(port, BLUE));
	}
	world_destroy(w);
	sm_partitions_destroy(p);
}

/* A later SM without partitions has the switches check nothing. */
static void checks_end_with_the_partitions(void **state)
{
	struct sm_partitions *p;
	struct world *w = blue_world(&p);

	assert_null(walk(w, 0, 1, BLUE | 0x8000));
	world_sm_kill(w, 0);
	world_sm_start(w, 1, 5, NULL);
	world_until(w, world_is_up(w, 1), 5 * SECOND);
	assert_non_null(walk(w, 0, 1, BLUE | 0x8000));
	world_destroy(w);
	sm_partitions_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(switches_let_pass_whom_they_should),
		cmocka_unit_test(groups_stay_in_their_partition),
		cmocka_unit_test(no_key_is_missed_while_tables_are_read),
		cmocka_unit_test(checks_end_with_the_partitions),
	};

	return harness_run(tests);
}
