// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sending and receiving (spec/userland 4.2, spec/sa-sm 5.3). A MAD goes one way, by the
 * port's socket, and verbcastd is asked only where it may have to refuse.
 *
 * What is longer than a MAD travels in a memory file. It comes in two packets; of one that
 * the program's buffer is too small for the second stays where it is, so that a poll goes
 * on reporting it.
 *
 * Differs: a send that cannot be made for want of memory, or of room for what waits for
 * answers, comes back with its status, like one that has failed later.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory_file.h"
#include "ports.h"
#include "shim/export.h"

#define FLOW_LABEL_MASK 0xfffffu
#define ENDED_PAUSE_MS  1000

/* Of a MAD's header. */
#define MAD_CLASS       1
#define MAD_METHOD      3
#define MAD_TID_LOW     12
#define RMPP_HEADER     36u
#define METHOD_REPRESS  0x07
#define METHOD_RESPONSE 0x80

struct packet {
	struct uapi_header header;
	struct uapi_umad_message message;
};

/* -- out ---------------------------------------------------------------------------- */

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

/* -- what may be under way ------------------------------------------------------------ */

static bool is_response(const uint8_t *mad)
{
	return mad[MAD_METHOD] & METHOD_RESPONSE || mad[MAD_METHOD] == METHOD_REPRESS;
}

static _Atomic uint8_t *requests_of(struct port *port, uint32_t agent, const uint8_t *mad)
{
	uint32_t tid;

	memcpy(&tid, mad + MAD_TID_LOW, sizeof(tid));
	tid = (be32toh(tid) ^ agent << 5 ^ (uint32_t)mad[MAD_CLASS] << 10) * 0x9e3779b1u;
	return &port->requests[tid >> 22];
}
_Static_assert(PORT_REQUESTS == 1u << (32 - 22), "a hash of all");

/* Saturates, so that none is forgotten. */
static void count_request(_Atomic uint8_t *count)
{
	uint8_t n = atomic_load(count);

	while (n < UINT8_MAX && !atomic_compare_exchange_weak(count, &n, n + 1))
		;
}

static void uncount(struct port *port, const struct uapi_umad_message *m)
{
	_Atomic uint8_t *count = requests_of(port, m->agent, m->mad);
	uint8_t n = atomic_load(count);

	while (n && n < UINT8_MAX && !atomic_compare_exchange_weak(count, &n, n - 1))
		;
}

static void uncount_request(struct port *port, const struct uapi_umad_message *m)
{
	if (m->status || is_response(m->mad))
		uncount(port, m);
}

/* Nothing that verbcastd would refuse at once. */
static bool is_sure(struct port *port, const struct uapi_umad_message *m)
{
	if (m->length < RMPP_HEADER || m->length > sizeof(m->mad))
		return false;
	if (m->agent >= UAPI_UMAD_AGENTS_MAX ||
	    !(atomic_load(&port->agents) >> m->agent & 1))
		return false;
	if (m->sl > 15 || m->qpn > 0xffffff)
		return false;
	return is_response(m->mad) || !atomic_load(requests_of(port, m->agent, m->mad));
}

