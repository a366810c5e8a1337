/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket of an open port. One message to the program is one packet of it; what is
 * longer than a MAD has a second packet with a memory file. So a program may poll and look
 * at the first, and the second stays there while its buffer is too small for all
 * (spec/sa-sm 5.3). What the program sends comes by the same socket.
 *
 * Packets that the socket has no room for wait here. Memory files in flight are counted by
 * the kernel against the user's limit of descriptors, so they are few at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory_file.h"
#include "uapi/server/server_priv.h"
#include "uapi/server/umad_priv.h"

#define QUEUED_MAX       4096u
#define QUEUED_BYTES_MAX (32u << 20)
#define FILES_MAX        16u
#define FILE_SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

struct queued_message {
	struct list link;
	bool begun; /* the packet before the memory file is out */
	struct uapi_umad_message message;
	uint8_t bytes[]; /* message.length */
};

/* Has the program read all that was sent? */
static bool is_drained(int fd)
{
	int unread = 0;

	return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

static void packet_make(struct umad_packet *p, const struct uapi_umad_message *m)
{
	p->header = (struct uapi_header){ .length = sizeof(*p), .op = UAPI_EVENT_UMAD };
	p->message = *m;
}

/* What sendmmsg and recvmmsg want to know of packets that lie one behind the other. */
struct packet_vector {
	struct iovec iov[UMAD_TOGETHER];
	struct mmsghdr msgs[UMAD_TOGETHER];
};

static void vector_make(struct packet_vector *v, struct umad_packet *packets,
			unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		v->iov[i] = (struct iovec){ &packets[i], sizeof(packets[i]) };
		v->msgs[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v->iov[i],
							    .msg_iovlen = 1 } };
	}
}

static int send_head(struct umad_queue *q, const struct uapi_umad_message *m)
{
	struct umad_packet p;

	packet_make(&p, m);
	return uapi_message_send(q->fd, &p, sizeof(p), NULL);
}

/* -1: there is none, and who waits for it is told so. */
static int send_file(struct umad_queue *q, int fd)
{
	struct uapi_header header = {
		.length = sizeof(header),
		.op = UAPI_EVENT_UMAD_FILE,
		.fds = fd >= 0,
	};
	struct uapi_fds fds = { .out = { fd }, .out_count = fd >= 0 };
	int r = uapi_message_send(q->fd, &header, sizeof(header), &fds);

	if (!r)
		q->files += fds.out_count;
	return r;
}

static int make_next_file(struct umad_queue *q, const uint8_t *bytes, size_t length)
{
	if (is_drained(q->fd))
		q->files = 0;
	if (q->files >= FILES_MAX)
		return -ENOBUFS;
	return memory_file_create("verbcast-mad", bytes, length, FILE_SEALS);
}

