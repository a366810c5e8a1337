/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_RWSEM_H
#define KAPI_LINUX_RWSEM_H

#include <pthread.h>

#include <linux/types.h>

struct rw_semaphore {
	pthread_rwlock_t lock;
};

#define DECLARE_RWSEM(x) struct rw_semaphore x = { PTHREAD_RWLOCK_INITIALIZER }
#define init_rwsem(s)    pthread_rwlock_init(&(s)->lock, NULL)

static inline void down_read(struct rw_semaphore *s)
{
	pthread_rwlock_rdlock(&s->lock);
}

static inline void up_read(struct rw_semaphore *s)
{
	pthread_rwlock_unlock(&s->lock);
}

static inline void down_write(struct rw_semaphore *s)
{
	pthread_rwlock_wrlock(&s->lock);
}

static inline void up_write(struct rw_semaphore *s)
{
	pthread_rwlock_unlock(&s->lock);
}

#endif
