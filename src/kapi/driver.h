/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver of the site's own devices: what the kernel API's operations are on core's
 * devices and on this process's engine.
 */
#ifndef KAPI_DRIVER_H
#define KAPI_DRIVER_H

#include <stdint.h>
#include <infiniband/verbs.h>

#include "kapi/device.h"

/* The devices of all nodes, as they are and as they come and go: at once, on the loop or
 * before it runs; or a node a step, from another thread, before it returns. */
void driver_watch_now(void);
void driver_watch(void);
/* -EBUSY: clients or objects are left. From any thread but the loop's. */
int driver_may_end(void);
void driver_end(void);

/* From the engine. */
void driver_cq_event(void *arg, void *cq_context);
void driver_async_event(void *arg, enum ibv_event_type event, void *context);

#endif
