// SPDX-License-Identifier: BSD-2-Clause
/*
 * A host: its adapter's port as an IB device, and the layers on it. The device knows what
 * its port knows, and says what has changed.
 */
#include "sim.h"

/* -- the device ------------------------------------------------------------------------- */

static struct sim_host *host_of(struct ib_device *ib)
{
	return container_of(ib, struct sim_host, ib);
}

static int query_port(struct ib_device *ib, u32 port_num, struct ib_port_attr *attr)
{
	struct fabric_port_info info;

	fabric_port_info(host_of(ib)->port, &info);
	attr->state = (enum ib_port_state)info.info.state;
	attr->max_mtu = info.info.mtu_cap;
	attr->active_mtu = info.info.neighbor_mtu;
	attr->active_width = info.info.width_active;
	attr->active_speed = info.info.speed_active;
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
	if (index)
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	sim_host_gid(host_of(ib), &attr->gid);
	attr->gid_type = IB_GID_TYPE_IB;
	attr->port_num = port_num;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port_num, u16 index, u16 *pkey)
{
	struct fabric_port_info info;

	fabric_port_info(host_of(ib)->port, &info);
	if (index >= info.pkey_count)
		return -EINVAL;
	*pkey = info.pkeys[index];
	return 0;
}

static int post_mad(struct ib_device *ib, u32 port_num, const struct ib_packet *packet)
{
	sim_ledger_asked(host_of(ib), packet->payload);
	return fabric_port_send(host_of(ib)->port, packet);
}

static const struct ib_device_ops device_ops = {
	.query_port = query_port,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.post_mad = post_mad,
};

/* What a MAD means to the ledger depends on whether somebody has waited for it. */
static void receive(void *arg, const struct ib_packet *packet)
{
	struct ib_mad_counters before, after;
	struct sim_host *host = arg;

	if (sim_manager_takes(host, packet))
		return;
	/* First, for the layers may ask something else before they return. */
	sim_ledger_heard(host, packet->payload);
	ib_mad_counters(host->mad, &before);
	ib_receive_mad(&host->ib, 1, packet);
	ib_mad_counters(host->mad, &after);
	if (after.unmatched > before.unmatched || after.malformed > before.malformed)
		sim_ledger_unheard();
}

/* The port was out, or the SM is new. Where answers are lost, the SM says it again; who has
 * joined in between forgets that, and the SA does not. */
static bool sa_forgets_too(enum ib_event_type type)
{
	return type == IB_EVENT_PORT_ERR ||
	       (type == IB_EVENT_CLIENT_REREGISTER && !sim.profile.loss);
}

static void tell(struct sim_host *host, enum ib_event_type type)
{
	struct ib_event event = { .device = &host->ib, .event = type };

	event.element.port_num = 1;
	if (type != IB_EVENT_SM_CHANGE && type != IB_EVENT_PORT_ACTIVE &&
	    type != IB_EVENT_GID_CHANGE) {
		sim.upsets += type != IB_EVENT_PKEY_CHANGE;
		sim_ledger_struck(host, sa_forgets_too(type));
	}
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
		{ FABRIC_PORT_GIDS, IB_EVENT_GID_CHANGE },
		{ FABRIC_PORT_REREGISTER, IB_EVENT_CLIENT_REREGISTER },
	};
	struct sim_host *host = arg;
	struct fabric_port_info info;
	bool active;

	fabric_port_info(host->port, &info);
	active = info.info.state == SMP_PORT_ACTIVE;
	sim_trace("host %u: port in state %u, changes %#x", host->number, info.info.state,
		  changes);
	if (active != host->active)
		tell(host, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	else if (active && changes & FABRIC_PORT_STATE)
		/* Down and up again before anybody looked. */
		tell(host, IB_EVENT_PORT_ERR);
	host->active = active;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (changes & events[i].change)
			tell(host, events[i].event);
}

static const struct fabric_port_ops port_ops = { .receive = receive, .changed = changed };

