/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transport: one way to bring a message from one process to several.
 *
 * Worker 0 sends forward, all others hear it; they answer backward, to worker 0. Every
 * worker opens one endpoint a transport, after the fork, so no transport inherits
 * anything but `shared`. Endpoints stay open while other transports are measured: what
 * costs when idle shows in everybody's numbers, as it would for a user.
 *
 * To add one: a file here, a line in transports.c.
 */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/message.h"

struct endpoint_config {
	unsigned int worker;
	unsigned int receivers;
	size_t size;
	unsigned int batch;  /* messages a send call */
	unsigned int depth;  /* receive buffers to post, where a transport posts them */
	unsigned int groups; /* joined by all together, the backward one included */
	bool random_group;   /* send each message to another one, not always the first */
	bool sleeps;         /* receivers block in `wait` instead of polling */
	uint32_t run;        /* tells runs apart: addresses, ports, names */
	void *shared;        /* shared_bytes() of zeroed memory, one for all workers */
	const char *device;  /* RDMA device, null: the first */
	bool ip_join;        /* join groups at the IP layer, too (Soft-RoCE needs it) */
};

struct endpoint {
	struct endpoint_config config;
	const struct transport *transport;
	unsigned int capacity; /* messages that may be under way to one receiver */
	unsigned int errors;   /* calls that failed; they count as wrong */
};

struct transport {
	const char *name;
	const char *what;
	bool lossless; /* a lost message is an error, not a figure */
	/* Memory that all workers see; may be null. */
	size_t (*shared_bytes)(const struct endpoint_config *config);
	/* 0 or negative errno: not to be had on this machine, left out with a remark. */
	int (*open)(const struct endpoint_config *config, struct endpoint **ret);
	/* After every worker has opened its own; may be null. */
	int (*connect)(struct endpoint *e);
	/* config.batch messages, words `word`, `word` + 1, ... May wait for room. */
	void (*send)(struct endpoint *e, uint64_t word);
	/* Take what is there, at most BUFFERS_POLL messages, without waiting. */
	unsigned int (*receive)(struct endpoint *e, struct inbox *in);
	/* With config.sleeps: sleep until there may be something to receive. */
	void (*wait)(struct endpoint *e);
	void (*close)(struct endpoint *e);
};

extern const struct transport transport_verbs;
extern const struct transport transport_verbs_poll;
extern const struct transport transport_ring;
extern const struct transport transport_mcast;
extern const struct transport transport_mcgso;
extern const struct transport transport_zmq;

extern const struct transport transport_attach;
extern const struct transport transport_seqpacket;

/* Null-terminated: who carries messages, and who attaches (scenario attach). */
extern const struct transport *const transports[];
extern const struct transport *const transports_attach[];
#define TRANSPORTS_MAX 8u

const struct transport *transport_find(const struct transport *const *table,
				       const char *name, size_t length);

#endif
