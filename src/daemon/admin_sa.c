/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/admin_priv.h"

static enum sa_fault_kind kind_of(enum admin_command command)
{
	switch (command) {
	case ADMIN_SA_DROP:
		return SA_FAULT_DROP;
	case ADMIN_SA_DELAY:
		return SA_FAULT_DELAY;
	case ADMIN_SA_BUSY:
		return SA_FAULT_BUSY;
	case ADMIN_SA_ERROR:
		return SA_FAULT_ERROR;
	default:
		return SA_FAULT_NONE;
	}
}

void admin_sa_fault(struct site *s, struct uapi_admin_call *call,
		    const struct admin_request *r)
{
	const struct sa_fault fault = {
		.kind = kind_of(r->command),
		.count = r->count,
		.rate = r->rate,
		.delay_ns = r->ms * TIMER_MS,
		.status = r->status,
		.attribute = r->attribute,
	};
	struct sa_server *sa = site_fabric_sa(s->fabric);

	if (!sa) {
		admin_refuse(call, "no subnet administrator of ours runs");
		return;
	}
	sa_server_set_fault(sa, &fault);
	admin_done(call);
}
