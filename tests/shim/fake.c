/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct fake fake;

static void (*hear)(const struct uapi_cm_event *event, void *arg);
static void (*hear_down)(unsigned int generation, void *arg);
static struct ibv_context context;
static unsigned int generations;

/* -- the test's side ---------------------------------------------------------------- */

int fake_setup(void **state)
{
	unsigned int generation = ++generations;

	memset(&fake, 0, sizeof(fake));
	fake.generation = generation;
	fake.devices = 1;
	return 0;
}

int fake_teardown(void **state)
{
	assert_int_equal(fake.objects, 0);
	assert_int_equal(fake.daemon_ids, 0);
	assert_int_equal(fake.daemon_joins, 0);
	return 0;
}

struct sockaddr *fake_addr(const char *text, uint16_t port)
{
	static struct sockaddr_storage storage[8];
	static unsigned int next;
	struct sockaddr_storage *ss = &storage[next++ % 8];
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return (struct sockaddr *)ss;
}

void fake_say(const struct uapi_cm_event *event)
{
	hear(event, NULL);
}

void fake_say_joined(uint64_t id_uid, uint64_t join_uid, const char *group)
{
	struct uapi_cm_event e = {
		.id_uid = id_uid,
		.join_uid = join_uid,
		.event = RDMA_CM_EVENT_MULTICAST_JOIN,
		.qp_num = 0xffffff,
		.qkey = RDMA_UDP_QKEY,
	};

	e.ah.is_global = 1;
	e.ah.port_num = 1;
	e.ah.hop_limit = 64;
	e.ah.dgid[10] = e.ah.dgid[11] = 0xff;
	assert_int_equal(inet_pton(AF_INET, group, e.ah.dgid + 12), 1);
	fake_say(&e);
}

static void fill_route(struct uapi_cm_route *route)
{
	memset(route, 0, sizeof(*route));
	route->bound = 1;
	route->port_num = 1;
	route->pkey = 0xffff;
	route->num_paths = 1;
	route->path_mtu = 5;
	route->path_rate = 16;
	route->hop_limit = 64;
	route->sgid[15] = 1;
	route->src_length = sizeof(struct sockaddr_in);
	memcpy(&route->src, fake_addr("127.0.0.1", 4000), sizeof(struct sockaddr_in));
}

void fake_say_resolved(uint64_t id_uid)
{
	struct uapi_cm_event e = {
		.id_uid = id_uid,
		.event = RDMA_CM_EVENT_ADDR_RESOLVED,
	};

	fill_route(&e.route);
	fake_say(&e);
}

void fake_die(void)
{
	unsigned int was = fake.generation;

	fake.generation = 0;
	fake.daemon_ids = fake.daemon_joins = 0;
	hear_down(was, NULL);
}

bool fake_is_asleep(atomic_int *tid)
{
	char path[64], state = 'R';
	FILE *f;

	if (!atomic_load(tid))
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atomic_load(tid));
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'R';
	fclose(f);
	return state == 'S';
}

unsigned int fake_count(unsigned int op)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < fake.call_count; i++)
		n += fake.calls[i].op == op;
	return n;
}

unsigned int fake_count_verb(const char *verb)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < fake.call_count; i++)
		n += fake.calls[i].verb && strcmp(fake.calls[i].verb, verb) == 0;
	return n;
}

struct fake_call *fake_last(const char *verb)
{
	for (unsigned int i = fake.call_count; i-- > 0;)
		if (fake.calls[i].verb && strcmp(fake.calls[i].verb, verb) == 0)
			return &fake.calls[i];
	fail_msg("%s was not called", verb);
	return NULL;
}

static struct fake_call *record(unsigned int op, const char *verb)
{
	struct fake_call *call = &fake.calls[fake.call_count % FAKE_CALLS];

	fake.call_count++;
	memset(call, 0, sizeof(*call));
	call->op = op;
	call->verb = verb;
	return call;
}

/* -- process.h ---------------------------------------------------------------------- */

int vc_process_open(void)
{
	return fake.generation ? 0 : -ENODEV;
}

unsigned int vc_generation(void)
{
	return fake.generation;
}

void vc_set_cm_handler(void (*fn)(const struct uapi_cm_event *event, void *arg),
		       void *arg)
{
	hear = fn;
}

void vc_set_down_handler(void (*fn)(unsigned int generation, void *arg), void *arg)
{
	hear_down = fn;
}

