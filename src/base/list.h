/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An intrusive, circular, doubly linked list. The head is a node of its own; an
 * unlinked node points at itself, so removing twice is harmless.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define list_for_each(pos, head) \
	for (struct list *pos = (head)->next; pos != (head); pos = pos->next)

/* The body may remove and free `pos`. */
#define list_for_each_safe(pos, head)                                                 \
	for (struct list *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
	     pos = pos##_next, pos##_next = pos->next)

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_insert_before(struct list *l, struct list *where)
{
	l->prev = where->prev;
	l->next = where;
	where->prev->next = l;
	where->prev = l;
}

static inline void list_append(struct list *head, struct list *l)
{
	list_insert_before(l, head);
}

static inline void list_prepend(struct list *head, struct list *l)
{
	list_insert_before(l, head->next);
}

static inline void list_remove(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

#endif
