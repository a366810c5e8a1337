/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses that go from under an id: the GID of its source is not in its port's table
 * any more. The id hears ADDR_CHANGE once, stays bound, and works again when the address
 * comes back; until then it has no source, so a join ends in an error, and what its
 * queue pair sends is dropped.
 *
 * Differs: Linux tells of another address of the hardware, when a bond has changed over
 * to its second interface, and not of one that was taken away from an interface. There
 * the GID stays behind for those who hold it, and what they send finds no route.
 */
#include "core/cm/cma_priv.h"

static void deliver_change(struct cma_work *work)
{
	struct cma_id *id = container_of(work, struct cma_id, change_work);
	struct cma_event event = { .event = CMA_EVENT_ADDR_CHANGE };

	id->config.event(id, &event);
}

void cma_id_init_change(struct cma_id *id)
{
	cma_work_init(&id->change_work, deliver_change);
}

/* The entry with the id's source, wherever it lies in the table now. */
static bool find_source_again(const struct cma_id *id, struct ib_gid_attr *ret)
{
	return rdma_find_gid_by_port(id->device, &id->sgid.gid, id->sgid.gid_type,
				     id->port_num, ret) == 0 &&
	       ret->ifindex == id->sgid.ifindex;
}

static void look_at(struct cma_id *id)
{
	struct ib_gid_attr now;

	if (find_source_again(id, &now)) {
		id->sgid = now;
		id->source_lost = false;
		cma_work_cancel(&id->change_work);
	} else if (!id->source_lost) {
		id->source_lost = true;
		cma_work_queue(id->cma, &id->change_work);
	}
}

void cma_device_event(struct ib_client *client, const struct ib_event *event)
{
	struct cma *cma = container_of(client, struct cma, client);

	if (event->event != IB_EVENT_GID_CHANGE)
		return;
	list_for_each(pos, &cma->ids) {
		struct cma_id *id = container_of(pos, struct cma_id, link);

		if (id->device == event->device &&
		    id->port_num == event->element.port_num)
			look_at(id);
	}
}
