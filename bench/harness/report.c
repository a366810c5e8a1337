/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/report.h"

#include <errno.h>
#include <stdio.h>

#include "harness/machine.h"
#include "scenario/scenario.h"

#define AGAINST_DEFAULT "ring,mcast,mcgso"
#define COLUMNS_MAX     4u

/* What one line shows, the same in every form. */
struct row {
	const struct cell_result *result;
	const struct series *series;
	struct summary value, p99, line;
	double lines; /* latency in line times: survives a change of placement */
	double best;
	struct {
		const char *name;
		bool given;
		struct summary ratio;
		double bests; /* ratio of the bests: steadier for streams to one receiver */
	} against[COLUMNS_MAX];
	unsigned int columns;
};

static const char *status_text(int status)
{
	switch (status) {
	case -EOPNOTSUPP:
		return "does not do this";
	case -ENODEV:
	case -ENOSYS:
		return "no RDMA device";
	case -EMSGSIZE:
		return "larger than its MTU";
	default:
		return strerror(-status);
	}
}

static struct summary summary_of_copy(const double *values, unsigned int count)
{
	double copy[REPETITIONS_MAX];

	memcpy(copy, values, count * sizeof(*values));
	return summary_of(copy, count);
}

static double best_of(const struct scenario *s, struct summary values)
{
	return s->more_is_better ? values.most : values.least;
}

static const struct series *series_named(const struct cell_result *r, const char *name,
					 size_t len, unsigned int *ret_index)
{
	for (unsigned int i = 0; i < r->contestants; i++) {
		const struct transport *t = r->series[i].transport;

		if (strncmp(t->name, name, len) || t->name[len] || r->series[i].status)
			continue;
		*ret_index = i;
		return &r->series[i];
	}
	return NULL;
}

static const char *against_of(const struct options *o, const struct scenario *s)
{
	if (o->against)
		return o->against;
	return s->contestants == transports_attach ? "seqpacket" : AGAINST_DEFAULT;
}

static void fill_ratios(struct row *row, unsigned int who, const struct options *o)
{
	const struct scenario *s = row->result->cell.scenario;
	const char *name = against_of(o, s);

	for (row->columns = 0; name && row->columns < COLUMNS_MAX; row->columns++) {
		const char *comma = strchr(name, ',');
		size_t len = comma ? (size_t)(comma - name) : strlen(name);
		const struct series *other;
		unsigned int index = 0;

		other = series_named(row->result, name, len, &index);
		row->against[row->columns].name = name;
		row->against[row->columns].given = other != NULL;
		if (other) {
			struct summary v =
				summary_of_copy(other->value, row->result->kept);

			row->against[row->columns].ratio =
				rounds_ratio(row->result, who, index);
			row->against[row->columns].bests = row->best / best_of(s, v);
		}
		name = comma ? comma + 1 : NULL;
	}
}

static double median_in_lines(const struct cell_result *r, const struct series *s)
{
	double ratios[REPETITIONS_MAX];

	for (unsigned int i = 0; i < r->kept; i++)
		ratios[i] = r->line[i] > 0 ? s->value[i] / r->line[i] : 0;
	return summary_of(ratios, r->kept).median;
}

static struct row make_row(const struct cell_result *r, unsigned int who,
			   const struct options *o)
{
	struct row row = { .result = r, .series = &r->series[who] };

	row.value = summary_of_copy(r->series[who].value, r->kept);
	row.p99 = summary_of_copy(r->series[who].p99, r->kept);
	row.line = summary_of_copy(r->line, r->kept);
	row.lines = median_in_lines(r, &r->series[who]);
	row.best = best_of(r->cell.scenario, row.value);
	fill_ratios(&row, who, o);
	return row;
}

/* Three digits and a unit, as people write it: 27.4M, 850k, 116. */
static const char *figure(char text[16], double v)
{
	if (v >= 99.95e6)
		snprintf(text, 16, "%.0fM", v / 1e6);
	else if (v >= 999.5e3)
		snprintf(text, 16, "%.3gM", v / 1e6);
	else if (v >= 99.95e3)
		snprintf(text, 16, "%.0fk", v / 1e3);
	else if (v >= 9995)
		snprintf(text, 16, "%.3gk", v / 1e3);
	else if (v >= 99.95)
		snprintf(text, 16, "%.0f", v);
	else
		snprintf(text, 16, "%.3g", v);
	return text;
}

