/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Write the linear tables: only blocks that differ from what the switch has, or of which
 * that is not known; then SwitchInfo, so that the top covers them (spec/sa-sm 3.7, 3.8).
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <string.h>

#define BLOCKS_A_STEP   20000u
#define SWITCHES_A_STEP 500u

/* -- blocks ---------------------------------------------------------------------------- */

static void block_set(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm_switch *sw = sm_node_of(smp->to->node)->sw;

	if (sm_sweep_failed(sm, smp, error))
		return;
	memcpy(sw->lft_have + smp->mod * SM_LIDS_BLOCK, smp->data, SM_LIDS_BLOCK);
	sw->lft_known[smp->mod] = true;
}

static bool send_block(struct sm *sm, struct sm_switch *sw, uint32_t block)
{
	struct sm_smp *smp = sm_sweep_ask(sm, &sw->node->ports[0], MAD_METHOD_SET,
					  SMP_LINEAR_FT, block, block_set);

	if (!smp)
		return false;
	/* Until the answer is here it may have the one or the other. */
	sw->lft_known[block] = false;
	memcpy(smp->data, sw->lft_want + block * SM_LIDS_BLOCK, SM_LIDS_BLOCK);
	sm->counters.lft_blocks++;
	sm_smp_queue(smp);
	return true;
}

static bool is_right(const struct sm_switch *sw, uint32_t block)
{
	return sw->lft_known[block] &&
	       memcmp(sw->lft_want + block * SM_LIDS_BLOCK,
		      sw->lft_have + block * SM_LIDS_BLOCK, SM_LIDS_BLOCK) == 0;
}

static enum sm_step linear_next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	for (unsigned int i = 0; i < BLOCKS_A_STEP; i++) {
		struct sm_switch *sw;
		uint32_t block;

		if (s->cursor == sm->switch_count)
			return SM_STEP_DONE;
		sw = sm->switches[s->cursor];
		block = s->cursor2++;
		if (block >= sw->lft_blocks ||
		    block * SM_LIDS_BLOCK >= sw->node->switch_info.lft_cap) {
			s->cursor++;
			s->cursor2 = 0;
			continue;
		}
		if (!is_right(sw, block) && send_block(sm, sw, block))
			return SM_STEP_SENT;
	}
	return SM_STEP_WORKED;
}

const struct sm_phase sm_phase_linear = { .name = "linear", .next = linear_next };

/* -- SwitchInfo ------------------------------------------------------------------------ */

void sm_switch_info_put(const struct sm *sm, const struct sm_switch *sw,
			unsigned int flags, uint8_t *data)
{
	struct smp_switch_info info = sw->node->switch_info;

	info.state_change = (flags & SM_CLEAR_CHANGE) != 0;
	info.life_time = SM_LIFE_TIME;
	if (info.lft_top < sm->lid_top)
		info.lft_top = sm->lid_top;
	if (flags & SM_LOWER_TOP)
		info.mft_top = IB_LID_MULTICAST_BASE - 1;
	else if (info.mft_top < sw->mft_top)
		info.mft_top = sw->mft_top;
	smp_switch_info_put(data, &info);
}

static void info_set(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	if (!sm_sweep_failed(sm, smp, error))
		smp_switch_info_get(data, &smp->to->node->switch_info);
}

/* Whatever another SM has left in the table of this switch ends here (spec/sa-sm 2.5): it
 * is raised again block by block, when they have been emptied. */
static bool has_stale_top(const struct sm_switch *sw)
{
	uint16_t top = sw->node->switch_info.mft_top;

	return !sw->mft_adopted && !sw->inherited && sm_switch_has_top(sw) &&
	       top >= IB_LID_MULTICAST_BASE && top != IB_LID_PERMISSIVE;
}

static enum sm_step info_next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	for (unsigned int i = 0; i < SWITCHES_A_STEP && s->cursor < sm->switch_count;
	     i++) {
		struct sm_switch *sw = sm->switches[s->cursor++];
		const struct smp_switch_info *info = &sw->node->switch_info;
		bool stale = has_stale_top(sw);
		struct sm_smp *smp;

		if (info->life_time == SM_LIFE_TIME && info->lft_top >= sm->lid_top &&
		    !stale)
			continue;
		smp = sm_sweep_ask(sm, &sw->node->ports[0], MAD_METHOD_SET,
				   SMP_SWITCH_INFO, 0, info_set);
		if (!smp)
			continue;
		sm_switch_info_put(sm, sw, stale ? SM_LOWER_TOP : 0, smp->data);
		sm_smp_queue(smp);
		return SM_STEP_SENT;
	}
	return s->cursor < sm->switch_count ? SM_STEP_WORKED : SM_STEP_DONE;
}

const struct sm_phase sm_phase_switch_info = { .name = "switch info", .next = info_next };
