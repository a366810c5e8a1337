/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/issm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "site/paths.h"

struct issm_file {
	struct list link;
	struct issm_files *all;
	unsigned int node;
	int writer;
	struct loop_io *end; /* while held: the last reader goes */
	char path[SITE_PATH_MAX + 32];
};

struct issm_files {
	struct issm_config config;
	char folder[SITE_PATH_MAX];
	int inotify; /* -1 until there is a file */
	struct loop_io *openings;
	struct list list;
};

/* -- who holds it -------------------------------------------------------------------- */

static bool is_held(const struct issm_file *f)
{
	struct pollfd p = { .fd = f->writer };

	return poll(&p, 1, 0) == 0 || !(p.revents & POLLERR);
}

static void released(void *arg, unsigned int events)
{
	struct issm_file *f = arg;
	const struct issm_config *c = &f->all->config;

	if (is_held(f))
		return;
	loop_io_destroy(f->end);
	f->end = NULL;
	c->changed(c->arg, f->node, false);
}

static void look(struct issm_file *f)
{
	const struct issm_config *c = &f->all->config;
	int r;

	if (f->end || !is_held(f))
		return;
	/* An error is always told: there is nothing to read at this end. */
	r = loop_io_create(c->loop, f->writer, LOOP_READ, released, f, &f->end);
	if (r < 0)
		log_error("cannot watch %s: %s", f->path, strerror(-r));
	else
		c->changed(c->arg, f->node, true);
}

/* What is told may stand for several openings, or be lost; so each file is looked at. */
static void opened(void *arg, unsigned int events)
{
	struct issm_files *files = arg;
	char buffer[4096];

	while (read(files->inotify, buffer, sizeof(buffer)) > 0)
		;
	list_for_each(l, &files->list)
		look(container_of(l, struct issm_file, link));
}

/* -- the files ----------------------------------------------------------------------- */

static int watch(struct issm_files *files)
{
	int r;

	if (files->inotify >= 0)
		return 0;
	files->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (files->inotify < 0)
		return -errno;
	r = loop_io_create(files->config.loop, files->inotify, LOOP_READ, opened, files,
			   &files->openings);
	if (r < 0) {
		close(files->inotify);
		files->inotify = -1;
	}
	return r;
}

/* A FIFO has a writer only where it has a reader: for a moment we are both. Before it is
 * watched, or that would be an opening. */
static int open_writer(const char *path)
{
	int both = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int fd = both < 0 ? -1
			  : open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd;

	if (both >= 0)
		close(both);
	return r;
}

static int make(struct issm_file *f)
{
	const char *folder = f->all->folder;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	/* Of a site before us: who has it open is a manager of that one. */
	if (unlink(f->path) < 0 && errno != ENOENT)
		return -errno;
	if (mkfifo(f->path, 0600) < 0)
		return -errno;
	f->writer = open_writer(f->path);
	if (f->writer < 0)
		return f->writer;
	if (inotify_add_watch(f->all->inotify, f->path, IN_OPEN) < 0)
		return -errno;
	return 0;
}

static void discard(struct issm_file *f)
{
	if (f->end)
		loop_io_destroy(f->end);
	if (f->writer >= 0)
		close(f->writer);
	unlink(f->path);
	free(f);
}

static int create(struct issm_files *files, unsigned int node, struct issm_file **ret)
{
	struct issm_file *f;
	int r = watch(files);

	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->all = files;
	f->node = node;
	f->writer = -1;
	snprintf(f->path, sizeof(f->path), "%s/issm%u", files->folder, node);
	r = make(f);
	if (r < 0) {
		log_error("cannot make %s: %s", f->path, strerror(-r));
		discard(f);
		return r;
	}
	list_append(&files->list, &f->link);
	*ret = f;
	return 0;
}

static struct issm_file *find(struct issm_files *files, unsigned int node)
{
	list_for_each(l, &files->list) {
		struct issm_file *f = container_of(l, struct issm_file, link);

		if (f->node == node)
			return f;
	}
	return NULL;
}

int issm_files_path(struct issm_files *files, unsigned int node, char *path, size_t size)
{
	struct issm_file *f = find(files, node);
	int r = f ? 0 : create(files, node, &f);

	if (r < 0)
		return r;
	if (strlen(f->path) >= size)
		return -ENAMETOOLONG;
	memcpy(path, f->path, strlen(f->path) + 1);
	return 0;
}

/* -- life ---------------------------------------------------------------------------- */

int issm_files_create(const struct issm_config *config, struct issm_files **ret)
{
	struct issm_files *files;

	if (strlen(config->folder) >= sizeof(files->folder))
		return -ENAMETOOLONG;
	files = calloc(1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	files->config = *config;
	memcpy(files->folder, config->folder, strlen(config->folder) + 1);
	files->config.folder = files->folder;
	files->inotify = -1;
	list_init(&files->list);
	*ret = files;
	return 0;
}

void issm_files_destroy(struct issm_files *files)
{
	if (!files)
		return;
	while (!list_empty(&files->list)) {
		struct list *l = files->list.next;

		list_remove(l);
		discard(container_of(l, struct issm_file, link));
	}
	if (files->openings)
		loop_io_destroy(files->openings);
	if (files->inotify >= 0)
		close(files->inotify);
	free(files);
}
