// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that holds a device and does what it is told, a word a line on its standard
 * input, while it says what it hears:
 *
 *	watcher -b ADDRESS[:PORT]  an id bound to the address, its queue pair
 *	watcher -d DEVICE          a context of the device, nothing more
 *
 *	list                     "devices NAME..."
 *	port                     "port STATE MTU GID..."
 *	join GROUP               "joined", or why not
 *	send GROUP|ADDRESS       one datagram to a group, or to nobody at an address
 *	make                     a protection domain: "made", or why not
 *	end                      gives everything back, "ended"
 *
 * Unasked: "async EVENT", "cm EVENT", "receive STATUS", "send STATUS".
 * Written against the public API as anybody's program would be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define RECEIVES 4
#define BYTES    64

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static struct ibv_context *context;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static uint8_t memory[(RECEIVES + 1) * (40 + BYTES)];
static bool ended;

static void die(const char *what)
{
	printf("watcher: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	if (!good)
		die(what);
}

/* -- what it holds ------------------------------------------------------------------- */

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	char host[INET_ADDRSTRLEN] = "";
	unsigned int port = 0;

	check(sscanf(text, "%15[0-9.]:%u", host, &port) >= 1, text);
	check(inet_pton(AF_INET, host, &in.sin_addr) == 1, text);
	in.sin_port = htons((uint16_t)port);
	return in;
}

static void post_receives(void)
{
	struct ibv_recv_wr *bad;

	for (int i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + i * (40u + BYTES), 40 + BYTES,
				       mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

		check(ibv_post_recv(id->qp, &wr, &bad) == 0, "ibv_post_recv");
	}
}

static void bind_to(const char *text)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = RECEIVES,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct sockaddr_in in = address(text);

	channel = rdma_create_event_channel();
	check(channel, "rdma_create_event_channel");
	check(!rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), "rdma_create_id");
	check(!rdma_bind_addr(id, (struct sockaddr *)&in), "rdma_bind_addr");
	check(id->verbs, "the id is bound to no device");
	check(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
	mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	check(mr, "ibv_reg_mr");
	post_receives();
	context = id->verbs;
	printf("bound %s\n", ibv_get_device_name(context->device));
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	check(context, "ibv_open_device");
	ibv_free_device_list(list);
	printf("opened %s\n", name);
}

static void end(const char *ignored)
{
	if (ah)
		check(!ibv_destroy_ah(ah), "ibv_destroy_ah");
	if (mr)
		check(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	if (id) {
		rdma_destroy_qp(id);
		check(!rdma_destroy_id(id), "rdma_destroy_id");
		rdma_destroy_event_channel(channel);
	} else {
		check(!ibv_close_device(context), "ibv_close_device");
	}
	printf("ended\n");
	ended = true;
}

/* -- what it hears ------------------------------------------------------------------- */

static const char *last_word(const char *name)
{
	const char *prefix = "RDMA_CM_EVENT_";

	return strncmp(name, prefix, strlen(prefix)) ? name : name + strlen(prefix);
}

static void hear_async(void)
{
	static const struct {
		enum ibv_event_type type;
		const char *name;
	} names[] = {
		{ IBV_EVENT_DEVICE_FATAL, "DEVICE_FATAL" },
		{ IBV_EVENT_PORT_ACTIVE, "PORT_ACTIVE" },
		{ IBV_EVENT_PORT_ERR, "PORT_ERR" },
		{ IBV_EVENT_GID_CHANGE, "GID_CHANGE" },
	};
	struct ibv_async_event event;

	while (!ibv_get_async_event(context, &event)) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (names[i].type == event.event_type)
				printf("async %s\n", names[i].name);
		ibv_ack_async_event(&event);
	}
}

static void hear_cm(void)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(channel, &event)) {
		if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
			if (ah)
				check(!ibv_destroy_ah(ah), "ibv_destroy_ah");
			ah = ibv_create_ah(id->pd, &event->param.ud.ah_attr);
			check(ah, "ibv_create_ah");
			printf("joined\n");
		} else {
			printf("cm %s %d\n", last_word(rdma_event_str(event->event)),
			       event->status);
		}
		rdma_ack_cm_event(event);
	}
}

static void poll_queue(struct ibv_cq *cq, const char *what)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		printf("%s %s\n", what,
		       wc.status == IBV_WC_SUCCESS        ? "good"
		       : wc.status == IBV_WC_WR_FLUSH_ERR ? "flushed"
							  : "bad");
}

/* -- what it is told ----------------------------------------------------------------- */

static void list(const char *ignored)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	check(devices, "ibv_get_device_list");
	printf("devices");
	for (int i = 0; devices[i]; i++)
		printf(" %s", ibv_get_device_name(devices[i]));
	printf("\n");
	ibv_free_device_list(devices);
}

