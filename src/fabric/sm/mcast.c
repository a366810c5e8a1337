/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast tables: what they ought to be (trees.c says it) against what the switches
 * have, in cells of 32 MLIDs by 16 ports, which is one SMP. Only cells that differ are
 * written, in passes; all groups that changed meanwhile share one.
 *
 * A pass first removes what must go, on all switches, and only then adds what must come.
 * So at no moment there is more in the tables than either the old trees or the new ones,
 * and no mixture of both in which a packet could run in a circle or arrive twice. What
 * could not be removed somewhere keeps its block from being added to. A cell of which is
 * not known what the switch has (another SM's, a reset switch's) is emptied first, but
 * for what a master left whose groups we have: that is read.
 *
 * Differs: OpenSM writes all blocks up to the highest ever used, on every switch, and
 * leaves what another SM has written (spec/sa-sm 2.5, 7.3).
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define WORK_A_STEP 1000u /* members and switches */

/* -- who waits ------------------------------------------------------------------------- */

static void splice(struct list *from, struct list *to)
{
	while (!list_empty(from)) {
		struct list *pos = from->prev;

		list_remove(pos);
		list_prepend(to, pos);
	}
}

static void tell(struct list *waiters, int error)
{
	struct list due;

	list_init(&due);
	splice(waiters, &due);
	while (!list_empty(&due)) {
		struct sm_waiter *w = container_of(due.next, struct sm_waiter, link);

		list_remove(&w->link);
		w->done(w->arg, error);
		free(w);
	}
}

static void forget_waiters(struct list *waiters)
{
	list_for_each_safe(pos, waiters)
		free(container_of(pos, struct sm_waiter, link));
	list_init(waiters);
}

static void group_dirty(struct sm *sm, struct sm_group *g)
{
	list_remove(&g->dirty);
	list_append(&sm->mc.dirty_groups, &g->dirty);
}

static void group_free(struct sm *sm, struct sm_group *g)
{
	sm->mc.groups[g->mlid - IB_LID_MULTICAST_BASE] = NULL;
	sm_group_cut_off(sm, g, 0);
	list_remove(&g->dirty);
	forget_waiters(&g->waiting);
	forget_waiters(&g->riding);
	free(g->members);
	free(g->tree);
	free(g);
}

/* -- requests -------------------------------------------------------------------------- */

static void mc_go(struct sm *sm);

static void cell_set(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm_cell *cell = smp->arg;

	if (error) {
		sm->mc.failed = true;
		if (sm->mc.stage == SM_MC_REMOVE)
			sm->mc.bad_block[cell->block] = true;
	} else {
		wire_get16s(smp->data, cell->have, SM_MLIDS_BLOCK);
		cell->known = true;
	}
	mc_go(sm);
}

static void send_cell(struct sm *sm, struct sm_cell *cell, const uint16_t *words)
{
	struct sm_smp *smp = sm_smp_new(
		sm, SM_KIND_MCAST, &cell->sw->node->ports[0], MAD_METHOD_SET,
		SMP_MULTICAST_FT, (uint32_t)cell->position << 28 | cell->block, cell_set);

	if (!smp) {
		sm->mc.failed = true;
		sm->mc.bad_block[cell->block] = true;
		return;
	}
	smp->arg = cell;
	/* Until the answer is here it may have the one or the other. */
	cell->known = false;
	wire_put16s(smp->data, words, SM_MLIDS_BLOCK);
	sm->counters.mft_blocks++;
	sm_smp_queue(smp);
}

static void cell_read(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	struct sm_cell *cell = smp->arg;

	/* What is not told will be emptied. */
	if (!error)
		wire_get16s(data, cell->have, SM_MLIDS_BLOCK);
	cell->known = !error;
	mc_go(sm);
}

/* The last master's, whose groups are ours: traffic goes on. */
static void read_from(struct sm *sm, struct sm_cell *cell)
{
	struct sm_smp *smp;

	if (cell->known || !cell->sw->inherited)
		return;
	smp = sm_smp_new(sm, SM_KIND_MCAST, &cell->sw->node->ports[0], MAD_METHOD_GET,
			 SMP_MULTICAST_FT, (uint32_t)cell->position << 28 | cell->block,
			 cell_read);
	if (!smp)
		return;
	smp->arg = cell;
	sm_smp_queue(smp);
}

