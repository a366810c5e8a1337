/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole subnet in virtual time, from a seed: hosts with the kernel's MAD layer, SA client,
 * interfaces and rdma_cm; links and switches; the subnet manager with its SA. Consumers on
 * the hosts join and leave at random while links, switches, requests and the SM fail at
 * random; then trouble ends, and what everybody believes is compared.
 *
 *   run.c        seeds, one after the other
 *   world.c      the subnet, time, and what is printed
 *   shapes.c     topologies at random
 *   partitions.c who has which P_Key
 *   manager.c    subnet managers with their SAs, and what reaches them
 *   host.c       an adapter's port as an IB device, and what the host runs on it
 *   consumer.c   who joins, as the SA client's header has it, and judges each callback
 *   cm_user.c    who joins by rdma_cm
 *   ledger.c     what each host was told, and where it may be wrong by the rules
 *   model.c      who may hear what, by the SA's answers alone; datagrams while it lasts
 *   rest.c       what is broken stays so: does what is left deliver?
 *   takeover.c   the master dies: is there another one in time?
 *   verdict.c    all is quiet: does it agree?
 *   actions.c    what happens
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/cm/cma.h"
#include "core/ipoib/ipoib.h"
#include "core/sa/ib_sa.h"
#include "fabric/net/fabric.h"
#include "fabric/sa/sa_server.h"
#include "fabric/sm/sm.h"
#include "harness/harness.h"

#define SIM_HOSTS_MAX      40u
#define SIM_MEMBERS_MAX    96u
#define SIM_IDS_MAX        24u
#define SIM_GROUPS         6u /* named 1 .. 6; 0 is of the SA's choice */
#define SIM_MANAGERS_MAX   3u
#define SIM_PARTITIONS_MAX 3u
#define SIM_OPEN_MAX       24u
#define SIM_TABLE_SMALL    10u /* MLIDs; tables with room for fewer are small */
#define SIM_FULL           (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL)
#define SIM_RECEIVES       (SA_JOIN_FULL | SA_JOIN_NON)
#define SECOND             (1000 * TIMER_MS)

/* -- what a host was told --------------------------------------------------------------- */

/*
 * A host and a group. The SA may hold a membership that the host does not have, or lack
 * one that it has, only where a request or answer was lost, was late, or the host has
 * forgotten all by an event (spec/kernel 2.6, 2.9): then, and until it is told anew, the
 * bits are in here.
 */
struct sim_pair {
	struct list link;
	union ib_gid mgid;
	uint8_t ghost, missing;
	uint8_t lapsed; /* was missing, and the host knows by now; its members do not */
	uint64_t live_tid;                     /* of the request under way; 0: none */
	uint64_t last_arrived, arrived_before; /* at the SA */
	uint64_t arrived_ns;                   /* when anything was asked last */
	bool struck; /* an event came since, and voids the answer */
	/* By the SA's answers as they leave it: what it holds, as what MLID; and requests
	 * that are at work there. */
	uint8_t held;
	uint16_t mlid;
	uint64_t mlids;   /* ever, as bits */
	uint8_t bereaved; /* lost with the last full member, of which nobody is told */
	uint8_t doubtful; /* held, but to leave it was refused */
	/* An answer has said that it is joined, and not all SAs have forgotten that since. */
	bool is_told;
	struct sim_open {
		uint64_t tid; /* 0: none */
		bool leaves;
		bool is_bereaved; /* the group ended since */
		bool is_over; /* what it made ended with the port, before the answer */
		uint8_t bits;
	} open[SIM_OPEN_MAX];
};

/* A request for an MGID of the SA's choice that has arrived there, and what was chosen:
 * however often it arrives, it is one group. The last few a host. */
#define SIM_CHOICES 16u
struct sim_choice {
	uint64_t tid;
	const struct sa_server *by; /* whose choice it was; null: not answered */
	union ib_gid mgid;
};

struct sim_host {
	struct ib_device ib;
	struct fabric_port *port;
	unsigned int number;
	bool alive;  /* it runs; else nobody is behind the port */
	bool active; /* its port, when we last looked */
	bool with_ip;
	struct ib_node *node;
	struct ib_mad *mad;
	struct ib_sa *sa;
	struct ib_sa_client client;
	struct ipoib *ipoib;
	struct cma *cma;
	struct timer cma_runs;
	struct list pairs;
	struct sim_choice choices[SIM_CHOICES];
	unsigned int next_choice;
	bool has_tables; /* multicast gets to it, if all is up */
	/* It has asked for groups without a name, and an SA died since: a late copy may have
	 * been at work there, and made one. */
	bool has_nameless;
};

/* -- consumers -------------------------------------------------------------------------- */

enum sim_member_state {
	SIM_FREE,
	SIM_JOINING,
	SIM_JOINED,
	SIM_FAILED, /* it had an answer, or lost it: to be freed */
};

