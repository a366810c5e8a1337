/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A handle is a place in the table (20 bits) below the number of that place's use (12
 * bits). Free places are used in the order in which they came free, so that a use number
 * comes round as late as can be.
 */
#include "uapi/server/handles_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/list.h"

#define PLACE_BITS 20u
#define PLACES_MAX (1u << PLACE_BITS)
#define PLACE_NONE UINT32_MAX
#define USES       (1u << (32 - PLACE_BITS))

#define FIRST_PLACES 64u

struct place {
	void *object;        /* null: free */
	uint32_t use;        /* 1 .. USES - 1, so that no handle is 0 */
	uint32_t type;       /* enum uapi_handle_type */
	uint32_t prev, next; /* of the same type, or next free */
};

struct uapi_handles {
	struct place *places;
	uint32_t size, max, count;
	uint32_t free_first, free_last;
	uint32_t first[UAPI_HANDLE_TYPES]; /* youngest of each type */
	uint32_t counts[UAPI_HANDLE_TYPES];
};

static void free_append(struct uapi_handles *h, uint32_t n)
{
	h->places[n].next = PLACE_NONE;
	if (h->free_last == PLACE_NONE)
		h->free_first = n;
	else
		h->places[h->free_last].next = n;
	h->free_last = n;
}

static uint32_t free_take(struct uapi_handles *h)
{
	uint32_t n = h->free_first;

	h->free_first = h->places[n].next;
	if (h->free_first == PLACE_NONE)
		h->free_last = PLACE_NONE;
	return n;
}

static int grow(struct uapi_handles *h)
{
	uint32_t size = h->size ? h->size * 2 : FIRST_PLACES;
	struct place *places;

	if (size > PLACES_MAX)
		return -ENOMEM;
	places = realloc(h->places, size * sizeof(*places));
	if (!places)
		return -ENOMEM;
	h->places = places;
	for (uint32_t n = h->size; n < size; n++) {
		places[n] = (struct place){ 0 };
		free_append(h, n);
	}
	h->size = size;
	return 0;
}

int uapi_handles_create(unsigned int max, struct uapi_handles **ret)
{
	struct uapi_handles *h;

	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->max = max < PLACES_MAX ? max : PLACES_MAX;
	h->free_first = h->free_last = PLACE_NONE;
	for (int type = 0; type < UAPI_HANDLE_TYPES; type++)
		h->first[type] = PLACE_NONE;
	*ret = h;
	return 0;
}

void uapi_handles_destroy(struct uapi_handles *h)
{
	if (!h)
		return;
	free(h->places);
	free(h);
}

static void type_link(struct uapi_handles *h, uint32_t n, uint32_t type)
{
	struct place *p = &h->places[n];

	p->type = type;
	p->prev = PLACE_NONE;
	p->next = h->first[type];
	if (p->next != PLACE_NONE)
		h->places[p->next].prev = n;
	h->first[type] = n;
	h->counts[type]++;
	h->count++;
}

static void type_unlink(struct uapi_handles *h, uint32_t n)
{
	struct place *p = &h->places[n];

	if (p->next != PLACE_NONE)
		h->places[p->next].prev = p->prev;
	if (p->prev != PLACE_NONE)
		h->places[p->prev].next = p->next;
	else
		h->first[p->type] = p->next;
	h->counts[p->type]--;
	h->count--;
}

static uint32_t handle_of(const struct uapi_handles *h, uint32_t n)
{
	return h->places[n].use << PLACE_BITS | n;
}

int uapi_handle_add(struct uapi_handles *h, enum uapi_handle_type type, void *object,
		    uint32_t *ret_handle)
{
	uint32_t n;
	int r;

	if (h->count >= h->max)
		return -ENOMEM;
	if (h->free_first == PLACE_NONE) {
		r = grow(h);
		if (r < 0)
			return r;
	}
	n = free_take(h);
	h->places[n].object = object;
	h->places[n].use = h->places[n].use % (USES - 1) + 1;
	type_link(h, n, type);
	*ret_handle = handle_of(h, n);
	return 0;
}

static uint32_t place_find(const struct uapi_handles *h, enum uapi_handle_type type,
			   uint32_t handle)
{
	uint32_t n = handle & (PLACES_MAX - 1);

	if (n >= h->size || !h->places[n].object)
		return PLACE_NONE;
	if (handle_of(h, n) != handle || h->places[n].type != (uint32_t)type)
		return PLACE_NONE;
	return n;
}

void *uapi_handle_find(const struct uapi_handles *h, enum uapi_handle_type type,
		       uint32_t handle)
{
	uint32_t n = place_find(h, type, handle);

	return n == PLACE_NONE ? NULL : h->places[n].object;
}

void *uapi_handle_remove(struct uapi_handles *h, enum uapi_handle_type type,
			 uint32_t handle)
{
	uint32_t n = place_find(h, type, handle);
	void *object;

	if (n == PLACE_NONE)
		return NULL;
	object = h->places[n].object;
	type_unlink(h, n);
	h->places[n].object = NULL;
	free_append(h, n);
	return object;
}

void *uapi_handle_next(const struct uapi_handles *h, enum uapi_handle_type type,
		       uint32_t *handle)
{
	uint32_t n = h->first[type];

	if (*handle) {
		n = place_find(h, type, *handle);
		if (n != PLACE_NONE)
			n = h->places[n].next;
	}
	if (n == PLACE_NONE)
		return NULL;
	*handle = handle_of(h, n);
	return h->places[n].object;
}

void *uapi_handle_any(const struct uapi_handles *h, enum uapi_handle_type type,
		      uint32_t *ret_handle)
{
	*ret_handle = 0;
	return uapi_handle_next(h, type, ret_handle);
}

unsigned int uapi_handle_count(const struct uapi_handles *h, enum uapi_handle_type type)
{
	return h->counts[type];
}
