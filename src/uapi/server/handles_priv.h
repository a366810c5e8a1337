/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handles of one client: numbers that stand for objects of the daemon.
 *
 * A handle names a place in the client's table and the use of that place, so a number
 * from a destroyed object is unknown rather than somebody else's. It is looked up with
 * the type it must have. 0 is never a handle. The table knows pointers only; who puts an
 * object in takes it out.
 */
#ifndef UAPI_SERVER_HANDLES_PRIV_H
#define UAPI_SERVER_HANDLES_PRIV_H

#include <stdint.h>

struct uapi_handles;

/* In the order in which objects must go when a client does: dependants first. */
enum uapi_handle_type {
	UAPI_HANDLE_NONE = 0,
	UAPI_HANDLE_CM_JOIN,
	UAPI_HANDLE_CM_ID,
	UAPI_HANDLE_QP,
	UAPI_HANDLE_SRQ,
	UAPI_HANDLE_CQ,
	UAPI_HANDLE_MR,
	UAPI_HANDLE_PD,
	UAPI_HANDLE_CONTEXT,
	UAPI_HANDLE_TYPES,
};

/* At most `max` handles at once. */
int uapi_handles_create(unsigned int max, struct uapi_handles **ret);
/* Null is fine. Objects still in it are forgotten. */
void uapi_handles_destroy(struct uapi_handles *h);

/* 0; -ENOMEM: the client has its limit of objects, or memory ran out. */
int uapi_handle_add(struct uapi_handles *h, enum uapi_handle_type type, void *object,
		    uint32_t *ret_handle);
/* The object, or null: no such handle, or of another type. */
void *uapi_handle_find(const struct uapi_handles *h, enum uapi_handle_type type,
		       uint32_t handle);
/* Takes it out; returns the object, or null. */
void *uapi_handle_remove(struct uapi_handles *h, enum uapi_handle_type type,
			 uint32_t handle);
/* The youngest object of the type, with its handle: for teardown. Null: none left. */
void *uapi_handle_any(const struct uapi_handles *h, enum uapi_handle_type type,
		      uint32_t *ret_handle);
/* The same for a walk: the object made before that of `*handle` (0: the youngest), and
 * its handle. What the walk stands on must not be removed before it has gone on. */
void *uapi_handle_next(const struct uapi_handles *h, enum uapi_handle_type type,
		       uint32_t *handle);
unsigned int uapi_handle_count(const struct uapi_handles *h, enum uapi_handle_type type);

#endif
