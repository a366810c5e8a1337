/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server with a site that is a stub and counts, and the calls of its callers: raw
 * sockets of this process or of its children.
 */
#ifndef UAPI_SERVER_SERVER_WORLD_H
#define UAPI_SERVER_SERVER_WORLD_H
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pidfd.h"
#include "harness/harness.h"
#include "uapi/server/server_priv.h"

#define LAYOUT 77u

struct world {
	struct loop *loop;
	struct loop_timer *turn;
	struct uapi_server *server;
	struct ib_node *node;
	struct sockaddr_un addr;
	socklen_t addr_bytes;
	int memory; /* stands for every descriptor that a site has */
	unsigned int opened, closed, stopped, published;
	unsigned int present;
	unsigned int private_ends;
	int stop_replied;              /* what the client had when stop was carried out */
	struct uapi_admin_call *admin; /* waits for its answer */
	char admin_words[64];          /* of the last: "a b c" */
	unsigned int admin_gone;
};

static struct world *world;

/* -- the site ----------------------------------------------------------------------- */

static int process_open(void *arg, struct ib_node *node, pid_t pid, const char *program,
			struct uapi_process *ret)
{
	struct world *w = arg;

	*ret = (struct uapi_process){
		.slot = w->opened++,
		.incarnation = 9,
		.doorbell_fd = w->memory,
		.counters_fd = w->memory,
	};
	return 0;
}

static void process_close(void *arg, uint32_t slot)
{
	((struct world *)arg)->closed++;
}

static int map_peer(void *arg, uint32_t asking, uint32_t slot, struct uapi_peer *ret)
{
	if (slot > 5)
		return -ENOENT;
	*ret = (struct uapi_peer){
		.incarnation = 3, .doorbell_fd = -1, .log_fd = -1, .process_fd = -1
	};
	if (slot > 0)
		ret->doorbell_fd = ((struct world *)arg)->memory;
	if (slot > 1)
		ret->process_fd = ((struct world *)arg)->memory;
	return 0;
}

static int publish_log(void *arg, uint32_t slot, int fd)
{
	((struct world *)arg)->published++;
	close(fd);
	return 0;
}

static int drained(void *arg, uint32_t asking, uint32_t slot, uint32_t incarnation)
{
	return 0;
}

static int status(void *arg, int *ret_fd, uint64_t *ret_bytes)
{
	*ret_fd = memfd_create("status", MFD_CLOEXEC);
	*ret_bytes = 2;
	return write(*ret_fd, "{}", 2) == 2 ? 0 : -EIO;
}

static void stop(void *arg)
{
	((struct world *)arg)->stopped++;
}

static void admin(void *arg, struct uapi_admin_call *call, int argc, char **argv)
{
	struct world *w = arg;
	size_t at = 0;

	assert_null(argv[argc]);
	for (int i = 0; i < argc; i++)
		at += (size_t)snprintf(w->admin_words + at, sizeof(w->admin_words) - at,
				       "%s%s", i ? " " : "", argv[i]);
	if (!strcmp(argv[0], "later")) {
		w->admin = call;
	} else if (!strcmp(argv[0], "yield")) {
		uapi_admin_put_off(call);
		loop_stop(w->loop);
	} else {
		uapi_admin_answer(call, 0, "at once");
	}
}

static void admin_gone(void *arg, struct uapi_admin_call *call)
{
	struct world *w = arg;

	assert_ptr_equal(call, w->admin);
	w->admin = NULL;
	w->admin_gone++;
}

static void presence(void *arg, unsigned int clients, bool ended_private)
{
	struct world *w = arg;

	w->present = clients;
	w->private_ends += ended_private;
}

static struct ib_node *find_node(void *arg, const char *name)
{
	struct world *w = arg;

	return !*name || !strcmp(name, "local") ? w->node : NULL;
}

static const struct ipoib *ipoib(void *arg, const struct ib_node *node)
{
	return NULL;
}

static const char *site_name(void *arg)
{
	return "test";
}

static int tables_fd(void *arg)
{
	return ((struct world *)arg)->memory;
}

static uint64_t tables_bytes(void *arg)
{
	return 4096;
}

static const struct uapi_site_ops ops = {
	.process_open = process_open,
	.process_close = process_close,
	.map_peer = map_peer,
	.publish_log = publish_log,
	.drained = drained,
	.status = status,
	.admin = admin,
	.admin_gone = admin_gone,
	.stop = stop,
	.presence = presence,
	.find_node = find_node,
	.ipoib = ipoib,
	.site_name = site_name,
	.tables_fd = tables_fd,
	.tables_bytes = tables_bytes,
};

/* -- the world ---------------------------------------------------------------------- */

static void turned(void *arg)
{
	loop_stop(((struct world *)arg)->loop);
}

/* Let the server do what it can without waiting for anything. */
static void turn(void)
{
	for (int i = 0; i < 3; i++) {
		loop_timer_arm(world->turn, 0);
		assert_int_equal(loop_run(world->loop), 0);
	}
}

static int listen_somewhere(struct world *w)
{
	struct sockaddr_un autobind = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&autobind, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(fd, 64), 0);
	w->addr_bytes = sizeof(w->addr);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&w->addr, &w->addr_bytes), 0);
	return fd;
}

