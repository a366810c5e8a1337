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
	list_init(&site->devices);
	list_init(&site->stale);
	list_init(&site->unreached);
	site->senders_serial = 1;
	r = hash_init(&site->entries);
	if (r < 0)
		goto free_site;
	r = hash_init(&site->mlids);
	if (r < 0)
		goto fini_entries;
	r = hca_ids_init(&site->keys, 1, 0xffffff, HCA_IDS_ROUND);
	if (r < 0)
		goto fini_mlids;
	*ret = site;
	return 0;

fini_mlids:
	hash_fini(&site->mlids);
fini_entries:
	hash_fini(&site->entries);
free_site:
	free(site);
	return r;
}

void hca_site_destroy(struct hca_site *site)
{
	if (!site)
		return;
	hca_ids_fini(&site->keys);
	hash_fini(&site->mlids);
	hash_fini(&site->entries);
	free(site);
}
