/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a switch for others to read. */
#include "fabric/sm/sm_priv.h"

_Static_assert(SM_LFT_BLOCK_LIDS == SM_LIDS_BLOCK, "blocks are the wire's");
_Static_assert(SM_MFT_BLOCK_MLIDS == SM_MLIDS_BLOCK, "blocks are the wire's");

const uint8_t *sm_lft_block(const struct subnet_node *node, unsigned int block)
{
	const struct sm_switch *sw = sm_node_of(node)->sw;

	if (!sw || block >= sw->lft_blocks || !sw->lft_known[block])
		return NULL;
	return sw->lft_have + (size_t)block * SM_LIDS_BLOCK;
}

const uint16_t *sm_mft_block(const struct subnet_node *node, unsigned int block,
			     unsigned int position)
{
	const struct sm_switch *sw = sm_node_of(node)->sw;
	uint32_t at;

	if (!sw || position >= sw->positions)
		return NULL;
	at = block * sw->positions + position;
	if (at >= sw->cell_count || !sw->cells[at] || !sw->cells[at]->known)
		return NULL;
	return sw->cells[at]->have;
}
