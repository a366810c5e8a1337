/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A subnet and its managers in virtual time: what the SM's tests share. Time passes only in
 * world_run and world_until.
 */
#ifndef FABRIC_SM_TEST_WORLD_H
#define FABRIC_SM_TEST_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "fabric/net/fabric.h"
#include "fabric/net/topology.h"
#include "fabric/sm/sm.h"
#include "fabric/sm/subnet.h"
#include "harness/harness.h"

#define WORLD_SMS   2u
#define WORLD_HOSTS 2048u
#define SECOND      (1000 * TIMER_MS)

struct world_sm {
	struct world *world;
	struct fabric_port *port;
	struct sm *sm;
	unsigned int ups, downs, ins, outs, traps;
	uint64_t last_out;
	/* A node that does not say who it is; 0: none. */
	uint64_t silent;
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	struct world_sm sms[WORLD_SMS];
	uint64_t events;
	/* Of a walk. */
	unsigned int reached[WORLD_HOSTS], foreign;
	struct fabric_port *hosts[WORLD_HOSTS];
	unsigned int host_count;
	/* Of groups. */
	unsigned int done;
	int error;
	/* Events of adapters' ports. */
	unsigned int reregisters[WORLD_HOSTS];
};

/* -- the SM's client ------------------------------------------------------------------- */

static inline void client_up(void *arg)
{
	((struct world_sm *)arg)->ups++;
}

static inline void client_down(void *arg)
{
	((struct world_sm *)arg)->downs++;
}

static inline void client_port_in(void *arg, uint64_t guid)
{
	((struct world_sm *)arg)->ins++;
}

static inline void client_port_out(void *arg, uint64_t guid)
{
	((struct world_sm *)arg)->outs++;
	((struct world_sm *)arg)->last_out = guid;
}

static inline void client_receive(void *arg, const struct ib_packet *packet)
{
}

static inline void client_trap(void *arg, const uint8_t *notice)
{
	((struct world_sm *)arg)->traps++;
}

static const struct sm_client_ops world_client = {
	.up = client_up,
	.down = client_down,
	.port_in = client_port_in,
	.port_out = client_port_out,
	.receive = client_receive,
	.trap = client_trap,
};

static inline int port_send(void *arg, const struct ib_packet *packet)
{
	return fabric_port_send(((struct world_sm *)arg)->port, packet);
}

static inline void port_set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(((struct world_sm *)arg)->port, FABRIC_ISSM_OURS, issm);
}

static const struct sm_port_ops world_port = {
	.send = port_send,
	.set_issm = port_set_issm,
};

static inline bool is_node_info_of(const struct ib_packet *packet, uint64_t guid)
{
	struct smp_node_info info;
	struct mad_header h;

	mad_header_get(packet->payload, &h);
	if (packet->dest_qp != IB_QP_SMI || h.attr_id != SMP_NODE_INFO)
		return false;
	smp_node_info_get(packet->payload + SMP_DATA, &info);
	return info.node_guid == guid;
}

static inline void port_receive(void *arg, const struct ib_packet *packet)
{
	struct world_sm *ws = arg;

	if (ws->sm && !(ws->silent && is_node_info_of(packet, ws->silent)))
		sm_receive(ws->sm, packet);
}

static inline void port_changed(void *arg, unsigned int changes)
{
}

static const struct fabric_port_ops world_sm_port = {
	.receive = port_receive,
	.changed = port_changed,
};

static inline void host_receive(void *arg, const struct ib_packet *packet)
{
}

static inline void host_changed(void *arg, unsigned int changes)
{
	if (changes & FABRIC_PORT_REREGISTER)
		++*(unsigned int *)arg;
}

static const struct fabric_port_ops world_host = {
	.receive = host_receive,
	.changed = host_changed,
};

/* -- life ------------------------------------------------------------------------------ */

