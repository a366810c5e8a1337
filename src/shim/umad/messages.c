// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sending and receiving (spec/userland 4.2, spec/sa-sm 5.3). A MAD goes one way, by the
 * port's ring, and verbcastd is asked only where it may have to refuse. What is longer than
 * a MAD travels in a memory file.
 *
 * What comes in a ring is announced by a bell in the socket, which stays there until the
 * ring is empty, so that a poll goes on reporting what is left. While its bell has not been
 * seen there is nothing: otherwise the bell might come when all is taken.
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

/* A bell that does not fit need not: there are some that have not been read. */
static int ring_bell(const struct port *port)
{
	struct uapi_header bell = { .length = sizeof(bell), .op = UAPI_UMAD_BELL };

	if (send(port->socket.fd, &bell, sizeof(bell), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
	    errno != EAGAIN)
		return -ENODEV;
	return 0;
}

/* -ENOBUFS: there is no room. */
static int put(struct port *port, const struct uapi_umad_message *m)
{
	bool has_room, is_heard;
	int r = 0;

	pthread_mutex_lock(&port->send_lock);
	has_room = uapi_umad_ring_put(&port->out, m);
	is_heard = has_room && uapi_umad_ring_is_heard(&port->out);
	pthread_mutex_unlock(&port->send_lock);
	if (is_heard)
		r = ring_bell(port);
	/* So that the next is told so, too. */
	if (r < 0)
		atomic_store(&port->rings->out.listens, 1);
	return has_room ? r : -ENOBUFS;
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
	int r = -ENOBUFS, cancel;
	bool sure, waits;

	memcpy(m->mad, bytes, inlined);
	sure = is_sure(port, m);
	waits = m->timeout_ms && inlined >= RMPP_HEADER && !is_response(m->mad);
	/* Counted first: its answer may be quicker than we are. */
	if (waits)
		count_request(requests_of(port, m->agent, m->mad));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (sure)
		r = put(port, m);
	if (r == -ENOBUFS)
		r = ask_to_send(port, m, bytes);
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

/* How a call finds out about the bell. */
enum bell {
	BELL_LOOK,
	BELL_POLLED, /* the socket was readable */
	BELL_WAIT,   /* a poll comes next, anyway */
};

/* -EAGAIN: it has not come; -ENODEV: verbcastd has closed the port. */
static int hear_bell(struct port *port, enum bell bell)
{
	char byte;
	ssize_t n;

	if (!port->is_rung && bell == BELL_WAIT)
		return -EAGAIN;
	if (!port->is_rung && bell == BELL_LOOK) {
		n = recv(port->socket.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0)
			return n < 0 && errno != ECONNRESET ? -errno : -ENODEV;
	}
	port->is_rung = true;
	return 0;
}

/* All has been taken: the bell goes, and the next is listened for. */
static int silence_bell(struct port *port)
{
	char byte;
	ssize_t n = recv(port->socket.fd, &byte, 1, MSG_DONTWAIT);

	port->is_rung = false;
	if (n == 0)
		return -ENODEV;
	if (n < 0) /* another thread had it: one is on its way */
		return errno == ECONNRESET ? -ENODEV : -EAGAIN;
	/* What has come meanwhile may not have been rung for; verbcastd looks. */
	if (!uapi_umad_ring_listen(&port->in))
		(void)ring_bell(port);
	return -EAGAIN;
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

/* All of a long message. */
static int fetch(struct port *port, struct ib_user_mad *mad, size_t length)
{
	int fds[UAPI_FDS_MAX];
	struct uapi_call call = { .op = UAPI_UMAD_FETCH, .recv_fds = fds };
	int r = port_call(port, &call);

	if (r < 0)
		return r;
	if (!call.recv_fds_n)
		return -EPROTO;
	r = memory_file_read(fds[0], mad->data, length);
	for (unsigned int i = 0; i < call.recv_fds_n; i++)
		close(fds[i]);
	return r == -ENODATA ? -EPROTO : r;
}

/* Who has no room for it finds it again: -ENOSPC, and what there is, or -EINVAL where that
 * would not be a MAD. */
static int check_room(struct ib_user_mad *mad, size_t room,
		      const struct uapi_umad_message *m)
{
	if (m->length <= room)
		return 0;
	if (room < sizeof(m->mad))
		return -EINVAL;
	copy(mad, m);
	return -ENOSPC;
}

/* Its agent, or a negative errno: it is lost. */
static int take(struct port *port, struct ib_user_mad *mad,
		const struct uapi_umad_message *m)
{
	bool is_long = m->length > sizeof(m->mad);
	int r;

	copy(mad, m);
	r = is_long ? fetch(port, mad, m->length) : 0;
	uncount_request(port, m);
	if (uapi_umad_ring_drop(&port->in))
		(void)ring_bell(port);
	if (uapi_umad_ring_is_empty(&port->in))
		(void)silence_bell(port);
	return r < 0 ? r : (int)m->agent;
}

static int receive_locked(struct port *port, struct ib_user_mad *mad, int *length,
			  enum bell bell)
{
	struct uapi_umad_message m;
	int r = hear_bell(port, bell);

	if (!r)
		r = uapi_umad_ring_look(&port->in, &m);
	if (r < 0)
		return r;
	if (!r)
		return silence_bell(port);
	r = check_room(mad, *length > 0 ? (size_t)*length : 0, &m);
	*length = (int)m.length;
	return r < 0 ? r : take(port, mad, &m);
}

static int receive(int portid, struct ib_user_mad *mad, int *length, enum bell bell)
{
	struct port *port = port_get(portid);
	int r;

	if (!port)
		return -EBADF;
	pthread_mutex_lock(&ports_receive_lock);
	r = receive_locked(port, mad, length, bell);
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

/* The waits are cancellation points, as OpenSM needs it; the rest is none. What is left in
 * a ring is taken without waiting. */
VC_EXPORT int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	enum bell bell = timeout_ms ? BELL_WAIT : BELL_LOOK;
	int r, room, cancel;

	if (!umad || !length)
		return refuse(-EINVAL, EINVAL);
	room = *length;
	for (;;) {
		pthread_testcancel();
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		*length = room;
		r = receive(portid, umad, length, bell);
		pthread_setcancelstate(cancel, &cancel);
		if (r != -EAGAIN || !timeout_ms)
			break;
		/* Another thread may be quicker. */
		r = wait_for(portid, timeout_ms);
		if (r < 0)
			return r;
		bell = BELL_POLLED;
	}
	if (r == -ENODEV)
		return port_has_ended(portid, timeout_ms);
	if (r == -EBADF && timeout_ms)
		return refuse(-EIO, EBADF);
	return r < 0 ? refuse(r, -r) : r;
}
