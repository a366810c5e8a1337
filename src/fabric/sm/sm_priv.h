/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the subnet manager.
 *
 *   sm.c         the object, what arrives at the port, the calls of sm.h
 *   subnet.c     the database: nodes, ports, look-ups
 *   smp.c        requests: a bounded number on the wire, retries, timeouts
 *   ask.c        requests of the SA
 *   sweep.c      the phases of a sweep, one after the other; when the next is due
 *   discovery.c  phase: walk the subnet
 *   commit.c     phase: make what was found the subnet, tell what is gone
 *   lids.c       phase: LIDs for every port
 *   pkeys.c      phase: P_Key tables
 *   enforcement.c  phase: and those of switches' ports
 *   partitions.c partitions from a file
 *   graph.c      the switches as a graph
 *   routes.c     phase: up/down routes to every LID
 *   tables.c     phases: write LFTs and SwitchInfo
 *   mcast.c      multicast tables are written, in sweeps and between them
 *   cells.c      what they ought to be, and what they are
 *   forests.c    by which switches an MLID may go, and the ways there
 *   trees.c      a tree for every group
 *   ports.c      phases: PortInfo, ARMED, ACTIVE
 *   election.c   SMInfo: who is master
 *   traps.c      notices
 */
#ifndef FABRIC_SM_SM_PRIV_H
#define FABRIC_SM_SM_PRIV_H

#include "fabric/sm/sm.h"
#include "fabric/sm/subnet.h"
#include "wire/bytes.h"

#define SM_WIRE_MAX    256u /* requests on the wire: a slot number is a byte of the TID */
#define SM_LID_MAX     0xbfffu
#define SM_MLIDS       0x3fffu /* 0xc000 .. 0xfffe */
#define SM_TRAPS_KNOWN 16u
#define SM_LIFE_TIME   18u /* of packets in a switch (spec/sa-sm 3.4) */
#define SM_ROUTE_NONE  0xffu
#define SM_MLIDS_BLOCK 32u
#define SM_LIDS_BLOCK  64u
#define SM_SWITCH_NONE UINT32_MAX
#define SM_PORTS_WORD  16u /* ports in a word of a multicast table */
#define SM_REMOTES_MAX 8u

struct sm_switch;

/* What the SM keeps of a port beside struct subnet_port. */
struct sm_port {
	/* The port of the node before it that leads here, on the way that the last sweep
	 * found; of a switch port 0's counts. Null: the SM's own. */
	struct subnet_port *via;
	struct subnet_port
		*claim; /* whom this sweep saw at the other end, till its commit */
	bool found;     /* by this sweep, with a link */
	bool asked;     /* its neighbour is or was asked for in this sweep */
	bool pkeys_known;
	bool told;              /* the client heard port_in */
	bool arrived;           /* new or restarted: it is to register anew */
	bool has_guid, has_lid; /* is in the table */
	uint16_t lid;           /* ours for it, the first of 2^LMC; 0: none */
	uint16_t lid_there;     /* what it has */
	uint8_t lmc_there;
};

struct sm_node {
	struct subnet_node *node;
	struct hash_node by_guid; /* of all nodes, also of those found in this sweep */
	struct sm_port *ports;
	struct sm_switch *sw; /* null: an adapter */
	bool committed;       /* it is in the subnet that the SA sees */
	bool found;           /* by this sweep */
	bool described;
	bool failed; /* left a request without an answer in this sweep */
};

/* A link as one switch sees it. */
struct sm_edge {
	uint32_t to; /* switch number */
	uint8_t port, peer_port;
	bool up; /* `to` is above */
};

/* One block of a multicast table, for sixteen ports. */
struct sm_cell {
	struct list link; /* in sm->mc.cells, or unlinked */
	struct sm_switch *sw;
	uint16_t block;
	uint8_t position;
	bool known; /* `have` is what the switch has */
	uint16_t want[SM_MLIDS_BLOCK], have[SM_MLIDS_BLOCK];
};

