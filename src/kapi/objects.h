/* SPDX-License-Identifier: BSD-2-Clause */
/* What the objects of verbs have in common. */
#ifndef KAPI_OBJECTS_H
#define KAPI_OBJECTS_H

#include <rdma/ib_verbs.h>

/* Zeroed, of the driver's size, which embeds the core's first; null: no memory. */
void *object_alloc(size_t driver_size, size_t core_size);

/* It is one of ib_alloc_cq. */
bool cq_calls_functions(const struct ib_cq *cq);
/* The functions of all that was in one of those have returned: called here, or waited for.
 * Not from kapi-comp, nor from the loop. */
void cq_work_off(struct ib_cq *cq);

#endif
