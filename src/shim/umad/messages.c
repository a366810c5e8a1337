// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sending and receiving (spec/userland 4.2, spec/sa-sm 5.3). What is longer than a MAD
 * travels in a memory file beside its message.
 *
 * A message is looked at before it is taken: one that the program's buffer is too small for
 * stays where it is, and a poll goes on reporting it.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ports.h"
#include "shim/export.h"

#define FLOW_LABEL_MASK 0xfffffu

struct packet {
	struct uapi_header header;
	struct uapi_umad_message message;
};

static int refuse(int r, int why)
{
	errno = why;
	return r;
}

/* -- out ---------------------------------------------------------------------------- */

static int make_file(const uint8_t *bytes, size_t length)
{
	int fd = memfd_create("verbcast-mad", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto failed;
		bytes += n;
		length -= (size_t)n;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
		return fd;
failed:
	length = (size_t)errno;
	close(fd);
	return -(int)length;
}

static void fill_to(struct uapi_umad_message *m, const struct ib_user_mad *mad)
{
	const ib_mad_addr_t *to = &mad->addr;

	m->qpn = be32toh(to->qpn);
	m->qkey = be32toh(to->qkey);
	m->lid = be16toh(to->lid);
	m->pkey_index = to->pkey_index;
	m->sl = to->sl;
	m->path_bits = to->path_bits;
	m->has_grh = to->grh_present != 0;
	if (!m->has_grh)
		return;
	m->gid_index = to->gid_index;
	m->hop_limit = to->hop_limit;
	m->traffic_class = to->traffic_class;
	m->flow_label = be32toh(to->flow_label) & FLOW_LABEL_MASK;
	memcpy(m->gid, to->gid, sizeof(m->gid));
}

static int send_message(struct port *port, struct uapi_umad_message *m,
			const uint8_t *bytes)
{
	struct uapi_call call = {
		.op = UAPI_UMAD_SEND,
		.req = m,
		.reqlen = sizeof(*m),
	};
	int r, fd;

	if (m->length <= sizeof(m->mad)) {
		memcpy(m->mad, bytes, m->length);
		return port_call(port, &call);
	}
	memcpy(m->mad, bytes, sizeof(m->mad));
	fd = make_file(bytes, m->length);
	if (fd < 0)
		return fd;
	call.send_fds = &fd;
	call.send_fds_n = 1;
	r = port_call(port, &call);
	close(fd);
	return r;
}

VC_EXPORT int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms,
			int retries)
{
	struct ib_user_mad *mad = umad;
	struct uapi_umad_message m = {
		.agent = (uint32_t)agentid,
		.timeout_ms = (uint32_t)timeout_ms,
		.retries = (uint32_t)retries,
		.length = (uint32_t)length,
	};
	struct port *port;
	int r;

	if (!umad || length < 0)
		return refuse(-EIO, EINVAL);
	port = port_get(portid);
	if (!port)
		return refuse(-EIO, EBADF);
	mad->agent_id = (uint32_t)agentid;
	mad->timeout_ms = (uint32_t)timeout_ms;
	mad->retries = (uint32_t)retries;
	fill_to(&m, mad);
	r = send_message(port, &m, (const uint8_t *)mad->data);
	port_put(port);
	return r < 0 ? refuse(-EIO, -r) : 0;
}

/* -- in ----------------------------------------------------------------------------- */

static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* The first message, which stays there, and a descriptor of its memory file, or -1.
 * 0 or a negative errno; -ENODEV: verbcastd has closed the port. */
