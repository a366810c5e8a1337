/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of a device: spec/kernel 1.3 on top of the tables' group entries.
 *
 * The tables know ports and processes, the engines know their queue pairs; this file
 * knows who of a process made the bit stand. An attach always makes a new generation of
 * the entries, also where the process's bit stands already: a member that joins late is
 * not to see what was sent before (shm/tables.h).
 */
#include <stdlib.h>

#include "hca/groups_priv.h"

static uint32_t group_hash(uint32_t port_num, const union ib_gid *mgid)
{
	return hash_bytes(port_num, mgid->raw, sizeof(mgid->raw));
}

static struct hca_group *group_find(struct hca_device *dev, uint32_t port_num,
				    const union ib_gid *mgid)
{
	uint32_t value = group_hash(port_num, mgid);

	hash_for_each_match(node, &dev->groups, value) {
		struct hca_group *group = container_of(node, struct hca_group, node);

		if (group->port_num == port_num && gid_equal(group->mgid.raw, mgid->raw))
			return group;
	}
	return NULL;
}

static struct hca_member *member_find(struct hca_device *dev, const struct hca_qp *qp,
				      const union ib_gid *mgid)
{
	uint32_t value = group_hash(qp->ib.qp_num, mgid);

	hash_for_each_match(node, &dev->members, value) {
		struct hca_member *m = container_of(node, struct hca_member, node);

		if (m->qp == qp && gid_equal(m->group->mgid.raw, mgid->raw))
			return m;
	}
	return NULL;
}

/* -- groups ------------------------------------------------------------------------- */

static void group_unlink_entries(struct hca_device *dev, struct hca_group *group)
{
	while (group->entry_count)
		shm_group_unlink(dev->site->tables, group->entries[--group->entry_count]);
	free(group->entries);
	group->entries = NULL;
}

/* The ports from which it is reached; `ret` is the caller's to free. */
static int ingress_ports(struct hca_device *dev, const struct hca_group *group,
			 uint32_t **ret)
{
	uint32_t port = hca_port_index(dev, group->port_num);
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
		count = dev->path->ops->ingress_ports(dev->path->arg, port,
						      group->mgid.raw, 0, ports,
						      (unsigned int)room);
	} while (count > room);
	if (count <= 0) {
		free(ports);
		return count ? count : -ENETUNREACH;
	}
	*ret = ports;
	return count;
}

/* Each port in the list makes way for the entry of it. */
static int group_link_entries(struct hca_device *dev, struct hca_group *group)
{
	int count, r;

	count = ingress_ports(dev, group, &group->entries);
	if (count < 0)
		return count;
	for (int i = 0; i < count; i++) {
		r = shm_group_link(dev->site->tables, group->entries[i], group->mgid.raw,
				   &group->entries[i]);
		if (r < 0) {
			group_unlink_entries(dev, group);
			return r == -ENOSPC ? -ENOMEM : r;
		}
		group->entry_count++;
	}
	return 0;
}

static int group_create(struct hca_device *dev, uint32_t port_num,
			const union ib_gid *mgid, struct hca_group **ret)
{
	struct hca_group *group;
	int r;

	if (dev->limits.max_mcast_grp == 0)
		return -EINVAL;
	if (dev->use.groups >= dev->limits.max_mcast_grp)
		return -ENOMEM;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->mgid = *mgid;
	group->port_num = port_num;
	list_init(&group->members);
	list_init(&group->processes);
	r = group_link_entries(dev, group);
	if (r < 0) {
		free(group);
		return r;
	}
	hash_insert(&dev->groups, &group->node, group_hash(port_num, mgid));
	list_append(&dev->group_list, &group->link);
	dev->use.groups++;
	*ret = group;
	return 0;
}

static void group_put(struct hca_device *dev, struct hca_group *group)
{
	if (group->member_count)
		return;
	list_remove(&group->link);
	hash_remove(&dev->groups, &group->node);
	group_unlink_entries(dev, group);
	dev->use.groups--;
	free(group);
}

static int group_get(struct hca_device *dev, uint32_t port_num, const union ib_gid *mgid,
		     struct hca_group **ret)
{
	*ret = group_find(dev, port_num, mgid);
	return *ret ? 0 : group_create(dev, port_num, mgid, ret);
}

/* -- processes of a group ----------------------------------------------------------- */

static struct hca_group_process *process_get(struct hca_group *group, uint32_t slot)
{
	struct hca_group_process *p;

