/* SPDX-License-Identifier: BSD-2-Clause */
/* The subnet manager as an object: its life, what arrives at its port, its calls. */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PREFIX          0xfe80000000000000ull
#define DEFAULT_SMP_TIMEOUT_NS  (200 * TIMER_MS)
#define DEFAULT_SMP_RETRIES     3u
#define DEFAULT_SMPS_ON_WIRE    32u
#define DEFAULT_LIGHT_SWEEP_NS  (10000 * TIMER_MS)
#define DEFAULT_SM_KEY          1
#define DEFAULT_STANDBY_POLL_NS (100 * TIMER_MS)

static void started(struct timer *timer)
{
	struct sm *sm = container_of(timer, struct sm, start);

	if (sm->config.port->set_issm)
		sm->config.port->set_issm(sm->config.port_arg, true);
	sm_sweep_want(sm, 0);
}

static void take_config(struct sm *sm, const struct sm_config *config)
{
	struct sm_config *c = &sm->config;

	*c = *config;
	if (!c->subnet_prefix)
		c->subnet_prefix = DEFAULT_PREFIX;
	if (!c->smp_timeout_ns)
		c->smp_timeout_ns = DEFAULT_SMP_TIMEOUT_NS;
	if (!c->smp_retries)
		c->smp_retries = DEFAULT_SMP_RETRIES;
	if (!c->smps_on_wire)
		c->smps_on_wire = DEFAULT_SMPS_ON_WIRE;
	if (c->smps_on_wire > SM_WIRE_MAX)
		c->smps_on_wire = SM_WIRE_MAX;
	if (!c->light_sweep_ns)
		c->light_sweep_ns = DEFAULT_LIGHT_SWEEP_NS;
	if (!c->sm_key)
		c->sm_key = DEFAULT_SM_KEY;
	if (!c->standby_poll_ns)
		c->standby_poll_ns = DEFAULT_STANDBY_POLL_NS;
}

int sm_create(const struct sm_config *config, struct sm **ret)
{
	struct sm *sm;

	if (config->lmc > SM_LMC_MAX)
		return -EINVAL;
	sm = calloc(1, sizeof(*sm));
	if (!sm)
		return -ENOMEM;
	take_config(sm, config);
	sm->tag = (uint32_t)random_u64(config->random);
	timer_init(&sm->start, config->timers, started);
	sm_smp_init(sm);
	sm_sweep_init(sm);
	sm_election_init(sm);
	sm_mcast_init(sm);
	if (sm_subnet_init(sm) < 0 || sm_lids_init(sm) < 0) {
		sm_destroy(sm);
		return -ENOMEM;
	}
	timer_arm(&sm->start, 0);
	*ret = sm;
	return 0;
}

void sm_destroy(struct sm *sm)
{
	if (!sm)
		return;
	timer_disarm(&sm->start);
	sm_smp_fini(sm);
	sm_sweep_fini(sm);
	sm_election_fini(sm);
	sm_mcast_fini(sm);
	sm_subnet_fini(sm);
	sm_graph_free(sm);
	sm_lids_fini(sm);
	free(sm);
}

/* -- what arrives ---------------------------------------------------------------------- */

/* The one that was asked, of those that the port has. */
static uint16_t answering_lid(const struct subnet_port *own, uint16_t dlid)
{
	uint16_t lid = subnet_port_lid(own);

	return lid && dlid >> own->info.lmc == lid >> own->info.lmc ? dlid : lid;
}

void sm_reply(struct sm *sm, const struct ib_packet *request, uint8_t *mad)
{
	struct ib_packet packet = {
		.slid = IB_LID_PERMISSIVE,
		.dlid = request->slid,
		.sl = request->sl,
		.vl = IB_VL_MANAGEMENT,
		.pkey = IB_PKEY_DEFAULT_FULL,
		.dest_qp = IB_QP_SMI,
		.src_qp = IB_QP_SMI,
		.payload = mad,
		.length = MAD_BYTES,
	};
	struct mad_header h;

	mad_header_get(mad, &h);
	if (h.mgmt_class == MAD_CLASS_SUBN_DIRECTED) {
		packet.dlid = IB_LID_PERMISSIVE;
		h.status |= MAD_STATUS_DIRECTION;
		mad_header_put(mad, &h);
	} else if (sm->own) {
		packet.slid = answering_lid(sm->own, request->dlid);
	}
	sm->config.port->send(sm->config.port_arg, &packet);
}

static void receive_smp(struct sm *sm, const struct ib_packet *packet,
			const struct mad_header *h)
{
	switch (h->method) {
	case MAD_METHOD_GET_RESP:
		if (h->mgmt_class == MAD_CLASS_SUBN_DIRECTED)
			sm_smp_answered(sm, h, packet->payload);
		break;
	case MAD_METHOD_TRAP:
		if (h->attr_id == SMP_NOTICE)
			sm_trap(sm, packet);
		break;
	case MAD_METHOD_GET:
	case MAD_METHOD_SET:
		if (h->attr_id == SMP_SM_INFO)
			sm_election_request(sm, packet);
		break;
	default:
		break;
	}
}

static bool is_smp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DIRECTED;
}

static void receive_gmp(struct sm *sm, const struct ib_packet *packet, uint8_t mgmt_class)
{
	const struct sm_client_ops *client = sm->config.client;

	if (mgmt_class == MAD_CLASS_SUBN_ADM && sm->serving && client->receive)
		client->receive(sm->config.client_arg, packet);
	else if (mgmt_class == SM_PEER_CLASS && client->receive_peer)
		client->receive_peer(sm->config.client_arg, packet);
}

void sm_receive(struct sm *sm, const struct ib_packet *packet)
{
	const struct sm_client_ops *client = sm->config.client;
	struct mad_header h;

	if (packet->length < MAD_BYTES)
		return;
	mad_header_get(packet->payload, &h);
	if (h.base_version != 1)
		return;
	if (packet->dest_qp == IB_QP_SMI) {
		if (is_smp(h.mgmt_class))
			receive_smp(sm, packet, &h);
		return;
	}
	if (packet->dest_qp == IB_QP_GSI && client)
		receive_gmp(sm, packet, h.mgmt_class);
}

int sm_send_gsi(struct sm *sm, const struct ib_packet *packet)
{
	return sm->config.port->send(sm->config.port_arg, packet);
}

void sm_serve(struct sm *sm)
{
	const struct sm_client_ops *client = sm->config.client;

	if (sm->serving)
		return;
	sm->serving = true;
	if (client && client->up)
		client->up(sm->config.client_arg);
}

/* -- what others ask ------------------------------------------------------------------- */

enum sm_state sm_state(const struct sm *sm)
{
	return sm->state;
}

bool sm_is_up(const struct sm *sm)
{
	return sm->up && sm->state == SM_MASTER;
}

void sm_sweep(struct sm *sm)
{
	if (sm->state == SM_MASTER || sm->state == SM_DISCOVERING)
		sm_sweep_want(sm, 0);
}

const struct subnet *sm_subnet(const struct sm *sm)
{
	return &sm->subnet;
}

void sm_counters(const struct sm *sm, struct sm_counters *ret)
{
	*ret = sm->counters;
}
