// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * A queue pair on InfiniBand that is attached to a group, or sends to one, and joins
 * nothing: membership of the port is somebody else's business.
 *
 *	ear MGID MLID          says "ready", counts what comes, at SIGTERM says "got COUNT"
 *	ear MGID MLID COUNT    sends so many, and says "sent COUNT"
 *
 * The Q_Key is CLIENT_QKEY.
 */
#include <signal.h>

#include "client.h"

#define DEPTH 256

static volatile sig_atomic_t stop;

static void on_term(int number)
{
	stop = number;
}

static unsigned int take(struct client_qp *q)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(q->cq, 1, &wc);

	CHECK(n >= 0);
	if (!n)
		return 0;
	CHECK(wc.status == IBV_WC_SUCCESS);
	CHECK(!client_post_recv(q, (unsigned int)wc.wr_id));
	return 1;
}

static void hear(struct client_qp *q, union ibv_gid *mgid, uint16_t mlid)
{
	unsigned int got = 0, last;

	client_post_recvs(q, DEPTH);
	CHECK(!(errno = ibv_attach_mcast(q->qp, mgid, mlid)));
	printf("ready\n");
	while (!stop) {
		got += take(q);
		client_pause();
	}
	/* What was sent before the signal is here by now. */
	do {
		last = got;
		for (int i = 0; i < 16; i++)
			got += take(q);
	} while (got != last);
	printf("got %u\n", got);
	CHECK(!ibv_detach_mcast(q->qp, mgid, mlid));
}

static void speak(struct client_qp *q, const union ibv_gid *mgid, uint16_t mlid,
		  unsigned int count)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .dlid = mlid };
	struct ibv_ah *ah;

	attr.grh.dgid = *mgid;
	attr.grh.hop_limit = 1;
	CHECK(ah = ibv_create_ah(q->pd, &attr));
	for (unsigned int i = 0; i < count; i++)
		client_cast(q, ah, (char)i);
	printf("sent %u\n", count);
	CHECK(!ibv_destroy_ah(ah));
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_term };
	struct ibv_context *context;
	struct client_qp q;
	union ibv_gid mgid;
	struct ibv_pd *pd;
	uint16_t mlid;

	CHECK(argc >= 3);
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &action, NULL);
	mgid = client_gid(argv[1]);
	mlid = (uint16_t)strtoul(argv[2], NULL, 0);
	context = client_open();
	CHECK(pd = ibv_alloc_pd(context));
	client_qp_open(&q, pd, DEPTH);
	if (argc > 3)
		speak(&q, &mgid, mlid, (unsigned int)atoi(argv[3]));
	else
		hear(&q, &mgid, mlid);
	client_qp_close(&q);
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return 0;
}
