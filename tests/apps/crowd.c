// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * A site with many processes: what a datagram to a group of few costs its sender follows
 * the members of the group, not the processes of the site; and a group of all reaches all.
 *
 *	crowd COUNT
 *
 * Measures with 8 processes in the site, then with COUNT, in one run: the processor time
 * of a post, least of many bursts; of more of them where the second is above half as much
 * again, for as long as a busy machine may have other things to do. Then sends to all, and
 * has some of them send to all. Says "few NS NS RATIO", "all NS" and "got COUNT". The
 * processes end by SIGKILL, all at once.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define COUNT_MAX 1023u
#define FEW       4u /* members of the group of few, the first of all */
#define BEFORE    7u /* processes beside the sender in the first measurement */
#define DEPTH     2048u
#define BURST     1000u
#define TO_ALL    64u /* datagrams */
#define SPEAKERS  8u  /* who send to all, too, and how many each */
#define SPEECHES  8u
#define BURSTS    60u
#define QUIET_MS  60000u /* until the machine has been quiet for a burst */
#define SILENT    UINT32_MAX

static struct {
	_Atomic uint32_t ready, got[COUNT_MAX];
} * shared;

static pid_t processes[COUNT_MAX];
static unsigned int count; /* beside the sender */
static union ibv_gid few, all;
static struct client_qp q;
static struct ibv_comp_channel *channel;
static struct ibv_ah *ah_few, *ah_all;

static struct ibv_qp *create_qp(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = q.cq,
		.recv_cq = q.cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = CLIENT_BYTES },
	};

	return ibv_create_qp(pd, &attr);
}

static void open_qp(void)
{
	const size_t bytes = (CLIENT_GRH + CLIENT_BYTES) * (DEPTH + 1);
	struct ibv_context *context = client_open();

	CHECK(q.pd = ibv_alloc_pd(context));
	CHECK(channel = ibv_create_comp_channel(context));
	CHECK(q.cq = ibv_create_cq(context, DEPTH + 8, NULL, channel, 0));
	CHECK(q.qp = create_qp(q.pd));
	CHECK(q.memory = calloc(1, bytes));
	CHECK(q.mr = ibv_reg_mr(q.pd, q.memory, bytes, IBV_ACCESS_LOCAL_WRITE));
	client_to_state(q.qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(ah_few = client_ah(q.pd, &few));
	CHECK(ah_all = client_ah(q.pd, &all));
}

/* `speaker` is to send to all when it gets it. */
static void post(struct ibv_ah *ah, uint32_t speaker)
{
	uint32_t words[CLIENT_BYTES / 4] = { speaker };
	struct ibv_sge sge = { .addr = (uintptr_t)words, .length = sizeof(words) };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = CLIENT_QKEY },
	};

	CHECK(!ibv_post_send(q.qp, &wr, &bad));
}

/* -- one of the crowd ---------------------------------------------------------------------- */

static void take(uint32_t me, const struct ibv_wc *wc)
{
	uint32_t speaker;

	CHECK(wc->status == IBV_WC_SUCCESS);
	memcpy(&speaker, q.memory + (CLIENT_GRH + CLIENT_BYTES) * wc->wr_id + CLIENT_GRH,
	       sizeof(speaker));
	CHECK(!client_post_recv(&q, (unsigned int)wc->wr_id));
	if (speaker == me)
		for (unsigned int i = 0; i < SPEECHES; i++)
			post(ah_all, SILENT);
	atomic_fetch_add(&shared->got[me], 1);
}

static void take_all(uint32_t me)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(q.cq, 1, &wc) > 0)
		take(me, &wc);
}

/* The few poll, so that nobody wakes them while their sender is measured. */
static void hear_polling(uint32_t me)
{
	for (;;) {
		take_all(me);
		client_pause();
	}
}

