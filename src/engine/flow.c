// SPDX-License-Identifier: BSD-2-Clause
#include "engine/flow.h"

#include <string.h>

#include "wire/gid.h"

/* A GID of the site's tables as it was read in one piece. */
struct site_gid {
	uint8_t gid[16];
	const _Atomic uint32_t *valid;
	uint32_t serial;
	uint32_t type;
};

static bool gid_read(const struct shm_tables *t, uint32_t ref, struct site_gid *ret)
{
	const struct shm_gid_entry *entry;

	if (ref >> 8 >= SHM_PORTS_MAX || (ref & 0xff) >= SHM_GIDS_MAX)
		return false;
	entry = &t->ports[ref >> 8].gids[ref & 0xff];
	ret->valid = &entry->valid;
	ret->serial = atomic_load_explicit(&entry->valid, memory_order_acquire);
	memcpy(ret->gid, entry->gid, 16);
	ret->type = entry->type;
	atomic_thread_fence(memory_order_acquire);
	return ret->serial &&
	       atomic_load_explicit(&entry->valid, memory_order_relaxed) == ret->serial;
}

/* A sender cannot speak for another host (spec/dataplane 8). */
static bool is_senders(const struct shm_tables *t, const struct sender *s, uint32_t gid)
{
	return t->ports[gid >> 8].node == t->slots[s->slot].node;
}

static void header_make(struct sender *s, const struct site_gid *src,
			const struct site_gid *dst, uint64_t hops)
{
	enum grh_kind kind = src->type == SHM_GID_ROCE_V2
				     ? grh_kind_of_roce_v2(src->gid, dst->gid)
				     : GRH_IB;

	grh_flow_init(&s->flow, kind, src->gid, dst->gid, (uint8_t)(hops >> 8),
		      (uint8_t)hops);
	s->flow_wire = 0;
}

bool flow_make(const struct engine *e, struct sender *s, const struct flow_key *key)
{
	const struct shm_tables *t = e->tables;
	struct site_gid src, dst;

	s->flow_dst = 0;
	if (!gid_read(t, shm_log_low(key->gids), &src) ||
	    !is_senders(t, s, shm_log_low(key->gids)))
		return false;
	if (key->mgid)
		memcpy(dst.gid, key->mgid, 16);
	else if (!gid_read(t, shm_log_high(key->gids), &dst))
		return false;
	header_make(s, &src, &dst, key->hops);
	s->flow_src_valid = src.valid;
	s->flow_src_serial = src.serial;
	if (!key->mgid) {
		s->flow_dst_valid = dst.valid;
		s->flow_dst_serial = dst.serial;
	}
	s->flow_device = t->ports[shm_log_low(key->gids) >> 8].device;
	s->flow_gids = key->gids;
	s->flow_hops = key->hops;
	s->flow_dst = key->dst;
	return true;
}
