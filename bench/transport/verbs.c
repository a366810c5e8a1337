/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UD multicast by ordinary verbs: a queue pair, attached to the group it hears; requests
 * posted in lists whose last one is signalled; completions polled 32 at a time and their
 * buffers posted again. What runs below is up to the library: verbcast's through
 * `verbcast run`, rdma-core with Soft-RoCE or hardware otherwise.
 *
 * Never fewer receive buffers are posted than messages may be under way, so nothing is
 * lost on any device for want of one. They lie 24 bytes into their lines: the 40 bytes of the
 * GRH then end where a line does.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "harness/buffers.h"
#include "transport/rdma.h"
#include "transport/transport.h"

#define GRH_BYTES  40u
#define GRH_OFFSET 24u
#define BLOCKS_MAX 16u /* of `batch` requests, each posted at once */
#define SENDS_MAX  (2u * BUFFERS_POLL)
#define TAKEN_MAX  16u /* receives that are posted again together */

struct verbs_endpoint {
	struct endpoint endpoint;
	struct rdma rdma;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *source_mr, *sink_mr;
	struct buffers source, sink;
	struct ibv_ah **addresses;
	int ip_member;
	uint32_t attached; /* groups, from 0 */
	uint64_t chance;   /* state of the random choice of a group */
	/* Chosen one message ahead: what it costs to look into a large array is ours. */
	struct ibv_ah *next_address;
	unsigned int blocks, next_block, free_blocks;
	struct ibv_sge source_sge[SENDS_MAX];
	struct ibv_send_wr sends[SENDS_MAX];
	struct ibv_sge *sink_sge;
	struct ibv_recv_wr *receives;
	struct ibv_recv_wr *taken; /* to be posted again */
	unsigned int taken_count;
};

static void verbs_close(struct endpoint *e);

/* Forward groups: all but the one that leads back. */
static unsigned int group_count(const struct endpoint_config *c)
{
	return c->groups > 2 ? c->groups - 1 : 1;
}

static int create_queues(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = SENDS_MAX,
			 .max_recv_wr = c->depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (c->sleeps) {
		v->channel = ibv_create_comp_channel(v->rdma.context);
		if (!v->channel)
			return -errno;
	}
	v->send_cq = ibv_create_cq(v->rdma.context, SENDS_MAX, NULL, NULL, 0);
	v->recv_cq = ibv_create_cq(v->rdma.context, (int)c->depth, NULL, v->channel, 0);
	if (!v->send_cq || !v->recv_cq)
		return -errno;
	init.send_cq = v->send_cq;
	init.recv_cq = v->recv_cq;
	v->qp = ibv_create_qp(v->rdma.pd, &init);
	return v->qp ? rdma_start_ud(&v->rdma, v->qp) : -errno;
}

static int register_buffers(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;

	v->sink_sge = calloc(c->depth, sizeof(*v->sink_sge));
	v->receives = calloc(c->depth, sizeof(*v->receives));
	if (!v->sink_sge || !v->receives ||
	    buffers_init(&v->source, c->size, 0, v->blocks * c->batch) ||
	    buffers_init(&v->sink, GRH_BYTES + c->size, GRH_OFFSET, c->depth))
		return -ENOMEM;
	v->source_mr = ibv_reg_mr(v->rdma.pd, v->source.memory, buffers_bytes(&v->source),
				  IBV_ACCESS_LOCAL_WRITE);
	v->sink_mr = ibv_reg_mr(v->rdma.pd, v->sink.memory, buffers_bytes(&v->sink),
				IBV_ACCESS_LOCAL_WRITE);
	return v->source_mr && v->sink_mr ? 0 : -errno;
}

/* Requests are written once: a block of them is a list that ends signalled. */
static void prepare_sends(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;

	for (unsigned int i = 0; i < v->blocks * c->batch; i++) {
		struct ibv_send_wr *wr = &v->sends[i];
		bool last = (i + 1) % c->batch == 0;

		message_prepare(buffers_at(&v->source, i), c->size);
		v->source_sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)buffers_at(&v->source, i),
			.length = (uint32_t)c->size,
			.lkey = v->source_mr->lkey,
		};
		wr->sg_list = &v->source_sge[i];
		wr->num_sge = 1;
		wr->opcode = IBV_WR_SEND;
		wr->next = last ? NULL : wr + 1;
		wr->send_flags = last ? IBV_SEND_SIGNALED : 0;
		wr->wr.ud.ah = v->addresses[0];
		wr->wr.ud.remote_qpn = RDMA_MULTICAST_QPN;
		wr->wr.ud.remote_qkey = RDMA_QKEY;
	}
	v->free_blocks = v->blocks;
}

