/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast fabric, sa, group and fault: words for the site's verbcastd, whose grammar both sides
 * share (src/admin). What is wrong with them is said here, before anybody is asked.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/admin.h"
#include "base/log.h"
#include "site/link.h"
#include "site/lock.h"
#include "site/start.h"
#include "tools/command.h"

#define WORDS_MAX ADMIN_WORDS_MAX
#define SITES_MAX 16

#define OTHERS_WITHIN_MS 90000u /* they wait for a subnet manager, at most a minute */

static const char *site = "default";

/* -- help --------------------------------------------------------------------------- */

static void print_verbs(const char *noun, FILE *out)
{
	for (const struct admin_verb *v = admin_verbs; v->noun; v++) {
		if (strcmp(v->noun, noun) != 0)
			continue;
		fprintf(out, "\n  verbcast %s %s [--site NAME]%s%s\n\t%s.\n", noun,
			v->verb, *v->synopsis ? " " : "", v->synopsis, v->summary);
		options_print(v->options, out);
	}
}

static void fabric_help(FILE *out)
{
	print_verbs("fabric", out);
}

static void sa_help(FILE *out)
{
	print_verbs("sa", out);
}

static void group_help(FILE *out)
{
	print_verbs("group", out);
}

static void fault_help(FILE *out)
{
	print_verbs("fault", out);
}

static bool asks_for_help(const char *word)
{
	return word && (!strcmp(word, "--help") || !strcmp(word, "-h"));
}

/* -- words -------------------------------------------------------------------------- */

int admin_take_site(int argc, char **argv, char **words, char *error)
{
	int n = 0;

	for (int i = 0; i < argc; i++) {
		bool alone = !strcmp(argv[i], "--site");

		if (alone && !argv[i + 1]) {
			snprintf(error, OPTIONS_ERROR_MAX,
				 "--site needs a value: --site NAME");
			return -EINVAL;
		}
		if (alone)
			site = argv[++i];
		else if (!strncmp(argv[i], "--site=", 7))
			site = argv[i] + 7;
		else if (n < WORDS_MAX)
			words[n++] = argv[i];
	}
	words[n] = NULL;
	if (!site_name_problem(site))
		return n;
	snprintf(error, OPTIONS_ERROR_MAX, "'%.80s' cannot be a site's name: %s", site,
		 site_name_problem(site));
	return -EINVAL;
}

/* -- asking ------------------------------------------------------------------------- */

static int say(int exit_status, const char *text)
{
	if (exit_status)
		log_error("%s", text);
	else
		fputs(text, stdout);
	return fflush(stdout) ? EXIT_NO_SITE : exit_status;
}

/* 0: answered, and *ret_status is what to exit with. */
static int ask(struct site_link *l, int argc, char **argv, int *ret_status)
{
	int exit_status, r;
	char *text;

	r = site_link_admin(l, argc, (const char *const *)argv, &exit_status, &text);
	if (r < 0)
		return r;
	*ret_status = say(exit_status, text);
	free(text);
	return 0;
}

static int explain(int error)
{
	log_error("site %s: %s", site,
		  site_link_nobody(error) ? "verbcastd has ended" : strerror(-error));
	return EXIT_NO_SITE;
}

int admin_ask(int argc, char **argv)
{
	struct site_paths p;
	struct site_link l;
	int status, r;

	r = site_paths_init(&p, site, false);
	if (r < 0 && r != -ENOENT)
		return EXIT_NO_SITE;
	if (!r)
		r = site_link_open(&l, &p, "");
	if (site_link_nobody(r)) {
		log_error("no verbcastd runs on site %s", site);
		return EXIT_NO_SITE;
	}
	if (r < 0) {
		site_link_explain(&l, &p, "", r);
		return EXIT_NO_SITE;
	}
	r = ask(&l, argc, argv, &status);
	site_link_close(&l);
	return r < 0 ? explain(r) : status;
}

/* -- fabric up ---------------------------------------------------------------------- */

/* verbcastd has another working directory. A fabric is known by the names of its files, so
 * what has one text today and another one tomorrow, as a pipe has, is none. */
static int find_file(const char **file, char path[PATH_MAX])
{
	struct stat st;

	if (!*file)
		return 0;
	if (!stat(*file, &st) && !S_ISREG(st.st_mode)) {
		log_error("%s: it is no regular file", *file);
		return -EINVAL;
	}
	if (!realpath(*file, path)) {
		log_error("%s: %s", *file, strerror(errno));
		return -errno;
	}
	*file = path;
	return 0;
}

/* One that nobody uses ends when it is asked for another fabric (-EAGAIN). The next may be
 * somebody else's again, who is gone again. */
