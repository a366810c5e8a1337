/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches, SMs with their SAs behind adapters, and hosts that are clients of whoever is
 * master, in virtual time. A host asks one thing at a time, and again until it is answered.
 */
#ifndef FABRIC_SA_STATIONS_H
#define FABRIC_SA_STATIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "fabric/net/fabric.h"
#include "fabric/net/topology.h"
#include "fabric/sa/sa_server.h"
#include "harness/harness.h"
#include "unit/fabric_sa/inform.h"
#include "wire/bytes.h"

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

/* An SM with its SA, at the port of the host of the same number. */
struct station {
	struct world *world;
	struct fabric_port *port;
	struct sm *sm;
	struct sa_server *sa;
	bool deaf;  /* and dumb, though it says that it is there */
	bool holds; /* what it writes into multicast tables does not arrive */
};

#define STATIONS     3u
#define FIRST_CLIENT STATIONS

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
	uint8_t group;              /* that was asked for last */
	uint64_t alias;             /* that it joins by; 0: by its port's own GUID */
	unsigned int resets, noted; /* by ClientReregister */
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	struct station stations[STATIONS];
	struct host hosts[HOSTS_MAX];
	unsigned int host_count, clients;
	uint64_t tid;
	unsigned int answers;
	unsigned int reached[HOSTS_MAX]; /* by the last walk */
	uint8_t lmcs[STATIONS];          /* of SMs that are started from now on */
	bool check_answers;              /* who is answered must be reached at once */
	bool alone;                      /* SAs hear nothing of each other */
};

/* -- walking ---------------------------------------------------------------------------- */

static inline void walk_reached(void *arg, struct fabric_port *port)
{
	struct world *w = arg;

	for (unsigned int i = 0; i < w->host_count; i++) {
		if (w->hosts[i].port == port)
			w->reached[i]++;
	}
}

static inline void walk(struct world *w, unsigned int from, uint16_t mlid)
{
	memset(w->reached, 0, sizeof(w->reached));
	fabric_walk_multicast(w->hosts[from].port, mlid, IB_PKEY_DEFAULT_FULL,
			      walk_reached, w);
}

static inline void expect_group(struct world *w, uint16_t mlid)
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

static inline unsigned int number(const struct host *h)
{
	return (unsigned int)(h - h->world->hosts);
}

/* From the moment of the answer on, everybody whose answer has come reaches the host. */
static inline void check_reached(struct host *h)
{
	struct world *w = h->world;

	for (unsigned int from = 0; from < w->host_count; from++) {
		if (from == number(h) || !w->hosts[from].member)
			continue;
		walk(w, from, h->mlid);
		assert_int_equal(w->reached[number(h)], h->member);
	}
}

static inline void host_answered(struct host *h, const struct mad_header *mad,
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

static inline void host_send(struct host *h, const uint8_t *mad)
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

static inline void host_receive(void *arg, const struct ib_packet *packet)
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

static inline void host_changed(void *arg, unsigned int changes)
{
	if (changes & FABRIC_PORT_REREGISTER)
		((struct host *)arg)->resets++;
}

static const struct fabric_port_ops host_ops = {
	.receive = host_receive,
	.changed = host_changed,
};

static inline void host_retry(struct timer *timer)
{
	struct host *h = container_of(timer, struct host, retry);

	host_send(h, h->request);
	timer_arm(&h->retry, RETRY);
}

static inline void host_ask(struct host *h, struct mad_header *mad, uint64_t mask,
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

static inline void host_ask_group(struct host *h, uint8_t method, uint8_t group,
				  uint8_t state)
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

	h->group = group;
	if (!group) /* one of the SA's choice */
		memset(&rec.mgid, 0, sizeof(rec.mgid));
	fabric_port_info(h->port, &info);
	rec.port_gid.raw[0] = 0xfe;
	rec.port_gid.raw[1] = 0x80;
	wire_put64(rec.port_gid.raw + 8, h->alias ? h->alias : info.port_guid);
	sa_mcmember_put(data, &rec);
	host_ask(h, &mad,
		 method == MAD_METHOD_SET
			 ? CREATE_MASK | SA_MCM_MTU | SA_MCM_MTU_SELECTOR | SA_MCM_RATE |
				   SA_MCM_RATE_SELECTOR
			 : JOIN_MASK,
		 data, sizeof(data));
}

static inline void host_join(struct host *h, uint8_t group)
{
	host_ask_group(h, MAD_METHOD_SET, group, SA_JOIN_FULL);
}

static inline void host_leave(struct host *h, uint8_t group)
{
	h->member = false;
	host_ask_group(h, MAD_METHOD_DELETE, group, SA_JOIN_FULL);
}

/* Of every trap. */
static inline void host_subscribe(struct host *h)
{
	struct mad_header mad = { .method = MAD_METHOD_SET,
				  .attr_id = MAD_ATTR_INFORM_INFO };
	struct sa_inform_info info = inform_all_of(0xffff);
	uint8_t data[SA_INFORM_BYTES];

	sa_inform_info_put(data, &info);
	host_ask(h, &mad, 0, data, sizeof(data));
}

/* -- stations ------------------------------------------------------------------------------ */

static inline bool is_table_set(const struct ib_packet *packet)
{
	struct mad_header mad;

	mad_header_get(packet->payload, &mad);
	return packet->dest_qp == IB_QP_SMI && mad.method == MAD_METHOD_SET &&
	       mad.attr_id == SMP_MULTICAST_FT;
}

static inline int station_send(void *arg, const struct ib_packet *packet)
{
	struct station *st = arg;

	if (st->deaf || (st->holds && is_table_set(packet)))
		return 0;
	return fabric_port_send(st->port, packet);
}

static inline void station_set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(((struct station *)arg)->port, FABRIC_ISSM_OURS, issm);
}