static int post_receives(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;
	struct ibv_recv_wr *bad;

	for (unsigned int i = 0; i < c->depth; i++) {
		v->sink_sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)buffers_at(&v->sink, i),
			.length = (uint32_t)(GRH_BYTES + c->size),
			.lkey = v->sink_mr->lkey,
		};
		v->receives[i].wr_id = i;
		v->receives[i].sg_list = &v->sink_sge[i];
		v->receives[i].num_sge = 1;
		v->receives[i].next = i + 1 < c->depth ? &v->receives[i + 1] : NULL;
	}
	return -ibv_post_recv(v->qp, v->receives, &bad);
}

static union ibv_gid heard_group(struct verbs_endpoint *v, uint32_t index)
{
	const struct endpoint_config *c = &v->endpoint.config;

	return rdma_group(&v->rdma, c->run, c->worker ? index : RDMA_GROUP_BACK);
}

static int attach_groups(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;
	uint32_t count = c->worker ? group_count(c) : 1;

	for (; v->attached < count; v->attached++) {
		union ibv_gid group = heard_group(v, v->attached);
		int error = ibv_attach_mcast(v->qp, &group, 0xc000);

		if (error)
			return -error;
		if (c->ip_join && !v->attached)
			v->ip_member = rdma_ip_join(&v->rdma, &group);
	}
	return 0;
}

static int create_addresses(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;
	uint32_t count = c->worker ? 1 : group_count(c);

	v->addresses = calloc(group_count(c), sizeof(*v->addresses));
	if (!v->addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		union ibv_gid group =
			rdma_group(&v->rdma, c->run, c->worker ? RDMA_GROUP_BACK : i);

		v->addresses[i] = rdma_address(&v->rdma, &group);
		if (!v->addresses[i])
			return -errno;
	}
	return 0;
}

static unsigned int mtu_bytes(const struct rdma *r)
{
	return 128u << r->port.active_mtu;
}

static struct ibv_ah *random_address(struct verbs_endpoint *v)
{
	v->chance ^= v->chance << 13;
	v->chance ^= v->chance >> 7;
	v->chance ^= v->chance << 17;
	return v->addresses[(v->chance >> 32) * group_count(&v->endpoint.config) >> 32];
}

static int open_steps(struct verbs_endpoint *v)
{
	const struct endpoint_config *c = &v->endpoint.config;
	int r = rdma_open_device(&v->rdma, c->device);

	if (r)
		return r;
	if (c->size > mtu_bytes(&v->rdma))
		return -EMSGSIZE;
	r = create_queues(v);
	if (!r)
		r = register_buffers(v);
	if (!r)
		r = create_addresses(v);
	if (r)
		return r;
	if (c->random_group && !c->worker)
		v->next_address = random_address(v);
	prepare_sends(v);
	r = post_receives(v);
	if (!r)
		r = attach_groups(v);
	if (!r && c->sleeps)
		r = -ibv_req_notify_cq(v->recv_cq, 0);
	return r;
}

static int verbs_open(const struct endpoint_config *c, struct endpoint **ret)
{
	struct verbs_endpoint *v;
	int r;

	if (c->batch > BUFFERS_POLL || c->depth <= TAKEN_MAX ||
	    group_count(c) > RDMA_GROUPS_MAX)
		return -EINVAL;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->endpoint.config = *c;
	v->endpoint.capacity = c->depth - TAKEN_MAX;
	v->ip_member = -1;
	v->chance = 0x9e3779b97f4a7c15u;
	v->blocks = SENDS_MAX / c->batch < BLOCKS_MAX ? SENDS_MAX / c->batch : BLOCKS_MAX;
	r = open_steps(v);
	if (r) {
		verbs_close(&v->endpoint);
		return r;
	}
	*ret = &v->endpoint;
	return 0;
}

/* A block may be written again when its last request has completed. */
static void reap_sends(struct verbs_endpoint *v)
{
	struct ibv_wc wc[BLOCKS_MAX];
	int n = ibv_poll_cq(v->send_cq, BLOCKS_MAX, wc);

	for (int i = 0; i < n; i++) {
		v->free_blocks++;
		if (wc[i].status != IBV_WC_SUCCESS)
			v->endpoint.errors++;
	}
}

static void verbs_send(struct endpoint *e, uint64_t word)
{
	struct verbs_endpoint *v = (struct verbs_endpoint *)e;
	unsigned int first = v->next_block * e->config.batch;
	struct ibv_send_wr *bad;

	while (!v->free_blocks)
		reap_sends(v);
	for (unsigned int i = 0; i < e->config.batch; i++)
		message_fill(buffers_at(&v->source, first + i), e->config.size, word + i);
	if (v->next_address)
		v->sends[first].wr.ud.ah = v->next_address;
	if (ibv_post_send(v->qp, &v->sends[first], &bad))
		v->endpoint.errors++;
	else
		v->free_blocks--;
	if (v->next_address)
		v->next_address = random_address(v);
	if (++v->next_block == v->blocks)
		v->next_block = 0;
}

