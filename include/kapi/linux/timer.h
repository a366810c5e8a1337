/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers; their functions run on one thread of their own, and may not sleep long. */
#ifndef KAPI_LINUX_TIMER_H
#define KAPI_LINUX_TIMER_H

#include <time.h>

#include <linux/jiffies.h>
#include <linux/list.h>

struct timer_list {
	struct list_head entry;
	unsigned long expires;
	void (*function)(struct timer_list *timer);
	unsigned int flags;
};

void kapi_timer_setup(struct timer_list *t, void (*function)(struct timer_list *))
	KAPI(timer_setup);
/* 1: it was pending. */
int mod_timer(struct timer_list *t, unsigned long expires) KAPI(mod_timer);
void add_timer(struct timer_list *t) KAPI(add_timer);
/* 1: it was pending, and is not any more. */
int kapi_timer_delete(struct timer_list *t) KAPI(timer_delete);
/* As timer_delete; when it returns the function does not run, unless called from it. */
int kapi_timer_delete_sync(struct timer_list *t) KAPI(timer_delete_sync);
int timer_pending(const struct timer_list *t) KAPI(timer_pending);

/* POSIX has a timer_delete too. */
#define timer_delete(t)                   kapi_timer_delete(t)
#define timer_delete_sync(t)              kapi_timer_delete_sync(t)
#define timer_setup(t, fn, flags)         kapi_timer_setup(t, fn)
#define del_timer(t)                      timer_delete(t)
#define del_timer_sync(t)                 timer_delete_sync(t)
#define timer_shutdown_sync(t)            timer_delete_sync(t)
#define from_timer(var, t, field)         container_of(t, typeof(*var), field)
#define timer_container_of(var, t, field) container_of(t, typeof(*var), field)

#endif
