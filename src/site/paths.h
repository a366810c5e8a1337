/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the files of a site lie: docs/architecture.md, Processes.
 */
#ifndef SITE_PATHS_H
#define SITE_PATHS_H

#include <stdbool.h>

#define SITE_NAME_MAX   63 /* letters of a site's name */
#define SITE_PATH_MAX   256
#define SITE_SOCKET_MAX 108 /* of struct sockaddr_un, the end's zero included */

struct site_paths {
	char name[SITE_NAME_MAX + 1];
	char dir[SITE_PATH_MAX];
	char socket[SITE_SOCKET_MAX];
	char lock[SITE_PATH_MAX]; /* flock held by verbcastd for life; its process number */
	char start[SITE_PATH_MAX]; /* flock held by whoever starts verbcastd */
	char up[SITE_PATH_MAX];    /* flock held by `verbcast fabric up` */
	char sys[SITE_PATH_MAX];   /* synthetic /sys and /dev */
};

/* What is wrong with a site's name, or null. */
const char *site_name_problem(const char *name);

/* Fill `p` for the site called `name`. The runtime directory is made if `create`, and in
 * any case it must be a directory of ours that others cannot write to. -ENOENT: it does
 * not exist. Other errors are logged here. */
int site_paths_init(struct site_paths *p, const char *name, bool create);

#endif
