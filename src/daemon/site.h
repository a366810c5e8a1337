/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site put together: its memory, node and devices, the processes and their history,
 * and the server that lets clients in. One a daemon.
 */
#ifndef DAEMON_SITE_H
#define DAEMON_SITE_H

#include "daemon/devices.h"
#include "daemon/history.h"
#include "daemon/options.h"
#include "daemon/slots.h"
#include "hca/hca.h"
#include "loop/loop.h"
#include "site/paths.h"

struct site {
	const struct daemon_options *options;
	const struct site_paths *paths;
	struct loop *loop;
	struct loop_timer *end_timer; /* linger, or the stop that was asked for */
	bool ending;
	int tables_fd;
	struct shm_tables *tables;
	struct hca_site *hca;
	struct ib_node *node;
	struct devices *devices;
	struct slots *slots;
	struct history history;
	struct uapi_server *server;
};

/* `listen_fd` is taken over, on failure too. */
int site_create(const struct daemon_options *options, const struct site_paths *paths,
		int listen_fd, struct site **ret);
int site_run(struct site *s);
void site_destroy(struct site *s);

#endif
