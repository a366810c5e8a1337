// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300
// uses: fabric_net fabric_sm fabric_sa
/*
 * The SA client against the subnet's own SA, through switches, in virtual time: whatever
 * members come and go, and whatever is lost on the way, both sides know of the same
 * memberships when all is quiet, and of none when all have left.
 */
#include <endian.h>

#include "core/sa/ib_sa.h"
#include "fabric/net/fabric.h"
#include "fabric/sa/sa_server.h"
#include "harness/harness.h"

#define HOSTS       8u
#define GROUPS      6u
#define MEMBERS_MAX 64u
#define SECOND      (1000 * TIMER_MS)

struct host {
	struct ib_device ib;
	struct ib_node *node;
	struct ib_mad *mad;
	struct ib_sa *sa;
	struct ib_sa_client client;
	struct fabric_port *port;
	bool active; /* its port, when we last looked */
};

enum member_state {
	FREE,
	JOINING,
	JOINED,
	LOST
};

struct member {
	enum member_state state;
	struct host *host;
	struct ib_sa_multicast *multicast;
	union ib_gid mgid;
	u8 join_state;
	int status;
};

static struct world {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	struct fabric_port *sm_port;
	struct sa_server *server;
	struct sm *sm;
	struct host hosts[HOSTS];
	struct member members[MEMBERS_MAX];
	unsigned int resets, failures;
	unsigned int first_group; /* of those that are joined at random */
} world;

static void run_ns(u64 ns)
{
	u64 end = world.timers.now_ns + ns;

	while (timer_queue_next(&world.timers) <= end)
		timer_queue_run(&world.timers, timer_queue_next(&world.timers));
	timer_queue_run(&world.timers, end);
}

/* -- a host's device: a port of the fabric, and nothing else ---------------------------- */

static struct host *host_of(struct ib_device *ib)
{
	return container_of(ib, struct host, ib);
}

static struct fabric_port_info info_of(struct ib_device *ib)
{
	struct fabric_port_info info;

	fabric_port_info(host_of(ib)->port, &info);
	return info;
}

static int query_port(struct ib_device *ib, u32 port_num, struct ib_port_attr *attr)
{
	struct fabric_port_info info = info_of(ib);

	attr->state = (enum ib_port_state)info.info.state;
	attr->lid = info.info.lid;
	attr->lmc = info.info.lmc;
	attr->sm_lid = info.info.sm_lid;
	attr->sm_sl = info.info.sm_sl;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = (u16)info.pkey_count;
	return 0;
}

static int query_gid(struct ib_device *ib, u32 port_num, int index,
		     struct ib_gid_attr *attr)
{
	struct fabric_port_info info = info_of(ib);
	u64 prefix = htobe64(info.info.gid_prefix), guid = htobe64(info.port_guid);

	if (index)
		return -EINVAL;
	memcpy(attr->gid.raw, &prefix, 8);
	memcpy(attr->gid.raw + 8, &guid, 8);
	attr->port_num = port_num;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port_num, u16 index, u16 *pkey)
{
	struct fabric_port_info info = info_of(ib);

	if (index >= info.pkey_count)
		return -EINVAL;
	*pkey = info.pkeys[index];
	return 0;
}

static int post_mad(struct ib_device *ib, u32 port_num, const struct ib_packet *packet)
{
	return fabric_port_send(host_of(ib)->port, packet);
}

static void receive(void *arg, const struct ib_packet *packet)
{
	struct host *host = arg;

	ib_receive_mad(&host->ib, 1, packet);
}

static void tell(struct host *host, enum ib_event_type type)
{
	struct ib_event event = { .device = &host->ib, .event = type };

	event.element.port_num = 1;
	ib_dispatch_event(&event);
}

