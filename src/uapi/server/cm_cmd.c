/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of rdma_cm, ops 64 to 74: what ucma is to Linux (spec/kernel 3.8).
 *
 * A node has one cma, made with its first user and gone with its last: a client, or
 * somebody inside the daemon (uapi_server_cm_get). A client has ids, an id has memberships,
 * and both have handles. Addresses are checked here, so that the core only sees such as have
 * the length of their family.
 */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "core/addr/sockaddr.h"
#include "core/cm/cma.h"
#include "uapi/server/server_priv.h"

/*
 * The cma of a node, shared by all of the node. Events wait in it until the zero
 * timer runs.
 */
struct cm_node {
	struct list link;
	struct ib_node *node;
	struct cma *cma;
	struct loop_timer *timer;
	unsigned int users;
};

/* An id of a client. Destroyed by its command or with the client. */
struct cm_id {
	struct uapi_client *client;
	struct cma_id *cma_id;
	struct list joins; /* struct cm_join */
	uint64_t uid;
	uint32_t handle;
};

/* A membership; goes by its command or with its id. */
struct cm_join {
	struct cm_id *id;
	struct cma_multicast *multicast;
	struct list link;
	uint64_t uid;
	uint32_t handle;
};

/* Loop's thread only. */
static struct list cm_nodes = LIST_INIT(cm_nodes);

/* -- the node's cma ----------------------------------------------------------------- */

static void schedule_events(void *arg)
{
	struct cm_node *n = arg;

	loop_timer_arm(n->timer, 0);
}

static void deliver_events(void *arg)
{
	struct cm_node *n = arg;

	cma_run(n->cma);
}

static int create_node(const struct uapi_server_config *site, struct ib_node *node,
		       struct cm_node **ret)
{
	struct cm_node *n = calloc(1, sizeof(*n));
	struct cma_config config = {
		.node = node,
		.host = &addr_linux_ops,
		.ipoib = site->ops->ipoib(site->arg, node),
		.schedule = schedule_events,
		.arg = n,
		.ipv6_multicast = site->ipv6_multicast,
	};
	int r;

	if (!n)
		return -ENOMEM;
	n->node = node;
	if (site->ops->describe_cm)
		site->ops->describe_cm(site->arg, node, &config);
	r = loop_timer_create(site->loop, deliver_events, n, &n->timer);
	if (r < 0)
		goto free_node;
	r = cma_create(&config, &n->cma);
	if (r < 0)
		goto destroy_timer;
	list_append(&cm_nodes, &n->link);
	*ret = n;
	return 0;
destroy_timer:
	loop_timer_destroy(n->timer);
free_node:
	free(n);
	return r;
}

static void put_node(struct cm_node *n)
{
	if (--n->users > 0)
		return;
	list_remove(&n->link);
	cma_destroy(n->cma);
	loop_timer_destroy(n->timer);
	free(n);
}

static struct cm_node *find_node(const struct ib_node *node)
{
	list_for_each(pos, &cm_nodes) {
		struct cm_node *n = container_of(pos, struct cm_node, link);

		if (n->node == node)
			return n;
	}
	return NULL;
}

static int get_node(struct uapi_server *server, struct ib_node *node,
		    struct cm_node **ret)
{
	struct cm_node *n = find_node(node);
	int r;

	if (!n) {
		r = create_node(&server->config, node, &n);
		if (r < 0)
			return r;
	}
	n->users++;
	*ret = n;
	return 0;
}

int cm_client_open(struct uapi_client *c)
{
	struct cm_node *n;
	int r = get_node(c->server, c->node, &n);

	if (r == 0)
		c->cm = n;
	return r;
}

int uapi_server_cm_get(struct uapi_server *server, struct ib_node *node, struct cma **ret)
{
	struct cm_node *n;
	int r = get_node(server, node, &n);

	if (r == 0)
		*ret = n->cma;
	return r;
}

void uapi_server_cm_put(const struct ib_node *node)
{
	put_node(find_node(node));
}

static void destroy_join(struct cm_join *join)
{
	uapi_handle_remove(join->id->client->handles, UAPI_HANDLE_CM_JOIN, join->handle);
	cma_multicast_leave(join->multicast);
	list_remove(&join->link);
	free(join);
}

static void destroy_id(struct cm_id *id)
{
	while (!list_empty(&id->joins))
		destroy_join(container_of(id->joins.next, struct cm_join, link));
	uapi_handle_remove(id->client->handles, UAPI_HANDLE_CM_ID, id->handle);
	cma_id_destroy(id->cma_id);
	free(id);
}

