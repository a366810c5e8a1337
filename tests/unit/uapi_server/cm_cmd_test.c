// SPDX-License-Identifier: BSD-2-Clause
/*
 * Spec/kernel 3.8: what the server checks before rdma_cm sees a request, whose handles
 * count, and what goes out as events. The device is a fake one on the loopback interface;
 * sockets do not take part.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "harness/harness.h"
#include "uapi/server/server_priv.h"

#define LOOPBACK_GIDS 2
#define EVENTS_MAX    16

struct fixture {
	struct loop *loop;
	struct ib_node *node;
	struct ib_device device;
	struct uapi_server server;
	struct uapi_client clients[2];
	struct uapi_cm_event events[EVENTS_MAX];
	struct uapi_client *receivers[EVENTS_MAX];
	unsigned int event_count;
};

static struct fixture *now;

/* Stands in for the dispatcher's. */
int uapi_client_event(struct uapi_client *c, uint16_t op, const void *body, size_t length)
{
	assert_int_equal(op, UAPI_EVENT_CM);
	assert_int_equal(length, sizeof(struct uapi_cm_event));
	assert_true(now->event_count < EVENTS_MAX);
	now->receivers[now->event_count] = c;
	memcpy(&now->events[now->event_count++], body, length);
	return 0;
}

static int fake_query_port(struct ib_device *device, u32 port, struct ib_port_attr *attr)
{
	attr->active_mtu = 5;
	attr->gid_tbl_len = LOOPBACK_GIDS;
	attr->pkey_tbl_len = 1;
	return 0;
}

