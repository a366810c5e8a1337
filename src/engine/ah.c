// SPDX-License-Identifier: BSD-2-Clause
/*
 * Address handles: where a datagram goes, looked up once and kept as long as it is true.
 * Multicast: the group's entry and the doorbells of the processes in it. Unicast: the
 * port that has the GID, on InfiniBand the LID. All under tx.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"
#include "wire/gid.h"
#include "wire/ib_packet.h"

static void take_source(struct engine_ah *ah, const struct ibv_ah_attr *attr)
{
	uint32_t end = shm_log_end(ah->port_index, attr->grh.sgid_index, 0);

	ah->src_serial = gid_serial(ah->engine->tables, end);
	ah->gids = end;
}

static void init_roce(struct engine_ah *ah, const struct ibv_ah_attr *attr)
{
	take_source(ah, attr);
	ah->hops = (uint32_t)shm_log_hops(attr->grh.hop_limit, attr->grh.traffic_class,
					  attr->sl & 0xf);
	ah->multicast = gid_is_multicast(ah->dgid);
}

/* The LID says where it goes; a GRH goes along, or none does. */
static void init_infiniband(struct engine_ah *ah, const struct ibv_ah_attr *attr)
{
	ah->infiniband = true;
	ah->dlid = attr->dlid;
	ah->multicast = ib_lid_is_multicast(attr->dlid);
	if (attr->is_global) {
		take_source(ah, attr);
		ah->flow_label = attr->grh.flow_label & 0xfffff;
		ah->hops = (uint32_t)shm_log_hops(attr->grh.hop_limit,
						  attr->grh.traffic_class, attr->sl);
	} else {
		ah->gids = shm_log_end(ah->port_index, 0, 0);
		ah->hops = (uint32_t)(shm_log_hops(0, 0, attr->sl) | SHM_LOG_NO_GRH);
	}
	ah->gids |= shm_log_end(0, 0, attr->src_path_bits & 0x7f);
	if (ah->multicast)
		ah->gids |= (uint64_t)ah->flow_label << 32;
}

/* RoCE has nothing but GIDs. On InfiniBand a multicast datagram cannot do without, and an
 * SL has four bits. */
static bool is_sound(const struct engine *e, uint32_t port_index,
		     const struct ibv_ah_attr *attr)
{
	if (port_index >= SHM_PORTS_MAX)
		return false;
	if (attr->is_global && attr->grh.sgid_index >= SHM_GIDS_MAX)
		return false;
	if (e->tables->ports[port_index].link_layer != SHM_LINK_INFINIBAND)
		return attr->is_global;
	return attr->sl < 16 && (attr->is_global || !ib_lid_is_multicast(attr->dlid));
}

size_t engine_ah_bytes(void)
{
	return (sizeof(struct engine_ah) + 63) & ~(size_t)63;
}

int engine_ah_init(struct engine *e, uint32_t pd, uint32_t port_index,
		   const struct ibv_ah_attr *attr, struct engine_ah *ah)
{
	if (!is_sound(e, port_index, attr))
		return -EINVAL;
	memset(ah, 0, sizeof(*ah));
	ah->engine = e;
	ah->pd = pd;
	ah->port_index = (uint16_t)port_index;
	memcpy(ah->dgid, attr->grh.dgid.raw, 16);
	if (e->tables->ports[port_index].link_layer == SHM_LINK_INFINIBAND)
		init_infiniband(ah, attr);
	else
		init_roce(ah, attr);
	ah->entry = SHM_NONE;
	ah->groups_generation = UINT64_MAX; /* none yet */
	ah->dst_end = SHM_NONE;
	return 0;
}

int engine_ah_create(struct engine *e, uint32_t pd, uint32_t port_index,
		     const struct ibv_ah_attr *attr, struct engine_ah **ret)
{
	struct engine_ah *ah = aligned_alloc(64, engine_ah_bytes());
	int r;

	if (!ah)
		return -ENOMEM;
	r = engine_ah_init(e, pd, port_index, attr, ah);
	if (r < 0)
		free(ah);
	else
		*ret = ah;
	return r;
}

void engine_ah_fini(struct engine_ah *ah)
{
	struct engine *e = ah->engine;

	lock_take(&e->tx_lock);
	if (e->tx.last_ah == ah)
		e->tx.last_ah = NULL;
	ordinal_lead(&e->tx, ah, SHM_NONE);
	lock_drop(&e->tx_lock);
}

void engine_ah_destroy(struct engine_ah *ah)
{
	if (!ah)
		return;
	engine_ah_fini(ah);
	free(ah);
}

/* -- unicast ------------------------------------------------------------------------- */

/* Ports that share a GID: our own first, then the node's, then any. */
static int closeness(const struct shm_tables *t, uint32_t from, uint32_t port)
{
	if (port == from)
		return 3;
	return t->ports[port].node == t->ports[from].node ? 2 : 1;
}

static int gid_index_of(const struct shm_port *port, const uint8_t gid[16], uint32_t type)
{
	int found = -1;

	for (uint32_t i = 0; i < SHM_GIDS_MAX; i++) {
		const struct shm_gid_entry *g = &port->gids[i];

		if (!atomic_load_explicit(&g->valid, memory_order_acquire) ||
		    memcmp(g->gid, gid, 16) != 0)
			continue;
		if (g->type == type)
			return (int)i;
		if (found < 0)
			found = (int)i;
	}
	return found;
}

