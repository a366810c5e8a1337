// SPDX-License-Identifier: BSD-2-Clause
/*
 * A site's nodes, their fabric and its administrator in virtual time: who is told that he
 * has joined reaches the members, whatever else is being followed.
 */
#include <endian.h>

#include "unit/hca/world.h"

#include "daemon/nodes.h"
#include "wire/sa.h"

#define SWITCHES 4u
#define HOSTS    6u /* on each: a look at all answers takes several slices */
#define NODES    (SWITCHES * HOSTS)
#define SLICE_NS (50 * TIMER_MS)
#define SECOND   (1000 * TIMER_MS)

static struct {
	struct timer_queue timers;
	struct random random;
	struct world hca;
	struct hca_limits limits;
	struct site_fabric *fabric;
	struct nodes *nodes;
	unsigned int follows;
	bool following; /* between two slices, each of which takes its time */
	struct world_process process;
	struct ib_qp *qp; /* the member's */
} w;

struct joiner {
	struct ib_sa_client client;
	struct ib_sa_multicast *multicast;
	struct node *node;
	bool answered;
	/* As it was when he was told: */
	uint16_t mlid;
	uint32_t entry; /* from his port to the members */
	unsigned int follows;
};

static bool follow(void *arg)
{
	w.follows++;
	w.following = hca_site_recompile(w.hca.site);
	return w.following;
}

static uint32_t follow_mlid(void *arg, uint16_t mlid)
{
	return hca_site_recompile_mlid(w.hca.site, mlid);
}

static void node_changed(void *arg, struct node *node)
{
}

static void turn(void)
{
	uint64_t next = timer_queue_next(&w.timers), now = w.timers.now_ns;

	if (w.following)
		now += SLICE_NS;
	timer_queue_run(&w.timers, next > now ? next : now);
}

static void pass(uint64_t ns)
{
	uint64_t end = w.timers.now_ns + ns;

	while (timer_queue_next(&w.timers) <= end)
		turn();
}

static void create_fabric(void)
{
	const struct admin_shape shape = { .kind = ADMIN_SHAPE_RING,
					   .count = SWITCHES,
					   .hosts = HOSTS };
	const struct site_fabric_config config = {
		.timers = &w.timers,
		.random = &w.random,
		.shape = &shape,
		.only_name = NODES_FIRST_NAME,
		.guid_seed = 7,
		.follow = follow,
		.follow_mlid = follow_mlid,
	};

	assert_int_equal(site_fabric_create(&config, &w.fabric), 0);
}

static void create_nodes(void)
{
	const struct nodes_config config = {
		.timers = &w.timers,
		.random = &w.random,
		.hca = w.hca.site,
		.fabric = w.fabric,
		.limits = &w.limits,
		.changed = node_changed,
	};

	assert_int_equal(nodes_create(&config, &w.nodes), 0);
	assert_int_equal(nodes_start(w.nodes), 0);
}

static int set_up(void **state)
{
	memset(&w, 0, sizeof(w));
	timer_queue_init(&w.timers, SECOND, NULL, NULL);
	random_seed(&w.random, 1);
	hca_limits_init(&w.limits);
	assert_int_equal(shm_tables_create(&w.hca.tables_fd, &w.hca.tables), 0);
	assert_int_equal(hca_site_create(w.hca.tables, &w.hca.site), 0);
	create_fabric();
	create_nodes();
	pass(60 * SECOND);
	assert_true(site_fabric_is_up(w.fabric));
	assert_true(nodes_are_up(w.nodes));
	return 0;
}

static int tear_down(void **state)
{
	nodes_stop(w.nodes);
	nodes_destroy(w.nodes);
	site_fabric_destroy(w.fabric);
	hca_site_destroy(w.hca.site);
	shm_tables_destroy(w.hca.tables_fd, w.hca.tables);
	return 0;
}

/* -- a member, and who joins ------------------------------------------------------------ */

static uint32_t entry_from(const struct node *node, uint16_t mlid)
{
	union ib_gid gid = group_gid(1);
	struct ib_device_info info;

	assert_int_equal(ib_describe_device(hca_device_ib(node->vib), &info), 0);
	return shm_group_find(w.hca.tables, info.first_port, gid.raw, mlid);
}

