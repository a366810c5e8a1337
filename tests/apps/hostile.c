// SPDX-License-Identifier: BSD-2-Clause
// links: vc_uapi vc_shm
/*
 * A client that means harm, or has gone mad: random messages to verbcastd, most of them
 * nearly right, with lengths, numbers, handles and descriptors that lie.
 *
 *	hostile SOCKET SEED MESSAGES
 *
 * What comes back is checked against the protocol: a reply has its request's operation
 * and serial, tells its own length, and has the body that the table says or none. A
 * connection that verbcastd ends is opened anew; one that it neither answers nor ends is
 * an error. STOP is left out, which any client of the site may send, and LEASE.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "shm/tables.h"
#include "uapi/protocol/protocol.h"

#define HANDLES_MAX           64
#define ANSWER_WITHIN         120000 /* ms: only a failure takes as long */
#define BODY_MAX              8192
#define MESSAGES_A_CONNECTION 300

struct operation {
	uint16_t number;
	const char *name;
	size_t request, reply;
};

static const struct operation operations[] = {
#define OPERATION(number, name, request, reply) \
	{ number, #name, sizeof(struct request), sizeof(struct reply) },
	UAPI_OPS(OPERATION)
#undef OPERATION
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static const struct operation *operation_find(uint16_t number)
{
	const struct operation *o = operations;

	while (o->number != number)
		o++;
	return o;
}

static uint64_t seed;
static int connection = -1, event_socket = -1;
static uint32_t handles[HANDLES_MAX];
static unsigned int handle_count;
static uint32_t latest[256]; /* handle of the latest success, by operation */
static uint32_t serial;
static unsigned long answered, refused, ended;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)(next_random() >> 33) % n;
}

static void fail(const char *what, const struct operation *o)
{
	printf("hostile: %s: %s (errno %d)\n", o ? o->name : "-", what, errno);
	exit(1);
}

static void close_connection(void)
{
	close(connection);
	close(event_socket);
	connection = event_socket = -1;
	handle_count = 0;
	memset(latest, 0, sizeof(latest));
}

static void open_connection(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connection < 0 || connect(connection, (struct sockaddr *)&addr, sizeof(addr)))
		fail("cannot connect", NULL);
}

/* -- what is sent ------------------------------------------------------------------- */

static uint32_t odd_number(void)
{
	static const uint32_t edges[] = {
		0,          1,          0x7fffffff,    0x80000000,
		0xffffffff, 0xfffffffe, SHM_SLOTS_MAX, 65536,
		0xffffff
	};

	switch (below(8)) {
	case 0:
		return (uint32_t)next_random();
	case 1:
		return edges[below(sizeof(edges) / sizeof(edges[0]))];
	case 2:
	case 3:
	case 4:
		return handle_count ? handles[below(handle_count)] : 1;
	default:
		return below(8);
	}
}

/* Addresses that verbcastd may take: loopback, a group, or rubbish of some family. */
static void odd_address(uint8_t *at)
{
	static const uint8_t known[][4] = { { 127, 0, 0, 1 }, { 239, 1, 1, 1 }, { 0 } };
	uint16_t family = below(4) ? AF_INET : (uint16_t)below(64);

	memcpy(at, &family, sizeof(family));
	memcpy(at + 4, known[below(3)], 4);
}

static void fill(uint8_t *body, size_t size)
{
	size_t words = size / sizeof(uint32_t);
	uint32_t number;

	for (size_t i = 0; i < words; i++) {
		number = odd_number();
		memcpy(body + i * sizeof(number), &number, sizeof(number));
	}
	for (size_t at = 8; at + 16 <= size && size >= 128; at += 8)
		if (!below(12))
			odd_address(body + at);
	if (size >= 8 && !below(2)) {
		number = below(2) ? 16 : below(200);
		memcpy(body + 4, &number,
		       sizeof(number)); /* a length, in some requests */
	}
}

static struct sockaddr_in ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl((uint32_t)a << 24 | b << 16 | c << 8 | d),
	};
}

