/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdlib.h>

#include "daemon/admin_priv.h"

void admin_refuse(struct uapi_admin_call *call, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	uapi_admin_answer(call, ADMIN_FAILED, text);
}

bool admin_text_begin(struct admin_text *t, struct uapi_admin_call *call)
{
	*t = (struct admin_text){ .text = NULL };
	t->out = open_memstream(&t->text, &t->length);
	if (!t->out)
		admin_refuse(call, "verbcastd is out of memory");
	return t->out;
}

void admin_text_answer(struct admin_text *t, struct uapi_admin_call *call)
{
	if (fclose(t->out))
		admin_refuse(call, "verbcastd is out of memory");
	else
		uapi_admin_answer(call, ADMIN_DONE, t->text);
	free(t->text);
}

static void name_nodes(struct site *s, struct uapi_admin_call *call)
{
	uapi_admin_answer(call, ADMIN_DONE, ib_node_name(s->node));
}

void admin_command(struct site *s, struct uapi_admin_call *call, int argc, char **argv)
{
	char error[OPTIONS_ERROR_MAX];
	struct admin_request r;

	if (admin_parse(argc, argv, &r, error) < 0) {
		uapi_admin_answer(call, ADMIN_MISUSED, error);
		return;
	}
	switch (r.command) {
	case ADMIN_NODES:
		name_nodes(s, call);
		return;
	default:
		admin_refuse(call, "site %s has no fabric", s->paths->name);
	}
}

void admin_gone(struct site *s, struct uapi_admin_call *call)
{
}
