// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Datagrams in a partition: a queue pair of vib0 whose P_Key is PKEY, wherever that is in
 * its port's table. It joins no group: membership of the port is somebody else's business.
 *
 *	parted PKEY hear [MGID MLID]       says "ready QPN LID", "heard COUNT" at each, and
 *	                                   when it is told to end (SIGTERM) "got COUNT"
 *	parted PKEY send LID QPN COUNT
 *	parted PKEY cast MGID MLID COUNT
 *
 * The Q_Key is CLIENT_QKEY. A P_Key that the port has not ends it with "no such P_Key",
 * status 3.
 */
#include <arpa/inet.h>
#include <signal.h>

#include "client.h"

#define DEPTH     256
#define GROUP_QPN 0xffffff

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

static void hear(struct client_qp *q, char **group)
{
	unsigned int got = 0, last;
	struct ibv_port_attr port;
	uint16_t mlid = 0;
	union ibv_gid mgid;

	client_post_recvs(q, DEPTH);
	CHECK(!ibv_query_port(q->pd->context, 1, &port));
	if (group[0]) {
		mgid = client_gid(group[0]);
		mlid = (uint16_t)strtoul(group[1], NULL, 0);
		CHECK(!ibv_attach_mcast(q->qp, &mgid, mlid));
	}
	printf("ready %u %u\n", q->qp->qp_num, port.lid);
	while (!stop) {
		last = got;
		got += take(q);
		if (got != last)
			printf("heard %u\n", got);
		client_pause();
	}
	/* What was sent before the signal is here by now. */
	do {
		last = got;
		for (int i = 0; i < 16; i++)
			got += take(q);
	} while (got != last);
	printf("got %u\n", got);
	if (group[0])
		CHECK(!ibv_detach_mcast(q->qp, &mgid, mlid));
}

static void send_all(struct client_qp *q, struct ibv_ah_attr *to, uint32_t qpn,
		     const char *count)
{
	struct ibv_ah *ah;

	to->port_num = 1;
	CHECK(ah = ibv_create_ah(q->pd, to));
	for (int i = 0; i < atoi(count); i++)
		client_send(q, ah, qpn, (char)i);
	CHECK(!ibv_destroy_ah(ah));
	printf("sent %s\n", count);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_term };
	struct ibv_ah_attr to = { 0 };
	struct ibv_context *context;
	struct client_qp q;
	struct ibv_pd *pd;
	int index;

	CHECK(argc >= 3);
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &action, NULL);
	context = client_open_device("vib0");
	index = ibv_get_pkey_index(context, 1,
				   htons((uint16_t)strtoul(argv[1], NULL, 0)));
	if (index < 0) {
		printf("no such P_Key\n");
		return 3;
	}
	CHECK(pd = ibv_alloc_pd(context));
	client_qp_open(&q, pd, DEPTH);
	client_to_partition(q.qp, (uint16_t)index);
	if (!strcmp(argv[2], "hear")) {
		hear(&q, argv + 3);
	} else if (!strcmp(argv[2], "send")) {
		CHECK(argc == 6);
		to.dlid = (uint16_t)atoi(argv[3]);
		send_all(&q, &to, (uint32_t)atoi(argv[4]), argv[5]);
	} else {
		CHECK(argc == 6);
		to.is_global = 1;
		to.grh.dgid = client_gid(argv[3]);
		to.grh.hop_limit = 1;
		to.dlid = (uint16_t)strtoul(argv[4], NULL, 0);
		send_all(&q, &to, GROUP_QPN, argv[5]);
	}
	client_qp_close(&q);
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return 0;
}