static enum rdma_link_layer fake_link_layer(struct ib_device *device, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int fake_query_gid(struct ib_device *device, u32 port, int index,
			  struct ib_gid_attr *attr)
{
	if (index >= LOOPBACK_GIDS)
		return -EINVAL;
	attr->gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	attr->index = (u16)index;
	attr->port_num = port;
	attr->ifindex = if_nametoindex("lo");
	if (index == 0)
		gid_from_ipv4(attr->gid.raw, htonl(INADDR_LOOPBACK));
	else
		attr->gid.raw[15] = 1;
	return 0;
}

static int fake_query_pkey(struct ib_device *device, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static const struct ipoib *no_ipoib(void *arg, const struct ib_node *node)
{
	return NULL;
}

static const struct uapi_site_ops site_ops = { .ipoib = no_ipoib };

static void open_client(struct fixture *f, struct uapi_client *c)
{
	f->server.config.ops = &site_ops;
	c->server = &f->server;
	c->loop = f->loop;
	c->limits = &f->server.config.limits;
	c->node = f->node;
	assert_int_equal(uapi_handles_create(64, &c->handles), 0);
	assert_int_equal(cm_client_open(c), 0);
}

static void close_client(struct uapi_client *c)
{
	cm_client_close(c);
	uapi_handles_destroy(c->handles);
	c->handles = NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	now = f;
	*state = f;
	f->server.config.limits.max_cm_ids_per_client = 3;
	f->server.config.limits.max_joins_per_client = 3;
	assert_int_equal(loop_create(&f->loop), 0);
	f->server.config.loop = f->loop;
	f->node = ib_node_create("machine", 0);
	assert_non_null(f->node);
	f->device.ops.query_port = fake_query_port;
	f->device.ops.get_link_layer = fake_link_layer;
	f->device.ops.query_gid = fake_query_gid;
	f->device.ops.query_pkey = fake_query_pkey;
	f->device.node_type = RDMA_NODE_IB_CA;
	f->device.phys_port_cnt = 1;
	strcpy(f->device.name, "vroce0");
	assert_int_equal(ib_register_device(&f->device, f->node), 0);
	for (int i = 0; i < 2; i++)
		open_client(f, &f->clients[i]);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++)
		if (f->clients[i].handles)
			close_client(&f->clients[i]);
	assert_int_equal(ib_unregister_device(&f->device), 0);
	ib_node_destroy(f->node);
	loop_destroy(f->loop);
	free(f);
	return 0;
}

static int call(struct uapi_client *c, uint16_t op, const void *request, void *reply)
{
	struct uapi_fds fds = { .in_count = 0 };

	for (const struct uapi_command *cmd = cm_commands; cmd->op; cmd++)
		if (cmd->op == op)
			return cmd->fn(c, request, reply, &fds);
	fail_msg("no command %u", op);
	return 0;
}

static void stop(void *arg)
{
	loop_stop(arg);
}

/* What waits is due before a timer armed now. */
static void turn(struct fixture *f)
{
	struct loop_timer *timer;

	assert_int_equal(loop_timer_create(f->loop, stop, f->loop, &timer), 0);
	loop_timer_arm(timer, 0);
	assert_int_equal(loop_run(f->loop), 0);
	loop_timer_destroy(timer);
}

static uint32_t ipv4(struct sockaddr_storage *ss, const char *text, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return sizeof(*in);
}

static int create_id_in(struct uapi_client *c, uint32_t ps, uint64_t uid, uint32_t *ret)
{
	struct uapi_cm_create_id req = { .uid = uid, .ps = ps, .qp_type = IB_QPT_UD };
	struct uapi_handle_reply rep = { 0 };
	int r = call(c, UAPI_CM_CREATE_ID, &req, &rep);

	*ret = rep.handle;
	return r;
}

static uint32_t create_id(struct uapi_client *c, uint64_t uid)
{
	uint32_t id;

	assert_int_equal(create_id_in(c, 0x0111, uid, &id), 0);
	return id;
}

static int bind_id(struct uapi_client *c, uint32_t id, struct uapi_cm_route *route)
{
	struct uapi_cm_addr req = { .id = id };

	req.length = ipv4(&req.addr, "127.0.0.1", 0);
	return call(c, UAPI_CM_BIND_ADDR, &req, route);
}

static uint32_t bound_id(struct uapi_client *c, uint64_t uid)
{
	struct uapi_cm_route route;
	uint32_t id = create_id(c, uid);

	assert_int_equal(bind_id(c, id, &route), 0);
	return id;
}

static int join(struct uapi_client *c, uint32_t id, uint64_t uid, uint32_t *ret)
{
	struct uapi_cm_join req = { .uid = uid, .id = id };
	struct uapi_handle_reply rep = { 0 };
	int r;

	req.length = ipv4(&req.addr, "239.1.2.3", 0);
	r = call(c, UAPI_CM_JOIN, &req, &rep);
	*ret = rep.handle;
	return r;
}

static int on_handle(struct uapi_client *c, uint16_t op, uint32_t handle)
{
	struct uapi_handle req = { .handle = handle };
	struct uapi_cm_route route;

	return call(c, op, &req, &route);
}

static void port_spaces_that_there_are(void **state)
{
	static const uint32_t good[] = { 0x0002, 0x0106, 0x0111 };
	struct fixture *f = *state;
	uint32_t id;

	for (int i = 0; i < 3; i++)
		assert_int_equal(create_id_in(&f->clients[0], good[i], 1, &id), 0);
	assert_int_equal(create_id_in(&f->clients[1], 0x013f, 1, &id), 0);
	assert_int_equal(create_id_in(&f->clients[1], 0x0112, 1, &id), -EINVAL);
	assert_int_equal(create_id_in(&f->clients[1], 0, 1, &id), -EINVAL);
}

static void bind_answers_where_the_id_stands(void **state)
{
	struct fixture *f = *state;
	struct uapi_cm_route route;
	uint32_t id = create_id(&f->clients[0], 1);

	assert_int_equal(bind_id(&f->clients[0], id, &route), 0);
	assert_int_equal(route.bound, 1);
	assert_int_equal(route.device, 0);
	assert_int_equal(route.port_num, 1);
	assert_int_equal(route.src_length, sizeof(struct sockaddr_in));
	assert_int_equal(route.dst_length, 0);
	assert_int_equal(route.pkey, 0xffff);
	assert_true(((struct sockaddr_in *)&route.src)->sin_port != 0);
}

static void no_event(struct cma_id *id, const struct cma_event *event)
{
	fail_msg("an event that nobody waits for: %d", event->event);
}

/* Somebody inside the daemon has the ports that clients have, and outlasts them. */
static void the_daemon_shares_the_nodes_ports(void **state)
{
	const struct cma_id_config config = { .ps = CMA_PS_UDP,
					      .qp_type = IB_QPT_UD,
					      .privileged = true,
					      .event = no_event };
	struct fixture *f = *state;
	struct uapi_cm_addr req = { 0 };
	struct sockaddr_storage addr;
	struct uapi_cm_route route;
	struct cma *cma, *again;
	struct cma_id *id;

	assert_int_equal(uapi_server_cm_get(&f->server, f->node, &cma), 0);
	assert_int_equal(uapi_server_cm_get(&f->server, f->node, &again), 0);
	assert_ptr_equal(cma, again);
	uapi_server_cm_put(f->node);
	assert_int_equal(cma_id_create(cma, &config, &id), 0);
	req.id = create_id(&f->clients[0], 1);
	req.length = ipv4(&req.addr, "127.0.0.1", 7000);
	assert_int_equal(call(&f->clients[0], UAPI_CM_BIND_ADDR, &req, &route), 0);
	ipv4(&addr, "127.0.0.1", 7000);
	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&addr), -EADDRINUSE);
	ipv4(&addr, "127.0.0.1", 7001);
	assert_int_equal(cma_bind_addr(id, (struct sockaddr *)&addr), 0);
	req.id = create_id(&f->clients[1], 2);
	ipv4(&req.addr, "127.0.0.1", 7001);
	assert_int_equal(call(&f->clients[1], UAPI_CM_BIND_ADDR, &req, &route),
			 -EADDRINUSE);
	close_client(&f->clients[0]);
	close_client(&f->clients[1]);
	assert_int_equal(cma_id_state(id), CMA_ADDR_BOUND);
	cma_id_destroy(id);
	uapi_server_cm_put(f->node);
}

