/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch's forwarding tables (spec/sa-sm 3.8). Memory goes by what is written: the
 * unicast table reaches as far as the highest block that ever had a route, the multicast
 * table has the blocks in which some port is set.
 */
#include "fabric/net/fabric_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- unicast ----------------------------------------------------------------------- */

uint8_t net_lft_port(const struct fabric_node *n, uint16_t lid)
{
	if (lid > n->switch_info.lft_top || lid >= n->lft_room)
		return NET_LFT_NONE;
	return n->lft[lid];
}

void net_lft_get(const struct fabric_node *n, uint32_t block, uint8_t *ret)
{
	if ((block + 1) * NET_LFT_BLOCK <= n->lft_room)
		memcpy(ret, n->lft + block * NET_LFT_BLOCK, NET_LFT_BLOCK);
	else
		memset(ret, NET_LFT_NONE, NET_LFT_BLOCK);
}

static int lft_reach(struct fabric_node *n, uint32_t entries)
{
	uint32_t room = n->lft_room ? n->lft_room : NET_LFT_BLOCK;
	uint8_t *lft;

	while (room < entries)
		room *= 2;
	if (room == n->lft_room)
		return 0;
	lft = realloc(n->lft, room);
	if (!lft)
		return -ENOMEM;
	memset(lft + n->lft_room, NET_LFT_NONE, room - n->lft_room);
	n->lft = lft;
	n->lft_room = room;
	return 0;
}

int net_lft_set(struct fabric_node *n, uint32_t block, const uint8_t *entries)
{
	uint8_t before[NET_LFT_BLOCK];
	int r;

	net_lft_get(n, block, before);
	if (memcmp(before, entries, NET_LFT_BLOCK) == 0)
		return 0;
	r = lft_reach(n, (block + 1) * NET_LFT_BLOCK);
	if (r < 0)
		return r;
	net_count_sent(n->fabric, (uint16_t)(block * NET_LFT_BLOCK),
		       (uint16_t)(block * NET_LFT_BLOCK + NET_LFT_BLOCK - 1));
	memcpy(n->lft + block * NET_LFT_BLOCK, entries, NET_LFT_BLOCK);
	net_routes_changed(n->fabric);
	return 0;
}

/* -- multicast --------------------------------------------------------------------- */

static uint16_t *mft_block(const struct fabric_node *n, uint32_t block)
{
	return block < n->mft_blocks ? n->mft[block] : NULL;
}

const uint16_t *net_mft_masks(const struct fabric_node *n, uint32_t index)
{
	uint16_t *rows = mft_block(n, index / NET_MFT_BLOCK);

	return rows ? rows + index % NET_MFT_BLOCK * n->positions : NULL;
}

void net_mft_get(const struct fabric_node *n, uint32_t block, unsigned int position,
		 uint16_t ret[NET_MFT_BLOCK])
{
	const uint16_t *rows = mft_block(n, block);

	for (unsigned int i = 0; i < NET_MFT_BLOCK; i++)
		ret[i] = rows ? rows[i * n->positions + position] : 0;
}

/* The ports of a position that are there. */
static uint16_t position_mask(const struct fabric_node *n, unsigned int position)
{
	unsigned int ports = n->num_ports + 1u - 16 * position;

	return ports >= 16 ? 0xffff : (uint16_t)((1u << ports) - 1);
}

static bool is_empty(const uint16_t *masks, unsigned int count)
{
	uint16_t any = 0;

	for (unsigned int i = 0; i < count; i++)
		any |= masks[i];
	return !any;
}

static uint16_t *mft_reach(struct fabric_node *n, uint32_t block)
{
	if (block >= n->mft_blocks) {
		uint16_t **mft = realloc(n->mft, (block + 1) * sizeof(*mft));

		if (!mft)
			return NULL;
		memset(mft + n->mft_blocks, 0,
		       (block + 1 - n->mft_blocks) * sizeof(*mft));
		n->mft = mft;
		n->mft_blocks = block + 1;
	}
	if (!n->mft[block])
		n->mft[block] =
			calloc(NET_MFT_BLOCK * (size_t)n->positions, sizeof(uint16_t));
	return n->mft[block];
}

int net_mft_set(struct fabric_node *n, uint32_t block, unsigned int position,
		const uint16_t masks[NET_MFT_BLOCK])
{
	uint16_t before[NET_MFT_BLOCK], after[NET_MFT_BLOCK], *rows;
	uint32_t first, changed = 0;

	net_mft_get(n, block, position, before);
	for (unsigned int i = 0; i < NET_MFT_BLOCK; i++)
		after[i] = masks[i] & position_mask(n, position);
	for (unsigned int i = 0; i < NET_MFT_BLOCK; i++)
		changed |= (uint32_t)(before[i] != after[i]) << i;
	if (!changed)
		return 0;
	rows = mft_reach(n, block);
	if (!rows)
		return -ENOMEM;
	first = IB_LID_MULTICAST_BASE + block * NET_MFT_BLOCK;
	net_count_sent(n->fabric, (uint16_t)first, (uint16_t)(first + NET_MFT_BLOCK - 1));
	for (unsigned int i = 0; i < NET_MFT_BLOCK; i++)
		rows[i * n->positions + position] = after[i];
	if (is_empty(rows, NET_MFT_BLOCK * n->positions)) {
		free(rows);
		n->mft[block] = NULL;
	}
	net_multicast_changed(n->fabric, block, changed);
	return 0;
}

void net_tables_clear(struct fabric_node *n)
{
	free(n->lft);
	n->lft = NULL;
	n->lft_room = 0;
	for (uint32_t i = 0; i < n->mft_blocks; i++)
		free(n->mft[i]);
	free(n->mft);
	n->mft = NULL;
	n->mft_blocks = 0;
	free(n->sl_to_vl);
	n->sl_to_vl = NULL;
}
