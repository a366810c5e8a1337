/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device holds, shown to the daemon for `verbcast status`.
 */
#include "hca/groups_priv.h"

void hca_device_use(const struct hca_device *device, struct hca_use *ret)
{
	*ret = device->use;
}

void hca_device_each_qp(const struct hca_device *device,
			void (*fn)(void *arg, const struct hca_qp_view *qp), void *arg)
{
	list_for_each(l, &device->ib.qps) {
		const struct hca_qp *qp =
			to_hca_qp(container_of(l, struct ib_qp, device_link));
		struct hca_qp_view view = {
			.qpn = qp->ib.qp_num,
			.slot = qp->slot,
			.state = qp->attr.qp_state,
			.type = qp->ib.qp_type,
			.counters = qp->counters,
			.attached = qp->attached,
		};

		fn(arg, &view);
	}
}

static void each_member(const struct hca_group *group, const struct hca_group_view *shown,
			void (*fn)(void *arg, const struct hca_group_view *group,
				   const struct hca_member_view *member),
			void *arg)
{
	list_for_each(l, &group->members) {
		const struct hca_member *m =
			container_of(l, struct hca_member, group_link);
		struct hca_member_view view = {
			.qpn = m->qp->ib.qp_num,
			.slot = m->qp->slot,
			.counters = m->counters,
			.generation = m->generation,
		};

		fn(arg, shown, &view);
	}
}

void hca_device_each_group(const struct hca_device *device,
			   void (*group)(void *arg, const struct hca_group_view *group),
			   void (*member)(void *arg, const struct hca_group_view *group,
					  const struct hca_member_view *member),
			   void *arg)
{
	list_for_each(l, &device->group_list) {
		const struct hca_group *g = container_of(l, struct hca_group, link);
		struct hca_group_view view = {
			.mgid = g->mgid,
			.port_num = g->port_num,
			.entry = g->entry_count ? g->entries[0]->index : SHM_NONE,
			.members = g->member_count,
		};

		if (group)
			group(arg, &view);
		if (member)
			each_member(g, &view, member, arg);
	}
}
