/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast tables in cells of 32 MLIDs by 16 ports, which is one SMP: what each ought to
 * be and what the switch is known to have. They come with the first group that needs them,
 * and for whatever a switch may have in its table that is not ours.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sm_cell *sm_cell_find(const struct sm_switch *sw, uint16_t mlid,
			     unsigned int position)
{
	uint32_t block = (mlid - IB_LID_MULTICAST_BASE) / SM_MLIDS_BLOCK;
	uint32_t at = block * sw->positions + position;

	return at < sw->cell_count ? sw->cells[at] : NULL;
}

bool sm_cell_differs(const struct sm_cell *cell)
{
	return !cell->known || memcmp(cell->want, cell->have, sizeof(cell->want)) != 0;
}

/* What is written does not count either while the switch's top is below it. */
bool sm_switch_top_is_low(const struct sm_switch *sw)
{
	return sm_switch_has_top(sw) && sw->node->switch_info.mft_top < sw->mft_top;
}

bool sm_cell_is_unfinished(const struct sm_cell *cell)
{
	return sm_cell_differs(cell) || sm_switch_top_is_low(cell->sw);
}

void sm_cell_check(struct sm *sm, struct sm_cell *cell)
{
	if (list_empty(&cell->link) && sm_cell_is_unfinished(cell))
		list_append(&sm->mc.cells, &cell->link);
}

static uint32_t cap_of(const struct sm_switch *sw)
{
	uint32_t cap = sw->node->switch_info.mft_cap;

	return cap < SM_MLIDS ? cap : SM_MLIDS;
}

static int make_room(struct sm_switch *sw)
{
	uint32_t blocks = (cap_of(sw) + SM_MLIDS_BLOCK - 1) / SM_MLIDS_BLOCK;
	uint32_t count = blocks * sw->positions;
	struct sm_cell **cells;

	if (count <= sw->cell_count)
		return 0;
	cells = realloc(sw->cells, count * sizeof(struct sm_cell *));
	if (!cells)
		return -ENOMEM;
	memset(cells + sw->cell_count, 0,
	       (count - sw->cell_count) * sizeof(struct sm_cell *));
	sw->cells = cells;
	sw->cell_count = count;
	return 0;
}

static struct sm_cell *cell_create(struct sm *sm, struct sm_switch *sw, uint16_t block,
				   unsigned int position)
{
	uint32_t at = (uint32_t)block * sw->positions + position;

	if (at >= sw->cell_count)
		return NULL;
	if (sw->cells[at])
		return sw->cells[at];
	sw->cells[at] = calloc(1, sizeof(struct sm_cell));
	if (!sw->cells[at])
		return NULL;
	list_init(&sw->cells[at]->link);
	sw->cells[at]->sw = sw;
	sw->cells[at]->block = block;
	sw->cells[at]->position = (uint8_t)position;
	sm_cell_check(sm, sw->cells[at]);
	return sw->cells[at];
}

/* All blocks that a top of this block would let packets see. */
static int raise_top(struct sm *sm, struct sm_switch *sw, uint16_t block)
{
	uint32_t end = (block + 1u) * SM_MLIDS_BLOCK, cap = cap_of(sw);
	uint16_t top = (uint16_t)(IB_LID_MULTICAST_BASE + (end < cap ? end : cap) - 1);

	if (sw->mft_top >= top)
		return 0;
	for (uint16_t b = 0; b <= block; b++)
		for (unsigned int p = 0; p < sw->positions; p++)
			if (!cell_create(sm, sw, b, p))
				return -ENOMEM;
	sw->mft_top = top;
	return 0;
}

struct sm_cell *sm_cell_get(struct sm *sm, struct sm_switch *sw, uint16_t block,
			    unsigned int position)
{
	if (sm_switch_has_top(sw) && raise_top(sm, sw, block) < 0)
		return NULL;
	return cell_create(sm, sw, block, position);
}

/* Whatever the switch may have in its table gets a cell, to be emptied (spec/sa-sm 7.4). */
static void adopt(struct sm *sm, struct sm_switch *sw)
{
	uint16_t top = sw->node->switch_info.mft_top;
	uint32_t blocks = cap_of(sw) ? (cap_of(sw) - 1) / SM_MLIDS_BLOCK + 1 : 0;

	if (sm_switch_has_top(sw)) {
		uint32_t old =
			top >= IB_LID_MULTICAST_BASE && top != IB_LID_PERMISSIVE
				? (top - IB_LID_MULTICAST_BASE) / SM_MLIDS_BLOCK + 1
				: 0;

		blocks = old < blocks ? old : blocks;
	}
	sw->mft_adopted = make_room(sw) == 0;
	for (uint32_t b = 0; sw->mft_adopted && b < blocks; b++)
		for (unsigned int p = 0; p < sw->positions; p++)
			if (!cell_create(sm, sw, (uint16_t)b, p))
				sw->mft_adopted = false;
	if (!sw->mft_adopted)
		sm->mc.failed = true;
}

void sm_cells_look_at(struct sm *sm, struct sm_switch *sw)
{
	if (!sw->mft_adopted)
		adopt(sm, sw);
	for (uint32_t i = 0; i < sw->cell_count; i++) {
		struct sm_cell *cell = sw->cells[i];

		if (cell && sm->mc.restart)
			memset(cell->want, 0, sizeof(cell->want));
		if (cell)
			sm_cell_check(sm, cell);
	}
}