static void port(const char *ignored)
{
	struct ibv_port_attr attr;
	char text[INET6_ADDRSTRLEN];
	struct ibv_gid_entry gid;
	int r;

	r = ibv_query_port(context, 1, &attr);
	if (r) {
		printf("port: %s\n", strerror(r));
		return;
	}
	printf("port %s %d", ibv_port_state_str(attr.state), 128 << attr.active_mtu);
	for (int i = 0; i < attr.gid_tbl_len; i++)
		if (!ibv_query_gid_ex(context, 1, (uint32_t)i, &gid, 0))
			printf(" %d=%s", i,
			       inet_ntop(AF_INET6, gid.gid.raw, text, sizeof(text)));
	printf("\n");
}

static void join(const char *group)
{
	struct sockaddr_in in = address(group);

	if (rdma_join_multicast(id, (struct sockaddr *)&in, NULL))
		printf("not joined: %s\n", strerror(errno));
}

/* By index 1, where an interface's first IPv4 address is. */
static struct ibv_ah *ah_to(const char *text)
{
	struct sockaddr_in in = address(text);
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = 1, .hop_limit = 64 },
	};

	memset(attr.grh.dgid.raw + 10, 0xff, 2);
	memcpy(attr.grh.dgid.raw + 12, &in.sin_addr, 4);
	return ibv_create_ah(id->pd, &attr);
}

static void send_to(const char *text)
{
	bool group = (ntohl(address(text).sin_addr.s_addr) >> 28) == 0xe;
	struct ibv_sge sge = { (uintptr_t)memory + RECEIVES * (40u + BYTES), BYTES,
			       mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .remote_qpn = group ? 0xffffff : 0x999999,
			   .remote_qkey = RDMA_UDP_QKEY },
	};
	struct ibv_ah *to = ah_to(text);
	int r;

	if (!to) {
		printf("send: no address handle: %s\n", strerror(errno));
		return;
	}
	wr.wr.ud.ah = to;
	r = ibv_post_send(id->qp, &wr, &bad);
	if (r)
		printf("send: %s\n", strerror(r));
	check(!ibv_destroy_ah(to), "ibv_destroy_ah");
}

/* By the address handle that the last join brought. */
static void send_joined(const char *ignored)
{
	struct ibv_sge sge = { (uintptr_t)memory + RECEIVES * (40u + BYTES), BYTES,
			       mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah,
			   .remote_qpn = 0xffffff,
			   .remote_qkey = RDMA_UDP_QKEY },
	};
	int r;

	check(ah, "joined nothing");
	r = ibv_post_send(id->qp, &wr, &bad);
	if (r)
		printf("send: %s\n", strerror(r));
}

static void make(const char *ignored)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);

	if (!pd) {
		printf("not made: %s\n", strerror(errno));
		return;
	}
	check(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	printf("made\n");
}

static void obey(char *line)
{
	static const struct {
		const char *word;
		void (*fn)(const char *argument);
	} words[] = {
		{ "list", list },
		{ "port", port },
		{ "join", join },
		{ "send", send_to },
		{ "send-joined", send_joined },
		{ "make", make },
		{ "end", end },
	};
	char *argument = strchr(line, ' ');

	if (argument)
		*argument++ = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].word, line)) {
			words[i].fn(argument);
			return;
		}
	printf("watcher: what is %s?\n", line);
}

/* A line at a time, as the test writes them. */
static void read_words(void)
{
	static char line[256];
	static size_t at;

	while (!ended && read(STDIN_FILENO, line + at, 1) == 1) {
		if (line[at] != '\n') {
			at += at < sizeof(line) - 1;
			continue;
		}
		line[at] = '\0';
		at = 0;
		obey(line);
	}
}

static void stop_blocking(int fd)
{
	check(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0, "fcntl");
}

int main(int argc, char **argv)
{
	struct pollfd fds[3] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .events = POLLIN },
				 { .fd = -1, .events = POLLIN } };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "-b"))
		bind_to(argv[2]);
	else
		open_device(argv[2]);
	fds[1].fd = context->async_fd;
	if (channel)
		fds[2].fd = channel->fd;
	stop_blocking(STDIN_FILENO);
	stop_blocking(fds[1].fd);
	if (channel)
		stop_blocking(channel->fd);
	while (!ended) {
		/* Queues are polled in between; a program that waits is another test's. */
		poll(fds, 3, 5);
		hear_async();
		if (channel) {
			hear_cm();
			poll_queue(id->recv_cq, "receive");
			poll_queue(id->send_cq, "send");
		}
		read_words();
	}
	return 0;
}
