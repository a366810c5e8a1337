/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's insides: every structure its files share. What each lock guards stands at
 * the fields; the order of locks is in lock.h, the picture in docs/life-of-a-datagram.md.
 *
 * "tx" and "rx" in comments are the two locks of the engine. What is guarded by both is
 * read under either and written under both.
 */
#ifndef ENGINE_ENGINE_PRIV_H
#define ENGINE_ENGINE_PRIV_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/random.h"
#include "engine/cpu.h"
#include "engine/engine.h"
#include "engine/lock.h"
#include "shm/log.h"
#include "wire/grh.h"

#define ENGINE_MTU_MAX 4096u
#define MULTICAST_QPN  0xffffffu

struct recv_entry;

/* -- rings (ring.c) ------------------------------------------------------------------ */

/* Where the memory of a ring came from, and goes back to. */
struct ring_source {
	const struct engine_memory *memory; /* null: malloc's */
	enum engine_ring ring;
};

/* Null: no memory. What `source` says of it is true afterwards. */
void *ring_alloc(struct ring_source *source, size_t bytes);
void ring_free(const struct ring_source *source, void *ptr);

/* -- memory regions (mr.c) ----------------------------------------------------------- */

struct mr {
	uint32_t lkey; /* 0: the bucket is empty */
	uint32_t pd;
	uint64_t iova;
	uint64_t length;
	uint8_t *addr;
	unsigned int access;
	bool used;
};

struct mr_table {
	struct mr *buckets; /* guarded by tx and rx, as all of it */
	uint32_t mask;
	uint32_t count;
};

/* -- completion queues (cq.c) -------------------------------------------------------- */

enum cq_armed {
	CQ_DISARMED = 0,
	CQ_ARMED_ANY = 1,
	CQ_ARMED_SOLICITED = 2,
};

/* One queued completion; a line. */
struct cq_entry {
	struct ibv_wc wc;
	struct engine_qp *qp;
	uint16_t is_send;
	uint16_t solicited; /* raises events of that sort; while the queue is stalled */
	uint32_t due_ms; /* not shown before; 0: no later than those before it; the same */
};
static_assert(sizeof(struct cq_entry) == 64, "a line");

/*
 * Created and destroyed by the caller, when no queue pair uses it. Found by its queue
 * pairs alone.
 */
struct engine_cq {
	struct engine *engine;
	void *context;
	const struct engine_memory *memory; /* null: ring grows as it is used */
	_Atomic int armed;                  /* enum cq_armed; leaves DISARMED under rx */
	_Atomic uint32_t count; /* completions queued; written under lock, read by all */
	struct lock lock;       /* guards what follows, down to overrun */
	uint32_t capacity;      /* as asked for */
	uint32_t size;          /* of ring; a power of two */
	uint64_t head, tail;    /* of ring: next to poll, next to fill */
	struct cq_entry *ring;
	struct ring_source source;
	bool overrun; /* IBV_EVENT_CQ_ERR was raised */
	bool stalled; /* from `shown` on completions are late, by a fault, and not seen yet */
	uint32_t late_ms; /* the one being written is: cq_begin to cq_end */
	uint64_t shown;
	struct list stall_link; /* in engine->faults.stalled; guarded by faults.lock, and
				 * removed under rx alone */

	/* Guarded by rx: the array of the poll that runs the engine just now. */
	struct ibv_wc *direct;
	uint32_t direct_left;
};

/* -- receive queues (rq.c) ----------------------------------------------------------- */

struct recv_entry {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t reserved;
	struct ibv_sge sge[];
};

/* Q1 tail: stored with release by the poster, loaded with acquire by the engine
 * Q2 head: stored with release by the engine, loaded with acquire by the poster */
struct recv_queue {
	uint8_t *entries; /* fixed, as what is below down to tail */
	struct ring_source source;
	uint32_t stride;
	uint32_t mask;
	uint32_t depth;
	_Atomic uint32_t tail; /* written under engine_qp->lock, engine_srq->lock */
	uint32_t reserved[8];
	_Atomic uint32_t head; /* written under rx */
	uint32_t known_tail;   /* guarded by rx */
};

/* -- shared receive queues (srq.c) --------------------------------------------------- */

/*
 * Created by the caller before the queue pairs that take from it, destroyed after them.
 * Found by those alone.
 */
struct engine_srq {
	struct engine *engine; /* fixed, as the four below */
	void *context;
	const struct engine_memory *memory;
	uint32_t pd;
	uint32_t max_sge;
	struct lock lock;       /* guards posting; the ring is replaced under rx and it */
	_Atomic uint32_t limit; /* 0: not armed; written under rx */
	struct recv_queue rq;
};

/* -- faults (faults.h) --------------------------------------------------------------- */

struct fault_state;

/* The rules of one direction that are about a queue pair, and how far they have counted. */
struct qp_faults {
	struct fault_state *states;
	uint32_t count;
	uint32_t looks; /* fault_side.looks that this is of; 0: none */
};