void cm_client_close(struct uapi_client *c)
{
	struct cm_id *id;
	uint32_t handle;

	if (!c->cm)
		return;
	while ((id = uapi_handle_any(c->handles, UAPI_HANDLE_CM_ID, &handle)))
		destroy_id(id);
	put_node(c->cm);
	c->cm = NULL;
}

/* -- events ------------------------------------------------------------------------- */

static void write_ah(const struct rdma_ah_attr *from, struct uapi_ah_attr *to)
{
	memcpy(to->dgid, from->grh.dgid.raw, sizeof(to->dgid));
	to->flow_label = from->grh.flow_label;
	to->sgid_index = from->grh.sgid_index;
	to->hop_limit = from->grh.hop_limit;
	to->traffic_class = from->grh.traffic_class;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->has_grh;
	to->port_num = (uint8_t)from->port_num;
}

static void write_route(const struct cma_id *id, struct uapi_cm_route *to)
{
	struct cma_route route;

	cma_query_route(id, &route);
	memset(to, 0, sizeof(*to));
	to->src = route.src;
	to->dst = route.dst;
	to->src_length = (uint32_t)addr_size((struct sockaddr *)&route.src);
	to->dst_length = (uint32_t)addr_size((struct sockaddr *)&route.dst);
	if (!route.device)
		return;
	to->bound = 1;
	to->device = ib_device_id(route.device);
	to->port_num = route.port_num;
	to->pkey = route.pkey;
	to->num_paths = route.num_paths;
	to->path_mtu = (uint32_t)route.mtu;
	to->path_rate = (uint32_t)route.rate;
	to->flow_label = route.flow_label;
	to->slid = route.slid;
	to->dlid = route.dlid;
	to->hop_limit = route.hop_limit;
	to->traffic_class = route.traffic_class;
	to->sl = route.sl;
	to->packet_life_time = route.packet_life_time;
	memcpy(to->sgid, route.sgid.raw, sizeof(to->sgid));
	memcpy(to->dgid, route.dgid.raw, sizeof(to->dgid));
}

static void send_event(struct cma_id *cma_id, const struct cma_event *event)
{
	struct cm_id *id = cma_id_context(cma_id);
	struct cm_join *join = event->context;
	struct uapi_cm_event out;

	if (id->uid == 0)
		return; /* spec/kernel 3.8 */
	memset(&out, 0, sizeof(out));
	out.id_uid = id->uid;
	out.event = event->event;
	out.status = event->status;
	if (event->multicast) {
		out.join_uid = join->uid;
		out.qp_num = event->qp_num;
		out.qkey = event->qkey;
		out.mlid = event->ah.dlid;
		write_ah(&event->ah, &out.ah);
	}
	write_route(cma_id, &out.route);
	/* A client that lets too much pile up is disconnected: nothing to do here. */
	uapi_client_event(id->client, UAPI_EVENT_CM, &out, sizeof(out));
}

/* -- checks ------------------------------------------------------------------------- */

static struct cm_id *find_id(struct uapi_client *c, uint32_t handle)
{
	return uapi_handle_find(c->handles, UAPI_HANDLE_CM_ID, handle);
}

/* An id whose device is gone is good for nothing but to be destroyed (spec/kernel 3.8). */
static int get_id(struct uapi_client *c, uint32_t handle, struct cm_id **ret)
{
	*ret = find_id(c, handle);
	if (!*ret)
		return -ENOENT;
	return cma_id_state((*ret)->cma_id) == CMA_DEVICE_REMOVAL ? -ENXIO : 0;
}

/* Spec/kernel 3.8: a family that is known, and exactly its length. */
static bool is_valid_address(const struct sockaddr_storage *addr, uint32_t length)
{
	size_t size = addr_size((const struct sockaddr *)addr);

	return size > 0 && length == size;
}

/* The type of queue pair that a port space means; PS_IB leaves it to the caller. */
static int find_qp_type(const struct uapi_cm_create_id *req, enum ib_qp_type *ret)
{
	switch (req->ps) {
	case CMA_PS_TCP:
		*ret = IB_QPT_RC;
		return 0;
	case CMA_PS_UDP:
	case CMA_PS_IPOIB:
		*ret = IB_QPT_UD;
		return 0;
	case CMA_PS_IB:
		*ret = (enum ib_qp_type)req->qp_type;
		return 0;
	default:
		return -EINVAL;
	}
}

/* -- commands ----------------------------------------------------------------------- */