struct sm_switch {
	struct subnet_node *node;
	uint32_t index; /* in sm->switches */
	bool has_hosts;
	/* The linear table as it ought to be and as it is, whole blocks. */
	uint8_t *lft_want, *lft_have;
	bool *lft_known; /* blocks */
	uint32_t lft_blocks;
	struct sm_edge *edges; /* sorted by `to` */
	uint32_t edge_count;
	uint8_t *turns; /* places of edges: one to each neighbour, then the second ones */
	uint32_t *load; /* routes through each port */
	uint32_t level; /* of up/down: greater is above */
	/* The multicast table: [block * positions + position], null: never used. */
	struct sm_cell **cells;
	uint32_t cell_count;
	uint8_t positions;
	bool mft_adopted; /* cells stand for whatever the switch may have in its table */
	bool inherited;   /* and that counts: it is read, not emptied */
	bool top_asked;   /* by this pass */
	uint16_t mft_top; /* what we want it to be at the least */
	uint32_t eccentricity;
};

struct sm_smp;
typedef void (*sm_smp_fn)(struct sm *sm, struct sm_smp *smp, int error,
			  const uint8_t *data);

/* Whose a request is: each kind is counted, and dropped, by itself. */
enum sm_kind {
	SM_KIND_SWEEP,
	SM_KIND_MCAST,
	SM_KIND_ELECTION,
	SM_KIND_ASK,
	SM_KINDS,
};

/*
 * A request. Created by sm_smp_new, given away by sm_smp_queue; freed after `done`, which
 * comes once: 0, -ETIMEDOUT, -EREMOTEIO (a status), or -ECANCELED (the node is gone).
 */
struct sm_smp {
	struct list link; /* in a queue; unlinked on the wire */
	struct timer timer;
	struct sm *sm;
	struct subnet_port *to; /* null: the SM's own port, before it is known */
	uint8_t beyond; /* one hop further, through this port of it; 0: `to` itself */
	bool once;      /* no repetition */
	bool hasty;     /* none either, but where datagrams are lost */
	enum sm_kind kind;
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	uint64_t tid;
	unsigned int tries;
	sm_smp_fn done;
	void *arg;
	struct sm_question *question; /* of SM_KIND_ASK */
	uint8_t data[SMP_DATA_BYTES];
};

/* What a phase has done when asked to go on. */
enum sm_step {
	SM_STEP_SENT,   /* a request is on its way, there may be more */
	SM_STEP_WORKED, /* computed for a while, there may be more: come back later */
	SM_STEP_WAIT,   /* somebody will call sm_sweep_go */
	SM_STEP_DONE,   /* over when all requests are answered */
};

struct sm_phase {
	const char *name;
	void (*begin)(struct sm *sm);
	enum sm_step (*next)(struct sm *sm);
	void (*end)(struct sm *sm); /* may end the sweep: sm_sweep_stop */
};
extern const struct sm_phase sm_phase_renew, sm_phase_discover, sm_phase_elect,
	sm_phase_commit, sm_phase_lids, sm_phase_address, sm_phase_pkeys,
	sm_phase_enforce, sm_phase_graph, sm_phase_routes, sm_phase_linear,
	sm_phase_switch_info, sm_phase_mcast, sm_phase_arm, sm_phase_activate,
	sm_phase_announce;
extern const struct sm_phase sm_phase_light;

struct sm_waiter {
	struct list link;
	void (*done)(void *arg, int error);
	void *arg;
};

struct sm_group {
	struct list dirty; /* in sm->mc.dirty_groups or sm->mc.pass, or unlinked */
	uint16_t mlid;
	struct sm_mc_member *members;
	uint32_t member_count;
	uint32_t component; /* of its forest in which its tree is; or SM_SWITCH_NONE */
	uint32_t cut_off;   /* members that are in the subnet and not on the tree */
	uint32_t *tree;     /* numbers of the switches that have an entry */
	uint32_t tree_count;
	struct list waiting; /* sm_waiter: for a pass that has not begun */
	struct list riding;  /* for the one that is under way */
	int error;
	bool held;    /* a pass has failed it once already */
	bool changed; /* since it was computed */
};