/* One direction; guarded by that side's lock. */
struct fault_side {
	struct shm_fault
		*rules;      /* [SHM_FAULTS_MAX], in their places; null: never had any */
	uint32_t generation; /* tables->h.faults that they are of */
	uint32_t looks;      /* +1 when they are read anew */
	uint32_t direction;  /* enum shm_fault_direction */
	uint32_t held_count;
	struct list held; /* struct held */
	bool on;          /* there are any */
	bool completions; /* of that kind, too */
};

#define FAULTS_BUSY UINT32_MAX

struct faults {
	_Atomic uint32_t
		quiet; /* what tables->h.faults is while there is nothing to do: 0;
				   * FAULTS_BUSY: always there is */
	_Atomic uint32_t pending; /* datagrams held, queues stalled */
	_Atomic uint64_t next_ns; /* when the first of them is due, or earlier */
	_Atomic bool running;     /* a thread is at those that are due */
	struct lock lock;         /* guards stalled */
	struct list stalled;      /* struct engine_cq.stall_link */
	struct fault_side tx, rx;
};

/* -- queue pairs (qp.c) -------------------------------------------------------------- */

/*
 * Created and destroyed by the caller. Found by (device, number) in engine->qps and by
 * its attachments, from creation to destruction.
 */
struct engine_qp {
	struct engine *engine;
	struct engine_qp_config config;   /* fixed */
	struct shm_qp_counters *counters; /* fixed */
	_Atomic int state;                /* written under rx and lock */
	struct engine_qp_attr attr;       /* guarded by tx and rx; state apart */
	const struct shm_port *port;      /* of attr; guarded as attr */
	struct lock lock;                 /* guards posting receives, and held_sends */
	struct list held_sends;           /* struct held_send.link: posted in SQD */
	_Atomic uint32_t sq_used;         /* completions of sends not polled yet; written
					   * under the lock of the send CQ */
	_Atomic uint32_t held;            /* number of held_sends */
	uint32_t attached;                /* number of attachments; guarded by rx */
	struct list link;                 /* in engine->qps; guarded by rx */
	struct recv_queue *receives;      /* its own, or its srq's; fixed, as the pd */
	uint32_t receives_pd;             /* whose memory they may name */
	uint32_t ordinal;           /* among those that the process ever made; fixed */
	uint32_t psn_base;          /* PSN of the first datagram sent; guarded by tx */
	struct qp_faults faults_tx; /* guarded by tx */
	struct qp_faults faults_rx; /* guarded by rx */
	struct recv_queue rq;       /* no ring where there is an srq */
};

/* -- attachments (mcast.c) ----------------------------------------------------------- */

/* Packed, as the next: what a datagram takes of a group with one member is a line. */
struct __attribute__((packed, aligned(4))) member {
	struct engine_qp *qp;
	uint64_t generation; /* what is stamped with an earlier one is not for it */
	uint32_t counters;   /* index in engine->counters */
};

/* The last datagram to the group that a followed log had. */
struct __attribute__((packed, aligned(4))) heard {
	uint64_t generation;
	uint32_t ordinal; /* of the sender's to that entry */
	uint32_t serial;  /* struct sender.serial; 0: none heard */
	uint32_t entry;
};

/*
 * A group that queue pairs of this process are attached to. Made by the first attach,
 * gone with the last detach; all of it is guarded by rx. On RoCE it lies at its one
 * entry's index, on InfiniBand it is found by its name, to which entries lead that come
 * and go.
 */
struct attachment {
	_Alignas(64) uint8_t mgid[16];
	uint32_t count;
	uint16_t capacity;    /* of members; 1: `first` is all */
	uint16_t heard_count; /* 1: `heard_first` is all */
	struct member first;
	struct heard heard_first;
	/* the second line, when one does not do */
	struct member *members; /* in the order of attaching */
	struct heard *heard;    /* by struct sender.index */
	struct hash_node node;  /* InfiniBand: in rx.named */
	uint16_t mlid;
};
static_assert(offsetof(struct attachment, members) == 64, "the common part is a line");
static_assert(sizeof(struct attachment) == 128, "attachments per page");

static inline struct member *attachment_members(struct attachment *a)
{
	return likely(a->capacity == 1) ? &a->first : a->members;
}
static inline struct heard *attachment_heard(struct attachment *a)
{
	return likely(a->heard_count == 1) ? &a->heard_first : a->heard;
}

/* What the tables said of an entry: to whom a datagram stamped in [since, until] goes. */
struct alias {
	struct attachment *attachment; /* null: to nobody here */
	uint64_t since, until;
	uint32_t epoch; /* rx.epoch that this is of */
	uint32_t reserved;
};

/* -- runs (run.h) -------------------------------------------------------------------- */

struct run_words {
	uint64_t route, numbers, gids, shape; /* as in the log */
};

/* What completions tell of the way a datagram came. */
struct flow_address {
	uint32_t wc_flags; /* IBV_WC_GRH, or 0 */
	uint16_t slid;
	uint8_t sl, dlid_path_bits;
};

