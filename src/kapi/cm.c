// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's rdma_cm on the core's (spec/kernel 3): ids and their events. Events come
 * from the loop.
 */
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>

#include "core_view/core/cm/cma.h"
#include "kapi/calls.h"
#include "kapi/driver_priv.h"

/* An id. Freed by rdma_destroy_id, or when its handler returns non-zero. */
struct cm_id {
	struct rdma_cm_id id;
	struct cma_id *core;
	struct sa_path_rec path;
	bool calling; /* its handler runs */
	bool doomed;  /* destroyed by that handler */
};

static struct cm_id *to_cm(struct rdma_cm_id *id)
{
	return container_of(id, struct cm_id, id);
}

/* -- what the core says of an id ---------------------------------------------------- */

static void fill_path(struct cm_id *c, const struct cma_route *route)
{
	struct sa_path_rec *p = &c->path;

	memset(p, 0, sizeof(*p));
	memcpy(&p->dgid, &route->dgid, sizeof(p->dgid));
	memcpy(&p->sgid, &route->sgid, sizeof(p->sgid));
	p->pkey = cpu_to_be16(route->pkey);
	p->reversible = 1;
	p->numb_path = 1;
	p->mtu_selector = IB_SA_EQ;
	p->mtu = route->mtu;
	p->rate_selector = IB_SA_EQ;
	p->rate = route->rate;
	p->hop_limit = route->hop_limit;
	p->rec_type = rdma_protocol_ib(c->id.device, c->id.port_num)
			      ? SA_PATH_REC_TYPE_IB
			      : SA_PATH_REC_TYPE_ROCE_V2;
	c->id.route.path_rec = p;
	c->id.route.num_pri_alt_paths = route->num_paths;
}

/* What callers look at in the id itself. On the loop. */
static void follow(struct cm_id *c)
{
	struct cma_route route;

	cma_query_route(c->core, &route);
	c->id.device = device_of_core(route.device);
	c->id.port_num = route.port_num;
	c->id.route.addr.src_addr = route.src;
	c->id.route.addr.dst_addr = route.dst;
	if (c->id.device && route.num_paths)
		fill_path(c, &route);
}

static void destroy_here(struct cm_id *c)
{
	cma_id_destroy(c->core);
	kfree(c);
}

static void fill_ud(struct cm_id *c, const struct cma_event *from,
		    struct rdma_cm_event *to)
{
	const struct ib_gid_attr *sgid;
	struct rdma_ud_param *ud = &to->param.ud;

	ud->private_data = from->context;
	ud->qp_num = from->qp_num;
	ud->qkey = from->qkey;
	if (from->event != CMA_EVENT_MULTICAST_JOIN || !c->id.device)
		return;
	driver_ah_attr_from_core(&from->ah,
				 rdma_ah_find_type(c->id.device, from->ah.port_num),
				 &ud->ah_attr);
	sgid = rdma_get_gid_attr(c->id.device, from->ah.port_num,
				 from->ah.grh.sgid_index);
	if (!IS_ERR(sgid))
		ud->ah_attr.grh.sgid_attr = sgid;
}

static bool is_multicast(const struct cma_event *event)
{
	return event->event == CMA_EVENT_MULTICAST_JOIN ||
	       event->event == CMA_EVENT_MULTICAST_ERROR;
}

static void happened(struct cma_id *core, const struct cma_event *event)
{
	struct cm_id *c = cma_id_context(core);
	struct rdma_cm_event e = {
		.event = (enum rdma_cm_event_type)event->event,
		.status = event->status,
	};
	int r;

	follow(c);
	if (is_multicast(event))
		fill_ud(c, event, &e);
	c->calling = true;
	r = c->id.event_handler(&c->id, &e);
	c->calling = false;
	if (is_multicast(event))
		rdma_destroy_ah_attr(&e.param.ud.ah_attr);
	/* Spec/kernel 3.7: for multicast it must be 0. */
	if (is_multicast(event) && WARN_ON_ONCE(r))
		r = 0;
	if (r || c->doomed)
		destroy_here(c);
}

/* -- ids ---------------------------------------------------------------------------- */