/* The ways from one root to all switches of its component, for members of any group. */
struct sm_tree {
	uint32_t root;
	uint32_t *parent; /* SM_SWITCH_NONE: root, or not reached */
	uint32_t *edge;   /* of the switch, first of those that lead to the parent */
	uint16_t *edges;  /* how many */
	uint16_t *depth;
};

/* The switches that have room for some MLIDs. Created by the first group that has one of
 * them, freed when routes are computed anew. */
struct sm_forest {
	struct sm_forest *next;
	uint32_t first, end; /* MLIDs, from 0xc000 on; the last is not in it */
	uint32_t switch_count;
	uint32_t *component; /* by switch; SM_SWITCH_NONE: has no room */
	/* Switches that may be roots, those of a component together. */
	uint32_t *roots, *root_start, component_count;
	struct sm_tree **trees; /* by root; null: not yet needed */
	uint32_t *tally;        /* of the group being computed: members, by component */
};

enum sm_mc_stage {
	SM_MC_IDLE,
	SM_MC_ADOPT, /* new switches, and those that have been reset */
	SM_MC_READ,  /* tables that are inherited */
	SM_MC_COMPUTE,
	SM_MC_REMOVE, /* entries that must go, before any that must come */
	SM_MC_TOP,
	SM_MC_ADD,
};

struct sm_mcast {
	struct sm_group *groups[SM_MLIDS];
	struct list dirty_groups, pass; /* sm_group.dirty */
	struct list refused;            /* sm_waiter: no such MLID */
	struct list cells;              /* sm_cell.link: may differ from the switch */
	struct list *cursor;            /* the next of `pass` or `cells` */
	struct timer timer;
	enum sm_mc_stage stage;
	bool blocked; /* the switches are being numbered anew */
	bool failed;  /* some request of this pass */
	bool restart; /* all groups anew, in the next pass */
	uint32_t switch_cursor, group_cursor;
	bool bad_block[SM_MLIDS / SM_MLIDS_BLOCK + 1]; /* something was not removed */
	struct sm_forest *forests;
	uint32_t grown; /* forests and trees that were made in all */
	/* Of the group being computed, by switch. */
	uint32_t *receivers, *members, *stamp, *touched;
	uint32_t stamp_now, touched_count;
	uint32_t groups_cut_off; /* that have members of that kind */
	uint64_t cut_off_told;   /* members, as the log was told */
};

enum sm_sweep_kind {
	SM_SWEEP_NONE,
	SM_SWEEP_HEAVY,
	SM_SWEEP_LIGHT,
};

struct sm_sweep {
	enum sm_sweep_kind kind;
	const struct sm_phase *const *phase; /* in a list that ends with null */
	bool begun;
	struct timer next;  /* the next sweep */
	struct timer later; /* go on with this one */
	bool wanted;        /* a heavy one, as soon as this one is over */
	bool failed;
	bool lossy;    /* answers came, but not to first requests */
	bool changed;  /* the light sweep saw something */
	bool topology; /* differs from the one that is routed */
	bool regroup;  /* trees belong to another graph */
	struct list *node_cursor;
	uint32_t timeouts;
	unsigned int aborted, failures; /* in a row */
	uint64_t began_ns, began_retries;
	uint32_t cursor, cursor2;
};

struct sm_graph {
	/* For routes to one switch, by switch. */
	uint16_t *dist;
	uint8_t *way; /* enum in routes.c */
	uint32_t *queue, *queue2;
	uint8_t *stride; /* enough for the offsets of LIDs; in routes.c */
	bool by_leaves;  /* levels are distances from the hosts, not from a root */
	/* Ports with LIDs, by the switch they hang on. */
	uint32_t *host_start;
	struct sm_host {
		uint16_t lid; /* and those that follow */
		uint8_t lids; /* 0: there were none for it */
		uint8_t port;
	} * hosts;
};

