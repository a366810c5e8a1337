// SPDX-License-Identifier: BSD-2-Clause
/*
 * Users of rdma_cm: ids on the host's interface, each in one group at a time.
 */
#include "sim.h"

static void address_of(const struct sim_host *host, struct sockaddr_in *ret)
{
	struct ipoib_addresses all;

	ipoib_default_addresses(host->number + 1, &all);
	*ret = all.ip4;
}

static void hear(struct cma_id *cm, const struct cma_event *event)
{
	struct sim_id *id = cma_id_context(cm);

	sim_trace("id %u on host %u: event %d, status %d", (unsigned int)(id - sim.ids),
		  id->host->number, event->event, event->status);
	sim_check(!sim.in_call, "an id is called from inside a call");
	sim_check(!id->is_removed, "an id hears of something after its device has gone");
	if (event->event == CMA_EVENT_DEVICE_REMOVAL) {
		id->is_removed = true;
		return;
	}
	if (event->event != CMA_EVENT_MULTICAST_JOIN &&
	    event->event != CMA_EVENT_MULTICAST_ERROR)
		return;
	sim_check(event->multicast == id->multicast && event->context == id,
		  "an id hears of a group it is not in");
	if (event->status == -ENETRESET) {
		sim_check(id->is_answered && !id->is_lost, "an id loses what it has not");
		id->is_lost = true;
		return;
	}
	sim_check(!id->is_answered, "an id is answered twice");
	id->is_answered = true;
	id->is_lost = event->event == CMA_EVENT_MULTICAST_ERROR;
	if (event->event == CMA_EVENT_MULTICAST_JOIN)
		sim_check(event->status == 0 && ib_lid_is_multicast(event->ah.dlid),
			  "an id joins without an address");
}

static void create(struct sim_id *id, struct sim_host *host)
{
	struct cma_id_config config = { .ps = sim_chance(50) ? CMA_PS_UDP : CMA_PS_IPOIB,
					.qp_type = IB_QPT_UD,
					.event = hear,
					.context = id };
	struct sockaddr_in own;

	*id = (struct sim_id){ .host = host };
	assert_int_equal(cma_id_create(host->cma, &config, &id->id), 0);
	address_of(host, &own);
	assert_int_equal(cma_bind_addr(id->id, (struct sockaddr *)&own), 0);
	sim_trace("id %u on host %u", (unsigned int)(id - sim.ids), host->number);
}

static void join(struct sim_id *id)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	int r;

	group.sin_addr.s_addr = htobe32(0xe0000100 + sim_below(SIM_GROUPS));
	id->is_answered = id->is_lost = false;
	id->multicast = NULL;
	r = cma_join_multicast(id->id, (struct sockaddr *)&group,
			       sim_chance(70) ? CMA_JOIN_FULLMEMBER
					      : CMA_JOIN_SENDONLY_FULLMEMBER,
			       id, &id->multicast);
	sim_check(r == 0 || r == -EADDRNOTAVAIL || (r == -EINVAL && id->is_removed),
		  "an id's join says %d", r);
}

static void leave(struct sim_id *id)
{
	cma_multicast_leave(id->multicast);
	id->multicast = NULL;
}

void sim_id_destroy(struct sim_id *id)
{
	sim_trace("id %u is destroyed", (unsigned int)(id - sim.ids));
	cma_id_destroy(id->id);
	*id = (struct sim_id){ 0 };
}

void sim_id_act(struct sim_host *host)
{
	struct sim_id *id = &sim.ids[sim_below(SIM_IDS_MAX)];

	if (!id->id && host->with_ip)
		create(id, host);
	else if (id->id && sim_chance(20))
		sim_id_destroy(id);
	else if (id->id && id->multicast)
		leave(id);
	else if (id->id)
		join(id);
}
