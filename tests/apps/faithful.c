// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * A member that stays one whoever manages the subnet: when its membership is over it
 * leaves, and joins again as often as that takes.
 *
 *	faithful GROUP ADDRESS
 *
 * Says "joined", "lost" at -ENETRESET, "refused STATUS" of a join that came to nothing, and
 * "heard" of each datagram, until a signal ends it.
 */
#include <poll.h>

#include "client.h"

#define DEPTH    4
#define ROOM     (4096 + CLIENT_GRH)
#define PAUSE_MS 20

static struct rdma_event_channel *events;
static struct rdma_cm_id *id;
static struct ibv_mr *mr;
static struct sockaddr_in group;
static uint8_t memory[DEPTH][ROOM];
static bool is_asking, is_member;
static uint64_t last_reset_ms;

static void post(uint64_t n)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory[n],
			       .length = ROOM,
			       .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(id->qp, &wr, &bad));
}

/* Without the broadcast group there is nothing to start from (spec/kernel 3.3). */
static void ask(void)
{
	is_asking = !rdma_join_multicast(id, (struct sockaddr *)&group, &group);
	CHECK(is_asking || errno == EADDRNOTAVAIL);
}

static void hear_of_group(void)
{
	struct rdma_cm_event *event;

	CHECK(!rdma_get_cm_event(events, &event));
	CHECK(event->id == id && event->param.ud.private_data == &group);
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
		CHECK(event->status == 0 && is_asking && !is_member);
		is_member = true;
		printf("joined\n");
	} else {
		CHECK(event->event == RDMA_CM_EVENT_MULTICAST_ERROR && event->status);
		if (event->status == -ENETRESET)
			printf("lost\n");
		else
			printf("refused %d\n", event->status);
		CHECK(is_member == (event->status == -ENETRESET));
		is_asking = is_member = false;
		last_reset_ms = client_now_ms();
	}
	CHECK(!rdma_ack_cm_event(event));
	if (!is_asking)
		CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
}

static void hear(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(id->recv_cq, 1, &wc) > 0) {
		CHECK(wc.status == IBV_WC_SUCCESS);
		printf("heard\n");
		post(wc.wr_id);
	}
}

int main(int argc, char **argv)
{
	struct pollfd ready;

	CHECK(argc == 3);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("CLIENT_ADDRESS", argv[2], 1);
	group = client_ipv4(argv[1]);
	CHECK(events = rdma_create_event_channel());
	id = client_bound_id(events);
	client_id_qp(id, DEPTH);
	CHECK(mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	for (uint64_t n = 0; n < DEPTH; n++)
		post(n);
	ready = (struct pollfd){ .fd = events->fd, .events = POLLIN };
	for (;;) {
		hear();
		if (!is_asking && client_now_ms() - last_reset_ms >= PAUSE_MS)
			ask();
		if (poll(&ready, 1, PAUSE_MS / 4) > 0)
			hear_of_group();
	}
}
