// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * What a program does when the subnet manager begins anew: it hears MULTICAST_ERROR with
 * -ENETRESET of each membership, leaves, joins again, and traffic goes on.
 *
 *	rejoin GROUP ADDRESS HOW-OFTEN
 *
 * Says "joined" each time, and after the last "heard BYTE" of the first datagram.
 */
#include "client.h"

static struct rdma_event_channel *events;
static struct ibv_mr *mr;
static char memory[4096 + CLIENT_GRH];

static void post(struct rdma_cm_id *id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory,
			       .length = sizeof(memory),
			       .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(id->qp, &wr, &bad));
}

/* The interface has lost its broadcast group, too, and joins it again at its own pace: so
 * long there is nothing to start from (spec/kernel 3.3). */
static void join(struct rdma_cm_id *id, struct sockaddr_in *group)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;

	while (rdma_join_multicast(id, (struct sockaddr *)group, &events)) {
		CHECK(errno == EADDRNOTAVAIL && client_now_ms() < end);
		client_pause();
	}
	client_expect(events, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	printf("joined\n");
}

static void lose(struct rdma_cm_id *id, struct sockaddr_in *group)
{
	struct rdma_cm_event *event =
		client_event(events, RDMA_CM_EVENT_MULTICAST_ERROR, -ENETRESET);

	CHECK(event->id == id && event->param.ud.private_data == &events);
	CHECK(!rdma_ack_cm_event(event));
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)group));
	CHECK(client_no_event(events));
}

int main(int argc, char **argv)
{
	struct sockaddr_in group;
	struct rdma_cm_id *id;

	CHECK(argc == 4);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setenv("CLIENT_ADDRESS", argv[2], 1);
	group = client_ipv4(argv[1]);
	CHECK(events = rdma_create_event_channel());
	id = client_bound_id(events);
	client_id_qp(id, 4);
	CHECK(mr = ibv_reg_mr(id->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	post(id);
	join(id, &group);
	for (int i = atoi(argv[3]); i; i--) {
		lose(id, &group);
		join(id, &group);
	}
	CHECK(client_poll(id->recv_cq).status == IBV_WC_SUCCESS);
	printf("heard %d\n", memory[CLIENT_GRH]);
	rdma_destroy_qp(id);
	CHECK(!ibv_dereg_mr(mr) && !rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
	return 0;
}