static void changed(void *arg, unsigned int changes)
{
	static const struct {
		unsigned int change;
		enum ib_event_type event;
	} events[] = {
		{ FABRIC_PORT_LID, IB_EVENT_LID_CHANGE },
		{ FABRIC_PORT_SM, IB_EVENT_SM_CHANGE },
		{ FABRIC_PORT_PKEYS, IB_EVENT_PKEY_CHANGE },
		{ FABRIC_PORT_REREGISTER, IB_EVENT_CLIENT_REREGISTER },
	};
	struct host *host = arg;
	bool active = info_of(&host->ib).info.state == SMP_PORT_ACTIVE;

	if (active != host->active)
		tell(host, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	host->active = active;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (changes & events[i].change)
			tell(host, events[i].event);
}

static const struct fabric_port_ops host_ops = { .receive = receive, .changed = changed };

static void host_begin(struct host *host, unsigned int n)
{
	struct ib_mad_config mad = { .timers = &world.timers, .random = &world.random };
	struct ib_sa_config sa = { .timers = &world.timers, .random = &world.random };

	host->port = fabric_hca_port(world.fabric, n);
	host->node = ib_node_create("h", n);
	strcpy(host->ib.name, "vib0");
	host->ib.node_type = RDMA_NODE_IB_CA;
	host->ib.phys_port_cnt = 1;
	host->ib.ops = (struct ib_device_ops){ .query_port = query_port,
					       .query_gid = query_gid,
					       .query_pkey = query_pkey,
					       .post_mad = post_mad };
	assert_int_equal(ib_register_device(&host->ib, host->node), 0);
	mad.node = sa.node = host->node;
	assert_int_equal(ib_mad_create(&mad, &host->mad), 0);
	sa.mad = host->mad;
	assert_int_equal(ib_sa_create(&sa, &host->sa), 0);
	ib_sa_register_client(&host->client);
	fabric_port_attach(host->port, &host_ops, host);
}

static void host_end(struct host *host)
{
	assert_true(ib_sa_unregister_client(&host->client));
	ib_sa_destroy(host->sa);
	ib_mad_destroy(host->mad);
	fabric_port_attach(host->port, NULL, NULL);
	assert_int_equal(ib_unregister_device(&host->ib), 0);
	ib_node_destroy(host->node);
}

/* -- the SM and its SA, behind a port of their own --------------------------------------- */

static int sm_send(void *arg, const struct ib_packet *packet)
{
	return fabric_port_send(world.sm_port, packet);
}

static void set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(world.sm_port, FABRIC_ISSM_OURS, issm);
}

static void sm_port_receive(void *arg, const struct ib_packet *packet)
{
	if (world.sm)
		sm_receive(world.sm, packet);
}

static void sm_port_changed(void *arg, unsigned int changes)
{
}

static void sm_begin(void)
{
	static const struct sm_port_ops port = { .send = sm_send, .set_issm = set_issm };
	static const struct fabric_port_ops ops = { .receive = sm_port_receive,
						    .changed = sm_port_changed };
	struct sa_server_config server = { .timers = &world.timers,
					   .random = &world.random };
	struct sm_config config = { .timers = &world.timers,
				    .random = &world.random,
				    .port = &port,
				    .client = &sa_server_sm_ops };
	struct fabric_port_info info;

	assert_int_equal(sa_server_create(&server, &world.server), 0);
	world.sm_port = fabric_hca_port(world.fabric, HOSTS);
	fabric_port_info(world.sm_port, &info);
	config.port_guid = info.port_guid;
	config.client_arg = world.server;
	fabric_port_attach(world.sm_port, &ops, NULL);
	assert_int_equal(sm_create(&config, &world.sm), 0);
	sa_server_set_sm(world.server, world.sm);
}

static void sm_end(void)
{
	sm_destroy(world.sm);
	world.sm = NULL;
	sa_server_destroy(world.server);
	world.server = NULL;
}

static void wait_until_up(void)
{
	for (int i = 0; i < 100; i++) {
		bool up = sm_is_up(world.sm);

		for (unsigned int n = 0; n < HOSTS; n++)
			up = up && world.hosts[n].active;
		if (up)
			return;
		run_ns(SECOND / 10);
	}
	fail_msg("the subnet does not come up");
}

static int begin(void **state)
{
	struct fabric_config config = { .timers = &world.timers,
					.random = &world.random,
					.hop_latency_ns = 1000 };

	memset(&world, 0, sizeof(world));
	timer_queue_init(&world.timers, 1000, NULL, NULL);
	random_seed(&world.random, 7);
	assert_int_equal(topology_ring(3, 3, 1, &world.topology), 0);
	config.topology = world.topology;
	assert_int_equal(fabric_create(&config, &world.fabric), 0);
	for (unsigned int n = 0; n < HOSTS; n++)
		host_begin(&world.hosts[n], n);
	sm_begin();
	wait_until_up();
	run_ns(SECOND);
	return 0;
}

