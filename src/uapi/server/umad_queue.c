/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings and the socket of an open port. Messages to the program go into its ring, what
 * it sends comes by the other, and the socket has the bells of both, and the end. What is
 * longer than a MAD is kept here until the program fetches it, so that it may poll and look
 * at the beginning while its buffer is too small for all (spec/sa-sm 5.3). What the ring
 * has no room for waits here, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory_file.h"
#include "uapi/server/server_priv.h"
#include "uapi/server/umad_priv.h"

#define QUEUED_MAX       4096u
#define QUEUED_BYTES_MAX (32u << 20)
#define FILE_SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)
#define TAKEN_MAX        64u /* messages of the program in one turn */

struct queued_message {
	struct list link;
	struct uapi_umad_message message;
	uint8_t bytes[]; /* message.length */
};

static void forget(struct umad_queue *q, struct queued_message *m)
{
	list_remove(&m->link);
	q->bytes -= m->message.length;
	free(m);
}

int umad_queue_fetch(struct umad_queue *q, int *ret_fd)
{
	struct queued_message *m;
	int fd;

	if (list_empty(&q->files))
		return -ENOENT;
	m = container_of(q->files.next, struct queued_message, link);
	fd = memory_file_create("verbcast-mad", m->bytes, m->message.length, FILE_SEALS);
	forget(q, m);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* -- to the program ----------------------------------------------------------------- */

/* One that does not fit: the program has not read what says the same. */
static void ring_bell(const struct umad_queue *q)
{
	struct uapi_header bell = { .length = sizeof(bell), .op = UAPI_UMAD_BELL };

	(void)uapi_message_send(q->fd, &bell, sizeof(bell), NULL);
}

void umad_queue_flush(struct umad_queue *q)
{
	if (uapi_umad_ring_is_heard(&q->in))
		ring_bell(q);
}

static void flush_late(void *arg)
{
	umad_queue_flush(arg);
}

static bool put_now(struct umad_queue *q, const struct uapi_umad_message *m)
{
	if (!uapi_umad_ring_put(&q->in, m))
		return false;
	loop_late(q->loop, &q->late, flush_late, q);
	return true;
}

static void put_first(struct umad_queue *q, struct queued_message *m)
{
	if (m->message.length <= sizeof(m->message.mad)) {
		forget(q, m);
	} else {
		list_remove(&m->link);
		list_append(&q->files, &m->link);
	}
	q->count--;
}

/* What waits, as far as there is room. */
static void drain(struct umad_queue *q)
{
	while (q->count) {
		struct queued_message *m =
			container_of(q->messages.next, struct queued_message, link);

		if (!put_now(q, &m->message) &&
		    (uapi_umad_ring_await_room(&q->in) || !put_now(q, &m->message)))
			return;
		put_first(q, m);
	}
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
	q->count++;
	return 0;
}

void umad_queue_put(struct umad_queue *q, const struct uapi_umad_message *m,
		    const uint8_t *bytes)
{
	struct uapi_umad_message whole = *m;
	bool is_long = m->length > sizeof(m->mad);
	int r;

	memset(whole.mad, 0, sizeof(whole.mad));
	memcpy(whole.mad, bytes, is_long ? sizeof(m->mad) : m->length);
	if (!q->count && !is_long && put_now(q, &whole))
		return;
	r = keep(q, &whole, bytes);
	if (r < 0)
		log_debug("a management datagram is lost: %s", strerror(-r));
	drain(q);
}

/* -- what the program sends --------------------------------------------------------- */

static void end(struct umad_queue *q)
{
	loop_io_modify(q->io, 0);
	q->broken = true;
	q->closed(q->arg);
}

/* At most so many; false: that was all, and the program rings when there is more. */
static bool take(struct umad_queue *q, unsigned int most)
{
	struct uapi_umad_message m;

	while (most--) {
		int n = uapi_umad_ring_look(&q->out, &m);

		if (n < 0) {
			end(q);
			return false;
		}
		if (n) {
			(void)uapi_umad_ring_drop(&q->out);
			q->sent(q->arg, &m);
		} else if (uapi_umad_ring_listen(&q->out)) {
			return false;
		}
	}
	return true;
}

static void turn(void *arg)
{
	struct umad_queue *q = arg;

	if (!q->broken && take(q, TAKEN_MAX))
		loop_timer_arm(q->again, 0);
}

void umad_queue_take(struct umad_queue *q)
{
	if (!q->broken && take(q, 2 * UAPI_UMAD_SLOTS))
		loop_timer_arm(q->again, 0);
}

/* 0: none, or a negative errno: it has not kept the frame, or it is gone. */
static int read_bell(struct umad_queue *q)
{
	struct uapi_header bell;
	ssize_t n = recv(q->fd, &bell, sizeof(bell), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n == sizeof(bell) && bell.op == UAPI_UMAD_BELL ? 1 : -EPROTO;
}

/*
 * It has sent something, has made room, or has begun to listen when something had come
 * already. At its end what it has sent before goes first.
 */
static void rung(void *arg, unsigned int events)
{
	struct umad_queue *q = arg;
	int r = read_bell(q);

	if (r < 0) {
		umad_queue_take(q);
		if (!q->broken)
			end(q);
		return;
	}
	turn(q);
	if (q->broken)
		return;
	drain(q);
	umad_queue_flush(q);
}

/* -- life --------------------------------------------------------------------------- */

static int open_loop(struct umad_queue *q, int fd)
{
	int r = loop_timer_create(q->loop, turn, q, &q->again);

	if (!r)
		r = loop_io_create(q->loop, fd, LOOP_READ, rung, q, &q->io);
	if (r < 0)
		loop_timer_destroy(q->again);
	return r;
}

static int open_rings(struct umad_queue *q, int *ret_fd)
{
	int r = uapi_umad_rings_create(ret_fd, &q->rings);

	if (r < 0)
		return r;
	q->out = (struct uapi_umad_end){ &q->rings->out, 0 };
	q->in = (struct uapi_umad_end){ &q->rings->in, 0 };
	(void)uapi_umad_ring_listen(&q->out);
	/* As the program, which has nothing to read yet. */
	atomic_store(&q->rings->in.listens, 1);
	return 0;
}

int umad_queue_open(struct umad_queue *q, struct loop *loop, int ret_fds[2])
{
	int pair[2], r;

	list_init(&q->messages);
	list_init(&q->files);
	q->loop = loop;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) <
	    0)
		return -errno;
	r = open_rings(q, &ret_fds[1]);
	if (r < 0)
		goto close_pair;
	r = open_loop(q, pair[0]);
	if (r < 0)
		goto close_rings;
	q->fd = pair[0];
	ret_fds[0] = pair[1];
	return 0;

close_rings:
	close(ret_fds[1]);
	uapi_umad_rings_unmap(q->rings);
close_pair:
	close(pair[0]);
	close(pair[1]);
	return r;
}

static void forget_all(struct umad_queue *q, struct list *messages)
{
	while (!list_empty(messages))
		forget(q, container_of(messages->next, struct queued_message, link));
}

void umad_queue_close(struct umad_queue *q)
{
	if (q->fd < 0)
		return;
	loop_late_cancel(&q->late);
	umad_queue_flush(q);
	loop_timer_destroy(q->again);
	loop_io_destroy(q->io);
	forget_all(q, &q->messages);
	forget_all(q, &q->files);
	uapi_umad_rings_unmap(q->rings);
	close(q->fd);
	q->fd = -1;
}
