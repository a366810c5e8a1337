// SPDX-License-Identifier: BSD-2-Clause
/*
 * One message out, one message in. What comes in is checked against itself here: its
 * length field, the number of its descriptors, nothing cut off. The kernel cuts off what
 * it cannot give this process for want of descriptor numbers.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "uapi/client/client_priv.h"

/* Room for the descriptors of one message, aligned as cmsg wants it. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * UAPI_FDS_MAX)];
};

static void put_fds(struct msghdr *msg, union control *control, const int *fds,
		    unsigned int n)
{
	struct cmsghdr *c;

	memset(control, 0, sizeof(*control));
	msg->msg_control = control->bytes;
	msg->msg_controllen = CMSG_SPACE(sizeof(int) * n);
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
}

int message_send(int fd, const struct uapi_header *h, const void *body, const int *fds)
{
	struct iovec iov[2] = {
		{ .iov_base = (void *)h, .iov_len = sizeof(*h) },
		{ .iov_base = (void *)body, .iov_len = h->length - sizeof(*h) },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	union control control;
	ssize_t n;

	if (h->fds)
		put_fds(&msg, &control, fds, h->fds);
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

static void take_fds(struct msghdr *msg, struct message *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (n > UAPI_FDS_MAX - m->fds_n)
			n = UAPI_FDS_MAX - m->fds_n;
		memcpy(m->fds + m->fds_n, CMSG_DATA(c), n * sizeof(int));
		m->fds_n += n;
	}
}

void message_close_fds(struct message *m)
{
	while (m->fds_n)
		close(m->fds[--m->fds_n]);
}

/* What was received has `n` bytes and the flags. */
static int check(struct message *m, size_t n, int flags)
{
	if (n < sizeof(m->header) || m->header.length != n || flags & MSG_TRUNC)
		return -EPROTO;
	if (flags & MSG_CTRUNC && m->header.fds > m->fds_n &&
	    m->header.fds <= UAPI_FDS_MAX)
		return -EMFILE;
	return m->header.fds == m->fds_n && !(flags & MSG_CTRUNC) ? 0 : -EPROTO;
}

int message_receive(int fd, struct message *m)
{
	struct iovec iov[2] = {
		{ .iov_base = &m->header, .iov_len = sizeof(m->header) },
		{ .iov_base = m->body, .iov_len = m->room },
	};
	union control control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;
	int r;

	m->fds_n = 0;
	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	take_fds(&msg, m);
	if (n == 0)
		return -EPIPE;
	r = check(m, (size_t)n, msg.msg_flags);
	if (r < 0)
		message_close_fds(m);
	return r;
}