/* 0; -EAGAIN: no room now for the rest, of which *begun tells; else it cannot be sent. */
static int send_message(struct umad_queue *q, const struct uapi_umad_message *m,
			const uint8_t *bytes, bool *begun)
{
	bool is_long = m->length > sizeof(m->mad);
	int fd = is_long ? make_next_file(q, bytes, m->length) : -1;
	int r = 0;

	if (is_long && fd < 0 && !*begun)
		return fd;
	if (!*begun)
		r = send_head(q, m);
	if (!r && is_long) {
		*begun = true;
		r = send_file(q, fd);
		/* Not for want of room: the program shall not wait for it. */
		if (r < 0 && r != -EAGAIN && fd >= 0)
			r = send_file(q, -1);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static struct queued_message *first(struct umad_queue *q)
{
	return container_of(q->messages.next, struct queued_message, link);
}

static void drop_first(struct umad_queue *q)
{
	struct queued_message *m = first(q);

	list_remove(&m->link);
	q->count--;
	q->bytes -= m->message.length;
	free(m);
}

static int keep(struct umad_queue *q, const struct uapi_umad_message *m,
		const uint8_t *bytes, bool begun)
{
	struct queued_message *queued;

	/* What has begun has to end. */
	if (!begun && (q->count >= QUEUED_MAX || q->bytes + m->length > QUEUED_BYTES_MAX))
		return -ENOBUFS;
	queued = malloc(sizeof(*queued) + m->length);
	if (!queued)
		return -ENOMEM;
	queued->begun = begun;
	queued->message = *m;
	memcpy(queued->bytes, bytes, m->length);
	list_append(&q->messages, &queued->link);
	q->bytes += m->length;
	if (!q->count++)
		loop_io_modify(q->io, LOOP_READ | LOOP_WRITE);
	return 0;
}

static void lost(int r)
{
	log_debug("a management datagram is lost: %s", strerror(-r));
}

/* How many have gone, or a negative errno; -EAGAIN: none. */
static int send_together(struct umad_queue *q)
{
	struct packet_vector v;
	int n;

	vector_make(&v, q->together, q->together_count);
	do
		n = sendmmsg(q->fd, v.msgs, q->together_count,
			     MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void umad_queue_flush(struct umad_queue *q)
{
	int n = q->together_count ? send_together(q) : 0;

	for (unsigned int i = n < 0 ? 0 : (unsigned int)n; i < q->together_count; i++) {
		const struct uapi_umad_message *m = &q->together[i].message;
		int r = n < 0 && n != -EAGAIN ? n : keep(q, m, m->mad, false);

		if (r < 0)
			lost(r);
	}
	q->together_count = 0;
}

static void flush_late(void *arg)
{
	umad_queue_flush(arg);
}

static void put_together(struct umad_queue *q, const struct uapi_umad_message *m)
{
	packet_make(&q->together[q->together_count++], m);
	if (q->together_count == UMAD_TOGETHER)
		umad_queue_flush(q);
	else
		loop_late(q->loop, &q->late, flush_late, q);
}

void umad_queue_put(struct umad_queue *q, const struct uapi_umad_message *m,
		    const uint8_t *bytes)
{
	struct uapi_umad_message whole = *m;
	size_t inlined = m->length < sizeof(m->mad) ? m->length : sizeof(m->mad);
	bool begun = false;
	int r;

	memset(whole.mad, 0, sizeof(whole.mad));
	memcpy(whole.mad, bytes, inlined);
	if (!q->count && m->length <= sizeof(m->mad)) {
		put_together(q, &whole);
		return;
	}
	umad_queue_flush(q);
	r = q->count ? -EAGAIN : send_message(q, &whole, bytes, &begun);
	if (r == -EAGAIN)
		r = keep(q, &whole, bytes, begun);
	if (r < 0)
		lost(r);
}

static void drain(struct umad_queue *q)
{
	while (q->count) {
		struct queued_message *m = first(q);

		if (send_message(q, &m->message, m->bytes, &m->begun) == -EAGAIN)
			return;
		drop_first(q);
	}
	loop_io_modify(q->io, LOOP_READ);
}

/* -- what the program sends --------------------------------------------------------- */

/* 0: no more; a negative errno: it has not kept the frame, or it is gone. */
static int take_some(struct umad_queue *q)
{
	static struct umad_packet packets[UMAD_TOGETHER]; /* on the loop's one thread */
	struct packet_vector v;
	int n;

	vector_make(&v, packets, UMAD_TOGETHER);
	n = recvmmsg(q->fd, v.msgs, UMAD_TOGETHER, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		const struct umad_packet *p = &packets[i];

		if (v.msgs[i].msg_len != sizeof(*p) || p->header.length != sizeof(*p) ||
		    p->header.op != UAPI_UMAD_SEND ||
		    v.msgs[i].msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
			return -EPROTO;
		q->sent(q->arg, &p->message);
	}
	return n;
}

static void take(struct umad_queue *q, unsigned int turns)
{
	int n;

	do
		n = take_some(q);
	while (n == (int)UMAD_TOGETHER && --turns);
	if (n >= 0)
		return;
	loop_io_modify(q->io, 0);
	q->broken = true;
	q->closed(q->arg);
}

void umad_queue_take(struct umad_queue *q)
{
	if (!q->broken)
		take(q, QUEUED_MAX / UMAD_TOGETHER);
}

static void ready(void *arg, unsigned int events)
{
	struct umad_queue *q = arg;

	if (events & LOOP_READ)
		take(q, 1);
	if (events & LOOP_WRITE && !q->broken)
		drain(q);
}

int umad_queue_open(struct umad_queue *q, struct loop *loop, int *ret_peer_fd)
{
	int pair[2], r;

	list_init(&q->messages);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) <
	    0)
		return -errno;
	r = loop_io_create(loop, pair[0], LOOP_READ, ready, q, &q->io);
	if (r < 0) {
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	q->fd = pair[0];
	q->loop = loop;
	*ret_peer_fd = pair[1];
	return 0;
}

void umad_queue_close(struct umad_queue *q)
{
	if (q->fd < 0)
		return;
	loop_late_cancel(&q->late);
	umad_queue_flush(q);
	loop_io_destroy(q->io);
	while (q->count)
		drop_first(q);
	close(q->fd);
	q->fd = -1;
}
