/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events. */
#ifndef KAPI_RDMA_VERBS_EVENT_H
#define KAPI_RDMA_VERBS_EVENT_H

#include <linux/list.h>
#include <rdma/verbs/qp.h>

enum ib_event_type {
	IB_EVENT_CQ_ERR,
	IB_EVENT_QP_FATAL,
	IB_EVENT_QP_REQ_ERR,
	IB_EVENT_QP_ACCESS_ERR,
	IB_EVENT_COMM_EST,
	IB_EVENT_SQ_DRAINED,
	IB_EVENT_PATH_MIG,
	IB_EVENT_PATH_MIG_ERR,
	IB_EVENT_DEVICE_FATAL,
	IB_EVENT_PORT_ACTIVE,
	IB_EVENT_PORT_ERR,
	IB_EVENT_LID_CHANGE,
	IB_EVENT_PKEY_CHANGE,
	IB_EVENT_SM_CHANGE,
	IB_EVENT_SRQ_ERR,
	IB_EVENT_SRQ_LIMIT_REACHED,
	IB_EVENT_QP_LAST_WQE_REACHED,
	IB_EVENT_CLIENT_REREGISTER,
	IB_EVENT_GID_CHANGE,
	IB_EVENT_WQ_FATAL,
};

const char *ib_event_msg(enum ib_event_type event) KAPI(ib_event_msg);

struct ib_event {
	struct ib_device *device;
	union {
		struct ib_cq *cq;
		struct ib_qp *qp;
		struct ib_srq *srq;
		u32 port_num;
	} element;
	enum ib_event_type event;
};

struct ib_event_handler {
	struct ib_device *device;
	void (*handler)(struct ib_event_handler *handler, struct ib_event *event);
	struct list_head list;
};

#define INIT_IB_EVENT_HANDLER(ptr, dev, fn)   \
	do {                                  \
		(ptr)->device = (dev);        \
		(ptr)->handler = (fn);        \
		INIT_LIST_HEAD(&(ptr)->list); \
	} while (0)

/* In order of registration, from the thread of events. Unregistering waits until the
 * handler does not run, and must not be done from it (reported, and not waited for). */
void ib_register_event_handler(struct ib_event_handler *handler)
	KAPI(ib_register_event_handler);
void ib_unregister_event_handler(struct ib_event_handler *handler)
	KAPI(ib_unregister_event_handler);
/* For drivers. */
void ib_dispatch_event(const struct ib_event *event) KAPI(ib_dispatch_event);

#endif
