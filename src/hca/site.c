/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "hca/hca_priv.h"

int hca_site_create(struct shm_tables *tables, struct hca_site **ret)
{
	struct hca_site *site;
	int r;

	site = calloc(1, sizeof(*site));
	if (!site)
		return -ENOMEM;
	site->tables = tables;
	r = hca_ids_init(&site->keys, 1, 0xffffff, HCA_IDS_ROUND);
	if (r < 0)
		goto free_site;
	*ret = site;
	return 0;

free_site:
	free(site);
	return r;
}

void hca_site_destroy(struct hca_site *site)
{
	if (!site)
		return;
	hca_ids_fini(&site->keys);
	free(site);
}
