/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of a device, told to whoever registered. A driver dispatches from
 * the loop, never from inside a call that a consumer made.
 */
#include "core/verbs/core_priv.h"

void ib_register_event_handler(struct ib_event_handler *handler)
{
	list_append(&handler->device->event_handlers, &handler->link);
}

void ib_unregister_event_handler(struct ib_event_handler *handler)
{
	list_remove(&handler->link);
}

void ib_dispatch_event(struct ib_event *event)
{
	list_for_each_safe(l, &event->device->event_handlers) {
		struct ib_event_handler *handler =
			container_of(l, struct ib_event_handler, link);

		handler->handler(handler, event);
	}
	node_tell_event(event->device->node, event);
}