static void markdown_heads(const struct cell_result *r, const struct options *o)
{
	const struct scenario *s = r->cell.scenario;
	const char *name = against_of(o, s);
	unsigned int columns = s->has_p99 ? 11 : 9;

	printf("\n### %s: %s (%s)\n\n| N | size | batch | groups | who | median | best "
	       "|%s",
	       s->name, s->what, s->unit, s->has_p99 ? " p99 | median : line |" : "");
	for (; name; columns++) {
		const char *comma = strchr(name, ',');

		printf(" : %.*s |", (int)(comma ? comma - name : (long)strlen(name)),
		       name);
		name = comma ? comma + 1 : NULL;
	}
	printf(" lost | line, reps |");
	if (o->count_calls) {
		printf(" sender calls/msg | receivers calls/msg | wakes/msg |");
		columns += 3;
	}
	printf("\n|");
	while (columns--)
		printf(" --- |");
	printf("\n");
}

static void markdown_cell_columns(const struct cell *c)
{
	printf("| %u | %zu | %u | ", c->receivers, c->size, c->batch);
	if (c->groups)
		printf("%u %s", c->groups, c->random_group ? "random" : "hot");
	printf(" | ");
}

static void markdown_row(const struct row *row, const struct options *o)
{
	const struct series *s = row->series;
	char a[16], b[16];

	markdown_cell_columns(&row->result->cell);
	printf("%s | %s | %s |", s->transport->name, figure(a, row->value.median),
	       figure(b, row->best));
	if (row->result->cell.scenario->has_p99)
		printf(" %s | %.3g |", figure(a, row->p99.median), row->lines);
	for (unsigned int i = 0; i < row->columns; i++) {
		if (row->against[i].given)
			printf(" %.3g (%.3g-%.3g; %.3g) |", row->against[i].ratio.median,
			       row->against[i].ratio.low, row->against[i].ratio.high,
			       row->against[i].bests);
		else
			printf(" |");
	}
	printf(" %lu | %.0f, %u-%u |", (unsigned long)s->lost, row->line.median,
	       row->result->kept, row->result->dropped);
	if (o->count_calls)
		printf(" %.4g | %.4g | %.4g |",
		       (double)s->sender_calls / (double)s->messages,
		       (double)s->receiver_calls / (double)s->messages,
		       (double)s->wakes / (double)s->messages);
	printf("%s\n", s->wrong ? " **WRONG**" : "");
}

static void csv_row(const struct row *row, const struct options *o)
{
	const struct cell *c = &row->result->cell;
	const struct series *s = row->series;

	printf("%s,%u,%zu,%u,%u,%s,%s,%s,%.4g,%.4g,%.4g,%.4g,", c->scenario->name,
	       c->receivers, c->size, c->batch, c->groups,
	       c->random_group ? "random" : "hot", s->transport->name, c->scenario->unit,
	       row->value.median, row->best, row->value.low, row->value.high);
	if (c->scenario->has_p99)
		printf("%.4g", row->p99.median);
	for (unsigned int i = 0; i < COLUMNS_MAX - 1; i++) {
		if (i < row->columns && row->against[i].given)
			printf(",%.4g,%.4g,%.4g,%.4g", row->against[i].ratio.median,
			       row->against[i].ratio.low, row->against[i].ratio.high,
			       row->against[i].bests);
		else
			printf(",,,,");
	}
	printf(",%lu,%lu,%lu,%u,%.1f,%u,%u,%lu,%lu,%lu\n", (unsigned long)s->messages,
	       (unsigned long)s->lost, (unsigned long)s->wrong, s->window,
	       row->line.median, row->result->kept, row->result->dropped,
	       (unsigned long)s->sender_calls, (unsigned long)s->receiver_calls,
	       (unsigned long)s->wakes);
}

static void json_ratios(const struct row *row)
{
	const char *separator = "";

	printf("\"ratios\": {");
	for (unsigned int i = 0; i < row->columns; i++) {
		const char *name = row->against[i].name;
		int len = (int)strcspn(name, ",");

		if (!row->against[i].given)
			continue;
		printf("%s\"%.*s\": {\"median\": %.4g, \"q1\": %.4g, \"q3\": %.4g, "
		       "\"bests\": %.4g}",
		       separator, len, name, row->against[i].ratio.median,
		       row->against[i].ratio.low, row->against[i].ratio.high,
		       row->against[i].bests);
		separator = ", ";
	}
	printf("}");
}