static void lengths_must_be_of_the_family(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	uint32_t id = create_id(c, 1);
	struct uapi_cm_addr bind = { .id = id };
	struct uapi_cm_resolve_addr resolve = { .id = id, .timeout_ms = 1 };
	struct uapi_cm_join join_req = { .id = id };
	static const uint32_t lengths[] = { 0, 15, 17, 28, 128, 0xffffffff };
	struct uapi_cm_route route;
	struct uapi_handle_reply rep;

	ipv4(&bind.addr, "127.0.0.1", 0);
	ipv4(&resolve.dst, "239.1.2.3", 0);
	ipv4(&resolve.src, "127.0.0.1", 0);
	ipv4(&join_req.addr, "239.1.2.3", 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		bind.length = lengths[i];
		assert_int_equal(call(c, UAPI_CM_BIND_ADDR, &bind, &route), -EINVAL);
		join_req.length = lengths[i];
		assert_int_equal(call(c, UAPI_CM_JOIN, &join_req, &rep), -EINVAL);
		resolve.dst_length = lengths[i];
		resolve.src_length = 16;
		assert_int_equal(call(c, UAPI_CM_RESOLVE_ADDR, &resolve, NULL), -EINVAL);
		resolve.dst_length = 16;
		resolve.src_length = lengths[i];
		if (lengths[i])
			assert_int_equal(call(c, UAPI_CM_RESOLVE_ADDR, &resolve, NULL),
					 -EINVAL);
	}
	bind.addr.ss_family = 0xffff;
	bind.length = 16;
	assert_int_equal(call(c, UAPI_CM_BIND_ADDR, &bind, &route), -EINVAL);
	bind.addr.ss_family = AF_UNSPEC;
	bind.length = 0;
	assert_int_equal(call(c, UAPI_CM_BIND_ADDR, &bind, &route), -EINVAL);
}

