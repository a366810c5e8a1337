/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet administrator with the real SM over switches, in virtual time: that who has
 * an answer is reached, whatever is lost on the way, and whoever dies.
 */
// uses: fabric_net
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "fabric/net/fabric.h"
#include "fabric/net/topology.h"
#include "fabric/sa/sa_server.h"
#include "harness/harness.h"

#define HOSTS_MAX 700u
#define SECOND    (1000 * TIMER_MS)
#define RETRY     (100 * TIMER_MS)
/* Until no repetition is on its way: a leave that arrives after the next join ends it. */
#define SETTLE    (20 * TIMER_MS)

#define JOIN_MASK (SA_MCM_MGID | SA_MCM_PORT_GID | SA_MCM_JOIN_STATE)
#define CREATE_MASK                                                          \
	(JOIN_MASK | SA_MCM_QKEY | SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_SL | \
	 SA_MCM_FLOW_LABEL)

struct world;

/* An SM with its SA, at the port of host 0 or 1. */
struct station {
	struct fabric_port *port;
	struct sm *sm;
	struct sa_server *sa;
};

/* A host as a client: one request at a time, repeated until it is answered. */
struct host {
	struct world *world;
	struct fabric_port *port;
	struct timer retry;
	uint8_t request[MAD_BYTES];
	uint64_t tid; /* 0: nothing is asked */
	int status;   /* of the last answer; -1: none yet */
	uint16_t mlid;
	bool member; /* its join is answered, its leave is not asked for */
	unsigned int reports;
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	struct station stations[2];
	struct host hosts[HOSTS_MAX];
	unsigned int host_count;
	uint64_t tid;
	unsigned int answers;
	unsigned int reached[HOSTS_MAX]; /* by the last walk */
	bool check_answers;              /* who is answered must be reached at once */
};

/* -- walking ---------------------------------------------------------------------------- */

static void walk_reached(void *arg, struct fabric_port *port)
{
	struct world *w = arg;

	for (unsigned int i = 0; i < w->host_count; i++) {
		if (w->hosts[i].port == port)
			w->reached[i]++;
	}
}

static void walk(struct world *w, unsigned int from, uint16_t mlid)
{
	memset(w->reached, 0, sizeof(w->reached));
	fabric_walk_multicast(w->hosts[from].port, mlid, IB_PKEY_DEFAULT_FULL,
			      walk_reached, w);
}

static void expect_group(struct world *w, uint16_t mlid)
{
	for (unsigned int from = 0; from < w->host_count; from++) {
		if (!w->hosts[from].member)
			continue;
		walk(w, from, mlid);
		for (unsigned int i = 0; i < w->host_count; i++)
			assert_int_equal(w->reached[i], i != from && w->hosts[i].member);
	}
}

/* -- clients ---------------------------------------------------------------------------- */

static unsigned int number(const struct host *h)
{
	return (unsigned int)(h - h->world->hosts);
}

/* From the moment of the answer on, everybody whose answer has come reaches the host. */
static void check_reached(struct host *h)
{
	struct world *w = h->world;

	for (unsigned int from = 0; from < w->host_count; from++) {
		if (from == number(h) || !w->hosts[from].member)
			continue;
		walk(w, from, h->mlid);
		assert_int_equal(w->reached[number(h)], h->member);
	}
}

static void host_answered(struct host *h, const struct mad_header *mad,
			  const uint8_t *bytes)
{
	struct sa_mcmember rec;

	sa_mcmember_get(bytes + SA_DATA, &rec);
	h->tid = 0;
	timer_disarm(&h->retry);
	h->status = mad->status;
	h->world->answers++;
	if (mad->status || mad->attr_id != SA_MCMEMBER_RECORD)
		return;
	h->mlid = rec.mlid;
	h->member = mad->method == MAD_METHOD_GET_RESP;
	if (h->world->check_answers)
		check_reached(h);
}

static void host_send(struct host *h, const uint8_t *mad)
{
	struct fabric_port_info info;
	struct ib_packet packet = { .pkey = 0xffff,
				    .dest_qp = IB_QP_GSI,
				    .src_qp = IB_QP_GSI,
				    .qkey = IB_GSI_QKEY,
				    .payload = mad,
				    .length = MAD_BYTES };

	fabric_port_info(h->port, &info);
	packet.dlid = info.info.sm_lid;
	fabric_port_send(h->port, &packet);
}

static void host_receive(void *arg, const struct ib_packet *packet)
{
	struct host *h = arg;
	struct mad_header mad;
	uint8_t answer[MAD_BYTES];

	mad_header_get(packet->payload, &mad);
	if (mad.method == MAD_METHOD_REPORT) {
		h->reports++;
		memcpy(answer, packet->payload, sizeof(answer));
		mad.method = MAD_METHOD_REPORT_RESP;
		mad_header_put(answer, &mad);
		host_send(h, answer);
	} else if (h->tid && mad.tid == h->tid) {
		host_answered(h, &mad, packet->payload);
	}
}