static int do_create_id(struct uapi_client *c, const void *request, void *reply,
			struct uapi_fds *fds)
{
	const struct uapi_cm_create_id *req = request;
	struct uapi_handle_reply *rep = reply;
	struct cm_node *n = c->cm;
	struct cma_id_config config = {
		.ps = (enum cma_port_space)req->ps,
		.privileged = c->privileged,
		.event = send_event,
	};
	struct cm_id *id;
	int r;

	r = find_qp_type(req, &config.qp_type);
	if (r < 0)
		return r;
	if (uapi_handle_count(c->handles, UAPI_HANDLE_CM_ID) >=
	    c->limits->max_cm_ids_per_client)
		return -ENOMEM;
	id = calloc(1, sizeof(*id));
	if (!id)
		return -ENOMEM;
	id->client = c;
	id->uid = req->uid;
	list_init(&id->joins);
	config.context = id;
	r = cma_id_create(n->cma, &config, &id->cma_id);
	if (r < 0)
		goto free_id;
	r = uapi_handle_add(c->handles, UAPI_HANDLE_CM_ID, id, &id->handle);
	if (r < 0)
		goto destroy_cma_id;
	rep->handle = id->handle;
	return 0;
destroy_cma_id:
	cma_id_destroy(id->cma_id);
free_id:
	free(id);
	return r;
}

static int do_destroy_id(struct uapi_client *c, const void *request, void *reply,
			 struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct cm_id *id = find_id(c, req->handle);

	if (!id)
		return -ENOENT;
	destroy_id(id);
	return 0;
}

static int do_bind_addr(struct uapi_client *c, const void *request, void *reply,
			struct uapi_fds *fds)
{
	const struct uapi_cm_addr *req = request;
	struct cm_id *id;
	int r;

	if (!is_valid_address(&req->addr, req->length))
		return -EINVAL;
	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	r = cma_bind_addr(id->cma_id, (const struct sockaddr *)&req->addr);
	if (r < 0)
		return r;
	write_route(id->cma_id, reply);
	return 0;
}

static int do_resolve_addr(struct uapi_client *c, const void *request, void *reply,
			   struct uapi_fds *fds)
{
	const struct uapi_cm_resolve_addr *req = request;
	const struct sockaddr *src = (const struct sockaddr *)&req->src;
	struct cm_id *id;
	int r;

	if (req->src_length && !is_valid_address(&req->src, req->src_length))
		return -EINVAL;
	if (!is_valid_address(&req->dst, req->dst_length))
		return -EINVAL;
	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	return cma_resolve_addr(id->cma_id, req->src_length ? src : NULL,
				(const struct sockaddr *)&req->dst, req->timeout_ms);
}

static int do_resolve_route(struct uapi_client *c, const void *request, void *reply,
			    struct uapi_fds *fds)
{
	const struct uapi_cm_resolve_route *req = request;
	struct cm_id *id;
	int r;

	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	return cma_resolve_route(id->cma_id, req->timeout_ms);
}

static int do_query_route(struct uapi_client *c, const void *request, void *reply,
			  struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct cm_id *id;
	int r;

	r = get_id(c, req->handle, &id);
	if (r < 0)
		return r;
	write_route(id->cma_id, reply);
	return 0;
}

/* The membership is published when everything that can fail has been done. */
static int join_group(struct uapi_client *c, struct cm_id *id,
		      const struct uapi_cm_join *req, uint32_t *ret_handle)
{
	struct cm_join *join = calloc(1, sizeof(*join));
	u8 state = req->flags & UAPI_CM_JOIN_SENDONLY ? CMA_JOIN_SENDONLY_FULLMEMBER
						      : CMA_JOIN_FULLMEMBER;
	int r;

	if (!join)
		return -ENOMEM;
	join->id = id;
	join->uid = req->uid;
	r = cma_join_multicast(id->cma_id, (const struct sockaddr *)&req->addr, state,
			       join, &join->multicast);
	if (r < 0)
		goto free_join;
	r = uapi_handle_add(c->handles, UAPI_HANDLE_CM_JOIN, join, &join->handle);
	if (r < 0)
		goto leave;
	list_append(&id->joins, &join->link);
	*ret_handle = join->handle;
	return 0;
leave:
	cma_multicast_leave(join->multicast);
free_join:
	free(join);
	return r;
}

/* Spec/kernel 3.8, JOIN_MCAST, in its order. */
static int do_join(struct uapi_client *c, const void *request, void *reply,
		   struct uapi_fds *fds)
{
	const struct uapi_cm_join *req = request;
	struct uapi_handle_reply *rep = reply;
	struct cm_id *id;
	int r;

