// SPDX-License-Identifier: BSD-2-Clause
/*
 * Address handles: where a datagram goes, looked up once and kept as long as it is true.
 * Multicast: the group's entry and the doorbells of the processes in it. Unicast: the
 * port that has the GID. All under tx.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"
#include "wire/gid.h"

int engine_ah_create(struct engine *e, uint32_t pd, uint32_t port_index,
		     const struct ibv_ah_attr *attr, struct engine_ah **ret)
{
	struct engine_ah *ah;

	if (port_index >= SHM_PORTS_MAX || !attr->is_global ||
	    attr->grh.sgid_index >= SHM_GIDS_MAX)
		return -EINVAL;
	ah = aligned_alloc(64, (sizeof(*ah) + 63) & ~(size_t)63);
	if (!ah)
		return -ENOMEM;
	memset(ah, 0, sizeof(*ah));
	ah->engine = e;
	ah->pd = pd;
	ah->port_index = port_index;
	ah->src_gid = port_index << 8 | attr->grh.sgid_index;
	ah->src_serial = gid_serial(e->tables, ah->src_gid);
	ah->hops = shm_log_hops(attr->grh.hop_limit, attr->grh.traffic_class, attr->sl);
	memcpy(ah->dgid, attr->grh.dgid.raw, 16);
	ah->multicast = gid_is_multicast(ah->dgid);
	ah->entry = SHM_NONE;
	ah->groups_generation = UINT64_MAX; /* none yet */
	ah->dst_gid = SHM_NONE;
	*ret = ah;
	return 0;
}

void engine_ah_destroy(struct engine_ah *ah)
{
	struct engine *e;

	if (!ah)
		return;
	e = ah->engine;
	lock_take(&e->tx_lock);
	if (e->tx.last_ah == ah)
		e->tx.last_ah = NULL;
	lock_drop(&e->tx_lock);
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

static void resolve_unicast(struct engine *e, struct engine_ah *ah)
{
	const struct shm_tables *t = e->tables;
	uint32_t type = t->ports[ah->port_index].gids[ah->src_gid & 0xff].type;
	int best = 0;

	ah->looked = true;
	ah->ports_generation =
		atomic_load_explicit(&t->h.ports_generation, memory_order_acquire);
	ah->dst_gid = SHM_NONE;
	for (uint32_t p = 0; p < SHM_PORTS_MAX; p++) {
		int index, close = closeness(t, ah->port_index, p);

		if (!t->ports[p].link_layer || close <= best)
			continue;
		index = gid_index_of(&t->ports[p], ah->dgid, type);
		if (index < 0)
			continue;
		best = close;
		ah->dst_gid = p << 8 | (uint32_t)index;
		ah->dst_device = t->ports[p].device;
		ah->dst_serial = gid_serial(t, ah->dst_gid);
	}
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
		g->entry = shm_group_find(e->tables, ah->port_index, ah->dgid, 0);
		if (g->entry == SHM_NONE)
			return false;
	} while (!shm_group_read(e->tables, g->entry, ah->port_index, ah->dgid, 0,
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

static void keep(struct engine_ah *ah, const struct group_copy *g,
		 const uint64_t failed[SHM_SLOT_WORDS])
{
	ah->words_used = 0;
	ah->members = false;
	for (uint32_t w = 0; w < SHM_SLOT_WORDS; w++) {
		ah->members |= g->words[w] != 0;
		ah->words[w] = g->words[w] & ~failed[w];
		if (ah->words[w])
			ah->words_used |= 1u << w;
	}
	ah->entry = g->entry;
	ah->generation = g->generation;
}

static void keep_none(struct engine_ah *ah, uint64_t groups_generation)
{
	ah->entry = SHM_NONE;
	ah->groups_generation = groups_generation;
	ah->words_used = 0;
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
			keep_none(ah, groups_generation);
			return !dropped;
		}
		slot = first_unknown(e, &g, failed);
		if (slot == SHM_NONE) {
			keep(ah, &g, failed);
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
