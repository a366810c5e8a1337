/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/managers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the first start to the end of the site, or until its place is needed. */
struct manager {
	struct managers *all;
	struct fabric_port *port; /* null: a free place */
	char node[64];
	bool is_adapter;
	uint8_t priority, lmc;
	struct sm *sm;
	struct sa_server *sa;
};

struct managers {
	struct managers_config config;
	struct manager list[MANAGERS_MAX];
};

/* -- the port ------------------------------------------------------------------------ */

static int port_send(void *arg, const struct ib_packet *packet)
{
	return fabric_port_send(((struct manager *)arg)->port, packet);
}

static void set_issm(void *arg, bool issm)
{
	fabric_port_set_issm(((struct manager *)arg)->port, FABRIC_ISSM_OURS, issm);
}

static const struct sm_port_ops sm_ops = { .send = port_send, .set_issm = set_issm };

static void receive(void *arg, const struct ib_packet *packet)
{
	sm_receive(((struct manager *)arg)->sm, packet);
}

/* The port has a link again, or is as new: a subnet manager on hardware has that from its
 * driver. By datagrams nobody would tell it: who is beside it is an adapter, or has been
 * off too and knows no subnet manager to tell. */
static void changed(void *arg, unsigned int changes)
{
	const struct manager *m = arg;
	struct fabric_port_info info;

	if (!(changes & FABRIC_PORT_STATE))
		return;
	fabric_port_info(m->port, &info);
	if (info.info.state == SMP_PORT_INIT ||
	    (info.info.state == SMP_PORT_ACTIVE && !info.info.lid))
		sm_sweep(m->sm);
}

static const struct fabric_port_ops port_ops = { .receive = receive, .changed = changed };

/* What is for a subnet manager or its administrator, and not for the node, which would
 * refuse it. An answer may be to either; Reports are for the node. */
static bool is_ours(const struct ib_packet *packet)
{
	struct mad_header h;

	mad_header_get(packet->payload, &h);
	if (packet->dest_qp == IB_QP_SMI)
		return h.method == MAD_METHOD_TRAP ||
		       (h.attr_id == SMP_SM_INFO && !(h.method & MAD_METHOD_RESPONSE));
	if (h.mgmt_class == SM_PEER_CLASS)
		return true;
	return h.mgmt_class == MAD_CLASS_SUBN_ADM && h.method != MAD_METHOD_REPORT &&
	       !(h.method & MAD_METHOD_RESPONSE);
}

static bool overhear(void *arg, const struct ib_packet *packet)
{
	if (packet->length < MAD_BYTES)
		return false;
	receive(arg, packet);
	return is_ours(packet);
}

static const struct path_fabric_listener listener = { .receive = overhear,
						      .changed = changed };

static int listen_to(struct manager *m, bool on)
{
	if (m->is_adapter)
		return path_fabric_listen(m->all->config.path, m->port,
					  on ? &listener : NULL, m);
	fabric_port_attach(m->port, on ? &port_ops : NULL, on ? m : NULL);
	return 0;
}

/* -- one ------------------------------------------------------------------------------ */

static int run(struct manager *m)
{
	const struct managers_config *c = &m->all->config;
	const struct sa_server_config sa = {
		.timers = c->timers,
		.random = c->random,
		.partitions = c->partitions,
		.partition_count = c->partition_count,
	};
	struct sm_config sm = {
		.timers = c->timers,
		.random = c->random,
		.port = &sm_ops,
		.port_arg = m,
		.priority = m->priority,
		.lmc = m->lmc,
		.partitions = c->partitions,
		.partition_count = c->partition_count,
		.client = &sa_server_sm_ops,
	};
	struct fabric_port_info info;
	int r;

	fabric_port_info(m->port, &info);
	sm.port_guid = info.port_guid;
	r = sa_server_create(&sa, &m->sa);
	if (r < 0)
		return r;
	sm.client_arg = m->sa;
	r = sm_create(&sm, &m->sm);
	if (!r)
		r = listen_to(m, true);
	if (r < 0) {
		sm_destroy(m->sm);
		sa_server_destroy(m->sa);
		m->sm = NULL;
		m->sa = NULL;
		return r;
	}
	sa_server_set_sm(m->sa, m->sm);
	return 0;
}

/* What a process cannot do any more that was killed: its port says so, and nobody is
 * behind it. */
static void kill(struct manager *m)
{
	if (!m->sm)
		return;
	listen_to(m, false);
	fabric_port_set_issm(m->port, FABRIC_ISSM_OURS, false);
	sa_server_destroy(m->sa);
	sm_destroy(m->sm);
	m->sa = NULL;
	m->sm = NULL;
}

/* -- all of them ---------------------------------------------------------------------- */

static struct manager *find(struct managers *all, const struct fabric_port *port)
{
	for (unsigned int i = 0; i < MANAGERS_MAX; i++)
		if (all->list[i].port == port)
			return &all->list[i];
	return NULL;
}

/* A free one, else one whose subnet manager is stopped; the first keeps its own. */
static struct manager *find_place(struct managers *all)
{
	struct manager *m = find(all, NULL);

	for (unsigned int i = 1; !m && i < MANAGERS_MAX; i++)
		if (!all->list[i].sm)
			m = &all->list[i];
	return m;
}

static bool is_switch(const struct fabric_port *port)
{
	struct fabric_port_info info;

	fabric_port_info(port, &info);
	return info.port_num == 0;
}

int managers_start(struct managers *all, const char *node, uint8_t priority, uint8_t lmc)
{
	struct fabric_port *port = fabric_find_port(all->config.net, node, 0);
	struct manager *m = port ? find(all, port) : NULL;
	int r;

	if (!port)
		return -ENOENT;
	if (m && m->sm)
		return -EALREADY;
	if (!m)
		m = find_place(all);
	if (!m)
		return -ENOSPC;
	m->all = all;
	m->is_adapter = !is_switch(port);
	m->priority = priority;
	m->lmc = lmc;
	m->port = port;
	snprintf(m->node, sizeof(m->node), "%s", node);
	r = run(m);
	if (r < 0)
		m->port = NULL;
	return r;
}

int managers_stop(struct managers *all, const char *node)
{
	struct fabric_port *port = fabric_find_port(all->config.net, node, 0);
	struct manager *m = port ? find(all, port) : NULL;

	if (!m)
		return -ENOENT;
	if (!m->sm)
		return -EALREADY;
	kill(m);
	return 0;
}

bool managers_nth(const struct managers *all, unsigned int n, struct manager_view *ret)
{
	for (unsigned int i = 0; i < MANAGERS_MAX; i++) {
		const struct manager *m = &all->list[i];

		if (!m->port || n-- > 0)
			continue;
		*ret = (struct manager_view){
			.node = m->node, .priority = m->priority, .sm = m->sm, .sa = m->sa
		};
		return true;
	}
	return false;
}

bool managers_master(const struct managers *all, struct manager_view *ret)
{
	struct manager_view view;
	bool found = false;

	for (unsigned int n = 0; managers_nth(all, n, &view); n++) {
		bool master = view.sm && sm_state(view.sm) == SM_MASTER;

		if (!view.sm || (found && !master))
			continue;
		*ret = view;
		found = true;
		if (master)
			break;
	}
	return found;
}

int managers_create(const struct managers_config *config, struct managers **ret)
{
	struct managers *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	all->config = *config;
	*ret = all;
	return 0;
}

void managers_destroy(struct managers *all)
{
	for (unsigned int i = 0; all && i < MANAGERS_MAX; i++)
		if (all->list[i].port)
			kill(&all->list[i]);
	free(all);
}
