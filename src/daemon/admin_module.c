/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * insmod, rmmod and lsmod. Whoever loads code into verbcastd is verbcastd: only its own
 * user may, though others of its group may use the site.
 */
#include <unistd.h>

#include "daemon/admin_priv.h"
#include "daemon/modules.h"

void admin_module(struct site *s, struct uapi_admin_call *call,
		  const struct admin_request *r)
{
	if (r->command == ADMIN_MODULE_LIST)
		modules_list(s->modules, call);
	else if (uapi_admin_uid(call) != geteuid())
		admin_refuse(call, "only the user of verbcastd (uid %u) may do that",
			     (unsigned int)geteuid());
	else if (r->command == ADMIN_MODULE_UNLOAD)
		modules_unload(s->modules, call, r->module);
	else if (s->ending)
		admin_refuse(call, "site %s is ending", s->paths->name);
	else
		modules_load(s->modules, call, r->module, r->parameters);
}