	list_for_each(l, &group->processes) {
		p = container_of(l, struct hca_group_process, link);
		if (p->slot == slot)
			return p;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->slot = slot;
	list_append(&group->processes, &p->link);
	return p;
}

static void process_put(struct hca_group_process *p)
{
	if (p->members)
		return;
	list_remove(&p->link);
	free(p);
}

/* The bit of the process stands from here on; a generation of its own for the member. */
static void process_enter(struct hca_device *dev, struct hca_member *m)
{
	m->process->members++;
	for (uint32_t i = 0; i < m->group->entry_count; i++) {
		uint64_t generation = shm_group_set(
			dev->site->tables, m->group->entries[i], m->process->slot);

		if (i == 0)
			m->generation = generation;
	}
}

static void process_leave(struct hca_device *dev, struct hca_member *m)
{
	if (--m->process->members)
		return;
	for (uint32_t i = 0; i < m->group->entry_count; i++)
		shm_group_clear(dev->site->tables, m->group->entries[i],
				m->process->slot);
	process_put(m->process);
}

/* -- members ------------------------------------------------------------------------ */

/* The order of rxe: all attachments first, then those of the group (spec/kernel 1.3). */
static int check_limits(const struct hca_device *dev, const struct hca_group *group)
{
	if (dev->use.attachments >= dev->limits.max_total_mcast_qp_attach)
		return -ENOMEM;
	if (group->member_count >= dev->limits.max_mcast_qp_attach)
		return -ENOMEM;
	return 0;
}

static void member_publish(struct hca_device *dev, struct hca_member *m)
{
	hash_insert(&dev->members, &m->node,
		    group_hash(m->qp->ib.qp_num, &m->group->mgid));
	list_append(&m->group->members, &m->group_link);
	list_append(&m->qp->members, &m->qp_link);
	m->group->member_count++;
	m->qp->attached++;
	dev->use.attachments++;
	process_enter(dev, m);
}

static int member_create(struct hca_device *dev, struct hca_group *group,
			 struct hca_qp *qp)
{
	struct hca_member *m;
	int r;

	r = check_limits(dev, group);
	if (r < 0)
		return r;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->group = group;
	m->qp = qp;
	r = hca_member_counters_alloc(dev->site, qp->slot, &m->counters);
	if (r < 0)
		goto free_member;
	m->process = process_get(group, qp->slot);
	if (!m->process) {
		r = -ENOMEM;
		goto free_counters;
	}
	member_publish(dev, m);
	return 0;

free_counters:
	hca_member_counters_free(dev->site, qp->slot, m->counters);
free_member:
	free(m);
	return r;
}

static void member_destroy(struct hca_device *dev, struct hca_member *m)
{
	process_leave(dev, m);
	if (dev->ops && dev->ops->member_left)
		dev->ops->member_left(dev->arg, &dev->ib, &m->group->mgid, m->qp->slot,
				      m->qp->ib.qp_num, m->counters);
	hash_remove(&dev->members, &m->node);
	list_remove(&m->group_link);
	list_remove(&m->qp_link);
	m->group->member_count--;
	m->qp->attached--;
	dev->use.attachments--;
	hca_member_counters_free(dev->site, m->qp->slot, m->counters);
	free(m);
}

/* Before INIT a queue pair has no port: the device's first, then. */
static uint32_t port_of(const struct hca_qp *qp)
{
	return qp->attr.port_num ? qp->attr.port_num : 1;
}

int hca_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct hca_device *dev = to_hca_device(ib->device);
	struct hca_qp *qp = to_hca_qp(ib);
	struct hca_group *group;
	int r;

	if (member_find(dev, qp, gid))
		return 0;
	r = group_get(dev, port_of(qp), gid, &group);
	if (r < 0)
		return r;
	r = member_create(dev, group, qp);
	if (r < 0)
		group_put(dev, group);
	return r;
}

int hca_detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct hca_device *dev = to_hca_device(ib->device);
	struct hca_member *m = member_find(dev, to_hca_qp(ib), gid);
	struct hca_group *group;

	if (!m)
		return -EINVAL;
	group = m->group;
	member_destroy(dev, m);
	group_put(dev, group);
	return 0;
}

int hca_describe_mcast(struct ib_qp *ib, const union ib_gid *gid,
		       struct ib_mcast_info *info)
{
	struct hca_device *dev = to_hca_device(ib->device);
	const struct hca_member *m = member_find(dev, to_hca_qp(ib), gid);

	if (!m)
		return -ENOENT;
	/* A library follows one entry a membership so far (protocol, ATTACH_MCAST). */
	if (m->group->entry_count > 1)
		return -EOPNOTSUPP;
	info->entry = m->group->entries[0];
	info->counters = m->counters;
	info->generation = m->generation;
	return 0;
}
