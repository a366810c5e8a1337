/* SPDX-License-Identifier: BSD-2-Clause */
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admin_priv.h"

#define NODES_NAMED 16u

/* -- answers ------------------------------------------------------------------------- */

void admin_refuse(struct uapi_admin_call *call, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	uapi_admin_answer(call, ADMIN_FAILED, text);
}

void admin_done(struct uapi_admin_call *call)
{
	uapi_admin_answer(call, ADMIN_DONE, "");
}

static void refuse_without_memory(struct uapi_admin_call *call)
{
	admin_refuse(call, "verbcastd is out of memory");
}

bool admin_text_begin(struct admin_text *t, struct uapi_admin_call *call)
{
	*t = (struct admin_text){ .text = NULL };
	t->out = open_memstream(&t->text, &t->length);
	if (!t->out)
		refuse_without_memory(call);
	return t->out;
}

void admin_text_answer(struct admin_text *t, struct uapi_admin_call *call)
{
	if (fclose(t->out))
		refuse_without_memory(call);
	else
		uapi_admin_answer(call, ADMIN_DONE, t->text);
	free(t->text);
}

void admin_json_answer(struct uapi_admin_call *call, struct cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);
	struct admin_text t;

	cJSON_Delete(json);
	if (!text) {
		refuse_without_memory(call);
		return;
	}
	if (admin_text_begin(&t, call)) {
		fprintf(t.out, "%s\n", text);
		admin_text_answer(&t, call);
	}
	free(text);
}

/* -- nodes --------------------------------------------------------------------------- */

void admin_name_nodes(const struct site *s, char *to, size_t room)
{
	struct node *node;
	unsigned int n = 0;
	size_t at = 0;

	to[0] = '\0';
	for (; n < NODES_NAMED && (node = nodes_nth(s->nodes, n)) && at < room; n++)
		at += (size_t)snprintf(to + at, room - at, "%s%s", at ? ", " : "",
				       ib_node_name(node->ib));
	while (nodes_nth(s->nodes, n))
		n++;
	if (n > NODES_NAMED && at < room)
		snprintf(to + at, room - at, " and %u more", n - NODES_NAMED);
}

struct node *admin_find_node(struct site *s, struct uapi_admin_call *call,
			     const char *name)
{
	struct node *node = nodes_find(s->nodes, name ? name : "");
	char have[256];

	if (node)
		return node;
	admin_name_nodes(s, have, sizeof(have));
	admin_refuse(call, "site %s has no node '%.80s'; it has %s", s->paths->name, name,
		     have);
	return NULL;
}

void admin_nodes(struct site *s, struct uapi_admin_call *call,
		 const struct admin_request *r)
{
	char have[256];

	admin_name_nodes(s, have, sizeof(have));
	uapi_admin_answer(call, ADMIN_DONE, have);
}

/* -- which of them ------------------------------------------------------------------- */

static const struct {
	admin_fn fn;
	bool without_fabric;
} commands[] = {
	[ADMIN_NODES] = { admin_nodes, true },
	[ADMIN_FABRIC_UP] = { admin_fabric_up, true },
	[ADMIN_FABRIC_SHOW] = { admin_fabric_show, false },
	[ADMIN_FABRIC_SM] = { admin_fabric_sm, false },
	[ADMIN_FABRIC_LINK] = { admin_fabric_link, false },
	[ADMIN_FABRIC_NODE] = { admin_fabric_node, false },
	[ADMIN_FABRIC_LOSS] = { admin_fabric_loss, false },
	[ADMIN_SA_DROP] = { admin_sa_fault, false },
	[ADMIN_SA_DELAY] = { admin_sa_fault, false },
	[ADMIN_SA_BUSY] = { admin_sa_fault, false },
	[ADMIN_SA_ERROR] = { admin_sa_fault, false },
	[ADMIN_SA_CLEAR] = { admin_sa_fault, false },
	[ADMIN_GROUP_LIST] = { admin_group_list, false },
	[ADMIN_GROUP_CREATE] = { admin_group_join, false },
	[ADMIN_GROUP_JOIN] = { admin_group_join, false },
	[ADMIN_GROUP_LEAVE] = { admin_group_leave, false },
	[ADMIN_MODULE_LOAD] = { admin_module, true },
	[ADMIN_MODULE_UNLOAD] = { admin_module, true },
	[ADMIN_MODULE_LIST] = { admin_module, true },
	[ADMIN_FAULT_ADD] = { admin_fault_add, true },
	[ADMIN_FAULT_LIST] = { admin_fault_list, true },
	[ADMIN_FAULT_CLEAR] = { admin_fault_clear, true },
};

void admin_command(struct site *s, struct uapi_admin_call *call, int argc, char **argv)
{
	char error[OPTIONS_ERROR_MAX];
	struct admin_request r;

	if (admin_parse(argc, argv, &r, error) < 0)
		uapi_admin_answer(call, ADMIN_MISUSED, error);
	else if (!s->fabric && !commands[r.command].without_fabric)
		admin_refuse(call, "site %s has no fabric", s->paths->name);
	else
		commands[r.command].fn(s, call, &r);
}

void admin_gone(struct site *s, struct uapi_admin_call *call)
{
	if (!admin_fabric_gone(&s->admin, call) && !admin_group_gone(&s->admin, call))
		modules_forget(s->modules, call);
}

void admin_site_init(struct admin_site *a)
{
	list_init(&a->joins);
	list_init(&a->ups);
	ib_sa_register_client(&a->sa_client);
}

void admin_site_fini(struct admin_site *a)
{
	admin_fabric_fini(a);
	admin_group_fini(a);
	ib_sa_unregister_client(&a->sa_client);
}
