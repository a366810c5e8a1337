/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains. The engine tells them apart by verbcastd's handle. */
#ifndef SHIM_VERBS_PD_H
#define SHIM_VERBS_PD_H

#include "context.h"

/* Created by ibv_alloc_pd, freed by ibv_dealloc_pd; who uses it is verbcastd's business. */
struct verbs_pd {
	struct ibv_pd ibv;
	struct process *process; /* a reference */
};

static inline struct verbs_pd *pd_of(const struct ibv_pd *pd)
{
	return (struct verbs_pd *)pd;
}

#endif
