/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where our own files lie, found from where this program lies, so that the build tree,
 * any prefix and a moved prefix all work:
 *
 *   build tree     bin/verbcast  bin/verbcastd   lib/verbcast/
 *   installation   bin/verbcast  sbin/verbcastd  lib/verbcast/ (as GNUInstallDirs says)
 */
#ifndef SITE_INSTALL_H
#define SITE_INSTALL_H

#include "site/paths.h"

/* 0, or -ENOENT after logging what was looked for. */
int site_install_find_daemon(char path[SITE_PATH_MAX * 2]);
int site_install_find_libraries(char path[SITE_PATH_MAX * 2]);

#endif
