// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * What a program does when the subnet manager begins anew: it hears MULTICAST_ERROR with
 * -ENETRESET of each membership, leaves, joins again, and traffic goes on.
 *
 *	rejoin GROUP ADDRESS HOW-OFTEN [send]
 *
 * Says "joined" each time. Who sends does so all the time, as long as it is a member, with
 * the number of its joins in each datagram; and never ends. Everybody else says "heard MS"
 * as soon as it has heard that number from it: so long after it was told of its loss.
 */
#include "client.h"

#define OUT_BYTES 64

static struct rdma_event_channel *events;
static struct ibv_mr *mr;
static char memory[4096 + CLIENT_GRH + OUT_BYTES];
static char *out = memory + sizeof(memory) - OUT_BYTES;
static struct ibv_ah *ah;
static uint32_t remote_qpn, remote_qkey;

/* The interface has lost its broadcast group, too, and joins it again at its own pace: so
 * long there is nothing to start from (spec/kernel 3.3). */
static void join(struct rdma_cm_id *id, struct sockaddr_in *group)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;
	struct rdma_cm_event *event;

	while (rdma_join_multicast(id, (struct sockaddr *)group, &events)) {
		CHECK(errno == EADDRNOTAVAIL && client_now_ms() < end);
		client_pause();
	}
	event = client_event(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	CHECK(ah = ibv_create_ah(id->pd, &event->param.ud.ah_attr));
	remote_qpn = event->param.ud.qp_num;
	remote_qkey = event->param.ud.qkey;
	CHECK(!rdma_ack_cm_event(event));
	printf("joined\n");
}

/* Returns when it was told. */
static uint64_t lose(struct rdma_cm_id *id, struct sockaddr_in *group)
{
	struct rdma_cm_event *event =
		client_event(events, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETRESET);
	uint64_t now = client_now_ms();

	CHECK(event->id == id && event->param.ud.private_data == &events);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!ibv_destroy_ah(ah));
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)group));
	CHECK(client_no_event(events));
	return now;
}

static void hear(struct rdma_cm_id *id, char round)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory,
			       .length = sizeof(memory) - OUT_BYTES,
			       .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	do {
		CHECK(!ibv_post_recv(id->qp, &wr, &bad));
		CHECK(client_poll(id->recv_cq).status == IBV_WC_SUCCESS);
	} while (memory[CLIENT_GRH] != round);
}

/* Until the next event. */
static void talk(struct rdma_cm_id *id, char round)
{
	struct ibv_sge sge = { .addr = (uintptr_t)out,
			       .length = OUT_BYTES,
			       .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah,
			   .remote_qpn = remote_qpn,
			   .remote_qkey = remote_qkey },
	};

	out[0] = round;
	while (client_no_event(events)) {
		CHECK(!ibv_post_send(id->qp, &wr, &bad));
		CHECK(client_poll(id->send_cq).status == IBV_WC_SUCCESS);
		client_pause();
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in group;
	struct rdma_cm_id *id;
	uint64_t lost = client_now_ms();
	bool sends = argc == 5;

	CHECK(argc == 4 || sends);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("CLIENT_ADDRESS", argv[2], 1);
	group = client_ipv4(argv[1]);
	CHECK(events = rdma_create_event_channel());
	id = client_bound_id(events);
	client_id_qp(id, 4);
	CHECK(mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	join(id, &group);
	for (int round = 1, rounds = atoi(argv[3]);; round++) {
		if (sends) {
			talk(id, (char)round);
		} else {
			hear(id, (char)round);
			printf("heard %u\n", (unsigned int)(client_now_ms() - lost));
			if (round > rounds)
				break;
		}
		lost = lose(id, &group);
		join(id, &group);
	}
	CHECK(!ibv_destroy_ah(ah));
	rdma_destroy_qp(id);
	CHECK(!ibv_dereg_mr(mr) && !rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
	return 0;
}
