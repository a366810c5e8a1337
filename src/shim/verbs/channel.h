/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels: a queue of completion queues with events, and a descriptor that
 * tells of them. It is readable exactly while an event waits that no blocked thread is
 * about to take, and every further event gives a fresh edge (spec/userland 2.8).
 */
#ifndef SHIM_VERBS_CHANNEL_H
#define SHIM_VERBS_CHANNEL_H

#include <pthread.h>
#include <infiniband/verbs.h>

#include "base/list.h"
#include "process_priv.h"

struct verbs_cq;

/* Created by ibv_create_comp_channel, freed by ibv_destroy_comp_channel once no CQ
 * refers to it (ibv.refcnt, guarded by the context's mutex). */
struct verbs_channel {
	struct ibv_comp_channel ibv;
	struct process *process; /* a reference */
	pthread_mutex_t lock;    /* guards the rest, and the event counts of its CQs */
	struct list ready;    /* struct verbs_cq.ready, in order of their oldest event */
	unsigned int pending; /* events in all of them */
	unsigned int waiters; /* threads inside ibv_get_cq_event */
	bool signalled;       /* the descriptor is readable */
};

static inline struct verbs_channel *channel_of(const struct ibv_comp_channel *channel)
{
	return (struct verbs_channel *)channel;
}

/* An event of `cq`. Called with the engine's lock held; allocates nothing. The engine
 * wakes the waiters when it drops the lock. */
void channel_push(struct verbs_channel *ch, struct verbs_cq *cq);

/* Drop what `cq` has here. It must get no event any more. Returns how many events of it
 * were fetched in its life. */
unsigned int channel_forget(struct verbs_channel *ch, struct verbs_cq *cq);

#endif