static void model_bind(uint8_t *body)
{
	struct uapi_cm_addr request = { .id = latest[UAPI_CM_CREATE_ID],
					.length = sizeof(struct sockaddr_in) };
	struct sockaddr_in here = ipv4(127, 0, 0, 1);

	memcpy(&request.addr, &here, sizeof(here));
	memcpy(body, &request, sizeof(request));
}

static void model_join(uint8_t *body)
{
	struct uapi_cm_join request = { .uid = 1,
					.id = latest[UAPI_CM_CREATE_ID],
					.length = sizeof(struct sockaddr_in) };
	struct sockaddr_in group = ipv4(239, 1, 1, (uint8_t)below(4));

	memcpy(&request.addr, &group, sizeof(group));
	memcpy(body, &request, sizeof(request));
}

static void model_create_qp(uint8_t *body)
{
	uint32_t cq = latest[UAPI_CREATE_CQ];
	struct uapi_create_qp request = { .pd = latest[UAPI_ALLOC_PD],
					  .send_cq = cq,
					  .recv_cq = cq,
					  .qp_type = 4,
					  .cap = { 4, 4, 1, 1, 0 } };

	memcpy(body, &request, sizeof(request));
}

/* To RESET, INIT, RTR, RTS or SQD, with or without what INIT needs. */
static void model_modify_qp(uint8_t *body)
{
	struct uapi_modify_qp request = { .qp = latest[UAPI_CREATE_QP],
					  .mask = below(2) ? 0x1 : 0x71,
					  .attr = { .qp_state = below(5),
						    .port_num = 1 } };

	memcpy(body, &request, sizeof(request));
}

static void model_mcast(uint8_t *body)
{
	struct uapi_mcast request = { .qp = latest[UAPI_CREATE_QP],
				      .gid = { [10] = 0xff, 0xff, 239, 1, 1 } };

	request.gid[15] = (uint8_t)below(4);
	memcpy(body, &request, sizeof(request));
}

static void model_umad_register(uint8_t *body)
{
	struct uapi_umad_register request = { .mgmt_class = below(2) ? 3 : 0x32,
					      .mgmt_class_version = 2,
					      .rmpp_version = 1,
					      .oui = { 0, 0x14, 5 },
					      .qpn = 1 };

	if (!below(2))
		request.method_mask[0] = 1u << below(32);
	memcpy(body, &request, sizeof(request));
}

/* To the subnet administrator, or whoever else has that LID; some in a memory file. */
static void model_umad_send(uint8_t *body)
{
	struct uapi_umad_message request = { .agent = latest[UAPI_UMAD_REGISTER],
					     .timeout_ms = below(20),
					     .length = below(4) ? 256 : 4096,
					     .lid = (uint16_t)below(4),
					     .qpn = 1,
					     .qkey = 0x80010000,
					     .mad = { 1, 3, 2, below(2) ? 1 : 0x12 } };

	for (int i = 8; i < 64; i++)
		request.mad[i] = below(3) ? 0 : (uint8_t)next_random();
	memcpy(body, &request, sizeof(request));
}

static bool model_umad(uint16_t op, uint8_t *body)
{
	struct uapi_umad_query query = { .port_num = 1 };
	struct uapi_umad_open open = { .id = below(8), .port_num = 1 };

	if (op == UAPI_UMAD_QUERY)
		memcpy(body, &query, sizeof(query));
	else if (op == UAPI_UMAD_OPEN || op == UAPI_UMAD_ISSM)
		memcpy(body, &open, sizeof(open));
	else if (op == UAPI_UMAD_REGISTER)
		model_umad_register(body);
	else if (op == UAPI_UMAD_SEND)
		model_umad_send(body);
	else
		return false;
	return true;
}

