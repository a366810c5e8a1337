/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who uses which block of a process's counter file (shm/counters.h). The file is mapped
 * read-only here: the engine zeroes a block when it is handed one, and whoever wants a
 * block's last values takes them before it is freed (hca_device_ops).
 */
#include <stdlib.h>

#include "hca/hca_priv.h"
#include "shm/counters.h"

static struct hca_process *process_create(void)
{
	struct hca_process *p;

	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (hca_ids_init(&p->qps, 0, SHM_QP_COUNTERS, HCA_IDS_LOWEST) < 0)
		goto free_process;
	if (hca_ids_init(&p->members, 0, SHM_MEMBER_COUNTERS, HCA_IDS_LOWEST) < 0)
		goto fini_qps;
	return p;

fini_qps:
	hca_ids_fini(&p->qps);
free_process:
	free(p);
	return NULL;
}

static struct hca_process *process_get(struct hca_site *site, uint32_t slot)
{
	if (!site->processes[slot])
		site->processes[slot] = process_create();
	return site->processes[slot];
}

static void process_put(struct hca_site *site, uint32_t slot)
{
	struct hca_process *p = site->processes[slot];

	if (p->qps.used || p->members.used)
		return;
	hca_ids_fini(&p->qps);
	hca_ids_fini(&p->members);
	free(p);
	site->processes[slot] = NULL;
}

int hca_qp_counters_alloc(struct hca_site *site, uint32_t slot, uint32_t *ret)
{
	struct hca_process *p = process_get(site, slot);

	return p ? hca_ids_alloc(&p->qps, ret) : -ENOMEM;
}

void hca_qp_counters_free(struct hca_site *site, uint32_t slot, uint32_t index)
{
	hca_ids_free(&site->processes[slot]->qps, index);
	process_put(site, slot);
}

int hca_member_counters_alloc(struct hca_site *site, uint32_t slot, uint32_t *ret)
{
	struct hca_process *p = process_get(site, slot);

	return p ? hca_ids_alloc(&p->members, ret) : -ENOMEM;
}

void hca_member_counters_free(struct hca_site *site, uint32_t slot, uint32_t index)
{
	hca_ids_free(&site->processes[slot]->members, index);
	process_put(site, slot);
}
