/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port's M_Key: who may speak to its SMA, and the lease that ends its protection when
 * whoever knows the key does not speak any more (spec/sa-sm 3.6: M_KeyLeasePeriod). The
 * lease runs from the first violation on, and does not run once somebody knew the key; a
 * period of 0 never ends.
 */
#include "fabric/net/fabric_priv.h"

#define SECOND_NS (1000 * TIMER_MS)

static void lease_ends(struct timer *timer)
{
	struct net_mkey *k = container_of(timer, struct net_mkey, lease);

	k->port->info.mkey_protect = 0;
}

void net_mkey_init(struct fabric_port *end)
{
	end->end->mkey.port = end;
	timer_init(&end->end->mkey.lease, end->node->fabric->timers, lease_ends);
}

void net_mkey_stop(struct fabric_port *end)
{
	timer_disarm(&end->end->mkey.lease);
}

static void begin_lease(struct fabric_port *end)
{
	struct timer *lease = &end->end->mkey.lease;

	if (end->info.mkey_lease && !lease->armed)
		timer_arm(lease, end->info.mkey_lease * (uint64_t)SECOND_NS);
}

/* How much others than those who know the key are told is a matter of the protect bits:
 * everything, or nothing; a Set of theirs is nothing at all. */
bool net_mkey_allows(struct fabric_port *end, uint16_t slid, const uint8_t *mad)
{
	uint64_t mkey = wire_get64(mad + SMP_MKEY);
	struct mad_header h;

	if (!end->info.mkey)
		return true;
	if (mkey == end->info.mkey) {
		timer_disarm(&end->end->mkey.lease);
		return true;
	}
	mad_header_get(mad, &h);
	if (h.method == MAD_METHOD_GET && end->info.mkey_protect < 2)
		return true;
	begin_lease(end);
	net_violate_mkey(end, slid, mad);
	return false;
}
