/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site without a daemon: tables, and processes that are an engine each, all in this
 * process. What the daemon would do is done by calls here, under one lock.
 *
 * One node, one device with one Ethernet port (index 0), GID 0 is ::ffff:10.0.0.1.
 */
#ifndef ENGINE_WORLD_H
#define ENGINE_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine_priv.h"
#include "harness/harness.h"
#include "shm/log.h"
#include "wire/gid.h"

#define WORLD_PROCESSES 32u
#define WORLD_PD        7u
#define WORLD_LKEY      0x1234u
#define WORLD_QKEY      0x01234567u
#define WORLD_STRIDE    4160u /* of receive buffers: 40 + 4096, an odd number of lines */

struct world;

struct world_process {
	struct world *world;
	uint32_t slot, incarnation;
	int doorbell_fd, counters_fd, log_fd;
	bool alive;
	pid_t pid; /* whose state tells its senders about it; 0: they ask nobody */
	struct engine *engine;
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	uint32_t next_qp, next_member; /* counter blocks */
	_Atomic unsigned int cq_events, async_events, maps, drained;
	_Atomic uint32_t last_drained; /* the latest incarnation of those */
	_Atomic int last_async;
	void (*mapping)(struct world_process *p); /* before a question is answered */
};

struct world {
	int tables_fd;
	struct shm_tables *tables;
	pthread_mutex_t lock;
	struct world_process processes[WORLD_PROCESSES];
	uint32_t next_qpn;
	bool reads_only; /* the tables are another process's (processes.h) */
};

/* A queue pair in RTS with a completion queue and posted-buffer memory of its own. */
struct world_qp {
	struct world_process *process;
	struct engine_cq *send_cq, *recv_cq;
	struct engine_qp *qp;
	uint32_t device, qpn, member; /* counter block of the last attachment */
	uint32_t counters, lkey;
	uint32_t depth, posted;
	uint8_t *memory; /* depth receive buffers, then one send buffer */
};

/* -- what the daemon answers ------------------------------------------------------ */

static inline int world_map_peer(void *arg, uint32_t slot, struct engine_peer *ret)
{
	struct world_process *p = arg;
	struct world *w = p->world;
	struct world_process *peer = &w->processes[slot % WORLD_PROCESSES];
	int r = -ENOENT;

	atomic_fetch_add(&p->maps, 1);
	if (p->mapping)
		p->mapping(p);
	pthread_mutex_lock(&w->lock);
	if (peer->incarnation) {
		ret->incarnation = peer->incarnation;
		ret->dead = !peer->alive;
		ret->pid = peer->pid;
		ret->doorbell_fd = -1;
		ret->log_fd = -1;
		if (peer->alive)
			ret->doorbell_fd = fcntl(peer->doorbell_fd, F_DUPFD_CLOEXEC, 0);
		if (peer->log_fd >= 0)
			ret->log_fd = fcntl(peer->log_fd, F_DUPFD_CLOEXEC, 0);
		r = 0;
	}
	pthread_mutex_unlock(&w->lock);
	return r;
}

static inline int world_publish_log(void *arg, int fd)
{
	struct world_process *p = arg;
	int r = shm_log_verify(fd);

	if (r < 0)
		return r;
	pthread_mutex_lock(&p->world->lock);
	p->log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&p->world->lock);
	return 0;
}

static inline void world_drained(void *arg, uint32_t slot, uint32_t incarnation)
{
	struct world_process *p = arg;
	uint32_t before;

	for (before = atomic_load(&p->last_drained); before < incarnation;)
		if (atomic_compare_exchange_weak(&p->last_drained, &before, incarnation))
			break;
	atomic_fetch_add(&p->drained, 1);
}

static inline void world_cq_event(void *arg, void *context)
{
	struct world_process *p = arg;

	atomic_fetch_add(&p->cq_events, 1);
}

static inline void world_async_event(void *arg, enum ibv_event_type event, void *context)
{
	struct world_process *p = arg;

	atomic_store(&p->last_async, (int)event);
	atomic_fetch_add(&p->async_events, 1);
}

static const struct engine_ops world_ops = {
	.map_peer = world_map_peer,
	.publish_log = world_publish_log,
	.drained = world_drained,
	.cq_event = world_cq_event,
	.async_event = world_async_event,
};

/* -- the site --------------------------------------------------------------------- */

