/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric in virtual time, somebody who sits at one of its ports and asks, and a subnet
 * manager of the simplest kind, which knows the topology instead of exploring it.
 */
#ifndef FABRIC_NET_WORLD_H
#define FABRIC_NET_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "fabric/net/fabric.h"
#include "harness/harness.h"

#define WORLD_NODES 256
#define SEAT_INBOX  64

#define UNUSED __attribute__((unused))

/* How to get there from the manager's seat. */
struct world_route {
	bool reached;
	uint8_t hops;
	uint8_t path[64];
};

struct world {
	struct timer_queue timers;
	struct random random;
	struct topology *topology;
	struct fabric *fabric;
	unsigned int routes_changed;
	struct world_route routes[WORLD_NODES];
};

struct arrived {
	struct ib_packet packet;
	uint8_t mad[256];
};

/* Somebody attached to a port. */
struct seat {
	struct world *world;
	struct fabric_port *port;
	struct arrived inbox[SEAT_INBOX]; /* the first ones */
	unsigned int count;
	unsigned int changes, times_told;
	uint64_t next_tid;
};

static void world_routes_changed(void *arg)
{
	((struct world *)arg)->routes_changed++;
}

/* Takes the topology. */
static UNUSED void world_begin_with(struct world *w, struct topology *t,
				    struct fabric_config config)
{
	memset(w, 0, sizeof(*w));
	timer_queue_init(&w->timers, 1000, NULL, NULL);
	random_seed(&w->random, 1);
	w->topology = t;
	config.timers = &w->timers;
	config.random = &w->random;
	config.topology = t;
	config.routes_changed = world_routes_changed;
	config.arg = w;
	assert_int_equal(fabric_create(&config, &w->fabric), 0);
}

static UNUSED void world_begin(struct world *w, struct topology *t)
{
	world_begin_with(w, t, (struct fabric_config){ 0 });
}

