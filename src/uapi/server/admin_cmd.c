/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Op 8: a command of verbcast(1) in words. What it means the daemon knows, who also
 * checks its grammar (src/admin); here the words are told apart, and the answer finds
 * its way back however late it comes.
 */
#include <errno.h>
#include <string.h>

#include "base/memory_file.h"
#include "uapi/server/server_priv.h"

#define WORDS_MAX 64

static struct connection *connection_of(struct uapi_admin_call *call)
{
	return container_of(call, struct connection, admin);
}

/* Exactly `argc` words, each ended within `bytes`, and nothing behind them. */
static int split(struct uapi_admin *a, char *argv[WORDS_MAX + 1])
{
	uint32_t n = 0;

	if (!a->argc || a->argc > WORDS_MAX || !a->bytes || a->bytes > sizeof(a->words) ||
	    a->words[a->bytes - 1])
		return -EINVAL;
	for (uint32_t at = 0; at < a->bytes; at += (uint32_t)strlen(a->words + at) + 1) {
		if (n == a->argc)
			return -EINVAL;
		argv[n++] = a->words + at;
	}
	argv[n] = NULL;
	return n == a->argc ? 0 : -EINVAL;
}

static int admin(struct uapi_client *client, const void *request, void *reply,
		 struct uapi_fds *fds)
{
	struct connection *c = container_of(client, struct connection, client);
	const struct uapi_server_config *config = &c->server->config;
	struct uapi_admin a = *(const struct uapi_admin *)request;
	char *argv[WORDS_MAX + 1];
	int r;

	r = fds->in_count ? -EINVAL : split(&a, argv);
	if (r < 0)
		return r;
	c->admin.serial = ((const struct uapi_header *)request - 1)->serial;
	c->admin.pending = true;
	config->ops->admin(config->arg, &c->admin, (int)a.argc, argv);
	return UAPI_ANSWERS_LATER;
}

uid_t uapi_admin_uid(const struct uapi_admin_call *call)
{
	return container_of(call, struct connection, admin)->uid;
}

void uapi_admin_answer(struct uapi_admin_call *call, int exit_status, const char *text)
{
	struct uapi_admin_reply reply = {
		.exit_status = (uint32_t)exit_status,
		.bytes = strlen(text),
	};
	struct uapi_fds fds = { .out_count = 1, .close_out = 1 };
	int fd = memory_file_create("verbcast-answer", text, reply.bytes, 0);

	call->pending = false;
	fds.out[0] = fd;
	connection_reply(connection_of(call), UAPI_ADMIN, call->serial, fd < 0 ? fd : 0,
			 &reply, fd < 0 ? 0 : sizeof(reply), &fds);
}

void uapi_admin_put_off(struct uapi_admin_call *call)
{
	struct uapi_fds fds = { .out_count = 0 };

	call->pending = false;
	connection_reply(connection_of(call), UAPI_ADMIN, call->serial, -EAGAIN, NULL, 0,
			 &fds);
}

void admin_goodbye(struct connection *c)
{
	const struct uapi_server_config *config = &c->server->config;

	if (!c->admin.pending)
		return;
	c->admin.pending = false;
	config->ops->admin_gone(config->arg, &c->admin);
}

const struct uapi_command admin_commands[] = {
	{ UAPI_ADMIN, admin },
	{ 0, NULL },
};