static void answer(enum rdma_cm_event_type good, enum rdma_cm_event_type bad,
		   uint64_t id_uid)
{
	struct uapi_cm_event e = { .id_uid = id_uid, .status = fake.answer_status };

	e.event = fake.answer_status ? bad : good;
	if (fake.answer_event)
		e.event = fake.answer_event;
	fill_route(&e.route);
	fake_say(&e);
}

static void serve_join(const struct uapi_cm_join *req, struct uapi_handle_reply *rep)
{
	fake.last_join_uid = req->uid;
	fake.daemon_joins++;
	rep->handle = ++fake.last_handle;
	if (fake.event_in_join || fake.answer_sync)
		fake_say_joined(fake.last_id_uid, req->uid, "239.1.2.3");
}

int vc_rpc_in(unsigned int generation, unsigned int op, const void *request,
	      size_t length, void *reply, size_t reply_length)
{
	struct fake_call *call = record(op, NULL);

	if (!generation || generation != fake.generation)
		return -ENODEV;
	if (fake.result)
		return fake.result;
	switch (op) {
	case UAPI_CM_CREATE_ID:
		fake.last_id_uid = ((const struct uapi_cm_create_id *)request)->uid;
		((struct uapi_handle_reply *)reply)->handle = ++fake.last_handle;
		fake.daemon_ids++;
		break;
	case UAPI_CM_DESTROY_ID:
		fake.daemon_ids--;
		fake.daemon_joins = fake.daemon_ids ? fake.daemon_joins : 0;
		break;
	case UAPI_CM_BIND_ADDR:
		fill_route(reply);
		break;
	case UAPI_CM_RESOLVE_ADDR:
		if (fake.answer_sync)
			answer(RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR,
			       fake.last_id_uid);
		break;
	case UAPI_CM_RESOLVE_ROUTE:
		if (fake.answer_sync)
			answer(RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR,
			       fake.last_id_uid);
		break;
	case UAPI_CM_JOIN:
		call->flags = ((const struct uapi_cm_join *)request)->flags;
		serve_join(request, reply);
		break;
	case UAPI_CM_LEAVE:
		call->handle = ((const struct uapi_handle *)request)->handle;
		fake.daemon_joins--;
		break;
	case UAPI_CM_INIT_QP_ATTR: {
		struct uapi_cm_qp_attr *rep = reply;

		memset(rep, 0, sizeof(*rep));
		rep->mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
		rep->attr.qp_state =
			((const struct uapi_cm_init_qp_attr *)request)->qp_state;
		rep->attr.port_num = 1;
		rep->attr.qkey = RDMA_UDP_QKEY;
		break;
	}
	}
	return 0;
}

int vc_device_index(const struct ibv_device *device)
{
	return 0;
}

struct ibv_context *vc_open_index(unsigned int index)
{
	if (index != 0) {
		errno = ENODEV;
		return NULL;
	}
	return &context;
}

/* -- verbs -------------------------------------------------------------------------- */

static void *object(size_t size)
{
	fake.objects++;
	return calloc(1, size);
}

static int release(void *o)
{
	fake.objects--;
	free(o);
	return 0;
}

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *num_devices)
{
	static struct ibv_device device;
	struct ibv_device **list = calloc(2, sizeof(*list));

	list[0] = fake.devices ? &device : NULL;
	*num_devices = fake.devices;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = object(sizeof(*pd));

	pd->context = ctx;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return release(pd);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	record(0, "create_comp_channel");
	return object(sizeof(struct ibv_comp_channel));
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return release(channel);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = object(sizeof(*cq));

	record(0, "create_cq");
	cq->context = ctx;
	cq->cqe = cqe;
	cq->cq_context = cq_context;
	cq->channel = channel;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return release(cq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp;

	if (fake.create_qp_fails) {
		errno = ENOMEM;
		return NULL;
	}
	qp = object(sizeof(*qp));
	qp->context = pd->context;
	qp->pd = pd;
	qp->qp_type = attr->qp_type;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	attr->cap.max_inline_data = 99;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	record(0, "destroy_qp");
	return release(qp);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct fake_call *call = record(0, "modify_qp");

	call->mask = mask;
	call->attr = *attr;
	if (fake.modify_result && attr->qp_state == fake.modify_fails)
		return fake.modify_result;
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	record(0, "attach_mcast")->gid = *gid;
	return fake.attach_result;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	record(0, "detach_mcast")->gid = *gid;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = object(sizeof(*srq));

	srq->context = pd->context;
	srq->pd = pd;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return release(srq);
}
