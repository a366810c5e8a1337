// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine's life: open, close, failure of the daemon, and the child of a fork.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

#define DEVICE_ANY UINT32_MAX

static void engine_free(struct engine *e)
{
	attachments_fini(e);
	faults_fini(e);
	senders_fini(e);
	tx_fini(e);
	receivers_fini(e);
	mr_fini(e);
	pthread_mutex_destroy(&e->setup);
	free(e);
}

static int init_parts(struct engine *e)
{
	int r;

	r = senders_init(e);
	if (r < 0)
		return r;
	r = tx_init(e);
	if (r < 0)
		return r;
	r = receivers_init(e);
	if (r < 0)
		return r;
	return mr_init(e);
}

int engine_open(const struct engine_config *config, struct engine **ret)
{
	struct engine *e;
	int r;

	if (config->slot >= SHM_SLOTS_MAX)
		return -EINVAL;
	e = aligned_alloc(64, (sizeof(*e) + 63) & ~(size_t)63);
	if (!e)
		return -ENOMEM;
	memset(e, 0, sizeof(*e));
	e->tables = config->tables;
	e->doorbell = config->doorbell;
	e->counters = config->counters;
	e->slot = config->slot;
	e->incarnation = config->incarnation;
	e->ops = config->ops;
	e->arg = config->arg;
	e->tell_networks = config->tell_networks;
	lock_init(&e->tx_lock, LOCK_TX);
	lock_init(&e->rx_lock, LOCK_RX);
	pthread_mutex_init(&e->setup, NULL);
	faults_init(e);
	for (unsigned int i = 0; i < ENGINE_QP_BUCKETS; i++)
		list_init(&e->qps[i]);
	r = init_parts(e);
	if (r < 0) {
		engine_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

void engine_close(struct engine *e)
{
	if (!e)
		return;
	helper_stop(e);
	engine_free(e);
}

/*
 * In the child of a fork: other threads of the parent may have been anywhere when it was
 * copied, so nothing that changes in operation is walked. What is left allocated is no
 * more than the objects the child may not use either.
 */
void engine_abandon(struct engine *e)
{
	if (!e)
		return;
	free(e->tx.places);
	free(e->tx.ordinals);
	free(e->tx.receivers);
	free(e->rx.senders);
	attachments_unmap(e);
	free(e);
}

static void fail_locked(struct engine *e, uint32_t device)
{
	for (unsigned int i = 0; i < ENGINE_QP_BUCKETS; i++) {
		list_for_each(pos, &e->qps[i]) {
			struct engine_qp *qp = container_of(pos, struct engine_qp, link);

			if (device != DEVICE_ANY && qp->config.device != device)
				continue;
			if (qp_state(qp) != IBV_QPS_RESET)
				qp_fail(qp);
		}
	}
}

void engine_fail_device(struct engine *e, uint32_t device)
{
	lock_take(&e->tx_lock);
	lock_take(&e->rx_lock);
	fail_locked(e, device);
	lock_drop(&e->rx_lock);
	lock_drop(&e->tx_lock);
	engine_settle(e);
	engine_wake(e);
}

void engine_fail(struct engine *e)
{
	atomic_store_explicit(&e->failed, true, memory_order_release);
	engine_fail_device(e, DEVICE_ANY);
}