struct run {
	_Atomic uint64_t *delivered; /* the member's; null: there is no run */
	struct engine_qp *qp;
	struct heard *heard;
	struct run_words words; /* route and shape: those of the last one */
	uint64_t generation;
	uint32_t epoch; /* rx.epoch that it began in */
	uint32_t qkey;
	const _Atomic uint16_t *pkey_now; /* of the queue pair, where the daemon writes */
	uint16_t pkey;
	bool goes_on;   /* has had a second one: wc and region are there */
	uint32_t count; /* completed, and not yet counted */
	uint64_t bytes;
	struct mr region; /* where the last receive lay; length 0: not known */
	struct ibv_wc wc; /* but for what differs from one to the next */
};

/* -- whom we hear (senders.c, rx.c) -------------------------------------------------- */

/*
 * Another process's log, or our own, that we follow. Created when its bit in our doorbell
 * is first seen, retired when its process is dead and the log read to the end; guarded
 * by rx.
 */
struct sender {
	const struct shm_log *log;
	struct shm_cursor *cursor; /* ours for it, in our doorbell */
	uint64_t position;         /* next to be read */
	uint64_t overtaken;        /* positions lost; bounds what ordinals may claim */
	uint64_t known_head;       /* the head when last read */
	uint32_t busy_looks;
	uint32_t slot, incarnation;
	uint32_t index; /* of this slot in struct attachment.heard; SENDER_UNHEARD: none yet */
	uint32_t serial; /* of followed logs of this process, never reused */
	uint32_t idle_looks;
	uint32_t unicast_ordinal;
	bool active; /* in rx.active */
	bool losing; /* lost datagrams for us since it was last at the end */
	bool own;    /* the log is this process's */
	struct sender *next_retired;

	/* The header of the last datagram, and what it was made from (flow.h). */
	uint64_t flow_dst;   /* an attachment, or as flow_unicast says; 0: no header */
	uint32_t flow_epoch; /* rx.epoch that the attachment is of */
	uint64_t flow_gids, flow_hops;
	/* What it stands on: serials of the GIDs, on InfiniBand generations of the ports. */
	const _Atomic uint32_t *flow_src_valid, *flow_dst_valid;
	uint32_t flow_src_serial, flow_dst_serial;
	struct flow_address flow_address;
	uint32_t flow_device; /* of the source */
	uint32_t flow_wire;   /* length that flow_header has; 0: none */
	struct grh_flow flow;
	uint8_t flow_header[GRH_BYTES];

	struct run run;
};

#define SENDER_UNHEARD UINT32_MAX

/* As many attachments as a huge page holds. */
#define ATTACHMENT_CROWD  ((2u << 20) / sizeof(struct attachment))
#define ATTACHMENT_CROWDS (SHM_GROUPS_MAX / ATTACHMENT_CROWD)

struct rx {
	struct sender **senders;          /* [SHM_SLOTS_MAX] */
	uint32_t finished[SHM_SLOTS_MAX]; /* incarnation whose log was read to its end */
	struct sender *active[SHM_SLOTS_MAX];
	uint32_t active_count;
	uint32_t next; /* where the next turn begins */
	uint64_t active_bits[SHM_SLOT_WORDS];
	uint64_t wanted[SHM_SLOT_WORDS]; /* rung, not followed: the daemon is to be asked */
	uint64_t retry[SHM_SLOT_WORDS]; /* asking failed: once more, at retry_ns */
	uint64_t retry_ns;
	bool any_wanted, any_retry;
	bool errands;           /* senders_map_wanted has something to do */
	struct sender *retired; /* to be unmapped and told, with no lock held */
	uint32_t followed;      /* senders[] in use */
	uint16_t index_of_slot[SHM_SLOTS_MAX]; /* struct sender.index + 1; 0: none yet */
	uint32_t indices;
	uint32_t serial;
	uint32_t turns;
	uint32_t epoch; /* +1 after a change of attachments, queue pairs or regions: runs
			 * end */
	uint32_t silent_next;   /* the slot whose silent log is visited next */
	struct engine_cq *sink; /* whose poll runs the turn; null: nobody's */
	void *attachments_mapping;
	struct attachment *attachments;         /* [SHM_GROUPS_MAX]; those of RoCE */
	uint64_t attached[SHM_GROUPS_MAX / 64]; /* a bit for each that there is */
	uint32_t crowds[ATTACHMENT_CROWDS];     /* how many of each ATTACHMENT_CROWD */
	uint32_t crowded;                       /* a bit for each that was half full */
	struct alias *aliases; /* [SHM_GROUPS_MAX]; of all other entries */
	struct hash named;     /* struct attachment of InfiniBand, by MGID, MLID */
};

/* -- whom we tell (receivers.c, tx.c, gate.c) ---------------------------------------- */

/*
 * A process that we have sent to. Created when an address handle first names it, kept
 * until its slot belongs to another; guarded by tx.
 */
