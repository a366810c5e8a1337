/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A site put together: its memory, fabric, nodes and devices, the processes and their
 * history, and the server that lets clients in. One a daemon.
 */
#ifndef DAEMON_SITE_H
#define DAEMON_SITE_H

#include "base/random.h"
#include "daemon/admin.h"
#include "daemon/devices.h"
#include "daemon/fault_rules.h"
#include "daemon/history.h"
#include "daemon/issm.h"
#include "daemon/modules.h"
#include "daemon/nodes.h"
#include "daemon/options.h"
#include "daemon/site_fabric.h"
#include "daemon/slots.h"
#include "daemon/timers.h"
#include "daemon/traffic.h"
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
	struct timers *timers;
	struct random random;
	struct hca_site *hca;
	struct site_fabric *fabric; /* null: the site has none */
	struct nodes *nodes;
	struct issm_files *issm;
	struct devices *devices; /* of the first node, which is the machine */
	struct loop_timer *tree_timer;
	bool stay;
	unsigned int clients; /* processes and leases */
	struct admin_site admin;
	struct modules *modules;
	struct slots *slots;
	struct traffic *traffic;
	struct history history;
	struct fault_rules faults;
	struct uapi_server *server;
};

/* `listen_fd` is taken over, on failure too. */
int site_create(const struct daemon_options *options, const struct site_paths *paths,
		int listen_fd, struct site **ret);
/* A process takes its slot, and gives it back (daemon/slots.h). */
int site_process_open(struct site *s, struct ib_node *node, pid_t pid,
		      const char *program, struct uapi_process *ret);
void site_process_close(struct site *s, uint32_t slot);
int site_run(struct site *s);
void site_destroy(struct site *s);
/* Until somebody stops it. */
void site_stay(struct site *s);
/* Ends for `call`, which wants another site, if it may and there is nobody else; who is
 * hung up on by that starts one himself. False: it goes on. */
bool site_yield(struct site *s, struct uapi_admin_call *call);
/* The last of the modules is gone: the site ends if that was waited for. */
void site_idle(struct site *s);
/* RoCE devices, removed ones too, then those of the fabric. */
void site_each_device(const struct site *s,
		      void (*fn)(void *arg, struct hca_device *device), void *arg);

#endif
