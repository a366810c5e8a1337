// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Parent domains under UD traffic: rings lie where the program's allocators say, every
 * piece is given back once and in time; who stands on whom; thread domains.
 */
#include "client.h"

#define GRH_BYTES 40
#define BYTES     64
#define DEPTH     32

/* What the allocators were asked for; the parent domain's context. */
struct giver {
	struct ibv_pd *pd; /* as they were told */
	void *answer;      /* instead of memory; &nothing: null */
	unsigned int given, back;
	size_t bytes;
};

static char nothing;

static void *give(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		  uint64_t resource_type)
{
	struct giver *g = pd_context;
	void *ptr = NULL;

	CHECK(!(alignment & (alignment - 1)) && size && resource_type);
	g->pd = pd;
	if (g->answer)
		return g->answer == &nothing ? NULL : g->answer;
	CHECK(!posix_memalign(&ptr, alignment, size));
	memset(ptr, 0xa5, size); /* nobody may count on zeroes */
	g->given++;
	g->bytes += size;
	return ptr;
}

static void take_back(struct ibv_pd *pd, void *pd_context, void *ptr,
		      uint64_t resource_type)
{
	struct giver *g = pd_context;

	CHECK(ptr && pd == g->pd && resource_type);
	g->back++;
	free(ptr);
}

struct world {
	struct ibv_context *context;
	struct ibv_pd *pd, *parent;
	struct giver giver;
};

static struct ibv_parent_domain_init_attr with_allocators(struct world *w)
{
	return (struct ibv_parent_domain_init_attr){
		.pd = w->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = give,
		.free = take_back,
		.pd_context = &w->giver,
	};
}

static void world_open(struct world *w)
{
	struct ibv_parent_domain_init_attr attr;

	memset(w, 0, sizeof(*w));
	w->context = client_open();
	CHECK(w->pd = ibv_alloc_pd(w->context));
	attr = with_allocators(w);
	CHECK(w->parent = ibv_alloc_parent_domain(w->context, &attr));
	CHECK(w->parent != w->pd && w->parent->context == w->context);
}

static void world_close(struct world *w)
{
	CHECK(!ibv_dealloc_pd(w->parent));
	CHECK(!ibv_dealloc_pd(w->pd));
	CHECK(!ibv_close_device(w->context));
	CHECK(w->giver.given == w->giver.back);
}

static struct ibv_cq *create_cq(struct world *w, struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 2 * DEPTH,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = parent };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w->context, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static struct ibv_srq *create_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

/* -- traffic ------------------------------------------------------------------------ */

static union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 5, 6, 1 } };

/* A queue pair's memory, message and receive. */
struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	char buffer[2 * BYTES + GRH_BYTES];
};

static void post_pair(struct end *e)
{
	struct ibv_sge to = { .addr = (uintptr_t)e->buffer + BYTES,
			      .length = BYTES + GRH_BYTES,
			      .lkey = e->mr->lkey };
	struct ibv_sge from = { .addr = (uintptr_t)e->buffer,
				.length = BYTES,
				.lkey = e->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND },
			   *bad_send;

	send.wr.ud.ah = e->ah;
	send.wr.ud.remote_qpn = 0xffffff;
	send.wr.ud.remote_qkey = CLIENT_QKEY;
	if (e->srq)
		CHECK(!ibv_post_srq_recv(e->srq, &recv, &bad_recv));
	else
		CHECK(!ibv_post_recv(e->qp, &recv, &bad_recv));
	CHECK(!ibv_post_send(e->qp, &send, &bad_send));
}

static void exchange(struct end *e, uint32_t number)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;
	unsigned int seen = 0;
	struct ibv_wc wc;

	memset(e->buffer, (int)number, BYTES);
	post_pair(e);
	while (seen != 3) {
		int n = ibv_poll_cq(e->cq, 1, &wc);

		CHECK(n >= 0 && client_now_ms() < end);
		if (!n)
			continue;
		CHECK(wc.status == IBV_WC_SUCCESS && !(seen & wc.wr_id));
		seen |= (unsigned int)wc.wr_id;
	}
	CHECK(!memcmp(e->buffer, e->buffer + BYTES + GRH_BYTES, BYTES));
}

