/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path of one process: post, deliver, poll. All that a client links.
 *
 * A process has one engine, whatever number of devices it opens. The engine runs the
 * process's own queue pairs: it writes what they send into the process's broadcast log,
 * and takes what others sent out of their logs into posted receive buffers. It knows
 * queue pairs and datagrams, nothing of verbs objects, sockets or the daemon; what it
 * needs from above goes through `struct engine_ops`.
 *
 * It runs inside engine_cq_poll and engine_qp_post_send; in a thread blocked in
 * engine_wait; and in one helper thread, which sleeps unless a completion queue is armed
 * or a sender at its gate, or the daemon, kicks it. docs/life-of-a-datagram.md walks
 * through it, docs/locking.md holds its locks.
 *
 * Work requests, completions and their constants are those of <infiniband/verbs.h>: the
 * ABI of the callers, so that nothing is translated on the way.
 *
 * Errors are negative errno, but for the calls that verbs prescribe as positive (those
 * that post return 0 or a positive errno and set *bad_wr).
 *
 * All calls are thread-safe. Creation and destruction of an object must not race with
 * its use, as in verbs.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shm/counters.h"
#include "shm/doorbell.h"
#include "shm/drop_reasons.h"
#include "shm/tables.h"

struct engine;
struct engine_cq;
struct engine_qp;
struct engine_srq;
struct engine_ah;

/* A peer's shared memory as the daemon hands it out; -1: it has none. The engine takes
 * the descriptors over and closes them. */
struct engine_peer {
	uint32_t incarnation;
	bool dead; /* the process is gone; only its log is left to be read */
	pid_t pid; /* the process, as this one sees numbers, to ask the kernel what it is
		    * about; 0: not known. It is no identity: it may be another's by now */
	int doorbell_fd;
	int log_fd;
};

/* What goes up. Called with no engine lock held, except as noted. `arg` is config.arg. */
struct engine_ops {
	/* Ask the daemon for the memory of the process in `slot`. May block for one round
	 * trip. 0, -ENOENT (no such process), or another negative errno. */
	int (*map_peer)(void *arg, uint32_t slot, struct engine_peer *ret);
	/* Hand the newly created log to the daemon; `fd` stays the engine's. */
	int (*publish_log)(void *arg, int fd);
	/* The log of a dead process has been read to its end: the daemon may forget it. */
	void (*drained)(void *arg, uint32_t slot, uint32_t incarnation);
	/* An armed completion queue has a completion. With the engine lock held: must not
	 * call back into the engine, may take locks of its own and write a descriptor. */
	void (*cq_event)(void *arg, void *cq_context);
	/* An asynchronous event of a queue pair (qp_context), a completion queue
	 * (cq_context) or a shared receive queue (srq_context). As cq_event. */
	void (*async_event)(void *arg, enum ibv_event_type event, void *context);
};

struct engine_config {
	const struct shm_tables
		*tables; /* mapped read-only by the caller, outlives the engine */
	struct shm_doorbell *doorbell; /* this process's own */
	struct shm_counters *counters; /* this process's own, writable */
	uint32_t slot;
	uint32_t incarnation;
	const struct engine_ops *ops;
	void *arg;
	bool tell_networks; /* ENGINE_WC_NETWORK, which programs must not see */
};

/* Of wc_flags, where it was asked for: what the first 40 bytes of a datagram are, as the
 * kernel counts networks: 0 InfiniBand, 1 RoCE v1, 2 IPv4, 3 IPv6 (spec/kernel 0.1). */
#define ENGINE_WC_NETWORK_SHIFT  16u
#define ENGINE_WC_NETWORK(flags) ((flags) >> ENGINE_WC_NETWORK_SHIFT & 3u)

int engine_open(const struct engine_config *config, struct engine **ret);

/* Stop the helper thread, forget peers, free. All objects must be destroyed before. */
void engine_close(struct engine *engine);

/* After fork(2), in the child: free what is private memory, touch nothing shared (it is
 * not mapped here) and start or join no thread. The engine's objects must not be used. */
void engine_abandon(struct engine *engine);

/* The daemon is gone: every queue pair goes to ERR and is flushed, posts are refused. */
void engine_fail(struct engine *engine);

