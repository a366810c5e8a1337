// SPDX-License-Identifier: BSD-2-Clause
/*
 * A member of a group, for tests that need more than mckey offers: numbered datagrams
 * whose content, order, length and header are checked, a pace, waiting on a completion
 * channel, a forked child.
 *
 *	member -m GROUP [-b ADDRESS] [-q QPS] [-s COUNT] [-r COUNT] [options]
 *	  with both, it sends first and then hears itself
 *	  -S SIZE   payload bytes; without it, from 1 to the MTU in equal steps
 *	  -i US     sender: pause between datagrams; a hundredth of it after SIGUSR1
 *	  -d        receiver: sleep until SIGUSR1 before looking at the queue for the first time
 *	  -w        receiver: wait on a completion channel instead of polling
 *	  -l        no copies of one's own (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB)
 *	  -f        fork a child that keeps everything open, and print its process id
 *	  -k        stay a member until a signal ends the process
 *	  -L LID, -G GID   on InfiniBand: the sender's port, where that is another one
 *
 * Says "joined" when every queue pair is attached, then one line a queue pair:
 * "qp QPN got COUNT from QPN" or "qp QPN sent COUNT". Written against the public API as
 * anybody's program would be; it does not know whose libraries it gets.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define QPS_MAX    16
#define GRH_LENGTH 40
#define DEPTH_SEND 64

struct options {
	struct sockaddr_in group, bind;
	unsigned int qps, receive, send, size, interval_us;
	bool doze, wait, fork, keep, no_loopback;
	unsigned int lid;
	union ibv_gid gid; /* with lid: the sender's */
};

struct member {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *send_cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *memory; /* receive buffers, then DEPTH_SEND to send from */
	uint32_t remote_qpn, remote_qkey;
	struct ibv_ah_attr group;
	uint32_t source_qpn; /* of the first datagram; all must have it */
	unsigned int got, sent;
};

static struct options options = { .qps = 1 };
static volatile sig_atomic_t hurry;
static struct member members[QPS_MAX];
static unsigned int mtu;
static bool infiniband;

static void die(const char *what)
{
	printf("member: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	printf("member: wrong: %s\n", what);
	exit(1);
}

/* The i-th datagram has this many bytes ... */
static unsigned int length_of(unsigned int i, unsigned int count)
{
	if (options.size)
		return options.size;
	return count < 2 ? 1 : 1 + (unsigned int)((uint64_t)i * (mtu - 1) / (count - 1));
}

/* ... and this one at `at`: its number, over and over, mixed with the position. */
static uint8_t byte_of(unsigned int i, unsigned int at)
{
	return (uint8_t)((i >> 8 * (at & 3)) ^ at * 7);
}

static void on_signal(int number)
{
	hurry = number;
}

/* Blocked, for who dozes waits for it. */
static void await_signal(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &number);
}

static void take_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (options.doze)
		sigprocmask(SIG_BLOCK, &set, NULL);
	else
		sigaction(SIGUSR1, &action, NULL);
}

static void expect_event(struct rdma_event_channel *events, enum rdma_cm_event_type type,
			 struct member *m)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(events, &event))
		die("rdma_get_cm_event");
	if (event->event != type) {
		printf("member: %s, status %d\n", rdma_event_str(event->event),
		       event->status);
		exit(1);
	}
	if (type == RDMA_CM_EVENT_MULTICAST_JOIN) {
		m->remote_qpn = event->param.ud.qp_num;
		m->remote_qkey = event->param.ud.qkey;
		m->group = event->param.ud.ah_attr;
		m->ah = ibv_create_ah(m->id->pd, &m->group);
		if (!m->ah)
			die("ibv_create_ah");
	}
	rdma_ack_cm_event(event);
}

static void create_qp(struct member *m)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = DEPTH_SEND,
			 .max_recv_wr = options.receive ? options.receive : 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = m->id->pd,
	};

	m->channel = ibv_create_comp_channel(m->id->verbs);
	if (!m->channel)
		die("ibv_create_comp_channel");
	m->send_cq = ibv_create_cq(m->id->verbs, DEPTH_SEND, NULL, NULL, 0);
	m->cq = ibv_create_cq(m->id->verbs, (int)attr.cap.max_recv_wr, m, m->channel, 0);
	if (!m->send_cq || !m->cq)
		die("ibv_create_cq");
	attr.send_cq = m->send_cq;
	attr.recv_cq = m->cq;
	if (options.no_loopback) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	}
	if (rdma_create_qp_ex(m->id, &attr))
		die("rdma_create_qp_ex");
}

