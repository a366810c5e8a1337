/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_ADMIN_PRIV_H
#define DAEMON_ADMIN_PRIV_H

#include <stdio.h>

#include "admin/admin.h"
#include "daemon/admin.h"
#include "daemon/site.h"

enum admin_exit {
	ADMIN_DONE = 0,
	ADMIN_FAILED = 1,
	ADMIN_MISUSED = 2,
};

/* Refuse, with a sentence. */
void admin_refuse(struct uapi_admin_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Text that grows; done with success, or thrown away with a refusal. */
struct admin_text {
	FILE *out; /* null: no memory, and nothing may be written */
	char *text;
	size_t length;
};
bool admin_text_begin(struct admin_text *t, struct uapi_admin_call *call);
void admin_text_answer(struct admin_text *t, struct uapi_admin_call *call);

#endif
