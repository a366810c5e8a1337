// SPDX-License-Identifier: BSD-2-Clause
/*
 * The processes that this one sends to: their doorbells, mapped once whatever the number
 * of address handles. All under tx.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/engine_priv.h"

static void receiver_free(struct engine *e, struct receiver *r)
{
	if (!r)
		return;
	if (r->doorbell != e->doorbell)
		shm_doorbell_unmap(r->doorbell);
	free(r);
}

int receivers_init(struct engine *e)
{
	e->tx.receivers = calloc(SHM_SLOTS_MAX, sizeof(*e->tx.receivers));
	return e->tx.receivers ? 0 : -ENOMEM;
}

void receivers_fini(struct engine *e)
{
	for (uint32_t i = 0; e->tx.receivers && i < SHM_SLOTS_MAX; i++)
		receiver_free(e, e->tx.receivers[i]);
	free(e->tx.receivers);
}

bool receiver_known(struct engine *e, uint32_t slot)
{
	const struct receiver *r = e->tx.receivers[slot];

	return r && slot_lives(e->tables, slot, r->incarnation);
}

static struct receiver *receiver_create(struct engine *e, struct shm_doorbell *d,
					uint32_t slot, uint32_t incarnation, pid_t pid)
{
	struct receiver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->doorbell = d;
	r->word = &d->words[e->slot / 64];
	r->bit = 1ull << (e->slot % 64);
	r->cursor = &d->cursors[e->slot];
	r->slot = slot;
	r->incarnation = incarnation;
	r->pid = pid;
	r->clear = true;
	return r;
}

static int ask(struct engine *e, uint32_t slot, struct receiver **ret)
{
	struct engine_peer peer = { .doorbell_fd = -1, .log_fd = -1 };
	struct shm_doorbell *d;
	int r;

	r = e->ops->map_peer(e->arg, slot, &peer);
	if (r < 0)
		return r;
	if (peer.log_fd >= 0)
		close(peer.log_fd);
	if (peer.doorbell_fd < 0)
		return -ENOENT;
	r = peer.dead ? -ENOENT : shm_doorbell_map(peer.doorbell_fd, &d);
	close(peer.doorbell_fd);
	if (r < 0)
		return r;
	*ret = receiver_create(e, d, slot, peer.incarnation, peer.pid);
	if (!*ret) {
		shm_doorbell_unmap(d);
		return -ENOMEM;
	}
	return 0;
}

static void receiver_install(struct engine *e, struct receiver *r)
{
	struct tx *tx = &e->tx;
	struct receiver *before = tx->receivers[r->slot];

	if (!before)
		tx->receiver_slots[tx->receiver_count++] = r->slot;
	receiver_free(e, before);
	tx->receivers[r->slot] = r;
}

static int map_own(struct engine *e)
{
	struct receiver *r = receiver_create(e, e->doorbell, e->slot, e->incarnation, 0);

	if (!r)
		return -ENOMEM;
	receiver_install(e, r);
	return 0;
}

int receiver_map_unlocked(struct engine *e, uint32_t slot)
{
	struct receiver *r = NULL;
	int error;

	if (slot == e->slot)
		return map_own(e);
	if (atomic_load_explicit(&e->tables->slots[slot].state, memory_order_acquire) !=
	    SHM_SLOT_LIVE)
		return -ENOENT;
	lock_drop(&e->tx_lock);
	error = ask(e, slot, &r);
	lock_take(&e->tx_lock);
	if (error < 0)
		return error;
	/* Another thread may have been faster; it may even have sent to it since. */
	if (receiver_known(e, slot) &&
	    e->tx.receivers[slot]->incarnation == r->incarnation)
		receiver_free(e, r);
	else
		receiver_install(e, r);
	return receiver_known(e, slot) ? 0 : -ENOENT;
}
