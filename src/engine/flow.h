/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The header of received datagrams, kept per followed log: consecutive datagrams mostly
 * have the same, and then it is a comparison and a copy.
 */
#ifndef ENGINE_FLOW_H
#define ENGINE_FLOW_H

#include "engine/engine_priv.h"

/* What stands for an attachment: the end and the flow label. */
static inline uint64_t flow_unicast(uint32_t end, uint64_t label)
{
	return 1ull << 63 | (label & 0xfffff) << 32 | end;
}
static inline uint32_t flow_label_of(uint64_t unicast)
{
	return (uint32_t)(unicast >> 32) & 0xfffff;
}

struct flow_key {
	uint64_t dst; /* the attachment, or flow_unicast */
	uint32_t epoch;
	uint64_t gids; /* as in the log */
	uint64_t hops;
	const uint8_t *mgid; /* null: unicast */
};

/* flow.c: make the sender's flow this one. False: there is no such source or
 * destination, or the source is not the sender's to use. */
bool flow_make(const struct engine *e, struct sender *s, const struct flow_key *key);

static inline bool flow_is(const struct sender *s, const struct flow_key *key)
{
	return s->flow_dst == key->dst && s->flow_epoch == key->epoch &&
	       s->flow_gids == key->gids && s->flow_hops == key->hops &&
	       atomic_load_explicit(s->flow_src_valid, memory_order_relaxed) ==
		       s->flow_src_serial &&
	       (key->mgid ||
		atomic_load_explicit(s->flow_dst_valid, memory_order_relaxed) ==
			s->flow_dst_serial);
}

/* Have s->flow_header for a datagram of this length on the wire. */
static inline void flow_fit(struct sender *s, uint32_t wire_bytes)
{
	if (likely(s->flow_wire == wire_bytes))
		return;
	grh_write(s->flow_header, &s->flow, wire_bytes);
	s->flow_wire = wire_bytes;
}

#endif