static int send_packet(const struct port *port, const struct uapi_umad_message *m)
{
	struct packet p = {
		.header = { .length = sizeof(p), .op = UAPI_UMAD_SEND },
		.message = *m,
	};

	while (send(port->socket.fd, &p, sizeof(p), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		struct pollfd room = { .fd = port->socket.fd, .events = POLLOUT };

		if (errno == EAGAIN)
			(void)poll(&room, 1, -1);
		else if (errno != EINTR)
			return -ENODEV;
	}
	return 0;
}

static int ask_to_send(struct port *port, struct uapi_umad_message *m,
		       const uint8_t *bytes)
{
	struct uapi_call call = {
		.op = UAPI_UMAD_SEND,
		.req = m,
		.reqlen = sizeof(*m),
	};
	int r, fd;

	if (m->length <= sizeof(m->mad))
		return port_call(port, &call);
	fd = memory_file_create("verbcast-mad", bytes, m->length, F_SEAL_SHRINK);
	if (fd < 0)
		return fd;
	call.send_fds = &fd;
	call.send_fds_n = 1;
	r = port_call(port, &call);
	close(fd);
	return r;
}

static int send_message(struct port *port, struct uapi_umad_message *m,
			const uint8_t *bytes)
{
	size_t inlined = m->length < sizeof(m->mad) ? m->length : sizeof(m->mad);
	bool sure, waits;
	int r, cancel;

	memcpy(m->mad, bytes, inlined);
	sure = is_sure(port, m);
	waits = m->timeout_ms && inlined >= RMPP_HEADER && !is_response(m->mad);
	/* Counted first: its answer may be quicker than we are. */
	if (waits)
		count_request(requests_of(port, m->agent, m->mad));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	r = sure ? send_packet(port, m) : ask_to_send(port, m, bytes);
	pthread_setcancelstate(cancel, &cancel);
	if (r < 0 && waits)
		uncount(port, m);
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

/* Beside a packet. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* The next packet; how many bytes, or a negative errno; -ENODEV: verbcastd has closed the
 * port. `*fd` gets what goes along, or -1. */
static int next_packet(int portid, struct packet *p, int flags, int *fd)
{
	union control control;
	struct iovec iov = { p, sizeof(*p) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	*fd = -1;
	n = recvmsg(portid, &msg, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ENODEV;
	*fd = take_fd(&msg);
	if ((size_t)n < sizeof(p->header) || p->header.length != n ||
	    msg.msg_flags & MSG_TRUNC)
		return -EPROTO;
	return msg.msg_flags & MSG_CTRUNC ? -EMFILE : (int)n;
}

/* A message, or the beginning of one; with MSG_PEEK it stays there. */
static int next_message(int portid, struct packet *p, int flags)
{
	int fd, r = next_packet(portid, p, flags, &fd);

	if (fd >= 0)
		close(fd);
	if (r < 0)
		return r;
	return r == sizeof(*p) && p->header.op == UAPI_EVENT_UMAD ? 0 : -EPROTO;
}

/* What belongs to a beginning that was taken: 0, and a descriptor. */
static int next_file(int portid, int *ret_fd)
{
	struct packet p;
	int r = next_packet(portid, &p, 0, ret_fd);

	if (r == -EAGAIN || r == -ENODEV)
		return r;
	if (r == sizeof(p.header) && p.header.op == UAPI_EVENT_UMAD_FILE && *ret_fd >= 0)
		return 0;
	if (*ret_fd >= 0)
		close(*ret_fd);
	return r == -EMFILE ? r : -EPROTO;
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

static void copy(struct ib_user_mad *mad, const struct uapi_umad_message *m)
{
	fill_header(mad, m);
	memcpy(mad->data, m->mad,
	       m->length < sizeof(m->mad) ? m->length : sizeof(m->mad));
}

/* Who has no room for a MAD finds it again. */
static int receive_small(struct port *port, struct ib_user_mad *mad, int *length)
{
	size_t room = *length > 0 ? (size_t)*length : 0;
	struct packet p;
	int r = next_message(port->socket.fd, &p, MSG_PEEK);

	if (r < 0 && r != -EPROTO)
		return r;
	if (!r) {
		*length = (int)p.message.length;
		if (p.message.length > room)
			return -EINVAL;
		copy(mad, &p.message);
		uncount_request(port, &p.message);
	}
	/* Nobody can do anything with nonsense. */
	(void)recv(port->socket.fd, &p, sizeof(p), MSG_DONTWAIT);
	return r < 0 ? r : (int)p.message.agent;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* A message that has begun: all of it, or -ENOSPC and what there is. Not before its second
 * packet is there, by which a poll finds it again. */
static int receive_rest(struct port *port, struct ib_user_mad *mad, int *length)
{
	struct uapi_umad_message *m = &port->head;
	size_t room = *length > 0 ? (size_t)*length : 0;
	int fd, r;

	if (!is_readable(port->socket.fd))
		return -EAGAIN;
	*length = (int)m->length;
	if (room < sizeof(m->mad))
		return -EINVAL;
	copy(mad, m);
	if (room < m->length)
		return -ENOSPC;
	r = next_file(port->socket.fd, &fd);
	port->has_head = false;
	if (r < 0)
		return r;
	r = memory_file_read(fd, mad->data, m->length);
	close(fd);
	if (r == -ENODATA)
		r = -EPROTO;
	return r < 0 ? r : (int)m->agent;
}

static int receive_locked(struct port *port, struct ib_user_mad *mad, int *length)
{
	struct packet p;
	int r;

	if (port->has_head)
		return receive_rest(port, mad, length);
	if (*length < (int)sizeof(p.message.mad))
		return receive_small(port, mad, length);
	r = next_message(port->socket.fd, &p, 0);
	if (r < 0)
		return r;
	uncount_request(port, &p.message);
	if (p.message.length > sizeof(p.message.mad)) {
		port->head = p.message;
		port->has_head = true;
		return receive_rest(port, mad, length);
	}
	*length = (int)p.message.length;
	copy(mad, &p.message);
	return (int)p.message.agent;
}

static int receive(int portid, struct ib_user_mad *mad, int *length)
{
	struct port *port = port_get(portid);
	int r;

	if (!port)
		return -EBADF;
	pthread_mutex_lock(&ports_receive_lock);
	r = receive_locked(port, mad, length);
	pthread_mutex_unlock(&ports_receive_lock);
	port_put(port);
	return r;
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

/*
 * The port's end, whether verbcastd has ended or the device has gone: EIO, every time.
 * Differs: whoever waits for messages all the same is told once a second and not at once,
 * since OpenSM asks and complains in a circle, and would fill the disk with it.
 */
static int port_has_ended(int portid, int timeout_ms)
{
	int pause = timeout_ms > 0 && timeout_ms < ENDED_PAUSE_MS ? timeout_ms
								  : ENDED_PAUSE_MS;

	if (timeout_ms && port_was_told_of_its_end(portid))
		(void)poll(NULL, 0, pause);
	return refuse(-EIO, ENODEV);
}

/* The waits are cancellation points, as OpenSM needs it; the rest is none. What is there
 * already is taken without waiting. */
VC_EXPORT int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	int r, room, cancel;

	if (!umad || !length)
		return refuse(-EINVAL, EINVAL);
	room = *length;
	for (;;) {
		pthread_testcancel();
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		*length = room;
		r = receive(portid, umad, length);
		pthread_setcancelstate(cancel, &cancel);
		if (r != -EAGAIN || !timeout_ms)
			break;
		/* Another thread may be quicker. */
		r = wait_for(portid, timeout_ms);
		if (r < 0)
			return r;
	}
	if (r == -ENODEV)
		return port_has_ended(portid, timeout_ms);
	if (r == -EBADF && timeout_ms)
		return refuse(-EIO, EBADF);
	return r < 0 ? refuse(r, -r) : r;
}
