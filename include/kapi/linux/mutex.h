/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_MUTEX_H
#define KAPI_LINUX_MUTEX_H

#include <pthread.h>

#include <linux/types.h>

struct mutex {
	pthread_mutex_t mutex;
};

#define DEFINE_MUTEX(x)  struct mutex x = { PTHREAD_MUTEX_INITIALIZER }
#define mutex_init(m)    pthread_mutex_init(&(m)->mutex, NULL)
#define mutex_destroy(m) pthread_mutex_destroy(&(m)->mutex)

static inline void mutex_lock(struct mutex *m)
{
	pthread_mutex_lock(&m->mutex);
}

static inline int mutex_lock_interruptible(struct mutex *m)
{
	pthread_mutex_lock(&m->mutex);
	return 0;
}

static inline int mutex_trylock(struct mutex *m)
{
	return pthread_mutex_trylock(&m->mutex) == 0;
}

static inline void mutex_unlock(struct mutex *m)
{
	pthread_mutex_unlock(&m->mutex);
}

#define mutex_lock_nested(m, subclass) mutex_lock(m)

#endif
