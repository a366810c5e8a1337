/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The door: who may come in, how many, and who is there. Connections are client.c's.
 *
 * A lease is a process that does not talk to us (any more) and for whose life the site
 * stays: `verbcast run`, which sent a pidfd of itself and then became the program.
 */
#include "uapi/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "uapi/server/server_priv.h"

#define PEER_GROUPS_MAX 256
#define VISITORS_MAX    64u /* tools, and callers that have not said who they are */

struct lease {
	struct list link;
	struct uapi_server *server;
	struct loop_io *io;
	pid_t pid; /* as struct connection has it */
	int pidfd;
	bool is_private;
};

/* -- leases ------------------------------------------------------------------------- */

void uapi_server_presence(struct uapi_server *s, bool ended_private)
{
	s->config.ops->presence(s->config.arg, s->process_count + s->lease_count,
				ended_private);
}

static void lease_destroy(struct lease *l)
{
	list_remove(&l->link);
	l->server->lease_count--;
	loop_io_destroy(l->io);
	close(l->pidfd);
	free(l);
}

static void lease_ended(void *arg, unsigned int events)
{
	struct lease *l = arg;
	struct uapi_server *s = l->server;
	bool is_private = l->is_private;

	lease_destroy(l);
	uapi_server_presence(s, is_private);
}

/* Takes `pidfd` over on success. */
int uapi_lease_add(struct uapi_server *s, pid_t pid, int pidfd, bool is_private)
{
	struct lease *l;
	int r;

	if (s->lease_count >= s->config.limits.max_clients)
		return -EUSERS;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	r = loop_io_create(s->config.loop, pidfd, LOOP_READ, lease_ended, l, &l->io);
	if (r < 0) {
		free(l);
		return r;
	}
	l->server = s;
	l->pid = pid;
	l->pidfd = pidfd;
	l->is_private = is_private;
	list_append(&s->leases, &l->link);
	s->lease_count++;
	uapi_server_presence(s, false);
	return 0;
}

bool uapi_server_has_others(const struct uapi_server *s,
			    const struct uapi_admin_call *call)
{
	const struct connection *caller = container_of(call, struct connection, admin);

	/* 0: of another number space than ours, and so may be others. */
	if (s->process_count || !caller->pid)
		return true;
	list_for_each(pos, &s->leases)
		if (container_of(pos, struct lease, link)->pid != caller->pid)
			return true;
	list_for_each(pos, &s->connections) {
		const struct connection *c = container_of(pos, struct connection, link);

		if (c != caller && c->admin.pending)
			return true;
	}
	return false;
}

/* -- the door ----------------------------------------------------------------------- */

static bool in_groups_of_peer(int fd, gid_t gid)
{
	gid_t groups[PEER_GROUPS_MAX];
	socklen_t bytes = sizeof(groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
		return false;
	for (size_t i = 0; i < bytes / sizeof(groups[0]); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static bool may_enter(const struct uapi_server *s, int fd, const struct ucred *who)
{
	if (who->uid == s->config.uid || who->uid == 0)
		return true;
	if (s->config.gid == (gid_t)-1)
		return false;
	return who->gid == s->config.gid || in_groups_of_peer(fd, s->config.gid);
}

/* Who says nothing must not keep others out, `verbcast stop` least of all. */
static bool end_oldest_silent(struct uapi_server *s)
{
	list_for_each(pos, &s->connections) {
		struct connection *c = container_of(pos, struct connection, link);

		if (c->state != CONNECTION_NEW || c->doomed)
			continue;
		connection_doom(c, "said nothing, and others want to");
		return true;
	}
	return false;
}

/* Processes are counted when they say hello. */
static bool has_room(struct uapi_server *s)
{
	return s->connection_count < s->config.limits.max_clients + VISITORS_MAX ||
	       end_oldest_silent(s);
}

static int admit(struct uapi_server *s, int fd)
{
	struct ucred who = { .pid = 0 };
	socklen_t bytes = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0)
		return -errno;
	if (!may_enter(s, fd, &who)) {
		log_info("refused process %d of user %u", (int)who.pid, who.uid);
		return -EPERM;
	}
	if (!has_room(s)) {
		log_warning("refused process %d: %u clients are connected (limit "
			    "max_clients)",
			    (int)who.pid, s->connection_count);
		return -EUSERS;
	}
	return connection_create(s, fd, &who);
}

/* Out of descriptors: the caller at the door would be announced for ever. Take it in
 * on the spare one, and send it away. */
static void refuse_without_descriptors(struct uapi_server *s)
{
	int fd;

	log_warning("out of descriptors: a client is refused");
	if (s->spare_fd < 0)
		return;
	close(s->spare_fd);
	fd = accept4(s->config.listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void caller(void *arg, unsigned int events)
{
	struct uapi_server *s = arg;
	int fd;

	fd = accept4(s->config.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		if (admit(s, fd) < 0)
			close(fd);
	} else if (errno == EMFILE || errno == ENFILE) {
		refuse_without_descriptors(s);
	}
}

/* -- life --------------------------------------------------------------------------- */

static void fill_sizes(struct uapi_server *s)
{
#define SIZES(number, name, request, reply)                    \
	s->ops[number].request_bytes = sizeof(struct request); \
	s->ops[number].reply_bytes = sizeof(struct reply);
	UAPI_OPS(SIZES)
#undef SIZES
}

static void fill_handlers(struct uapi_server *s, const struct uapi_command *commands)
{
	for (; commands->op; commands++)
		s->ops[commands->op].fn = commands->fn;
}

int uapi_server_create(const struct uapi_server_config *config, struct uapi_server **ret)
{
	struct uapi_server *s;
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	list_init(&s->connections);
	list_init(&s->leases);
	fill_sizes(s);
	fill_handlers(s, site_commands);
	fill_handlers(s, admin_commands);
	fill_handlers(s, netns_commands);
	fill_handlers(s, verbs_commands);
	fill_handlers(s, cm_commands);
	fill_handlers(s, umad_commands);
	fcntl(config->listen_fd, F_SETFL, fcntl(config->listen_fd, F_GETFL) | O_NONBLOCK);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r = loop_io_create(config->loop, config->listen_fd, LOOP_READ, caller, s,
			   &s->listen_io);
	if (r < 0) {
		if (s->spare_fd >= 0)
			close(s->spare_fd);
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void uapi_server_destroy(struct uapi_server *s)
{
	if (!s)
		return;
	loop_io_destroy(s->listen_io);
	close(s->config.listen_fd);
	list_for_each_safe(pos, &s->connections)
		connection_destroy(container_of(pos, struct connection, link));
	list_for_each_safe(pos, &s->leases)
		lease_destroy(container_of(pos, struct lease, link));
	netns_close(&s->netns);
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	free(s);
}