static int answered(int status, struct ib_sa_multicast *multicast)
{
	struct joiner *j = multicast->context;

	assert_int_equal(status, 0);
	j->answered = true;
	j->mlid = be16toh(multicast->rec.mlid);
	j->entry = entry_from(j->node, j->mlid);
	j->follows = w.follows;
	return 0;
}

static void join_by(struct joiner *j, unsigned int node)
{
	const ib_sa_comp_mask mask = ib_sa_comp_mask_from_host(
		SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_PKEY | SA_MCM_JOIN_STATE |
		SA_MCM_QKEY | SA_MCM_SL | SA_MCM_FLOW_LABEL | SA_MCM_TCLASS);
	struct ib_sa_mcmember_rec rec = { .mgid = group_gid(1),
					  .qkey = htobe32(0x1234),
					  .pkey = htobe16(0xffff),
					  .join_state = 1 };
	struct ib_gid_attr gid;

	memset(j, 0, sizeof(*j));
	j->node = nodes_nth(w.nodes, node);
	assert_int_equal(rdma_query_gid(hca_device_ib(j->node->vib), 1, 0, &gid), 0);
	rec.port_gid = gid.gid;
	ib_sa_register_client(&j->client);
	j->multicast = ib_sa_join_multicast(&j->client, hca_device_ib(j->node->vib), 1,
					    &rec, mask, answered, j);
	assert_false(IS_ERR(j->multicast));
	for (uint64_t end = w.timers.now_ns + SECOND; !j->answered;) {
		assert_true(w.timers.now_ns < end);
		turn();
	}
}

static void leave_by(struct joiner *j)
{
	ib_sa_free_multicast(j->multicast);
	pass(SECOND);
	assert_true(ib_sa_unregister_client(&j->client));
}

static void attach(const struct joiner *j)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	union ib_gid gid = group_gid(1);

	w.hca.ib = hca_device_ib(j->node->vib);
	process_begin(&w.hca, 1, &w.process);
	w.qp = process_qp(&w.process);
	assert_int_equal(
		ib_modify_qp(w.qp, &attr,
			     IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY),
		0);
	assert_int_equal(ib_attach_mcast(w.qp, &gid, j->mlid), 0);
}

static void detach(const struct joiner *j)
{
	union ib_gid gid = group_gid(1);

	assert_int_equal(ib_detach_mcast(w.qp, &gid, j->mlid), 0);
	assert_int_equal(ib_destroy_qp(w.qp), 0);
	process_end(&w.process);
}

/* Another node is unplugged for a moment: all answers are looked at, and then they rest. */
static void follow_all(void)
{
	const char *name = ib_node_name(nodes_nth(w.nodes, 1)->ib);
	struct fabric *net = site_fabric_net(w.fabric);
	unsigned int before = w.follows;

	assert_int_equal(fabric_link_set(net, name, 1, false), 0);
	assert_int_equal(fabric_link_set(net, name, 1, true), 0);
	do
		turn();
	while (w.follows == before || w.following);
	assert_true(w.follows > before + 1);
}

static void who_has_joined_reaches_the_members(void **state)
{
	struct joiner member, sender;
	unsigned int follows, reached = NODES - 1;

	join_by(&member, 0);
	attach(&member);
	pass(10 * SECOND);
	while (entry_from(nodes_nth(w.nodes, reached), member.mlid) != SHM_NONE)
		assert_true(--reached > 1);
	follow_all();
	follows = w.follows;
	join_by(&sender, reached);
	assert_int_equal(sender.mlid, member.mlid);
	assert_int_not_equal(sender.entry, SHM_NONE);
	assert_int_equal(sender.follows, follows); /* it was a rest */
	pass(10 * SECOND);
	assert_int_equal(entry_from(sender.node, sender.mlid), sender.entry);
	leave_by(&sender);
	detach(&member);
	leave_by(&member);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_has_joined_reaches_the_members,
						set_up, tear_down),
	};

	return harness_run(tests);
}