/* One device is gone: the same for its queue pairs, but that posting goes on being
 * flushed, as in ERR. */
void engine_fail_device(struct engine *engine, uint32_t device);

/* One turn over everything that has something for us. Returns the number of datagrams
 * looked at. Used by the helper, by waiters and by tests; polling does it by itself. */
unsigned int engine_turn(struct engine *engine);

/*
 * Block until something may have happened: a doorbell, a local completion event
 * (engine_wake), `timeout_ms` (-1: none) or a signal. Runs the engine before it sleeps,
 * by the sleep protocol of spec/dataplane 6, so no wake is lost.
 * 0: look again. -EINTR: a signal handler ran. -ETIMEDOUT.
 */
int engine_wait(struct engine *engine, uint32_t *seen, int timeout_ms);
/* The value to start `seen` from; take it before checking for what one waits for. */
uint32_t engine_wait_prepare(struct engine *engine);
/* Wake the process's own waiters (a completion event was queued by another thread).
 * Takes no lock: the one call that is right inside cq_event and async_event. */
void engine_wake(struct engine *engine);

/*
 * Memory that a caller gives for the ring of a queue, where he wants to (parent domains).
 * Called inside the calls that create, change or destroy the queue, with no engine lock
 * held; must outlive it. `alloc` returns null for none, or ENGINE_MEMORY_DEFAULT: the
 * engine is to take its own, of which `free` never hears.
 */
enum engine_ring {
	ENGINE_RING_QP = 1,
	ENGINE_RING_CQ,
	ENGINE_RING_SRQ,
};

struct engine_memory {
	void *(*alloc)(const struct engine_memory *m, enum engine_ring ring, size_t bytes,
		       size_t alignment);
	void (*free)(const struct engine_memory *m, enum engine_ring ring, void *ptr);
};
#define ENGINE_MEMORY_DEFAULT ((void *)-1)

/*
 * Completion queues. Memory follows what is used, not `cqe`; with memory of the caller's
 * it is asked for in full.
 */
int engine_cq_create(struct engine *engine, uint32_t cqe, void *cq_context,
		     struct engine_cq **ret);
int engine_cq_create_in(struct engine *engine, const struct engine_memory *memory,
			uint32_t cqe, void *cq_context, struct engine_cq **ret);
void engine_cq_destroy(struct engine_cq *cq);
/* -EINVAL when fewer than the completions now held. */
int engine_cq_resize(struct engine_cq *cq, uint32_t cqe);
/* Up to `n` completions; runs a turn of the engine first, if no other thread does. */
int engine_cq_poll(struct engine_cq *cq, int n, struct ibv_wc *wc);
/* One shot. The event comes for the next completion queued after this call. */
void engine_cq_arm(struct engine_cq *cq, bool solicited_only);

/*
 * Memory regions, by lkey. `pd` is any number that tells protection domains apart.
 */
int engine_mr_add(struct engine *engine, uint32_t pd, uint32_t lkey, void *addr,
		  uint64_t iova, uint64_t length, unsigned int access);
void engine_mr_remove(struct engine *engine, uint32_t lkey);

/*
 * Address handles. The caller has checked the attributes against the port's tables.
 */
int engine_ah_create(struct engine *engine, uint32_t pd, uint32_t port_index,
		     const struct ibv_ah_attr *attr, struct engine_ah **ret);
void engine_ah_destroy(struct engine_ah *ah);
/*
 * The same in the caller's memory, engine_ah_bytes() of it, aligned to a line. In the line
 * behind what requests point at, a send to one of many groups waits for memory once.
 */
size_t engine_ah_bytes(void);
int engine_ah_init(struct engine *engine, uint32_t pd, uint32_t port_index,
		   const struct ibv_ah_attr *attr, struct engine_ah *ah);
void engine_ah_fini(struct engine_ah *ah);

/* What `wr.ud.ah` of a send request points at: every address handle of the caller begins
 * with this, so that the engine finds its own without asking. */
struct engine_verbs_ah {
	struct ibv_ah ibv_ah;
	struct engine_ah *engine;
};