struct receiver {
	struct shm_doorbell *doorbell;
	_Atomic uint64_t *word; /* of its doorbell, where our bit is */
	uint64_t bit;
	struct shm_cursor *cursor; /* its for us */
	uint32_t slot, incarnation;
	pid_t pid;                /* its process; 0: not known */
	uint64_t last_for;        /* position behind the last datagram for it; 0: none */
	uint64_t first;           /* position of the first one for it */
	uint64_t seen;            /* its cursor, when last looked at */
	uint64_t stalled_ns;      /* without progress, while we waited for it */
	uint64_t stalled_busy_ns; /* the same, in full (gate.c) */
	uint64_t waited_ns;       /* with and without, in the present wait */
	uint64_t spared_ns; /* of that, before it was last judged and not condemned */
	uint32_t ordinal;   /* of unicast datagrams to it */
	uint32_t distrust;  /* good looks it takes to be waited for again */
	uint32_t good_looks;
	bool clear;   /* has read all that was for it, when last looked at */
	bool follows; /* has published a cursor for our log */
	bool lagging; /* not waited for */
	bool kicked;  /* and has not moved since */
	bool slept;   /* when last judged, and has not moved since */
};

struct tx_place {
	uint64_t at;   /* payload byte where the datagram's rest begins, or would */
	uint32_t rest; /* payload bytes in the ring */
	uint32_t reserved;
};

/* ordinals.c: how many datagrams this process has sent to an entry. */
struct ordinal {
	struct engine_ah
		*owner; /* has the number, and no other handle leads there; or null */
	uint32_t last;
	uint32_t handles; /* that lead there */
};

struct tx {
	struct shm_log *log;           /* null until the first send */
	uint64_t head;                 /* next position to be written */
	uint64_t first;                /* first position of the batch; head: no batch */
	uint64_t bytes;                /* next payload byte */
	uint64_t tail;                 /* oldest position that is whole */
	uint64_t gate_head;            /* look at cursors before writing this position */
	uint64_t gate_bytes;           /*  ... and before the payload gets here */
	uint64_t prefaulted;           /* payload below is in memory */
	struct engine_ah *last_ah;     /* of this batch; found to be true in it */
	uint64_t ring[SHM_SLOT_WORDS]; /* whom the batch is for, besides last_ah's peers */
	uint32_t ring_words;           /* a bit a word of ring that is not zero */
	struct mr region;              /* of the last plain request; length 0: none */
	struct tx_place *places;       /* [SHM_LOG_SLOTS] */
	struct ordinal *ordinals;      /* [SHM_GROUPS_MAX] */
	struct receiver **receivers;   /* [SHM_SLOTS_MAX] */
	uint32_t receiver_slots[SHM_SLOTS_MAX]; /* those in use */
	uint32_t receiver_count;
};

/* -- address handles (ah.c) ---------------------------------------------------------- */

/*
 * Created and destroyed by the caller. The cache is guarded by tx and is true while the
 * generation is the entry's (multicast) or the serial the GID's (unicast on RoCE); that
 * nobody is there, and who has a LID, while no port and no group has changed.
 *
 * The first line is all that a send to a group takes, for there may be many groups.
 */
struct engine_ah {
	uint64_t checked; /* the tables' youngest generation when it was last found true */
	uint64_t generation; /* of the entry; 0: look it up */
	uint64_t gids;       /* as in the log, but for the destination of unicast */
	uint32_t src_serial; /* of the source's GID table entry, at creation */
	uint32_t entry;      /* SHM_NONE: none */
	uint32_t ordinal; /* of the last datagram to the entry, where this is its owner */
	uint32_t pd;
	uint32_t hops; /* hop limit, traffic class, SL, GRH or not, as in the log */
	uint16_t port_index;
	uint16_t words_used; /* a bit a word of words that is not zero */
	uint16_t dlid;       /* InfiniBand */
	bool multicast;
	bool infiniband : 1;
	bool members : 1;    /* the entry has any */
	bool incomplete : 1; /* a member's memory could not be had: try again some time */
	bool owner : 1;      /* of the entry's ordinal */
	uint64_t words[SHM_SLOT_WORDS]; /* the processes to ring: members that we know */

	uint64_t groups_generation; /* at which there was no such entry */
	uint32_t skips;             /* posts since it was incomplete */
	bool looked;                /* unicast: not so before the first look */
	uint32_t ports_generation;  /* unicast: at which no port had it, or which one has
				     * the LID */
	uint32_t dst_end;           /* unicast: as in the log; SHM_NONE: no port has it */
	uint32_t dst_serial;        /* RoCE: of that GID table entry */
	uint32_t dst_device;
	uint32_t flow_label; /* InfiniBand */
	uint8_t dgid[16];
	struct engine *engine;
};
static_assert(offsetof(struct engine_ah, words) == 56,
	      "the first word is in the first line");
static_assert(SHM_PORTS_MAX <= UINT16_MAX && SHM_SLOT_WORDS <= 16, "in 16 bits");

/* -- the engine ---------------------------------------------------------------------- */

#define ENGINE_QP_BUCKETS 1024u

