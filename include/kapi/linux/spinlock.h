/* SPDX-License-Identifier: BSD-2-Clause */
/* Spin locks: mutexes, since threads may be taken off the processor while they hold one. */
#ifndef KAPI_LINUX_SPINLOCK_H
#define KAPI_LINUX_SPINLOCK_H

#include <pthread.h>

#include <linux/types.h>

typedef struct spinlock {
	pthread_mutex_t mutex;
} spinlock_t;

typedef struct {
	pthread_rwlock_t lock;
} rwlock_t;

#define DEFINE_SPINLOCK(x) spinlock_t x = { PTHREAD_MUTEX_INITIALIZER }
#define DEFINE_RWLOCK(x)   rwlock_t x = { PTHREAD_RWLOCK_INITIALIZER }
#define spin_lock_init(l)  pthread_mutex_init(&(l)->mutex, NULL)
#define rwlock_init(l)     pthread_rwlock_init(&(l)->lock, NULL)

static inline void spin_lock(spinlock_t *l)
{
	pthread_mutex_lock(&l->mutex);
}

static inline int spin_trylock(spinlock_t *l)
{
	return pthread_mutex_trylock(&l->mutex) == 0;
}

static inline void spin_unlock(spinlock_t *l)
{
	pthread_mutex_unlock(&l->mutex);
}

#define spin_lock_irq(l)              spin_lock(l)
#define spin_unlock_irq(l)            spin_unlock(l)
#define spin_lock_bh(l)               spin_lock(l)
#define spin_unlock_bh(l)             spin_unlock(l)
#define spin_lock_nested(l, subclass) spin_lock(l)
#define spin_lock_irqsave(l, flags) \
	do {                        \
		(flags) = 0;        \
		spin_lock(l);       \
	} while (0)
#define spin_unlock_irqrestore(l, flags) \
	do {                             \
		(void)(flags);           \
		spin_unlock(l);          \
	} while (0)
#define read_lock(l)                      pthread_rwlock_rdlock(&(l)->lock)
#define read_unlock(l)                    pthread_rwlock_unlock(&(l)->lock)
#define write_lock(l)                     pthread_rwlock_wrlock(&(l)->lock)
#define write_unlock(l)                   pthread_rwlock_unlock(&(l)->lock)
#define read_lock_irqsave(l, flags)       ((flags) = 0, (void)read_lock(l))
#define read_unlock_irqrestore(l, flags)  ((void)(flags), (void)read_unlock(l))
#define write_lock_irqsave(l, flags)      ((flags) = 0, (void)write_lock(l))
#define write_unlock_irqrestore(l, flags) ((void)(flags), (void)write_unlock(l))
#define local_irq_save(flags)             ((flags) = 0)
#define local_irq_restore(flags)          ((void)(flags))
#define lockdep_assert_held(l)            ((void)(l))
#define might_sleep()                     ((void)0)

#endif