static void handles_of_others_are_unknown(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *a = &f->clients[0], *b = &f->clients[1];
	uint32_t id = bound_id(a, 1), handle, own = bound_id(b, 2);
	struct uapi_cm_resolve_route resolve = { .id = id, .timeout_ms = 1 };
	struct uapi_cm_init_qp_attr init = { .id = id };
	struct uapi_cm_option option = { .id = id };
	struct uapi_cm_listen listen_req = { .id = id };
	struct uapi_cm_qp_attr attr;
	struct uapi_cm_route route;
	uint32_t other;

	assert_int_equal(on_handle(b, UAPI_CM_DESTROY_ID, own), 0);
	assert_int_equal(join(a, id, 1, &handle), 0);
	assert_int_equal(on_handle(b, UAPI_CM_DESTROY_ID, id), -ENOENT);
	assert_int_equal(on_handle(b, UAPI_CM_QUERY_ROUTE, id), -ENOENT);
	assert_int_equal(on_handle(b, UAPI_CM_LEAVE, handle), -ENOENT);
	assert_int_equal(bind_id(b, id, &route), -ENOENT);
	assert_int_equal(join(b, id, 1, &other), -ENOENT);
	assert_int_equal(call(b, UAPI_CM_RESOLVE_ROUTE, &resolve, NULL), -ENOENT);
	assert_int_equal(call(b, UAPI_CM_INIT_QP_ATTR, &init, &attr), -ENOENT);
	assert_int_equal(call(b, UAPI_CM_SET_OPTION, &option, NULL), -ENOENT);
	assert_int_equal(call(b, UAPI_CM_LISTEN, &listen_req, &route), -ENOENT);
	/* Nor is an id a membership. */
	assert_int_equal(on_handle(a, UAPI_CM_LEAVE, id), -ENOENT);
	assert_int_equal(on_handle(a, UAPI_CM_DESTROY_ID, handle), -ENOENT);
}

static void a_handle_dies_with_its_object(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	uint32_t id = bound_id(c, 1), handle;

	assert_int_equal(join(c, id, 1, &handle), 0);
	assert_int_equal(on_handle(c, UAPI_CM_LEAVE, handle), 0);
	assert_int_equal(on_handle(c, UAPI_CM_LEAVE, handle), -ENOENT);
	assert_int_equal(join(c, id, 1, &handle), 0);
	assert_int_equal(on_handle(c, UAPI_CM_DESTROY_ID, id), 0);
	assert_int_equal(on_handle(c, UAPI_CM_DESTROY_ID, id), -ENOENT);
	assert_int_equal(on_handle(c, UAPI_CM_LEAVE, handle), -ENOENT);
}

static void unknown_join_flags_are_refused(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	struct uapi_cm_join req = { .id = bound_id(c, 1), .flags = 2 };
	struct uapi_handle_reply rep;

	req.length = ipv4(&req.addr, "239.1.2.3", 0);
	assert_int_equal(call(c, UAPI_CM_JOIN, &req, &rep), -EINVAL);
	req.flags = 0x80000001;
	assert_int_equal(call(c, UAPI_CM_JOIN, &req, &rep), -EINVAL);
	req.flags = UAPI_CM_JOIN_SENDONLY;
	assert_int_equal(call(c, UAPI_CM_JOIN, &req, &rep), 0);
}

static void an_unbound_id_does_not_join(void **state)
{
	struct fixture *f = *state;
	uint32_t id = create_id(&f->clients[0], 1), handle;

	assert_int_equal(join(&f->clients[0], id, 1, &handle), -EINVAL);
}