static int create_here(struct cm_id *c, unsigned int node)
{
	const struct kapi_host *host = kapi_host();
	const struct cma_id_config config = {
		.ps = (enum cma_port_space)c->id.ps,
		.qp_type = (enum core_ib_qp_type)c->id.qp_type,
		.privileged = true,
		.event = happened,
		.context = c,
	};
	struct cma *cma = host && node < host->nodes ? host->cma(host->arg, node) : NULL;

	return cma ? cma_id_create(cma, &config, &c->core) : -ENODEV;
}
KAPI_ON_LOOP2(int, create_here, struct cm_id *, unsigned int)

struct rdma_cm_id *__rdma_create_kernel_id(struct net *net,
					   rdma_cm_event_handler event_handler,
					   void *context, enum rdma_ucm_port_space ps,
					   enum ib_qp_type qp_type, const char *caller)
{
	struct cm_id *c;
	int r = kapi_host_need();

	if (r < 0)
		return ERR_PTR(r);
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->id.context = context;
	c->id.event_handler = event_handler;
	c->id.ps = ps;
	c->id.qp_type = qp_type;
	c->id.route.addr.dev_addr.net = net;
	r = on_loop_create_here(c, net ? net->node : 0);
	if (r < 0) {
		kfree(c);
		return ERR_PTR(r);
	}
	return &c->id;
}

static int destroy_or_doom(struct cm_id *c)
{
	if (!c->calling) {
		destroy_here(c);
		return 0;
	}
	kapi_report("rdma_destroy_id from the id's own event");
	c->doomed = true;
	return 0;
}
KAPI_ON_LOOP1(int, destroy_or_doom, struct cm_id *)

void rdma_destroy_id(struct rdma_cm_id *id)
{
	on_loop_destroy_or_doom(to_cm(id));
}

static int bind_here(struct cm_id *c, struct sockaddr *addr)
{
	int r = cma_bind_addr(c->core, addr);

	follow(c);
	return r;
}
KAPI_ON_LOOP2(int, bind_here, struct cm_id *, struct sockaddr *)

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return on_loop_bind_here(to_cm(id), addr);
}

static int resolve_addr_here(struct cm_id *c, struct sockaddr *src,
			     const struct sockaddr *dst, unsigned int timeout_ms)
{
	int r = cma_resolve_addr(c->core, src, dst, timeout_ms);

	follow(c);
	return r;
}
KAPI_ON_LOOP4(int, resolve_addr_here, struct cm_id *, struct sockaddr *,
	      const struct sockaddr *, unsigned int)

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
		      const struct sockaddr *dst_addr, unsigned long timeout_ms)
{
	return on_loop_resolve_addr_here(to_cm(id), src_addr, dst_addr,
					 min(timeout_ms, (unsigned long)UINT_MAX));
}

static int resolve_route_here(struct cm_id *c, unsigned int timeout_ms)
{
	return cma_resolve_route(c->core, timeout_ms);
}
KAPI_ON_LOOP2(int, resolve_route_here, struct cm_id *, unsigned int)

int rdma_resolve_route(struct rdma_cm_id *id, unsigned long timeout_ms)
{
	return on_loop_resolve_route_here(to_cm(id),
					  min(timeout_ms, (unsigned long)UINT_MAX));
}

/* -- queue pairs -------------------------------------------------------------------- */

struct wanted {
	struct core_ib_qp_attr attr;
	int mask;
};

static int init_attr_here(struct cm_id *c, struct wanted *w)
{
	return cma_init_qp_attr(c->core, &w->attr, &w->mask);
}
KAPI_ON_LOOP2(int, init_attr_here, struct cm_id *, struct wanted *)

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ib_qp_attr *attr, int *mask)
{
	struct wanted w = { .mask = 0 };
	int r;

	w.attr.qp_state = (enum core_ib_qp_state)attr->qp_state;
	r = on_loop_init_attr_here(to_cm(id), &w);
	if (r < 0)
		return r;
	*mask = w.mask;
	attr->pkey_index = w.attr.pkey_index;
	attr->port_num = w.attr.port_num;
	attr->qkey = w.attr.qkey;
	attr->sq_psn = w.attr.sq_psn;
	attr->rq_psn = w.attr.rq_psn;
	attr->qp_access_flags = w.attr.qp_access_flags;
	return 0;
}

static int modify_to(struct rdma_cm_id *id, struct ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = IB_QP_STATE, r = 0;

	if (state == IB_QPS_INIT)
		r = rdma_init_qp_attr(id, &attr, &mask);
	if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN;
	return r < 0 ? r : ib_modify_qp(qp, &attr, mask);
}

