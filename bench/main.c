/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast-bench: multicast from one process to N, by verbs and by what a user would pick
 * instead, side by side (docs/performance.md; spec/performance 5).
 *
 * Every cell of the table has a crew of processes of its own (harness/crew.h), in which
 * all contestants are open at once and take turns within each repetition
 * (harness/rounds.h). The main process only orders and counts.
 */
#include "harness/options.h"
#include "harness/place.h"
#include "harness/priority.h"
#include "harness/report.h"
#include "harness/ticks.h"
#include "scenario/scenario.h"

static struct number_list only(unsigned long value)
{
	return (struct number_list){ { value }, 1 };
}

static bool run_cell(const struct cell *cell, const struct options *o)
{
	static struct cell_result result;

	rounds_run(&result, cell, o);
	report_cell(&result, o);
	return !rounds_failed(&result, o);
}

static bool run_group_cells(struct cell *cell, const struct options *o)
{
	unsigned int uses = cell->scenario->uses;
	bool good = true;

	if (!(uses & USES_GROUPS))
		return run_cell(cell, o);
	for (unsigned int g = 0; g < o->groups.count; g++) {
		cell->groups = (unsigned int)o->groups.values[g];
		cell->random_group = false;
		good &= run_cell(cell, o);
		cell->random_group = true;
		if (uses & USES_RANDOM && cell->groups > 2)
			good &= run_cell(cell, o);
	}
	return good;
}

static bool run_scenario(const struct scenario *s, const struct options *o)
{
	struct number_list receivers = s->uses & USES_RECEIVERS ? o->receivers : only(1);
	struct number_list sizes = s->uses & USES_SIZES ? o->sizes : only(64);
	struct number_list batches = s->uses & USES_BATCHES ? o->batches : only(1);
	bool good = true;

	for (unsigned int n = 0; n < receivers.count; n++)
		for (unsigned int k = 0; k < sizes.count; k++)
			for (unsigned int b = 0; b < batches.count; b++) {
				struct cell cell = {
					.scenario = s,
					.receivers = (unsigned int)receivers.values[n],
					.size = sizes.values[k],
					.batch = (unsigned int)batches.values[b],
				};

				good &= run_group_cells(&cell, o);
			}
	return good;
}

int main(int argc, char **argv)
{
	struct options o;
	bool good = true;
	int r = options_parse(&o, argc, argv);

	if (r)
		return r - 1;
	ticks_calibrate();
	place_look();
	o.niced = priority_raise();
	report_begin(&o);
	for (unsigned int i = 0; o.scenarios[i]; i++)
		good &= run_scenario(o.scenarios[i], &o);
	report_end(&o);
	priority_restore();
	return good ? 0 : 1;
}
