/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/rounds.h"

#include <errno.h>

#include "harness/crew.h"
#include "harness/place.h"
#include "harness/ticks.h"
#include "scenario/scenario.h"

#define LINE_CHANGE 1.5

static bool name_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, len) && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

static unsigned int choose(const struct cell *cell, const struct options *o,
			   const struct transport *chosen[TRANSPORTS_MAX + 1])
{
	const struct transport *const *t = cell->scenario->contestants;
	unsigned int n = 0;

	for (; *t && n < TRANSPORTS_MAX; t++)
		if (!o->transports || name_in(o->transports, (*t)->name))
			chosen[n++] = *t;
	chosen[n] = NULL;
	return n;
}

/* Contestants that cannot be had here are left out, with their errno. */
static int open_all(struct crew *crew, struct cell_result *r, const struct options *o)
{
	for (unsigned int i = 0; i < r->contestants; i++) {
		struct series *s = &r->series[i];

		s->status = crew_order(crew, ORDER_OPEN, i);
		s->window = o->window;
		for (unsigned int w = 0; w < crew->workers; w++) {
			unsigned int capacity = crew->board->workers[w].outcome.capacity;

			if (capacity && capacity < s->window)
				s->window = capacity;
		}
		if (!s->status)
			s->status = crew_order(crew, ORDER_CONNECT, i);
		if (!s->status && s->window < r->cell.batch)
			s->status = -ENOBUFS;
		if (crew->broken)
			return crew->broken;
	}
	return 0;
}

static int probe_line(struct crew *crew, double *ret_ns)
{
	int r;

	*ret_ns = 0;
	if (place_cpus() < 2 || crew->traced)
		return 0;
	r = crew_order(crew, ORDER_PROBE, 0);
	*ret_ns = ticks_to_ns(crew->board->line);
	return r;
}

static void note(struct crew *crew, struct cell_result *r, struct series *s,
		 unsigned int at)
{
	const struct board *b = crew->board;
	const struct outcome *lead = &b->workers[0].outcome;

	s->value[at] = r->cell.scenario->value(b, r->cell.receivers);
	s->p99[at] = ticks_to_ns(lead->p99) / 2;
	s->messages += lead->messages;
	s->sender_calls += b->workers[0].calls;
	for (unsigned int w = 0; w < crew->workers; w++) {
		s->lost += b->workers[w].outcome.lost;
		s->wrong += b->workers[w].outcome.wrong;
		s->wakes += b->workers[w].wakes;
		s->receiver_calls += w ? b->workers[w].calls : 0;
	}
}

static int run_one(struct crew *crew, struct cell_result *r, const struct options *o,
		   unsigned int who, unsigned int at)
{
	struct board *b = crew->board;
	int status;

	b->duration = ticks_from_ms(o->ms);
	b->window = r->series[who].window;
	for (unsigned int w = 0; w < crew->workers; w++) {
		atomic_store(&b->workers[w].calls, 0);
		atomic_store(&b->workers[w].wakes, 0);
	}
	status = crew_order(crew, ORDER_RUN, who);
	if (status)
		return status;
	note(crew, r, &r->series[who], at);
	/* Numbers never come again: a straggler must not pass for a later message. */
	b->base += b->workers[0].outcome.messages + 1;
	return 0;
}

static bool line_changed(double before, double after)
{
	return before > after * LINE_CHANGE || after > before * LINE_CHANGE;
}

/* Once unseen: first contacts, first touches of memory. What is wrong in it counts. */
static int warm_up(struct crew *crew, struct cell_result *r, const struct options *o)
{
	int status = 0;

	for (unsigned int i = 0; !status && i < r->contestants; i++) {
		struct series *s = &r->series[i];

		if (s->status)
			continue;
		status = run_one(crew, r, o, i, 0);
		s->messages = 0;
		s->sender_calls = 0;
		s->receiver_calls = 0;
		s->wakes = 0;
	}
	return status;
}

static int repeat(struct crew *crew, struct cell_result *r, const struct options *o)
{
	unsigned int tries = 0;

	while (r->kept < o->repetitions && tries < 3 * o->repetitions) {
		double before, after;
		int status = probe_line(crew, &before);

		for (unsigned int i = 0; !status && i < r->contestants; i++) {
			unsigned int who = (i + tries) % r->contestants;

			if (!r->series[who].status)
				status = run_one(crew, r, o, who, r->kept);
		}
		if (!status)
			status = probe_line(crew, &after);
		if (status)
			return status;
		tries++;
		r->line[r->kept] = (before + after) / 2;
		if (!o->keep_all && line_changed(before, after))
			r->dropped++;
		else
			r->kept++;
	}
	return 0;
}

void rounds_run(struct cell_result *r, const struct cell *cell, const struct options *o)
{
	const struct transport *chosen[TRANSPORTS_MAX + 1];
	struct crew crew;

	memset(r, 0, sizeof(*r));
	r->cell = *cell;
	r->contestants = choose(cell, o, chosen);
	for (unsigned int i = 0; i < r->contestants; i++)
		r->series[i].transport = chosen[i];
	r->status = crew_start(&crew, cell, o, chosen);
	if (r->status)
		return;
	r->status = open_all(&crew, r, o);
	if (!r->status)
		r->status = warm_up(&crew, r, o);
	if (!r->status)
		r->status = repeat(&crew, r, o);
	crew_stop(&crew);
}

struct summary rounds_ratio(const struct cell_result *r, unsigned int who,
			    unsigned int against)
{
	double ratios[REPETITIONS_MAX];

	for (unsigned int i = 0; i < r->kept; i++)
		ratios[i] = r->series[who].value[i] / r->series[against].value[i];
	return summary_of(ratios, r->kept);
}

static bool too_many_calls(const struct series *s, const struct options *o)
{
	double calls = (double)(s->sender_calls + s->receiver_calls);

	return o->count_calls && o->max_calls >= 0 &&
	       calls > o->max_calls * (double)s->messages;
}

bool rounds_failed(const struct cell_result *r, const struct options *o)
{
	bool failed = r->status != 0;

	for (unsigned int i = 0; i < r->contestants; i++) {
		const struct series *s = &r->series[i];

		if (s->status)
			continue;
		failed |= s->wrong || (s->lost && s->transport->lossless);
		failed |= too_many_calls(s, o);
	}
	return failed;
}