static UNUSED void world_begin_text(struct world *w, const char *text)
{
	struct topology *t;
	char error[200] = "";

	if (topology_parse(text, strlen(text), &t, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	world_begin(w, t);
}

static UNUSED void world_end(struct world *w)
{
	fabric_destroy(w->fabric);
	topology_destroy(w->topology);
}

/* All that is due at this moment, and what follows from it. */
static UNUSED void world_run(struct world *w)
{
	while (timer_queue_next(&w->timers) <= w->timers.now_ns)
		timer_queue_run(&w->timers, w->timers.now_ns);
}

static UNUSED void world_pass(struct world *w, uint64_t ns)
{
	uint64_t end = w->timers.now_ns + ns, next;

	world_run(w);
	while ((next = timer_queue_next(&w->timers)) <= end) {
		timer_queue_run(&w->timers, next);
		world_run(w);
	}
	timer_queue_run(&w->timers, end);
}

static void seat_receive(void *arg, const struct ib_packet *packet)
{
	struct seat *s = arg;

	if (s->count < SEAT_INBOX) {
		struct arrived *a = &s->inbox[s->count];

		a->packet = *packet;
		assert_int_equal(packet->length, 256);
		memcpy(a->mad, packet->payload, 256);
	}
	s->count++;
}

static void seat_changed(void *arg, unsigned int changes)
{
	struct seat *s = arg;

	s->changes |= changes;
	s->times_told++;
}

static UNUSED void seat_take_port(struct seat *s, struct world *w,
				  struct fabric_port *port)
{
	static const struct fabric_port_ops ops = { .receive = seat_receive,
						    .changed = seat_changed };

	assert_non_null(port);
	memset(s, 0, sizeof(*s));
	s->world = w;
	s->port = port;
	s->next_tid = 0x1234;
	fabric_port_attach(port, &ops, s);
}

static UNUSED void seat_take(struct seat *s, struct world *w, const char *node)
{
	seat_take_port(s, w, fabric_find_port(w->fabric, node, 0));
}

static UNUSED void seat_forget(struct seat *s)
{
	s->count = 0;
	s->changes = 0;
	s->times_told = 0;
}

/* -- MADs -------------------------------------------------------------------------- */

static UNUSED void smp_begin(uint8_t mad[256], uint8_t mgmt_class, uint8_t method,
			     uint16_t attr, uint32_t modifier, uint64_t tid)
{
	struct mad_header h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = method,
		.tid = tid,
		.attr_id = attr,
		.attr_mod = modifier,
	};

	memset(mad, 0, 256);
	mad_header_put(mad, &h);
	if (mgmt_class == MAD_CLASS_SUBN_DIRECTED)
		memset(mad + SMP_DR_SLID, 0xff, 4);
}

static UNUSED void smp_set_path(uint8_t mad[256], uint8_t hops, const uint8_t *path)
{
	mad[7] = hops;
	if (hops)
		memcpy(mad + SMP_INITIAL_PATH + 1, path, hops);
}

static UNUSED int smp_send(struct seat *s, const uint8_t mad[256], uint16_t dlid)
{
	struct ib_packet packet = { .dlid = dlid, .payload = mad, .length = 256 };

	return fabric_port_send(s->port, &packet);
}

static UNUSED int gmp_send(struct seat *s, const uint8_t mad[256], uint16_t dlid,
			   uint16_t pkey)
{
	struct ib_packet packet = {
		.dlid = dlid,
		.pkey = pkey,
		.dest_qp = 1,
		.src_qp = 1,
		.qkey = IB_GSI_QKEY,
		.payload = mad,
		.length = 256,
	};

	return fabric_port_send(s->port, &packet);
}

/* What a MAD arrived with. */
static UNUSED uint16_t mad_status(const uint8_t *mad)
{
	return (uint16_t)((mad[4] << 8 | mad[5]) & 0x7fff);
}

/* The response to `mad`, or null: none came at once. */
static UNUSED uint8_t *seat_answer(struct seat *s, const uint8_t *mad)
{
	world_run(s->world);
	for (unsigned int i = 0; i < s->count && i < SEAT_INBOX; i++) {
		if (memcmp(s->inbox[i].mad + 8, mad + 8, 8) == 0 &&
		    s->inbox[i].mad[3] == MAD_METHOD_GET_RESP)
			return s->inbox[i].mad;
	}
	return NULL;
}

/* By a directed route; `data` null: zeroes. */
static UNUSED uint8_t *ask(struct seat *s, const struct world_route *to, uint8_t method,
			   uint16_t attr, uint32_t modifier, const uint8_t *data)
{
	uint8_t mad[256];

	seat_forget(s);
	smp_begin(mad, MAD_CLASS_SUBN_DIRECTED, method, attr, modifier, s->next_tid++);
	smp_set_path(mad, to->hops, to->path);
	if (data)
		memcpy(mad + SMP_DATA, data, SMP_DATA_BYTES);
	if (smp_send(s, mad, IB_LID_PERMISSIVE) != 0)
		return NULL;
	return seat_answer(s, mad);
}

static UNUSED uint8_t *ask_lid(struct seat *s, uint16_t lid, uint8_t method,
			       uint16_t attr, uint32_t modifier)
{
	uint8_t mad[256];

	seat_forget(s);
	smp_begin(mad, MAD_CLASS_SUBN_LID, method, attr, modifier, s->next_tid++);
	if (smp_send(s, mad, lid) != 0)
		return NULL;
	return seat_answer(s, mad);
}

/* The data of a response that must come, with status 0. */
static UNUSED const uint8_t *must(const uint8_t *response)
{
	assert_non_null(response);
	assert_int_equal(mad_status(response), 0);
	return response + SMP_DATA;
}

#define assert_status(response, status)                            \
	do {                                                       \
		const uint8_t *must_come = (response);             \
		assert_non_null(must_come);                        \
		assert_int_equal(mad_status(must_come), (status)); \
	} while (0)

static UNUSED struct smp_port_info port_info(struct seat *s, const struct world_route *to,
					     unsigned int port)
{
	struct smp_port_info info;

	smp_port_info_get(must(ask(s, to, MAD_METHOD_GET, SMP_PORT_INFO, port, NULL)),
			  &info);
	return info;
}

/* A Set that changes nothing by itself: "no change" where there is such a value. */
static UNUSED struct smp_port_info
port_info_for_set(struct seat *s, const struct world_route *to, unsigned int port)
{
	struct smp_port_info info = port_info(s, to, port);

	info.state = SMP_PORT_NOP;
	info.phys_state = SMP_PHYS_NOP;
	return info;
}

static UNUSED uint8_t *set_port_info(struct seat *s, const struct world_route *to,
				     unsigned int port, const struct smp_port_info *info)
{
	uint8_t data[64];

	smp_port_info_put(data, info);
	return ask(s, to, MAD_METHOD_SET, SMP_PORT_INFO, port, data);
}

static UNUSED uint8_t *set_state(struct seat *s, const struct world_route *to,
				 unsigned int port, uint8_t state)
{
	struct smp_port_info info = port_info_for_set(s, to, port);

	info.state = state;
	return set_port_info(s, to, port, &info);
}

static UNUSED uint8_t *set_phys_state(struct seat *s, const struct world_route *to,
				      unsigned int port, uint8_t phys_state)
{
	struct smp_port_info info = port_info_for_set(s, to, port);

	info.phys_state = phys_state;
	return set_port_info(s, to, port, &info);
}

/* -- a subnet manager -------------------------------------------------------------- */

/* The seat's port is port `port` of node `from`. */
static UNUSED void world_find_routes(struct world *w, uint32_t from, unsigned int port)
{
	const struct topology *t = w->topology;
	uint32_t queue[WORLD_NODES], head = 0, tail = 0;

	memset(w->routes, 0, sizeof(w->routes));
	w->routes[from].reached = true;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t at = queue[head++];
		const struct topology_node *n = &t->nodes[at];

		if (!n->is_switch && at != from)
			continue;
		for (unsigned int p = 1; p <= n->ports; p++) {
			uint32_t next = n->links[p].node;
			struct world_route *r;

			if (next == UINT32_MAX || w->routes[next].reached ||
			    (at == from && !n->is_switch && p != port))
				continue;
			r = &w->routes[next];
			*r = w->routes[at];
			r->path[r->hops++] = (uint8_t)p;
			queue[tail++] = next;
		}
	}
}