static int set_up(void **state)
{
	struct world *w = world = calloc(1, sizeof(*w));
	struct uapi_server_config config = {
		.ops = &ops,
		.arg = w,
		.limits = { .max_clients = 8,
			    .max_objects_per_client = 100,
			    .max_cm_ids_per_client = 100,
			    .max_joins_per_client = 100,
			    .hello_timeout_ms = 20000 },
		.uid = getuid(),
		.gid = (gid_t)-1,
		.layout_version = LAYOUT,
	};

	assert_int_equal(loop_create(&w->loop), 0);
	assert_int_equal(loop_timer_create(w->loop, turned, w, &w->turn), 0);
	w->node = ib_node_create("local", 0);
	w->memory = memfd_create("memory", MFD_CLOEXEC);
	config.loop = w->loop;
	config.listen_fd = listen_somewhere(w);
	assert_int_equal(uapi_server_create(&config, &w->server), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = world;

	uapi_server_destroy(w->server);
	assert_int_equal(w->opened, w->closed);
	ib_node_destroy(w->node);
	loop_timer_destroy(w->turn);
	loop_destroy(w->loop);
	close(w->memory);
	free(w);
	return 0;
}

/* -- a caller ----------------------------------------------------------------------- */

static int call_in(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&world->addr, world->addr_bytes),
			 0);
	return fd;
}

static bool send_raw(int fd, const void *bytes, size_t length, const int *fds,
		     size_t count)
{
	char control[CMSG_SPACE(sizeof(int) * 32)]
		__attribute__((aligned(_Alignof(struct cmsghdr)))) = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count) {
		struct cmsghdr *h = (struct cmsghdr *)control;

		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(h), fds, sizeof(int) * count);
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool send_op(int fd, uint16_t op, const void *body, size_t length, const int *fds,
		    size_t count)
{
	uint8_t message[sizeof(struct uapi_header) + 4096];
	struct uapi_header h = {
		.length = (uint32_t)(sizeof(h) + length),
		.op = op,
		.fds = (uint16_t)count,
		.serial = 4711,
	};

	memcpy(message, &h, sizeof(h));
	if (length)
		memcpy(message + sizeof(h), body, length);
	return send_raw(fd, message, h.length, fds, count);
}

struct answer {
	struct uapi_header h;
	uint8_t body[4096];
	int fds[8];
	unsigned int count;
};

/* True with a message; false at the end of file, or when there is nothing. */
static bool receive(int fd, struct answer *a)
{
	char control[CMSG_SPACE(sizeof(int) * 8)]
		__attribute__((aligned(_Alignof(struct cmsghdr))));
	struct iovec iov = { a, offsetof(struct answer, fds) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	a->count = 0;
	if (n <= 0)
		return false;
	assert_int_equal(a->h.length, n);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); h; h = CMSG_NXTHDR(&msg, h)) {
		a->count = (unsigned int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(a->fds, CMSG_DATA(h), a->count * sizeof(int));
	}
	assert_int_equal(a->h.fds, a->count);
	return true;
}

static void close_fds(struct answer *a)
{
	for (unsigned int i = 0; i < a->count; i++)
		close(a->fds[i]);
	a->count = 0;
}

/* The answer's status; fails the test if there is none. */
static int ask(int fd, uint16_t op, const void *body, size_t length, const int *fds,
	       size_t count, struct answer *a)
{
	assert_true(send_op(fd, op, body, length, fds, count));
	turn();
	assert_true(receive(fd, a));
	assert_int_equal(a->h.op, op);
	assert_int_equal(a->h.serial, 4711);
	return a->h.status;
}

static bool is_cut_off(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	char byte;

	turn();
	if (poll(&p, 1, 0) != 1)
		return false;
	n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n == 0 || (n < 0 && errno != EAGAIN);
}

static struct uapi_hello good_hello(uint32_t flags)
{
	struct uapi_hello h = {
		.magic = UAPI_MAGIC,
		.version = UAPI_VERSION,
		.layout_version = LAYOUT,
		.flags = flags,
		.pid = (uint32_t)getpid(),
		.program = "test",
	};

	return h;
}

static int say_hello(int fd, const struct uapi_hello *h, struct answer *a)
{
	int pidfd = pidfd_open_process(getpid()), r;

	r = ask(fd, UAPI_HELLO, h, sizeof(*h), &pidfd, pidfd >= 0, a);
	close(pidfd);
	return r;
}

static int hello_tool(void)
{
	struct uapi_hello h = good_hello(UAPI_HELLO_TOOL);
	struct answer a;
	int fd = call_in();

	assert_int_equal(say_hello(fd, &h, &a), 0);
	assert_int_equal(a.count, 0);
	return fd;
}

/* `ret_event`: null, and the event socket is closed. */
static int hello_process(int *ret_event)
{
	struct uapi_hello h = good_hello(0);
	struct answer a;
	int fd = call_in();

	assert_int_equal(say_hello(fd, &h, &a), 0);
	assert_int_equal(a.count, 4);
	if (ret_event) {
		*ret_event = a.fds[0];
		a.fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	close_fds(&a);
	return fd;
}

#endif