static int look(int portid, struct packet *p, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { p, sizeof(*p) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	n = recvmsg(portid, &msg, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ENODEV;
	*ret_fd = take_fd(&msg);
	if (n == sizeof(*p) && p->header.length == sizeof(*p) &&
	    p->header.op == UAPI_EVENT_UMAD && !(msg.msg_flags & MSG_TRUNC)) {
		if (p->message.length <= sizeof(p->message.mad) || *ret_fd >= 0)
			return 0;
		return msg.msg_flags & MSG_CTRUNC ? -EMFILE : -EPROTO;
	}
	if (*ret_fd >= 0)
		close(*ret_fd);
	return -EPROTO;
}

static void fill_header(struct ib_user_mad *mad, const struct uapi_umad_message *m)
{
	ib_mad_addr_t *from = &mad->addr;

	memset(mad, 0, sizeof(*mad));
	mad->agent_id = m->agent;
	mad->status = (uint32_t)m->status;
	mad->timeout_ms = m->timeout_ms;
	mad->retries = m->retries;
	mad->length = (uint32_t)sizeof(*mad) + m->length;
	from->qpn = htobe32(m->qpn);
	from->qkey = htobe32(m->qkey);
	from->lid = htobe16(m->lid);
	from->sl = m->sl;
	from->path_bits = m->path_bits;
	from->grh_present = m->has_grh;
	from->gid_index = m->gid_index;
	from->hop_limit = m->hop_limit;
	from->traffic_class = m->traffic_class;
	from->flow_label = htobe32(m->flow_label);
	memcpy(from->gid, m->gid, sizeof(from->gid));
	from->pkey_index = m->pkey_index;
}

static int read_file(int fd, uint8_t *to, size_t length)
{
	size_t at = 0;

	while (at < length) {
		ssize_t n = pread(fd, to + at, length - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPROTO;
		at += (size_t)n;
	}
	return 0;
}

/* Copy what fits. 0: all of it, so it may be taken; -ENOSPC, -EINVAL: it has to stay. */
static int copy(struct ib_user_mad *mad, size_t room, const struct packet *p, int fd)
{
	const struct uapi_umad_message *m = &p->message;
	size_t first = m->length < sizeof(m->mad) ? m->length : sizeof(m->mad);

	if (room < first)
		return -EINVAL;
	fill_header(mad, m);
	memcpy(mad->data, m->mad, first);
	if (room < m->length)
		return -ENOSPC;
	if (m->length > sizeof(m->mad))
		return read_file(fd, (uint8_t *)mad->data, m->length);
	return 0;
}

static int receive_locked(int portid, struct ib_user_mad *mad, int *length)
{
	struct packet p;
	int fd = -1;
	int r;

	r = look(portid, &p, &fd);
	if (!r) {
		size_t room = *length > 0 ? (size_t)*length : 0;

		*length = (int)p.message.length;
		r = copy(mad, room, &p, fd);
	}
	/* Nobody can do anything with nonsense. */
	if (!r || r == -EPROTO)
		(void)recv(portid, &p, sizeof(p), MSG_DONTWAIT);
	if (fd >= 0)
		close(fd);
	return r < 0 ? r : (int)p.message.agent;
}

static int wait_for(int portid, int timeout_ms)
{
	struct pollfd p = { .fd = portid, .events = POLLIN };
	int n = poll(&p, 1, timeout_ms);

	if (n == 0)
		return refuse(-ETIMEDOUT, ETIMEDOUT);
	if (n < 0)
		return -EIO;
	return p.revents & POLLIN ? 0 : refuse(-EIO, EBADF);
}

VC_EXPORT int umad_poll(int portid, int timeout_ms)
{
	return wait_for(portid, timeout_ms);
}

/* The wait is a cancellation point, as OpenSM needs it; the rest is none. */
VC_EXPORT int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	int r, cancel;

	if (!umad || !length)
		return refuse(-EINVAL, EINVAL);
	pthread_testcancel();
	do {
		r = timeout_ms ? wait_for(portid, timeout_ms) : 0;
		if (r < 0)
			return r;
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		pthread_mutex_lock(&ports_receive_lock);
		r = receive_locked(portid, umad, length);
		pthread_mutex_unlock(&ports_receive_lock);
		pthread_setcancelstate(cancel, &cancel);
		/* Another thread may have been quicker. */
	} while (r == -EAGAIN && timeout_ms < 0);
	if (r == -ENODEV)
		return refuse(-EIO, ENODEV);
	return r < 0 ? refuse(r, -r) : r;
}
