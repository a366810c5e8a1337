// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that open devices, make what stands on them, bind and join, over and over, while
 * a test plugs and unplugs the interfaces. Every call may fail; none may hang or crash,
 * and what was made can be destroyed.
 *
 *	flapper ADDRESS        until its standard input ends; then "rounds N, removals M"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define THREADS 4

static struct sockaddr_in bind_address, group;
static _Atomic bool stop;
static _Atomic unsigned int rounds, removals;

static void check(bool good, const char *what)
{
	if (good)
		return;
	printf("flapper: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Queue pair in RTS, a receive, and an end; whatever of it succeeds. */
static void use_context(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = RDMA_UDP_QKEY };
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = 9 } };
	struct ibv_port_attr port;

	(void)ibv_query_port(context, 1, &port);
	if (qp) {
		(void)ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					    IBV_QP_QKEY);
		attr.qp_state = IBV_QPS_RTR;
		(void)ibv_modify_qp(qp, &attr, IBV_QP_STATE);
		if (!ibv_attach_mcast(qp, &gid, 0))
			check(!ibv_detach_mcast(qp, &gid, 0), "ibv_detach_mcast");
		check(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	}
	if (cq)
		check(!ibv_destroy_cq(cq), "ibv_destroy_cq");
	if (pd)
		check(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list, "ibv_get_device_list");
	check(list[0], "there is no device, not even the loopback's");
	for (int i = 0; list[i]; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		if (!context)
			continue;
		use_context(context);
		check(!ibv_close_device(context), "ibv_close_device");
	}
	ibv_free_device_list(list);
}

/* Until the JOIN or the end of the device. */
static void wait_joined(struct rdma_event_channel *channel)
{
	bool done = false;

	while (!done) {
		struct rdma_cm_event *event;

		check(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		done = event->event != RDMA_CM_EVENT_ADDR_CHANGE;
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			removals++;
		rdma_ack_cm_event(event);
	}
}

static void bind_and_join(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	check(channel, "rdma_create_event_channel");
	check(!rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), "rdma_create_id");
	if (!rdma_bind_addr(id, (struct sockaddr *)&bind_address) &&
	    !rdma_join_multicast(id, (struct sockaddr *)&group, NULL)) {
		wait_joined(channel);
		(void)rdma_leave_multicast(id, (struct sockaddr *)&group);
	}
	check(!rdma_destroy_id(id), "rdma_destroy_id");
	rdma_destroy_event_channel(channel);
}

static void *flap(void *arg)
{
	bool by_id = arg;

	while (!stop) {
		if (by_id)
			bind_and_join();
		else
			open_all();
		rounds++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	char c;

	if (argc != 2)
		return 2;
	bind_address.sin_family = group.sin_family = AF_INET;
	check(inet_pton(AF_INET, argv[1], &bind_address.sin_addr) == 1, argv[1]);
	group.sin_addr.s_addr = inet_addr("239.1.21.1");
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, flap, i % 2 ? &stop : NULL),
		      "pthread_create");
	printf("flapping\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	stop = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("rounds %u, removals %u\n", rounds, removals);
	return 0;
}