static inline void world_port(struct world *w, uint32_t index, const char *address)
{
	struct shm_port *port = &w->tables->ports[index];

	port->node = index;
	port->device = index;
	port->port_num = 1;
	port->link_layer = SHM_LINK_ETHERNET;
	atomic_store(&port->state, IBV_PORT_ACTIVE);
	atomic_store(&port->active_mtu, IBV_MTU_4096);
	atomic_store(&port->pkeys[0], 0xffff);
	gid_from_ipv4(port->gids[0].gid, inet_addr(address));
	port->gids[0].type = SHM_GID_ROCE_V2;
	atomic_store(&port->gids[0].valid, index + 1);
	atomic_fetch_add(&w->tables->h.ports_generation, 1);
}

static inline void world_open(struct world *w)
{
	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	assert_int_equal(shm_tables_create(&w->tables_fd, &w->tables), 0);
	world_port(w, 0, "10.0.0.1");
	w->next_qpn = 0x11;
	for (unsigned int i = 0; i < WORLD_PROCESSES; i++)
		w->processes[i].log_fd = -1;
}

static inline struct world_process *world_start(struct world *w, uint32_t slot)
{
	struct world_process *p = &w->processes[slot];
	uint32_t incarnation = p->incarnation + 1;

	pthread_mutex_lock(&w->lock);
	memset(p, 0, sizeof(*p));
	p->world = w;
	p->slot = slot;
	p->incarnation = incarnation;
	p->log_fd = -1;
	p->alive = true;
	assert_int_equal(shm_doorbell_create(slot, incarnation, &p->doorbell_fd), 0);
	assert_int_equal(shm_doorbell_map(p->doorbell_fd, &p->doorbell), 0);
	assert_int_equal(shm_counters_create(slot, &p->counters_fd), 0);
	assert_int_equal(shm_counters_map(p->counters_fd, 1, &p->counters), 0);
	atomic_store(&w->tables->slots[slot].incarnation, incarnation);
	atomic_store(&w->tables->slots[slot].state, SHM_SLOT_LIVE);
	pthread_mutex_unlock(&w->lock);
	const struct engine_config config = {
		.tables = w->tables,
		.doorbell = p->doorbell,
		.counters = p->counters,
		.slot = slot,
		.incarnation = incarnation,
		.ops = &world_ops,
		.arg = p,
	};
	assert_int_equal(engine_open(&config, &p->engine), 0);
	return p;
}

/* The funeral (spec/dataplane 7): mark, strike, ring everybody. */
static inline void world_bury(struct world *w, struct world_process *p)
{
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->tables->slots[p->slot].state, SHM_SLOT_DEAD);
	p->alive = false;
	for (uint32_t i = 0; i < w->tables->h.groups_used; i++)
		shm_group_clear(w->tables, i, p->slot);
	for (uint32_t i = 0; i < WORLD_PROCESSES; i++)
		if (w->processes[i].alive)
			shm_doorbell_kick(w->processes[i].doorbell, p->slot);
	pthread_mutex_unlock(&w->lock);
}

/* Close the engine; what it shared stays, as after a death. */
static inline void world_stop(struct world_process *p)
{
	engine_close(p->engine);
	p->engine = NULL;
}

/* The slot is free. */
static inline void world_forget(struct world_process *p)
{
	if (p->engine)
		engine_close(p->engine);
	if (!p->doorbell)
		return;
	pthread_mutex_lock(&p->world->lock);
	p->alive = false;
	shm_doorbell_unmap(p->doorbell);
	shm_counters_unmap(p->counters);
	close(p->doorbell_fd);
	close(p->counters_fd);
	if (p->log_fd >= 0)
		close(p->log_fd);
	p->log_fd = -1;
	p->doorbell_fd = -1;
	p->doorbell = NULL;
	p->engine = NULL;
	atomic_store(&p->world->tables->slots[p->slot].state, SHM_SLOT_FREE);
	pthread_mutex_unlock(&p->world->lock);
}

static inline void world_close(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_PROCESSES; i++)
		world_forget(&w->processes[i]);
	shm_tables_destroy(w->tables_fd, w->tables);
	pthread_mutex_destroy(&w->lock);
}

/* -- groups ----------------------------------------------------------------------- */

static inline void world_mgid(unsigned int n, uint8_t mgid[16])
{
	gid_from_ipv4(mgid, htonl(0xef000000u + n));
}

static inline uint32_t world_group(struct world *w, unsigned int n)
{
	uint8_t mgid[16];
	uint32_t entry;

	world_mgid(n, mgid);
	entry = shm_group_find(w->tables, 0, mgid, 0);
	if (entry == SHM_NONE)
		assert_int_equal(shm_group_link(w->tables, 0, mgid, 0, &entry), 0);
	return entry;
}

