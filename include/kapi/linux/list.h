/* SPDX-License-Identifier: BSD-2-Clause */
/* Circular doubly linked lists, and singly headed ones for hash buckets. */
#ifndef KAPI_LINUX_LIST_H
#define KAPI_LINUX_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)
#define HLIST_HEAD_INIT       \
	{                     \
		.first = NULL \
	}
#define HLIST_HEAD(name)     struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(ptr) ((ptr)->first = NULL)
#define LIST_POISON1         ((struct list_head *)0x100)
#define LIST_POISON2         ((struct list_head *)0x122)

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l->prev = l;
}

static inline void __list_insert(struct list_head *l, struct list_head *prev,
				 struct list_head *next)
{
	l->prev = prev;
	l->next = next;
	prev->next = l;
	next->prev = l;
}

static inline void __list_unlink(struct list_head *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

static inline void list_add(struct list_head *l, struct list_head *head)
{
	__list_insert(l, head, head->next);
}

static inline void list_add_tail(struct list_head *l, struct list_head *head)
{
	__list_insert(l, head->prev, head);
}

static inline void list_del(struct list_head *l)
{
	__list_unlink(l);
	l->next = LIST_POISON1;
	l->prev = LIST_POISON2;
}

static inline void list_del_init(struct list_head *l)
{
	__list_unlink(l);
	INIT_LIST_HEAD(l);
}

static inline void list_move(struct list_head *l, struct list_head *head)
{
	__list_unlink(l);
	list_add(l, head);
}

static inline void list_move_tail(struct list_head *l, struct list_head *head)
{
	__list_unlink(l);
	list_add_tail(l, head);
}

static inline void list_replace(struct list_head *old, struct list_head *l)
{
	__list_insert(l, old->prev, old->next);
}

static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline int list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

static inline int list_is_last(const struct list_head *l, const struct list_head *head)
{
	return l->next == head;
}

static inline void list_splice(struct list_head *list, struct list_head *head)
{
	if (list_empty(list))
		return;
	list->prev->next = head->next;
	head->next->prev = list->prev;
	head->next = list->next;
	list->next->prev = head;
}

static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
	if (!list_empty(list))
		list_splice(list, head->prev);
}

static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	list_splice(list, head);
	INIT_LIST_HEAD(list);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	list_splice_tail(list, head);
	INIT_LIST_HEAD(list);
}

#define list_entry(ptr, type, member)        container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member)  list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, typeof(*(pos)), member)
#define list_prev_entry(pos, member) \
	list_entry((pos)->member.prev, typeof(*(pos)), member)
#define list_for_each(pos, head) for (pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_safe(pos, n, head) \
	for (pos = (head)->next, n = pos->next; pos != (head); pos = n, n = pos->next)
#define list_for_each_entry(pos, head, member)                                           \
	for (pos = list_first_entry(head, typeof(*pos), member); &pos->member != (head); \
	     pos = list_next_entry(pos, member))
#define list_for_each_entry_reverse(pos, head, member)                                  \
	for (pos = list_last_entry(head, typeof(*pos), member); &pos->member != (head); \
	     pos = list_prev_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)           \
	for (pos = list_first_entry(head, typeof(*pos), member), \
	    n = list_next_entry(pos, member);                    \
	     &pos->member != (head); pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member)  \
	for (pos = list_last_entry(head, typeof(*pos), member), \
	    n = list_prev_entry(pos, member);                   \
	     &pos->member != (head); pos = n, n = list_prev_entry(n, member))
#define list_for_each_entry_rcu(pos, head, member, ...) \
	list_for_each_entry(pos, head, member)
#define list_add_rcu(l, head)      list_add(l, head)
#define list_add_tail_rcu(l, head) list_add_tail(l, head)
#define list_del_rcu(l)            list_del(l)

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	if (n->next)
		n->next->pprev = &n->next;
	h->first = n;
	n->pprev = &h->first;
}

static inline void hlist_del(struct hlist_node *n)
{
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	n->next = NULL;
	n->pprev = NULL;
}

#define hlist_del_init(n)             \
	do {                          \
		if ((n)->pprev)       \
			hlist_del(n); \
	} while (0)

static inline int hlist_empty(const struct hlist_head *h)
{
	return !h->first;
}

#define hlist_entry(ptr, type, member) container_of(ptr, type, member)
#define hlist_entry_safe(ptr, type, member) \
	((ptr) ? hlist_entry(ptr, type, member) : NULL)
#define hlist_for_each_entry(pos, head, member)                                  \
	for (pos = hlist_entry_safe((head)->first, typeof(*(pos)), member); pos; \
	     pos = hlist_entry_safe((pos)->member.next, typeof(*(pos)), member))
#define hlist_for_each_entry_safe(pos, n, head, member)                   \
	for (pos = hlist_entry_safe((head)->first, typeof(*pos), member); \
	     pos && (n = pos->member.next, 1);                            \
	     pos = hlist_entry_safe(n, typeof(*pos), member))

#endif