/* What a program in its right mind would send here, given what it has got so far. */
static void model(uint16_t op, uint8_t *body)
{
	struct uapi_handle context = { .handle = latest[UAPI_OPEN_DEVICE] };
	struct uapi_create_cq cq = { .context = context.handle, .cqe = 16 };
	struct uapi_reg_mr mr = { latest[UAPI_ALLOC_PD], 1, 4096, 4096, 4096 };
	struct uapi_cm_create_id id = { .uid = 1, .ps = 0x111, .qp_type = 4 };

	if (model_umad(op, body))
		return;
	if (op == UAPI_ALLOC_PD)
		memcpy(body, &context, sizeof(context));
	else if (op == UAPI_REG_MR)
		memcpy(body, &mr, sizeof(mr));
	else if (op == UAPI_CREATE_CQ)
		memcpy(body, &cq, sizeof(cq));
	else if (op == UAPI_CREATE_QP)
		model_create_qp(body);
	else if (op == UAPI_MODIFY_QP)
		model_modify_qp(body);
	else if (op == UAPI_ATTACH_MCAST || op == UAPI_DETACH_MCAST)
		model_mcast(body);
	else if (op == UAPI_CM_CREATE_ID)
		memcpy(body, &id, sizeof(id));
	else if (op == UAPI_CM_BIND_ADDR)
		model_bind(body);
	else if (op == UAPI_CM_JOIN)
		model_join(body);
	else if (op != UAPI_QUERY_DEVICE && op != UAPI_OPEN_DEVICE)
		fill(body, operation_find(op)->request);
}

static void fill_hello(struct uapi_hello *hello)
{
	*hello = (struct uapi_hello){
		.magic = UAPI_MAGIC,
		.version = UAPI_VERSION,
		.layout_version = SHM_LAYOUT_VERSION,
		.flags = below(4) ? 0 : UAPI_HELLO_TOOL,
		.pid = (uint32_t)getpid(),
		.program = "hostile",
	};
	switch (below(12)) {
	case 0:
		hello->magic++;
		break;
	case 1:
		hello->version = odd_number();
		break;
	case 2:
		hello->layout_version = odd_number();
		break;
	case 3:
		hello->flags = odd_number();
		break;
	case 4:
		hello->pid = odd_number();
		break;
	case 5:
		memset(hello->node, 'x', sizeof(hello->node));
		break;
	case 6:
		memset(hello->program, 1 + (int)below(255), sizeof(hello->program));
		break;
	default:
		break;
	}
}

static int odd_descriptor(void)
{
	int fd;

	switch (below(4)) {
	case 0:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 1:
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	default:
		fd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (ftruncate(fd, below(2) ? 4096 : below(8192)) < 0 ||
		    (below(4) && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0))
			fail("cannot make a memory file", NULL);
		return fd;
	}
}

static void attach_descriptors(struct msghdr *msg, char *control, int count)
{
	struct cmsghdr *head = (struct cmsghdr *)control;
	int fds[UAPI_FDS_MAX + 2];

	for (int i = 0; i < count; i++)
		fds[i] = odd_descriptor();
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
	memcpy(CMSG_DATA(head), fds, sizeof(int) * (size_t)count);
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
}

static void drop_descriptors(struct msghdr *msg, bool keep_first)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h; h = CMSG_NXTHDR(msg, h)) {
		size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		for (size_t i = 0; h->cmsg_type == SCM_RIGHTS && i < count; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(fd), sizeof(fd));
			if (!i && keep_first && event_socket < 0)
				event_socket = fd;
			else
				close(fd);
		}
	}
}

