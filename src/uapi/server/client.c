/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One connection: a control socket on which requests come and replies go, and, for a
 * process of the site, an event socket for what it is told unasked.
 *
 * The other end is trusted with nothing. A message that does not keep the frame of
 * protocol.h ends the connection; a request that keeps it and asks for nonsense gets an
 * errno. Nothing here waits: each turn of the loop reads one message of one connection,
 * a reply that finds no room means that the client does not read (there is one reply at
 * a time) and ends it, and events are queued up to a bound.
 *
 * Death (docs/architecture.md, Processes) is end of file on the control socket or the
 * end of the process behind the pidfd, whichever comes first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pidfd.h"
#include "uapi/server/server_priv.h"

#define EVENTS_QUEUED_MAX 4096u
#define HELLO_TIMEOUT_MS  10000u

struct queued_event {
	struct list link;
	size_t bytes;
	uint8_t message[];
};

/* One message at a time, on the loop's one thread. */
static union {
	struct uapi_header header;
	uint8_t bytes[UAPI_MESSAGE_MAX];
} incoming, outgoing;

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void destroy_later(void *arg)
{
	connection_destroy(arg);
}

void connection_doom(struct connection *c, const char *why)
{
	if (c->doomed)
		return;
	log_debug("process %d: disconnected: %s", (int)c->pid, why);
	c->doomed = true;
	loop_io_modify(c->io, 0);
	if (c->pidfd_io)
		loop_io_modify(c->pidfd_io, 0);
	loop_timer_disarm(c->hello_timer);
	loop_timer_arm(c->doom_timer, 0);
}

/* -- descriptors beside messages ---------------------------------------------------- */

static void fds_close_in(struct uapi_fds *fds)
{
	for (unsigned int i = 0; i < fds->in_count; i++)
		close_fd(&fds->in[i]);
}

static void fds_close_out(struct uapi_fds *fds)
{
	for (unsigned int i = 0; i < fds->out_count; i++)
		if (fds->close_out & 1u << i)
			close_fd(&fds->out[i]);
}

/* The kernel has thrown away what the buffer of UAPI_FDS_MAX had no room for. */
static void fds_collect(struct msghdr *msg, struct uapi_fds *fds)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= h->cmsg_len - CMSG_LEN(0);
		     at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + at, sizeof(fd));
			if (fds->in_count < UAPI_FDS_MAX)
				fds->in[fds->in_count++] = fd;
			else
				close(fd);
		}
	}
}

/* -- messages ----------------------------------------------------------------------- */

/* Bytes of the message; 0: end of file; -EAGAIN: none; -EPROTO: it breaks the frame. */
static ssize_t receive(struct connection *c, struct uapi_fds *fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * UAPI_FDS_MAX)];
	} control;
	struct iovec iov = { incoming.bytes, sizeof(incoming.bytes) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	fds_collect(&msg, fds);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPROTO;
	if (n && ((size_t)n < sizeof(struct uapi_header) || incoming.header.length != n ||
		  incoming.header.fds != fds->in_count))
		return -EPROTO;
	return n;
}

int uapi_message_send(int fd, const void *message, size_t bytes,
		      const struct uapi_fds *fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * UAPI_FDS_MAX)];
	} control;
	struct iovec iov = { (void *)(uintptr_t)message, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fds && fds->out_count) {
		size_t fd_bytes = sizeof(int) * fds->out_count;
		struct cmsghdr *h;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(fd_bytes);
		h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(fd_bytes);
		memcpy(CMSG_DATA(h), fds->out, fd_bytes);
	}
	do
		n = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

void connection_reply(struct connection *c, uint16_t op, uint32_t serial, int status,
		      const void *body, size_t bytes, struct uapi_fds *fds)
{
	int r;

	if (status < 0) {
		fds_close_out(fds);
		fds->out_count = 0;
	}
	outgoing.header = (struct uapi_header){
		.length = (uint32_t)(sizeof(struct uapi_header) + bytes),
		.op = op,
		.fds = (uint16_t)fds->out_count,
		.serial = serial,
		.status = status,
	};
	if (bytes)
		memmove(outgoing.bytes + sizeof(struct uapi_header), body, bytes);
	if (status)
		log_debug("process %d: %s: %s", (int)c->pid, uapi_op_name(op),
			  strerror(-status));
	r = uapi_message_send(c->fd, outgoing.bytes, outgoing.header.length, fds);
	fds_close_out(fds);
	if (r == -EAGAIN)
		connection_doom(c, "does not read its replies");
	else if (r < 0)
		connection_doom(c, "is gone");
}