/* Takes the topology. */
static inline struct world *world_create(struct topology *topology, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));
	struct fabric_config config = {
		.timers = &w->timers,
		.random = &w->random,
		.topology = topology,
		.hop_latency_ns = 100,
	};

	assert_non_null(topology);
	timer_queue_init(&w->timers, 1000, NULL, NULL);
	random_seed(&w->random, seed);
	w->topology = topology;
	assert_int_equal(fabric_create(&config, &w->fabric), 0);
	while (w->host_count < WORLD_HOSTS &&
	       (w->hosts[w->host_count] = fabric_hca_port(w->fabric, w->host_count))) {
		fabric_port_attach(w->hosts[w->host_count], &world_host,
				   &w->reregisters[w->host_count]);
		w->host_count++;
	}
	return w;
}

static inline struct world_sm *world_sm_start(struct world *w, unsigned int n,
					      unsigned int host,
					      const struct sm_config *extra)
{
	struct world_sm *ws = &w->sms[n];
	struct sm_config config = { 0 };
	struct fabric_port_info info;

	memset(ws, 0, sizeof(*ws));
	ws->world = w;
	ws->port = w->hosts[host];
	fabric_port_info(ws->port, &info);
	if (extra)
		config = *extra;
	config.timers = &w->timers;
	config.random = &w->random;
	config.port = &world_port;
	config.port_arg = ws;
	config.port_guid = info.port_guid;
	config.client = &world_client;
	config.client_arg = ws;
	fabric_port_attach(ws->port, &world_sm_port, ws);
	assert_int_equal(sm_create(&config, &ws->sm), 0);
	return ws;
}

/* As a process that is killed: the port stays as it is. */
static inline void world_sm_kill(struct world *w, unsigned int n)
{
	struct world_sm *ws = &w->sms[n];

	sm_destroy(ws->sm);
	ws->sm = NULL;
	fabric_port_set_issm(ws->port, FABRIC_ISSM_OURS, false);
}

static inline void world_destroy(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_SMS; i++)
		sm_destroy(w->sms[i].sm);
	fabric_destroy(w->fabric);
	topology_destroy(w->topology);
	assert_int_equal(timer_queue_next(&w->timers), UINT64_MAX);
	free(w);
}

/* -- time ------------------------------------------------------------------------------ */

static inline bool world_step(struct world *w, uint64_t end)
{
	uint64_t next = timer_queue_next(&w->timers);

	if (next > end) {
		timer_queue_run(&w->timers, end);
		return false;
	}
	timer_queue_run(&w->timers, next > w->timers.now_ns ? next : w->timers.now_ns);
	w->events++;
	return true;
}

static inline void world_run(struct world *w, uint64_t ns)
{
	uint64_t end = w->timers.now_ns + ns;

	while (world_step(w, end))
		;
}