static bool send_message(const struct operation *o, uint8_t *body, size_t size, int fds)
{
	char control[CMSG_SPACE(sizeof(int) * (UAPI_FDS_MAX + 2))]
		__attribute__((aligned(_Alignof(struct cmsghdr)))) = { 0 };
	struct uapi_header h = {
		.length = (uint32_t)(sizeof(h) + size),
		.op = o->number,
		.fds = (uint16_t)fds,
		.serial = ++serial,
	};
	struct iovec iov[2] = { { &h, sizeof(h) }, { body, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	switch (below(600)) {
	case 0:
		h.length = odd_number();
		break;
	case 1:
		h.op = (uint16_t)next_random();
		break;
	case 2:
		h.fds = (uint16_t)odd_number();
		break;
	case 3:
		h.status = (int32_t)odd_number();
		break;
	case 4:
		iov[0].iov_len = below(sizeof(h));
		iov[1].iov_len = 0;
		break;
	default:
		break;
	}
	if (fds)
		attach_descriptors(&msg, control, fds);
	n = sendmsg(connection, &msg, MSG_NOSIGNAL);
	if (fds)
		drop_descriptors(&msg, false);
	return n >= 0;
}

/* -- what comes back ---------------------------------------------------------------- */

static void check_reply(const struct operation *o, const struct uapi_header *h,
			const uint8_t *body, size_t got)
{
	uint32_t handle;

	if (h->length != got)
		fail("a reply that lies about its length", o);
	if (h->serial != serial)
		fail("a reply to another request", o);
	if (h->status > 0)
		fail("a status that is no errno", o);
	if (h->op != o->number)
		return; /* ours was mutilated; the reply names what verbcastd read */
	if (h->status && got != sizeof(*h) && o->number != UAPI_HELLO)
		fail("a failed reply with a body", o);
	if (h->status) {
		refused++;
		return;
	}
	if (got != sizeof(*h) + o->reply)
		fail("a reply of another size", o);
	answered++;
	if (o->reply >= sizeof(handle) && o->number != UAPI_QUERY_DEVICE) {
		memcpy(&handle, body, sizeof(handle));
		handles[handle_count < HANDLES_MAX ? handle_count++ : below(HANDLES_MAX)] =
			handle;
		latest[o->number % 256] = handle;
	}
}

/* False: verbcastd has ended the connection. */
static bool receive_reply(const struct operation *o)
{
	char control[CMSG_SPACE(sizeof(int) * UAPI_FDS_MAX)]
		__attribute__((aligned(_Alignof(struct cmsghdr))));
	struct pollfd ready = { .fd = connection, .events = POLLIN };
	uint8_t body[BODY_MAX];
	struct uapi_header h;
	struct iovec iov[2] = { { &h, sizeof(h) }, { body, sizeof(body) } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = 2,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n;

	if (poll(&ready, 1, ANSWER_WITHIN) != 1)
		fail("neither answered nor ended", o);
	n = recvmsg(connection, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return false;
	drop_descriptors(&msg, o->number == UAPI_HELLO || o->number == UAPI_UMAD_OPEN);
	if ((size_t)n < sizeof(h) || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		fail("a reply that is cut", o);
	check_reply(o, &h, body, (size_t)n);
	return true;
}

static void drain_events(void)
{
	uint8_t event[BODY_MAX];

	while (event_socket >= 0 &&
	       recv(event_socket, event, sizeof(event), MSG_DONTWAIT) > 0)
		;
}

static bool exchange(const struct operation *o)
{
	_Alignas(16) uint8_t body[BODY_MAX] = { 0 };
	size_t size = o->request;
	uint32_t lie;
	int fds = o->number == UAPI_HELLO;

	if (below(4))
		model(o->number, body);
	else
		fill(body, size);
	if (size >= sizeof(lie) && !below(4)) {
		lie = odd_number();
		memcpy(body + below((unsigned int)(size / sizeof(lie))) * sizeof(lie),
		       &lie, sizeof(lie));
	}
	if (o->number == UAPI_HELLO)
		fill_hello((struct uapi_hello *)body);
	if (!below(100))
		size = below(BODY_MAX);
	if (o->number == UAPI_UMAD_SEND && below(2))
		fds = 1;
	if (!below(150))
		fds = (int)below(UAPI_FDS_MAX + 2);
	if (!send_message(o, body, size, fds) || !receive_reply(o)) {
		ended++;
		return false;
	}
	if (below(4))
		drain_events();
	return true;
}

static const struct operation *any_operation(void)
{
	const struct operation *o;

	do
		o = &operations[below(OPERATIONS)];
	while (o->number == UAPI_STOP || o->number == UAPI_LEASE);
	return o;
}

int main(int argc, char **argv)
{
	unsigned long messages;

	if (argc != 4)
		return 2;
	seed = strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	messages = strtoul(argv[3], NULL, 0);
	for (unsigned long sent = 0; sent < messages;) {
		unsigned int most = 1 + below(MESSAGES_A_CONNECTION);
		/* The first is a HELLO, mostly. */
		const struct operation *o = below(20) ? &operations[0] : any_operation();

		open_connection(argv[1]);
		for (unsigned int i = 0; i < most; i++, sent++) {
			if (!exchange(o))
				break;
			o = any_operation();
		}
		sent++;
		close_connection();
	}
	printf("%lu answered, %lu refused, %lu connections ended\n", answered, refused,
	       ended);
	return 0;
}
