/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LIDs for every port: one for a switch, 2^LMC for an adapter's port, that follow each
 * other and begin at a multiple of their number (spec/sa-sm 3.6). A GUID keeps its LIDs as
 * long as the SM lives, whether the port is there or not; a port that the SM does not know
 * keeps the LID that it has, if it may be the first of so many, and they are valid and
 * nobody else's; all others get the lowest that are free. Who has stood by knows no port:
 * another one has given LIDs meanwhile, perhaps with another LMC.
 */
#include "fabric/sm/sm_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define PORTS_A_STEP 200u

struct lease {
	struct hash_node by_guid;
	uint64_t guid;
	uint16_t lid, lids;
};

int sm_lids_init(struct sm *sm)
{
	sm->lid_owner = calloc(SM_LID_MAX + 1u, sizeof(*sm->lid_owner));
	if (!sm->lid_owner || hash_init(&sm->leases) < 0)
		return -ENOMEM;
	return 0;
}

static void free_lease(struct hash_node *node)
{
	free(container_of(node, struct lease, by_guid));
}

void sm_lids_fini(struct sm *sm)
{
	hash_drain(&sm->leases, free_lease);
	hash_fini(&sm->leases);
	free(sm->lid_owner);
}

static void restart_cursors(struct sm *sm)
{
	memset(sm->lid_cursors, 0, sizeof(sm->lid_cursors));
}

void sm_lids_forget(struct sm *sm)
{
	hash_drain(&sm->leases, free_lease);
	memset(sm->lid_owner, 0, (SM_LID_MAX + 1u) * sizeof(*sm->lid_owner));
	restart_cursors(sm);
}

static struct lease *lease_of(const struct sm *sm, uint64_t guid)
{
	hash_for_each_match(node, &sm->leases, sm_guid_hash(guid)) {
		struct lease *lease = container_of(node, struct lease, by_guid);

		if (lease->guid == guid)
			return lease;
	}
	return NULL;
}

static void own(struct sm *sm, const struct lease *lease, uint64_t guid)
{
	for (uint32_t i = 0; i < lease->lids; i++)
		sm->lid_owner[lease->lid + i] = guid;
}

static void end_lease(struct sm *sm, struct lease *lease)
{
	own(sm, lease, 0);
	hash_remove(&sm->leases, &lease->by_guid);
	free(lease);
}

static uint16_t lease(struct sm *sm, const struct subnet_port *port, uint16_t lid)
{
	struct lease *lease = calloc(1, sizeof(*lease));

	if (!lease)
		return 0;
	lease->guid = subnet_port_guid(port);
	lease->lid = lid;
	lease->lids = (uint16_t)(1u << sm_lmc_of(sm, port));
	own(sm, lease, lease->guid);
	hash_insert(&sm->leases, &lease->by_guid, sm_guid_hash(lease->guid));
	return lid;
}

static bool are_free(const struct sm *sm, uint32_t lid, uint8_t lmc)
{
	uint32_t count = 1u << lmc;

	if (lid == 0 || lid % count || lid + count - 1 > SM_LID_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (sm->lid_owner[lid + i])
			return false;
	return true;
}

static uint16_t lowest_free(struct sm *sm, uint8_t lmc)
{
	uint32_t lid = sm->lid_cursors[lmc], count = 1u << lmc;

	while (lid <= SM_LID_MAX && !are_free(sm, lid, lmc))
		lid += count;
	/* SM_LID_MAX is the last of its kind whatever the LMC: here is the end. */
	sm->lid_cursors[lmc] = (uint16_t)lid;
	return lid <= SM_LID_MAX ? (uint16_t)lid : 0;
}

/* All LIDs are given: those of ports that are not there come back. */
static void release_absent(struct sm *sm)
{
	if (sm->lids_released)
		return;
	sm->lids_released = true;
	for (uint32_t lid = 1; lid <= SM_LID_MAX; lid++) {
		uint64_t guid = sm->lid_owner[lid];
		struct lease *old = guid ? lease_of(sm, guid) : NULL;

		if (old && !subnet_port_by_guid(&sm->subnet, guid))
			end_lease(sm, old);
	}
	restart_cursors(sm);
}

static uint16_t keep_own(struct sm *sm, const struct subnet_port *port)
{
	uint16_t lid = sm_port_of(port)->lid_there;

	return are_free(sm, lid, sm_lmc_of(sm, port)) ? lease(sm, port, lid) : 0;
}

static uint16_t give_new(struct sm *sm, const struct subnet_port *port)
{
	uint8_t lmc = sm_lmc_of(sm, port);
	uint16_t lid = lowest_free(sm, lmc);

	if (!lid) {
		release_absent(sm);
		lid = lowest_free(sm, lmc);
	}
	if (!lid)
		sm->lidless++;
	return lid ? lease(sm, port, lid) : 0;
}

/* A node of another kind with its GUID may have been there before. */
static uint16_t known(struct sm *sm, const struct subnet_port *port)
{
	struct lease *lease = lease_of(sm, subnet_port_guid(port));

	if (lease && lease->lids != 1u << sm_lmc_of(sm, port)) {
		end_lease(sm, lease);
		lease = NULL;
	}
	return lease ? lease->lid : 0;
}

/* What was inherited of a port that does not keep its LIDs leads nowhere: it is to register
 * anew, as one that was reset. */
static void doubt_moved(const struct sm *sm, struct subnet_port *port, uint16_t lid)
{
	struct sm_port *p = sm_port_of(port);

	if (p->told && (p->lid_there != lid || p->lmc_there > sm_lmc_of(sm, port)))
		p->arrived = true;
}

/* Ports that have a LID choose before those that need one. */
static void assign(struct sm *sm, struct subnet_port *port, bool last)
{
	uint16_t lid = known(sm, port), top;

	if (!lid)
		lid = keep_own(sm, port);
	if (!lid && last)
		lid = give_new(sm, port);
	if (!lid && last)
		sm->sweep.failed = true;
	top = (uint16_t)(lid + (1u << sm_lmc_of(sm, port)) - 1);
	if (lid && top > sm->lid_top)
		sm->lid_top = top;
	if (lid != sm_port_of(port)->lid) {
		if (lid)
			doubt_moved(sm, port, lid);
		sm_port_set_lid(sm, port, lid);
		sm->sweep.topology = true;
	}
}

static void begin(struct sm *sm)
{
	sm->lids_released = false;
	sm->lidless = 0;
}

static enum sm_step next(struct sm *sm)
{
	struct sm_sweep *s = &sm->sweep;

	for (unsigned int i = 0; i < PORTS_A_STEP; i++) {
		if (s->cursor == sm->end_count) {
			s->cursor = 0;
			if (++s->cursor2 == 2)
				return SM_STEP_DONE;
		}
		if (s->cursor < sm->end_count)
			assign(sm, sm->ends[s->cursor++], s->cursor2 == 1);
	}
	return SM_STEP_WORKED;
}

static void end(struct sm *sm)
{
	if (sm->lidless && sm->lidless != sm->counters.lidless)
		log_warning("sm: no LIDs are left for %llu ports: there are %u, and each "
			    "port of an adapter takes %u with LMC %u",
			    (unsigned long long)sm->lidless, SM_LID_MAX,
			    1u << sm->config.lmc, sm->config.lmc);
	sm->counters.lidless = sm->lidless;
}

const struct sm_phase sm_phase_lids = {
	.name = "lids",
	.begin = begin,
	.next = next,
	.end = end,
};