/* Node i has LID i + 1; adapters use one port. */
static UNUSED uint16_t world_lid(uint32_t node)
{
	return (uint16_t)(node + 1);
}

static UNUSED void world_distances(const struct world *w, uint32_t to,
				   unsigned int distance[WORLD_NODES])
{
	const struct topology *t = w->topology;
	uint32_t queue[WORLD_NODES], head = 0, tail = 0;

	memset(distance, 0xff, WORLD_NODES * sizeof(*distance));
	distance[to] = 0;
	queue[tail++] = to;
	while (head < tail) {
		uint32_t at = queue[head++];

		if (!t->nodes[at].is_switch && at != to)
			continue;
		for (unsigned int p = 1; p <= t->nodes[at].ports; p++) {
			uint32_t next = t->nodes[at].links[p].node;

			if (next == UINT32_MAX || distance[next] != UINT32_MAX)
				continue;
			distance[next] = distance[at] + 1;
			queue[tail++] = next;
		}
	}
}

/* The lowest port on a shortest way. */
static UNUSED uint8_t world_port_towards(const struct world *w, uint32_t from,
					 const unsigned int distance[WORLD_NODES])
{
	const struct topology_node *n = &w->topology->nodes[from];

	if (distance[from] == 0)
		return 0;
	for (unsigned int p = 1; p <= n->ports; p++) {
		uint32_t next = n->links[p].node;

		if (next != UINT32_MAX && distance[next] + 1 == distance[from])
			return (uint8_t)p;
	}
	return 0xff;
}

