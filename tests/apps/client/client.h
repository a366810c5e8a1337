/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What client programs of tests/apps share: the first device, a UD queue pair with
 * numbered buffers, groups by their text, and what a process holds. Written against the
 * public API alone; a program wants it by the line "links: apps_client".
 */
#ifndef APPS_CLIENT_H
#define APPS_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "check.h"

#define CLIENT_QKEY    0x11111111
#define CLIENT_GRH     40
#define CLIENT_BYTES   64 /* of a message, unless said otherwise */
#define CLIENT_MLID    0xfff0
#define CLIENT_LONG_MS 60000 /* reached only by a failure */

/* `check` unless VERBCAST_SCALE is "soak"; a tenth of `soak` under a sanitizer. */
unsigned int client_count(unsigned int check, unsigned int soak);
/* Whether this program, and so the libraries under test, run with a sanitizer. */
bool client_sanitized(void);

uint64_t client_now_ms(void);
/* A moment for others to go on. */
void client_pause(void);

/* -- what a process holds; pid 0: this one ------------------------------------------ */

unsigned int client_descriptors(pid_t pid);
unsigned int client_rss_kib(pid_t pid);
/* Bytes of the heap in use, here. */
size_t client_heap(void);

/* What a process and verbcastd hold at one moment. */
struct client_holdings {
	pid_t daemon;
	size_t heap;
	unsigned int descriptors, daemon_descriptors, daemon_rss_kib;
};

struct client_holdings client_hold(pid_t daemon);
/* As much as before: descriptors exactly; the heap but for `slack` bytes, and verbcastd's
 * memory but for some pages. Memory is not looked at under a sanitizer. */
void client_check_flat(const struct client_holdings *before, size_t slack);

/* -- verbs -------------------------------------------------------------------------- */

/* The first device: RoCE, or on a node of the fabric InfiniBand. */
struct ibv_context *client_open(void);
struct ibv_context *client_open_device(const char *name);
/* Whether that is InfiniBand, or what client_bound_id() is bound to. */
bool client_infiniband(void);
void client_to_state(struct ibv_qp *qp, enum ibv_qp_state to, uint32_t qkey);
/* From whatever it is to RTS, with the P_Key of that place in the port's table. */
void client_to_partition(struct ibv_qp *qp, uint16_t pkey_index);
/* "239.1.2.3" is the IPv4-mapped one, as RoCEv2 has it. */
union ibv_gid client_gid(const char *text);
/* The n-th of as many groups as one likes. */
union ibv_gid client_gid_number(unsigned int n);
struct ibv_ah *client_ah(struct ibv_pd *pd, const union ibv_gid *to);
/* By the LID that belongs to it: CLIENT_MLID on InfiniBand, for groups that nobody has
 * joined, whose datagrams stay on the port; none on RoCE. */
int client_attach(struct ibv_qp *qp, union ibv_gid *gid);
int client_detach(struct ibv_qp *qp, union ibv_gid *gid);

/* A UD queue pair in RTS, with a completion queue for each side and memory for `depth`
 * receives of CLIENT_BYTES and one send. */
struct client_qp {
	struct ibv_pd *pd;
	struct ibv_cq *send_cq, *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *memory;
	unsigned int depth;
};

void client_qp_open(struct client_qp *q, struct ibv_pd *pd, unsigned int depth);
void client_qp_close(struct client_qp *q);
int client_post_recv(struct client_qp *q, unsigned int n);
void client_post_recvs(struct client_qp *q, unsigned int n);
/* Post one datagram of CLIENT_BYTES, each of them `byte`, and see it complete well. */
void client_send(struct client_qp *q, struct ibv_ah *ah, uint32_t qpn, char byte);
/* To a group. */
void client_cast(struct client_qp *q, struct ibv_ah *ah, char byte);
/* The next completion of a queue, waited for; good or bad. */
struct ibv_wc client_poll(struct ibv_cq *cq);
/* The next completion of the receive side, waited for; it must be a good one. */
struct ibv_wc client_wait(struct client_qp *q);
/* Nothing is there. What could still come has come: local delivery happens in poll. */
bool client_idle(struct client_qp *q);
/* What the receive `n` got. */
char client_got(const struct client_qp *q, unsigned int n);

/* -- rdma_cm ------------------------------------------------------------------------ */

struct sockaddr_in client_ipv4(const char *text);
struct sockaddr_in6 client_ipv6(const char *text);
/* Where to bind: $CLIENT_ADDRESS, on a node of the fabric; else 127.0.0.1. */
const char *client_address(void);
/* An id bound to that; `events` may be null for a synchronous one. */
struct rdma_cm_id *client_bound_id(struct rdma_event_channel *events);
void client_id_qp(struct rdma_cm_id *id, unsigned int depth);
/* The next event, which must be this one, with that status; returned unacknowledged. */
struct rdma_cm_event *client_event(struct rdma_event_channel *events,
				   enum rdma_cm_event_type type, int status);
/* The same, acknowledged. */
void client_expect(struct rdma_event_channel *events, enum rdma_cm_event_type type,
		   int status);
/* No event is there to be fetched. */
bool client_no_event(struct rdma_event_channel *events);

/* -- threads ------------------------------------------------------------------------ */

/* `n` threads run fn(arg + i * size), all of them at once; waits for all. */
void client_threads(unsigned int n, void *(*fn)(void *), void *arg, size_t size);

#endif