struct sm {
	struct sm_config config;
	enum sm_state state;
	bool up;      /* the last heavy sweep left nothing to be done */
	bool serving; /* the client was told `up` */
	/* Another master may have written what it liked; also into what was ours alone: until
	 * a sweep that began with that has seen who is master. */
	bool doubting, doubting_all;
	bool contested; /* there is or was one in our part of the subnet */
	bool blind;     /* as master we had no link for a while, and saw nothing */
	/* The client has all that the last master had: until what it has set up is found,
	 * and until its tables are read. */
	bool inheriting_ports, inheriting;
	uint16_t inherited_lid; /* its LID, until all ports have ours; 0: it is over */
	uint64_t master_since_ns;
	struct timer start;
	uint32_t tag; /* upper half of TIDs */

	/* Requests. */
	struct list queues[SM_KINDS];
	uint32_t outstanding[SM_KINDS]; /* queued or on the wire */
	uint32_t on_wire;
	uint32_t serial;
	struct sm_smp *slots[SM_WIRE_MAX];
	uint8_t free_slots[SM_WIRE_MAX];

	/* The database. */
	struct subnet subnet;
	struct hash nodes; /* sm_node, all */
	struct list found; /* subnet_node.link: not yet in the subnet */
	struct subnet_port *own;
	struct sm_switch **switches;
	uint32_t switch_count;
	struct subnet_port **ends; /* ports with a LID, the SM's first, then switches' */
	uint32_t end_count;
	uint32_t mlid_capacity;
	/* The next arrays, while they are made. */
	struct sm_switch **new_switches;
	struct subnet_port **new_ends;
	uint32_t new_switch_count, new_end_count, new_mlid_capacity;
	uint64_t *lid_owner;                  /* GUIDs by LID; 0: free */
	struct hash leases;                   /* by GUID */
	uint16_t lid_cursors[SM_LMC_MAX + 1]; /* by LMC: no lower LIDs are free */
	uint16_t lid_top;
	bool lids_released; /* by this sweep */
	uint64_t lidless;   /* ports, that this sweep has met */
	uint32_t duplicates;
	bool renumbered; /* another master gave our own port another LID */

	struct sm_sweep sweep;
	struct sm_graph graph;
	struct sm_mcast mc;

	/* Election: other SMs of the last sweep, and whom a standby polls. */
	struct sm_remote {
		struct subnet_port *port;
		struct smp_sm_info info;
	} remotes[SM_REMOTES_MAX];
	unsigned int remote_count;
	struct timer poll;
	struct subnet_port *master;
	struct subnet_port *dead; /* a master that did not answer, for the next sweep */
	unsigned int waits;       /* for a lesser SM, which may have the groups */
	unsigned int poll_misses, polls_good;
	uint16_t master_lid;       /* as our own port was told it; 0: not yet */
	uint64_t greater_since_ns; /* a greater SM is waiting; 0: none */
	uint32_t act_count;

	struct {
		uint64_t tid;
		uint16_t slid, trap;
	} traps[SM_TRAPS_KNOWN];
	unsigned int trap_cursor;

	struct sm_counters counters;
};

/* -- subnet.c -------------------------------------------------------------------------- */

int sm_subnet_init(struct sm *sm);
void sm_subnet_fini(struct sm *sm);
static inline struct sm_node *sm_node_of(const struct subnet_node *node)
{
	return node->sm;
}
static inline struct sm_port *sm_port_of(const struct subnet_port *port)
{
	return &sm_node_of(port->node)->ports[port->num];
}
static inline bool sm_is_switch(const struct subnet_node *node)
{
	return node->info.node_type == SMP_NODE_SWITCH;
}
/* The port by which a node is spoken to: port 0 of a switch. */
static inline struct subnet_port *sm_end_of(struct subnet_port *port)
{
	return sm_is_switch(port->node) ? &port->node->ports[0] : port;
}
/* What the port's ought to be. */
static inline uint8_t sm_lmc_of(const struct sm *sm, const struct subnet_port *port)
{
	return sm_is_switch(port->node) ? 0 : sm->config.lmc;
}
/* On the list sm->found. Null: no memory. */
struct sm_node *sm_node_create(struct sm *sm, const struct smp_node_info *info);
struct sm_node *sm_node_find(const struct sm *sm, uint64_t guid);
/* Out of all tables and lists; its requests are dropped. */
void sm_node_destroy(struct sm *sm, struct sm_node *n);
void sm_port_publish(struct sm *sm, struct subnet_port *port);
void sm_port_withdraw(struct sm *sm, struct subnet_port *port);
void sm_port_set_lid(struct sm *sm, struct subnet_port *port, uint16_t lid);
/* What it has by its own word; where we have given it LIDs, these count. */
void sm_port_take_info(const struct sm *sm, struct subnet_port *port,
		       const struct smp_port_info *now);