struct engine {
	/* fixed from open on */
	const struct shm_tables *tables;
	struct shm_doorbell *doorbell;
	struct shm_counters *counters;
	const struct engine_ops *ops;
	void *arg;
	uint32_t slot, incarnation;
	bool tell_networks;

	_Atomic bool failed;      /* the daemon is gone */
	_Atomic int armed;        /* completion queues not DISARMED */
	_Atomic uint32_t waiters; /* threads in engine_wait, about to sleep or asleep */
	_Atomic bool by_waiters;  /* the program sleeps in engine_wait, when last seen */
	_Atomic bool wake_wanted; /* an event was raised under a lock */
	_Atomic uint32_t polls;   /* turns run by polls; written under rx */
	_Atomic uint32_t repairs; /* times that a re-check by time found something */
	_Atomic uint64_t for_us; /* position behind the last datagram of our log that this
				   * process is a receiver of; written under tx */

	_Alignas(64) struct lock tx_lock;
	struct tx tx; /* guarded by tx_lock */

	_Alignas(64) struct lock rx_lock;
	struct rx rx;                       /* guarded by rx_lock */
	struct list qps[ENGINE_QP_BUCKETS]; /* guarded by rx_lock */

	struct mr_table mrs; /* guarded by tx_lock and rx_lock */
	uint32_t qps_made;   /* guarded by rx_lock */
	struct faults faults;

	pthread_mutex_t setup; /* guards creation of the log and of the helper */
	bool helper_running;   /* guarded by setup */
	pthread_t helper;
	_Atomic bool helper_stop;
};

/* wait.c: tell waiters what was raised under a lock, now that it is dropped. */
void engine_settle_slow(struct engine *e);
static inline void engine_settle(struct engine *e)
{
	if (unlikely(atomic_load_explicit(&e->wake_wanted, memory_order_relaxed)))
		engine_settle_slow(e);
}
/* Under rx: clear the bits, raise the flag of `sleeper`, and look once more. True: there
 * is something to do first. */
bool engine_sleep_prepare(struct engine *e, uint32_t sleeper);
/* A period of the helper; what a sleeper missed is found after two at the most. */
#define ENGINE_RECHECK_MS 250

/* faults.c */
void faults_init(struct engine *e);
void faults_fini(struct engine *e);
void faults_qp_fini(struct engine_qp *qp);
/* Under the side's lock: by how much the completion of a datagram comes late. */
uint32_t faults_completion_ms(struct engine_qp *qp, struct fault_side *side,
			      uint32_t opcode);
/* Is there, by the one word that posts and turns look at, anything to do? */
static inline bool faults_stir(const struct engine *e)
{
	return unlikely(
		atomic_load_explicit(&e->tables->h.faults, memory_order_relaxed) !=
		atomic_load_explicit(&e->faults.quiet, memory_order_relaxed));
}
/* faults_send.c: under tx, dropped at the gate: into the log, or wherever; `to` is the
 * group's entry, or the receiving slot. */
struct tx_datagram;
void faults_send_unlocked(struct engine_qp *qp, struct tx_datagram *d,
			  const struct engine_ah *ah, uint32_t to);
/* Under tx: those of a queue pair that goes. */
void faults_forget_sends(struct engine_qp *qp);
/* faults_receive.c: under rx. In the place of deliver; `a` is null for unicast. */
struct rx_datagram;
void faults_receive(struct engine *e, struct engine_qp *qp, struct attachment *a,
		    const struct rx_datagram *d);
/* Those that came by this attachment; null: unicast. */
void faults_forget_receives(struct engine_qp *qp, const struct attachment *a);
/* faults_due.c */
/* Something is held that is due then. Any lock but faults.lock may be held. */
void faults_pend(struct engine *e, uint64_t due_ns);
void faults_settle(struct engine *e);
/* Something may be due earlier than was said. */
void faults_hurry(struct engine *e);
/* Under rx: when faults_stir is true. */
void faults_look_rx(struct engine *e);
/* No lock: what is due. */
void faults_run_slow(struct engine *e);
static inline void faults_run(struct engine *e)
{
	if (unlikely(atomic_load_explicit(&e->faults.next_ns, memory_order_relaxed) !=
		     UINT64_MAX))
		faults_run_slow(e);
}
/* How long to sleep, if not longer than `timeout_ms`. */
int faults_sleep_ms(const struct engine *e, int timeout_ms);

/* helper.c */
int helper_start(struct engine *e);
void helper_stop(struct engine *e);
/* No lock: while a queue is armed and no thread sleeps for it, the helper sleeps exactly;
 * this makes it so, without waking it, and runs the engine if something came before. */
void helper_watch(struct engine *e);
/*
 * A thread that is about to wake others keeps its own helper out of it: on a shared CPU
 * the one woken runs at once, and its answer would have the helper woken, too, to take
 * what this thread looks for as soon as it runs again. True: helper_watch is owed.
 */
static inline bool helper_hold(struct engine *e)
{
	uint32_t expected = SHM_SLEEPER_HELPER;

	return unlikely(atomic_load_explicit(&e->armed, memory_order_relaxed)) &&
	       atomic_compare_exchange_strong_explicit(&e->doorbell->sleeping, &expected,
						       0, memory_order_acq_rel,
						       memory_order_relaxed);
}

