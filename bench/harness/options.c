/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/message.h"
#include "harness/rounds.h"
#include "scenario/scenario.h"

enum long_only {
	OPT_CSV = 256,
	OPT_JSON,
	OPT_SHORT,
	OPT_IP_JOIN,
	OPT_COUNT_CALLS,
	OPT_MAX_CALLS,
	OPT_KEEP_ALL,
	OPT_THOROUGH,
};

/* One table for the parser and the help. */
static const struct {
	struct option option;
	const char *value;
	const char *text;
} table[] = {
	{ { "transports", required_argument, NULL, 't' }, "NAME,...", "only these" },
	{ { "against", required_argument, NULL, 'a' },
	  "NAME,...",
	  "ratios to these, three at most (ring,mcast,mcgso)" },
	{ { "sizes", required_argument, NULL, 's' }, "BYTES,...", "64,1024,4096" },
	{ { "receivers", required_argument, NULL, 'n' }, "N,...", "1,2,4,8" },
	{ { "batches", required_argument, NULL, 'b' },
	  "N,...",
	  "messages a send call: 1,32" },
	{ { "groups", required_argument, NULL, 'g' },
	  "N,...",
	  "groups joined: 1,...,100000" },
	{ { "repetitions", required_argument, NULL, 'r' }, "N", "11" },
	{ { "ms", required_argument, NULL, 'm' }, "MS", "a contestant a repetition: 50" },
	{ { "window", required_argument, NULL, 'w' }, "N", "messages under way: 512" },
	{ { "depth", required_argument, NULL, 'd' },
	  "N",
	  "receive buffers (as many as 256 KiB hold)" },
	{ { "device", required_argument, NULL, 'D' }, "NAME", "RDMA device (the first)" },
	{ { "ip-join", no_argument, NULL, OPT_IP_JOIN },
	  "",
	  "join groups at the IP layer, too (Soft-RoCE)" },
	{ { "count-calls", no_argument, NULL, OPT_COUNT_CALLS },
	  "",
	  "count system calls and wakes; times mean nothing" },
	{ { "max-calls", required_argument, NULL, OPT_MAX_CALLS },
	  "X",
	  "fail above so many a message" },
	{ { "keep-all", no_argument, NULL, OPT_KEEP_ALL },
	  "",
	  "keep repetitions in which the line time changed" },
	{ { "thorough", no_argument, NULL, OPT_THOROUGH }, "", "compare every byte" },
	{ { "short", no_argument, NULL, OPT_SHORT },
	  "",
	  "a few seconds, thorough; no figures" },
	{ { "csv", no_argument, NULL, OPT_CSV }, "", "" },
	{ { "json", no_argument, NULL, OPT_JSON }, "", "" },
	{ { "help", no_argument, NULL, 'h' }, "", "" },
};
#define OPTIONS (sizeof(table) / sizeof(table[0]))

static int help(void)
{
	printf("usage: verbcast-bench [OPTION]... [SCENARIO]...\n\nScenarios:\n");
	for (const struct scenario *const *s = scenarios; *s; s++)
		printf("  %-10s %s\n", (*s)->name, (*s)->what);
	printf("\nTransports:\n");
	for (const struct transport *const *t = transports; *t; t++)
		printf("  %-10s %s\n", (*t)->name, (*t)->what);
	printf("\nOptions:\n");
	for (size_t i = 0; i < OPTIONS; i++)
		printf("  --%-11s %-9s %s\n", table[i].option.name, table[i].value,
		       table[i].text);
	printf("\nWithout SCENARIO: pingpong and stream. Exit status 1: a message was "
	       "wrong or "
	       "lost.\n");
	return 1;
}

static int wrong(const char *what, const char *value)
{
	fprintf(stderr, "verbcast-bench: %s '%s'\n", what, value);
	return 3;
}

static int parse_list(struct number_list *list, const char *text, unsigned long least,
		      unsigned long most)
{
	const char *at = text;
	char *end;

	for (list->count = 0; list->count < LIST_MAX; at = end + 1) {
		unsigned long v = strtoul(at, &end, 10);

		if (end == at || v < least || v > most || (*end && *end != ','))
			break;
		list->values[list->count++] = v;
		if (!*end)
			return 0;
	}
	return wrong("not a list of numbers in range:", text);
}

