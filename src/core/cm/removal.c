/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices that go (spec/kernel 3.7): every id that is bound to one lets go of it at once
 * and hears so in its turn. Events of its resolution and of its memberships are
 * suppressed; the memberships are there to be left until the id is destroyed.
 */
#include "core/cm/cma_priv.h"

static void deliver_removal(struct cma_work *work)
{
	struct cma_id *id = container_of(work, struct cma_id, work);
	struct cma_event event = { .event = CMA_EVENT_DEVICE_REMOVAL };

	id->config.event(id, &event);
}

static void let_go(struct cma_id *id)
{
	cma_resolve_cancel(id);
	cma_work_cancel(&id->change_work);
	cma_multicast_silence_all(id);
	id->state = CMA_DEVICE_REMOVAL;
	id->device = NULL;
	cma_work_init(&id->work, deliver_removal);
	cma_work_queue(id->cma, &id->work);
}

void cma_remove_device(struct ib_client *client, struct ib_device *device)
{
	struct cma *cma = container_of(client, struct cma, client);

	list_for_each(pos, &cma->ids) {
		struct cma_id *id = container_of(pos, struct cma_id, link);

		if (id->device == device)
			let_go(id);
	}
}
