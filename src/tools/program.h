/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that `verbcast run` is to become: found as a shell does, and looked at for
 * what would keep our libraries out of it.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include <limits.h>

/* 0; EXIT_NOT_FOUND or EXIT_NOT_EXECUTABLE, said in the log. */
int program_find(const char *name, char path[PATH_MAX]);

/* A sentence's end about why it cannot be served, or null: "is statically linked". */
const char *program_obstacle(const char *path);

#endif
