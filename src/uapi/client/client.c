// SPDX-License-Identifier: BSD-2-Clause
/*
 * The control connection. A call holds the lock for its round trip, so requests and
 * replies are in step, and a serial number proves that they are. Called from whatever
 * thread of the program needs verbcastd, the engine's helper among them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "uapi/client/client.h"
#include "uapi/client/client_priv.h"

/*
 * Created by uapi_connection_open, freed by uapi_connection_close; the caller sees to it
 * that nobody is in a call then.
 */
struct uapi_connection {
	struct descriptor control;
	struct descriptor events; /* a duplicate of the caller's, to end it with this */
	atomic_bool dead;         /* set once */
	pthread_mutex_t lock;     /* guards what is below, and the order on `fd` */
	uint32_t serial;
	uint8_t reply[UAPI_MESSAGE_MAX];
};

static int socket_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do
		r = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
	while (r < 0 && errno == EINTR);
	if (r < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

/* A name for people; the kernel's for this program. */
static void program_name(char *name, size_t size)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	if (n < 0)
		n = 0;
	name[n] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

static void connection_kill(struct uapi_connection *c)
{
	if (atomic_exchange(&c->dead, true))
		return;
	if (descriptor_is_ours(&c->control))
		shutdown(c->control.fd, SHUT_RDWR);
	if (descriptor_is_ours(&c->events))
		shutdown(c->events.fd, SHUT_RDWR);
}

/* The round trip itself; `m->body` gets the reply's. A negative result ends the connection;
 * a reply whose descriptors found no room is one that failed with -EMFILE. */
static int exchange_locked(struct uapi_connection *c, const struct uapi_call *call,
			   struct message *m)
{
	struct uapi_header h = {
		.length = sizeof(h) + call->reqlen,
		.op = call->op,
		.fds = call->send_fds_n,
		.serial = ++c->serial,
	};
	int r, received;

	if (!descriptor_is_ours(&c->control))
		return -ENODEV;
	r = message_send(c->control.fd, &h, call->req, call->send_fds);
	if (r < 0)
		return r;
	m->body = c->reply;
	m->room = sizeof(c->reply);
	received = message_receive(c->control.fd, m);
	if (received < 0 && received != -EMFILE)
		return received;
	if (m->header.serial != h.serial || m->header.op != h.op ||
	    m->header.status > 0) {
		message_close_fds(m);
		return -EPROTO;
	}
	if (received < 0)
		m->header.status = received;
	return 0;
}

/* Hand a reply out, if it is what the operation fixes. */
static int deliver_reply(struct uapi_call *call, struct message *m)
{
	size_t length = m->header.length - sizeof(m->header);

	if (m->header.status < 0) {
		message_close_fds(m);
		return m->header.status;
	}
	if (length != call->replen || (m->fds_n && !call->recv_fds)) {
		message_close_fds(m);
		return -EPROTO;
	}
	if (length)
		memcpy(call->rep, m->body, length);
	if (call->recv_fds)
		memcpy(call->recv_fds, m->fds, sizeof(m->fds));
	call->recv_fds_n = m->fds_n;
	return 0;
}

int uapi_connection_call(struct uapi_connection *c, struct uapi_call *call)
{
	struct message m;
	int r;

	if (call->reqlen > UAPI_MESSAGE_MAX - sizeof(struct uapi_header))
		return -EMSGSIZE;
	pthread_mutex_lock(&c->lock);
	if (atomic_load(&c->dead)) {
		pthread_mutex_unlock(&c->lock);
		return -ENODEV;
	}
	r = exchange_locked(c, call, &m);
	if (r < 0) {
		connection_kill(c);
		r = -ENODEV;
	} else {
		r = deliver_reply(call, &m);
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

int uapi_connection_rpc(struct uapi_connection *c, unsigned int op, const void *req,
			size_t reqlen, void *rep, size_t replen)
{
	struct uapi_call call = {
		.op = op, .req = req, .reqlen = reqlen, .rep = rep, .replen = replen
	};

	return uapi_connection_call(c, &call);
}

/* The first round trip. Its reply may have a body though it failed (protocol.h). */
static int hello(struct uapi_connection *c, const struct uapi_introduction *who,
		 struct uapi_welcome *ret)
{
	struct uapi_hello body = {
		.magic = UAPI_MAGIC,
		.version = UAPI_VERSION,
		.layout_version = who->layout_version,
		.flags = who->flags,
		.pid = getpid(),
	};
	struct uapi_call call = { .op = UAPI_HELLO,
				  .req = &body,
				  .reqlen = sizeof(body) };
	unsigned int fds = who->flags & UAPI_HELLO_TOOL ? 0 : 4;
	struct message m;
	int r, pidfd;

	if (who->node && strlen(who->node) >= sizeof(body.node))
		return -ENAMETOOLONG;
	if (who->node)
		memcpy(body.node, who->node, strlen(who->node) + 1);
	program_name(body.program, sizeof(body.program));
	pidfd = syscall(SYS_pidfd_open, getpid(), 0); /* -1 on Linux before 5.3 */
	call.send_fds = &pidfd;
	call.send_fds_n = pidfd >= 0;
	r = exchange_locked(c, &call, &m);
	if (pidfd >= 0)
		close(pidfd);
	if (r < 0)
		return r == -EPIPE ? -ECONNREFUSED : r;
	if (m.header.length == sizeof(m.header) + sizeof(ret->reply))
		memcpy(&ret->reply, m.body, sizeof(ret->reply));
	else if (m.header.status == 0)
		m.header.status = -EPROTO;
	if (m.header.status == 0 && m.fds_n != fds)
		m.header.status = -EPROTO;
	if (m.header.status < 0) {
		message_close_fds(&m);
		return m.header.status;
	}
	if (fds) {
		ret->event_fd = m.fds[0];
		ret->tables_fd = m.fds[1];
		ret->doorbell_fd = m.fds[2];
		ret->counters_fd = m.fds[3];
	}
	return 0;
}

int uapi_connection_open(const struct uapi_introduction *who,
			 struct uapi_connection **ret, struct uapi_welcome *ret_welcome)
{
	struct uapi_connection *c;
	int fd, r;

	*ret_welcome = (struct uapi_welcome){
		.event_fd = -1, .tables_fd = -1, .doorbell_fd = -1, .counters_fd = -1
	};
	c = malloc(sizeof(*c)); /* the reply's pages stay untouched until used */
	if (!c)
		return -ENOMEM;
	descriptor_hold(&c->events, -1);
	c->serial = 0;
	atomic_init(&c->dead, false);
	pthread_mutex_init(&c->lock, NULL);
	fd = socket_connect(who->path);
	if (fd < 0) {
		r = fd;
		goto free_connection;
	}
	descriptor_hold(&c->control, fd);
	if (c->control.fd < 0) {
		r = -EMFILE;
		goto free_connection;
	}
	r = hello(c, who, ret_welcome);
	if (r < 0)
		goto close_socket;
	if (ret_welcome->event_fd >= 0)
		descriptor_hold(&c->events,
				fcntl(ret_welcome->event_fd, F_DUPFD_CLOEXEC, 0));
	*ret = c;
	return 0;

close_socket:
	descriptor_close(&c->control);
free_connection:
	pthread_mutex_destroy(&c->lock);
	free(c);
	return r;
}

void uapi_connection_close(struct uapi_connection *c)
{
	if (!c)
		return;
	descriptor_close(&c->control);
	descriptor_close(&c->events);
	free(c);
}

int uapi_connection_fd(const struct uapi_connection *c)
{
	return descriptor_is_ours(&c->control) ? c->control.fd : -1;
}

bool uapi_connection_alive(const struct uapi_connection *c)
{
	struct pollfd p = { .fd = c->control.fd };

	if (atomic_load(&c->dead) || !descriptor_is_ours(&c->control))
		return false;
	return poll(&p, 1, 0) == 0; /* asked for nothing, so it tells of hang-up only */
}

int uapi_event_read(int event_fd, unsigned int *ret_op, void *body, size_t room,
		    size_t *ret_length)
{
	struct message m = { .body = body, .room = room };
	int r;

	r = message_receive(event_fd, &m);
	if (r < 0)
		return r == -EPROTO || r == -EMFILE ? -EPROTO : -ENODEV;
	if (m.fds_n) {
		message_close_fds(&m);
		return -EPROTO;
	}
	*ret_op = m.header.op;
	*ret_length = m.header.length - sizeof(m.header);
	return 0;
}
