/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues. An ordered one has one thread, which does its works one after another in
 * the order of queueing; others get threads as they need them, up to a bound.
 */
#ifndef KAPI_LINUX_WORKQUEUE_H
#define KAPI_LINUX_WORKQUEUE_H

#include <linux/timer.h>

struct workqueue_struct;
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	struct list_head entry;
	work_func_t func;
	struct workqueue_struct *wq; /* where it is, or was last */
	bool pending;
};

struct delayed_work {
	struct work_struct work;
	struct timer_list timer;
	struct workqueue_struct *wq;
};

#define WQ_UNBOUND     (1u << 1)
#define WQ_FREEZABLE   (1u << 2)
#define WQ_MEM_RECLAIM (1u << 3)
#define WQ_HIGHPRI     (1u << 4)

struct workqueue_struct *kapi_alloc_workqueue(bool ordered, const char *format, ...)
	KAPI(alloc_workqueue) __printf(2, 3);
void destroy_workqueue(struct workqueue_struct *wq) KAPI(destroy_workqueue);
/* The queues of everybody. */
struct workqueue_struct *kapi_system_wq(void) KAPI(system_wq);

#define system_wq         kapi_system_wq()
#define system_long_wq    kapi_system_wq()
#define system_unbound_wq kapi_system_wq()
#define alloc_workqueue(fmt, flags, max_active, ...) \
	kapi_alloc_workqueue((max_active) == 1, fmt, ##__VA_ARGS__)
#define alloc_ordered_workqueue(fmt, flags, ...) \
	kapi_alloc_workqueue(true, fmt, ##__VA_ARGS__)
#define create_singlethread_workqueue(name) kapi_alloc_workqueue(true, "%s", name)
#define create_workqueue(name)              kapi_alloc_workqueue(true, "%s", name)

void kapi_init_work(struct work_struct *w, work_func_t func) KAPI(init_work);
void kapi_init_delayed_work(struct delayed_work *w, work_func_t func)
	KAPI(init_delayed_work);

#define INIT_WORK(w, f)         kapi_init_work(w, f)
#define INIT_WORK_ONSTACK(w, f) kapi_init_work(w, f)
#define INIT_DELAYED_WORK(w, f) kapi_init_delayed_work(w, f)
#define __WORK_INITIALIZER(n, f)                                 \
	{                                                        \
		.entry = LIST_HEAD_INIT((n).entry), .func = (f), \
	}
#define DECLARE_WORK(n, f) struct work_struct n = __WORK_INITIALIZER(n, f)
#define to_delayed_work(w) container_of(w, struct delayed_work, work)
#define work_pending(w)    READ_ONCE((w)->pending)

/* False: it was queued already, and is not a second time. */
bool queue_work(struct workqueue_struct *wq, struct work_struct *w) KAPI(queue_work);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *w,
			unsigned long delay) KAPI(queue_delayed_work);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *w,
		      unsigned long delay) KAPI(mod_delayed_work);
/* True: it was queued. When they return it neither runs nor will. */
bool cancel_work_sync(struct work_struct *w) KAPI(cancel_work_sync);
bool cancel_delayed_work(struct delayed_work *w) KAPI(cancel_delayed_work);
bool cancel_delayed_work_sync(struct delayed_work *w) KAPI(cancel_delayed_work_sync);
bool flush_work(struct work_struct *w) KAPI(flush_work);
bool flush_delayed_work(struct delayed_work *w) KAPI(flush_delayed_work);
/* All that was queued when it was called has been done. */
void flush_workqueue(struct workqueue_struct *wq) KAPI(flush_workqueue);

#define drain_workqueue(wq)         flush_workqueue(wq)
#define schedule_work(w)            queue_work(system_wq, w)
#define schedule_delayed_work(w, d) queue_delayed_work(system_wq, w, d)
#define flush_scheduled_work()      flush_workqueue(system_wq)

#endif
