/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What verbcast's commands ask of a site (src/admin): one file a noun.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include "uapi/server/server.h"

struct site;

/* Answers the call, at once or later. */
void admin_command(struct site *s, struct uapi_admin_call *call, int argc, char **argv);
/* Whoever has asked is gone. */
void admin_gone(struct site *s, struct uapi_admin_call *call);

#endif
