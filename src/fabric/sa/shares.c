/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one port may hold of what there is for all. Who asks without end, and waits for no
 * answer, so comes to the end of his own.
 *
 * Differs: OpenSM bounds nothing. A port that subscribes to the same trap ten thousand
 * times makes it late for everybody.
 */
#include <stdlib.h>

#include "fabric/sa/server_priv.h"

/* Of a port that has something. */
struct share {
	struct hash_node by_lid;
	uint16_t lid;
	size_t held[SA_SHARES];
};

/* Each subscription costs every event a report, so these are few. */
static const size_t most[SA_SHARES] = {
	[SA_SHARE_REQUESTS] = SA_PENDING_MAX / 2,
	[SA_SHARE_TRANSFERS] = SA_TRANSFERS_MAX / 2,
	[SA_SHARE_TRANSFER_BYTES] = SA_TRANSFER_BYTES_MAX / 2,
	[SA_SHARE_READINGS] = SA_READINGS_MAX / 2,
	[SA_SHARE_SERVICES] = SA_SERVICES_MAX / 2,
	[SA_SHARE_SUBSCRIPTIONS] = 1024,
	[SA_SHARE_REPORTS] = 8192,
};

static uint32_t lid_hash(uint16_t lid)
{
	return hash_bytes(0, &lid, sizeof(lid));
}

static struct share *find(const struct sa_server *s, uint16_t lid)
{
	hash_for_each_match(node, &s->shares, lid_hash(lid)) {
		struct share *share = container_of(node, struct share, by_lid);

		if (share->lid == lid)
			return share;
	}
	return NULL;
}

static struct share *get(struct sa_server *s, uint16_t lid)
{
	struct share *share = find(s, lid);

	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->lid = lid;
	hash_insert(&s->shares, &share->by_lid, lid_hash(lid));
	return share;
}

static void put(struct sa_server *s, struct share *share)
{
	for (unsigned int i = 0; i < SA_SHARES; i++)
		if (share->held[i])
			return;
	hash_remove(&s->shares, &share->by_lid);
	free(share);
}

bool sa_share_take(struct sa_server *s, uint16_t lid, enum sa_share what, size_t amount)
{
	struct share *share;

	if (!lid || !amount)
		return true;
	share = get(s, lid);
	if (!share)
		return false;
	if (share->held[what] + amount > most[what]) {
		put(s, share);
		return false;
	}
	share->held[what] += amount;
	return true;
}

void sa_share_give(struct sa_server *s, uint16_t lid, enum sa_share what, size_t amount)
{
	struct share *share = lid && amount ? find(s, lid) : NULL;

	if (!share)
		return;
	share->held[what] -= amount;
	put(s, share);
}
