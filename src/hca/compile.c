/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the path's answers to the tables: the entries that lead to a group, and which LIDs
 * are reached from a port. Asked when a group is made, and again, a slice at a time, when
 * the routes have changed; out of turn, when those of its multicast LID have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hca/groups_priv.h"

/* Entries looked at in one slice: well below a millisecond. */
#define SLICE  2048u
/* What is looked at out of turn, where little of it changes: below a millisecond, too. */
#define LITTLE (4 * SLICE)
/* What to ask for the senders of a LID counts as, where there are hundreds of ports. */
#define ASKING 128u

static uint64_t routes_of(const struct hca_device *dev)
{
	const struct path *path = dev->path;

	return path->ops->generation ? path->ops->generation(path->arg) : 0;
}

static uint64_t senders_routes_of(const struct hca_device *dev)
{
	const struct path *path = dev->path;

	return path->ops->senders ? path->ops->senders_generation(path->arg) : 0;
}

static uint64_t routes_of_group(const struct hca_group *group)
{
	const struct path *path = group->device->path;

	return path->ops->mlid_generation
		       ? path->ops->mlid_generation(path->arg, group->mlid)
		       : routes_of(group->device);
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

	group->routes = routes_of_group(group);
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

static void set_sender(struct hca_device *from, uint16_t lid, const uint64_t *senders)
{
	bool there = senders[from->port_index / 64] >> (from->port_index % 64) & 1;

	if (shm_reach_set(from->site->tables, from->port_index, lid, there))
		hca_port_changed(from);
}

/* `changed`: a bit a port; those of others need not be looked at. */
static void set_senders(struct hca_device *to, uint16_t lid, const uint64_t *senders,
			const uint64_t *changed)
{
	list_for_each(l, &to->site->devices) {
		struct hca_device *from = container_of(l, struct hca_device, site_link);
		uint32_t port = from->port_index;

		if (from != to && from->infiniband && !from->ib.removed &&
		    (!changed || changed[port / 64] >> (port % 64) & 1))
			set_sender(from, lid, senders);
	}
}

static bool differ(const struct hca_device *to, const uint64_t *senders, uint64_t *ret)
{
	uint64_t any = 0;

	for (unsigned int i = 0; i < HCA_SENDER_WORDS; i++) {
		ret[i] = to->senders[i] ^ senders[i];
		any |= ret[i];
	}
	return any != 0;
}

static void compile_lid(struct hca_device *to, uint16_t lid, bool is_first)
{
	uint64_t senders[HCA_SENDER_WORDS] = { 0 }, changed[HCA_SENDER_WORDS];
	bool known = is_first && to->senders_lid == lid &&
		     to->senders_serial == to->site->senders_serial;

	to->path->ops->senders(to->path->arg, to->port_index, lid, senders,
			       HCA_SENDER_WORDS);
	if (!known)
		set_senders(to, lid, senders, NULL);
	else if (differ(to, senders, changed))
		set_senders(to, lid, senders, changed);
	if (!is_first)
		return;
	memcpy(to->senders, senders, sizeof(senders));
	to->senders_lid = lid;
	to->senders_serial = to->site->senders_serial;
}

static uint32_t compile_senders(struct hca_device *to)
{
	const struct shm_port *port = hca_port(to, 1);
	uint32_t first = atomic_load(&port->lid), asked = 1;
	uint32_t end = first + (1u << (atomic_load(&port->lmc) & 7));

	for (uint32_t lid = first; lid && lid < end && lid < IB_LID_MULTICAST_BASE;
	     lid++, asked += ASKING)
		compile_lid(to, (uint16_t)lid, lid == first);
	return asked;
}

/* -- when routes have changed ------------------------------------------------------- */

static bool is_stale(const struct hca_group *group)
{
	return group->routes != routes_of_group(group);
}

static void find_stale_groups(struct hca_device *dev)
{
	list_for_each_safe(l, &dev->compiled) {
		struct hca_group *group = container_of(l, struct hca_group, compile_link);

		if (!is_stale(group))
			continue;
		list_remove(l);
		list_append(&dev->site->stale, l);
	}
}

static void find_stale(struct hca_site *site)
{
	list_for_each(l, &site->devices) {
		struct hca_device *dev = container_of(l, struct hca_device, site_link);
		uint64_t routes = routes_of(dev), senders = senders_routes_of(dev);

		if (dev->senders_routes != senders && !dev->ib.removed) {
			dev->senders_routes = senders;
			list_remove(&dev->reach_link);
			list_append(&site->unreached, &dev->reach_link);
		}
		if (dev->routes == routes)
			continue;
		dev->routes = routes;
		find_stale_groups(dev);
	}
}

/* Returns how many entries it looked at. */
static uint32_t compile_anew(struct hca_group *group)
{
	int r;

	list_remove(&group->compile_link);
	list_append(&group->device->compiled, &group->compile_link);
	r = hca_group_compile(group);
	if (r < 0)
		log_error("%s: a group is not reached from everywhere: %s",
			  group->device->ib.name, strerror(-r));
	return group->entry_count + 1;
}

static uint32_t compile_next(struct hca_site *site)
{
	return compile_anew(
		container_of(site->stale.next, struct hca_group, compile_link));
}

static uint32_t senders_next(struct hca_site *site)
{
	struct hca_device *dev =
		container_of(site->unreached.next, struct hca_device, reach_link);

	list_remove(&dev->reach_link);
	return compile_senders(dev);
}

static bool is_done(const struct hca_site *site)
{
	return list_empty(&site->unreached) && list_empty(&site->stale);
}

/* What changes while there is more to do is looked at when that is done, lest there be no
 * end while a subnet manager is at work. */
bool hca_site_recompile(struct hca_site *site)
{
	uint32_t done = 0;

	if (is_done(site))
		find_stale(site);
	while (done < SLICE && !list_empty(&site->unreached))
		done += senders_next(site);
	while (done < SLICE && !list_empty(&site->stale))
		done += compile_next(site);
	return !is_done(site);
}

/* -- when a multicast LID has other rows -------------------------------------------- */

static bool is_to_follow(const struct hca_group *group)
{
	return !group->device->ib.removed && is_stale(group);
}

/* Entries to look at, as far as they are known before; from LITTLE on, so many or more. */
static uint32_t cost_of(const struct hca_site *site, uint16_t mlid)
{
	uint32_t cost = 0;

	hash_for_each_match(node, &site->mlids, mlid) {
		const struct hca_group *group =
			container_of(node, struct hca_group, mlid_node);

		if (is_to_follow(group))
			cost += group->entry_count + 1;
		if (cost >= LITTLE)
			break;
	}
	return cost;
}

/* Groups that turn out to have many more entries than before are stopped at; what is left
 * is stale, as before. */
uint32_t hca_site_recompile_mlid(struct hca_site *site, uint16_t mlid)
{
	uint32_t cost = cost_of(site, mlid), done = 0;

	if (cost >= LITTLE)
		return 0;
	hash_for_each_match(node, &site->mlids, mlid) {
		struct hca_group *group = container_of(node, struct hca_group, mlid_node);

		if (done < cost + SLICE && is_to_follow(group))
			done += compile_anew(group);
	}
	return done;
}