static void a_join_comes_back_with_its_own_uid(void **state)
{
	static const uint8_t mgid[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
	struct fixture *f = *state;
	struct uapi_cm_event *e = &f->events[0];
	uint32_t id = bound_id(&f->clients[1], 77), handle;

	assert_int_equal(join(&f->clients[1], id, 0x1234567890abcdefull, &handle), 0);
	assert_int_equal(f->event_count, 0);
	turn(f);
	assert_int_equal(f->event_count, 1);
	assert_ptr_equal(f->receivers[0], &f->clients[1]);
	assert_int_equal(e->event, 12);
	assert_int_equal(e->status, 0);
	assert_int_equal(e->id_uid, 77);
	assert_true(e->join_uid == 0x1234567890abcdefull);
	assert_int_equal(e->qp_num, 0xffffff);
	assert_int_equal(e->qkey, 0x01234567);
	assert_int_equal(e->mlid, 0);
	assert_int_equal(e->private_length, 0);
	assert_int_equal(e->ah.is_global, 1);
	assert_int_equal(e->ah.port_num, 1);
	assert_int_equal(e->ah.sgid_index, 0);
	assert_int_equal(e->ah.hop_limit, 64);
	assert_memory_equal(e->ah.dgid, mgid, 16);
}

static void addr_resolved_carries_the_route(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	struct uapi_cm_resolve_addr req = { .id = create_id(c, 9), .timeout_ms = 1000 };
	struct uapi_cm_resolve_route route_req = { .id = req.id, .timeout_ms = 1 };
	struct uapi_cm_event *e = &f->events[0];

	req.src_length = ipv4(&req.src, "127.0.0.1", 0);
	req.dst_length = ipv4(&req.dst, "239.1.2.3", 7);
	assert_int_equal(call(c, UAPI_CM_RESOLVE_ADDR, &req, NULL), 0);
	turn(f);
	assert_int_equal(f->event_count, 1);
	assert_int_equal(e[0].event, 0);
	assert_int_equal(e[0].join_uid, 0);
	assert_int_equal(e[0].route.bound, 1);
	assert_memory_equal(&e[0].route.dst, &req.dst, sizeof(struct sockaddr_in));
	assert_int_equal(e[0].route.num_paths, 0);
	assert_int_equal(call(c, UAPI_CM_RESOLVE_ROUTE, &route_req, NULL), 0);
	turn(f);
	assert_int_equal(f->event_count, 2);
	assert_int_equal(e[1].event, 2);
	assert_int_equal(e[1].route.num_paths, 1);
	assert_int_equal(e[1].route.path_mtu, 5);
}

static void leave_takes_the_waiting_event_with_it(void **state)
{
	struct fixture *f = *state;
	uint32_t id = bound_id(&f->clients[0], 1), handle;

	assert_int_equal(join(&f->clients[0], id, 1, &handle), 0);
	assert_int_equal(on_handle(&f->clients[0], UAPI_CM_LEAVE, handle), 0);
	turn(f);
	assert_int_equal(f->event_count, 0);
}

static void an_id_without_uid_has_no_events(void **state)
{
	struct fixture *f = *state;
	uint32_t id = bound_id(&f->clients[0], 0), handle;

	assert_int_equal(join(&f->clients[0], id, 1, &handle), 0);
	turn(f);
	assert_int_equal(f->event_count, 0);
}

static void a_client_that_goes_gives_everything_back(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *a = &f->clients[0], *b = &f->clients[1];
	uint32_t id = bound_id(a, 1), handle;
	struct uapi_cm_addr req = { .id = create_id(a, 2) };
	struct uapi_cm_route route;

	req.length = ipv4(&req.addr, "127.0.0.1", 7174);
	assert_int_equal(call(a, UAPI_CM_BIND_ADDR, &req, &route), 0);
	assert_int_equal(join(a, id, 1, &handle), 0);
	req.id = create_id(b, 3);
	assert_int_equal(call(b, UAPI_CM_BIND_ADDR, &req, &route), -EADDRINUSE);
	close_client(a);
	turn(f);
	assert_int_equal(f->event_count, 0);
	assert_int_equal(call(b, UAPI_CM_BIND_ADDR, &req, &route), 0);
}

static void limits_hold_and_what_is_given_back_counts(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	uint32_t ids[3], joins[3], more;

	for (int i = 0; i < 3; i++)
		ids[i] = bound_id(c, 1);
	assert_int_equal(create_id_in(c, 0x0111, 1, &more), -ENOMEM);
	for (int i = 0; i < 3; i++)
		assert_int_equal(join(c, ids[0], 1, &joins[i]), 0);
	assert_int_equal(join(c, ids[1], 1, &more), -ENOMEM);
	assert_int_equal(on_handle(c, UAPI_CM_LEAVE, joins[1]), 0);
	assert_int_equal(join(c, ids[1], 1, &more), 0);
	assert_int_equal(on_handle(c, UAPI_CM_DESTROY_ID, ids[0]), 0);
	assert_int_equal(create_id_in(c, 0x0111, 1, &more), 0);
	assert_int_equal(create_id_in(&f->clients[1], 0x0111, 1, &more), 0);
}

static void options_have_a_level_a_name_and_a_length(void **state)
{
	static const struct {
		uint32_t level, name, length;
		int result;
	} rows[] = {
		{ 0, 0, 1, 0 },       { 0, 0, 4, -EINVAL }, { 0, 1, 4, 0 },
		{ 0, 1, 1, -EINVAL }, { 0, 2, 4, 0 },       { 0, 2, 0, -EINVAL },
		{ 0, 3, 1, -EINVAL }, { 0, 4, 4, -ENOSYS }, { 1, 1, 64, -ENOSYS },
		{ 2, 0, 1, -ENOSYS },
	};
	struct fixture *f = *state;
	uint32_t id = create_id(&f->clients[0], 1);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uapi_cm_option req = {
			.id = id,
			.level = rows[i].level,
			.name = rows[i].name,
			.length = rows[i].length,
		};

		assert_int_equal(call(&f->clients[0], UAPI_CM_SET_OPTION, &req, NULL),
				 rows[i].result);
	}
}

