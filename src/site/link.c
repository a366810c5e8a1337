/* SPDX-License-Identifier: BSD-2-Clause */
#include "site/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/pidfd.h"
#include "shm/tables.h"

#define ANSWER_WITHIN_S 60 /* it may be merely without a CPU */
#define ADMIN_WITHIN_S  600

bool site_link_nobody(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET ||
	       error == -EPIPE;
}

static int connect_to(const char *path)
{
	struct timeval limit = { .tv_sec = ANSWER_WITHIN_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, r;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
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

static int send_request(struct site_link *l, uint16_t op, const void *body, size_t bytes,
			int fd)
{
	struct uapi_header h = {
		.length = (uint32_t)(sizeof(h) + bytes),
		.op = op,
		.fds = fd >= 0,
		.serial = ++l->serial,
	};
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)body, bytes } };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
	}
	do
		n = sendmsg(l->fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* A tool expects one descriptor at most; others are closed. */
static int take_fd(struct msghdr *msg)
{
	int taken = -1;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; h->cmsg_type == SCM_RIGHTS && i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			if (taken < 0)
				taken = fd;
			else
				close(fd);
		}
	}
	return taken;
}

static int receive_reply(struct site_link *l, uint16_t op, void *body, size_t bytes,
			 int *ret_fd)
{
	struct uapi_header h;
	struct iovec iov[2] = { { &h, sizeof(h) }, { body, bytes } };
	char control[CMSG_SPACE(sizeof(int) * UAPI_FDS_MAX)]
		__attribute__((aligned(_Alignof(struct cmsghdr))));
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;
	int fd;

	do
		n = recvmsg(l->fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? (errno == EAGAIN ? -ETIMEDOUT : -errno) : -ECONNRESET;
	fd = take_fd(&msg);
	if (ret_fd && fd >= 0)
		*ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	if ((size_t)n < sizeof(h) || h.length != n || h.op != op || h.serial != l->serial)
		return -EBADMSG;
	if (h.status < 0)
		return h.status;
	return (size_t)n == sizeof(h) + bytes ? 0 : -EBADMSG;
}

int site_link_call(struct site_link *l, uint16_t op, const void *request,
		   size_t request_bytes, int send_fd, void *reply, size_t reply_bytes,
		   int *ret_fd)
{
	int fd = -1, r;

	r = send_request(l, op, request, request_bytes, send_fd);
	if (r < 0)
		return r;
	r = receive_reply(l, op, reply, reply_bytes, &fd);
	if (!r && ret_fd) {
		if (fd < 0)
			return -EBADMSG;
		*ret_fd = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	return r;
}

static int say_hello(struct site_link *l, const char *node)
{
	struct uapi_hello h = {
		.magic = UAPI_MAGIC,
		.version = UAPI_VERSION,
		.layout_version = SHM_LAYOUT_VERSION,
		.flags = UAPI_HELLO_TOOL,
		.pid = (uint32_t)getpid(),
	};
	int pidfd, r;

	if (strlen(node) >= sizeof(h.node))
		return -ENODEV;
	memcpy(h.node, node, strlen(node));
	prctl(PR_GET_NAME, h.program);
	pidfd = pidfd_open_process(getpid());
	r = site_link_call(l, UAPI_HELLO, &h, sizeof(h), pidfd, &l->hello,
			   sizeof(l->hello), NULL);
	if (pidfd >= 0)
		close(pidfd);
	l->hello.site[sizeof(l->hello.site) - 1] = '\0';
	l->hello.release[sizeof(l->hello.release) - 1] = '\0';
	return r;
}

int site_link_open(struct site_link *l, const struct site_paths *p, const char *node)
{
	int r;

	memset(l, 0, sizeof(*l));
	l->fd = connect_to(p->socket);
	if (l->fd < 0)
		return l->fd == -EAGAIN ? -ETIMEDOUT : l->fd;
	r = say_hello(l, node);
	if (r < 0)
		site_link_close(l);
	return r;
}

void site_link_close(struct site_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int site_link_lease(struct site_link *l, bool is_private)
{
	struct uapi_lease lease = { .flags = is_private };
	int pidfd, r;

	pidfd = pidfd_open_process(getpid());
	if (pidfd < 0)
		return pidfd;
	r = site_link_call(l, UAPI_LEASE, &lease, sizeof(lease), pidfd, NULL, 0, NULL);
	close(pidfd);
	return r;
}

/* `bytes` of the memory file as text, to be freed; it is closed. */
static int read_text(int fd, uint64_t bytes, char **ret)
{
	char *text = malloc(bytes + 1);
	size_t at = 0;

	if (!text) {
		close(fd);
		return -ENOMEM;
	}
	while (at < bytes) {
		ssize_t n = pread(fd, text + at, bytes - at, (off_t)at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	close(fd);
	text[at] = '\0';
	*ret = text;
	return 0;
}

int site_link_status(struct site_link *l, char **ret_json)
{
	struct uapi_status_reply reply;
	int fd, r;

	r = site_link_call(l, UAPI_STATUS, NULL, 0, -1, &reply, sizeof(reply), &fd);
	return r < 0 ? r : read_text(fd, reply.bytes, ret_json);
}

static int pack_words(struct uapi_admin *a, int argc, const char *const *argv)
{
	for (int i = 0; i < argc; i++) {
		size_t bytes = strlen(argv[i]) + 1;

		if (bytes > sizeof(a->words) - a->bytes)
			return -E2BIG;
		memcpy(a->words + a->bytes, argv[i], bytes);
		a->bytes += (uint32_t)bytes;
		a->argc++;
	}
	return 0;
}

int site_link_admin(struct site_link *l, int argc, const char *const *argv,
		    int *ret_exit_status, char **ret_text)
{
	struct timeval limit = { .tv_sec = ADMIN_WITHIN_S };
	struct uapi_admin_reply reply;
	struct uapi_admin a = { 0 };
	int fd, r;

	r = pack_words(&a, argc, argv);
	if (r < 0)
		return r;
	setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r = site_link_call(l, UAPI_ADMIN, &a, sizeof(a), -1, &reply, sizeof(reply), &fd);
	if (r < 0)
		return r;
	*ret_exit_status = (int)reply.exit_status;
	return read_text(fd, reply.bytes, ret_text);
}
