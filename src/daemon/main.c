/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcastd: what is outside of a site. Its life in order: leave the starter's world,
 * fork the janitor, take the site's lock, listen, say that it is ready, serve, clean up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/janitor.h"
#include "daemon/listen.h"
#include "daemon/options.h"
#include "daemon/process.h"
#include "daemon/site.h"
#include "site/start.h"

struct daemon {
	struct daemon_options options;
	struct site_paths paths;
	struct janitor janitor;
	int passed_fd; /* systemd's socket; -1: we make one */
	int report_fd; /* to the process that we left behind; -1 */
	int lock_fd;
};

static void tell(int *fd, const char *word)
{
	if (*fd < 0)
		return;
	if (write(*fd, word, strlen(word)) < 0)
		log_debug("nobody wants to know: %s", strerror(errno));
	close(*fd);
	*fd = -1;
}

static void report(struct daemon *d, const char *word)
{
	tell(&d->options.ready_fd, word);
	tell(&d->report_fd, word);
}

/* Show what was asked for; true: that was all. */
static bool only_show(const struct daemon_options *o)
{
	if (o->help)
		daemon_options_print_help();
	else if (o->version)
		printf("verbcastd %s\n", VERBCAST_VERSION);
	else if (o->list_limits)
		daemon_options_print_limits();
	return o->help || o->version || o->list_limits;
}

/* Site and paths; the name may come from systemd's socket. */
static int find_site(struct daemon *d, int passed)
{
	static char name[SITE_NAME_MAX + 1];

	d->passed_fd = passed ? listen_check_passed(name) : -1;
	if (passed && d->passed_fd < 0)
		return d->passed_fd;
	/* The next one systemd would start, and as this one. */
	if (passed)
		d->options.yields = false;
	if (!d->options.site)
		d->options.site = name[0] ? name : "default";
	return site_paths_init(&d->paths, d->options.site, true);
}

static int serve(struct daemon *d)
{
	int fd = d->passed_fd, r;
	struct site *site;

	if (fd < 0) {
		r = listen_open(&d->paths, d->options.gid, &fd);
		if (r < 0)
			return r;
	}
	r = site_create(&d->options, &d->paths, fd, &site);
	if (r < 0)
		return r;
	log_info("serving site %s at %s", d->paths.name, d->paths.socket);
	report(d, SITE_READY);
	if (d->options.background)
		process_drop_stdio(false);
	r = site_run(site);
	/* First the name, so that who comes now finds nobody and starts another. */
	if (d->passed_fd < 0)
		unlink(d->paths.socket);
	site_destroy(site);
	return r;
}

/* Under the janitor's eyes. */
static int live(struct daemon *d)
{
	int r;

	r = listen_lock(&d->paths, &d->lock_fd);
	if (r == -EALREADY)
		report(d, SITE_RUNNING);
	if (r < 0)
		return r;
	r = serve(d);
	janitor_clean(&d->paths, d->passed_fd >= 0);
	return r;
}

static int start(struct daemon *d)
{
	int passed = listen_passed(), r;

	if (passed < 0)
		return passed;
	process_close_inherited(d->options.ready_fd, passed);
	r = find_site(d, passed);
	if (!r && d->options.background)
		r = process_background(&d->report_fd);
	if (r < 0)
		return r;
	r = janitor_start(&d->janitor, &d->paths, d->passed_fd >= 0);
	if (r < 0) {
		log_error("cannot fork: %s", strerror(-r));
		return r;
	}
	process_settle();
	r = live(d);
	janitor_dismiss(&d->janitor);
	return r;
}

int main(int argc, char **argv)
{
	struct daemon d = { .report_fd = -1, .lock_fd = -1 };
	int r;

	log_open("verbcastd", LOG_LEVEL_WARNING);
	log_never_wait();
	r = daemon_options_parse(&d.options, argc, argv);
	if (r)
		return r;
	if (only_show(&d.options))
		return 0;
	r = start(&d);
	return r == -EALREADY ? DAEMON_EXIT_RUNNING : r < 0 ? DAEMON_EXIT_FAILED : 0;
}