static void post_again(struct verbs_endpoint *v)
{
	struct ibv_recv_wr *bad;

	if (v->taken && ibv_post_recv(v->qp, v->taken, &bad))
		v->endpoint.errors++;
	v->taken = NULL;
	v->taken_count = 0;
}

static void take(struct verbs_endpoint *v, const struct ibv_wc *wc, struct inbox *in)
{
	uint8_t *buffer = buffers_at(&v->sink, (unsigned int)wc->wr_id);

	if (wc->status == IBV_WC_SUCCESS)
		inbox_take(in, buffer + GRH_BYTES, wc->byte_len - GRH_BYTES);
	else
		v->endpoint.errors++;
	v->receives[wc->wr_id].next = v->taken;
	v->taken = &v->receives[wc->wr_id];
}

/* Buffers are given back in lists, at the latest when there is nothing else to do. */
static unsigned int verbs_receive(struct endpoint *e, struct inbox *in)
{
	struct verbs_endpoint *v = (struct verbs_endpoint *)e;
	struct ibv_wc wc[BUFFERS_POLL];
	int n = ibv_poll_cq(v->recv_cq, BUFFERS_POLL, wc);

	if (n <= 0) {
		e->errors += n < 0;
		post_again(v);
		return 0;
	}
	for (int i = 0; i < n; i++)
		take(v, &wc[i], in);
	v->taken_count += (unsigned int)n;
	if (v->taken_count >= TAKEN_MAX)
		post_again(v);
	return (unsigned int)n;
}

/* As the manual page has it: event, arm again, then look. */
static void verbs_wait(struct endpoint *e)
{
	struct verbs_endpoint *v = (struct verbs_endpoint *)e;
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(v->channel, &cq, &context))
		return;
	ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(cq, 0);
}

/* The same for a program whose loop sleeps in poll(2). */
static void verbs_poll_wait(struct endpoint *e)
{
	struct verbs_endpoint *v = (struct verbs_endpoint *)e;
	struct pollfd f = { .fd = v->channel->fd, .events = POLLIN };

	if (poll(&f, 1, -1) == 1)
		verbs_wait(e);
}

/* Polling a queue is transport_verbs; this one differs in how it sleeps. */
static int verbs_poll_open(const struct endpoint_config *c, struct endpoint **ret)
{
	return c->sleeps ? verbs_open(c, ret) : -EOPNOTSUPP;
}

static void destroy_addresses(struct verbs_endpoint *v)
{
	for (uint32_t i = 0; v->addresses && i < group_count(&v->endpoint.config); i++)
		if (v->addresses[i])
			ibv_destroy_ah(v->addresses[i]);
	free(v->addresses);
}

static void verbs_close(struct endpoint *e)
{
	struct verbs_endpoint *v = (struct verbs_endpoint *)e;

	while (v->attached) {
		union ibv_gid group = heard_group(v, --v->attached);

		ibv_detach_mcast(v->qp, &group, 0xc000);
	}
	if (v->ip_member >= 0)
		close(v->ip_member);
	if (v->qp)
		ibv_destroy_qp(v->qp);
	destroy_addresses(v);
	if (v->source_mr)
		ibv_dereg_mr(v->source_mr);
	if (v->sink_mr)
		ibv_dereg_mr(v->sink_mr);
	if (v->send_cq)
		ibv_destroy_cq(v->send_cq);
	if (v->recv_cq)
		ibv_destroy_cq(v->recv_cq);
	if (v->channel)
		ibv_destroy_comp_channel(v->channel);
	rdma_close_device(&v->rdma);
	buffers_fini(&v->source);
	buffers_fini(&v->sink);
	free(v->sink_sge);
	free(v->receives);
	free(v);
}

const struct transport transport_verbs = {
	.name = "verbs",
	.what = "UD multicast by libibverbs",
	.open = verbs_open,
	.send = verbs_send,
	.receive = verbs_receive,
	.wait = verbs_wait,
	.close = verbs_close,
};

const struct transport transport_verbs_poll = {
	.name = "verbs-poll",
	.what = "the same, asleep in poll(2) instead of ibv_get_cq_event",
	.open = verbs_poll_open,
	.send = verbs_send,
	.receive = verbs_receive,
	.wait = verbs_poll_wait,
	.close = verbs_close,
};
