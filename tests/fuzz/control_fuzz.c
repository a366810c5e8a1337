// SPDX-License-Identifier: BSD-2-Clause
// links: vc_daemon
/*
 * The control protocol against whatever clients send: a whole site in this process (the
 * daemon's parts, its core, HCA and tables), and up to four clients whose messages the
 * input chooses. Every reply keeps the protocol, and when the clients have gone, nothing
 * of them is left: no slot, no queue pair, no group, no descriptor.
 *
 * The input is a list of steps:
 *
 *	what    8  client in bits 0 and 1, above them enum step
 *	op      8
 *	fds     8  descriptors that go along in bits 0 to 3, above them their kind
 *	length 16  of the bytes that follow, little endian
 *
 * A 32-bit word 0x5aa5nn0c in a message to be framed stands for the handle that operation
 * nn answered last (HELLO: the slot), of the client that comes c behind this one: numbers
 * that no mutation finds. STOP and LEASE are left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/log.h"
#include "base/pidfd.h"
#include "daemon/options.h"
#include "daemon/site.h"
#include "daemon/slots.h"
#include "daemon/sysfs_tree.h"
#include "shm/doorbell.h"
#include "shm/log.h"
#include "uapi/protocol/protocol.h"
#include "uapi/protocol/umad_ring.h"

#define CLIENTS     4u
#define STEPS_MAX   64u
#define STEP_BYTES  5u
#define OPS         256u
#define HANDLE_MARK 0x5aa50000u

enum step {
	FRAMED,   /* the bytes are the body, cut or filled up to what the op has */
	ANY_BODY, /* the bytes are the body, whatever their number */
	RAW,      /* the bytes are the message */
	HELLO,    /* a process says who it is */
	TOOL,     /* a tool does */
	CALL,     /* nothing is said */
	LEAVE,
	LET_RUN, /* milliseconds of the loop: op % 4 */
	SCRIBBLE, /* into its counters, or (op odd) doorbell, or into the rings of its port; the
		   * bytes begin with where */
	SPEAK, /* FRAMED, or (op odd) RAW, on the socket that came with a port */
	STEP_COUNT,
};

struct client {
	int fd, event_fd, memory[2]; /* counters, doorbell */
	uint32_t latest[OPS];        /* handle that this operation answered last */
};

static struct site *site;
static struct site_paths paths;
static struct sockaddr_un address;
static socklen_t address_bytes;
static struct loop_timer *turn_timer;
static struct client clients[CLIENTS];
static const struct client nobody = { -1, -1, { -1, -1 }, { 0 } };

static const uint32_t request_bytes[OPS] = {
#define BYTES(number, name, request, reply) [number] = sizeof(struct request),
	UAPI_OPS(BYTES)
#undef BYTES
};

static const uint32_t reply_bytes[OPS] = {
#define BYTES(number, name, request, reply) [number] = sizeof(struct reply),
	UAPI_OPS(BYTES)
#undef BYTES
};

static void expect(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "control: %s\n", what);
	abort();
}

/* -- the site ------------------------------------------------------------------------- */

static void turned(void *arg)
{
	loop_stop(site->loop);
}

static void run_for(unsigned int ms)
{
	loop_timer_arm(turn_timer, ms);
	expect(loop_run(site->loop) == 0, "the loop failed");
}

/* What can be done without waiting is done by now. */
static void turn(void)
{
	for (int i = 0; i < 3; i++)
		run_for(0);
}

static int listen_somewhere(void)
{
	struct sockaddr_un autobind = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	address_bytes = sizeof(address);
	expect(fd >= 0 && !bind(fd, (struct sockaddr *)&autobind, sizeof(sa_family_t)) &&
		       !listen(fd, 16) &&
		       !getsockname(fd, (struct sockaddr *)&address, &address_bytes),
	       "no socket to listen on");
	return fd;
}

static void clean_up(void)
{
	loop_timer_destroy(turn_timer);
	site_destroy(site);
	sysfs_tree_remove(paths.sys);
	rmdir(paths.dir);
}

