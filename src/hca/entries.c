/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compiled entries of the site, each shared by the groups of all the ports that it
 * leads to.
 */
#include <stdlib.h>
#include <string.h>

#include "hca/groups_priv.h"

static uint32_t entry_hash(uint32_t ingress, const union ib_gid *mgid)
{
	return hash_bytes(ingress, mgid->raw, sizeof(mgid->raw));
}

static struct hca_entry *entry_find(const struct hca_site *site, uint32_t ingress,
				    const struct hca_group *group)
{
	uint32_t value = entry_hash(ingress, &group->mgid);

	hash_for_each_match(node, &site->entries, value) {
		struct hca_entry *entry = container_of(node, struct hca_entry, node);

		if (entry->ingress == ingress && entry->mlid == group->mlid &&
		    gid_equal(entry->mgid.raw, group->mgid.raw))
			return entry;
	}
	return NULL;
}

static int entry_create(struct hca_site *site, uint32_t ingress,
			const struct hca_group *group, struct hca_entry **ret)
{
	struct hca_entry *entry = calloc(1, sizeof(*entry));
	int r;

	if (!entry)
		return -ENOMEM;
	r = shm_group_link(site->tables, ingress, group->mgid.raw, group->mlid,
			   &entry->index);
	if (r < 0) {
		free(entry);
		return r == -ENOSPC ? -ENOMEM : r;
	}
	entry->mgid = group->mgid;
	entry->ingress = ingress;
	entry->mlid = group->mlid;
	hash_insert(&site->entries, &entry->node, entry_hash(ingress, &group->mgid));
	*ret = entry;
	return 0;
}

static void processes_of(const struct hca_group *group, uint64_t words[SHM_SLOT_WORDS])
{
	memset(words, 0, SHM_SLOT_WORDS * sizeof(words[0]));
	list_for_each(l, &group->processes) {
		uint32_t slot = container_of(l, struct hca_group_process, link)->slot;

		words[slot / 64] |= 1ull << (slot % 64);
	}
}

/*
 * The group's members do not attach or detach just now: a route comes or goes. So what is
 * stamped with the entry as it is was sent to others than what will be, and the entry makes
 * way for a new one. Where there is no place for one, that is not told apart.
 */
static void lead(struct hca_site *site, struct hca_entry *entry,
		 const struct hca_group *group, bool there)
{
	uint64_t words[SHM_SLOT_WORDS];

	processes_of(group, words);
	if (shm_group_relink(site->tables, entry->index, words, there, &entry->index) ==
	    0)
		return;
	list_for_each(l, &group->processes) {
		uint32_t slot = container_of(l, struct hca_group_process, link)->slot;

		if (there)
			shm_group_set(site->tables, entry->index, slot);
		else
			shm_group_clear(site->tables, entry->index, slot);
	}
}

int hca_entry_get(struct hca_group *group, uint32_t ingress, struct hca_entry **ret)
{
	struct hca_site *site = group->device->site;
	struct hca_entry *entry = entry_find(site, ingress, group);
	int r;

	if (!entry) {
		r = entry_create(site, ingress, group, &entry);
		if (r < 0)
			return r;
	}
	entry->uses++;
	if (!list_empty(&group->processes))
		lead(site, entry, group, true);
	*ret = entry;
	return 0;
}

/* The last one leaves the entry as it is: what is on its way by it still finds whom it was
 * for. */
void hca_entry_put(struct hca_group *group, struct hca_entry *entry)
{
	struct hca_site *site = group->device->site;

	if (--entry->uses) {
		if (!list_empty(&group->processes))
			lead(site, entry, group, false);
		return;
	}
	shm_group_unlink(site->tables, entry->index);
	hash_remove(&site->entries, &entry->node);
	free(entry);
}
