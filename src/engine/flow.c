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

static bool gid_read(const struct shm_tables *t, uint32_t end, struct site_gid *ret)
{
	uint32_t index = shm_log_end_gid(end);
	const struct shm_gid_entry *entry;

	if (index >= SHM_GIDS_MAX)
		return false;
	entry = &t->ports[shm_log_end_port(end)].gids[index];
	ret->valid = &entry->valid;
	ret->serial = atomic_load_explicit(&entry->valid, memory_order_acquire);
	memcpy(ret->gid, entry->gid, 16);
	ret->type = entry->type;
	atomic_thread_fence(memory_order_acquire);
	return ret->serial &&
	       atomic_load_explicit(&entry->valid, memory_order_relaxed) == ret->serial;
}

/* A sender cannot speak for another host (spec/dataplane 8). */
static bool is_senders(const struct shm_tables *t, const struct sender *s,
		       const struct shm_port *port)
{
	return port->node == t->slots[s->slot].node;
}

static void stand_on(struct sender *s, const struct site_gid *src,
		     const struct site_gid *dst)
{
	s->flow_src_valid = src->valid;
	s->flow_src_serial = src->serial;
	if (!dst->valid)
		return;
	s->flow_dst_valid = dst->valid;
	s->flow_dst_serial = dst->serial;
}

/* Source and destination; of a group the latter is its MGID, and stands on nothing. */
static bool ends_read(const struct shm_tables *t, const struct flow_key *key,
		      struct site_gid *src, struct site_gid *dst)
{
	if (!gid_read(t, shm_log_low(key->gids), src))
		return false;
	if (!key->mgid)
		return gid_read(t, shm_log_high(key->gids), dst);
	memcpy(dst->gid, key->mgid, 16);
	dst->valid = NULL;
	return true;
}

static uint32_t network_flag(const struct engine *e, enum grh_kind kind)
{
	static const uint32_t networks[] = {
		[GRH_IB] = 1, [GRH_IPV4] = 2, [GRH_IPV6] = 3
	};

	return e->tell_networks ? networks[kind] << ENGINE_WC_NETWORK_SHIFT : 0;
}

static bool roce_make(const struct engine *e, struct sender *s,
		      const struct flow_key *key)
{
	const struct shm_tables *t = e->tables;
	struct site_gid src, dst;
	enum grh_kind kind;

	if (!ends_read(t, key, &src, &dst))
		return false;
	kind = src.type == SHM_GID_ROCE_V2 ? grh_kind_of_roce_v2(src.gid, dst.gid)
					   : GRH_IB;
	grh_flow_init(&s->flow, kind, src.gid, dst.gid, (uint8_t)(key->hops >> 8),
		      (uint8_t)key->hops);
	stand_on(s, &src, &dst);
	s->flow_address =
		(struct flow_address){ .wc_flags = IBV_WC_GRH | network_flag(e, kind) };
	return true;
}

/* -- InfiniBand ---------------------------------------------------------------------- */

static bool infiniband_header(const struct shm_tables *t, struct sender *s,
			      const struct flow_key *key)
{
	struct site_gid src, dst;

	if (key->hops & SHM_LOG_NO_GRH) {
		grh_flow_init_none(&s->flow);
		return true;
	}
	if (!ends_read(t, key, &src, &dst))
		return false;
	grh_flow_init(&s->flow, GRH_IB, src.gid, dst.gid, (uint8_t)(key->hops >> 8),
		      (uint8_t)key->hops);
	grh_flow_label(&s->flow, key->mgid ? shm_log_high(key->gids) & 0xfffff
					   : flow_label_of(key->dst));
	return true;
}

/* A range of LIDs begins with as many zero bits as it is long. */
static uint16_t source_lid(const struct shm_port *port, uint32_t end)
{
	uint32_t lid = atomic_load_explicit(&port->lid, memory_order_relaxed);
	uint32_t lmc = atomic_load_explicit(&port->lmc, memory_order_relaxed);

	return (uint16_t)(lid | (shm_log_end_path_bits(end) & ((1u << (lmc & 7)) - 1)));
}

static struct site_gid port_generation(const struct shm_port *port)
{
	return (struct site_gid){
		.valid = &port->generation,
		.serial = atomic_load_explicit(&port->generation, memory_order_acquire),
	};
}

/* Whatever changes of a port moves its generation, which is read first. */
static bool infiniband_make(const struct shm_tables *t, struct sender *s,
			    const struct flow_key *key)
{
	uint32_t from = shm_log_low(key->gids), to = shm_log_high(key->gids);
	const struct shm_port *port = &t->ports[shm_log_end_port(from)];
	struct site_gid src = port_generation(port), dst = { .valid = NULL };

	if (!key->mgid)
		dst = port_generation(&t->ports[shm_log_end_port(to)]);
	if (!infiniband_header(t, s, key))
		return false;
	stand_on(s, &src, &dst);
	s->flow_address = (struct flow_address){
		.wc_flags = key->hops & SHM_LOG_NO_GRH ? 0 : IBV_WC_GRH,
		.slid = source_lid(port, from),
		.sl = (uint8_t)(key->hops >> 16 & 0xf),
		.dlid_path_bits = key->mgid ? 0 : (uint8_t)shm_log_end_path_bits(to),
	};
	return true;
}

bool flow_make(const struct engine *e, struct sender *s, const struct flow_key *key)
{
	const struct shm_tables *t = e->tables;
	const struct shm_port *from = &t->ports[shm_log_end_port(shm_log_low(key->gids))];
	bool made;

	s->flow_dst = 0;
	s->flow_wire = 0;
	if (!is_senders(t, s, from))
		return false;
	made = from->link_layer == SHM_LINK_INFINIBAND ? infiniband_make(t, s, key)
						       : roce_make(e, s, key);
	if (!made)
		return false;
	s->flow_device = from->device;
	s->flow_gids = key->gids;
	s->flow_hops = key->hops;
	s->flow_dst = key->dst;
	s->flow_epoch = key->epoch;
	return true;
}
