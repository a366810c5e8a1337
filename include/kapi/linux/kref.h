/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_KREF_H
#define KAPI_LINUX_KREF_H

#include <linux/refcount.h>

struct kref {
	refcount_t refcount;
};

static inline void kref_init(struct kref *k)
{
	refcount_set(&k->refcount, 1);
}

static inline void kref_get(struct kref *k)
{
	refcount_inc(&k->refcount);
}

static inline int kref_get_unless_zero(struct kref *k)
{
	return refcount_inc_not_zero(&k->refcount);
}

static inline unsigned int kref_read(const struct kref *k)
{
	return refcount_read(&k->refcount);
}

static inline int kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (!refcount_dec_and_test(&k->refcount))
		return 0;
	release(k);
	return 1;
}

#endif
