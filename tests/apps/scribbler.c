// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * One who writes over the shared memory of a site, and those who talk meanwhile:
 *
 *	scribbler GROUP receive|wait COUNT   "got COUNT" when so many have come, in order
 *	scribbler GROUP send COUNT           one a millisecond
 *	scribbler GROUP stay COUNT FIRST     the same, numbered from FIRST; stays when it has
 *	                                     sent, so that nobody hears of it by its death
 *	scribbler GROUP own|all SEED         writes random bytes over all of its memory of the
 *	                                     site that is writable: of its own alone, or what
 *	                                     it has of others, too; until a signal ends it
 *
 * Datagrams of `send` bear a mark and their number, from which the rest follows. Others
 * are foreign to a receiver, who counts them.
 */
#include <unistd.h>

#include "client.h"

#define DEPTH       2048u
#define MARK        0x6c6c657774736566ull
#define REGIONS_MAX 64u

static union ibv_gid group;
static struct client_qp q;
static struct ibv_comp_channel *channel;
static struct ibv_ah *ah;

static struct ibv_qp *create_qp(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = q.cq,
		.recv_cq = q.cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
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
	CHECK(ah = client_ah(q.pd, &group));
}

static void open_member(void)
{
	open_qp();
	client_post_recvs(&q, DEPTH);
	CHECK(!ibv_attach_mcast(q.qp, &group, 0));
	printf("member\n");
}

/* -- those who talk ---------------------------------------------------------------------- */

struct message {
	uint64_t mark, number, rest[CLIENT_BYTES / 8 - 2];
};

static struct message message(uint64_t number)
{
	struct message m = { .mark = MARK, .number = number };

	for (unsigned int i = 0; i < CLIENT_BYTES / 8 - 2; i++)
		m.rest[i] = (number + 1) * 0x9e3779b97f4a7c15ull + i;
	return m;
}

static void *at(uint64_t n)
{
	return q.memory + (CLIENT_GRH + CLIENT_BYTES) * n;
}

/* Inline: nothing is kept for it here. True: it is on its way. */
static bool post(const void *bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)bytes,
			       .length = CLIENT_BYTES,
			       .lkey = q.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = 0xffffff, .remote_qkey = CLIENT_QKEY },
	};

	return !ibv_post_send(q.qp, &wr, &bad);
}

static void send_all(unsigned int count, unsigned int first)
{
	const struct timespec interval = { .tv_nsec = 1000000 };

	open_qp();
	for (unsigned int n = 0; n < count; n++) {
		struct message m = message(first + n);

		memcpy(at(DEPTH), &m, sizeof(m));
		CHECK(post(at(DEPTH)));
		nanosleep(&interval, NULL);
	}
}

static void send_and_stay(unsigned int count, unsigned int first)
{
	send_all(count, first);
	for (;;)
		pause();
}

/* Returns whether it is one of `send`'s, which must be the expected one, and whole. */
static bool check(const struct ibv_wc *wc, uint64_t expected)
{
	struct message got, m = message(expected);

	CHECK(wc->status == IBV_WC_SUCCESS);
	memcpy(&got, (char *)at(wc->wr_id) + CLIENT_GRH, sizeof(got));
	CHECK(!client_post_recv(&q, (unsigned int)wc->wr_id));
	if (wc->byte_len != CLIENT_GRH + sizeof(got) || got.mark != MARK)
		return false;
	if (memcmp(&got, &m, sizeof(m)) != 0)
		printf("number %llu, expected %llu\n", (unsigned long long)got.number,
		       (unsigned long long)expected);
	CHECK(!memcmp(&got, &m, sizeof(m)));
	return true;
}