static void site_open(void)
{
	static char name[] = "verbcastd", stay[] = "--stay", limit[] = "--limit",
		    objects[] = "max_objects_per_client=100";
	static char *argv[] = { name, stay, limit, objects, NULL };
	static struct daemon_options options;
	const char *tmp = getenv("TMPDIR");

	log_open("control", LOG_LEVEL_ERROR);
	expect(!daemon_options_parse(&options, 4, argv), "options");
	snprintf(paths.name, sizeof(paths.name), "fuzz");
	snprintf(paths.dir, sizeof(paths.dir), "%.200s/verbcast-fuzz-XXXXXX",
		 tmp ? tmp : "/tmp");
	expect(mkdtemp(paths.dir) != NULL, "no directory");
	snprintf(paths.sys, sizeof(paths.sys), "%.240s/sys", paths.dir);
	expect(!site_create(&options, &paths, listen_somewhere(), &site), "no site");
	expect(!loop_timer_create(site->loop, turned, NULL, &turn_timer), "no timer");
	atexit(clean_up);
}

/* -- what is sent ----------------------------------------------------------------------- */

static const uint32_t *latest_of(const struct client *c, uint32_t mark)
{
	const size_t i = (size_t)(c - clients) + (mark & 3);

	return &clients[i % CLIENTS].latest[mark >> 8 & 0xff];
}

static void substitute_handles(const struct client *c, uint8_t *body, size_t bytes)
{
	uint32_t word;

	for (size_t at = 0; at + sizeof(word) <= bytes; at += sizeof(word)) {
		memcpy(&word, body + at, sizeof(word));
		if ((word & 0xffff00fcu) == HANDLE_MARK)
			memcpy(body + at, latest_of(c, word), sizeof(word));
	}
}

/* Kinds: a pidfd of ours, a file, a memory file of any size, what looks like a log. */
static int descriptor(unsigned int kind)
{
	struct shm_log *log;
	int fd;

	switch (kind % 4) {
	case 0:
		return pidfd_open_process(getpid());
	case 1:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 2:
		fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		expect(!ftruncate(fd, (off_t)kind * 4096), "no memory file");
		return fd;
	default:
		expect(!shm_log_create(0, 1, &fd, &log), "no log");
		shm_log_unmap(log);
		return fd;
	}
}

static void send_on(int fd, const void *bytes, size_t length, unsigned int count,
		    unsigned int kind)
{
	char control[CMSG_SPACE(sizeof(int) * 16)]
		__attribute__((aligned(_Alignof(struct cmsghdr)))) = { 0 };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[16];

	for (unsigned int i = 0; i < count; i++)
		fds[i] = descriptor(kind + i);
	if (count) {
		struct cmsghdr *h = (struct cmsghdr *)control;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(h), fds, sizeof(int) * count);
	}
	sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

static void send_bytes(struct client *c, const void *bytes, size_t length,
		       unsigned int count, unsigned int kind)
{
	send_on(c->fd, bytes, length, count, kind);
}

/* -- what comes back -------------------------------------------------------------------- */

/* Of those that come with HELLO, or with a port. False: it is not kept. */
static bool keep(struct client *c, uint16_t op, int fd, unsigned int n)
{
	int *const hello[] = { &c->event_fd, NULL, &c->memory[1], &c->memory[0] };
	int *const port[] = { &c->event_fd, &c->memory[0], NULL, NULL };
	int *const *place = op == UAPI_HELLO ? hello : port;

	if (n >= 4 || !place[n] || *place[n] >= 0)
		return false;
	*place[n] = fd;
	return true;
}

/* Whatever stands in the counters, it is JSON. */
static void check_status(int fd)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)bytes + 1);
	cJSON *json;

	expect(text && pread(fd, text, (size_t)bytes, 0) == bytes, "no status");
	json = cJSON_ParseWithLength(text, (size_t)bytes);
	expect(json != NULL, "the status is no JSON");
	cJSON_Delete(json);
	free(text);
}

static void take_descriptors(struct client *c, struct msghdr *msg, uint16_t op,
			     unsigned int expected)
{
	unsigned int count = 0;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h))
		for (size_t at = 0; at < h->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + at, sizeof(fd));
			if (op == UAPI_STATUS)
				check_status(fd);
			if ((op != UAPI_HELLO && op != UAPI_UMAD_OPEN) ||
			    !keep(c, op, fd, count))
				close(fd);
			count++;
		}
	expect(count == expected, "a reply tells another number of descriptors");
}

