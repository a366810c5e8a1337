// SPDX-License-Identifier: BSD-2-Clause
/*
 * Doorbells: setting bits, and the futex below them (spec/dataplane 6, "Sleep").
 *
 * D1  the sender publishes, passes a full barrier and reads its bit;
 * D2  the owner clears the bits and sets its flag, passes a full barrier and looks at the
 *     logs again (engine/wait.c).
 * Either D1 sees the bit clear and rings, or D2 sees the publication and does not sleep.
 */
#include "shm/doorbell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/memfile.h"
#include "shm/tables.h"

static int doorbell_init(int fd, uint32_t slot, uint32_t incarnation)
{
	struct shm_doorbell *d;
	void *p;
	int r;

	r = shm_memfile_map(fd, offsetof(struct shm_doorbell, cursors), true, &p);
	if (r < 0)
		return r;
	d = p;
	d->magic = SHM_DOORBELL_MAGIC;
	d->layout_version = SHM_LAYOUT_VERSION;
	d->slot = slot;
	d->incarnation = incarnation;
	shm_memfile_unmap(p, offsetof(struct shm_doorbell, cursors));
	return shm_memfile_seal(fd, SHM_SEALS_SIZE);
}

int shm_doorbell_create(uint32_t slot, uint32_t incarnation, int *ret_fd)
{
	int fd, r;

	r = shm_memfile_create("verbcast-doorbell", sizeof(struct shm_doorbell), &fd);
	if (r < 0)
		return r;
	r = doorbell_init(fd, slot, incarnation);
	if (r < 0) {
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int shm_doorbell_map(int fd, struct shm_doorbell **ret)
{
	void *p;
	int r;

	r = shm_memfile_verify(fd, sizeof(**ret), SHM_SEALS_SIZE);
	if (r < 0)
		return r;
	r = shm_memfile_map(fd, sizeof(**ret), true, &p);
	if (r < 0)
		return r;
	*ret = p;
	return 0;
}

void shm_doorbell_unmap(struct shm_doorbell *d)
{
	shm_memfile_unmap(d, sizeof(*d));
}

/* Set the bit; true if it was clear. The word above is set every time it has to be, for a
 * ringer may have died between the two. */
static bool doorbell_set(struct shm_doorbell *d, uint32_t sender)
{
	uint32_t w = (sender % SHM_SLOTS_MAX) / 64;
	uint64_t bit = 1ull << (sender % 64);
	uint64_t before;

	before = atomic_fetch_or_explicit(&d->words[w], bit, memory_order_seq_cst);
	if (!(atomic_load_explicit(&d->summary, memory_order_relaxed) & 1ull << w))
		atomic_fetch_or_explicit(&d->summary, 1ull << w, memory_order_seq_cst);
	return !(before & bit);
}

bool shm_doorbell_ring(struct shm_doorbell *d, uint32_t sender)
{
	uint32_t w = (sender % SHM_SLOTS_MAX) / 64;
	uint32_t sleepers;

	if (atomic_load_explicit(&d->words[w], memory_order_relaxed) &
	    1ull << (sender % 64))
		return false;
	if (!doorbell_set(d, sender))
		return false;
	if (!atomic_load_explicit(&d->sleeping, memory_order_relaxed))
		return false;
	sleepers = atomic_exchange_explicit(&d->sleeping, 0, memory_order_acq_rel);
	sleepers &= SHM_SLEEPER_ALL;
	if (!sleepers)
		return false;
	shm_doorbell_wake(d, sleepers);
	return true;
}

void shm_doorbell_kick(struct shm_doorbell *d, uint32_t sender)
{
	doorbell_set(d, sender);
	atomic_fetch_add_explicit(&d->kicks, 1, memory_order_release);
	atomic_store_explicit(&d->sleeping, 0, memory_order_release);
	shm_doorbell_wake(d, SHM_SLEEPER_ALL);
}

static int futex(_Atomic uint32_t *word, int op, uint32_t value,
		 const struct timespec *ts, uint32_t bits)
{
	/* Not FUTEX_PRIVATE_FLAG: the word is shared between processes. */
	return syscall(SYS_futex, word, op, value, ts, NULL, bits) < 0 ? -errno : 0;
}

void shm_doorbell_wake(struct shm_doorbell *d, uint32_t sleepers)
{
	int saved = errno;

	atomic_fetch_add_explicit(&d->wakes, 1, memory_order_release);
	futex(&d->wakes, FUTEX_WAKE_BITSET, INT_MAX, NULL, sleepers);
	errno = saved;
}

static struct timespec after_ms(uint64_t ms)
{
	uint64_t ns = clock_now_ns() + ms * 1000000u;

	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};
}

int shm_doorbell_sleep(struct shm_doorbell *d, uint32_t sleeper, uint32_t seen,
		       int timeout_ms)
{
	struct timespec ts;
	int saved = errno;
	int r;

	if (timeout_ms >= 0)
		ts = after_ms((uint64_t)timeout_ms);
	r = futex(&d->wakes, FUTEX_WAIT_BITSET, seen, timeout_ms < 0 ? NULL : &ts,
		  sleeper);
	errno = saved;
	return r == -EAGAIN ? 0 : r;
}