/* To the request in hand. A body goes along on success; for HELLO always, so that it can
 * name the versions. */
static void reply(struct connection *c, int status, size_t body_bytes,
		  struct uapi_fds *fds)
{
	connection_reply(c, incoming.header.op, incoming.header.serial, status,
			 outgoing.bytes + sizeof(struct uapi_header), body_bytes, fds);
}

static void hello(struct connection *c, const void *body, size_t bytes,
		  struct uapi_fds *fds)
{
	struct uapi_hello_reply *r =
		(void *)(outgoing.bytes + sizeof(struct uapi_header));
	int status;

	if (c->state != CONNECTION_NEW) {
		reply(c, -EINVAL, 0, fds);
		return;
	}
	memset(r, 0, sizeof(*r));
	status = site_hello(c, body, bytes, r, fds);
	reply(c, status, !status || status == -EPROTO ? sizeof(*r) : 0, fds);
	if (status < 0) {
		connection_doom(c, "was refused");
		return;
	}
	loop_timer_disarm(c->hello_timer);
}

static const struct uapi_op_entry *find_op(const struct connection *c, unsigned int op)
{
	const struct uapi_op_entry *e = op < UAPI_OPS_END ? &c->server->ops[op] : NULL;

	return e && e->fn ? e : NULL;
}

/* Ops from MAP_PEER on are asked by processes of the site alone; but by tools ADMIN, what
 * is about network namespaces, and the ops of libibumad, which has no business with the
 * site's memory. */
static bool may_ask(const struct connection *c, unsigned int op)
{
	if ((op >= UAPI_ADMIN && op <= UAPI_NETNS_ADDRESS) ||
	    (op >= UAPI_UMAD_QUERY && op <= UAPI_UMAD_FETCH))
		return c->state == CONNECTION_TOOL;
	return op < UAPI_MAP_PEER || c->state == CONNECTION_PROCESS;
}

static void dispatch(struct connection *c, size_t bytes, struct uapi_fds *fds)
{
	const struct uapi_header *h = &incoming.header;
	const uint8_t *body = incoming.bytes + sizeof(*h);
	const struct uapi_op_entry *op = find_op(c, h->op);
	uint8_t *reply_body = outgoing.bytes + sizeof(*h);
	int status;

	bytes -= sizeof(*h);
	if (h->op == UAPI_HELLO) {
		hello(c, body, bytes, fds);
		return;
	}
	if (c->state == CONNECTION_NEW) {
		connection_doom(c, "does not begin with HELLO");
		return;
	}
	if (c->admin.pending) {
		connection_doom(c, "asks before it is answered");
		return;
	}
	if (!op)
		status = -EOPNOTSUPP;
	else if (bytes != op->request_bytes || h->status)
		status = -EINVAL;
	else if (!may_ask(c, h->op))
		status = -EPERM;
	else {
		memset(reply_body, 0, op->reply_bytes);
		status = op->fn(&c->client, body, reply_body, fds);
	}
	if (status == UAPI_ANSWERS_LATER)
		return;
	reply(c, status, status ? 0 : op->reply_bytes, fds);
}

static void control_ready(void *arg, unsigned int events)
{
	struct uapi_fds fds = { .out = { -1, -1, -1, -1 } };
	struct connection *c = arg;
	ssize_t n;

	n = receive(c, &fds);
	if (n > 0)
		dispatch(c, (size_t)n, &fds);
	else if (n == -EPROTO)
		connection_doom(c, "broken message");
	else if (n != -EAGAIN)
		connection_doom(c, n ? "its socket failed" : "end of file");
	fds_close_in(&fds);
}

/* -- events ------------------------------------------------------------------------- */

static void drop_events(struct connection *c)
{
	while (!list_empty(&c->events)) {
		struct queued_event *e =
			container_of(c->events.next, struct queued_event, link);

		list_remove(&e->link);
		free(e);
	}
	c->event_count = 0;
}

static void event_room(void *arg, unsigned int events)
{
	struct connection *c = arg;

	while (!list_empty(&c->events)) {
		struct queued_event *e =
			container_of(c->events.next, struct queued_event, link);
		int r = uapi_message_send(c->event_fd, e->message, e->bytes, NULL);

		if (r == -EAGAIN)
			return;
		if (r < 0) {
			drop_events(c);
			loop_io_modify(c->event_io, 0);
			connection_doom(c, "closed its event socket");
			return;
		}
		list_remove(&e->link);
		free(e);
		c->event_count--;
	}
	loop_io_modify(c->event_io, 0);
}