/* Forget what the switches have: another SM may have written, or power was lost. */
void sm_switch_forget(struct sm_switch *sw);
void sm_switch_destroy(struct sm_switch *sw);
uint32_t sm_guid_hash(uint64_t guid);

/* -- smp.c ----------------------------------------------------------------------------- */

void sm_smp_init(struct sm *sm);
/* Drops all. */
void sm_smp_fini(struct sm *sm);
struct sm_smp *sm_smp_new(struct sm *sm, enum sm_kind kind, struct subnet_port *to,
			  uint8_t method, uint16_t attr, uint32_t mod, sm_smp_fn done);
void sm_smp_queue(struct sm_smp *smp);
/* Without a word to their owners. */
void sm_smp_drop(struct sm *sm, enum sm_kind kind);
/* That one alone, as if it had not been asked. */
void sm_smp_forget(struct sm_smp *smp);
/* `done` is called with -ECANCELED. */
void sm_smp_cancel_node(struct sm *sm, const struct subnet_node *node);
void sm_smp_answered(struct sm *sm, const struct mad_header *h, const uint8_t *mad);
static inline bool sm_smp_room(const struct sm *sm, enum sm_kind kind)
{
	return sm->outstanding[kind] < sm->config.smps_on_wire;
}

/* -- sweep.c --------------------------------------------------------------------------- */

void sm_sweep_init(struct sm *sm);
void sm_sweep_fini(struct sm *sm);
/* Heavy: `delay_ns` from now, or right after the one that is under way. */
void sm_sweep_want(struct sm *sm, uint64_t delay_ns);
/* Light, unless another one is sooner or under way. */
void sm_sweep_look(struct sm *sm, uint64_t delay_ns);
/* Go on, at once or from the timers. */
void sm_sweep_go(struct sm *sm);
/* End it here; the next one is due as `next_ns` says; UINT64_MAX: when somebody wants. */
void sm_sweep_stop(struct sm *sm, uint64_t next_ns);
/* The answer to a request of the sweep: true if there is none, which is noted. */
bool sm_sweep_failed(struct sm *sm, struct sm_smp *smp, int error);
/* A request, or the memory for it. */
struct sm_smp *sm_sweep_ask(struct sm *sm, struct subnet_port *to, uint8_t method,
			    uint16_t attr, uint32_t mod, sm_smp_fn done);

/* -- the phases --------------------------------------------------------------- */

/* To the client, if it serves: what the port has joined is over. */
void sm_tell_anew(struct sm *sm, const struct subnet_port *port);
int sm_lids_init(struct sm *sm);
void sm_lids_fini(struct sm *sm);
/* Another one gives LIDs meanwhile. */
void sm_lids_forget(struct sm *sm);
/* The client may serve. */
void sm_serve(struct sm *sm);
/* The switch's port is to check P_Keys. */
bool sm_is_enforced(const struct sm *sm, const struct subnet_port *port);
void sm_graph_free(struct sm *sm);
void sm_graph_level_by_root(struct sm *sm);
/* The switch at which the port's LID is delivered, and through which of its ports; null:
 * none, two adapters back to back. */