struct sim_member {
	enum sim_member_state state;
	struct sim_host *host;
	struct ib_sa_multicast *multicast;
	struct ib_sa_mcmember_rec wish;
	uint64_t mask;
	union ib_gid mgid; /* once it is joined */
	bool wanted;       /* it joins again, as often as it takes */
	bool contradicts;  /* others have made the group otherwise, or may */
	bool in_callback;
	uint64_t pause_ns;
	struct timer again;
};

struct sim_id {
	struct cma_id *id; /* null: free */
	struct sim_host *host;
	struct cma_multicast *multicast;
	bool is_answered, is_lost, is_removed;
};

/* -- the subnet's managers -------------------------------------------------------------- */

struct sim_manager {
	struct fabric_port *port;
	struct sim_host *host; /* behind whose adapter; null: a switch's port 0 */
	struct sa_server *server;
	struct sm *sm; /* null: it does not run */
	bool serving;  /* its SA was told to be up */
};

enum sim_membership {
	SIM_NO_MEMBER,
	SIM_LIMITED,
	SIM_FULL_MEMBER,
};

/* What a run has in it. */
struct sim_profile {
	unsigned int hosts, switches;
	/* Millionths: of a hop; of an SA's datagrams; of traps. */
	uint32_t loss, late, twice, deaf;
	bool links, power, restarts, faults, kills, contradictions, with_ip, callbacks;
	/* sim.subnet's alone. */
	unsigned int managers;
	bool managers_on_hosts;
	unsigned int partitions; /* 0: all ports are full members of the default one */
	bool repartitions;
	bool is_lame;  /* switches have no multicast table, or a small one */
	bool is_small; /* there are fewer MLIDs than groups */
	uint8_t lmc;
	bool lmcs_differ; /* each manager has another one */
	unsigned int actions;
	uint64_t pause_ns;
};

struct sim {
	uint64_t seed;
	bool trace;
	bool wide; /* all that sim.subnet has beside sim.joins */
	struct timer_queue timers;
	struct random random;
	struct sim_profile profile;
	struct topology *topology;
	struct fabric *fabric;
	struct sim_manager managers[SIM_MANAGERS_MAX];
	uint8_t membership[SIM_PARTITIONS_MAX][SIM_HOSTS_MAX]; /* enum sim_membership */
	struct sim_host hosts[SIM_HOSTS_MAX];
	unsigned int host_count;
	struct sim_member members[SIM_MEMBERS_MAX];
	struct sim_id ids[SIM_IDS_MAX];
	bool in_call;          /* of the SA client's: no callback may come */
	bool quiet;            /* trouble is over */
	bool was_split;        /* there were two masters, each of which knows a part */
	uint64_t answered_ns;  /* an SA's last answer to a join or leave */
	uint64_t disturbed_ns; /* something has changed that managers see, or were they */
	uint64_t hop_ns;
	uint32_t loss; /* at this moment; millionths, a hop */
	/* over all runs, to see that something has happened */
	uint64_t joined, failed, resets, restarts, ghosts, deliveries, rejoins, showers,
		inherited;
	uint64_t repeated_choices;
	/* Groups judged at rest; with an MLID beyond some switch's table; members that are
	 * cut off then. */
	uint64_t rested, beyond, cut_off;
	/* Of ports: their state, their LID, or told to register anew. Of members that the
	 * SA has: reset. */
	uint64_t upsets;
	uint64_t takeovers; /* judged */
};
extern struct sim sim;

/* -- run.c ------------------------------------------------------------------------------ */

/* As the environment says, else so many seeds from 1 on; prints what has happened. */
void sim_run_seeds(bool wide, uint64_t count);
/* These alone, unless the environment names others. */
void sim_run_these(bool wide, const uint64_t *seeds, size_t count);

/* -- world.c ---------------------------------------------------------------------------- */

void sim_begin(uint64_t seed);
void sim_end(void);
void sim_run(uint64_t ns);
/* A line of the trace, if one is wanted. */
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The run fails, with its seed. */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define sim_check(condition, ...)              \
	do {                                   \
		if (!(condition))              \
			sim_fail(__VA_ARGS__); \
	} while (0)
unsigned int sim_below(unsigned int bound);
bool sim_chance(unsigned int percent);
/* From now on. */
void sim_loss(uint32_t loss);
/* No loss, no fault. */
void sim_end_noise(void);
/* Every cable, all power. */
void sim_mend(void);
/* All that, and an SM. */
void sim_end_trouble(void);
const char *sim_mgid(const union ib_gid *mgid); /* for messages */

/* -- shapes.c --------------------------------------------------------------------------- */

int sim_shape(unsigned int hosts, struct topology **ret);
/* Of each host, whether all switches with a multicast table hang together, and it on them. */
void sim_find_tables(void);

/* -- partitions.c ----------------------------------------------------------------------- */

void sim_partitions_choose(void);
/* As SMs are given them; null: none. */
const struct sm_partition *sim_partitions(unsigned int *ret_count);
/* The operator changes his mind, and the SMs are told to look. */
void sim_partitions_change(void);
/* Of a group's name. */
uint16_t sim_pkey_of_group(unsigned int group);
enum sim_membership sim_membership(const struct sim_host *host, uint16_t pkey);