static void end_open(struct end *e, struct world *w, bool shared)
{
	memset(e, 0, sizeof(*e));
	CHECK(e->cq = create_cq(w, w->parent));
	if (shared)
		CHECK(e->srq = create_srq(w->parent));
	CHECK(e->qp = create_qp(w->parent, e->cq, e->srq));
	CHECK(e->qp->pd == w->parent);
	CHECK(e->mr = ibv_reg_mr(w->parent, e->buffer, sizeof(e->buffer),
				 IBV_ACCESS_LOCAL_WRITE));
	e->ah = client_ah(w->parent, &group);
	client_to_state(e->qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!client_attach(e->qp, &group));
}

static void end_close(struct end *e)
{
	CHECK(!client_detach(e->qp, &group));
	CHECK(!ibv_destroy_qp(e->qp));
	if (e->srq)
		CHECK(!ibv_destroy_srq(e->srq));
	CHECK(!ibv_destroy_cq(e->cq));
	CHECK(!ibv_destroy_ah(e->ah));
	CHECK(!ibv_dereg_mr(e->mr));
}

static void rings_lie_where_the_program_says(void)
{
	struct world w;
	struct end e;

	world_open(&w);
	for (int shared = 0; shared < 2; shared++) {
		unsigned int before = w.giver.given;

		end_open(&e, &w, shared);
		CHECK(w.giver.given == before + 2 && w.giver.pd == w.parent);
		CHECK(w.giver.bytes);
		for (uint32_t i = 0; i < 10 * DEPTH; i++)
			exchange(&e, i);
		CHECK(w.giver.given == before + 2 && w.giver.back == before);
		end_close(&e);
		CHECK(w.giver.back == before + 2);
	}
	world_close(&w);
}

/* Keys and handles are the protection domain's, by whichever name it was called. */
static void both_names_are_one_protection_domain(void)
{
	struct ibv_mr *mr, *own;
	struct world w;
	struct end e;

	world_open(&w);
	end_open(&e, &w, false);
	own = e.mr;
	CHECK(mr = ibv_reg_mr(w.pd, e.buffer, sizeof(e.buffer), IBV_ACCESS_LOCAL_WRITE));
	e.mr = mr;
	exchange(&e, 1);
	e.mr = own;
	CHECK(!ibv_dereg_mr(mr));
	end_close(&e);
	world_close(&w);
}

static void a_resize_asks_again(void)
{
	struct ibv_srq_attr attr = { .max_wr = 2 * DEPTH };
	struct world w;
	struct end e;

	world_open(&w);
	end_open(&e, &w, true);
	CHECK(!ibv_resize_cq(e.cq, 4 * DEPTH));
	CHECK(w.giver.given == 3 && w.giver.back == 1);
	CHECK(!ibv_modify_srq(e.srq, &attr, IBV_SRQ_MAX_WR));
	CHECK(w.giver.given == 4 && w.giver.back == 2);
	exchange(&e, 7);
	w.giver.answer = &nothing;
	CHECK(ibv_resize_cq(e.cq, 8 * DEPTH) == ENOMEM);
	attr.max_wr = 4 * DEPTH;
	CHECK(ibv_modify_srq(e.srq, &attr, IBV_SRQ_MAX_WR) == ENOMEM);
	CHECK(!ibv_query_srq(e.srq, &attr) && attr.max_wr == 2 * DEPTH);
	exchange(&e, 8);
	end_close(&e);
	world_close(&w);
}

static void an_allocator_may_decline_or_fail(void)
{
	struct world w;
	struct end e;
	struct ibv_cq *cq;

	world_open(&w);
	w.giver.answer = IBV_ALLOCATOR_USE_DEFAULT;
	end_open(&e, &w, true);
	exchange(&e, 1);
	end_close(&e);
	CHECK(!w.giver.given && !w.giver.back);
	w.giver.answer = NULL;
	CHECK(cq = create_cq(&w, w.parent));
	w.giver.answer = &nothing;
	CHECK(!create_cq(&w, w.parent) && errno == ENOMEM);
	CHECK(!create_srq(w.parent) && errno == ENOMEM);
	CHECK(!create_qp(w.parent, cq, NULL) && errno == ENOMEM);
	CHECK(!ibv_destroy_cq(cq));
	world_close(&w);
}