static void host_changed(void *arg, unsigned int changes)
{
	(void)arg;
	(void)changes;
}

static const struct fabric_port_ops host_ops = {
	.receive = host_receive,
	.changed = host_changed,
};

static void host_retry(struct timer *timer)
{
	struct host *h = container_of(timer, struct host, retry);

	host_send(h, h->request);
	timer_arm(&h->retry, RETRY);
}

static void host_ask(struct host *h, struct mad_header *mad, uint64_t mask,
		     const uint8_t *data, size_t bytes)
{
	struct sa_header sa = { .comp_mask = mask };

	h->tid = mad->tid = ++h->world->tid;
	h->status = -1;
	mad->base_version = 1;
	mad->mgmt_class = MAD_CLASS_SUBN_ADM;
	mad->class_version = 2;
	memset(h->request, 0, sizeof(h->request));
	mad_header_put(h->request, mad);
	sa_header_put(h->request, &sa);
	memcpy(h->request + SA_DATA, data, bytes);
	host_retry(&h->retry);
}

static void host_ask_group(struct host *h, uint8_t method, uint8_t group, uint8_t state)
{
	struct mad_header mad = { .method = method, .attr_id = SA_MCMEMBER_RECORD };
	struct sa_mcmember rec = { .mgid = { .raw = { 0xff, 0x12, [15] = group } },
				   .qkey = 0x1234,
				   .pkey = 0xffff,
				   .mtu = 1,
				   .mtu_selector = SA_SELECT_EQ,
				   .rate = 2,
				   .rate_selector = SA_SELECT_EQ,
				   .join_state = state };
	uint8_t data[SA_MCMEMBER_BYTES];
	struct fabric_port_info info;

	fabric_port_info(h->port, &info);
	rec.port_gid.raw[0] = 0xfe;
	rec.port_gid.raw[1] = 0x80;
	for (unsigned int i = 16; i-- > 8; info.port_guid >>= 8)
		rec.port_gid.raw[i] = (uint8_t)info.port_guid;
	sa_mcmember_put(data, &rec);
	host_ask(h, &mad,
		 method == MAD_METHOD_SET
			 ? CREATE_MASK | SA_MCM_MTU | SA_MCM_MTU_SELECTOR | SA_MCM_RATE |
				   SA_MCM_RATE_SELECTOR
			 : JOIN_MASK,
		 data, sizeof(data));
}

static void host_join(struct host *h, uint8_t group)
{
	host_ask_group(h, MAD_METHOD_SET, group, SA_JOIN_FULL);
}

static void host_leave(struct host *h, uint8_t group)
{
	h->member = false;
	host_ask_group(h, MAD_METHOD_DELETE, group, SA_JOIN_FULL);
}

/* Of every trap. */
static void host_subscribe(struct host *h)
{
	struct mad_header mad = { .method = MAD_METHOD_SET,
				  .attr_id = MAD_ATTR_INFORM_INFO };
	struct sa_inform_info info = { .lid_begin = 0xffff,
				       .is_generic = 1,
				       .subscribe = 1,
				       .type = 0xffff,
				       .trap = 0xffff,
				       .producer_type = 0xffffff };
	uint8_t data[SA_INFORM_BYTES];

	sa_inform_info_put(data, &info);
	host_ask(h, &mad, 0, data, sizeof(data));
}

/* -- stations ------------------------------------------------------------------------------ */

static int station_send(void *arg, const struct ib_packet *packet)
{
	return fabric_port_send(((struct station *)arg)->port, packet);
}

static void station_set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(((struct station *)arg)->port, issm);
}

static const struct sm_port_ops station_port = {
	.send = station_send,
	.set_issm = station_set_issm,
};

static void station_receive(void *arg, const struct ib_packet *packet)
{
	struct station *st = arg;

	if (st->sm)
		sm_receive(st->sm, packet);
}

static const struct fabric_port_ops station_ops = {
	.receive = station_receive,
	.changed = host_changed,
};

static void station_start(struct world *w, unsigned int n)
{
	struct station *st = &w->stations[n];
	struct sa_server_config sa = { .timers = &w->timers, .random = &w->random };
	struct fabric_port_info info;
	struct sm_config config = { .timers = &w->timers,
				    .random = &w->random,
				    .port = &station_port,
				    .port_arg = st,
				    .client = &sa_server_sm_ops };

	st->port = w->hosts[n].port;
	fabric_port_info(st->port, &info);
	config.port_guid = info.port_guid;
	assert_int_equal(sa_server_create(&sa, &st->sa), 0);
	config.client_arg = st->sa;
	fabric_port_attach(st->port, &station_ops, st);
	assert_int_equal(sm_create(&config, &st->sm), 0);
	sa_server_set_sm(st->sa, st->sm);
}