static void json_row(const struct row *row, const struct options *o)
{
	static bool further;
	const struct cell *c = &row->result->cell;
	const struct series *s = row->series;

	printf("%s\n  {\"scenario\": \"%s\", \"receivers\": %u, \"size\": %zu, "
	       "\"batch\": %u, "
	       "\"groups\": %u, \"random\": %s, \"who\": \"%s\", \"unit\": \"%s\", ",
	       further ? "," : "", c->scenario->name, c->receivers, c->size, c->batch,
	       c->groups, c->random_group ? "true" : "false", s->transport->name,
	       c->scenario->unit);
	printf("\"median\": %.4g, \"best\": %.4g, \"q1\": %.4g, \"q3\": %.4g, ",
	       row->value.median, row->best, row->value.low, row->value.high);
	if (c->scenario->has_p99)
		printf("\"p99\": %.4g, \"lines\": %.4g, ", row->p99.median, row->lines);
	json_ratios(row);
	printf(", \"messages\": %lu, \"lost\": %lu, \"wrong\": %lu, \"window\": %u, "
	       "\"line_ns\": %.1f, \"kept\": %u, \"dropped\": %u, \"sender_calls\": %lu, "
	       "\"receiver_calls\": %lu, \"wakes\": %lu}",
	       (unsigned long)s->messages, (unsigned long)s->lost,
	       (unsigned long)s->wrong, s->window, row->line.median, row->result->kept,
	       row->result->dropped, (unsigned long)s->sender_calls,
	       (unsigned long)s->receiver_calls, (unsigned long)s->wakes);
	further = true;
}

static void absent(const struct cell_result *r, const struct series *s,
		   enum report_form form)
{
	/* "Does not do this" is no news; the rest is said once a cell. */
	if (s->status == -EOPNOTSUPP)
		return;
	if (form != REPORT_MARKDOWN) {
		fprintf(stderr, "%s: %s: %s\n", r->cell.scenario->name,
			s->transport->name, status_text(s->status));
		return;
	}
	markdown_cell_columns(&r->cell);
	printf("%s | %s |\n", s->transport->name, status_text(s->status));
}

void report_begin(const struct options *o)
{
	struct machine m;

	machine_look(&m);
	switch (o->form) {
	case REPORT_MARKDOWN:
		printf("%s, %u CPUs; %s; %s; load %s; %s\n", m.cpu, m.cpus, m.kernel,
		       m.build, m.load, m.date);
		printf("%u repetitions of %g ms, window %u%s. A ratio is the median of "
		       "those of "
		       "the repetitions (quartiles; ratio of the bests).\n",
		       o->repetitions, o->ms, o->window, o->niced ? ", nice -20" : "");
		break;
	case REPORT_CSV:
		printf("scenario,receivers,size,batch,groups,group,who,unit,median,best,"
		       "q1,q3,p99,"
		       "ratio1,ratio1_q1,ratio1_q3,ratio1_bests,ratio2,ratio2_q1,ratio2_"
		       "q3,"
		       "ratio2_bests,ratio3,ratio3_q1,ratio3_q3,ratio3_bests,messages,"
		       "lost,wrong,"
		       "window,line_ns,kept,dropped,sender_calls,receiver_calls,wakes\n");
		break;
	case REPORT_JSON:
		printf("{\"cpu\": \"%s\", \"cpus\": %u, \"kernel\": \"%s\", \"build\": "
		       "\"%s\", "
		       "\"date\": \"%s\", \"load\": \"%s\", \"repetitions\": %u, \"ms\": "
		       "%g, "
		       "\"window\": %u, \"rows\": [",
		       m.cpu, m.cpus, m.kernel, m.build, m.date, m.load, o->repetitions,
		       o->ms, o->window);
		break;
	}
}

void report_cell(const struct cell_result *r, const struct options *o)
{
	static const struct scenario *current;

	if (o->form == REPORT_MARKDOWN && current != r->cell.scenario)
		markdown_heads(r, o);
	current = r->cell.scenario;
	if (r->status) {
		fprintf(stderr, "%s, N %u, %zu B, batch %u: %s\n", current->name,
			r->cell.receivers, r->cell.size, r->cell.batch,
			r->status == -ECHILD ? "a worker died" : strerror(-r->status));
		return;
	}
	for (unsigned int i = 0; i < r->contestants; i++) {
		struct row row;

		if (r->series[i].status || !r->kept) {
			absent(r, &r->series[i], o->form);
			continue;
		}
		row = make_row(r, i, o);
		if (o->form == REPORT_MARKDOWN)
			markdown_row(&row, o);
		else if (o->form == REPORT_CSV)
			csv_row(&row, o);
		else
			json_row(&row, o);
	}
	fflush(stdout);
}

void report_end(const struct options *o)
{
	if (o->form == REPORT_JSON)
		printf("\n]}\n");
}