#define world_until(w, condition, ns)                                              \
	do {                                                                       \
		uint64_t world_end = (w)->timers.now_ns + (ns);                    \
		while (!(condition))                                               \
			if (!world_step((w), world_end) && !(condition))           \
				fail_msg("not within %llu ms of virtual time: %s", \
					 (unsigned long long)((ns) / TIMER_MS),    \
					 #condition);                              \
	} while (0)

static inline bool world_is_up(struct world *w, unsigned int n)
{
	return w->sms[n].sm && sm_is_up(w->sms[n].sm);
}

static inline uint64_t world_sweeps(struct world *w, unsigned int n)
{
	struct sm_counters c;

	sm_counters(w->sms[n].sm, &c);
	return c.sweeps;
}

/* One SM at the first adapter, and the subnet up. */
static inline struct world *world_up_with(struct topology *topology, uint64_t seed,
					  const struct sm_config *extra)
{
	struct world *w = world_create(topology, seed);

	world_sm_start(w, 0, 0, extra);
	world_until(w, world_is_up(w, 0), SECOND);
	return w;
}

static inline struct world *world_up(struct topology *topology, uint64_t seed)
{
	return world_up_with(topology, seed, NULL);
}

/* -- what is there --------------------------------------------------------------------- */

static inline uint64_t world_guid(struct world *w, unsigned int host)
{
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	return info.port_guid;
}

static inline uint16_t world_lid(struct world *w, unsigned int host)
{
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	return info.info.lid;
}

/* So many, of which world_lid is the first. */
static inline unsigned int world_lids(struct world *w, unsigned int host)
{
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	return 1u << info.info.lmc;
}

static inline uint8_t world_state(struct world *w, unsigned int host)
{
	struct fabric_port_info info;

	fabric_port_info(w->hosts[host], &info);
	return info.info.state;
}

static inline void world_expect_pair(struct world *w, unsigned int a, unsigned int b)
{
	for (unsigned int i = 0; i < world_lids(w, b); i++) {
		uint16_t lid = (uint16_t)(world_lid(w, b) + i);

		if (fabric_walk_unicast(w->hosts[a], lid, IB_PKEY_DEFAULT_FULL) !=
		    w->hosts[b])
			fail_msg("no way from host %u to host %u by LID %u", a, b, lid);
	}
}

static inline void world_expect_pairs(struct world *w)
{
	for (unsigned int a = 0; a < w->host_count; a++)
		for (unsigned int b = 0; b < w->host_count; b++)
			if (a != b)
				world_expect_pair(w, a, b);
}

/* -- groups ---------------------------------------------------------------------------- */

/* Who is in: 0 nobody, 'r' receives, 's' sends only. */
struct world_group {
	uint16_t mlid;
	char members[WORLD_HOSTS];
};

static inline void group_done(void *arg, int error)
{
	struct world *w = arg;

	w->done++;
	w->error = error;
}

static inline void world_route(struct world *w, unsigned int n,
			       const struct world_group *g)
{
	struct sm_mc_member *members = calloc(w->host_count, sizeof(*members));
	unsigned int count = 0;

	for (unsigned int i = 0; i < w->host_count; i++)
		if (g->members[i])
			members[count++] = (struct sm_mc_member){
				.port_guid = world_guid(w, i),
				.receives = g->members[i] == 'r',
			};
	sm_route_group(w->sms[n].sm, g->mlid, members, count, group_done, w);
	free(members);
}

/* And wait until it is routed. */
static inline int world_route_now(struct world *w, const struct world_group *g)
{
	unsigned int before = w->done;

	world_route(w, 0, g);
	assert_int_equal(w->done, before);
	world_until(w, w->done == before + 1, 10 * SECOND);
	return w->error;
}

static inline void walk_reached(void *arg, struct fabric_port *port)
{
	struct world *w = arg;

	for (unsigned int i = 0; i < w->host_count; i++)
		if (w->hosts[i] == port) {
			w->reached[i]++;
			return;
		}
	w->foreign++;
}

static inline void world_walk(struct world *w, unsigned int from, uint16_t mlid)
{
	memset(w->reached, 0, sizeof(w->reached));
	w->foreign = 0;
	fabric_walk_multicast(w->hosts[from], mlid, IB_PKEY_DEFAULT_FULL, walk_reached,
			      w);
}

/* From every member all others that receive are reached once, and nobody else is. */
static inline void world_expect_group(struct world *w, const struct world_group *g)
{
	for (unsigned int from = 0; from < w->host_count; from++) {
		if (!g->members[from])
			continue;
		world_walk(w, from, g->mlid);
		assert_int_equal(w->foreign, 0);
		for (unsigned int i = 0; i < w->host_count; i++) {
			unsigned int due = i != from && g->members[i] == 'r';

			if (w->reached[i] != due)
				fail_msg("MLID 0x%04x from host %u: host %u is reached "
					 "%u times instead of %u",
					 g->mlid, from, i, w->reached[i], due);
		}
	}
}

/* At no moment may a packet come twice or to somebody else, whoever sends it. */
static inline void world_expect_no_more(struct world *w, const struct world_group *g)
{
	for (unsigned int from = 0; from < w->host_count; from++) {
		world_walk(w, from, g->mlid);
		for (unsigned int i = 0; i < w->host_count; i++)
			if (w->reached[i] > (i != from && g->members[i] == 'r'))
				fail_msg("MLID 0x%04x from host %u: host %u is reached "
					 "%u times",
					 g->mlid, from, i, w->reached[i]);
	}
}

#endif