static void remove_from(struct sm *sm, struct sm_cell *cell)
{
	uint16_t words[SM_MLIDS_BLOCK] = { 0 };

	for (unsigned int i = 0; cell->known && i < SM_MLIDS_BLOCK; i++)
		words[i] = cell->have[i] & cell->want[i];
	if (!cell->known || memcmp(words, cell->have, sizeof(words)) != 0)
		send_cell(sm, cell, words);
}

static void add_to(struct sm *sm, struct sm_cell *cell)
{
	if (cell->known && sm_cell_differs(cell) && !sm->mc.bad_block[cell->block])
		send_cell(sm, cell, cell->want);
}

static void top_set(struct sm *sm, struct sm_smp *smp, int error, const uint8_t *data)
{
	if (error)
		sm->mc.failed = true;
	else
		smp_switch_info_get(data, &smp->to->node->switch_info);
	mc_go(sm);
}

static void raise(struct sm *sm, struct sm_cell *cell)
{
	struct sm_switch *sw = cell->sw;
	struct sm_smp *smp;

	if (sw->top_asked || !sm_switch_top_is_low(sw))
		return;
	smp = sm_smp_new(sm, SM_KIND_MCAST, &sw->node->ports[0], MAD_METHOD_SET,
			 SMP_SWITCH_INFO, 0, top_set);
	if (!smp) {
		sm->mc.failed = true;
		return;
	}
	sw->top_asked = true;
	sm_switch_info_put(sm, sw, 0, smp->data);
	sm_smp_queue(smp);
}

/* -- a pass ---------------------------------------------------------------------------- */

static void begin_pass(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	splice(&mc->dirty_groups, &mc->pass);
	mc->failed = false;
	memset(mc->bad_block, 0, sizeof(mc->bad_block));
	mc->cursor = mc->pass.next;
	mc->stage = SM_MC_COMPUTE;
}

static void end_reading(struct sm *sm)
{
	for (uint32_t i = 0; i < sm->switch_count; i++)
		sm->switches[i]->inherited = false;
	begin_pass(sm);
}

static void begin_reading(struct sm *sm)
{
	sm->mc.cursor = sm->mc.cells.next;
	sm->mc.stage = SM_MC_READ;
}

/* True: for now this is enough. */
static bool adopt_some(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;
	uint32_t work = 0;

	while (mc->switch_cursor < sm->switch_count) {
		struct sm_switch *sw = sm->switches[mc->switch_cursor++];

		sm_cells_look_at(sm, sw);
		work += 10 + sw->cell_count / 8;
		if (work > WORK_A_STEP)
			return true;
	}
	for (; mc->restart && mc->group_cursor < SM_MLIDS; mc->group_cursor++) {
		struct sm_group *g = mc->groups[mc->group_cursor];

		if (!g)
			continue;
		g->tree_count = 0;
		group_dirty(sm, g);
	}
	mc->restart = false;
	begin_reading(sm);
	return false;
}

static bool compute_some(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;
	uint32_t work = 0, grown = mc->grown;

	while (mc->cursor != &mc->pass) {
		struct sm_group *g = container_of(mc->cursor, struct sm_group, dirty);

		mc->cursor = mc->cursor->next;
		splice(&g->waiting, &g->riding);
		g->changed = false;
		g->error = sm_group_compute(sm, g);
		work += 10 + g->member_count + g->tree_count;
		if (work > WORK_A_STEP || mc->grown != grown)
			return true;
	}
	mc->stage = SM_MC_REMOVE;
	mc->cursor = mc->cells.next;
	return false;
}

static const struct {
	void (*each)(struct sm *sm, struct sm_cell *cell);
	enum sm_mc_stage then;
} stages[] = {
	[SM_MC_READ] = { read_from, SM_MC_COMPUTE },
	[SM_MC_REMOVE] = { remove_from, SM_MC_TOP },
	[SM_MC_TOP] = { raise, SM_MC_ADD },
	[SM_MC_ADD] = { add_to, SM_MC_IDLE },
};

/* True: answers are missing. */
static bool write_some(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	while (mc->cursor != &mc->cells) {
		struct sm_cell *cell = container_of(mc->cursor, struct sm_cell, link);

		if (!sm_smp_room(sm, SM_KIND_MCAST))
			return true;
		mc->cursor = mc->cursor->next;
		stages[mc->stage].each(sm, cell);
	}
	if (sm->outstanding[SM_KIND_MCAST])
		return true;
	mc->stage = stages[mc->stage].then;
	mc->cursor = mc->cells.next;
	if (mc->stage == SM_MC_COMPUTE)
		end_reading(sm);
	return false;
}

