/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the path's answers to the tables: the entries that lead to a group, and which LIDs
 * are reached from a port. Asked when a group is made, and again, a slice at a time, when
 * the routes have changed.
 */
#include <stdlib.h>

#include "base/log.h"
#include "hca/groups_priv.h"

/* Entries looked at in one slice: well below a millisecond. */
#define SLICE 2048u

static uint64_t routes_of(const struct hca_device *dev)
{
	const struct path *path = dev->path;

	return path->ops->generation ? path->ops->generation(path->arg) : 0;
}

/* -- groups ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The ports from which it is reached, its own first, then by number; how many there are.
 * `ret` is the caller's to free. */
static int ingress_ports(const struct hca_group *group, uint32_t **ret)
{
	const struct path *path = group->device->path;
	uint32_t port = hca_port_index(group->device, group->port_num);
	uint32_t *ports = NULL, *grown;
	int count = 1, room;

	do {
		room = count;
		grown = realloc(ports, (size_t)room * sizeof(*ports));
		if (!grown) {
			free(ports);
			return -ENOMEM;
		}
		ports = grown;
		count = path->ops->ingress_ports(path->arg, port, group->mgid.raw,
						 group->mlid, ports, (unsigned int)room);
	} while (count > room);
	if (count <= 0) {
		free(ports);
		return count ? count : -ENETUNREACH;
	}
	qsort(ports + 1, (size_t)count - 1, sizeof(*ports), by_number);
	*ret = ports;
	return count;
}

/* The old entries, which are used up one after the other, as far as they are wanted yet. */
struct old_entries {
	struct hca_entry **entries;
	uint32_t count, next;
};

static struct hca_entry *take_old(struct hca_group *group, struct old_entries *old,
				  uint32_t ingress, bool own)
{
	while (old->next < old->count) {
		struct hca_entry *entry = old->entries[old->next];

		if (entry->ingress == ingress) {
			old->next++;
			return entry;
		}
		/* The first of them is the port's own, whatever its number. */
		if (own || entry->ingress > ingress)
			return NULL;
		hca_entry_put(group, entry);
		old->next++;
	}
	return NULL;
}

/* Fill group->entries, which has room. The first failure, if any. */
static int merge(struct hca_group *group, struct old_entries *old, const uint32_t *ports,
		 int count)
{
	int r, failure = 0;

	for (int i = 0; i < count; i++) {
		struct hca_entry *entry = take_old(group, old, ports[i], i == 0);

		r = entry ? 0 : hca_entry_get(group, ports[i], &entry);
		if (r == 0)
			group->entries[group->entry_count++] = entry;
		else if (!failure)
			failure = r;
	}
	while (old->next < old->count)
		hca_entry_put(group, old->entries[old->next++]);
	return failure;
}

int hca_group_compile(struct hca_group *group)
{
	struct old_entries old = { group->entries, group->entry_count, 0 };
	struct hca_entry **entries;
	uint32_t *ports = NULL;
	int count, r;

	count = ingress_ports(group, &ports);
	if (count < 0)
		return count;
	entries = calloc((size_t)count, sizeof(*entries));
	if (!entries) {
		free(ports);
		return -ENOMEM;
	}
	group->entries = entries;
	group->entry_count = 0;
	r = merge(group, &old, ports, count);
	free(old.entries);
	free(ports);
	return r;
}

void hca_group_uncompile(struct hca_group *group)
{
	while (group->entry_count)
		hca_entry_put(group, group->entries[--group->entry_count]);
	free(group->entries);
	group->entries = NULL;
}

/* -- unicast ------------------------------------------------------------------------ */

static bool reach_port(struct hca_device *dev, const struct hca_device *to)
{
	const struct path *path = dev->path;
	const struct shm_port *port = hca_port(to, 1);
	uint32_t lid = atomic_load(&port->lid);
	uint32_t end = lid + (1u << (atomic_load(&port->lmc) & 7));
	bool changed = false;

	for (; lid && lid < end && lid < IB_LID_MULTICAST_BASE; lid++)
		changed |=
			shm_reach_set(dev->site->tables, dev->port_index, (uint16_t)lid,
				      path->ops->reaches(path->arg, dev->port_index,
							 to->port_index, (uint16_t)lid));
	return changed;
}

/* Returns how many ports it asked for. */
static uint32_t reach_compile(struct hca_device *dev)
{
	bool changed = false;
	uint32_t asked = 0;

	dev->reach_stale = false;
	if (dev->ib.removed || !dev->path->ops->reaches)
		return 0;
	list_for_each(l, &dev->site->devices) {
		const struct hca_device *to =
			container_of(l, struct hca_device, site_link);

		if (to == dev || !to->infiniband || to->ib.removed)
			continue;
		changed |= reach_port(dev, to);
		asked++;
	}
	if (changed)
		hca_port_changed(dev);
	return asked;
}

/* -- when routes have changed ------------------------------------------------------- */

static void append_all(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

static void find_stale(struct hca_site *site)
{
	list_for_each(l, &site->devices) {
		struct hca_device *dev = container_of(l, struct hca_device, site_link);
		uint64_t routes = routes_of(dev);

		if (dev->routes == routes)
			continue;
		dev->routes = routes;
		dev->reach_stale = true;
		append_all(&site->stale, &dev->compiled);
	}
}

/* Returns how many entries it looked at. */
static uint32_t compile_next(struct hca_site *site)
{
	struct hca_group *group =
		container_of(site->stale.next, struct hca_group, compile_link);
	int r;

	list_remove(&group->compile_link);
	list_append(&group->device->compiled, &group->compile_link);
	r = hca_group_compile(group);
	if (r < 0)
		log_error("%s: a group is not reached from everywhere: %s",
			  group->device->ib.name, strerror(-r));
	return group->entry_count + 1;
}

static struct hca_device *next_reach(struct hca_site *site)
{
	list_for_each(l, &site->devices) {
		struct hca_device *dev = container_of(l, struct hca_device, site_link);

		if (dev->reach_stale)
			return dev;
	}
	return NULL;
}

bool hca_site_recompile(struct hca_site *site)
{
	struct hca_device *dev;
	uint32_t done = 0;

	find_stale(site);
	while (done < SLICE && (dev = next_reach(site)))
		done += reach_compile(dev) + 1;
	while (done < SLICE && !list_empty(&site->stale))
		done += compile_next(site);
	return next_reach(site) || !list_empty(&site->stale);
}
