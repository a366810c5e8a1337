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

static struct hca_group *group_alloc(struct hca_device *dev, uint32_t port_num,
				     const union ib_gid *mgid, uint16_t mlid)
{
	struct hca_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->device = dev;
	group->mgid = *mgid;
	group->mlid = mlid;
	group->port_num = port_num;
	list_init(&group->members);
	list_init(&group->processes);
	return group;
}

static int group_create(struct hca_device *dev, uint32_t port_num,
			const union ib_gid *mgid, uint16_t mlid, struct hca_group **ret)
{
	struct hca_group *group;
	int r;

	if (dev->limits.max_mcast_grp == 0)
		return -EINVAL;
	if (dev->use.groups >= dev->limits.max_mcast_grp)
		return -ENOMEM;
	group = group_alloc(dev, port_num, mgid, mlid);
	if (!group)
		return -ENOMEM;
	r = hca_group_compile(group);
	if (r < 0) {
		hca_group_uncompile(group);
		free(group);
		return r;
	}
	hash_insert(&dev->groups, &group->node, group_hash(port_num, mgid));
	list_append(&dev->group_list, &group->link);
	list_append(&dev->compiled, &group->compile_link);
	if (dev->infiniband)
		hash_insert(&dev->site->mlids, &group->mlid_node, mlid);
	dev->use.groups++;
	*ret = group;
	return 0;
}

static void group_put(struct hca_device *dev, struct hca_group *group)
{
	if (group->member_count)
		return;
	list_remove(&group->link);
	list_remove(&group->compile_link);
	hash_remove(&dev->groups, &group->node);
	if (dev->infiniband)
		hash_remove(&dev->site->mlids, &group->mlid_node);
	hca_group_uncompile(group);
	dev->use.groups--;
	free(group);
}

void hca_groups_unreach(struct hca_device *dev)
{
	list_for_each(l, &dev->group_list) {
		struct hca_group *group = container_of(l, struct hca_group, link);

		list_remove(&group->compile_link);
		hca_group_uncompile(group);
	}
}

/* -EINVAL: the group is there by another MLID (spec/kernel 1.3, rdmavt). */
static int group_get(struct hca_device *dev, uint32_t port_num, const union ib_gid *mgid,
		     uint16_t mlid, struct hca_group **ret)
{
	*ret = group_find(dev, port_num, mgid);
	if (!*ret)
		return group_create(dev, port_num, mgid, mlid, ret);
	return (*ret)->mlid == mlid ? 0 : -EINVAL;
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

/* The bit of the process stands from here on; generations of its own for the member. Of
 * those the first counts: none of an entry's earlier ones is behind it. */
static void process_enter(struct hca_device *dev, struct hca_member *m)
{
	m->process->members++;
	m->generation = dev->site->tables->h.generation;
	for (uint32_t i = 0; i < m->group->entry_count; i++) {
		uint64_t generation = shm_group_set(
			dev->site->tables, m->group->entries[i]->index, m->process->slot);

		if (i == 0)
			m->generation = generation;
	}
}

static void process_leave(struct hca_device *dev, struct hca_member *m)
{
	if (--m->process->members)
		return;
	for (uint32_t i = 0; i < m->group->entry_count; i++)
		shm_group_clear(dev->site->tables, m->group->entries[i]->index,
				m->process->slot);
	process_put(m->process);
}

/* -- members ------------------------------------------------------------------------ */

/* The order of rxe: all attachments first, then those of the group; rdmavt does not count
 * the former (spec/kernel 1.3). */
static int check_limits(const struct hca_device *dev, const struct hca_group *group)
{
	if (!dev->infiniband &&
	    dev->use.attachments >= dev->limits.max_total_mcast_qp_attach)
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

/* Spec/kernel 1.3, rdmavt: on InfiniBand the queue pair must have left RESET. */
static int check_attach(const struct hca_device *dev, const struct hca_qp *qp)
{
	return dev->infiniband && qp->attr.qp_state == IB_QPS_RESET ? -EINVAL : 0;
}

int hca_attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct hca_device *dev = to_hca_device(ib->device);
	struct hca_qp *qp = to_hca_qp(ib);
	const struct hca_member *m = member_find(dev, qp, gid);
	uint16_t mlid = dev->infiniband ? lid : 0;
	struct hca_group *group;
	int r;

	r = check_attach(dev, qp);
	if (r < 0)
		return r;
	if (m)
		return m->group->mlid == mlid ? 0 : -EINVAL;
	r = group_get(dev, port_of(qp), gid, mlid, &group);
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
	/* Removing the device has taken the group's entries. */
	if (!dev->infiniband && !m->group->entry_count)
		return -EIO;
	/* On InfiniBand it has many, which come and go. */
	info->entry = dev->infiniband ? SHM_NONE : m->group->entries[0]->index;
	info->counters = m->counters;
	info->generation = m->generation;
	return 0;
}