/* The length of a message, 0 when there is none. */
static size_t receive(struct client *c, int fd, uint8_t bytes[UAPI_MESSAGE_MAX])
{
	char control[CMSG_SPACE(sizeof(int) * UAPI_FDS_MAX)]
		__attribute__((aligned(_Alignof(struct cmsghdr))));
	struct iovec iov = { bytes, UAPI_MESSAGE_MAX };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct uapi_header h;

	if (n <= 0)
		return 0;
	expect(n >= (ssize_t)sizeof(h) && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)),
	       "a broken message came");
	memcpy(&h, bytes, sizeof(h));
	expect(h.length == (size_t)n && h.status <= 0, "a message lies about itself");
	take_descriptors(c, &msg, h.op, h.fds);
	return (size_t)n;
}

static void check_reply(struct client *c, const uint8_t *bytes, size_t length)
{
	struct uapi_header h;
	size_t at = sizeof(h);

	memcpy(&h, bytes, sizeof(h));
	length -= sizeof(h);
	if (h.status) {
		expect(!length || h.op == UAPI_HELLO, "a refusal has a body");
		return;
	}
	expect(h.op < OPS && length == reply_bytes[h.op], "a reply of another size");
	if (h.op == UAPI_HELLO)
		at += offsetof(struct uapi_hello_reply, slot);
	if (length >= sizeof(uint32_t))
		memcpy(&c->latest[h.op], bytes + at, sizeof(uint32_t));
}

static size_t event_bytes(uint16_t op)
{
	switch (op) {
	case UAPI_EVENT_CM:
		return sizeof(struct uapi_cm_event);
	case UAPI_EVENT_ASYNC:
		return sizeof(struct uapi_async_event);
	default:
		return 0;
	}
}

static void check_event(const uint8_t *bytes, size_t length)
{
	struct uapi_header h;

	memcpy(&h, bytes, sizeof(h));
	expect(length >= sizeof(h) && length - sizeof(h) == event_bytes(h.op),
	       "an event of another size");
	expect(event_bytes(h.op) || h.op == UAPI_UMAD_BELL, "an unknown event");
}

static void listen_to(struct client *c)
{
	static uint8_t bytes[UAPI_MESSAGE_MAX];
	size_t n;

	turn();
	while ((n = receive(c, c->fd, bytes)))
		check_reply(c, bytes, n);
	while (c->event_fd >= 0 && (n = receive(c, c->event_fd, bytes)))
		check_event(bytes, n);
}

/* -- steps -------------------------------------------------------------------------------- */

static void leave(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->event_fd >= 0)
		close(c->event_fd);
	for (int i = 0; i < 2; i++)
		if (c->memory[i] >= 0)
			close(c->memory[i]);
	*c = nobody;
	turn();
}

static void call(struct client *c)
{
	leave(c);
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	expect(!connect(c->fd, (struct sockaddr *)&address, address_bytes),
	       "nobody lets us in");
}

static void send_framed(struct client *c, uint8_t op, uint8_t fds, const void *body,
			size_t bytes)
{
	static uint8_t message[UAPI_MESSAGE_MAX];
	struct uapi_header h = {
		.length = (uint32_t)(sizeof(h) + bytes),
		.op = op,
		.fds = fds & 0xf,
		.serial = 1,
	};

	if (op == UAPI_STOP || op == UAPI_LEASE || h.length > sizeof(message))
		return;
	memcpy(message, &h, sizeof(h));
	memcpy(message + sizeof(h), body, bytes);
	substitute_handles(c, message + sizeof(h), bytes);
	send_bytes(c, message, h.length, h.fds, fds >> 4);
}

static void say_hello(struct client *c, uint32_t flags)
{
	struct uapi_hello h = {
		.magic = UAPI_MAGIC,
		.version = UAPI_VERSION,
		.layout_version = SHM_LAYOUT_VERSION,
		.flags = flags,
		.pid = (uint32_t)getpid(),
		.program = "fuzz",
	};

	call(c);
	send_framed(c, UAPI_HELLO, 1, &h, sizeof(h));
}

static void send_sized(struct client *c, uint8_t op, uint8_t fds, const uint8_t *body,
		       size_t bytes)
{
	static uint8_t sized[UAPI_MESSAGE_MAX];

	memset(sized, 0, request_bytes[op]);
	memcpy(sized, body, bytes < request_bytes[op] ? bytes : request_bytes[op]);
	send_framed(c, op, fds, sized, request_bytes[op]);
}