static int end(void **state)
{
	for (unsigned int n = 0; n < HOSTS; n++)
		host_end(&world.hosts[n]);
	sm_end();
	fabric_destroy(world.fabric);
	topology_destroy(world.topology);
	assert_true(timer_queue_next(&world.timers) == UINT64_MAX);
	return 0;
}

/* -- members ----------------------------------------------------------------------------- */

static int hear(int status, struct ib_sa_multicast *multicast)
{
	struct member *m = multicast->context;

	m->status = status;
	if (status == -ENETRESET) {
		assert_int_equal(m->state, JOINED);
		world.resets++;
	} else {
		assert_int_equal(m->state, JOINING);
		world.failures += status != 0;
	}
	m->state = status ? LOST : JOINED;
	m->mgid = multicast->rec.mgid;
	return 0;
}

static struct ib_sa_mcmember_rec group_wish(struct host *host, unsigned int group)
{
	struct ib_sa_mcmember_rec rec = { .qkey = htobe32(0x1234),
					  .pkey = htobe16(0xffff) };
	struct ib_gid_attr gid;

	assert_int_equal(rdma_query_gid(&host->ib, 1, 0, &gid), 0);
	rec.port_gid = gid.gid;
	if (group) /* 0: of the SA's choice */
		rec.mgid = (union ib_gid){ .raw = { 0xff, 0x12, [15] = (u8)group } };
	return rec;
}

static void join_with(struct member *m, struct host *host,
		      const struct ib_sa_mcmember_rec *rec)
{
	u64 mask = SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE | SA_MCM_QKEY |
		   SA_MCM_PKEY | SA_MCM_TCLASS | SA_MCM_FLOW_LABEL | SA_MCM_SL;

	*m = (struct member){ .state = JOINING,
			      .host = host,
			      .join_state = rec->join_state };
	m->multicast = ib_sa_join_multicast(&host->client, &host->ib, 1, rec,
					    ib_sa_comp_mask_from_host(mask), hear, m);
	assert_false(IS_ERR(m->multicast));
}

static void join(struct member *m, struct host *host, unsigned int group, u8 join_state)
{
	struct ib_sa_mcmember_rec rec = group_wish(host, group);

	rec.join_state = join_state;
	join_with(m, host, &rec);
}

static void leave(struct member *m)
{
	ib_sa_free_multicast(m->multicast);
	m->state = FREE;
}

static void leave_all(void)
{
	for (unsigned int i = 0; i < MEMBERS_MAX; i++)
		if (world.members[i].state != FREE)
			leave(&world.members[i]);
}

/* -- what both sides know ---------------------------------------------------------------- */

struct membership {
	union ib_gid mgid, port_gid;
	u8 join_state;
};

struct memberships {
	struct membership all[MEMBERS_MAX * 4];
	unsigned int count;
};

static void add_membership(struct memberships *all, const struct membership *one)
{
	for (unsigned int i = 0; i < all->count; i++) {
		struct membership *m = &all->all[i];

		if (gid_equal(m->mgid.raw, one->mgid.raw) &&
		    gid_equal(m->port_gid.raw, one->port_gid.raw)) {
			m->join_state |= one->join_state;
			return;
		}
	}
	assert_true(all->count < MEMBERS_MAX * 4);
	all->all[all->count++] = *one;
}

static void sa_member(void *arg, const struct sa_group_view *group,
		      const struct sa_member_view *member)
{
	struct membership m = { .mgid = group->rec.mgid,
				.port_gid = member->port_gid,
				.join_state = member->join_state };

	add_membership(arg, &m);
}

static bool has(const struct memberships *all, const struct membership *one)
{
	for (unsigned int i = 0; i < all->count; i++)
		if (memcmp(&all->all[i], one, sizeof(*one)) == 0)
			return true;
	return false;
}

