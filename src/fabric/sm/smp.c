/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests by directed routes (spec/sa-sm 3.1, 3.2): so many on the wire at most, repeated
 * when no answer comes, given up after the last repetition. An answer is told by its
 * transaction id, which names the slot; upper half a tag of this SM, so that no answer
 * meant for a predecessor counts.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Where answers come late but come, a request is worth more repetitions. */
#define LOSSY_FACTOR 4u

static void expired(struct timer *timer);

void sm_smp_init(struct sm *sm)
{
	for (int kind = 0; kind < SM_KINDS; kind++)
		list_init(&sm->queues[kind]);
	for (unsigned int i = 0; i < SM_WIRE_MAX; i++)
		sm->free_slots[i] = (uint8_t)(SM_WIRE_MAX - 1 - i);
}

struct sm_smp *sm_smp_new(struct sm *sm, enum sm_kind kind, struct subnet_port *to,
			  uint8_t method, uint16_t attr, uint32_t mod, sm_smp_fn done)
{
	struct sm_smp *smp = calloc(1, sizeof(*smp));

	if (!smp)
		return NULL;
	list_init(&smp->link);
	timer_init(&smp->timer, sm->config.timers, expired);
	smp->sm = sm;
	smp->kind = kind;
	smp->to = to;
	smp->method = method;
	smp->attr = attr;
	smp->mod = mod;
	smp->done = done;
	return smp;
}

static void take_slot(struct sm *sm, struct sm_smp *smp)
{
	uint8_t slot = sm->free_slots[SM_WIRE_MAX - 1 - sm->on_wire];

	sm->on_wire++;
	sm->slots[slot] = smp;
	sm->serial = (sm->serial + 1) & 0xffffff;
	smp->tid = (uint64_t)sm->tag << 32 | sm->serial << 8 | slot;
}

static void give_slot(struct sm *sm, struct sm_smp *smp)
{
	uint8_t slot = (uint8_t)smp->tid;

	sm->slots[slot] = NULL;
	sm->on_wire--;
	sm->free_slots[SM_WIRE_MAX - 1 - sm->on_wire] = slot;
	timer_disarm(&smp->timer);
}

static bool on_wire(const struct sm_smp *smp)
{
	return smp->tid != 0;
}

/* The ports to leave by, last hop first; their number, or -1: there is no way, or none any
 * more. */
static int hops_back(const struct sm_smp *smp, uint8_t *ports)
{
	const struct subnet_port *own = smp->sm->own;
	struct subnet_port *end = smp->to ? sm_end_of(smp->to) : NULL;
	int hops = 0;

	if (smp->beyond)
		ports[hops++] = smp->beyond;
	while (end && sm_port_of(end)->via) {
		struct subnet_port *via = sm_port_of(end)->via;

		if (hops == (int)SMP_HOPS_MAX)
			return -1;
		ports[hops++] = via->num;
		end = sm_end_of(via);
	}
	return end == own || !end ? hops : -1;
}

static int put_path(const struct sm_smp *smp, uint8_t *path)
{
	uint8_t back[SMP_HOPS_MAX];
	int hops = hops_back(smp, back);

	for (int i = 0; i < hops; i++)
		path[1 + i] = back[hops - 1 - i];
	return hops;
}

static void transmit(struct sm *sm, struct sm_smp *smp)
{
	uint8_t mad[MAD_BYTES] = { 0 };
	int hops = put_path(smp, mad + SMP_INITIAL_PATH);
	struct mad_header h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SUBN_DIRECTED,
		.class_version = 1,
		.method = smp->method,
		.class_specific = (uint16_t)(hops > 0 ? hops : 0),
		.tid = smp->tid,
		.attr_id = smp->attr,
		.attr_mod = smp->mod,
	};
	struct ib_packet packet = {
		.slid = IB_LID_PERMISSIVE,
		.dlid = IB_LID_PERMISSIVE,
		.vl = IB_VL_MANAGEMENT,
		.pkey = IB_PKEY_DEFAULT_FULL,
		.dest_qp = IB_QP_SMI,
		.src_qp = IB_QP_SMI,
		.payload = mad,
		.length = MAD_BYTES,
	};

	mad_header_put(mad, &h);
	wire_put16(mad + SMP_DR_SLID, IB_LID_PERMISSIVE);
	wire_put16(mad + SMP_DR_DLID, IB_LID_PERMISSIVE);
	memcpy(mad + SMP_DATA, smp->data, SMP_DATA_BYTES);
	smp->tries++;
	sm->counters.smps_sent++;
	/* What cannot be sent is as lost as what is lost on the way. */
	if (hops >= 0)
		sm->config.port->send(sm->config.port_arg, &packet);
	timer_arm(&smp->timer, sm->config.smp_timeout_ns);
}

static struct sm_smp *next_queued(struct sm *sm)
{
	/* A join waits for one, an election for the other; a record can wait. */
	static const enum sm_kind order[] = { SM_KIND_ELECTION, SM_KIND_MCAST,
					      SM_KIND_SWEEP, SM_KIND_ASK };