static void without_allocators_it_is_a_name(void)
{
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct world w;
	struct end e;
	struct ibv_pd *parent;

	world_open(&w);
	attr.pd = w.pd;
	CHECK(parent = ibv_alloc_parent_domain(w.context, &attr));
	CHECK(!ibv_dealloc_pd(w.parent));
	w.parent = parent;
	end_open(&e, &w, false);
	exchange(&e, 1);
	end_close(&e);
	world_close(&w);
}

/* -- who stands on whom ------------------------------------------------------------- */

static void who_is_used_is_busy(void)
{
	struct world w;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;

	world_open(&w);
	CHECK(ibv_dealloc_pd(w.pd) == EBUSY);
	CHECK(cq = create_cq(&w, w.parent));
	CHECK(ibv_dealloc_pd(w.parent) == EBUSY);
	CHECK(srq = create_srq(w.parent));
	CHECK(qp = create_qp(w.parent, cq, srq));
	CHECK(ibv_destroy_srq(srq) == EBUSY);
	CHECK(ibv_destroy_cq(cq) == EBUSY);
	CHECK(!ibv_destroy_qp(qp));
	CHECK(!ibv_destroy_cq(cq));
	CHECK(ibv_dealloc_pd(w.parent) == EBUSY);
	CHECK(!ibv_destroy_srq(srq));
	world_close(&w);
}

static void thread_domains_outlive_their_parent_domains(void)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr;
	struct ibv_pd *parent;
	struct ibv_td *td;
	struct world w;

	world_open(&w);
	CHECK(td = ibv_alloc_td(w.context, &td_attr));
	CHECK(td->context == w.context);
	attr = with_allocators(&w);
	attr.td = td;
	CHECK(parent = ibv_alloc_parent_domain(w.context, &attr));
	CHECK(ibv_dealloc_td(td) == EBUSY);
	CHECK(!ibv_dealloc_pd(parent));
	CHECK(!ibv_dealloc_td(td));
	td_attr.comp_mask = 1;
	CHECK(!ibv_alloc_td(w.context, &td_attr) && errno == EINVAL);
	world_close(&w);
}

static void refuse(struct world *w, struct ibv_parent_domain_init_attr attr)
{
	errno = 0;
	CHECK(!ibv_alloc_parent_domain(w->context, &attr) && errno == EINVAL);
}

static void wrong_attributes_are_refused(void)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr;
	struct world w, other;

	world_open(&w);
	world_open(&other);
	attr = with_allocators(&w);
	attr.comp_mask |= 1u << 2;
	refuse(&w, attr);
	attr = with_allocators(&w);
	attr.pd = NULL;
	refuse(&w, attr);
	attr.pd = w.parent; /* one stands on a protection domain */
	refuse(&w, attr);
	attr.pd = other.pd;
	refuse(&w, attr);
	attr = with_allocators(&w);
	attr.alloc = NULL;
	refuse(&w, attr);
	attr = with_allocators(&w);
	attr.free = NULL;
	refuse(&w, attr);
	attr = with_allocators(&w);
	CHECK(attr.td = ibv_alloc_td(other.context, &td_attr));
	refuse(&w, attr);
	CHECK(!ibv_dealloc_td(attr.td));
	CHECK(!create_cq(&w, w.pd) && errno == EINVAL);
	CHECK(!create_cq(&w, NULL) && errno == EINVAL);
	CHECK(!create_cq(&w, other.parent) && errno == EINVAL);
	world_close(&other);
	world_close(&w);
}

/* What is left of a closed device is memory; the allocators hear no more of it. */
static void a_closed_device_calls_nobody(void)
{
	struct world w;
	struct end e;

	world_open(&w);
	end_open(&e, &w, true);
	CHECK(!ibv_close_device(w.context));
	CHECK(w.giver.given == 2 && !w.giver.back);
}

int main(void)
{
	rings_lie_where_the_program_says();
	both_names_are_one_protection_domain();
	a_resize_asks_again();
	an_allocator_may_decline_or_fail();
	without_allocators_it_is_a_name();
	who_is_used_is_busy();
	thread_domains_outlive_their_parent_domains();
	wrong_attributes_are_refused();
	a_closed_device_calls_nobody();
	return 0;
}
