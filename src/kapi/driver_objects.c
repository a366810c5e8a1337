// SPDX-License-Identifier: BSD-2-Clause
/*
 * Protection domains, the key to all memory, address handles, completion queues and
 * shared receive queues of the site's devices.
 */
#include "kapi/driver_priv.h"

/* All of memory but its first page, where nothing can be: an address of 0 is no base to
 * count from. */
#define MEMORY_BEGIN 4096ull

/* -- protection domains ------------------------------------------------------------- */

static int alloc_pd_here(struct ib_pd *ib)
{
	static u32 numbers; /* the loop's */
	struct drv_pd *pd = to_pd(ib);
	int r = driver_use(to_device(ib->device));

	if (r < 0)
		return r;
	pd->core = core_ib_alloc_user_pd(to_device(ib->device)->context);
	if (core_IS_ERR(pd->core))
		return core_PTR_ERR(pd->core);
	pd->number = ++numbers;
	return 0;
}
KAPI_ON_LOOP1(int, alloc_pd_here, struct ib_pd *)

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return on_loop_alloc_pd_here(pd);
}

static int dealloc_pd_here(struct ib_pd *ib)
{
	return core_ib_dealloc_pd_user(to_pd(ib)->core);
}
KAPI_ON_LOOP1(int, dealloc_pd_here, struct ib_pd *)

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return on_loop_dealloc_pd_here(pd);
}

/* -- memory ------------------------------------------------------------------------- */

static int get_dma_mr_here(struct drv_mr *mr, struct ib_pd *pd, int access)
{
	mr->core = core_ib_reg_user_mr(to_pd(pd)->core, MEMORY_BEGIN,
				       UINT64_MAX - MEMORY_BEGIN, MEMORY_BEGIN, access);
	return core_IS_ERR(mr->core) ? core_PTR_ERR(mr->core) : 0;
}
KAPI_ON_LOOP3(int, get_dma_mr_here, struct drv_mr *, struct ib_pd *, int)

static int dereg_mr_here(struct drv_mr *mr)
{
	return core_ib_dereg_mr(mr->core);
}
KAPI_ON_LOOP1(int, dereg_mr_here, struct drv_mr *)

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	struct drv_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int r;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	r = on_loop_get_dma_mr_here(mr, pd, access);
	if (r < 0)
		goto free_mr;
	mr->ib.lkey = mr->core->lkey;
	mr->ib.rkey = mr->core->rkey;
	r = engine_mr_add(to_device(pd->device)->engine, to_pd(pd)->number, mr->ib.lkey,
			  (void *)MEMORY_BEGIN, MEMORY_BEGIN, UINT64_MAX - MEMORY_BEGIN,
			  access);
	if (r < 0)
		goto dereg;
	return &mr->ib;

dereg:
	on_loop_dereg_mr_here(mr);
free_mr:
	kfree(mr);
	return ERR_PTR(r);
}

static int dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct drv_mr *mr = container_of(ib, struct drv_mr, ib);
	struct engine *engine = to_device(ib->device)->engine;
	u32 lkey = ib->lkey;
	int r;

	r = on_loop_dereg_mr_here(mr);
	if (r < 0)
		return r;
	engine_mr_remove(engine, lkey);
	kfree(mr);
	return 0;
}

/* -- address handles ---------------------------------------------------------------- */

static int open_ah(struct ib_ah *ib, const struct rdma_ah_attr *attr,
		   struct engine_ah **ret)
{
	struct drv_device *d = to_device(ib->device);
	struct ibv_ah_attr a = {
		.dlid = rdma_ah_get_dlid(attr),
		.sl = attr->sl,
		.src_path_bits = rdma_ah_get_path_bits(attr),
		.static_rate = attr->static_rate,
		.is_global = attr->ah_flags & IB_AH_GRH,
		.port_num = attr->port_num,
	};

	memcpy(&a.grh.dgid, &attr->grh.dgid, sizeof(a.grh.dgid));
	a.grh.flow_label = attr->grh.flow_label;
	a.grh.sgid_index = attr->grh.sgid_index;
	a.grh.hop_limit = attr->grh.hop_limit;
	a.grh.traffic_class = attr->grh.traffic_class;
	return engine_ah_create(d->engine, to_pd(ib->pd)->number,
				d->first_port + attr->port_num - 1, &a, ret);
}

static struct drv_ah *to_ah(struct ib_ah *ib)
{
	return container_of(ib, struct drv_ah, ib);
}

static int create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	struct drv_ah *ah = to_ah(ib);

	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = NULL;
	return open_ah(ib, init->ah_attr, &ah->ah.engine);
}

static int modify_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	struct drv_ah *ah = to_ah(ib);
	struct engine_ah *engine;
	int r = open_ah(ib, attr, &engine);

	if (r < 0)
		return r;
	engine_ah_destroy(ah->ah.engine);
	ah->ah.engine = engine;
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
	return 0;
}

static int query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = to_ah(ib)->attr;
	return 0;
}

static int destroy_ah(struct ib_ah *ib, u32 flags)
{
	engine_ah_destroy(to_ah(ib)->ah.engine);
	return 0;
}

/* -- completion queues -------------------------------------------------------------- */

static int create_cq_here(struct ib_cq *ib, const struct ib_cq_init_attr *attr)
{
	const struct core_ib_cq_init_attr a = {
		.cqe = attr->cqe,
		.comp_vector = attr->comp_vector,
		.flags = attr->flags,
	};
	struct drv_cq *cq = to_cq(ib);
	int r = driver_use(to_device(ib->device));

	if (r < 0)
		return r;
	cq->core = core_ib_create_user_cq(to_device(ib->device)->context, cq, &a);
	return core_IS_ERR(cq->core) ? core_PTR_ERR(cq->core) : 0;
}
KAPI_ON_LOOP2(int, create_cq_here, struct ib_cq *, const struct ib_cq_init_attr *)

