/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket of an open port. One message is one packet of it, so a program may poll, look
 * at the first packet's length, and leave it there if its buffer is too small
 * (spec/sa-sm 5.3). What is longer than a MAD goes in a memory file beside the packet.
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "uapi/server/server_priv.h"
#include "uapi/server/umad_priv.h"

#define QUEUED_MAX       4096u
#define QUEUED_BYTES_MAX (32u << 20)
#define FILES_MAX        16u

struct packet {
	struct uapi_header header;
	struct uapi_umad_message message;
};

struct queued_message {
	struct list link;
	struct uapi_umad_message message;
	uint8_t bytes[]; /* message.length */
};

static int write_all(int fd, const uint8_t *bytes, size_t length)
{
	while (length) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0)
			return -errno;
		bytes += n;
		length -= (size_t)n;
	}
	return 0;
}

static int make_file(const uint8_t *bytes, size_t length)
{
	int fd = memfd_create("verbcast-mad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, bytes, length);
	if (!r && fcntl(fd, F_ADD_SEALS,
			F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Has the program read all that was sent? */
static bool is_drained(int fd)
{
	int unread = 0;

	return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

/* 0; -EAGAIN: no room now; else it cannot be sent. */
static int send_packet(struct umad_queue *q, const struct uapi_umad_message *m,
		       const uint8_t *bytes)
{
	struct packet p = {
		.header = { .length = sizeof(p), .op = UAPI_EVENT_UMAD },
		.message = *m,
	};
	struct uapi_fds fds = { .out_count = 0 };
	int r;

	if (m->length > sizeof(m->mad)) {
		if (is_drained(q->fd))
			q->files = 0;
		if (q->files >= FILES_MAX)
			return -ENOBUFS;
		fds.out[0] = make_file(bytes, m->length);
		if (fds.out[0] < 0)
			return fds.out[0];
		fds.out_count = 1;
		p.header.fds = 1;
	}
	r = uapi_message_send(q->fd, &p, sizeof(p), &fds);
	if (fds.out_count)
		close(fds.out[0]);
	if (!r)
		q->files += fds.out_count;
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
		const uint8_t *bytes)
{
	struct queued_message *queued;

	if (q->count >= QUEUED_MAX || q->bytes + m->length > QUEUED_BYTES_MAX)
		return -ENOBUFS;
	queued = malloc(sizeof(*queued) + m->length);
	if (!queued)
		return -ENOMEM;
	queued->message = *m;
	memcpy(queued->bytes, bytes, m->length);
	list_append(&q->messages, &queued->link);
	q->bytes += m->length;
	if (!q->count++)
		loop_io_modify(q->io, LOOP_READ | LOOP_WRITE);
	return 0;
}

void umad_queue_put(struct umad_queue *q, const struct uapi_umad_message *m,
		    const uint8_t *bytes)
{
	struct uapi_umad_message whole = *m;
	size_t inlined = m->length < sizeof(m->mad) ? m->length : sizeof(m->mad);
	int r;

	memset(whole.mad, 0, sizeof(whole.mad));
	memcpy(whole.mad, bytes, inlined);
	r = q->count ? -EAGAIN : send_packet(q, &whole, bytes);
	if (r == -EAGAIN)
		r = keep(q, &whole, bytes);
	if (r < 0)
		log_debug("a management datagram is lost: %s", strerror(-r));
}

static void drain(struct umad_queue *q)
{
	while (q->count) {
		struct queued_message *m = first(q);

		if (send_packet(q, &m->message, m->bytes) == -EAGAIN)
			return;
		drop_first(q);
	}
	loop_io_modify(q->io, LOOP_READ);
}

/* Nobody writes at the other end: what is to be read is its end, or nonsense. */
static void ready(void *arg, unsigned int events)
{
	struct umad_queue *q = arg;

	if (events & LOOP_READ) {
		loop_io_modify(q->io, 0);
		q->closed(q->arg);
		return;
	}
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
	*ret_peer_fd = pair[1];
	return 0;
}

void umad_queue_close(struct umad_queue *q)
{
	if (q->fd < 0)
		return;
	loop_io_destroy(q->io);
	while (q->count)
		drop_first(q);
	close(q->fd);
	q->fd = -1;
}