static UNUSED void set_switch_info(struct seat *s, const struct world_route *to,
				   uint16_t lft_top, uint16_t mft_top)
{
	struct smp_switch_info info;
	uint8_t data[64] = { 0 };

	smp_switch_info_get(must(ask(s, to, MAD_METHOD_GET, SMP_SWITCH_INFO, 0, NULL)),
			    &info);
	info.lft_top = lft_top;
	info.mft_top = mft_top;
	info.state_change = 1;
	smp_switch_info_put(data, &info);
	must(ask(s, to, MAD_METHOD_SET, SMP_SWITCH_INFO, 0, data));
}

static UNUSED void world_set_lids(struct world *w, struct seat *s, uint16_t sm_lid)
{
	for (uint32_t i = 0; i < w->topology->count; i++) {
		struct smp_port_info info;

		if (!w->routes[i].reached)
			continue;
		info = port_info_for_set(s, &w->routes[i], 0);
		info.lid = world_lid(i);
		info.sm_lid = sm_lid;
		must(set_port_info(s, &w->routes[i], 0, &info));
	}
}

static UNUSED void world_set_lfts(struct world *w, struct seat *s)
{
	static uint8_t lft[WORLD_NODES][WORLD_NODES + 64];
	unsigned int distance[WORLD_NODES];
	uint32_t count = w->topology->count;

	memset(lft, 0xff, sizeof(lft));
	for (uint32_t to = 0; to < count; to++) {
		world_distances(w, to, distance);
		for (uint32_t from = 0; from < count; from++) {
			if (w->topology->nodes[from].is_switch)
				lft[from][world_lid(to)] =
					world_port_towards(w, from, distance);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!w->topology->nodes[i].is_switch || !w->routes[i].reached)
			continue;
		set_switch_info(s, &w->routes[i], world_lid(count), 0xc3ff);
		for (uint32_t block = 0; block * 64 <= world_lid(count); block++)
			must(ask(s, &w->routes[i], MAD_METHOD_SET, SMP_LINEAR_FT, block,
				 lft[i] + 64 * block));
	}
}

static UNUSED void world_set_states(struct world *w, struct seat *s, uint8_t state)
{
	for (uint32_t i = 0; i < w->topology->count; i++) {
		const struct topology_node *n = &w->topology->nodes[i];

		for (unsigned int p = 1; p <= n->ports && w->routes[i].reached; p++) {
			/* An adapter's other ports are asked by their own routes. */
			if (n->links[p].node != UINT32_MAX && (n->is_switch || p == 1))
				must(set_state(s, &w->routes[i], p, state));
		}
	}
}

/* LIDs, unicast tables, ports ACTIVE; the seat is port 1 of that adapter. */
static UNUSED void world_configure(struct world *w, struct seat *s, uint32_t node)
{
	world_find_routes(w, node, 1);
	world_set_lids(w, s, world_lid(node));
	world_set_lfts(w, s);
	world_set_states(w, s, SMP_PORT_ARMED);
	world_set_states(w, s, SMP_PORT_ACTIVE);
	seat_forget(s);
}

static UNUSED void set_mft(struct seat *s, const struct world_route *to, uint16_t mlid,
			   unsigned int position, uint16_t mask)
{
	uint32_t index = mlid - IB_LID_MULTICAST_BASE;
	uint32_t modifier = position << 28 | index / 32;
	uint8_t data[64];

	memcpy(data, must(ask(s, to, MAD_METHOD_GET, SMP_MULTICAST_FT, modifier, NULL)),
	       64);
	data[2 * (index % 32)] = (uint8_t)(mask >> 8);
	data[2 * (index % 32) + 1] = (uint8_t)mask;
	must(ask(s, to, MAD_METHOD_SET, SMP_MULTICAST_FT, modifier, data));
}

#endif