static void station_kill(struct world *w, unsigned int n)
{
	sm_destroy(w->stations[n].sm);
	sa_server_destroy(w->stations[n].sa);
	w->stations[n].sm = NULL;
	w->stations[n].sa = NULL;
	fabric_port_set_issm(w->stations[n].port, false);
}

/* -- the world ------------------------------------------------------------------------------ */

static bool step(struct world *w, uint64_t end)
{
	uint64_t next = timer_queue_next(&w->timers);

	if (next > end) {
		timer_queue_run(&w->timers, end);
		return false;
	}
	timer_queue_run(&w->timers, next > w->timers.now_ns ? next : w->timers.now_ns);
	return true;
}

static void run(struct world *w, uint64_t ns)
{
	uint64_t end = w->timers.now_ns + ns;

	while (step(w, end))
		;
}

#define until(w, condition, ns)                                                    \
	do {                                                                       \
		uint64_t until_end = (w)->timers.now_ns + (ns);                    \
		while (!(condition)) {                                             \
			if (!step(w, until_end) && !(condition))                   \
				fail_msg("not within %llu ms of virtual time: %s", \
					 (unsigned long long)((ns) / TIMER_MS),    \
					 #condition);                              \
		}                                                                  \
	} while (0)

static struct world *world_create(struct topology *topology)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fabric_config config = { .timers = &w->timers,
					.random = &w->random,
					.topology = topology,
					.hop_latency_ns = 100 };
	struct fabric_port *port;

	timer_queue_init(&w->timers, 1000, NULL, NULL);
	random_seed(&w->random, 7);
	w->topology = topology;
	assert_int_equal(fabric_create(&config, &w->fabric), 0);
	while (w->host_count < HOSTS_MAX &&
	       (port = fabric_hca_port(w->fabric, w->host_count))) {
		struct host *h = &w->hosts[w->host_count++];

		h->world = w;
		h->port = port;
		timer_init(&h->retry, &w->timers, host_retry);
		fabric_port_attach(port, &host_ops, h);
	}
	station_start(w, 0);
	until(w, sm_is_up(w->stations[0].sm), SECOND);
	return w;
}

static struct world *two_level(unsigned int leaves, unsigned int hosts)
{
	struct topology *topology;

	assert_int_equal(topology_two_level(leaves, 3, hosts, 1, &topology), 0);
	return world_create(topology);
}

static void world_destroy(struct world *w)
{
	for (unsigned int i = 0; i < w->host_count; i++)
		timer_disarm(&w->hosts[i].retry);
	for (unsigned int n = 0; n < 2; n++) {
		sm_destroy(w->stations[n].sm);
		sa_server_destroy(w->stations[n].sa);
	}
	fabric_destroy(w->fabric);
	topology_destroy(w->topology);
	assert_int_equal(timer_queue_next(&w->timers), UINT64_MAX);
	free(w);
}

struct count {
	unsigned int groups, members;
};

static void count_group(void *arg, const struct sa_group_view *group)
{
	((struct count *)arg)->groups++;
	((struct count *)arg)->members += group->members;
}

static struct count count(const struct world *w, unsigned int n)
{
	struct count c = { 0 };

	sa_server_each_group(w->stations[n].sa, count_group, NULL, &c);
	return c;
}

/* -- tests --------------------------------------------------------------------------------- */

static void who_is_answered_is_reached(void **state)
{
	struct world *w = two_level(4, 5);

	(void)state;
	w->check_answers = true;
	for (unsigned int i = 1; i < w->host_count; i++)
		host_join(&w->hosts[i], 1);
	until(w, w->answers == w->host_count - 1, SECOND);
	expect_group(w, w->hosts[1].mlid);
	/* And not any more when the leave is answered. */
	for (unsigned int i = 1; i < w->host_count; i += 2)
		host_leave(&w->hosts[i], 1);
	w->answers = 0;
	until(w, w->answers == w->host_count / 2, SECOND);
	expect_group(w, w->hosts[2].mlid);
	world_destroy(w);
}