void sim_host_gid(const struct sim_host *host, union ib_gid *ret)
{
	struct fabric_port_info info;
	uint64_t prefix, guid;

	fabric_port_info(host->port, &info);
	prefix = htobe64(info.info.gid_prefix);
	guid = htobe64(info.port_guid);
	memcpy(ret->raw, &prefix, 8);
	memcpy(ret->raw + 8, &guid, 8);
}

struct sim_host *sim_host_by_gid(const union ib_gid *gid)
{
	union ib_gid own;

	for (unsigned int n = 0; n < sim.host_count; n++) {
		sim_host_gid(&sim.hosts[n], &own);
		if (memcmp(own.raw + 8, gid->raw + 8, 8) == 0)
			return &sim.hosts[n];
	}
	return NULL;
}

/* -- the layers ------------------------------------------------------------------------- */

static void addresses(void *arg, struct ib_device *device, u32 port_num,
		      struct ipoib_addresses *ret)
{
	ipoib_default_addresses(host_of(device)->number + 1, ret);
}

static void run_cma(struct timer *timer)
{
	cma_run(container_of(timer, struct sim_host, cma_runs)->cma);
}

static void schedule(void *arg)
{
	timer_arm(&((struct sim_host *)arg)->cma_runs, 0);
}

static void start_ip(struct sim_host *host)
{
	struct ipoib_config ipoib = { .node = host->node,
				      .timers = &sim.timers,
				      .addresses = addresses };
	struct cma_config cma = { .node = host->node,
				  .host = &addr_isolated_ops,
				  .schedule = schedule,
				  .arg = host };

	timer_init(&host->cma_runs, &sim.timers, run_cma);
	assert_int_equal(ipoib_create(&ipoib, &host->ipoib), 0);
	cma.ipoib = host->ipoib;
	assert_int_equal(cma_create(&cma, &host->cma), 0);
}

void sim_host_start(struct sim_host *host)
{
	struct ib_mad_config mad = { .timers = &sim.timers, .random = &sim.random };
	struct ib_sa_config sa = { .timers = &sim.timers, .random = &sim.random };
	struct fabric_port_info info;

	sim_trace("host %u starts", host->number);
	host->node = ib_node_create("h", host->number);
	assert_non_null(host->node);
	host->ib = (struct ib_device){ .ops = device_ops,
				       .node_type = RDMA_NODE_IB_CA,
				       .phys_port_cnt = 1 };
	strcpy(host->ib.name, "vib0");
	assert_int_equal(ib_register_device(&host->ib, host->node), 0);
	mad.node = sa.node = host->node;
	assert_int_equal(ib_mad_create(&mad, &host->mad), 0);
	sa.mad = host->mad;
	assert_int_equal(ib_sa_create(&sa, &host->sa), 0);
	ib_sa_register_client(&host->client);
	if (host->with_ip)
		start_ip(host);
	fabric_port_info(host->port, &info);
	host->active = info.info.state == SMP_PORT_ACTIVE;
	fabric_port_attach(host->port, &port_ops, host);
	host->alive = true;
}

void sim_host_remove_device(struct sim_host *host)
{
	sim_trace("host %u: its device goes", host->number);
	sim_managers_host_stops(host);
	fabric_port_attach(host->port, NULL, NULL);
	sim_ledger_struck(host, false);
	ib_remove_device(&host->ib);
}

void sim_host_stop(struct sim_host *host)
{
	sim_trace("host %u stops", host->number);
	sim_managers_host_stops(host);
	if (host->with_ip) {
		cma_destroy(host->cma);
		timer_disarm(&host->cma_runs);
		ipoib_destroy(host->ipoib);
	}
	sim_check(ib_sa_unregister_client(&host->client), "a member is left on host %u",
		  host->number);
	ib_sa_destroy(host->sa);
	ib_mad_destroy(host->mad);
	fabric_port_attach(host->port, NULL, NULL);
	sim_ledger_host_stopped(host);
	assert_int_equal(ib_unregister_device(&host->ib), 0);
	ib_node_destroy(host->node);
	host->alive = false;
}
