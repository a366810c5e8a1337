/* SPDX-License-Identifier: BSD-2-Clause */
/* Address handles: this process's alone, verbcastd knows none. */
#ifndef SHIM_VERBS_AH_H
#define SHIM_VERBS_AH_H

#include "engine/engine.h"
#include "process_priv.h"

/* Created by ibv_create_ah, freed by ibv_destroy_ah. The engine finds its own part
 * behind the public one, in the next line. */
struct verbs_ah {
	_Alignas(64) struct engine_verbs_ah ah;
	struct process *process; /* a reference */
};
static_assert(sizeof(struct verbs_ah) == 64, "a line");

/* With the engine's part. */
size_t ah_bytes(void);

static inline struct verbs_ah *ah_of(const struct ibv_ah *ah)
{
	return (struct verbs_ah *)ah;
}

#endif