	if (!is_valid_address(&req->addr, req->length))
		return -EINVAL;
	if (req->flags & ~(uint32_t)UAPI_CM_JOIN_SENDONLY)
		return -EINVAL;
	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	if (uapi_handle_count(c->handles, UAPI_HANDLE_CM_JOIN) >=
	    c->limits->max_joins_per_client)
		return -ENOMEM;
	return join_group(c, id, req, &rep->handle);
}

static int do_leave(struct uapi_client *c, const void *request, void *reply,
		    struct uapi_fds *fds)
{
	const struct uapi_handle *req = request;
	struct cm_join *join =
		uapi_handle_find(c->handles, UAPI_HANDLE_CM_JOIN, req->handle);

	if (!join)
		return -ENOENT;
	if (cma_id_state(join->id->cma_id) == CMA_DEVICE_REMOVAL)
		return -ENXIO;
	destroy_join(join);
	return 0;
}

static int do_init_qp_attr(struct uapi_client *c, const void *request, void *reply,
			   struct uapi_fds *fds)
{
	const struct uapi_cm_init_qp_attr *req = request;
	struct uapi_cm_qp_attr *rep = reply;
	struct ib_qp_attr attr = { 0 };
	struct cm_id *id;
	int mask, r;

	if (req->qp_state > IB_QPS_ERR)
		return -EINVAL;
	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	attr.qp_state = (enum ib_qp_state)req->qp_state;
	r = cma_init_qp_attr(id->cma_id, &attr, &mask);
	if (r < 0)
		return r;
	rep->mask = (uint32_t)mask;
	rep->attr.qp_state = attr.qp_state;
	rep->attr.qkey = attr.qkey;
	rep->attr.qp_access_flags = (uint32_t)attr.qp_access_flags;
	rep->attr.pkey_index = attr.pkey_index;
	rep->attr.port_num = (uint8_t)attr.port_num;
	return 0;
}

/* Numbers are those that users see: level RDMA_OPTION_ID and its options. */
enum {
	OPTION_LEVEL_ID = 0,
	OPTION_TOS = 0,
	OPTION_REUSEADDR = 1,
	OPTION_AFONLY = 2,
	OPTION_ACK_TIMEOUT = 3,
};

static uint32_t option_length(uint32_t name)
{
	return name == OPTION_TOS || name == OPTION_ACK_TIMEOUT ? 1 : sizeof(int);
}

static int do_set_option(struct uapi_client *c, const void *request, void *reply,
			 struct uapi_fds *fds)
{
	const struct uapi_cm_option *req = request;
	int value = req->value[0], r;
	struct cm_id *id;

	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	if (req->level != OPTION_LEVEL_ID || req->name > OPTION_ACK_TIMEOUT)
		return -ENOSYS; /* spec/userland 3.2 */
	if (req->length != option_length(req->name))
		return -EINVAL;
	if (req->length == sizeof(value))
		memcpy(&value, req->value, sizeof(value));
	switch (req->name) {
	case OPTION_REUSEADDR:
		return cma_set_reuseaddr(id->cma_id, value != 0);
	case OPTION_AFONLY:
		return cma_set_afonly(id->cma_id, value != 0);
	case OPTION_ACK_TIMEOUT:
		return cma_set_ack_timeout(id->cma_id, (u8)value);
	default:
		cma_set_service_type(id->cma_id, (u8)value);
		return 0;
	}
}

static int do_listen(struct uapi_client *c, const void *request, void *reply,
		     struct uapi_fds *fds)
{
	const struct uapi_cm_listen *req = request;
	struct cm_id *id;
	int r;

	r = get_id(c, req->id, &id);
	if (r < 0)
		return r;
	r = cma_listen(id->cma_id, req->backlog);
	if (r < 0)
		return r;
	write_route(id->cma_id, reply);
	return 0;
}

const struct uapi_command cm_commands[] = {
	{ UAPI_CM_CREATE_ID, do_create_id },
	{ UAPI_CM_DESTROY_ID, do_destroy_id },
	{ UAPI_CM_BIND_ADDR, do_bind_addr },
	{ UAPI_CM_RESOLVE_ADDR, do_resolve_addr },
	{ UAPI_CM_RESOLVE_ROUTE, do_resolve_route },
	{ UAPI_CM_QUERY_ROUTE, do_query_route },
	{ UAPI_CM_JOIN, do_join },
	{ UAPI_CM_LEAVE, do_leave },
	{ UAPI_CM_INIT_QP_ATTR, do_init_qp_attr },
	{ UAPI_CM_SET_OPTION, do_set_option },
	{ UAPI_CM_LISTEN, do_listen },
	{ 0, NULL },
};
