/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What verbcast's commands ask of a site (src/admin): one file a noun.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include "base/list.h"
#include "core/sa/ib_sa.h"
#include "uapi/server/server.h"

struct site;

/* What the commands keep from one to the next; part of the site. */
struct admin_site {
	struct list joins; /* of verbcast group (admin_group.c) */
	struct list ups;   /* of verbcast fabric up, while it waits (admin_fabric.c) */
	struct ib_sa_client sa_client;
};

void admin_site_init(struct admin_site *a);
/* While the nodes are there: leaves all groups. */
void admin_site_fini(struct admin_site *a);

/* Answers the call, at once or later. */
void admin_command(struct site *s, struct uapi_admin_call *call, int argc, char **argv);
/* Whoever has asked is gone. */
void admin_gone(struct site *s, struct uapi_admin_call *call);

#endif