/* So little is lost that the SM, which asks four times, takes no port for gone. */
static void what_is_lost_is_asked_for_again(void **state)
{
	struct fabric_trouble trouble = { .loss = 5000,
					  .reorder = 20000,
					  .delay_ns = TIMER_MS };
	unsigned int rounds = harness_count(3, 50);
	struct world *w = two_level(4, 5);

	(void)state;
	fabric_trouble_set(w->fabric, &trouble);
	w->check_answers = true;
	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int due = w->host_count - 1;

		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_join(&w->hosts[i], 1);
		until(w, w->answers == due, 60 * SECOND);
		run(w, SETTLE);
		for (unsigned int i = 1; i < w->host_count; i++)
			assert_int_equal(w->hosts[i].status, 0);
		expect_group(w, w->hosts[1].mlid);
		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_leave(&w->hosts[i], 1);
		/* A leave whose answer was lost is refused the next time. */
		until(w, w->answers == due, 60 * SECOND);
		run(w, SETTLE);
		assert_int_equal(count(w, 0).members, 0);
		assert_int_equal(count(w, 0).groups, 1);
	}
	world_destroy(w);
}

static void a_port_without_link_is_no_member(void **state)
{
	struct world *w = two_level(3, 3);
	struct fabric_port_info info;

	(void)state;
	host_subscribe(&w->hosts[1]);
	until(w, w->hosts[1].status == 0, SECOND);
	w->answers = 0;
	for (unsigned int i = 2; i < w->host_count; i++)
		host_join(&w->hosts[i], 1);
	until(w, w->answers == w->host_count - 2, SECOND);
	assert_int_equal(w->hosts[1].reports, 1); /* the group */
	fabric_port_info(w->hosts[5].port, &info);
	assert_int_equal(fabric_link_set(w->fabric, info.node, 1, false), 0);
	w->hosts[5].member = false;
	/* The switch's trap, and that the port is out of service. */
	until(w, w->hosts[1].reports == 3, SECOND);
	until(w, count(w, 0).members == w->host_count - 3, SECOND);
	run(w, SECOND);
	expect_group(w, w->hosts[2].mlid);
	/* It comes back as nobody's member, and may join. */
	assert_int_equal(fabric_link_set(w->fabric, info.node, 1, true), 0);
	run(w, SECOND);
	assert_int_equal(count(w, 0).members, w->host_count - 3);
	host_join(&w->hosts[5], 1);
	until(w, w->hosts[5].status == 0, SECOND);
	expect_group(w, w->hosts[2].mlid);
	world_destroy(w);
}

static void a_standby_keeps_the_groups_alive(void **state)
{
	struct world *w = two_level(3, 4);
	uint8_t *bytes;
	size_t length;

	(void)state;
	station_start(w, 1);
	run(w, SECOND);
	assert_int_equal(sm_state(w->stations[1].sm), SM_STANDBY);
	for (unsigned int i = 2; i < w->host_count; i++)
		host_join(&w->hosts[i], (uint8_t)(1 + i % 2));
	until(w, w->answers == w->host_count - 2, SECOND);
	assert_int_equal(sa_server_save(w->stations[0].sa, &bytes, &length), 0);
	station_kill(w, 0);
	assert_int_equal(sa_server_load(w->stations[1].sa, bytes, length), 0);
	free(bytes);
	until(w, sm_is_up(w->stations[1].sm), 5 * SECOND);
	run(w, SECOND);
	assert_int_equal(count(w, 1).members, w->host_count - 2);
	/* One group at a time. */
	for (unsigned int group = 0; group < 2; group++) {
		uint16_t mlid = w->hosts[2 + group].mlid;

		for (unsigned int i = 2; i < w->host_count; i++)
			w->hosts[i].member = i % 2 == group;
		expect_group(w, mlid);
	}
	/* And it serves. */
	w->answers = 0;
	host_leave(&w->hosts[2], 1);
	until(w, w->answers == 1, SECOND);
	assert_int_equal(w->hosts[2].status, 0);
	world_destroy(w);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Everybody at once, in several groups one after another. */
static void a_storm_of_joins_is_answered(void **state)
{
	unsigned int groups = harness_sanitized() ? 1 : 8;
	struct world *w = two_level(12, 12);
	unsigned int due = w->host_count - 1;
	uint64_t began = cpu_ns();

	(void)state;
	for (unsigned int group = 1; group <= groups; group++) {
		w->answers = 0;
		for (unsigned int i = 1; i < w->host_count; i++)
			host_join(&w->hosts[i], (uint8_t)group);
		until(w, w->answers == due, SECOND);
	}
	began = cpu_ns() - began;
	printf("%u joins, %llu ns each with switches and all\n", groups * due,
	       (unsigned long long)(began / (groups * due)));
	assert_int_equal(count(w, 0).members, groups * due);
	expect_group(w, w->hosts[1].mlid);
	world_destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_answered_is_reached),
		cmocka_unit_test(what_is_lost_is_asked_for_again),
		cmocka_unit_test(a_port_without_link_is_no_member),
		cmocka_unit_test(a_standby_keeps_the_groups_alive),
		cmocka_unit_test(a_storm_of_joins_is_answered),
	};

	return harness_run(tests);
}