static void resolve_gid(struct engine *e, struct engine_ah *ah)
{
	const struct shm_tables *t = e->tables;
	uint32_t source = shm_log_end_gid(shm_log_low(ah->gids));
	uint32_t type = t->ports[ah->port_index].gids[source].type;
	int best = 0;

	for (uint32_t p = 0; p < SHM_PORTS_MAX; p++) {
		int index, close = closeness(t, ah->port_index, p);

		if (!t->ports[p].link_layer || close <= best)
			continue;
		index = gid_index_of(&t->ports[p], ah->dgid, type);
		if (index < 0)
			continue;
		best = close;
		ah->dst_end = shm_log_end(p, (uint32_t)index, 0);
		ah->dst_device = t->ports[p].device;
		ah->dst_serial = gid_serial(t, ah->dst_end);
	}
}

/* The port of the fabric that has the LID, and the LID's path bits. */
static uint32_t port_of_lid(const struct shm_tables *t, uint16_t lid, uint32_t *ret_bits)
{
	for (uint32_t p = 0; p < SHM_PORTS_MAX; p++) {
		const struct shm_port *port = &t->ports[p];
		uint32_t base = atomic_load_explicit(&port->lid, memory_order_relaxed);
		uint32_t lmc = atomic_load_explicit(&port->lmc, memory_order_relaxed);

		if (port->link_layer != SHM_LINK_INFINIBAND || !base || lid < base ||
		    lid - base >= 1u << (lmc & 7))
			continue;
		*ret_bits = lid - base;
		return p;
	}
	return SHM_NONE;
}

/* A GRH that names somebody else is refused where it arrives. */
static void resolve_lid(struct engine *e, struct engine_ah *ah)
{
	const struct shm_tables *t = e->tables;
	uint32_t bits, p = port_of_lid(t, ah->dlid, &bits);
	int index = 0;

	if (p == SHM_NONE ||
	    (p != ah->port_index && !shm_reaches(t, ah->port_index, ah->dlid)))
		return;
	if (!(ah->hops & SHM_LOG_NO_GRH))
		index = gid_index_of(&t->ports[p], ah->dgid, SHM_GID_IB);
	if (index < 0)
		return;
	ah->dst_end = shm_log_end(p, (uint32_t)index, bits);
	ah->dst_device = t->ports[p].device;
}

static void resolve_unicast(struct engine *e, struct engine_ah *ah)
{
	ah->looked = true;
	ah->ports_generation = atomic_load_explicit(&e->tables->h.ports_generation,
						    memory_order_acquire);
	ah->dst_end = SHM_NONE;
	if (ah->infiniband)
		resolve_lid(e, ah);
	else
		resolve_gid(e, ah);
}

/* -- multicast ----------------------------------------------------------------------- */

struct group_copy {
	uint32_t entry;
	uint64_t generation;
	uint64_t words[SHM_SLOT_WORDS];
};

/* False: there is no such group. */
static bool group_copy(struct engine *e, const struct engine_ah *ah, struct group_copy *g)
{
	do {
		g->entry = shm_group_find(e->tables, ah->port_index, ah->dgid, ah->dlid);
		if (g->entry == SHM_NONE)
			return false;
	} while (!shm_group_read(e->tables, g->entry, ah->port_index, ah->dgid, ah->dlid,
				 g->words, &g->generation));
	return true;
}

/* A member process that we cannot ring yet, and did not try to reach in vain. */
static uint32_t first_unknown(struct engine *e, const struct group_copy *g,
			      const uint64_t failed[SHM_SLOT_WORDS])
{
	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++)
		for (uint64_t bits = g->words[w] & ~failed[w]; bits; bits &= bits - 1) {
			uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if (!receiver_known(e, slot))
				return slot;
		}
	return SHM_NONE;
}

static void keep(struct tx *tx, struct engine_ah *ah, const struct group_copy *g,
		 const uint64_t failed[SHM_SLOT_WORDS])
{
	ah->words_used = 0;
	ah->members = false;
	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++) {
		ah->members |= g->words[w] != 0;
		ah->words[w] = g->words[w] & ~failed[w];
		if (ah->words[w])
			ah->words_used |= (uint16_t)(1u << w);
	}
	ordinal_lead(tx, ah, g->entry);
	ah->generation = g->generation;
	ah->checked = 0;
}

static bool resolve_multicast(struct engine *e, struct engine_ah *ah)
{
	uint64_t failed[SHM_SLOT_WORDS] = { 0 };
	bool dropped = false;

	ah->incomplete = false;
	for (;;) {
		uint64_t groups_generation = atomic_load_explicit(
			&e->tables->h.groups_generation, memory_order_acquire);
		struct group_copy g;
		uint32_t slot;
		int r;

		if (!group_copy(e, ah, &g)) {
			ordinal_lead(&e->tx, ah, SHM_NONE);
			ah->groups_generation = groups_generation;
			ah->words_used = 0;
			return !dropped;
		}
		slot = first_unknown(e, &g, failed);
		if (slot == SHM_NONE) {
			keep(&e->tx, ah, &g, failed);
			return !dropped;
		}
		tx_publish(e);
		dropped = true;
		r = receiver_map_unlocked(e, slot);
		if (r < 0) {
			failed[slot / 64] |= 1ull << (slot % 64);
			ah->incomplete |= r != -ENOENT;
		}
	}
}

bool ah_resolve_slow(struct engine *e, struct engine_ah *ah)
{
	if (ah->multicast)
		return resolve_multicast(e, ah);
	resolve_unicast(e, ah);
	return true;
}