static int prepare(struct rdma_cm_id *id, struct ib_qp *qp)
{
	int r = modify_to(id, qp, IB_QPS_INIT);

	if (r < 0 || id->qp_type != IB_QPT_UD)
		return r;
	r = modify_to(id, qp, IB_QPS_RTR);
	return r < 0 ? r : modify_to(id, qp, IB_QPS_RTS);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ib_pd *pd,
		   struct ib_qp_init_attr *qp_init_attr)
{
	struct ib_qp *qp;
	int r;

	if (id->device != pd->device)
		return -EINVAL;
	qp_init_attr->port_num = id->port_num;
	qp = ib_create_qp(pd, qp_init_attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	r = prepare(id, qp);
	if (r < 0) {
		ib_destroy_qp(qp);
		return r;
	}
	id->qp = qp;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	int r = id->qp ? ib_destroy_qp(id->qp) : 0;

	WARN(r, "destroying an id's queue pair failed: %d\n", r);
	id->qp = NULL;
}

/* -- connections: none -------------------------------------------------------------- */

static int listen_here(struct cm_id *c, int backlog)
{
	return cma_listen(c->core, backlog);
}
KAPI_ON_LOOP2(int, listen_here, struct cm_id *, int)

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	return on_loop_listen_here(to_cm(id), backlog);
}

static int state_here(struct cm_id *c)
{
	return cma_id_state(c->core);
}
KAPI_ON_LOOP1(int, state_here, struct cm_id *)

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	if (on_loop_state_here(to_cm(id)) != CMA_ROUTE_RESOLVED)
		return -EINVAL;
	return -EOPNOTSUPP;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return -EINVAL;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	return -EINVAL;
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data, u8 private_data_len,
		u8 reason)
{
	return -EINVAL;
}

/* -- groups ------------------------------------------------------------------------- */

static int join_here(struct cm_id *c, struct sockaddr *addr, u8 join_state, void *context)
{
	struct cma_multicast *membership;

	return cma_join_multicast(c->core, addr, join_state, context, &membership);
}
KAPI_ON_LOOP4(int, join_here, struct cm_id *, struct sockaddr *, u8, void *)

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, u8 join_state,
			void *context)
{
	/* Spec/kernel 3.1: queue pairs of the kernel are its owner's to attach. */
	if (WARN_ON(id->qp))
		return -EINVAL;
	return on_loop_join_here(to_cm(id), addr, join_state, context);
}

static int leave_here(struct cm_id *c, struct sockaddr *addr)
{
	cma_leave_multicast(c->core, addr);
	return 0;
}
KAPI_ON_LOOP2(int, leave_here, struct cm_id *, struct sockaddr *)

void rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	on_loop_leave_here(to_cm(id), addr);
}

/* -- options ------------------------------------------------------------------------ */

static int set_tos_here(struct cm_id *c, int tos)
{
	cma_set_service_type(c->core, tos);
	return 0;
}
KAPI_ON_LOOP2(int, set_tos_here, struct cm_id *, int)

void rdma_set_service_type(struct rdma_cm_id *id, int tos)
{
	on_loop_set_tos_here(to_cm(id), tos);
}

static int set_reuse_here(struct cm_id *c, int reuse)
{
	return cma_set_reuseaddr(c->core, reuse);
}
KAPI_ON_LOOP2(int, set_reuse_here, struct cm_id *, int)

int rdma_set_reuseaddr(struct rdma_cm_id *id, int reuse)
{
	return on_loop_set_reuse_here(to_cm(id), reuse);
}

static int set_afonly_here(struct cm_id *c, int afonly)
{
	return cma_set_afonly(c->core, afonly);
}
KAPI_ON_LOOP2(int, set_afonly_here, struct cm_id *, int)

int rdma_set_afonly(struct rdma_cm_id *id, int afonly)
{
	return on_loop_set_afonly_here(to_cm(id), afonly);
}

static int set_timeout_here(struct cm_id *c, u8 timeout)
{
	return cma_set_ack_timeout(c->core, timeout);
}
KAPI_ON_LOOP2(int, set_timeout_here, struct cm_id *, u8)

int rdma_set_ack_timeout(struct rdma_cm_id *id, u8 timeout)
{
	return on_loop_set_timeout_here(to_cm(id), timeout);
}