static void post_receives(struct member *m)
{
	size_t stride = GRH_LENGTH + mtu;
	struct ibv_sge sge = { .length = (uint32_t)stride, .lkey = m->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	for (unsigned int i = 0; i < options.receive; i++) {
		wr.wr_id = i;
		sge.addr = (uintptr_t)(m->memory + i * stride);
		errno = ibv_post_recv(m->id->qp, &wr, &bad);
		if (errno)
			die("ibv_post_recv");
	}
}

static void open_member(struct rdma_event_channel *events, struct member *m)
{
	struct ibv_port_attr port;
	size_t bytes;

	if (rdma_create_id(events, &m->id, m, RDMA_PS_UDP))
		die("rdma_create_id");
	if (rdma_bind_addr(m->id, (struct sockaddr *)&options.bind))
		die("rdma_bind_addr");
	if (ibv_query_port(m->id->verbs, m->id->port_num, &port))
		die("ibv_query_port");
	mtu = 128u << port.active_mtu;
	infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	if (!options.lid) {
		options.lid = port.lid;
		ibv_query_gid(m->id->verbs, m->id->port_num, 0, &options.gid);
	}
	create_qp(m);
	bytes = (GRH_LENGTH + (size_t)mtu) * options.receive + (size_t)mtu * DEPTH_SEND;
	m->memory = calloc(1, bytes);
	m->mr = ibv_reg_mr(m->id->pd, m->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!m->mr)
		die("ibv_reg_mr");
	post_receives(m);
	if (rdma_join_multicast(m->id, (struct sockaddr *)&options.group, m))
		die("rdma_join_multicast");
	expect_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, m);
}

/* The MGID made of the group's address for RDMA_PS_UDP (spec/kernel 3.2). */
static void check_mgid(const uint8_t *mgid)
{
	static const uint8_t prefix[12] = { 0xff, 0x12, 0x40, 0x01, 0xff, 0xff };
	uint32_t group = ntohl(options.group.sin_addr.s_addr) & 0x0fffffff;

	group = htonl(group);
	check(!memcmp(mgid, prefix, sizeof(prefix)), "prefix of the MGID");
	check(!memcmp(mgid + 12, &group, 4), "address in the MGID");
}

/* A GRH: version, traffic class, flow label, length, next header, hop limit, two GIDs. */
static void check_grh(const struct member *m, const struct ibv_wc *wc)
{
	const uint8_t *grh = m->memory + wc->wr_id * (GRH_LENGTH + mtu);
	uint32_t first = (uint32_t)m->group.grh.traffic_class << 20 |
			 m->group.grh.flow_label | 6u << 28;

	first = htonl(first);
	check(!memcmp(grh, &first, 4), "traffic class and flow label");
	/* All between GRH and variant CRC: BTH, DETH, padded payload, invariant CRC. */
	check((grh[4] << 8 | grh[5]) ==
		      (int)(12 + 8 + ((wc->byte_len - GRH_LENGTH + 3) & ~3u) + 4),
	      "length in the GRH");
	check(grh[6] == 0x1b && grh[7] == m->group.grh.hop_limit,
	      "next header and hop limit");
	check(!memcmp(grh + 8, options.gid.raw, 16), "source GID");
	check(!memcmp(grh + 24, m->group.grh.dgid.raw, 16), "destination GID");
	check_mgid(grh + 24);
	check(wc->slid == options.lid, "slid");
	check(wc->sl == m->group.sl, "sl");
	check(m->group.dlid >= 0xc000 && m->group.dlid != 0xffff, "MLID");
}

/* RoCEv2 over IPv4: the header is the last 20 of the 40 bytes. */
static void check_header(const uint8_t *grh)
{
	check(grh[20] == 0x45, "no IPv4 header before the payload");
	check(!memcmp(grh + 32, &options.bind.sin_addr, 4), "source address");
	check(!memcmp(grh + 36, &options.group.sin_addr, 4), "destination address");
}

static void check_datagram(struct member *m, const struct ibv_wc *wc)
{
	const uint8_t *memory = m->memory + wc->wr_id * (GRH_LENGTH + mtu);
	unsigned int i = m->got, length = length_of(i, options.receive);

	check(wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status));
	check(wc->opcode == IBV_WC_RECV, "opcode");
	check(wc->wr_id == i, "order of the receives");
	check(wc->byte_len == length + GRH_LENGTH, "length");
	check(wc->wc_flags & IBV_WC_GRH, "no IBV_WC_GRH");
	check(wc->qp_num == m->id->qp->qp_num, "qp_num");
	if (!i)
		m->source_qpn = wc->src_qp;
	check(wc->src_qp == m->source_qpn, "src_qp");
	if (infiniband)
		check_grh(m, wc);
	else
		check_header(memory);
	for (unsigned int at = 0; at < length; at++)
		check(memory[GRH_LENGTH + at] == byte_of(i, at), "content");
	m->got++;
}

static void wait_for_completion(struct member *m)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(m->channel, &cq, &context))
		die("ibv_get_cq_event");
	check(cq == m->cq && context == m, "completion event of another queue");
	ibv_ack_cq_events(cq, 1);
}

/* Completions there are; with -w, at least one. */
static int poll_member(struct member *m, struct ibv_wc *wc, int max)
{
	int n = ibv_poll_cq(m->cq, max, wc);

	if (n || !options.wait)
		return n;
	if (ibv_req_notify_cq(m->cq, 0))
		die("ibv_req_notify_cq");
	n = ibv_poll_cq(m->cq, max, wc);
	if (n)
		return n;
	wait_for_completion(m);
	return ibv_poll_cq(m->cq, max, wc);
}

