/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files by which a program says that it is a subnet manager: what umad_get_issm_path
 * names, one a node, for as long as somebody has it open (spec/userland 4.1, spec/sa-sm 8).
 *
 * Each is a FIFO, which anybody opens with libc alone and which the end of a process
 * closes. We keep a writing end: that it has no reader is what the kernel says of a file
 * that nobody holds, whatever was opened, inherited or killed meanwhile. News of that is
 * the writing end's error; of an opening, inotify's.
 *
 * Made when first asked for: a site of many nodes has few of them.
 */
#ifndef DAEMON_ISSM_H
#define DAEMON_ISSM_H

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"

struct issm_files;

/* `folder` (copied) is made when it is needed. `changed` comes from the loop. */
struct issm_config {
	struct loop *loop;
	const char *folder;
	void (*changed)(void *arg, unsigned int node, bool held);
	void *arg;
};

int issm_files_create(const struct issm_config *config, struct issm_files **ret);
/* Takes the files away; holders are not told. Null: nothing. */
void issm_files_destroy(struct issm_files *files);

/* The node's file, watched from here on. 0, -ENAMETOOLONG, or what the system says. */
int issm_files_path(struct issm_files *files, unsigned int node, char *path, size_t size);

#endif