static void queue_pair_attributes_are_of_a_bound_id(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	struct uapi_cm_init_qp_attr req = { .qp_state = IB_QPS_INIT };
	struct uapi_cm_qp_attr rep = { 0 };

	req.id = create_id(c, 1);
	assert_int_equal(call(c, UAPI_CM_INIT_QP_ATTR, &req, &rep), -EINVAL);
	req.id = bound_id(c, 1);
	assert_int_equal(call(c, UAPI_CM_INIT_QP_ATTR, &req, &rep), 0);
	assert_int_equal(rep.mask,
			 IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	assert_int_equal(rep.attr.qkey, 0x01234567);
	assert_int_equal(rep.attr.qp_state, IB_QPS_INIT);
	assert_int_equal(rep.attr.port_num, 1);
	req.qp_state = IB_QPS_ERR + 1;
	assert_int_equal(call(c, UAPI_CM_INIT_QP_ATTR, &req, &rep), -EINVAL);
}

static void an_id_without_its_device_is_only_destroyed(void **state)
{
	struct fixture *f = *state;
	struct uapi_client *c = &f->clients[0];
	uint32_t id = bound_id(c, 1), handle, other;
	struct uapi_cm_resolve_route resolve = { .id = id, .timeout_ms = 1 };
	struct uapi_cm_option option = { .id = id, .length = 1 };
	struct uapi_cm_route route;

	assert_int_equal(join(c, id, 1, &handle), 0);
	ib_remove_device(&f->device);
	turn(f);
	assert_int_equal(f->event_count, 1);
	assert_int_equal(f->events[0].event, 11);
	assert_int_equal(f->events[0].id_uid, 1);
	assert_int_equal(f->events[0].route.bound, 0);
	assert_int_equal(bind_id(c, id, &route), -ENXIO);
	assert_int_equal(join(c, id, 1, &other), -ENXIO);
	assert_int_equal(call(c, UAPI_CM_RESOLVE_ROUTE, &resolve, NULL), -ENXIO);
	assert_int_equal(call(c, UAPI_CM_SET_OPTION, &option, NULL), -ENXIO);
	assert_int_equal(on_handle(c, UAPI_CM_QUERY_ROUTE, id), -ENXIO);
	assert_int_equal(on_handle(c, UAPI_CM_LEAVE, handle), -ENXIO);
	assert_int_equal(on_handle(c, UAPI_CM_DESTROY_ID, id), 0);
	assert_int_equal(on_handle(c, UAPI_CM_LEAVE, handle), -ENOENT);
}

#define cm_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cm_test(port_spaces_that_there_are),
		cm_test(bind_answers_where_the_id_stands),
		cm_test(the_daemon_shares_the_nodes_ports),
		cm_test(lengths_must_be_of_the_family),
		cm_test(handles_of_others_are_unknown),
		cm_test(a_handle_dies_with_its_object),
		cm_test(unknown_join_flags_are_refused),
		cm_test(an_unbound_id_does_not_join),
		cm_test(a_join_comes_back_with_its_own_uid),
		cm_test(addr_resolved_carries_the_route),
		cm_test(leave_takes_the_waiting_event_with_it),
		cm_test(an_id_without_uid_has_no_events),
		cm_test(a_client_that_goes_gives_everything_back),
		cm_test(limits_hold_and_what_is_given_back_counts),
		cm_test(options_have_a_level_a_name_and_a_length),
		cm_test(queue_pair_attributes_are_of_a_bound_id),
		cm_test(an_id_without_its_device_is_only_destroyed),
	};

	return harness_run(tests);
}
