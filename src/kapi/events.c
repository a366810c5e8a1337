// SPDX-License-Identifier: BSD-2-Clause
#include "kapi/events.h"

#include "kapi/calls.h"

static struct workqueue_struct *events, *completions;
static _Thread_local bool on_events, on_completions;

struct told {
	struct work_struct work;
	void (*handler)(struct ib_event *event, void *context);
	void *context;
	struct ib_event event;
};

static void enter_events(struct work_struct *w)
{
	on_events = true;
}

static void enter_completions(struct work_struct *w)
{
	on_completions = true;
}

static void enter(struct workqueue_struct *wq, work_func_t func)
{
	struct work_struct first;

	INIT_WORK(&first, func);
	queue_work(wq, &first);
	flush_work(&first);
}

int events_begin(void)
{
	events = alloc_ordered_workqueue("kapi-events", 0);
	completions = alloc_ordered_workqueue("kapi-comp", 0);
	if (!events || !completions) {
		events_end();
		return -ENOMEM;
	}
	enter(events, enter_events);
	enter(completions, enter_completions);
	return 0;
}

void events_end(void)
{
	destroy_workqueue(completions);
	destroy_workqueue(events);
	events = completions = NULL;
}

void events_drain(void)
{
	flush_workqueue(events);
	flush_workqueue(completions);
}

void events_queue(struct work_struct *w)
{
	queue_work(events, w);
}

bool events_flush(void)
{
	if (on_events || kapi_on_loop())
		return false;
	flush_workqueue(events);
	return true;
}

void completions_queue(struct work_struct *w)
{
	queue_work(completions, w);
}

static void pass(struct work_struct *w)
{
}

void completions_pass(void)
{
	enter(completions, pass);
}

bool completions_are_here(void)
{
	return on_completions;
}

static void tell(struct work_struct *w)
{
	struct told *t = container_of(w, struct told, work);

	t->handler(&t->event, t->context);
	kfree(t);
}

void events_tell(void (*handler)(struct ib_event *event, void *context), void *context,
		 const struct ib_event *event)
{
	struct told *t;

	if (!handler)
		return;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t) {
		kapi_report("no memory to tell of an event (%s)",
			    ib_event_msg(event->event));
		return;
	}
	INIT_WORK(&t->work, tell);
	t->handler = handler;
	t->context = context;
	t->event = *event;
	events_queue(&t->work);
}