static int reach_and_ask(const struct site_start *how, int argc, char **argv)
{
	int status, r = -EAGAIN;
	struct site_link l;

	for (int i = 0; r == -EAGAIN && i < SITES_MAX; i++) {
		if (site_start(how, &l) < 0)
			return EXIT_NO_SITE;
		r = ask(&l, argc, argv, &status);
		site_link_close(&l);
	}
	return r < 0 ? explain(r) : status;
}

/* One after the other: of two at once each would be why the site does not end for the
 * other. Who cannot wait any longer tries it beside him. */
static int ask_alone(const struct site_start *how, int argc, char **argv)
{
	int lock, status;

	if (site_lock_wait(how->paths->up, true, OTHERS_WITHIN_MS, &lock) < 0)
		return reach_and_ask(how, argc, argv);
	status = reach_and_ask(how, argc, argv);
	unlink(how->paths->up);
	close(lock);
	return status;
}

/* A site that is there is asked whether it has this fabric, and kept. */
static int fabric_up(struct admin_shape *shape)
{
	const char *options[1 + ADMIN_SHAPE_WORDS + 1] = { "--stay" };
	char *words[2 + ADMIN_SHAPE_WORDS + 1] = { (char *)"fabric", (char *)"up" };
	struct admin_shape_text text;
	char path[PATH_MAX], partitions[PATH_MAX];
	struct site_paths p;
	int n;

	if (find_file(&shape->file, path) < 0 ||
	    find_file(&shape->partitions, partitions) < 0)
		return EXIT_NO_SITE;
	n = admin_shape_words(shape, &text);
	for (int i = 0; i < n; i++) {
		options[1 + i] = text.words[i];
		words[2 + i] = (char *)(uintptr_t)text.words[i];
	}
	if (site_paths_init(&p, site, true) < 0)
		return EXIT_NO_SITE;
	return ask_alone(
		&(struct site_start){ .paths = &p, .node = "", .options = options },
		2 + n, words);
}

/* -- commands ----------------------------------------------------------------------- */

static int admin_main(const struct command *c, int argc, char **argv)
{
	char *words[WORDS_MAX + 1], error[OPTIONS_ERROR_MAX];
	struct admin_request request;
	const struct admin_verb *v;
	int n;

	n = admin_take_site(argc, argv, words, error);
	if (n < 0)
		return command_misuse(c, "%s", error);
	v = n > 1 ? admin_find_verb(words[0], words[1]) : NULL;
	if (v && asks_for_help(words[2])) {
		printf("usage: verbcast %s %s [--site NAME]%s%s\n\n%s.\n", v->noun,
		       v->verb, *v->synopsis ? " " : "", v->synopsis, v->summary);
		options_print(v->options, stdout);
		return 0;
	}
	if (admin_parse(n, words, &request, error) < 0) {
		if (!v)
			return command_misuse(c, "%s", error);
		fprintf(stderr, "verbcast %s %s: %s\nusage: verbcast %s %s%s%s\n",
			v->noun, v->verb, error, v->noun, v->verb,
			*v->synopsis ? " " : "", v->synopsis);
		return EXIT_USAGE;
	}
	if (request.command == ADMIN_FABRIC_UP)
		return fabric_up(&request.shape);
	return admin_ask(n, words);
}

static int fabric_main(int argc, char **argv)
{
	return admin_main(&fabric_command, argc, argv);
}

static int sa_main(int argc, char **argv)
{
	return admin_main(&sa_command, argc, argv);
}

static int group_main(int argc, char **argv)
{
	return admin_main(&group_command, argc, argv);
}

static int fault_main(int argc, char **argv)
{
	return admin_main(&fault_command, argc, argv);
}

static const struct option_spec no_options[] = { { .name = NULL } };

const struct command fabric_command = {
	.name = "fabric",
	.synopsis = "up|show|sm|link|node|loss ...",
	.summary = "Build a fabric of many nodes, look at it, break it and mend it",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = fabric_main,
	.help = fabric_help,
};

const struct command sa_command = {
	.name = "sa",
	.synopsis = "drop|delay|busy|error|clear ...",
	.summary = "Let the subnet administrator fail, as long as it is wanted",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = sa_main,
	.help = sa_help,
};

const struct command group_command = {
	.name = "group",
	.synopsis = "list|create|join|leave ...",
	.summary = "Multicast groups of the fabric, without rdma_cm: MGID in, MLID out",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = group_main,
	.help = group_help,
};

const struct command fault_command = {
	.name = "fault",
	.synopsis = "add|list|clear ...",
	.summary = "Lose, double, delay, reorder or break datagrams, to test programs",
	.options = no_options,
	.usage_status = EXIT_USAGE,
	.main = fault_main,
	.help = fault_help,
};