static bool is_written(const struct sm *sm, const struct sm_group *g)
{
	unsigned int word = (g->mlid - IB_LID_MULTICAST_BASE) % SM_MLIDS_BLOCK;

	for (uint32_t i = 0; i < g->tree_count; i++) {
		const struct sm_switch *sw = sm->switches[g->tree[i]];

		if (sm_switch_top_is_low(sw))
			return false;
		for (unsigned int p = 0; p < sw->positions; p++) {
			const struct sm_cell *cell = sm_cell_find(sw, g->mlid, p);

			if (cell &&
			    (!cell->known || cell->have[word] != cell->want[word]))
				return false;
		}
	}
	return true;
}

static bool in_sweep(const struct sm *sm)
{
	return sm->sweep.kind == SM_SWEEP_HEAVY && *sm->sweep.phase == &sm_phase_mcast;
}

/* A group that is not written as it should be gets one more try, after a sweep has looked
 * what is there. */
static void end_group(struct sm *sm, struct sm_group *g)
{
	bool written = is_written(sm, g);

	list_remove(&g->dirty);
	if (g->changed)
		group_dirty(sm, g);
	if (!written && !g->held) {
		g->held = true;
		splice(&g->riding, &g->waiting);
		group_dirty(sm, g);
		return;
	}
	g->held = false;
	tell(&g->riding, written ? g->error : -ETIMEDOUT);
	if (!g->member_count && list_empty(&g->waiting) && list_empty(&g->dirty) &&
	    written)
		group_free(sm, g);
}

static void end_pass(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;
	bool failed = mc->failed;

	list_for_each_safe(pos, &mc->cells) {
		struct sm_cell *cell = container_of(pos, struct sm_cell, link);

		cell->sw->top_asked = false;
		if (!sm_cell_is_unfinished(cell))
			list_remove(pos);
	}
	if (failed && in_sweep(sm))
		sm->sweep.failed = true;
	else if (failed)
		mc->blocked = true; /* until a sweep has been there */
	while (!list_empty(&mc->pass))
		end_group(sm, container_of(mc->pass.next, struct sm_group, dirty));
	if (mc->blocked)
		sm_sweep_want(sm, 0);
}

static bool has_work(const struct sm *sm)
{
	return sm->state == SM_MASTER && !sm->mc.blocked &&
	       !list_empty(&sm->mc.dirty_groups);
}

static void mc_go(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	while (mc->stage != SM_MC_IDLE) {
		bool enough;

		if (mc->stage == SM_MC_ADOPT || mc->stage == SM_MC_COMPUTE) {
			enough = mc->stage == SM_MC_ADOPT ? adopt_some(sm)
							  : compute_some(sm);
			if (enough)
				timer_arm(&mc->timer, 0);
		} else {
			enough = write_some(sm);
		}
		if (enough)
			return;
		if (mc->stage == SM_MC_IDLE)
			end_pass(sm);
	}
	if (has_work(sm))
		timer_arm(&mc->timer, 0);
	if (in_sweep(sm))
		sm_sweep_go(sm);
}

static void mc_due(struct timer *timer)
{
	struct sm *sm = container_of(timer, struct sm, mc.timer);

	tell(&sm->mc.refused, -ENOSPC);
	if (sm->mc.stage == SM_MC_IDLE && has_work(sm))
		begin_pass(sm);
	else if (sm->mc.stage == SM_MC_IDLE)
		return;
	mc_go(sm);
}

/* -- the phase ------------------------------------------------------------------------- */

void sm_mcast_block(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	mc->blocked = true;
	sm_smp_drop(sm, SM_KIND_MCAST);
	timer_disarm(&mc->timer);
	mc->stage = SM_MC_IDLE;
	while (!list_empty(&mc->pass)) {
		struct sm_group *g = container_of(mc->pass.next, struct sm_group, dirty);

		splice(&g->riding, &g->waiting);
		group_dirty(sm, g);
	}
	list_for_each(pos, &mc->cells)
		container_of(pos, struct sm_cell, link)->sw->top_asked = false;
}