static void assert_agreement(void)
{
	struct memberships ours = { .count = 0 }, theirs = { .count = 0 };

	for (unsigned int i = 0; i < MEMBERS_MAX; i++) {
		struct member *m = &world.members[i];
		struct membership one = { .mgid = m->mgid, .join_state = m->join_state };

		if (m->state != JOINED)
			continue;
		one.port_gid = group_wish(m->host, 0).port_gid;
		add_membership(&ours, &one);
	}
	sa_server_each_group(world.server, NULL, sa_member, &theirs);
	assert_int_equal(ours.count, theirs.count);
	for (unsigned int i = 0; i < ours.count; i++)
		assert_true(has(&theirs, &ours.all[i]));
}

/* -- tests ------------------------------------------------------------------------------- */

static void members_of_all_ports(void **state)
{
	for (unsigned int n = 0; n < HOSTS; n++)
		join(&world.members[n], &world.hosts[n], 1, SA_JOIN_FULL);
	run_ns(SECOND);
	for (unsigned int n = 0; n < HOSTS; n++) {
		assert_int_equal(world.members[n].state, JOINED);
		assert_true(be16toh(world.members[n].multicast->rec.mlid) >= 0xc000);
		assert_int_equal(world.members[n].multicast->rec.mlid,
				 world.members[0].multicast->rec.mlid);
	}
	assert_agreement();
	leave_all();
	run_ns(SECOND);
	assert_agreement();
}

/* Item 16, with an SA that answers with the union. */
static void join_states_come_and_go_by_bit(void **state)
{
	struct member *m = world.members;

	join(&m[0], &world.hosts[0], 1, SA_JOIN_FULL);
	join(&m[1], &world.hosts[0], 1, SA_JOIN_SEND_ONLY_FULL);
	run_ns(SECOND);
	assert_agreement();
	leave(&m[0]);
	run_ns(SECOND);
	assert_agreement();
	assert_int_equal(m[1].state, JOINED);
	leave(&m[1]);
	run_ns(SECOND);
	assert_agreement();
}

/* Item 20. */
static void groups_of_the_sa_s_choice(void **state)
{
	struct member *m = world.members;

	join(&m[0], &world.hosts[0], 0, SA_JOIN_FULL);
	join(&m[1], &world.hosts[0], 0, SA_JOIN_FULL);
	run_ns(SECOND);
	assert_int_equal(m[0].state, JOINED);
	assert_int_equal(m[1].state, JOINED);
	assert_false(gid_equal(m[0].mgid.raw, m[1].mgid.raw));
	assert_agreement();
	leave_all();
	run_ns(SECOND);
	assert_agreement();
}

/* Item 36: the SA lets a limited member in, the comparison does not. */
static void a_limited_key_is_refused_and_left(void **state)
{
	struct ib_sa_mcmember_rec rec = group_wish(&world.hosts[1], 1);
	struct member *m = world.members;

	join(&m[0], &world.hosts[0], 1, SA_JOIN_FULL);
	run_ns(SECOND);
	rec.join_state = SA_JOIN_FULL;
	rec.pkey = htobe16(0x7fff);
	join_with(&m[1], &world.hosts[1], &rec);
	run_ns(SECOND);
	assert_int_equal(m[1].state, LOST);
	assert_int_equal(m[1].status, -EINVAL);
	assert_agreement();
	leave_all();
	run_ns(SECOND);
	assert_agreement();
}

static int status_with(const struct sa_fault *fault)
{
	struct member *m = &world.members[0];
	int status;

	sa_server_set_fault(world.server, fault);
	join(m, &world.hosts[0], 1, SA_JOIN_FULL);
	run_ns(4 * SECOND);
	sa_server_set_fault(world.server, &(struct sa_fault){ .kind = SA_FAULT_NONE });
	assert_int_not_equal(m->state, JOINING);
	status = m->status;
	leave(m);
	run_ns(SECOND);
	assert_agreement();
	return status;
}

