/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/counters.h"

/* -- members ------------------------------------------------------------------------ */

uint32_t history_group_hash(const struct history_group_key *key)
{
	return hash_bytes(0, key, sizeof(*key));
}

bool history_group_equal(const struct history_group_key *a,
			 const struct history_group_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void history_group_key(struct history_group_key *key, struct ib_device *device,
		       uint32_t port_num, const uint8_t mgid[16])
{
	struct ib_device_info info = { 0 };

	ib_describe_device(device, &info);
	memset(key, 0, sizeof(*key));
	key->site_device = info.site_device;
	key->port_num = port_num;
	memcpy(key->mgid, mgid, sizeof(key->mgid));
}

static void forget_oldest_member(struct history *h)
{
	struct history_member *m =
		container_of(h->member_list.next, struct history_member, link);

	list_remove(&m->link);
	hash_remove(&h->members, &m->node);
	h->member_count--;
	free(m);
}

void history_member_left(struct history *h, const struct slot_view *p,
			 struct ib_device *device, const uint8_t mgid[16], uint32_t qpn,
			 uint32_t counters)
{
	const struct shm_member_counters *c;
	struct history_member *m;

	if (counters >= SHM_MEMBER_COUNTERS)
		return;
	m = calloc(1, sizeof(*m));
	if (!m)
		return; /* history is a courtesy */
	c = &p->counters->members[counters];
	history_group_key(&m->group, device, rdma_start_port(device), mgid);
	snprintf(m->node_name, sizeof(m->node_name), "%s", ib_node_name(device->node));
	snprintf(m->device, sizeof(m->device), "%s", ib_device_name(device));
	snprintf(m->program, sizeof(m->program), "%s", p->program);
	m->pid = p->pid;
	m->qpn = qpn;
	m->delivered = shm_count(&p->counters->delivered[counters]);
	for (int i = 0; i < DROP_MEMBER_REASONS; i++)
		m->drops[i] = atomic_load_explicit(&c->drops[i], memory_order_relaxed);
	list_append(&h->member_list, &m->link);
	hash_insert(&h->members, &m->node, history_group_hash(&m->group));
	if (++h->member_count > HISTORY_MEMBERS)
		forget_oldest_member(h);
}

/* -- processes ---------------------------------------------------------------------- */

static struct history_process *find_running(struct history *h, uint32_t slot)
{
	list_for_each(pos, &h->running) {
		struct history_process *e =
			container_of(pos, struct history_process, link);

		if (e->slot == slot)
			return e;
	}
	return NULL;
}

static struct history_process *get_running(struct history *h, const struct slot_view *p)
{
	struct history_process *e = find_running(h, p->slot);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->slot = p->slot;
	e->pid = p->pid;
	snprintf(e->program, sizeof(e->program), "%s", p->program);
	snprintf(e->node, sizeof(e->node), "%s", p->node);
	list_prepend(&h->running, &e->link);
	return e;
}

/* The queue pairs destroyed last are kept. */
static struct history_qp *next_qp(struct history_process *e)
{
	if (e->qp_count == HISTORY_QPS) {
		memmove(&e->qps[0], &e->qps[1], sizeof(e->qps) - sizeof(e->qps[0]));
		e->qp_count--;
	}
	return &e->qps[e->qp_count++];
}

void history_qp_read(struct history_qp *to, const struct shm_qp_counters *c)
{
	to->sent = shm_count(&c->sent);
	to->sent_bytes = shm_count(&c->sent_bytes);
	to->received = shm_count(&c->received);
	to->received_bytes = shm_count(&c->received_bytes);
	for (int i = 0; i < DROP_REASONS; i++)
		to->drops[i] = shm_count(&c->drops[i]);
}

void history_qp_left(struct history *h, const struct slot_view *p,
		     struct ib_device *device, uint32_t qpn, uint32_t counters)
{
	struct history_process *e;
	struct history_qp *q;

	if (counters >= SHM_QP_COUNTERS)
		return;
	e = get_running(h, p);
	if (!e)
		return;
	q = next_qp(e);
	q->qpn = qpn;
	snprintf(q->device, sizeof(q->device), "%s", ib_device_name(device));
	history_qp_read(q, &p->counters->qps[counters]);
}

static void forget_oldest_process(struct history *h)
{
	struct history_process *e =
		container_of(h->ended.next, struct history_process, link);

	list_remove(&e->link);
	h->ended_count--;
	free(e);
}

/* One that never had a queue pair is not worth a line. */
void history_process_ended(struct history *h, const struct slot_view *p)
{
	struct history_process *e = find_running(h, p->slot);

	if (!e)
		return;
	for (int i = 0; i < DROP_REASONS; i++)
		e->drops[i] = shm_count(&p->counters->drops[i]);
	list_remove(&e->link);
	list_append(&h->ended, &e->link);
	if (++h->ended_count > HISTORY_PROCESSES)
		forget_oldest_process(h);
}

/* -- life --------------------------------------------------------------------------- */

int history_init(struct history *h)
{
	memset(h, 0, sizeof(*h));
	list_init(&h->member_list);
	list_init(&h->running);
	list_init(&h->ended);
	return hash_init(&h->members);
}

void history_fini(struct history *h)
{
	/* Before history_init. */
	if (!h->ended.next)
		return;
	while (!list_empty(&h->member_list))
		forget_oldest_member(h);
	while (!list_empty(&h->ended))
		forget_oldest_process(h);
	list_for_each_safe(pos, &h->running)
		free(container_of(pos, struct history_process, link));
	hash_fini(&h->members);
}