static void hear_sleeping(uint32_t me)
{
	struct ibv_cq *cq;
	void *context;

	for (;;) {
		CHECK(!ibv_req_notify_cq(q.cq, 0));
		take_all(me);
		CHECK(!ibv_get_cq_event(channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
}

static void be_one(uint32_t me, int gate)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(read(gate, &byte, 1) == 0);
	open_qp();
	client_post_recvs(&q, DEPTH);
	if (me < FEW)
		CHECK(!ibv_attach_mcast(q.qp, &few, 0));
	CHECK(!ibv_attach_mcast(q.qp, &all, 0));
	atomic_fetch_add(&shared->ready, 1);
	if (me < FEW)
		hear_polling(me);
	hear_sleeping(me);
}

/* Before anything is opened here. They come in when their gate is opened. */
static void fork_all(int gates[2])
{
	int early[2], late[2];

	CHECK(!pipe2(early, O_CLOEXEC) && !pipe2(late, O_CLOEXEC));
	for (uint32_t i = 0; i < count; i++) {
		processes[i] = fork();
		CHECK(processes[i] >= 0);
		if (!processes[i]) {
			close(early[1]);
			close(late[1]);
			be_one(i, i < BEFORE ? early[0] : late[0]);
		}
	}
	close(early[0]);
	close(late[0]);
	gates[0] = early[1];
	gates[1] = late[1];
}

/* -- their sender ---------------------------------------------------------------------------- */

static void expect_alive(void)
{
	int status;

	CHECK(waitpid(-1, &status, WNOHANG) == 0);
}

#define WAIT_UNTIL(condition)                                             \
	do {                                                              \
		uint64_t deadline = client_now_ms() + 2 * CLIENT_LONG_MS; \
		while (!(condition)) {                                    \
			expect_alive();                                   \
			CHECK(client_now_ms() < deadline);                \
			client_pause();                                   \
		}                                                         \
	} while (0)

static void let_in(int gate, uint32_t n)
{
	close(gate);
	WAIT_UNTIL(atomic_load(&shared->ready) == n);
}

static uint32_t least_got(uint32_t n)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&shared->got[i]) < least)
			least = atomic_load(&shared->got[i]);
	return least;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds a datagram. */
static double burst(struct ibv_ah *ah, uint32_t n)
{
	uint64_t before = cpu_ns();

	for (uint32_t i = 0; i < n; i++)
		post(ah, SILENT);
	return (double)(cpu_ns() - before) / n;
}

/* The least of many: what others do to the processor only adds. */
static double cost_of_few(double expected)
{
	const uint64_t end = client_now_ms() + QUIET_MS;
	double least = 1e9;

	for (unsigned int i = 0;
	     i < BURSTS || (least >= expected && client_now_ms() < end); i++) {
		uint32_t before = least_got(FEW);
		double ns = burst(ah_few, BURST);

		WAIT_UNTIL(least_got(FEW) == before + BURST);
		if (ns < least)
			least = ns;
	}
	return least;
}

/* Everybody gets all of it: of this sender, then of some of them. */
static void send_to_all(void)
{
	uint32_t few_got = least_got(FEW), total = TO_ALL;
	double ns;

	post(ah_all, SILENT); /* has everybody's doorbell mapped */
	WAIT_UNTIL(least_got(FEW) == few_got + 1);
	ns = burst(ah_all, TO_ALL - 1);
	for (uint32_t i = 0; i < SPEAKERS; i++)
		post(ah_all, BEFORE + i);
	total += SPEAKERS + SPEAKERS * SPEECHES;
	for (uint32_t i = 0; i < count; i++)
		WAIT_UNTIL(atomic_load(&shared->got[i]) ==
			   total + (i < FEW ? few_got : 0));
	printf("all %.0f\ngot %u\n", ns, total);
}

int main(int argc, char **argv)
{
	double before, after;
	int gates[2];

	CHECK(argc == 2);
	count = (unsigned int)atoi(argv[1]) - 1;
	CHECK(count > BEFORE + SPEAKERS && count <= COUNT_MAX);
	few = client_gid("239.1.17.1");
	all = client_gid("239.1.17.2");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	fork_all(gates);
	open_qp();
	let_in(gates[0], BEFORE);
	before = cost_of_few(1e9);
	let_in(gates[1], count);
	after = cost_of_few(1.49 * before);
	printf("few %.1f %.1f %.2f\n", before, after, after / before);
	send_to_all();
	for (uint32_t i = 0; i < count; i++)
		kill(processes[i], SIGKILL);
	for (uint32_t i = 0; i < count; i++)
		waitpid(processes[i], NULL, 0);
	return 0;
}