static inline void world_attach(struct world_qp *q, unsigned int group)
{
	struct world *w = q->process->world;
	uint32_t entry = world_group(w, group);
	uint64_t generation = shm_group_set(w->tables, entry, q->process->slot);

	q->member = q->process->next_member++;
	assert_int_equal(engine_qp_attach(q->qp, entry, generation, q->member), 0);
}

/* `last`: no other queue pair of the process is in the group. */
static inline void world_detach(struct world_qp *q, unsigned int group, bool last)
{
	struct world *w = q->process->world;
	uint32_t entry = world_group(w, group);

	assert_int_equal(engine_qp_detach(q->qp, entry), 0);
	if (last)
		shm_group_clear(w->tables, entry, q->process->slot);
}

static inline uint64_t world_delivered(const struct world_qp *q)
{
	return atomic_load(&q->process->counters->delivered[q->member]);
}

static inline uint32_t world_dropped(const struct world_qp *q, enum drop_reason reason)
{
	return atomic_load(&q->process->counters->members[q->member].drops[reason]);
}

/* The sum over all reasons. */
static inline uint32_t world_dropped_any(const struct world_qp *q)
{
	uint32_t sum = 0;

	for (int i = 0; i < DROP_MEMBER_REASONS; i++)
		sum += world_dropped(q, (enum drop_reason)i);
	return sum;
}

/* -- queue pairs ------------------------------------------------------------------ */

static inline void world_state(struct world_qp *q, enum ibv_qp_state state)
{
	const struct engine_qp_attr attr = {
		.state = state, .port_index = 0, .port_num = 1, .qkey = WORLD_QKEY
	};

	engine_qp_modify(q->qp, &attr);
}

struct world_qp_options {
	uint32_t depth;
	struct engine_cq *cq; /* null: two of its own */
	struct engine_srq *srq;
	const struct engine_memory *memory;
	bool signal_all, block_self;
	uint32_t send_depth;
};

/* `device` is also the index of its port. */
static inline void world_qp_create_on(struct world_qp *q, struct world_process *p,
				      uint32_t device, struct world_qp_options o)
{
	struct engine *e = p->engine;
	size_t bytes = (size_t)(o.depth + 1) * WORLD_STRIDE;

	memset(q, 0, sizeof(*q));
	q->process = p;
	q->depth = o.depth;
	q->device = device;
	q->qpn = p->world->next_qpn++;
	q->memory = aligned_alloc(64, bytes);
	assert_non_null(q->memory);
	memset(q->memory, 0xee, bytes);
	q->lkey = WORLD_LKEY + q->qpn;
	assert_int_equal(engine_mr_add(e, WORLD_PD, q->lkey, q->memory,
				       (uintptr_t)q->memory, bytes,
				       IBV_ACCESS_LOCAL_WRITE),
			 0);
	if (!o.cq) {
		assert_int_equal(engine_cq_create(e, 65536, p, &q->send_cq), 0);
		assert_int_equal(engine_cq_create(e, 65536, p, &q->recv_cq), 0);
	}
	q->counters = p->next_qp++ % SHM_QP_COUNTERS;
	const struct engine_qp_config config = {
		.qpn = q->qpn,
		.type = IBV_QPT_UD,
		.device = device,
		.pd = WORLD_PD,
		.send_cq = o.cq ? o.cq : q->send_cq,
		.recv_cq = o.cq ? o.cq : q->recv_cq,
		.srq = o.srq,
		.memory = o.memory,
		.cap = { .max_send_wr = o.send_depth ? o.send_depth : 1024,
			 .max_recv_wr = o.depth,
			 .max_send_sge = 4,
			 .max_recv_sge = 4,
			 .max_inline_data = 256 },
		.sq_sig_all = o.signal_all,
		.block_self_multicast = o.block_self,
		.counters = q->counters,
		.qp_context = q,
	};
	assert_int_equal(engine_qp_create(e, &config, &q->qp), 0);
	if (!p->world->reads_only)
		assert_int_equal(shm_qp_link(p->world->tables, device, q->qpn, p->slot),
				 0);
	world_state(q, IBV_QPS_INIT);
	world_state(q, IBV_QPS_RTR);
	world_state(q, IBV_QPS_RTS);
}