/*
 * Shared receive queues. `pd` is the one whose memory the receives may name, whatever
 * that of the queue pairs which take from it (as verbs want it). `memory` may be null.
 */
int engine_srq_create(struct engine *engine, const struct engine_memory *memory,
		      uint32_t pd, uint32_t max_wr, uint32_t max_sge, void *srq_context,
		      struct engine_srq **ret);
/* After all queue pairs that take from it. */
void engine_srq_destroy(struct engine_srq *srq);
/*
 * `mask` as of ibv_modify_srq; all of it or nothing. MAX_WR: what is posted stays, -EINVAL
 * when that is more. LIMIT: one shot, IBV_EVENT_SRQ_LIMIT_REACHED when a receive is taken
 * and fewer than that are left; 0 disarms; -EINVAL when above max_wr.
 */
int engine_srq_modify(struct engine_srq *srq, int mask, const struct ibv_srq_attr *attr);
/* The limit armed; 0: none, or it was reached. */
uint32_t engine_srq_limit(const struct engine_srq *srq);
int engine_srq_post_recv(struct engine_srq *srq, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);

/*
 * Queue pairs.
 */
struct engine_qp_config {
	uint32_t qpn;
	enum ibv_qp_type type; /* IBV_QPT_UD; others are refused with -EOPNOTSUPP */
	uint32_t device;       /* index in the site's device list */
	uint32_t pd;
	struct engine_cq *send_cq;
	struct engine_cq *recv_cq;
	struct engine_srq *srq;             /* null: it has receives of its own */
	const struct engine_memory *memory; /* of these; may be null */
	struct ibv_qp_cap cap;              /* as granted: queues are exactly this deep */
	bool sq_sig_all;
	bool block_self_multicast; /* IBV_QP_CREATE_BLOCK_SELF_MCAST_LB */
	uint32_t counters;         /* index in shm_counters.qps */
	struct ibv_qp *ibv_qp;     /* what bad states and events name; its address only */
	void *qp_context;          /* for async_event */
};

struct engine_qp_attr {
	enum ibv_qp_state state;
	uint32_t port_index; /* index in shm_tables.ports, from INIT on */
	uint32_t port_num;
	uint16_t pkey_index;
	uint32_t qkey;
	uint32_t sq_psn;
};

int engine_qp_create(struct engine *engine, const struct engine_qp_config *config,
		     struct engine_qp **ret);
/* Flushes nothing to the CQ: its completions vanish, as verbs wants it. Detaches all. */
void engine_qp_destroy(struct engine_qp *qp);
/* The caller has checked the transition. To ERR: what is posted is flushed with
 * IBV_WC_WR_FLUSH_ERR; with an srq IBV_EVENT_QP_LAST_WQE_REACHED is raised, since it takes
 * no more. To RESET: what is posted, and its completions, vanish, but for what is in an
 * srq. */
void engine_qp_modify(struct engine_qp *qp, const struct engine_qp_attr *attr);
enum ibv_qp_state engine_qp_state(const struct engine_qp *qp);

/* UD: the datagrams are in the log, and receivers told, when this returns. */
int engine_qp_post_send(struct engine_qp *qp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr);
/* EINVAL with an srq. */
int engine_qp_post_recv(struct engine_qp *qp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);

/*
 * Attachments, as the daemon granted them: group entry, its generation at the attach,
 * and the counter block of the member. The same (qp, entry) twice: -EEXIST.
 * After engine_qp_detach has returned nothing is delivered from that group.
 */
int engine_qp_attach(struct engine_qp *qp, uint32_t entry, uint64_t generation,
		     uint32_t counters);
int engine_qp_detach(struct engine_qp *qp, uint32_t entry);

/*
 * The same on InfiniBand, where many entries lead to a member, and others as the switches
 * are programmed: the group is named, and entries are looked up as datagrams come. The
 * same (qp, MGID, MLID) twice: -EEXIST.
 */
int engine_qp_attach_group(struct engine_qp *qp, const uint8_t mgid[16], uint16_t mlid,
			   uint64_t generation, uint32_t counters);
int engine_qp_detach_group(struct engine_qp *qp, const uint8_t mgid[16], uint16_t mlid);

#endif