/* senders.c */
int senders_init(struct engine *e);
void senders_fini(struct engine *e);
/* Under rx: take in what our doorbell says. */
void senders_collect(struct engine *e);
/* Under rx: has it published something we have not read? */
bool sender_has_news(const struct sender *s);
/* Under rx: one log that we follow and nobody rang for; repairs a lost bit. */
void senders_visit_silent(struct engine *e);
/* No lock: all of them, for those that sleep exactly. Covers a sender that was stopped
 * between setting its bit and waking us, and doorbells that somebody scribbled on. `turns`
 * had been run when they fell asleep; null: none since. True: there is something to do. */
bool senders_recheck(struct engine *e, const uint32_t *turns);
/* Under rx: its log was empty once more. It may fall silent, or its process be dead: true
 * when it left rx.active. */
bool sender_idle(struct engine *e, struct sender *s);
/* No lock: ask the daemon for those wanted, tell it of those read to the end. */
void senders_map_wanted(struct engine *e);
/* Under rx: our own log, at its creation. */
int senders_add_own(struct engine *e, const struct shm_log *log);
/* rx.c: under rx, one turn; returns the number of datagrams looked at. */
unsigned int rx_turn(struct engine *e);
/* Under rx: count what became of a datagram for a queue pair, or that was delivered; `a`
 * is null for unicast. */
void rx_tell(struct engine_qp *qp, struct attachment *a, enum drop_reason reason);
/* No lock: a turn with all that follows. */
unsigned int engine_turn_and_map(struct engine *e);
/* Under rx or not: how a drop is counted where no queue pair can be named. */
void engine_drop(struct engine *e, enum drop_reason reason, uint64_t n);

static inline uint64_t read_word(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}
struct rx_datagram {
	const struct shm_log_slot *slot;
	const uint8_t *rest;   /* payload behind the first SHM_LOG_INLINE bytes */
	const uint8_t *header; /* the 40 bytes */
	uint64_t position;
	uint64_t generation;
	uint32_t length;
	uint32_t qkey;
	uint32_t imm;
	uint32_t src_qpn;
	uint32_t src_device;
	uint16_t pkey;
	uint8_t flags;
	bool own;
	struct flow_address address;
};
static inline bool rx_still_there(const struct rx_datagram *d)
{
	/* R2: the copies before this fence are of position d->position if the word behind it
	 * still says so (pairs with W1). */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&d->slot->sequence, memory_order_relaxed) ==
	       2 * d->position;
}
/* deliver.c: a receive that deliver.h could not fill. */
enum drop_reason deliver_slow(struct engine_qp *qp, const struct rx_datagram *d,
			      const struct recv_entry *entry);

/* receivers.c: all under tx */
int receivers_init(struct engine *e);
void receivers_fini(struct engine *e);
bool receiver_known(struct engine *e, uint32_t slot);
/* Drops tx, asks the daemon, takes tx again. 0, or why it is not known. */
int receiver_map_unlocked(struct engine *e, uint32_t slot);

/* tx.c: all under tx */
int tx_init(struct engine *e);
void tx_fini(struct engine *e);
/* Drops tx and takes it again. */
int tx_open_unlocked(struct engine *e);
/* Make the batch visible and tell those it is for. */
void tx_publish(struct engine *e);
void tx_ring_also(struct tx *tx, const struct engine_ah *ah);

/* gate.c: under tx: make room for a datagram with `rest` payload bytes in the ring. True:
 * tx was dropped meanwhile. */
bool tx_gate_unlocked(struct engine *e, uint32_t rest);
static inline uint32_t tx_rest_of(uint32_t length)
{
	return length > SHM_LOG_INLINE ? length - SHM_LOG_INLINE : 0;
}
static inline const _Atomic uint32_t *gid_valid(const struct shm_tables *t, uint32_t end)
{
	return &t->ports[shm_log_end_port(end)]
			.gids[shm_log_end_gid(end) % SHM_GIDS_MAX]
			.valid;
}
static inline uint32_t gid_serial(const struct shm_tables *t, uint32_t end)
{
	return atomic_load_explicit(gid_valid(t, end), memory_order_acquire);
}

/* ordinals.c: under tx. The handle leads to the entry from now on, and no longer to the
 * one before; SHM_NONE: to none. */
void ordinal_lead(struct tx *tx, struct engine_ah *ah, uint32_t entry);
/* That of the next datagram to the entry. */
uint32_t ordinal_of_entry(struct tx *tx, uint32_t entry);
static inline uint32_t ordinal_next(struct tx *tx, struct engine_ah *ah)
{
	return likely(ah->owner) ? ++ah->ordinal : ordinal_of_entry(tx, ah->entry);
}

/* ah.c: under tx. True: the cache is true; false: it was made true, but tx was dropped
 * meanwhile. */
