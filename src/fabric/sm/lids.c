/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A LID for every port, and LMC 0. A GUID keeps its LID as long as the SM lives, whether
 * the port is there or not; a port that the SM does not know keeps the LID that it has, if
 * that is valid and nobody else's; all others get the lowest that is free. Who has stood
 * by knows no port: another one has given LIDs meanwhile.
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
	uint16_t lid;
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

void sm_lids_forget(struct sm *sm)
{
	hash_drain(&sm->leases, free_lease);
	memset(sm->lid_owner, 0, (SM_LID_MAX + 1u) * sizeof(*sm->lid_owner));
	sm->lid_cursor = 1;
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

static uint16_t lease(struct sm *sm, uint64_t guid, uint16_t lid)
{
	struct lease *lease = calloc(1, sizeof(*lease));

	if (!lease)
		return 0;
	lease->guid = guid;
	lease->lid = lid;
	sm->lid_owner[lid] = guid;
	hash_insert(&sm->leases, &lease->by_guid, sm_guid_hash(guid));
	return lid;
}

static uint16_t lowest_free(struct sm *sm)
{
	for (uint32_t lid = sm->lid_cursor; lid <= SM_LID_MAX; lid++) {
		if (sm->lid_owner[lid])
			continue;
		sm->lid_cursor = (uint16_t)(lid + 1);
		return (uint16_t)lid;
	}
	return 0;
}

/* All LIDs are given: those of ports that are not there come back. */
static void release_absent(struct sm *sm)
{
	for (uint32_t lid = 1; lid <= SM_LID_MAX; lid++) {
		uint64_t guid = sm->lid_owner[lid];
		struct lease *old = guid ? lease_of(sm, guid) : NULL;

		if (!old || subnet_port_by_guid(&sm->subnet, guid))
			continue;
		hash_remove(&sm->leases, &old->by_guid);
		free(old);
		sm->lid_owner[lid] = 0;
	}
	sm->lid_cursor = 1;
}

static uint16_t keep_own(struct sm *sm, const struct subnet_port *port)
{
	uint16_t lid = sm_port_of(port)->lid_there;

	if (lid == 0 || lid > SM_LID_MAX || port->info.lmc || sm->lid_owner[lid])
		return 0;
	return lease(sm, subnet_port_guid(port), lid);
}

static uint16_t give_new(struct sm *sm, const struct subnet_port *port)
{
	uint16_t lid = lowest_free(sm);

	if (!lid) {
		release_absent(sm);
		lid = lowest_free(sm);
	}
	if (!lid) {
		log_warning("sm: no LID is left for port %016llx",
			    (unsigned long long)subnet_port_guid(port));
		return 0;
	}
	return lease(sm, subnet_port_guid(port), lid);
}

/* Ports that have a LID choose before those that need one. */
static void assign(struct sm *sm, struct subnet_port *port, bool last)
{
	const struct lease *known = lease_of(sm, subnet_port_guid(port));
	uint16_t lid = known ? known->lid : keep_own(sm, port);

	if (!lid && last)
		lid = give_new(sm, port);
	if (!lid && last)
		sm->sweep.failed = true;
	if (lid > sm->lid_top)
		sm->lid_top = lid;
	if (lid != sm_port_of(port)->lid) {
		sm_port_set_lid(sm, port, lid);
		sm->sweep.topology = true;
	}
}

static void begin(struct sm *sm)
{
	if (!sm->lid_cursor)
		sm->lid_cursor = 1;
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

const struct sm_phase sm_phase_lids = { .name = "lids", .begin = begin, .next = next };
