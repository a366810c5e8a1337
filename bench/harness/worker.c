/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/worker.h"

#include <errno.h>

#include "harness/buffers.h"
#include "harness/line.h"
#include "harness/place.h"
#include "harness/ticks.h"

/* What a program would give its receive queue: as much memory as the ring has. */
#define RECEIVE_BYTES (256u << 10)
#define DEPTH_MAX     512u

static struct histogram histogram;

static unsigned int default_depth(const struct cell *cell)
{
	size_t depth = RECEIVE_BYTES / buffers_stride(cell->size + 64);

	if (depth < 4 * cell->batch)
		depth = 4 * cell->batch;
	return depth < DEPTH_MAX ? (unsigned int)depth : DEPTH_MAX;
}

static void open_endpoint(const struct worker_config *w, unsigned int contestant,
			  struct endpoint **ret)
{
	const struct transport *t = w->contestants[contestant];
	struct outcome *o = &w->board->workers[w->worker].outcome;
	struct endpoint_config config = {
		.worker = w->worker,
		.receivers = w->cell->receivers,
		.size = w->cell->size,
		.batch = w->cell->batch,
		.depth = w->options->depth ? w->options->depth : default_depth(w->cell),
		.groups = w->cell->groups,
		.random_group = w->cell->random_group,
		.sleeps = w->cell->scenario->sleeps,
		/* Two transports by verbs must not hear each other. */
		.run = w->run * TRANSPORTS_MAX + contestant,
		.shared = w->shared[contestant],
		.device = w->options->device,
		.ip_join = w->options->ip_join,
	};

	if (config.sleeps && !t->wait)
		o->status = -EOPNOTSUPP;
	else
		o->status = t->open(&config, ret);
	if (o->status)
		return;
	(*ret)->config = config;
	(*ret)->transport = t;
	o->capacity = (*ret)->capacity;
}

static void run(const struct worker_config *w, struct endpoint *e)
{
	const struct scenario *scenario = w->cell->scenario;
	struct worker_cell *own = &w->board->workers[w->worker];
	struct duty d = {
		.cell = w->cell,
		.board = w->board,
		.endpoint = e,
		.worker = w->worker,
		.yields = place_crowded(w->cell),
		.outcome = &own->outcome,
		.histogram = &histogram,
	};

	place_worker(w->cell, w->worker);
	inbox_begin(&d.inbox, w->cell->size, w->board->base, w->options->thorough);
	board_meet(w->board, w->cell->receivers + 1);
	atomic_store(&own->measuring, true);
	if (w->worker)
		scenario->follow(&d);
	else
		scenario->lead(&d);
	atomic_store(&own->measuring, false);
	own->outcome.wrong += e->errors;
	e->errors = 0;
}

static void probe(const struct worker_config *w)
{
	if (w->worker > 1)
		return;
	place_pin(w->worker);
	line_probe(w->board, w->worker);
}

void worker_serve(const struct worker_config *w)
{
	struct endpoint *endpoints[TRANSPORTS_MAX] = { NULL };
	struct board *b = w->board;
	struct outcome *o = &b->workers[w->worker].outcome;
	enum order order;
	uint32_t turn = 0;

	if (w->cell->scenario->placement == PLACE_ONE_CPU)
		place_pin(0);
	do {
		struct endpoint **e;

		turn = board_wait_order(b, turn);
		/* Once all have reported the board shows the next order. */
		order = b->order;
		e = &endpoints[b->contestant];
		memset(o, 0, sizeof(*o));
		if (order == ORDER_OPEN)
			open_endpoint(w, b->contestant, e);
		else if (order == ORDER_CONNECT && *e && (*e)->transport->connect)
			o->status = (*e)->transport->connect(*e);
		else if (order == ORDER_PROBE)
			probe(w);
		else if (order == ORDER_RUN)
			run(w, *e);
		else if (order == ORDER_LEAVE)
			for (unsigned int i = 0; i < TRANSPORTS_MAX; i++)
				if (endpoints[i])
					endpoints[i]->transport->close(endpoints[i]);
		board_report(b);
	} while (order != ORDER_LEAVE);
}
