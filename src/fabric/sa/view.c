/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/sa/server_priv.h"

void sa_server_each_group(const struct sa_server *s,
			  void (*group_fn)(void *arg, const struct sa_group_view *group),
			  void (*member_fn)(void *arg, const struct sa_group_view *group,
					    const struct sa_member_view *member),
			  void *arg)
{
	uint64_t prefix = s->sm ? sm_subnet(s->sm)->prefix : 0;

	sa_for_each_group(group, s) {
		struct sa_group_view view = { .rec = group->rec,
					      .well_known = group->well_known,
					      .members = group->count };

		view.rec.join_state = 0;
		if (group_fn)
			group_fn(arg, &view);
		for (unsigned int k = 0; member_fn && k < group->count; k++) {
			const struct sa_member *m = group->members[k];
			struct sa_member_view member = {
				.port_guid = m->port->guid,
				.join_state = m->join_state,
				.proxy_join = m->proxy,
			};

			sa_gid_put(&member.port_gid, prefix, m->guid);
			member_fn(arg, &view, &member);
		}
	}
}
