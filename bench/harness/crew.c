/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/ticks.h"
#include "harness/tracer.h"

/* Long enough to attach 100,000 groups on a busy machine; a repetition is short. */
#define PATIENCE_MS     120000
#define PATIENCE_RUN_MS 30000
#define SLICE_MS        20

static int map_shared(struct crew *c, const struct cell *cell,
		      const struct transport *const *contestants)
{
	struct endpoint_config config = {
		.receivers = cell->receivers,
		.size = cell->size,
		.batch = cell->batch,
	};

	for (unsigned int i = 0; contestants[i]; i++) {
		if (!contestants[i]->shared_bytes)
			continue;
		c->shared_bytes[i] = contestants[i]->shared_bytes(&config);
		c->shared[i] = mmap(NULL, c->shared_bytes[i], PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (c->shared[i] == MAP_FAILED) {
			c->shared[i] = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

static void unmap_shared(struct crew *c)
{
	for (unsigned int i = 0; i < TRANSPORTS_MAX; i++)
		if (c->shared[i])
			munmap(c->shared[i], c->shared_bytes[i]);
	if (c->board)
		board_destroy(c->board);
}

static void work(struct crew *c, struct worker_config *config, unsigned int worker,
		 pid_t parent)
{
	/* Nobody stays behind, however the main process ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	config->worker = worker;
	worker_serve(config);
	fflush(NULL);
	_exit(0);
}

int crew_start(struct crew *c, const struct cell *cell, const struct options *options,
	       const struct transport *const *contestants)
{
	static uint32_t runs;
	struct worker_config config = {
		.cell = cell,
		.options = options,
		.contestants = contestants,
		.shared = c->shared,
	};
	pid_t parent = getpid();
	int r;

	memset(c, 0, sizeof(*c));
	c->traced = options->count_calls;
	c->run = (uint32_t)parent * 131 + runs++;
	c->board = board_create();
	r = c->board ? map_shared(c, cell, contestants) : -ENOMEM;
	if (r)
		goto unmap;
	config.run = c->run;
	config.board = c->board;
	fflush(NULL);
	for (c->workers = 0; c->workers <= cell->receivers; c->workers++) {
		pid_t pid = fork();

		if (!pid)
			work(c, &config, c->workers, parent);
		if (pid < 0) {
			r = -errno;
			goto stop;
		}
		c->pids[c->workers] = pid;
	}
	if (c->traced)
		r = tracer_seize(c->pids, c->workers);
	if (!r)
		return 0;

stop:
	crew_stop(c);
	return r;
unmap:
	unmap_shared(c);
	return r;
}

static bool somebody_died(struct crew *c)
{
	for (unsigned int i = 0; i < c->workers; i++) {
		siginfo_t info = { 0 };

		if (!waitid(P_PID, (id_t)c->pids[i], &info,
			    WEXITED | WNOHANG | WNOWAIT) &&
		    info.si_pid)
			return true;
	}
	return false;
}

static bool wait_slice(struct crew *c)
{
	if (c->traced)
		return tracer_wait_done(c->board, c->pids, c->workers, SLICE_MS);
	return board_wait_done(c->board, c->workers, SLICE_MS);
}

int crew_order(struct crew *c, enum order order, unsigned int contestant)
{
	uint64_t begin = ticks_now();
	double patience_ms = order == ORDER_RUN ? PATIENCE_RUN_MS : PATIENCE_MS;

	board_order(c->board, order, contestant);
	while (!wait_slice(c)) {
		if (order != ORDER_LEAVE && !c->traced && somebody_died(c))
			return c->broken = -ECHILD;
		if (ticks_now() - begin > ticks_from_ms(patience_ms))
			return c->broken = -ETIMEDOUT;
	}
	for (unsigned int i = 0; i < c->workers; i++)
		if (c->board->workers[i].outcome.status)
			return c->board->workers[i].outcome.status;
	return 0;
}

void crew_stop(struct crew *c)
{
	/* Who hangs or is dead cannot be asked to leave. */
	bool gone = c->broken || crew_order(c, ORDER_LEAVE, 0);

	for (unsigned int i = 0; i < c->workers; i++) {
		if (gone)
			kill(c->pids[i], SIGKILL);
		if (c->traced)
			tracer_reap(c->pids[i]);
		else
			waitpid(c->pids[i], NULL, 0);
	}
	unmap_shared(c);
}
