/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/board.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void futex_wait(_Atomic uint32_t *word, uint32_t value,
		       const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

struct board *board_create(void)
{
	void *b = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return b == MAP_FAILED ? NULL : b;
}

void board_destroy(struct board *b)
{
	munmap(b, sizeof(*b));
}

void board_order(struct board *b, enum order order, unsigned int contestant)
{
	b->order = order;
	b->contestant = contestant;
	atomic_store(&b->ready, 0);
	atomic_store(&b->done, 0);
	atomic_store(&b->end, BOARD_END_UNKNOWN);
	atomic_store(&b->ping, 0);
	atomic_store(&b->pong, 0);
	for (unsigned int i = 0; i < WORKERS_MAX; i++)
		atomic_store(&b->workers[i].consumed, b->base);
	atomic_fetch_add(&b->turn, 1);
	futex_wake(&b->turn);
}

bool board_wait_done(struct board *b, unsigned int workers, int timeout_ms)
{
	struct timespec t = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	uint32_t done = atomic_load(&b->done);

	if (done < workers)
		futex_wait(&b->done, done, &t);
	return atomic_load(&b->done) >= workers;
}

uint32_t board_wait_order(struct board *b, uint32_t turn)
{
	while (atomic_load(&b->turn) == turn)
		futex_wait(&b->turn, turn, NULL);
	return turn + 1;
}

void board_report(struct board *b)
{
	atomic_fetch_add(&b->done, 1);
	futex_wake(&b->done);
}

void board_meet(struct board *b, unsigned int workers)
{
	atomic_fetch_add(&b->ready, 1);
	while (atomic_load(&b->ready) < workers)
		sched_yield();
}