static int parse_one(unsigned int *ret, const char *text, unsigned long least,
		     unsigned long most)
{
	struct number_list list;
	int r = parse_list(&list, text, least, most);

	if (!r && list.count != 1)
		r = wrong("one number, not", text);
	if (!r)
		*ret = (unsigned int)list.values[0];
	return r;
}

static int parse_decimal(double *ret, const char *text, double least)
{
	char *end;

	*ret = strtod(text, &end);
	return end == text || *end || *ret < least ? wrong("not a number in range:", text)
						   : 0;
}

static int check_names(const char *list)
{
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ",");

		if (!transport_find(transports, at, len) &&
		    !transport_find(transports_attach, at, len))
			return wrong("no such transport in this build:", at);
		at += len + (at[len] == ',');
	}
	return 0;
}

static int add_scenario(struct options *o, const char *name)
{
	unsigned int n = 0;

	while (o->scenarios[n])
		n++;
	for (const struct scenario *const *s = scenarios; *s && n + 1 < LIST_MAX; s++) {
		if (strcmp((*s)->name, name))
			continue;
		o->scenarios[n] = *s;
		return 0;
	}
	return wrong("no such scenario:", name);
}

/* Fails only on wrong results: nothing in it depends on time. */
static void make_short(struct options *o)
{
	o->sizes = (struct number_list){ { 64, 4096 }, 2 };
	o->receivers = (struct number_list){ { 1, 3 }, 2 };
	o->groups = (struct number_list){ { 1, 100 }, 2 };
	o->repetitions = 3;
	o->ms = 3;
	o->thorough = true;
	o->keep_all = true;
}

static int apply(struct options *o, int opt, const char *value)
{
	switch (opt) {
	case 't':
		o->transports = value;
		return check_names(value);
	case 'a':
		o->against = value;
		return check_names(value);
	case 's':
		return parse_list(&o->sizes, value, MESSAGE_BYTES, MESSAGE_MTU);
	case 'n':
		return parse_list(&o->receivers, value, 1, WORKERS_MAX - 1);
	case 'b':
		return parse_list(&o->batches, value, 1, 32);
	case 'g':
		return parse_list(&o->groups, value, 1, 131072);
	case 'r':
		return parse_one(&o->repetitions, value, 1, REPETITIONS_MAX - 1);
	case 'm':
		return parse_decimal(&o->ms, value, 0.01);
	case 'w':
		return parse_one(&o->window, value, 1, 1u << 20);
	case 'd':
		return parse_one(&o->depth, value, 32, 1u << 15);
	case 'D':
		o->device = value;
		return 0;
	case OPT_IP_JOIN:
		o->ip_join = true;
		return 0;
	case OPT_COUNT_CALLS:
		o->count_calls = true;
		o->keep_all = true;
		return 0;
	case OPT_MAX_CALLS:
		return parse_decimal(&o->max_calls, value, 0);
	case OPT_KEEP_ALL:
		o->keep_all = true;
		return 0;
	case OPT_THOROUGH:
		o->thorough = true;
		return 0;
	case OPT_SHORT:
		make_short(o);
		return 0;
	case OPT_CSV:
		o->form = REPORT_CSV;
		return 0;
	case OPT_JSON:
		o->form = REPORT_JSON;
		return 0;
	case 'h':
		return help();
	default:
		return 3;
	}
}

int options_parse(struct options *o, int argc, char **argv)
{
	struct option longs[OPTIONS + 1] = { { 0 } };
	int opt, r = 0;

	*o = (struct options){
		.sizes = { { 64, 1024, 4096 }, 3 },
		.receivers = { { 1, 2, 4, 8 }, 4 },
		.batches = { { 1, 32 }, 2 },
		.groups = { { 1, 100, 1000, 10000, 100000 }, 5 },
		.repetitions = 11,
		.ms = 50,
		.window = 512,
		.max_calls = -1,
	};
	for (size_t i = 0; i < OPTIONS; i++)
		longs[i] = table[i].option;
	while (!r && (opt = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		r = apply(o, opt, optarg);
	for (; !r && optind < argc; optind++)
		r = add_scenario(o, argv[optind]);
	if (!r && !o->scenarios[0]) {
		o->scenarios[0] = &scenario_pingpong;
		o->scenarios[1] = &scenario_stream;
	}
	return r;
}
