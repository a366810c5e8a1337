/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pairing heap: the first child and the siblings of a timer hang from it, `prev` is the
 * sibling before or, for a first child, the parent.
 */
#include "base/timer.h"

#include <limits.h>
#include <stddef.h>

static bool is_before(const struct timer *a, const struct timer *b)
{
	if (a->when_ns != b->when_ns)
		return a->when_ns < b->when_ns;
	return a->serial < b->serial;
}

/* Either may be null. Both are roots: without siblings. */
static struct timer *meld(struct timer *a, struct timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (is_before(b, a)) {
		struct timer *t = a;

		a = b;
		b = t;
	}
	b->prev = a;
	b->next = a->child;
	if (a->child)
		a->child->prev = b;
	a->child = b;
	return a;
}

/* Siblings in pairs, then the pairs from the last to the first. */
static struct timer *meld_siblings(struct timer *first)
{
	struct timer *pairs = NULL, *root = NULL;

	while (first) {
		struct timer *a = first, *b = a->next;

		first = b ? b->next : NULL;
		a->next = a->prev = NULL;
		if (b)
			b->next = b->prev = NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct timer *a = pairs;

		pairs = a->next;
		a->next = NULL;
		root = meld(root, a);
	}
	return root;
}

static void heap_remove(struct timer_queue *q, struct timer *t)
{
	struct timer *rest = meld_siblings(t->child);

	if (t == q->root) {
		q->root = rest;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		q->root = meld(q->root, rest);
	}
	t->child = t->next = t->prev = NULL;
}

void timer_queue_init(struct timer_queue *q, uint64_t now_ns, void (*earlier)(void *arg),
		      void *arg)
{
	*q = (struct timer_queue){ .now_ns = now_ns, .earlier = earlier, .arg = arg };
}

uint64_t timer_queue_next(const struct timer_queue *q)
{
	return q->root ? q->root->when_ns : UINT64_MAX;
}

void timer_queue_advance(struct timer_queue *q, uint64_t now_ns)
{
	if (now_ns > q->now_ns)
		q->now_ns = now_ns;
}

bool timer_queue_run_some(struct timer_queue *q, uint64_t now_ns, unsigned int max)
{
	uint64_t serial = q->serial; /* what is armed from here on waits */
	struct timer *t;

	timer_queue_advance(q, now_ns);
	while ((t = q->root) && t->when_ns <= q->now_ns) {
		/* Armed meanwhile, so for now at the earliest: all that was due before is
		 * done. */
		if (t->serial >= serial)
			break;
		if (!max--)
			return true;
		heap_remove(q, t);
		t->armed = false;
		t->fn(t);
	}
	return false;
}

void timer_queue_run(struct timer_queue *q, uint64_t now_ns)
{
	timer_queue_run_some(q, now_ns, UINT_MAX);
}

void timer_init(struct timer *t, struct timer_queue *q, timer_fn fn)
{
	*t = (struct timer){ .queue = q, .fn = fn };
}

void timer_arm(struct timer *t, uint64_t delay_ns)
{
	struct timer_queue *q = t->queue;

	timer_disarm(t);
	t->when_ns = delay_ns > UINT64_MAX - 1 - q->now_ns ? UINT64_MAX - 1
							   : q->now_ns + delay_ns;
	t->serial = q->serial++;
	t->armed = true;
	q->root = meld(q->root, t);
	if (q->root == t && q->earlier)
		q->earlier(q->arg);
}

void timer_disarm(struct timer *t)
{
	if (!t->armed)
		return;
	heap_remove(t->queue, t);
	t->armed = false;
}
