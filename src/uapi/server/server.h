/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's half of the control protocol: accepts clients, checks who they are and
 * every field they send, and translates requests into calls of the core. It is to the
 * core what uverbs, ucma and umad are to Linux.
 *
 * What a site is (its memory, slots, life) it does not know: the daemon hands it
 * `struct uapi_site_ops`.
 */
#ifndef UAPI_SERVER_SERVER_H
#define UAPI_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/cm/cma.h"
#include "core/verbs/ib_verbs.h"
#include "loop/loop.h"
#include "uapi/protocol/protocol.h"

struct ipoib;
struct uapi_server;
struct uapi_client;
struct uapi_admin_call; /* a command that waits for its answer */

/* What the daemon gives a process of the site. Descriptors stay the daemon's. */
struct uapi_process {
	uint32_t slot;
	uint32_t incarnation;
	int doorbell_fd;
	int counters_fd;
};

struct uapi_peer {
	uint32_t incarnation;
	bool dead;
	int doorbell_fd; /* -1: none; stays the daemon's */
	int log_fd;
	int process_fd; /* of the living alone, where the kernel has such */
};

struct uapi_site_ops {
	/* A process says hello. 0; -EUSERS: the site is full. */
	int (*process_open)(void *arg, struct ib_node *node, pid_t pid,
			    const char *program, struct uapi_process *ret);
	/* It is gone, and all its objects are destroyed. */
	void (*process_close)(void *arg, uint32_t slot);
	int (*map_peer)(void *arg, uint32_t asking_slot, uint32_t slot,
			struct uapi_peer *ret);
	/* Takes `fd` over on success. */
	int (*publish_log)(void *arg, uint32_t slot, int fd);
	int (*drained)(void *arg, uint32_t asking_slot, uint32_t slot,
		       uint32_t incarnation);
	/* A memory file with the state of the site as JSON. */
	int (*status)(void *arg, int *ret_fd, uint64_t *ret_bytes);
	/* A command in words, which live as long as the call of this; argv[argc] is null.
	 * It is answered by uapi_admin_answer, from in here or later. */
	void (*admin)(void *arg, struct uapi_admin_call *call, int argc, char **argv);
	/* Whoever has asked is gone: the call is not to be answered any more. */
	void (*admin_gone)(void *arg, struct uapi_admin_call *call);
	/* Reply first, then end. */
	void (*stop)(void *arg);
	/* Number of processes and leases changed: the daemon's linger timer. `ended_private`:
	 * the holder of a private site's lease is gone. */
	void (*presence)(void *arg, unsigned int clients, bool ended_private);
	struct ib_node *(*find_node)(void *arg,
				     const char *name); /* "": the first; null: none */
	/* What rdma_cm of a node stands on: its host and its InfiniBand interfaces, put into
	 * `config`. Null: the machine itself, and none. */
	void (*describe_cm)(void *arg, struct ib_node *node, struct cma_config *config);
	/* The node's InfiniBand interfaces, for its rdma_cm; null: it has none. They
	 * outlive the server. */
	const struct ipoib *(*ipoib)(void *arg, const struct ib_node *node);
	/* The file that a program has open while it is a subnet manager behind the device's
	 * port. Null: there are none. */
	int (*issm_path)(void *arg, const struct ib_device *device, char *path,
			 size_t size);
	const char *(*site_name)(void *arg);
	int (*tables_fd)(void *arg);
	uint64_t (*tables_bytes)(void *arg);
};

struct uapi_limits {
	unsigned int max_clients;            /* processes at once */
	unsigned int max_objects_per_client; /* handles of all kinds */
	unsigned int max_cm_ids_per_client;
	unsigned int max_joins_per_client;
	unsigned int hello_timeout_ms; /* for a caller that says nothing; 0: 10 s */
};

struct uapi_server_config {
	struct loop *loop;
	int listen_fd; /* bound, listening seqpacket socket; taken over */
	const struct uapi_site_ops *ops;
	void *arg;
	struct uapi_limits limits;
	uid_t uid;           /* who may connect: this user, root ... */
	gid_t gid;           /* ... and this group, if not (gid_t)-1 */
	bool ipv6_multicast; /* rdma_cm joins IPv6 groups on RoCE v2 (Linux does not) */
	uint32_t layout_version; /* SHM_LAYOUT_VERSION of the site's memory */
};

/* rdma_cm of a node as its clients have it, for who is no client but of the node, too: the
 * same ports. Each get has its put, in time before the node ends. */
int uapi_server_cm_get(struct uapi_server *server, struct ib_node *node,
		       struct cma **ret);
void uapi_server_cm_put(const struct ib_node *node);

int uapi_server_create(const struct uapi_server_config *config, struct uapi_server **ret);
/* Disconnects every client and destroys what they hold. */
void uapi_server_destroy(struct uapi_server *server);
/* Of whoever has asked. */
uid_t uapi_admin_uid(const struct uapi_admin_call *call);
/* There is a process, a lease or a call in hand besides those of the caller. */
bool uapi_server_has_others(const struct uapi_server *server,
			    const struct uapi_admin_call *call);
/* The end of a call: what verbcast is to exit with, and to print. */
void uapi_admin_answer(struct uapi_admin_call *call, int exit_status, const char *text);
/* Or: the site is about to end, and the next one is to be asked. */
void uapi_admin_put_off(struct uapi_admin_call *call);

#endif