struct sm_switch *sm_switch_of(struct subnet_port *port, uint8_t *out);
enum sm_switch_info_flags {
	SM_CLEAR_CHANGE = 1u << 0,
	SM_LOWER_TOP = 1u << 1, /* of the multicast table: below all MLIDs */
};
/* A Set of SwitchInfo, with the top of both tables as they ought to be. */
void sm_switch_info_put(const struct sm *sm, const struct sm_switch *sw,
			unsigned int flags, uint8_t *data);
/* The top of its multicast table counts. */
static inline bool sm_switch_has_top(const struct sm_switch *sw)
{
	return sw->node->ports[0].info.cap_mask & SMP_CAP_MFT_TOP;
}

/* -- mcast.c, cells.c, forests.c, trees.c ---------------------------------------------- */

int sm_mcast_init(struct sm *sm);
void sm_mcast_fini(struct sm *sm);
/* The switches are numbered anew: nothing is written until the phase is there. */
void sm_mcast_block(struct sm *sm);
/* No longer master: groups are forgotten, who waits hears -ETIMEDOUT. */
void sm_mcast_reset(struct sm *sm);
/* There are other routes: forgets old trees. */
int sm_trees_begin(struct sm *sm);
void sm_trees_free(struct sm *sm);
void sm_forests_free(struct sm *sm);
/* Has a multicast table at all. */
static inline bool sm_switch_is_capable(const struct sm_switch *sw)
{
	return sw->node->switch_info.mft_cap > 0;
}
/* For the MLID, counted from 0xc000. */
static inline bool sm_switch_has_room(const struct sm_switch *sw, uint32_t index)
{
	return index < sw->node->switch_info.mft_cap;
}
/* That of the MLID; null: not made, or no memory. */
struct sm_forest *sm_forest_find(const struct sm *sm, uint16_t mlid);
struct sm_forest *sm_forest_get(struct sm *sm, uint16_t mlid);
/* From a root that the hash chooses; null: no memory. */
const struct sm_tree *sm_tree_get(struct sm *sm, struct sm_forest *f, uint32_t component,
				  uint32_t hash);
/* So many members of the group are not on its tree. */
void sm_group_cut_off(struct sm *sm, struct sm_group *g, uint32_t count);
/* What the tables ought to be for a group. 0, or -ENOSPC, -ENOMEM, by which some member is
 * not reached. */
int sm_group_compute(struct sm *sm, struct sm_group *g);
/* The group's cell of the table; null: never used. */
struct sm_cell *sm_cell_find(const struct sm_switch *sw, uint16_t mlid,
			     unsigned int position);
/* Created if need be; null: no memory, or no room in the switch. */
struct sm_cell *sm_cell_get(struct sm *sm, struct sm_switch *sw, uint16_t block,
			    unsigned int position);
/* On the list if it may differ from what the switch has. */
void sm_cell_check(struct sm *sm, struct sm_cell *cell);
bool sm_cell_differs(const struct sm_cell *cell);
/* It differs, or does not count yet. */
bool sm_cell_is_unfinished(const struct sm_cell *cell);
/* What is written does not count while the switch's top is below it. */
bool sm_switch_top_is_low(const struct sm_switch *sw);
/* Cells for what the switch may have, and all that differ on the list. */
void sm_cells_look_at(struct sm *sm, struct sm_switch *sw);

/* -- election.c, traps.c --------------------------------------------------------------- */

void sm_election_init(struct sm *sm);
void sm_election_fini(struct sm *sm);
void sm_election_request(struct sm *sm, const struct ib_packet *packet);
/* Another SM was found at the port by this sweep. */
void sm_election_found(struct sm *sm, struct subnet_port *port);
/* Is there another master, or a greater SM? */
void sm_election_look(struct sm *sm);
void sm_become_standby(struct sm *sm, struct subnet_port *master);
void sm_become_master(struct sm *sm);
void sm_trap(struct sm *sm, const struct ib_packet *packet);
/* Answer a MAD where it came from: method and data are set, the rest is the request's. */
void sm_reply(struct sm *sm, const struct ib_packet *request, uint8_t *mad);

#endif