static void receive(void)
{
	struct ibv_wc wc[16];
	int n;

	if (options.doze)
		await_signal();
	for (unsigned int q = 0; q < options.qps; q++) {
		struct member *m = &members[q];

		while (m->got < options.receive) {
			n = poll_member(m, wc, 16);
			if (n < 0)
				die("ibv_poll_cq");
			for (int i = 0; i < n; i++)
				check_datagram(m, &wc[i]);
		}
		printf("qp %u got %u from %u\n", m->id->qp->qp_num, m->got,
		       m->source_qpn);
	}
}

static void post_send(struct member *m, unsigned int i)
{
	size_t at_receive = (GRH_LENGTH + (size_t)mtu) * options.receive;
	uint8_t *buffer = m->memory + at_receive + (i % DEPTH_SEND) * (size_t)mtu;
	unsigned int length = length_of(i, options.send);
	struct ibv_sge sge = { .addr = (uintptr_t)buffer,
			       .length = length,
			       .lkey = m->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = m->ah,
			   .remote_qpn = m->remote_qpn,
			   .remote_qkey = m->remote_qkey },
	};

	for (unsigned int at = 0; at < length; at++)
		buffer[at] = byte_of(i, at);
	errno = ibv_post_send(m->id->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

static void send_all(struct member *m)
{
	struct ibv_wc wc;
	int n;

	for (unsigned int i = 0; i < options.send || m->sent < options.send;) {
		if (i < options.send && i - m->sent < DEPTH_SEND) {
			post_send(m, i++);
			if (options.interval_us)
				usleep(options.interval_us / (hurry ? 100 : 1));
		}
		while ((n = ibv_poll_cq(m->send_cq, 1, &wc)) > 0) {
			check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
			check(wc.wr_id == m->sent, "order of the sends");
			m->sent++;
		}
		if (n < 0)
			die("ibv_poll_cq");
	}
	printf("qp %u sent %u\n", m->id->qp->qp_num, m->sent);
}

static void close_member(struct member *m)
{
	if (rdma_leave_multicast(m->id, (struct sockaddr *)&options.group))
		die("rdma_leave_multicast");
	ibv_destroy_ah(m->ah);
	rdma_destroy_qp(m->id);
	ibv_dereg_mr(m->mr);
	free(m->memory);
	if (ibv_destroy_cq(m->cq) || ibv_destroy_cq(m->send_cq))
		die("ibv_destroy_cq");
	if (ibv_destroy_comp_channel(m->channel))
		die("ibv_destroy_comp_channel");
	if (rdma_destroy_id(m->id))
		die("rdma_destroy_id");
}

static void fork_keeper(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		for (;;)
			pause();
	}
	printf("child %d\n", child);
}

static void parse_address(const char *text, struct sockaddr_in *ret)
{
	ret->sin_family = AF_INET;
	if (inet_pton(AF_INET, text, &ret->sin_addr) != 1) {
		printf("member: not an address: %s\n", text);
		exit(2);
	}
}

static void parse(int argc, char **argv)
{
	int c;

	parse_address("127.0.0.1", &options.bind);
	while ((c = getopt(argc, argv, "m:b:q:r:s:S:i:L:G:dlwfk")) != -1) {
		unsigned int number = optarg ? (unsigned int)strtoul(optarg, NULL, 0) : 0;

		switch (c) {
		case 'm':
			parse_address(optarg, &options.group);
			break;
		case 'b':
			parse_address(optarg, &options.bind);
			break;
		case 'q':
			options.qps = number;
			break;
		case 'r':
			options.receive = number;
			break;
		case 's':
			options.send = number;
			break;
		case 'S':
			options.size = number;
			break;
		case 'i':
			options.interval_us = number;
			break;
		case 'L':
			options.lid = number;
			break;
		case 'G':
			inet_pton(AF_INET6, optarg, options.gid.raw);
			break;
		case 'd':
			options.doze = true;
			break;
		case 'l':
			options.no_loopback = true;
			break;
		case 'w':
			options.wait = true;
			break;
		case 'f':
			options.fork = true;
			break;
		case 'k':
			options.keep = true;
			break;
		default:
			exit(2);
		}
	}
	if (!options.qps || options.qps > QPS_MAX || !options.group.sin_family)
		exit(2);
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *events;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	take_signals();
	events = rdma_create_event_channel();
	if (!events)
		die("rdma_create_event_channel");
	for (unsigned int i = 0; i < options.qps; i++)
		open_member(events, &members[i]);
	printf("joined\n");
	if (options.fork)
		fork_keeper();
	for (unsigned int i = 0; options.send && i < options.qps; i++)
		send_all(&members[i]);
	if (options.receive)
		receive();
	if (options.keep)
		pause();
	for (unsigned int i = 0; i < options.qps; i++)
		close_member(&members[i]);
	rdma_destroy_event_channel(events);
	printf("done\n");
	return 0;
}