static void sleep_for_one(void)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(!ibv_get_cq_event(channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

static void receive_all(unsigned int count, bool waits)
{
	unsigned int got = 0, foreign = 0;
	struct ibv_wc wc;

	open_member();
	while (got < count) {
		if (waits)
			CHECK(!ibv_req_notify_cq(q.cq, 0));
		if (!ibv_poll_cq(q.cq, 1, &wc)) {
			if (waits)
				sleep_for_one();
			continue;
		}
		if (check(&wc, got))
			got++;
		else
			foreign++;
	}
	printf("got %u\nforeign %u\n", got, foreign);
}

/* -- the one who writes ------------------------------------------------------------------ */

struct region {
	uint8_t *at;
	size_t bytes;
};

static struct region regions[REGIONS_MAX];
static unsigned int region_count;
static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* What this process can write of the site's memory files, by their name's beginning. */
static void find_regions(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (!strstr(line, " rw-s ") || !strstr(line, name))
			continue;
		CHECK(sscanf(line, "%lx-%lx", &from, &to) == 2);
		CHECK(region_count < REGIONS_MAX);
		regions[region_count++] = (struct region){ (uint8_t *)from, to - from };
	}
	fclose(maps);
}

/* A byte, a word of any size of number, or a page. */
static void scribble(const struct region *r)
{
	size_t where = next_random() % (next_random() % 2 ? r->bytes : 8192) % r->bytes;
	uint64_t value = next_random() >> next_random() % 64;

	switch (next_random() % 64) {
	case 0:
		for (size_t i = where; i < r->bytes && i < where + 4096; i++)
			r->at[i] = (uint8_t)next_random();
		break;
	case 1 ... 15:
		r->at[where] = (uint8_t)value;
		break;
	default:
		memcpy(r->at + where / 8 * 8, &value, sizeof(value));
		break;
	}
}

static void scribble_over_all(const struct region *r)
{
	for (size_t i = 0; i + 8 <= r->bytes; i += 8) {
		uint64_t value = next_random();

		memcpy(r->at + i, &value, sizeof(value));
	}
}

/* Goes on talking, as well as its memory lets it. */
static void *talk(void *arg)
{
	static const uint8_t rubbish[CLIENT_BYTES] = "rubbish";
	struct ibv_wc wc[16];

	memcpy(at(DEPTH), rubbish, sizeof(rubbish));
	for (;;) {
		int n = ibv_poll_cq(q.cq, 16, wc);

		for (int i = 0; i < n; i++)
			if (wc[i].status == IBV_WC_SUCCESS)
				client_post_recv(&q, (unsigned int)wc[i].wr_id);
		post(at(DEPTH));
		client_pause();
	}
	return NULL;
}

/* The first datagram makes its log, and has others' doorbells mapped. */
static void scribble_for_ever(bool all)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	pthread_t talker;

	open_member();
	if (!all)
		find_regions("verbcast-doorbell");
	CHECK(post(at(DEPTH)));
	if (all)
		find_regions("verbcast-doorbell");
	find_regions("verbcast-counters");
	find_regions("verbcast-log");
	CHECK(region_count >= 3);
	CHECK(!pthread_create(&talker, NULL, talk, NULL));
	for (unsigned int round = 0;; round++) {
		for (unsigned int i = 0; i < region_count; i++) {
			if (round % 256 == 0)
				scribble_over_all(&regions[i]);
			for (int n = 0; n < 64; n++)
				scribble(&regions[i]);
		}
		if (!round)
			printf("scribbles over %u\n", region_count);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned int number;

	CHECK(argc == 5 || (argc == 4 && strcmp(argv[2], "stay") != 0));
	setvbuf(stdout, NULL, _IOLBF, 0);
	group = client_gid(argv[1]);
	number = (unsigned int)strtoul(argv[3], NULL, 10);
	seed = number * 0x9e3779b97f4a7c15ull | 1;
	if (!strcmp(argv[2], "own") || !strcmp(argv[2], "all"))
		scribble_for_ever(argv[2][0] == 'a');
	else if (!strcmp(argv[2], "send"))
		send_all(number, 0);
	else if (!strcmp(argv[2], "stay"))
		send_and_stay(number, (unsigned int)atoi(argv[4]));
	else
		receive_all(number, argv[2][0] == 'w');
	return 0;
}
