/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "admin/admin.h"
#include "hca/hca.h"
#include "site/start.h"
#include "uapi/server/server.h"

enum daemon_exit {
	DAEMON_EXIT_FAILED = 1,
	DAEMON_EXIT_USAGE = 2,
	DAEMON_EXIT_RUNNING = 3, /* another one runs on this site */
};

struct daemon_options {
	const char *site; /* null: "default", or what systemd's socket is called */
	bool foreground, background;
	bool stay;
	bool yields; /* to who wants another fabric, when nobody is there */
	bool is_private;
	bool help, version, list_limits;
	bool ipv6_multicast;
	const char *wires[SITE_WIRES_MAX]; /* interfaces to have devices for */
	unsigned int wire_count;
	struct admin_shape shape; /* of the fabric */
	char *topology;           /* the text of its file, if it is one; for good */
	size_t topology_bytes;
	char *partitions; /* likewise */
	size_t partitions_bytes;
	unsigned int linger_s;
	int ready_fd; /* -1: none */
	gid_t gid;    /* (gid_t)-1: nobody but our user and root */
	struct hca_limits hca;
	struct uapi_limits server;
};

/* 0; DAEMON_EXIT_USAGE, said on stderr. */
int daemon_options_parse(struct daemon_options *o, int argc, char **argv);
void daemon_options_print_help(void);
void daemon_options_print_limits(void);

#endif
