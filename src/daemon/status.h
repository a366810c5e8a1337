/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a site as JSON; verbcast(1) describes the fields.
 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include <stdint.h>

struct site;

/* Text to be freed, or null without memory. */
char *status_json(struct site *s);
/* The same in a memory file. */
int status_file(struct site *s, int *ret_fd, uint64_t *ret_bytes);

#endif
