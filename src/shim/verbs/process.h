/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This process as a client of verbcastd: what libibverbs lends to librdmacm.
 *
 * A process has one control socket, one event thread (verbcast-events) and one engine,
 * whatever it opens. libibverbs owns them; librdmacm comes along through the calls below,
 * which libibverbs exports under the version node VERBCAST_PRIVATE. Nobody else calls
 * them, and both libraries are of one build.
 *
 * Generations. The connection is made lazily, lives to the end of the process and has a
 * number, its generation, from 1. It is lost in two ways: verbcastd dies, or the process
 * forks (in the child). Either way the generation is over for good: what was made in it
 * answers -ENODEV, and the next vc_process_open begins the next one, with a new verbcastd
 * if there is one. So whoever keeps a handle keeps the generation it was made in, and
 * passes it with each request.
 *
 * All calls are thread-safe, and return 0 or a negative errno unless told otherwise.
 */
#ifndef SHIM_VERBS_PROCESS_H
#define SHIM_VERBS_PROCESS_H

#include <stddef.h>
#include <infiniband/verbs.h>

#include "uapi/protocol/protocol.h"

/* Connect, if this process is not connected. 0; -ENODEV: no verbcastd, or none that
 * speaks our protocol. Cheap when connected. */
int vc_process_open(void);

/* The generation that is connected now; 0: none (never opened, verbcastd died, forked). */
unsigned int vc_generation(void);

/*
 * One request, in the generation that is connected now. `rep` is written on success
 * only; its length must be the one the operation fixes. Blocks for one round trip.
 * -ENODEV: not connected, or verbcastd died meanwhile. Else verbcastd's own answer.
 */
int vc_rpc(unsigned int op, const void *req, size_t reqlen, void *rep, size_t replen);

/* The same, refused with -ENODEV unless `generation` is the one connected: a handle of
 * an older one must never reach a new verbcastd, to which it may name something else. */
int vc_rpc_in(unsigned int generation, unsigned int op, const void *req, size_t reqlen,
	      void *rep, size_t replen);

/*
 * Handlers of librdmacm; NULL takes one back. They are called by the event thread, with
 * no lock of libibverbs held; they may call vc_rpc and verbs, but must not wait for
 * another event. The setter returns when no earlier handler runs any more (except when
 * called by the handler itself).
 *
 * cm:   an event of an id, in the order in which verbcastd sent them. `event` lives for
 *       the call.
 * down: the generation is over because verbcastd died: device removal for every bound
 *       id. Once a generation, after its last cm event. Not called after a fork.
 */
void vc_set_cm_handler(void (*fn)(const struct uapi_cm_event *event, void *arg),
		       void *arg);
void vc_set_down_handler(void (*fn)(unsigned int generation, void *arg), void *arg);

/*
 * Devices, by the number that verbcastd gave them (uapi_device.id, uapi_cm_route.device);
 * "index" below.
 * VERBCAST_DEVICE narrows what ibv_get_device_list shows, and with it what these know.
 */

/* The index of a device of ours; -1: not a device of ours, or one of an old generation. */
int vc_device_index(const struct ibv_device *device);

/* Open the device of that index, as ibv_open_device does; close by ibv_close_device.
 * NULL and errno: ENODEV where the index is not (or no longer) one of a device shown. */
struct ibv_context *vc_open_index(unsigned int index);

/* verbcastd's handle of an object of libibverbs, for requests that name one. */
unsigned int vc_qp_handle(const struct ibv_qp *qp);

/* Fill a verbs attribute from the protocol's, and the other way round. */
void vc_qp_attr_from_uapi(const struct uapi_qp_attr *from, struct ibv_qp_attr *to);
void vc_qp_attr_to_uapi(const struct ibv_qp_attr *from, struct uapi_qp_attr *to);
void vc_ah_attr_from_uapi(const struct uapi_ah_attr *from, struct ibv_ah_attr *to);
void vc_ah_attr_to_uapi(const struct ibv_ah_attr *from, struct uapi_ah_attr *to);

#endif
