// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Ids of rdma_cm under threads, and over very many lives. What a process and verbcastd
 * hold is the same before and after.
 *
 *	cm_threads PID-OF-VERBCASTD
 */
#include <sched.h>
#include <stdatomic.h>

#include "client.h"

#define THREADS 8
#define SLACK   (32u << 10)

static pid_t verbcastd;

/* -- create, bind, join, destroy in a loop ------------------------------------------ */

struct looper {
	unsigned int rounds, number;
};

/* One life of an id, in as many ways as the bits of `round` tell. */
static void live_and_die(unsigned int number, unsigned int round)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct sockaddr_in group = client_ipv4("239.1.21.1");
	struct rdma_cm_id *id;

	CHECK(events);
	if (round & 1) /* a group of the thread's own */
		group.sin_addr.s_addr += htonl(1 + number);
	id = client_bound_id(events);
	if (round & 2)
		client_id_qp(id, 2);
	CHECK(!rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	if (round & 4)
		client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	if (round & 8)
		CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	if (id->qp)
		rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
	CHECK(client_no_event(events));
	rdma_destroy_event_channel(events);
}

static void *loop(void *arg)
{
	struct looper *l = arg;

	for (unsigned int i = 0; i < l->rounds; i++)
		live_and_die(l->number, i);
	return NULL;
}

static void run_loops(unsigned int rounds)
{
	struct looper loopers[THREADS];

	for (unsigned int i = 0; i < THREADS; i++)
		loopers[i] = (struct looper){ .rounds = rounds, .number = i };
	client_threads(THREADS, loop, loopers, sizeof(loopers[0]));
}

static void eight_threads_live_and_die(void)
{
	struct client_holdings before;

	/* What is taken once: the device, the default domain, allocators' arenas, and the
	 * thousand entries of groups that rest before they are used again. */
	run_loops(160);
	before = client_hold(verbcastd);
	run_loops(client_count(64, 2000));
	client_check_flat(&before, 4 * SLACK);
}

/* -- leave and destroy at once ------------------------------------------------------ */

enum deed {
	LEAVE,
	DESTROY
};

struct duel {
	struct sockaddr_in group;
	_Atomic(struct rdma_cm_id *) id; /* set by main, taken by both */
	atomic_uint round;               /* that may begin */
	unsigned int rounds;
	enum deed deeds[2];
	int results[2], errors[2];
	atomic_uint done;
};

struct duellist {
	struct duel *duel;
	unsigned int number;
};

static void *fight(void *arg)
{
	struct duellist *me = arg;
	struct duel *d = me->duel;
	unsigned int n = me->number;

	for (unsigned int round = 1; round <= d->rounds; round++) {
		struct rdma_cm_id *id;

		while (d->round < round)
			sched_yield();
		id = d->id;
		errno = 0;
		d->results[n] =
			d->deeds[n] == LEAVE
				? rdma_leave_multicast(id, (struct sockaddr *)&d->group)
				: rdma_destroy_id(id);
		d->errors[n] = errno;
		d->done++;
	}
	return NULL;
}

static struct rdma_cm_id *joined_id(struct rdma_event_channel *events,
				    struct sockaddr_in *group, bool fetch)
{
	struct rdma_cm_id *id = client_bound_id(events);

	CHECK(!rdma_join_multicast(id, (struct sockaddr *)group, NULL));
	if (fetch)
		client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	return id;
}

/* Destroyed in time or not, the loser is told; nobody falls into what is freed. */
static void check_duel(const struct duel *d)
{
	for (unsigned int n = 0; n < 2; n++) {
		if (d->deeds[n] == DESTROY)
			CHECK(!d->results[n]);
		else
			CHECK(!d->results[n] ||
			      (d->results[n] == -1 && (d->errors[n] == ENOENT ||
						       d->errors[n] == EADDRNOTAVAIL)));
	}
	if (d->deeds[0] == d->deeds[1]) /* one membership, one success */
		CHECK(d->results[0] + d->results[1] == -1);
}

static void run_duel(enum deed first, enum deed second, unsigned int rounds)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct duel d = { .group = client_ipv4("239.1.21.20"),
			  .rounds = rounds,
			  .deeds = { first, second } };
	struct duellist us[2] = { { &d, 0 }, { &d, 1 } };
	pthread_t threads[2];

	CHECK(events);
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, fight, &us[i]));
	for (unsigned int round = 1; round <= rounds; round++) {
		d.id = joined_id(events, &d.group, round & 1);
		d.done = 0;
		d.round = round;
		while (d.done < 2)
			sched_yield();
		check_duel(&d);
		if (first == LEAVE && second == LEAVE)
			CHECK(!rdma_destroy_id(d.id));
		CHECK(client_no_event(events));
	}
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	rdma_destroy_event_channel(events);
}

static void two_threads_end_one_id(void)
{
	unsigned int rounds = client_count(1000, 50000);
	struct client_holdings before;

	run_duel(LEAVE, DESTROY, 100);
	before = client_hold(verbcastd);
	run_duel(LEAVE, DESTROY, rounds);
	run_duel(LEAVE, LEAVE, rounds / 4);
	client_check_flat(&before, SLACK);
}

/* -- destroyed with its event unread ------------------------------------------------ */

static void destroy_unread(struct rdma_event_channel *events, unsigned int rounds)
{
	struct sockaddr_in group = client_ipv4("239.1.21.21");

	for (unsigned int i = 0; i < rounds; i++) {
		struct rdma_cm_id *id = joined_id(events, &group, false);

		/* The event has come, is coming, or never will. */
		while (i % 3 == 0 && client_no_event(events))
			sched_yield();
		CHECK(!rdma_destroy_id(id));
	}
	CHECK(client_no_event(events));
}

static void destroyed_with_its_event_unread(void)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	struct client_holdings before;

	CHECK(events);
	destroy_unread(events, 500);
	before = client_hold(verbcastd);
	destroy_unread(events, client_count(3000, 100000));
	client_check_flat(&before, SLACK);
	rdma_destroy_event_channel(events);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	verbcastd = atoi(argv[1]);
	eight_threads_live_and_die();
	two_threads_end_one_id();
	destroyed_with_its_event_unread();
	return 0;
}
