/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Not a carrier of messages: what `send` does is to attach a queue pair to one more group
 * and to detach it again, while `groups` others stay attached (scenario attach).
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/rdma.h"
#include "transport/transport.h"

struct attach_endpoint {
	struct endpoint endpoint;
	struct rdma rdma;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint32_t attached; /* groups 0 to this one */
};

static void attach_close(struct endpoint *e)
{
	struct attach_endpoint *a = (struct attach_endpoint *)e;

	while (a->attached) {
		union ibv_gid group = rdma_group(&a->rdma, e->config.run, --a->attached);

		ibv_detach_mcast(a->qp, &group, 0xc000);
	}
	if (a->qp)
		ibv_destroy_qp(a->qp);
	if (a->cq)
		ibv_destroy_cq(a->cq);
	rdma_close_device(&a->rdma);
	free(a);
}

static int attach_groups(struct attach_endpoint *a)
{
	const struct endpoint_config *c = &a->endpoint.config;

	for (; a->attached + 1 < c->groups; a->attached++) {
		union ibv_gid group = rdma_group(&a->rdma, c->run, a->attached);
		int error = ibv_attach_mcast(a->qp, &group, 0xc000);

		if (error)
			return -error;
	}
	return 0;
}

static int open_steps(struct attach_endpoint *a)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int r = rdma_open_device(&a->rdma, a->endpoint.config.device);

	if (r)
		return r;
	a->cq = ibv_create_cq(a->rdma.context, 2, NULL, NULL, 0);
	if (!a->cq)
		return -errno;
	init.send_cq = a->cq;
	init.recv_cq = a->cq;
	a->qp = ibv_create_qp(a->rdma.pd, &init);
	if (!a->qp)
		return -errno;
	r = rdma_start_ud(&a->rdma, a->qp);
	return r ? r : attach_groups(a);
}

static int attach_open(const struct endpoint_config *c, struct endpoint **ret)
{
	struct attach_endpoint *a = calloc(1, sizeof(*a));
	int r = 0;

	if (!a)
		return -ENOMEM;
	a->endpoint.config = *c;
	if (!c->worker)
		r = open_steps(a);
	if (r) {
		attach_close(&a->endpoint);
		return r;
	}
	*ret = &a->endpoint;
	return 0;
}

static void attach_pair(struct endpoint *e, uint64_t word)
{
	struct attach_endpoint *a = (struct attach_endpoint *)e;
	union ibv_gid group = rdma_group(&a->rdma, e->config.run, a->attached);

	if (ibv_attach_mcast(a->qp, &group, 0xc000) ||
	    ibv_detach_mcast(a->qp, &group, 0xc000))
		e->errors++;
}

const struct transport transport_attach = {
	.name = "verbs",
	.what = "ibv_attach_mcast and ibv_detach_mcast",
	.lossless = true,
	.open = attach_open,
	.send = attach_pair,
	.close = attach_close,
};