static int destroy_cq_here(struct ib_cq *ib)
{
	return core_ib_destroy_cq_user(to_cq(ib)->core);
}
KAPI_ON_LOOP1(int, destroy_cq_here, struct ib_cq *)

static int create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs)
{
	struct drv_cq *cq = to_cq(ib);
	int r;

	r = on_loop_create_cq_here(ib, attr);
	if (r < 0)
		return r;
	ib->cqe = cq->core->cqe;
	mutex_init(&cq->held_lock);
	r = engine_cq_create(to_device(ib->device)->engine, ib->cqe, cq, &cq->engine);
	if (r < 0)
		on_loop_destroy_cq_here(ib);
	return r;
}

static int destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct drv_cq *cq = to_cq(ib);
	int r;

	r = on_loop_destroy_cq_here(ib);
	if (r < 0)
		return r;
	engine_cq_destroy(cq->engine);
	mutex_destroy(&cq->held_lock);
	return 0;
}

static int resize_cq_here(struct ib_cq *ib, int cqe)
{
	return core_ib_resize_cq(to_cq(ib)->core, cqe);
}
KAPI_ON_LOOP2(int, resize_cq_here, struct ib_cq *, int)

static int resize_cq(struct ib_cq *ib, int cqe, struct ib_udata *udata)
{
	int was = ib->cqe, r;

	if (cqe <= 0)
		return -EINVAL;
	r = on_loop_resize_cq_here(ib, cqe);
	if (r < 0)
		return r;
	r = engine_cq_resize(to_cq(ib)->engine, to_cq(ib)->core->cqe);
	if (r < 0) {
		on_loop_resize_cq_here(ib, was);
		return r;
	}
	ib->cqe = to_cq(ib)->core->cqe;
	return 0;
}

/* -- shared receive queues ---------------------------------------------------------- */

static int create_srq_here(struct ib_srq *ib, struct ib_srq_init_attr *attr)
{
	struct drv_srq *srq = to_srq(ib);
	struct core_ib_srq_init_attr a = {
		.srq_context = srq,
		.attr = { attr->attr.max_wr, attr->attr.max_sge, attr->attr.srq_limit },
		.srq_type = (enum core_ib_srq_type)attr->srq_type,
	};

	srq->core = core_ib_create_srq(to_pd(ib->pd)->core, &a);
	if (core_IS_ERR(srq->core))
		return core_PTR_ERR(srq->core);
	attr->attr.max_wr = a.attr.max_wr;
	attr->attr.max_sge = a.attr.max_sge;
	return 0;
}
KAPI_ON_LOOP2(int, create_srq_here, struct ib_srq *, struct ib_srq_init_attr *)

static int destroy_srq_here(struct ib_srq *ib)
{
	return core_ib_destroy_srq_user(to_srq(ib)->core);
}
KAPI_ON_LOOP1(int, destroy_srq_here, struct ib_srq *)

static int create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr,
		      struct ib_udata *udata)
{
	int r;

	r = on_loop_create_srq_here(ib, attr);
	if (r < 0)
		return r;
	r = engine_srq_create(to_device(ib->device)->engine, NULL, to_pd(ib->pd)->number,
			      attr->attr.max_wr, attr->attr.max_sge, to_srq(ib),
			      &to_srq(ib)->engine);
	if (r < 0)
		on_loop_destroy_srq_here(ib);
	return r;
}

static int modify_srq_here(struct ib_srq *ib, struct ib_srq_attr *attr, int mask)
{
	struct core_ib_srq_attr a = { attr->max_wr, attr->max_sge, attr->srq_limit };

	return core_ib_modify_srq(to_srq(ib)->core, &a, (enum core_ib_srq_attr_mask)mask);
}
KAPI_ON_LOOP3(int, modify_srq_here, struct ib_srq *, struct ib_srq_attr *, int)

static int modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	const struct ibv_srq_attr a = {
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.srq_limit = attr->srq_limit,
	};
	int r;

	r = on_loop_modify_srq_here(ib, attr, mask);
	return r < 0 ? r : engine_srq_modify(to_srq(ib)->engine, mask, &a);
}

static int query_srq_here(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct core_ib_srq_attr a = { 0 };
	int r = core_ib_query_srq(to_srq(ib)->core, &a);

	*attr = (struct ib_srq_attr){ a.max_wr, a.max_sge, a.srq_limit };
	return r;
}
KAPI_ON_LOOP2(int, query_srq_here, struct ib_srq *, struct ib_srq_attr *)

/* Whether the limit was reached the engine alone knows. */
static int query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	int r = on_loop_query_srq_here(ib, attr);

	attr->srq_limit = engine_srq_limit(to_srq(ib)->engine);
	return r;
}

static int destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	int r = on_loop_destroy_srq_here(ib);

	if (r == 0)
		engine_srq_destroy(to_srq(ib)->engine);
	return r;
}

const struct ib_device_ops driver_object_ops = {
	.size_ib_pd = sizeof(struct drv_pd),
	.size_ib_ah = sizeof(struct drv_ah),
	.size_ib_cq = sizeof(struct drv_cq),
	.size_ib_srq = sizeof(struct drv_srq),
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.get_dma_mr = get_dma_mr,
	.dereg_mr = dereg_mr,
	.create_ah = create_ah,
	.modify_ah = modify_ah,
	.query_ah = query_ah,
	.destroy_ah = destroy_ah,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.resize_cq = resize_cq,
	.create_srq = create_srq,
	.modify_srq = modify_srq,
	.query_srq = query_srq,
	.destroy_srq = destroy_srq,
};