bool ah_resolve_slow(struct engine *e, struct engine_ah *ah);
static inline bool entry_is_true(const struct shm_tables *t, struct engine_ah *ah)
{
	uint64_t youngest =
		atomic_load_explicit(&t->h.generation, memory_order_acquire); /* T7 */

	if (likely(youngest == ah->checked))
		return true;
	if (atomic_load_explicit(&t->groups[ah->entry].generation,
				 memory_order_acquire) != ah->generation) /* T2 */
		return false;
	ah->checked = youngest;
	return true;
}
static inline bool ah_is_true(const struct engine *e, struct engine_ah *ah)
{
	const struct shm_tables *t = e->tables;

	if (unlikely(!ah->multicast && (ah->infiniband || ah->dst_end == SHM_NONE)))
		return ah->looked &&
		       atomic_load_explicit(&t->h.ports_generation,
					    memory_order_acquire) == ah->ports_generation;
	if (unlikely(!ah->multicast))
		return gid_serial(t, ah->dst_end) == ah->dst_serial;
	if (unlikely(ah->entry == SHM_NONE))
		return atomic_load_explicit(&t->h.groups_generation,
					    memory_order_acquire) ==
		       ah->groups_generation;
	return entry_is_true(t, ah);
}
/* Is `slot` run by the process `incarnation`, and alive? */
static inline bool slot_lives(const struct shm_tables *t, uint32_t slot,
			      uint32_t incarnation)
{
	const struct shm_slot *s = &t->slots[slot];

	return atomic_load_explicit(&s->state, memory_order_acquire) == SHM_SLOT_LIVE &&
	       atomic_load_explicit(&s->incarnation, memory_order_acquire) == incarnation;
}

/* send.c: under tx. 0: done, whatever became of it; SEND_AGAIN: tx was dropped meanwhile,
 * look at everything again; else an error of the call. */
#define SEND_AGAIN (-1)
int send_execute(struct engine_qp *qp, const struct ibv_send_wr *wr);
/* Under tx or engine_qp->lock. */
void complete_send(struct engine_qp *qp, const struct ibv_send_wr *wr,
		   enum ibv_wc_status status, uint32_t bytes);

/* send_held.c: what is posted in SQD waits there. */
/* Under tx: keep a copy. */
int send_hold(struct engine_qp *qp, const struct ibv_send_wr *wr);
/* Under tx: execute them. */
void send_held(struct engine_qp *qp);
/* Under engine_qp->lock: complete them with IBV_WC_WR_FLUSH_ERR; or forget them. */
void send_held_flush(struct engine_qp *qp);
void send_held_drop(struct engine_qp *qp);

/* cq.c. A completion is written in place, between cq_begin, which takes the queue's lock,
 * and cq_end, which drops it: copied, it would be read wide just after it was written
 * narrow. Null: the queue was full. Under rx, tx or engine_qp->lock. */
struct cq_entry *cq_begin(struct engine_cq *cq);
void cq_end(struct engine_cq *cq, bool solicited);
/* One of a receive that failed. False: the queue was full. */
bool cq_push(struct engine_cq *cq, const struct ibv_wc *wc, struct engine_qp *qp);
void cq_raise(struct engine_cq *cq);
/* Between cq_begin and cq_end: it comes so late, and all behind it do. */
void cq_stall(struct engine_cq *cq, uint32_t late_ms);
/* Under rx: show what is due. Returns when the next one is. */
uint64_t cq_show(struct engine_cq *cq, uint64_t now_ns);
/* Under the lock of the send CQ. */
static inline void sq_used_add(struct engine_qp *qp, uint32_t n)
{
	uint32_t used = atomic_load_explicit(&qp->sq_used, memory_order_relaxed);

	atomic_store_explicit(&qp->sq_used, used + n, memory_order_relaxed);
}
static inline bool sq_has_room(const struct engine_qp *qp)
{
	return atomic_load_explicit(&qp->sq_used, memory_order_relaxed) +
		       atomic_load_explicit(&qp->held, memory_order_relaxed) <
	       qp->config.cap.max_send_wr;
}
static inline void cq_notify(struct engine_cq *cq, bool solicited)
{
	int armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);

	if (unlikely(armed == CQ_ARMED_ANY || (armed == CQ_ARMED_SOLICITED && solicited)))
		cq_raise(cq);
}
/* Forget the completions of a queue pair. */
void cq_purge(struct engine_cq *cq, struct engine_qp *qp);

/* rq.c */
/* Under the lock of who posts to it: 0 or a positive errno. */
int rq_post(struct recv_queue *rq, uint32_t max_sge, const struct ibv_recv_wr *wr);
int rq_init(struct recv_queue *rq, uint32_t depth, uint32_t max_sge,
	    struct ring_source source);