static const struct sm_port_ops station_port = {
	.send = station_send,
	.set_issm = station_set_issm,
};

static inline void station_receive(void *arg, const struct ib_packet *packet)
{
	struct station *st = arg;
	struct mad_header mad;

	mad_header_get(packet->payload, &mad);
	if (st->sm && !st->deaf && !(st->world->alone && mad.mgmt_class == SM_PEER_CLASS))
		sm_receive(st->sm, packet);
}

static inline void station_changed(void *arg, unsigned int changes)
{
}

static const struct fabric_port_ops station_ops = {
	.receive = station_receive,
	.changed = station_changed,
};

static inline void station_start(struct world *w, unsigned int n, uint8_t priority)
{
	struct station *st = &w->stations[n];
	struct sa_server_config sa = { .timers = &w->timers, .random = &w->random };
	struct fabric_port_info info;
	struct sm_config config = { .timers = &w->timers,
				    .random = &w->random,
				    .port = &station_port,
				    .port_arg = st,
				    .priority = priority,
				    .lmc = w->lmcs[n],
				    .client = &sa_server_sm_ops };

	st->world = w;
	st->deaf = st->holds = false;
	st->port = w->hosts[n].port;
	fabric_port_info(st->port, &info);
	config.port_guid = info.port_guid;
	assert_int_equal(sa_server_create(&sa, &st->sa), 0);
	config.client_arg = st->sa;
	fabric_port_attach(st->port, &station_ops, st);
	assert_int_equal(sm_create(&config, &st->sm), 0);
	sa_server_set_sm(st->sa, st->sm);
}

static inline void station_kill(struct world *w, unsigned int n)
{
	sm_destroy(w->stations[n].sm);
	sa_server_destroy(w->stations[n].sa);
	w->stations[n].sm = NULL;
	w->stations[n].sa = NULL;
	fabric_port_set_issm(w->stations[n].port, FABRIC_ISSM_OURS, false);
}

/* -- the world ------------------------------------------------------------------------------ */

static inline bool step(struct world *w, uint64_t end)
{
	uint64_t next = timer_queue_next(&w->timers);

	if (next > end) {
		timer_queue_run(&w->timers, end);
		return false;
	}
	timer_queue_run(&w->timers, next > w->timers.now_ns ? next : w->timers.now_ns);
	return true;
}

static inline void run(struct world *w, uint64_t ns)
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

static inline struct world *world_create(struct topology *topology, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fabric_config config = { .timers = &w->timers,
					.random = &w->random,
					.topology = topology,
					.hop_latency_ns = 100 };
	struct fabric_port *port;

	timer_queue_init(&w->timers, 1000, NULL, NULL);
	random_seed(&w->random, seed);
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
	station_start(w, 0, 0);
	w->clients = w->host_count - FIRST_CLIENT;
	until(w, sm_is_up(w->stations[0].sm), SECOND);
	return w;
}

static inline struct world *two_level_seeded(unsigned int leaves, unsigned int hosts,
					     uint64_t seed)
{
	struct topology *topology;

	assert_int_equal(topology_two_level(leaves, 3, hosts, 1, &topology), 0);
	return world_create(topology, seed);
}

static inline struct world *two_level(unsigned int leaves, unsigned int hosts)
{
	return two_level_seeded(leaves, hosts, 7);
}

static inline void world_destroy(struct world *w)
{
	for (unsigned int i = 0; i < w->host_count; i++)
		timer_disarm(&w->hosts[i].retry);
	for (unsigned int n = 0; n < STATIONS; n++) {
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

static inline void count_group(void *arg, const struct sa_group_view *group)
{
	((struct count *)arg)->groups++;
	((struct count *)arg)->members += group->members;
}

static inline struct count count(const struct world *w, unsigned int n)
{
	struct count c = { 0 };

	sa_server_each_group(w->stations[n].sa, count_group, NULL, &c);
	return c;
}

#endif