static inline void world_qp_create(struct world_qp *q, struct world_process *p,
				   struct world_qp_options o)
{
	world_qp_create_on(q, p, 0, o);
}

static inline void world_qp_destroy(struct world_qp *q)
{
	shm_qp_unlink(q->process->world->tables, q->device, q->qpn);
	engine_qp_destroy(q->qp);
	engine_cq_destroy(q->send_cq);
	engine_cq_destroy(q->recv_cq);
	engine_mr_remove(q->process->engine, q->lkey);
	free(q->memory);
}

static inline uint8_t *world_buffer(const struct world_qp *q, uint64_t i)
{
	return q->memory + (i % q->depth) * WORLD_STRIDE;
}

static inline uint8_t *world_send_buffer(const struct world_qp *q)
{
	return q->memory + (size_t)q->depth * WORLD_STRIDE;
}

/* Post the next `n` receives; wr_id counts them. */
static inline int world_post_recv(struct world_qp *q, uint32_t n)
{
	struct ibv_recv_wr *bad;
	int r = 0;

	for (; n && !r; n--) {
		struct ibv_sge sge = { (uintptr_t)world_buffer(q, q->posted), 40 + 4096,
				       q->lkey };
		struct ibv_recv_wr wr = { .wr_id = q->posted,
					  .sg_list = &sge,
					  .num_sge = 1 };

		r = engine_qp_post_recv(q->qp, &wr, &bad);
		q->posted += !r;
	}
	return r;
}

/* As programs poll: where another thread runs the engine, with what is queued alone. */
static inline int world_try_poll(const struct world_qp *q, int n, struct ibv_wc *wc)
{
	return engine_cq_poll(q->recv_cq, n, wc);
}

/* With all that has come: the helper has the engine now and then, also where nothing asks
 * it to, when it begins and when it looks whether something was missed. */
static inline int world_poll(const struct world_qp *q, int n, struct ibv_wc *wc)
{
	struct engine *e = q->process->engine;
	int k = 0;

	for (;;) {
		uint32_t before = atomic_load(&e->polls);

		k += world_try_poll(q, n - k, wc + k);
		if (k == n || atomic_load(&e->polls) != before)
			return k;
		lock_take(&e->rx_lock);
		lock_drop(&e->rx_lock);
	}
}

/* -- sending ---------------------------------------------------------------------- */

static inline void world_ah(struct world_process *p, const uint8_t dgid[16],
			    struct engine_verbs_ah *ah)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	memset(ah, 0, sizeof(*ah));
	memcpy(attr.grh.dgid.raw, dgid, 16);
	attr.grh.hop_limit = 64;
	assert_int_equal(engine_ah_create(p->engine, WORLD_PD, 0, &attr, &ah->engine), 0);
}

static inline void world_group_ah(struct world_process *p, unsigned int n,
				  struct engine_verbs_ah *ah)
{
	uint8_t mgid[16];

	world_mgid(n, mgid);
	world_ah(p, mgid, ah);
}

static inline struct ibv_send_wr world_wr(struct engine_verbs_ah *ah, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = &ah->ibv_ah,
			   .remote_qpn = 0xffffff,
			   .remote_qkey = WORLD_QKEY },
	};
}

/* `bytes` from the send buffer, unsignalled. */
static inline int world_send(struct world_qp *q, struct engine_verbs_ah *ah,
			     uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)world_send_buffer(q), bytes, q->lkey };
	struct ibv_send_wr wr = world_wr(ah, &sge);
	struct ibv_send_wr *bad;

	return engine_qp_post_send(q->qp, &wr, &bad);
}

/* Numbered contents: the number first, then bytes that follow from it. */
static inline void world_fill(uint8_t *to, uint32_t number, uint32_t bytes)
{
	uint32_t x = number * 0x9e3779b1u + 1;

	for (uint32_t i = 0; i < bytes; i++) {
		x = x * 1664525u + 1013904223u;
		to[i] = (uint8_t)(x >> 24);
	}
	if (bytes >= 4)
		memcpy(to, &number, 4);
}

static inline bool world_filled(const uint8_t *from, uint32_t number, uint32_t bytes)
{
	uint8_t expected[4096];

	world_fill(expected, number, bytes);
	return memcmp(from, expected, bytes) == 0;
}

static inline int world_send_number(struct world_qp *q, struct engine_verbs_ah *ah,
				    uint32_t number, uint32_t bytes)
{
	world_fill(world_send_buffer(q), number, bytes);
	return world_send(q, ah, bytes);
}

#endif