void rq_fini(struct recv_queue *rq);
static inline struct recv_entry *rq_entry(struct recv_queue *rq, uint32_t i)
{
	return (struct recv_entry *)(rq->entries + (size_t)(i & rq->mask) * rq->stride);
}
/* Under rx: the oldest receive posted, or null. */
static inline struct recv_entry *rq_peek(struct recv_queue *rq)
{
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_relaxed);

	if (unlikely(head == rq->known_tail)) {
		rq->known_tail =
			atomic_load_explicit(&rq->tail, memory_order_acquire); /* Q1 */
		if (head == rq->known_tail)
			return NULL;
	}
	return rq_entry(rq, head);
}
static inline void rq_pop(struct recv_queue *rq)
{
	uint32_t head = atomic_load_explicit(&rq->head, memory_order_relaxed);

	atomic_store_explicit(&rq->head, head + 1, memory_order_release); /* Q2 */
}

/* srq.c: under rx, when a receive was taken from it. */
void srq_look_at_limit(struct engine_srq *srq, uint32_t limit);
static inline void srq_taken(struct engine_srq *srq)
{
	uint32_t limit = atomic_load_explicit(&srq->limit, memory_order_relaxed);

	if (unlikely(limit))
		srq_look_at_limit(srq, limit);
}

/* qp.c */
/* Under rx (and tx or not): to ERR, and flush. */
void qp_fail(struct engine_qp *qp);
struct engine_qp *qp_find(struct engine *e, uint32_t device, uint32_t qpn);
static inline int qp_state(const struct engine_qp *qp)
{
	return atomic_load_explicit(&qp->state, memory_order_acquire);
}
static inline const _Atomic uint16_t *qp_pkey_at(const struct engine_qp *qp)
{
	return &qp->port->pkeys[qp->attr.pkey_index];
}
static inline uint16_t qp_pkey(const struct engine_qp *qp)
{
	return atomic_load_explicit(qp_pkey_at(qp), memory_order_relaxed);
}

/* mcast.c: under rx */
int attachments_init(struct engine *e);
void attachments_fini(struct engine *e);
void attachments_unmap(struct engine *e);
/* Of a RoCE entry; null: nobody here is attached to it. */
static inline struct attachment *attachment_at(struct engine *e, uint32_t entry)
{
	return likely(e->rx.attached[entry / 64] >> (entry % 64) & 1)
		       ? &e->rx.attachments[entry]
		       : NULL;
}
void attachments_drop_qp(struct engine_qp *qp);
struct heard *attachment_heard_slow(struct engine *e, struct attachment *a,
				    struct sender *s);
/* Look up to whom a datagram to `entry` that was stamped with the generation goes. */
struct attachment *alias_look(struct engine *e, uint32_t entry, uint64_t generation);
static inline struct attachment *alias_find(struct engine *e, uint32_t entry,
					    uint64_t generation)
{
	const struct alias *alias = &e->rx.aliases[entry];

	if (unlikely(alias->epoch != e->rx.epoch || generation > alias->until))
		return alias_look(e, entry, generation);
	return likely(generation >= alias->since) ? alias->attachment : NULL;
}

/* mr.c: under tx or rx. The memory of [addr, addr + length) if `lkey` permits, else null. */
int mr_init(struct engine *e);
void mr_fini(struct engine *e);
static inline uint32_t mr_bucket(const struct mr_table *t, uint32_t lkey)
{
	return (lkey * 0x9e3779b1u >> 7) & t->mask;
}
static inline const struct mr *mr_find(const struct engine *e, uint32_t pd, uint32_t lkey,
				       unsigned int access)
{
	const struct mr_table *t = &e->mrs;
	const struct mr *mr;

	for (uint32_t b = mr_bucket(t, lkey);; b = (b + 1) & t->mask) {
		mr = &t->buckets[b];
		if (likely(mr->lkey == lkey && mr->used))
			break;
		if (!mr->used)
			return NULL;
	}
	if (unlikely(mr->pd != pd || (mr->access & access) != access))
		return NULL;
	return mr;
}
static inline uint8_t *mr_memory(const struct mr *mr, uint64_t addr, uint64_t length)
{
	if (unlikely(addr < mr->iova || length > mr->length ||
		     addr - mr->iova > mr->length - length))
		return NULL;
	return mr->addr + (addr - mr->iova);
}
static inline uint8_t *mr_translate(const struct engine *e, uint32_t pd, uint32_t lkey,
				    uint64_t addr, uint64_t length, unsigned int access)
{
	const struct mr *mr = mr_find(e, pd, lkey, access);

	return likely(mr) ? mr_memory(mr, addr, length) : NULL;
}
/* The same where it is mostly in the region of the one before, of which `last` is a copy:
 * for one access alone, and zeroed when a region goes. */
static inline uint8_t *mr_translate_near(const struct engine *e, struct mr *last,
					 uint32_t pd, const struct ibv_sge *sge,
					 uint64_t length, unsigned int access)
{
	if (unlikely(sge->lkey != last->lkey || pd != last->pd)) {
		const struct mr *mr = mr_find(e, pd, sge->lkey, access);

		if (!mr)
			return NULL;
		*last = *mr;
	}
	return mr_memory(last, sge->addr, length);
}

/* Counters have one writer each, the holder of a lock, so no locked addition is needed. */
static inline void count_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
			      atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

#endif