	for (unsigned int i = 0; i < SM_KINDS; i++) {
		struct list *queue = &sm->queues[order[i]];

		if (!list_empty(queue))
			return container_of(queue->next, struct sm_smp, link);
	}
	return NULL;
}

static void pump(struct sm *sm)
{
	struct sm_smp *smp;

	while (sm->on_wire < sm->config.smps_on_wire && (smp = next_queued(sm))) {
		list_remove(&smp->link);
		take_slot(sm, smp);
		transmit(sm, smp);
	}
}

void sm_smp_queue(struct sm_smp *smp)
{
	struct sm *sm = smp->sm;

	list_append(&sm->queues[smp->kind], &smp->link);
	sm->outstanding[smp->kind]++;
	pump(sm);
}

static void finish(struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm *sm = smp->sm;

	if (on_wire(smp))
		give_slot(sm, smp);
	list_remove(&smp->link);
	sm->outstanding[smp->kind]--;
	smp->done(sm, smp, error, data);
	if (smp->kind == SM_KIND_SWEEP)
		sm_sweep_go(sm);
	free(smp);
	pump(sm);
}

static unsigned long long node_guid(const struct sm_smp *smp)
{
	return smp->to ? smp->to->node->info.node_guid : 0;
}

static unsigned int tries_allowed(const struct sm *sm, const struct sm_smp *smp)
{
	unsigned int tries = sm->config.smp_retries + 1;

	if (smp->once || (smp->hasty && !sm->sweep.lossy))
		return 1;
	return sm->sweep.lossy ? tries * LOSSY_FACTOR : tries;
}

static void expired(struct timer *timer)
{
	struct sm_smp *smp = container_of(timer, struct sm_smp, timer);
	struct sm *sm = smp->sm;

	if (smp->tries < tries_allowed(sm, smp)) {
		sm->counters.smp_retries++;
		transmit(sm, smp);
		return;
	}
	sm->counters.smp_timeouts++;
	log_debug("sm: no answer to attribute 0x%04x from node %016llx, beyond port %u",
		  smp->attr, node_guid(smp), smp->beyond);
	finish(smp, -ETIMEDOUT, NULL);
}

void sm_smp_answered(struct sm *sm, const struct mad_header *h, const uint8_t *mad)
{
	struct sm_smp *smp = sm->slots[(uint8_t)h->tid];
	uint16_t status = h->status & (uint16_t)~MAD_STATUS_DIRECTION;

	if (!smp || smp->tid != h->tid || smp->attr != h->attr_id ||
	    smp->mod != h->attr_mod)
		return;
	sm->counters.smps_answered++;
	if (smp->tries > 1)
		sm->sweep.lossy = true;
	if (status)
		log_info(
			"sm: status 0x%04x for method %u, attribute 0x%04x, node %016llx",
			status, smp->method, smp->attr, node_guid(smp));
	finish(smp, status ? -EREMOTEIO : 0, mad + SMP_DATA);
}

static void forget(struct sm *sm, struct sm_smp *smp)
{
	if (on_wire(smp))
		give_slot(sm, smp);
	list_remove(&smp->link);
	sm->outstanding[smp->kind]--;
	if (smp->question)
		smp->question->smp = NULL;
	free(smp);
}

void sm_smp_forget(struct sm_smp *smp)
{
	struct sm *sm = smp->sm;

	forget(sm, smp);
	pump(sm);
}

void sm_smp_drop(struct sm *sm, enum sm_kind kind)
{
	for (unsigned int i = 0; i < SM_WIRE_MAX; i++)
		if (sm->slots[i] && sm->slots[i]->kind == kind)
			forget(sm, sm->slots[i]);
	list_for_each_safe(pos, &sm->queues[kind])
		forget(sm, container_of(pos, struct sm_smp, link));
	pump(sm);
}

void sm_smp_fini(struct sm *sm)
{
	for (int kind = 0; kind < SM_KINDS; kind++)
		list_for_each_safe(pos, &sm->queues[kind])
			forget(sm, container_of(pos, struct sm_smp, link));
	for (unsigned int i = 0; i < SM_WIRE_MAX; i++)
		if (sm->slots[i])
			forget(sm, sm->slots[i]);
}

/* `done` may queue others, but for other nodes. */
void sm_smp_cancel_node(struct sm *sm, const struct subnet_node *node)
{
	for (int kind = 0; kind < SM_KINDS; kind++) {
		struct list mine;

		list_init(&mine);
		list_for_each_safe(pos, &sm->queues[kind]) {
			struct sm_smp *smp = container_of(pos, struct sm_smp, link);

			if (!smp->to || smp->to->node != node)
				continue;
			list_remove(pos);
			list_append(&mine, pos);
		}
		while (!list_empty(&mine))
			finish(container_of(mine.next, struct sm_smp, link), -ECANCELED,
			       NULL);
	}
	for (unsigned int i = 0; i < SM_WIRE_MAX; i++)
		if (sm->slots[i] && sm->slots[i]->to && sm->slots[i]->to->node == node)
			finish(sm->slots[i], -ECANCELED, NULL);
}
