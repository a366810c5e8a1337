// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Threads that attach and detach at once, while others send: no call fails, who is
 * attached gets each datagram once, and after the last detach nobody gets any.
 *
 *	attach_threads PID-OF-VERBCASTD
 */
#include <sched.h>
#include <stdatomic.h>

#include "client.h"

#define THREADS 16
#define SENDERS 2
#define DEPTH   16
#define SLACK   (64u << 10)

static pid_t verbcastd;
static struct ibv_pd *pd;

/* -- attach and detach under fire --------------------------------------------------- */

struct player {
	struct client_qp q;
	union ibv_gid gid;
	unsigned int rounds;
	uint64_t received;
};

static atomic_bool stop;
static pthread_barrier_t barrier;

static void take_all(struct player *p)
{
	struct ibv_wc wc[DEPTH];
	int n;

	while ((n = ibv_poll_cq(p->q.cq, DEPTH, wc)) > 0) {
		for (int i = 0; i < n; i++) {
			CHECK(wc[i].status == IBV_WC_SUCCESS);
			CHECK(wc[i].byte_len == CLIENT_GRH + CLIENT_BYTES);
			CHECK(!client_post_recv(&p->q, (unsigned int)wc[i].wr_id));
		}
		p->received += (unsigned int)n;
	}
	CHECK(n == 0);
}

/* Attached as it is, it hears the senders. */
static void hear_something(struct player *p)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS, before = p->received;

	while (p->received == before) {
		take_all(p);
		CHECK(client_now_ms() < end);
		sched_yield();
	}
}

static void *attach_and_detach(void *arg)
{
	struct player *p = arg;

	for (unsigned int i = 0; i < p->rounds; i++) {
		CHECK(!client_attach(p->q.qp, &p->gid));
		if (i % 16 == 0)
			hear_something(p);
		CHECK(!client_detach(p->q.qp, &p->gid));
	}
	take_all(p);
	return NULL;
}

static void *keep_sending(void *arg)
{
	struct player *p = arg;
	struct ibv_ah *ah = client_ah(pd, &p->gid);

	while (!stop) {
		client_cast(&p->q, ah, 'x');
		sched_yield();
	}
	CHECK(!ibv_destroy_ah(ah));
	return NULL;
}

static void open_players(struct player *p, unsigned int n, unsigned int rounds)
{
	for (unsigned int i = 0; i < n; i++) {
		p[i] = (struct player){ .rounds = rounds,
					.gid = client_gid("239.1.22.1") };
		client_qp_open(&p[i].q, pd, DEPTH);
		client_post_recvs(&p[i].q, DEPTH);
	}
}

static void close_players(struct player *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		client_qp_close(&p[i].q);
}

/* One that is attached now hears what is sent now; those that were detached do not. */
static void expect_quiet(struct player *players, struct player *sender)
{
	struct player witness;
	struct ibv_ah *ah = client_ah(pd, &sender->gid);

	open_players(&witness, 1, 0);
	CHECK(!client_attach(witness.q.qp, &witness.gid));
	for (int i = 0; i < DEPTH; i++)
		client_cast(&sender->q, ah, 'w');
	for (int i = 0; i < DEPTH; i++)
		client_wait(&witness.q);
	for (unsigned int i = 0; i < THREADS; i++)
		CHECK(client_idle(&players[i].q));
	CHECK(!client_detach(witness.q.qp, &witness.gid));
	client_cast(&sender->q, ah, 'w');
	CHECK(client_idle(&witness.q));
	close_players(&witness, 1);
	CHECK(!ibv_destroy_ah(ah));
}

static uint64_t play(unsigned int rounds)
{
	struct player players[THREADS], senders[SENDERS];
	pthread_t threads[SENDERS];
	uint64_t received = 0;

	open_players(players, THREADS, rounds);
	open_players(senders, SENDERS, 0);
	stop = false;
	for (int i = 0; i < SENDERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, keep_sending, &senders[i]));
	client_threads(THREADS, attach_and_detach, players, sizeof(players[0]));
	stop = true;
	for (int i = 0; i < SENDERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	expect_quiet(players, &senders[0]);
	for (unsigned int i = 0; i < THREADS; i++)
		received += players[i].received;
	close_players(players, THREADS);
	close_players(senders, SENDERS);
	return received;
}

static void sixteen_threads_under_fire(void)
{
	struct client_holdings before;
	uint64_t received;

	play(20);
	before = client_hold(verbcastd);
	received = play(client_count(300, 10000));
	printf("received meanwhile: %llu\n", (unsigned long long)received);
	client_check_flat(&before, SLACK);
}

/* -- the first attach, by sixteen at once ------------------------------------------- */

static void *attach_at_once(void *arg)
{
	struct player *p = arg;

	pthread_barrier_wait(&barrier);
	CHECK(!client_attach(p->q.qp, &p->gid));
	return NULL;
}

static void *detach_at_once(void *arg)
{
	struct player *p = arg;

	pthread_barrier_wait(&barrier);
	CHECK(!client_detach(p->q.qp, &p->gid));
	return NULL;
}

/* A group that nobody has, again and again: it is made once, and all are in it. */
static void first_attach_by_sixteen_at_once(void)
{
	unsigned int rounds = client_count(50, 2000);
	struct player players[THREADS], sender;
	struct ibv_ah *ah;

	open_players(players, THREADS, 0);
	open_players(&sender, 1, 0);
	ah = client_ah(pd, &sender.gid);
	CHECK(!pthread_barrier_init(&barrier, NULL, THREADS));
	for (unsigned int round = 0; round < rounds; round++) {
		client_threads(THREADS, attach_at_once, players, sizeof(players[0]));
		client_cast(&sender.q, ah, 'a');
		for (unsigned int i = 0; i < THREADS; i++) {
			struct ibv_wc wc = client_wait(&players[i].q);

			CHECK(!client_post_recv(&players[i].q, (unsigned int)wc.wr_id));
			CHECK(client_idle(&players[i].q));
		}
		client_threads(THREADS, detach_at_once, players, sizeof(players[0]));
		client_cast(&sender.q, ah, 'b');
		for (unsigned int i = 0; i < THREADS; i++)
			CHECK(client_idle(&players[i].q));
	}
	pthread_barrier_destroy(&barrier);
	CHECK(!ibv_destroy_ah(ah));
	close_players(players, THREADS);
	close_players(&sender, 1);
}

/* One queue pair in the hands of four threads: nothing but 0 and EINVAL, and at the end
 * it is in no group. */
static void *quarrel(void *arg)
{
	struct player *p = arg;

	for (unsigned int i = 0; i < client_count(200, 5000); i++) {
		CHECK(!client_attach(p->q.qp, &p->gid));
		errno = client_detach(p->q.qp, &p->gid);
		CHECK(!errno || errno == EINVAL);
	}
	return NULL;
}

static void four_threads_on_one_queue_pair(void)
{
	struct player p;

	open_players(&p, 1, 0);
	client_threads(4, quarrel, &p, 0);
	CHECK(client_detach(p.q.qp, &p.gid) == EINVAL);
	close_players(&p, 1);
}

int main(int argc, char **argv)
{
	struct ibv_context *context;

	CHECK(argc == 2);
	verbcastd = atoi(argv[1]);
	context = client_open();
	CHECK(pd = ibv_alloc_pd(context));
	sixteen_threads_under_fire();
	first_attach_by_sixteen_at_once();
	four_threads_on_one_queue_pair();
	CHECK(!ibv_dealloc_pd(pd));
	CHECK(!ibv_close_device(context));
	return 0;
}