/* -- manager.c -------------------------------------------------------------------------- */

void sim_manager_start(struct sim_manager *m);
/* That it gives adapters' ports. */
uint8_t sim_manager_lmc(const struct sim_manager *m);
/* As if it were killed. */
void sim_manager_stop(struct sim_manager *m);
/* The one that serves, or one of them; null: none does. */
struct sim_manager *sim_master(void);
/* What arrives at the host is for an SM there. */
bool sim_manager_takes(struct sim_host *host, const struct ib_packet *packet);
void sim_managers_host_stops(const struct sim_host *host);
void sim_managers_forget_late(void);

/* -- host.c ----------------------------------------------------------------------------- */

void sim_host_start(struct sim_host *host);
/* Its consumers must be gone. */
void sim_host_stop(struct sim_host *host);
void sim_host_remove_device(struct sim_host *host);
void sim_host_gid(const struct sim_host *host, union ib_gid *ret);
struct sim_host *sim_host_by_gid(const union ib_gid *gid); /* null: nobody's */

/* -- consumer.c, cm_user.c -------------------------------------------------------------- */

struct sim_member *sim_member_free(void); /* one that is free, or null */
void sim_member_join(struct sim_member *m, struct sim_host *host, unsigned int group);
void sim_member_leave(struct sim_member *m);
void sim_id_act(struct sim_host *host);
void sim_id_destroy(struct sim_id *id);
/* All of them on the host; null: on every one. */
void sim_consumers_leave(struct sim_host *host);

/* -- ledger.c --------------------------------------------------------------------------- */

struct sim_pair *sim_pair(struct sim_host *host, const union ib_gid *mgid);
void sim_pairs_free(struct sim_host *host);
/* The host has forgotten all that it had joined; so has the SA, or will. */
void sim_ledger_struck(struct sim_host *host, bool sa_too);
/* The SA has forgotten all that the host's port had joined. */
void sim_ledger_port_out(struct sim_host *host);
/* Nobody waits for its answers any more. */
void sim_ledger_host_stopped(struct sim_host *host);
/* An SA answers no more of what it was asked; another may inherit what it has done. */
void sim_ledger_sa_is_silent(void);
/* No SA holds anything that it was told before. */
void sim_ledger_sa_is_new(void);
/* A MAD of the SA client leaves; an answer comes. It is said again at once if nobody had
 * waited for that. */
void sim_ledger_asked(struct sim_host *host, const uint8_t *mad);
void sim_ledger_heard(struct sim_host *host, const uint8_t *mad);
void sim_ledger_unheard(void);
/* A request arrives at the SA, and is dropped at once if that is said next; an answer
 * leaves it. */
void sim_ledger_arrived(const uint8_t *mad);
void sim_ledger_dropped(void);
void sim_ledger_answered(const uint8_t *mad, const struct sa_server *by);
/* Another SA serves from now on, or one that has forgotten. */
void sim_ledger_choices_are_over(void);

/* -- model.c ---------------------------------------------------------------------------- */

/* As the ledger's: of a change of a membership. */
void sim_model_arrived(struct sim_pair *pair, uint64_t tid, bool leaves, uint8_t bits);
void sim_model_answered(struct sim_pair *pair, const struct mad_header *header,
			const struct sa_mcmember *rec);
void sim_model_port_out(struct sim_host *host);
/* The master's SA is silent from now on: a leave that was at work may have ended its group,
 * though nobody was told. */
void sim_model_silent(void);
void sim_model_forget(void);
/* No request is at work at an SA, nor was one for so long. */
bool sim_model_is_still(uint64_t ns);
/* An answer has told the host that it has joined; it may have left since. */
bool sim_model_is_told(struct sim_host *host, const union ib_gid *mgid);
/* Somebody has asked to join or leave it since then, or had no answer then. */
bool sim_model_has_moved(const union ib_gid *mgid, uint64_t since_ns);
/* Somebody sends to a group: who is reached? */
void sim_shower(void);

/* -- rest.c ----------------------------------------------------------------------------- */

void sim_rest(void);
/* A switch that is on has a table that ends before it. */
bool sim_is_beyond_a_table(uint16_t mlid);

/* There is a way of links that are up. */
bool sim_hang_together(const struct fabric_port *a, const struct fabric_port *b);

/* -- takeover.c ------------------------------------------------------------------------- */

/* The manager is about to die; judged within a second if it can be. */
void sim_takeover_watch(const struct sim_manager *dying);
/* What is done now is not the managers' fault. */
void sim_disturb(void);
void sim_takeover_forget(void);

/* -- verdict.c, actions.c --------------------------------------------------------------- */

void sim_verdict(void);
/* All ports have gone: no group has a member. */
void sim_verdict_empty(void);
void sim_act(void);
/* Somebody joins or leaves. */
void sim_act_calmly(void);

#endif