static void faults_of_the_sa_have_their_status(void **state)
{
	struct sa_fault drop = { .kind = SA_FAULT_DROP };
	struct sa_fault drop_ten = { .kind = SA_FAULT_DROP, .count = 10 };
	struct sa_fault busy = { .kind = SA_FAULT_BUSY };
	struct sa_fault full = { .kind = SA_FAULT_ERROR, .status = SA_NO_RESOURCES };
	struct sa_fault slow = { .kind = SA_FAULT_DELAY, .delay_ns = SECOND };

	assert_int_equal(status_with(&drop), -ETIMEDOUT);
	assert_int_equal(status_with(&drop_ten), 0);
	assert_int_equal(status_with(&busy), -EINVAL);
	assert_int_equal(status_with(&full), -EINVAL);
	assert_int_equal(status_with(&slow), 0);
}

static void an_sm_that_begins_anew_is_told_again(void **state)
{
	for (unsigned int n = 0; n < HOSTS; n++)
		join(&world.members[n], &world.hosts[n], 1 + n % 2, SA_JOIN_FULL);
	run_ns(SECOND);
	assert_agreement();
	sm_end();
	sm_begin();
	wait_until_up();
	run_ns(SECOND);
	assert_int_equal(world.resets, HOSTS);
	assert_agreement(); /* nobody is anywhere */
	for (unsigned int n = 0; n < HOSTS; n++) {
		leave(&world.members[n]);
		join(&world.members[n], &world.hosts[n], 1 + n % 2, SA_JOIN_FULL);
	}
	run_ns(SECOND);
	for (unsigned int n = 0; n < HOSTS; n++)
		assert_int_equal(world.members[n].state, JOINED);
	assert_agreement();
	leave_all();
	run_ns(SECOND);
	assert_agreement();
}

static const u8 join_states[] = { SA_JOIN_FULL, SA_JOIN_SEND_ONLY_FULL,
				  SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL, SA_JOIN_NON,
				  SA_JOIN_SEND_ONLY_NON };

/* Somebody joins, or whoever is in leaves, also while he is still joining. */
static void anybody_does_something(void)
{
	struct member *m = &world.members[random_below(&world.random, MEMBERS_MAX)];

	if (m->state != FREE)
		leave(m);
	else
		join(m, &world.hosts[random_below(&world.random, HOSTS)],
		     world.first_group +
			     (unsigned int)random_below(&world.random, GROUPS),
		     join_states[random_below(&world.random, sizeof(join_states))]);
}

static void comings_and_goings(unsigned int steps, u64 pause_ns)
{
	for (unsigned int i = 0; i < steps; i++) {
		anybody_does_something();
		if (random_chance(&world.random, 700000))
			run_ns(random_below(&world.random, pause_ns));
		/* Now and then all is quiet, and both sides are compared. A group goes with
		 * its last full member, and takes those along that are none: their ports
		 * are not told, as in Linux, so these must have gone before. */
		if (i % 100 != 99)
			continue;
		for (unsigned int n = 0; n < MEMBERS_MAX; n++)
			if (world.members[n].state != FREE &&
			    !(world.members[n].join_state &
			      (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL)))
				leave(&world.members[n]);
		run_ns(60 * SECOND);
		assert_agreement();
	}
	leave_all();
	run_ns(60 * SECOND);
	assert_agreement();
}

static void both_sides_agree_whoever_comes_and_goes(void **state)
{
	comings_and_goings(harness_count(5000, 200000), 5 * TIMER_MS);
}

static void both_sides_agree_when_mads_are_lost(void **state)
{
	/* In order, for a join that overtakes the leave after it is a join for ever. */
	struct fabric_trouble trouble = { .loss = 20000 };

	/* Nor may the SA choose: a repeated question for a new group makes another one. */
	world.first_group = 1;
	fabric_trouble_set(world.fabric, &trouble);
	comings_and_goings(harness_count(2000, 50000), 500 * TIMER_MS);
	fabric_trouble_set(world.fabric, &(struct fabric_trouble){ 0 });
}

#define SUBNET(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SUBNET(members_of_all_ports),
		SUBNET(join_states_come_and_go_by_bit),
		SUBNET(groups_of_the_sa_s_choice),
		SUBNET(a_limited_key_is_refused_and_left),
		SUBNET(faults_of_the_sa_have_their_status),
		SUBNET(an_sm_that_begins_anew_is_told_again),
		SUBNET(both_sides_agree_whoever_comes_and_goes),
		SUBNET(both_sides_agree_when_mads_are_lost),
	};

	return harness_run(tests);
}