/* A raw message might be one of those that are left out. */
static void send_raw(struct client *c, uint8_t fds, const uint8_t *bytes, size_t length)
{
	struct uapi_header h;

	if (length >= sizeof(h)) {
		memcpy(&h, bytes, sizeof(h));
		if (h.op == UAPI_STOP || h.op == UAPI_LEASE)
			return;
	}
	send_bytes(c, bytes, length, fds & 0xf, fds >> 4);
}

/* Into the ring of a port, and the bell; what is none ends the port. */
static void speak(struct client *c, uint8_t op, uint8_t fds, const uint8_t *bytes,
		  size_t length)
{
	struct uapi_header bell = { .length = sizeof(bell), .op = UAPI_UMAD_BELL };
	struct uapi_umad_message m = { 0 };
	struct uapi_umad_rings *rings;
	struct uapi_umad_end out;

	if (c->event_fd < 0)
		return;
	if (op & 1) {
		send_on(c->event_fd, bytes, length, fds & 0xf, fds >> 4);
		return;
	}
	if (c->memory[0] >= 0 && !uapi_umad_rings_map(c->memory[0], &rings)) {
		memcpy(&m, bytes, length < sizeof(m) ? length : sizeof(m));
		out = (struct uapi_umad_end){ &rings->out,
					      atomic_load(&rings->out.head) };
		uapi_umad_ring_put(&out, &m);
		uapi_umad_rings_unmap(rings);
	}
	send_on(c->event_fd, &bell, sizeof(bell), fds & 0xf, fds >> 4);
}

static void scribble(struct client *c, uint8_t op, const uint8_t *bytes, size_t length)
{
	int fd = c->memory[op & 1];
	uint32_t where;
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	if (size <= 0 || length < sizeof(where))
		return;
	memcpy(&where, bytes, sizeof(where));
	length -= sizeof(where);
	/* What does not fit any more is refused by the seals. */
	if (pwrite(fd, bytes + sizeof(where), length, where % size) < 0)
		return;
}

static void take_step(const uint8_t step[STEP_BYTES], const uint8_t *bytes, size_t length)
{
	struct client *c = &clients[step[0] % CLIENTS];
	enum step what = (step[0] / CLIENTS) % STEP_COUNT;

	if (what == LET_RUN) {
		run_for(step[1] % 4);
		return;
	}
	if (c->fd < 0)
		say_hello(c, 0);
	if (what == FRAMED)
		send_sized(c, step[1], step[2], bytes, length);
	else if (what == ANY_BODY)
		send_framed(c, step[1], step[2], bytes, length);
	else if (what == RAW)
		send_raw(c, step[2], bytes, length);
	else if (what == HELLO || what == TOOL)
		say_hello(c, what == TOOL ? UAPI_HELLO_TOOL : 0);
	else if (what == SPEAK)
		speak(c, step[1], step[2], bytes, length);
	else if (what == SCRIBBLE)
		scribble(c, step[1], bytes, length);
	else if (what == CALL)
		call(c);
	else
		leave(c);
	if (c->fd >= 0)
		listen_to(c);
}

/* -- what is left --------------------------------------------------------------------------- */

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void expect_nothing_left(void)
{
	struct slot_view view;

	for (uint32_t i = 0; i < SHM_SLOTS_MAX; i++)
		expect(!slots_view(site->slots, i, &view), "a process is left");
	for (uint32_t i = 0; i < site->tables->h.groups_used; i++)
		expect(!atomic_load(&site->tables->groups[i].linked), "a group is left");
	expect(!site->tables->h.qps_linked, "a queue pair is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int first_free;

	if (!site) {
		site_open();
		for (uint32_t i = 0; i < CLIENTS; i++)
			clients[i] = nobody;
		turn();
	}
	first_free = next_descriptor();
	for (uint32_t n = 0; n < STEPS_MAX && size >= STEP_BYTES; n++) {
		size_t length = data[3] | (size_t)data[4] << 8;
		const uint8_t *step = data;

		data += STEP_BYTES;
		size -= STEP_BYTES;
		if (length > size)
			length = size;
		take_step(step, data, length);
		data += length;
		size -= length;
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		leave(&clients[i]);
	turn();
	/* The administrator's, which stay: the next input is to find none. */
	fault_rules_clear(site, 0);
	expect(!atomic_load(&site->tables->h.faults), "a rule is left");
	expect_nothing_left();
	expect(next_descriptor() == first_free, "a descriptor is left");
	return 0;
}