static int queue_event(struct connection *c, const void *message, size_t bytes)
{
	struct queued_event *e;

	if (c->event_count >= EVENTS_QUEUED_MAX)
		return -ENOBUFS;
	e = malloc(sizeof(*e) + bytes);
	if (!e)
		return -ENOBUFS;
	e->bytes = bytes;
	memcpy(e->message, message, bytes);
	list_append(&c->events, &e->link);
	if (!c->event_count++)
		loop_io_modify(c->event_io, LOOP_WRITE);
	return 0;
}

int uapi_client_event(struct uapi_client *client, uint16_t op, const void *body,
		      size_t length)
{
	struct connection *c = container_of(client, struct connection, client);
	uint8_t message[sizeof(struct uapi_header) + 1024];
	struct uapi_header h = {
		.length = (uint32_t)(sizeof(h) + length),
		.op = op,
	};
	int r;

	if (c->doomed || c->event_fd < 0 || h.length > sizeof(message))
		return -ENOBUFS;
	memcpy(message, &h, sizeof(h));
	memcpy(message + sizeof(h), body, length);
	/* What waits goes first: order is part of the promise. */
	r = c->event_count ? -EAGAIN
			   : uapi_message_send(c->event_fd, message, h.length, NULL);
	if (r == -EAGAIN)
		r = queue_event(c, message, h.length);
	if (r < 0)
		connection_doom(c, r == -ENOBUFS ? "lets its events pile up"
						 : "closed its event socket");
	return r < 0 ? -ENOBUFS : 0;
}

int connection_open_events(struct connection *c, int *ret_peer_fd)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	r = loop_io_create(c->server->config.loop, pair[0], 0, event_room, c,
			   &c->event_io);
	if (r < 0) {
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	c->event_fd = pair[0];
	*ret_peer_fd = pair[1];
	return 0;
}

/* -- life --------------------------------------------------------------------------- */

static void process_ended(void *arg, unsigned int events)
{
	connection_doom(arg, "its process ended");
}

static void hello_overdue(void *arg)
{
	connection_doom(arg, "said nothing");
}

int connection_check_pidfd(const struct connection *c, int fd, pid_t *ret_inner)
{
	pid_t pid;
	int r;

	r = pidfd_owner(fd, &pid, ret_inner);
	if (r < 0)
		return r;
	return pid == c->pid ? 0 : -EPERM;
}

int connection_watch_pidfd(struct connection *c, int pidfd)
{
	int r;

	r = loop_io_create(c->server->config.loop, pidfd, LOOP_READ, process_ended, c,
			   &c->pidfd_io);
	if (r < 0)
		return r;
	c->pidfd = pidfd;
	return 0;
}

int connection_create(struct uapi_server *s, int fd, const struct ucred *who)
{
	unsigned int timeout = s->config.limits.hello_timeout_ms;
	struct connection *c;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->server = s;
	c->pid = who->pid;
	c->uid = who->uid;
	c->fd = fd;
	c->pidfd = -1;
	c->event_fd = -1;
	list_init(&c->events);
	r = loop_timer_create(s->config.loop, hello_overdue, c, &c->hello_timer);
	if (r < 0)
		goto destroy_timers;
	r = loop_timer_create(s->config.loop, destroy_later, c, &c->doom_timer);
	if (r < 0)
		goto destroy_timers;
	r = loop_io_create(s->config.loop, fd, LOOP_READ, control_ready, c, &c->io);
	if (r < 0)
		goto destroy_timers;
	loop_timer_arm(c->hello_timer, timeout ? timeout : HELLO_TIMEOUT_MS);
	list_append(&s->connections, &c->link);
	s->connection_count++;
	return 0;

destroy_timers:
	loop_timer_destroy(c->doom_timer);
	loop_timer_destroy(c->hello_timer);
	free(c);
	return r;
}

void connection_destroy(struct connection *c)
{
	struct uapi_server *s = c->server;

	c->doomed = true; /* what is destroyed on the way sends no events */
	list_remove(&c->link);
	s->connection_count--;
	admin_goodbye(c);
	site_goodbye(c);
	loop_io_destroy(c->io);
	loop_io_destroy(c->pidfd_io);
	loop_io_destroy(c->event_io);
	loop_timer_destroy(c->hello_timer);
	loop_timer_destroy(c->doom_timer);
	drop_events(c);
	close_fd(&c->fd);
	close_fd(&c->pidfd);
	close_fd(&c->event_fd);
	free(c);
}
