// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * What arrives of numbered datagrams, in which order, and whether whole; for tests of
 * `verbcast fault`. On the first device, to a group that nobody joins.
 *
 *	faulted receive GROUP COUNT [wait]  says "ready", and after COUNT datagrams "got N N N",
 *	                                    in their order, a broken one as "N!". COUNT 0: at
 *	                                    SIGTERM. wait: asleep in ibv_get_cq_event
 *	faulted send GROUP COUNT [stay]     sends 0 to COUNT - 1, sees each complete, says
 *	                                    "sent COUNT". stay: and lives until SIGTERM
 */
#include <signal.h>

#include "client.h"

#define DEPTH 256u

static volatile sig_atomic_t stop;

static void on_term(int number)
{
	stop = number;
}

/* -- receiving ------------------------------------------------------------------------ */

struct ear {
	struct client_qp q;
	struct ibv_comp_channel *channel; /* null: polls */
	struct ibv_cq *cq;
	unsigned int got;
	char line[4096];
	size_t at;
};

/* A queue pair whose receives complete on a channel's queue. */
static void open_waiting(struct ear *ear, struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD };

	client_qp_open(&ear->q, pd, DEPTH);
	ear->cq = ear->q.cq;
	if (!ear->channel)
		return;
	CHECK(!ibv_destroy_qp(ear->q.qp));
	CHECK((ear->cq = ibv_create_cq(context, DEPTH, NULL, ear->channel, 0)));
	attr.send_cq = ear->q.send_cq;
	attr.recv_cq = ear->cq;
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = 1,
					.max_recv_wr = DEPTH,
					.max_send_sge = 1,
					.max_recv_sge = 1 };
	CHECK((ear->q.qp = ibv_create_qp(pd, &attr)));
	client_to_state(ear->q.qp, IBV_QPS_RTS, CLIENT_QKEY);
}

/* One bit is broken at most: of three bytes two are right. */
static void note(struct ear *ear, const struct ibv_wc *wc)
{
	const char *b = ear->q.memory + (size_t)wc->wr_id * (CLIENT_GRH + CLIENT_BYTES) +
			CLIENT_GRH;
	const char byte = b[0] == b[1] || b[0] == b[2] ? b[0] : b[1];
	bool broken = false;

	CHECK(wc->status == IBV_WC_SUCCESS && wc->byte_len == CLIENT_GRH + CLIENT_BYTES);
	for (int i = 0; i < CLIENT_BYTES; i++)
		broken |= b[i] != byte;
	ear->at += (size_t)snprintf(ear->line + ear->at, sizeof(ear->line) - ear->at,
				    " %u%s", (unsigned char)byte, broken ? "!" : "");
	CHECK(ear->at < sizeof(ear->line));
	ear->got++;
	CHECK(!client_post_recv(&ear->q, (unsigned int)wc->wr_id));
}

static void sleep_until_event(struct ear *ear)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(ear->channel, &cq, &context)) {
		CHECK(stop);
		return;
	}
	ibv_ack_cq_events(cq, 1);
	CHECK(!ibv_req_notify_cq(cq, 0));
}

static void hear(struct ear *ear, unsigned int count)
{
	struct ibv_wc wc;

	while (!count || ear->got < count) {
		bool told = stop; /* what had come by then is heard */
		int n = ibv_poll_cq(ear->cq, 1, &wc);

		CHECK(n >= 0);
		if (n)
			note(ear, &wc);
		else if (told)
			break;
		else if (ear->channel)
			sleep_until_event(ear);
		else
			client_pause();
	}
	CHECK(ibv_poll_cq(ear->cq, 1, &wc) == 0);
}

static void receive(struct ibv_context *context, struct ibv_pd *pd, const char *group,
		    unsigned int count, bool wait)
{
	static struct ear ear;
	union ibv_gid gid = client_gid(group);

	if (wait)
		CHECK((ear.channel = ibv_create_comp_channel(context)));
	open_waiting(&ear, context, pd);
	client_post_recvs(&ear.q, DEPTH);
	if (wait)
		CHECK(!ibv_req_notify_cq(ear.cq, 0));
	CHECK(!client_attach(ear.q.qp, &gid));
	printf("ready\n");
	fflush(stdout);
	hear(&ear, count);
	printf("got%s\n", ear.line);
}

/* -- sending -------------------------------------------------------------------------- */

static void send_all(struct ibv_pd *pd, const char *group, unsigned int count, bool stay)
{
	union ibv_gid gid = client_gid(group);
	struct ibv_ah *ah = client_ah(pd, &gid);
	struct client_qp q;

	client_qp_open(&q, pd, 1);
	for (unsigned int i = 0; i < count; i++)
		client_cast(&q, ah, (char)i);
	printf("sent %u\n", count);
	fflush(stdout);
	while (stay && !stop)
		client_pause();
	CHECK(!ibv_destroy_ah(ah));
	client_qp_close(&q);
}

int main(int argc, char **argv)
{
	struct sigaction term = { .sa_handler = on_term };
	struct ibv_context *context;
	struct ibv_pd *pd;

	CHECK(argc >= 4);
	CHECK(!sigaction(SIGTERM, &term, NULL));
	context = client_open();
	CHECK((pd = ibv_alloc_pd(context)));
	if (!strcmp(argv[1], "receive"))
		receive(context, pd, argv[2], (unsigned int)atoi(argv[3]), argc > 4);
	else
		send_all(pd, argv[2], (unsigned int)atoi(argv[3]), argc > 4);
	return 0;
}