static void begin(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	mc->blocked = sm->sweep.topology; /* the routes are not there */
	if (mc->blocked)
		return;
	/* With its groups the tables will be found to be right. */
	if (sm->inheriting)
		sm_serve(sm);
	sm->inheriting = false;
	mc->restart |= sm->sweep.regroup;
	sm->sweep.regroup = false;
	mc->switch_cursor = mc->group_cursor = 0;
	mc->failed = false;
	mc->stage = SM_MC_ADOPT;
	timer_arm(&mc->timer, 0);
}

static enum sm_step next(struct sm *sm)
{
	return sm->mc.stage == SM_MC_IDLE ? SM_STEP_DONE : SM_STEP_WAIT;
}

/* Of joins that are refused the SA tells those who asked. */
static void tell_cut_off(struct sm *sm)
{
	uint64_t members = sm->counters.members_cut_off;

	if (members == sm->mc.cut_off_told)
		return;
	if (members)
		log_warning("sm: %llu members of %u groups are cut off: there is no way "
			    "to them but by switches whose multicast tables have no room "
			    "for the MLID",
			    (unsigned long long)members, sm->mc.groups_cut_off);
	else
		log_info("sm: no member of a group is cut off any more");
	sm->mc.cut_off_told = members;
}

static void end(struct sm *sm)
{
	if (!sm->mc.blocked)
		tell_cut_off(sm);
}

const struct sm_phase sm_phase_mcast = {
	.name = "mcast",
	.begin = begin,
	.next = next,
	.end = end,
};

/* -- groups ---------------------------------------------------------------------------- */

int sm_mcast_init(struct sm *sm)
{
	struct sm_mcast *mc = &sm->mc;

	list_init(&mc->dirty_groups);
	list_init(&mc->pass);
	list_init(&mc->refused);
	list_init(&mc->cells);
	timer_init(&mc->timer, sm->config.timers, mc_due);
	mc->blocked = true;
	return 0;
}

void sm_mcast_fini(struct sm *sm)
{
	timer_disarm(&sm->mc.timer);
	forget_waiters(&sm->mc.refused);
	for (unsigned int i = 0; i < SM_MLIDS; i++)
		if (sm->mc.groups[i])
			group_free(sm, sm->mc.groups[i]);
	sm_trees_free(sm);
}

void sm_mcast_reset(struct sm *sm)
{
	struct list due;

	sm_mcast_block(sm);
	sm->mc.restart = true;
	list_init(&due);
	for (unsigned int i = 0; i < SM_MLIDS; i++) {
		if (!sm->mc.groups[i])
			continue;
		splice(&sm->mc.groups[i]->waiting, &due);
		group_free(sm, sm->mc.groups[i]);
	}
	tell(&due, -ETIMEDOUT);
}

static struct sm_group *group_get(struct sm *sm, uint16_t mlid)
{
	struct sm_group **at = &sm->mc.groups[mlid - IB_LID_MULTICAST_BASE];

	if (*at)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return NULL;
	(*at)->mlid = mlid;
	(*at)->component = SM_SWITCH_NONE;
	list_init(&(*at)->dirty);
	list_init(&(*at)->waiting);
	list_init(&(*at)->riding);
	return *at;
}

static int take_members(struct sm_group *g, const struct sm_mc_member *members,
			unsigned int count)
{
	struct sm_mc_member *copy = realloc(g->members, (count + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (count)
		memcpy(copy, members, count * sizeof(*copy));
	g->members = copy;
	g->member_count = count;
	return 0;
}

static struct sm_waiter *waiter_create(void (*done)(void *arg, int error), void *arg)
{
	struct sm_waiter *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	list_init(&w->link);
	w->done = done;
	w->arg = arg;
	return w;
}

void sm_route_group(struct sm *sm, uint16_t mlid, const struct sm_mc_member *members,
		    unsigned int count, void (*done)(void *arg, int error), void *arg)
{
	struct sm_waiter *w = done ? waiter_create(done, arg) : NULL;
	struct sm_group *g = ib_lid_is_multicast(mlid) ? group_get(sm, mlid) : NULL;

	if (!g || take_members(g, members, count) < 0) {
		if (w)
			list_append(&sm->mc.refused, &w->link);
	} else {
		if (w)
			list_append(&g->waiting, &w->link);
		/* If a pass has it already, the next one will have it again. */
		g->changed = true;
		if (list_empty(&g->dirty))
			group_dirty(sm, g);
	}
	if (sm->mc.stage == SM_MC_IDLE)
		timer_arm(&sm->mc.timer, 0);
}

uint32_t sm_mlid_capacity(const struct sm *sm)
{
	return sm->mlid_capacity;
}
