// SPDX-License-Identifier: BSD-2-Clause
// ctest: TIMEOUT 300 LABELS threads
/*
 * A device goes from beneath a consumer that has everything on it: members that have joined
 * and that are about to, queries and MADs without an answer, ids of rdma_cm in all states,
 * attached queue pairs with receives (spec/kernel 2.10, 3.7). Each hears of it once, all can
 * be given back, and nothing is left: the site closes, and the harness looks for leaks.
 */
#include <rdma/ib_mad.h>
#include <rdma/rdma_cm.h>

#include "fake.h"
#include "mcmember.h"
#include "site.h"

#define NODES    3
#define VICTIM   1 /* the SM is behind another port */
#define MEMBERS  8
#define IDS      4
#define LONG_MS  20000
#define DEADLINE (20 * HZ)

/* Anything that is told its end once. */
struct waiter {
	struct completion done;
	int calls, status;
};

static void waiter_init(struct waiter *w)
{
	*w = (struct waiter){ .status = 1 };
	init_completion(&w->done);
}

static void waiter_told(struct waiter *w, int status)
{
	w->status = status;
	w->calls++;
	complete(&w->done);
}

struct member {
	struct waiter w;
	struct ib_sa_multicast *multicast;
	struct ib_sa_mcmember_rec rec;
	void (*once_joined)(void);
};

struct cm {
	struct waiter w; /* of DEVICE_REMOVAL */
	struct completion ready;
	struct rdma_cm_id *id;
	int joins, errors;
	bool destroys; /* its handler returns non-zero for the removal */
};

static struct all {
	struct ib_client client;
	struct ib_sa_client sa;
	struct ib_device *device;
	struct ib_event_handler events;
	struct completion removed, looked_at;
	void *given; /* to the removal */
	struct member joined[MEMBERS], joining[MEMBERS], trigger;
	struct cm ids[IDS];
	struct waiter path, service, mad;
	struct ib_sa_query *path_query, *service_query;
	int path_id;
	struct site_qp q[2];
	struct ib_mad_agent *agent;
	struct ib_ah *mad_ah;
	struct ib_mad_send_buf *mad_buf;
	int unplugged;
	int adds, removes;
} all;

static struct ib_client *const client = &all.client;

/* -- members --------------------------------------------------------------------------- */

static int told(int status, struct ib_sa_multicast *multicast)
{
	struct member *m = multicast->context;

	m->rec = multicast->rec;
	if (!status && m->once_joined)
		m->once_joined();
	waiter_told(&m->w, status);
	return 0;
}

static struct ib_sa_multicast *join(struct member *m, union ib_gid mgid)
{
	struct ib_sa_mcmember_rec rec = {
		.mgid = mgid,
		.qkey = cpu_to_be32(0x0b1b),
		.pkey = cpu_to_be16(0xffff),
		.join_state = BIT(FULLMEMBER_JOIN),
	};

	waiter_init(&m->w);
	rdma_query_gid(all.device, 1, 0, &rec.port_gid);
	m->multicast = ib_sa_join_multicast(&all.sa, all.device, 1, &rec,
					    MCMEMBER_CREATE_MASK, GFP_KERNEL, told, m);
	return m->multicast;
}

static void join_now(struct member *m, union ib_gid mgid)
{
	assert_false(IS_ERR(join(m, mgid)));
	assert_true(wait_for_completion_timeout(&m->w.done, DEADLINE));
	assert_int_equal(m->w.status, 0);
}

/* -- queries --------------------------------------------------------------------------- */

static void path_told(int status, struct sa_path_rec *rec, unsigned int n, void *context)
{
	waiter_told(&all.path, status);
}

static void service_told(int status, struct sa_service_rec *rec, unsigned int n,
			 void *context)
{
	waiter_told(&all.service, status);
}

static void ask(void)
{
	struct sa_path_rec path = { .numb_path = 1, .reversible = 1 };
	struct sa_service_rec service = { .id = cpu_to_be64(7) };

	rdma_query_gid(all.device, 1, 0, &path.sgid);
	path.dgid = path.sgid;
	all.path_id = ib_sa_path_rec_get(
		&all.sa, all.device, 1, &path,
		IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_NUMB_PATH,
		LONG_MS, GFP_KERNEL, path_told, NULL, &all.path_query);
	ib_sa_service_rec_get(&all.sa, all.device, 1, &service, IB_SA_COMP_MASK(0),
			      LONG_MS, GFP_KERNEL, service_told, NULL,
			      &all.service_query);
}

/* -- a MAD to nobody ------------------------------------------------------------------- */

static void mad_told(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	waiter_told(&all.mad, wc->status);
}

static void mad_came(struct ib_mad_agent *agent, struct ib_mad_send_buf *send,
		     struct ib_mad_recv_wc *recv)
{
	ib_free_recv_mad(recv);
}

static void prepare_mad(void)
{
	struct ib_mad_hdr *mad;

	all.agent = ib_register_mad_agent(all.device, 1, IB_QPT_GSI, NULL, 0, mad_told,
					  mad_came, NULL, 0);
	assert_false(IS_ERR(all.agent));
	all.mad_ah = site_ah(all.q[0].pd, 0x3333);
	all.mad_buf = site_sa_request(all.agent, all.mad_ah, IB_MGMT_METHOD_GET,
				      IB_SA_ATTR_CLASS_PORTINFO, LONG_MS);
	mad = all.mad_buf->mad;
	mad->tid = cpu_to_be64(77);
}

/* -- ids of rdma_cm -------------------------------------------------------------------- */

static int cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct cm *c = id->context;

	c->joins += event->event == RDMA_CM_EVENT_MULTICAST_JOIN;
	c->errors += event->event == RDMA_CM_EVENT_MULTICAST_ERROR;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		waiter_told(&c->w, event->status);
	else
		complete(&c->ready);
	return c->destroys && event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
}

static struct sockaddr_in ip(u32 address)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(address) };
}

#define OWN_ADDRESS   0xc6120002u /* 198.18.0.2: the second node */
#define OTHER_ADDRESS 0xc6120003u

static void cm_begin(struct cm *c)
{
	struct sockaddr_in own = ip(OWN_ADDRESS);

	waiter_init(&c->w);
	init_completion(&c->ready);
	c->id = rdma_create_id(kapi_node_net(VICTIM), cm_event, c, RDMA_PS_UDP,
			       IB_QPT_UD);
	assert_false(IS_ERR(c->id));
	assert_int_equal(rdma_bind_addr(c->id, (struct sockaddr *)&own), 0);
	assert_ptr_equal(c->id->device, all.device);
}

static int cm_join(struct cm *c, u32 group)
{
	struct sockaddr_in to = ip(group);

	return rdma_join_multicast(c->id, (struct sockaddr *)&to, BIT(FULLMEMBER_JOIN),
				   c);
}

/* Bound; bound and joined, twice; about to join and to resolve; ended by its handler. */
static void begin_ids(void)
{
	for (int i = 0; i < IDS; i++)
		cm_begin(&all.ids[i]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cm_join(&all.ids[1], 0xef010101 + i), 0);
		assert_true(wait_for_completion_timeout(&all.ids[1].ready, DEADLINE));
	}
	assert_int_equal(all.ids[1].joins, 2);
	all.ids[3].destroys = true;
}

/* -- the moment ------------------------------------------------------------------------ */

/* On the loop, in a callback: no answer to what is begun here can come before the device
 * goes. */
static void begin_and_unplug(void)
{
	struct sockaddr_in to = ip(OTHER_ADDRESS);

	for (int i = 0; i < MEMBERS; i++)
		join(&all.joining[i], mcmember_group(2, i / 2));
	ask();
	ib_post_send_mad(all.mad_buf, NULL);
	cm_join(&all.ids[2], 0xef010109);
	rdma_resolve_addr(all.ids[2].id, NULL, (struct sockaddr *)&to, LONG_MS);
	cm_join(&all.ids[3], 0xef01010a);
	all.unplugged = kapi_device_unplug(all.device);
}

/* -- the consumer ---------------------------------------------------------------------- */

/* Whatever it tells: it is there to be given back in the removal. */
static void device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	assert_ptr_equal(event->device, all.device);
}

static int add(struct ib_device *device)
{
	if (strcmp(device->name, "vib0"))
		return -EOPNOTSUPP;
	all.adds++;
	all.device = device;
	INIT_IB_EVENT_HANDLER(&all.events, device, device_event);
	ib_register_event_handler(&all.events);
	ib_set_client_data(device, client, &all);
	return 0;
}

/* Told once, and no more. */
static void assert_ended(struct waiter *w, int calls)
{
	assert_true(wait_for_completion_timeout(&w->done, DEADLINE));
	assert_int_equal(w->calls, calls);
}

static bool is_an_end(int status)
{
	return status == -ENETRESET || status == -EINTR || status == -ENODEV;
}

static void check_members(void)
{
	for (int i = 0; i < MEMBERS; i++) {
		assert_ended(&all.joined[i].w, 2);
		assert_int_equal(all.joined[i].w.status, -ENETRESET);
		assert_ended(&all.joining[i].w, 1);
		assert_true(is_an_end(all.joining[i].w.status));
	}
	assert_ended(&all.path, 1);
	assert_true(is_an_end(all.path.status));
	assert_ended(&all.service, 1);
	assert_true(is_an_end(all.service.status));
	ib_sa_cancel_query(all.path_id, all.path_query); /* harmless */
	assert_ended(&all.mad, 1);
	assert_int_not_equal(all.mad.status, IB_WC_SUCCESS);
}

static void check_ids(void)
{
	struct sockaddr_in own = ip(OWN_ADDRESS);

	for (int i = 0; i < IDS; i++)
		assert_ended(&all.ids[i].w, 1);
	assert_int_equal(all.ids[1].joins, 2);
	for (int i = 0; i < IDS; i++)
		assert_int_equal(all.ids[i].errors, 0);
	assert_int_equal(all.ids[2].joins + all.ids[3].joins, 0);
	assert_int_equal(rdma_bind_addr(all.ids[0].id, (struct sockaddr *)&own), -EINVAL);
	assert_int_equal(cm_join(&all.ids[1], 0xef010102), -EINVAL);
}

/* What is asked for anew finds nothing; what is there can be looked at. */
static void check_nothing_begins(void)
{
	struct ib_sa_mcmember_rec rec = { .join_state = BIT(FULLMEMBER_JOIN) };
	struct sa_path_rec path = { .numb_path = 1 };
	union ib_gid group = mcmember_group(1, 0);
	struct ib_sa_query *query;
	struct ib_mad_agent *agent;
	struct member late;
	struct ib_pd *pd;

	assert_int_equal(PTR_ERR(join(&late, group)), -ENODEV);
	assert_int_equal(ib_sa_get_mcmember_rec(all.device, 1, &group, &rec), -ENODEV);
	assert_true(ib_sa_path_rec_get(&all.sa, all.device, 1, &path, 0, 100, GFP_KERNEL,
				       path_told, NULL, &query) < 0);
	agent = ib_register_mad_agent(all.device, 1, IB_QPT_GSI, NULL, 0, mad_told,
				      mad_came, NULL, 0);
	assert_true(IS_ERR(agent));
	pd = ib_alloc_pd(all.device, 0);
	assert_true(IS_ERR(pd));
	assert_true(ib_attach_mcast(all.q[0].qp, &group, 0xc123) < 0);
	assert_int_equal(all.path.calls, 1);
}

static void check_queue_pair(struct site_qp *q)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct ib_wc wc;

	/* All that was posted comes back, once. */
	for (int i = 0; i < SITE_DEPTH; i++) {
		harness_until(ib_poll_cq(q->cq, 1, &wc) == 1, 5000, harness_pause());
		assert_int_equal(wc.status, IB_WC_WR_FLUSH_ERR);
		assert_ptr_equal(wc.qp, q->qp);
	}
	assert_int_equal(ib_poll_cq(q->cq, 1, &wc), 0);
	if (ib_query_qp(q->qp, &attr, IB_QP_STATE, &init) == 0)
		assert_int_equal(attr.qp_state, IB_QPS_ERR);
	assert_int_equal(ib_destroy_qp(q->qp), -EBUSY);
}

static void attach(struct site_qp *q, struct member *m)
{
	union ib_gid mgid = m->rec.mgid;

	assert_int_equal(ib_attach_mcast(q->qp, &mgid, be16_to_cpu(m->rec.mlid)), 0);
}

static void detach(struct site_qp *q, struct member *m)
{
	union ib_gid mgid = m->rec.mgid;

	assert_int_equal(ib_detach_mcast(q->qp, &mgid, be16_to_cpu(m->rec.mlid)), 0);
}

static void give_back(void)
{
	for (int i = 0; i < MEMBERS; i++) {
		ib_sa_free_multicast(all.joined[i].multicast);
		ib_sa_free_multicast(all.joining[i].multicast);
	}
	ib_sa_free_multicast(all.trigger.multicast);
	for (int i = 0; i < IDS; i++)
		if (!all.ids[i].destroys)
			rdma_destroy_id(all.ids[i].id);
	ib_unregister_mad_agent(all.agent);
	ib_free_send_mad(all.mad_buf);
	rdma_destroy_ah(all.mad_ah, 0);
	for (int i = 0; i < 2; i++) {
		detach(&all.q[i], &all.joined[0]);
		detach(&all.q[i], &all.joined[2]);
		site_qp_destroy(&all.q[i]);
	}
}

/* The test goes on while this waits: what it finds it must say from its own thread. */
static void remove_one(struct ib_device *device, void *data)
{
	all.removes++;
	all.given = data;
	if (all.events.device)
		ib_unregister_event_handler(&all.events);
	complete(&all.removed);
	wait_for_completion(&all.looked_at);
}

static int open_fabric(void **state)
{
	const struct kapi_site_config config = { .nodes = NODES };

	memset(&all, 0, sizeof(all));
	init_completion(&all.removed);
	init_completion(&all.looked_at);
	waiter_init(&all.path);
	waiter_init(&all.service);
	waiter_init(&all.mad);
	all.client =
		(struct ib_client){ .name = "all", .add = add, .remove = remove_one };
	return kapi_site_open(&config);
}

static int close_fabric(void **state)
{
	return kapi_site_close();
}

static int keep_one(struct ib_device *device)
{
	if (strcmp(device->name, "vroce0"))
		return -EOPNOTSUPP;
	all.device = device;
	return 0;
}

static void check_roce(struct site_qp *q, struct cm *c, union ib_gid *group)
{
	struct sockaddr_in to = ip(0xef010203);

	assert_ended(&c->w, 1);
	assert_int_equal(c->joins, 1);
	check_queue_pair(q);
	assert_true(ib_attach_mcast(q->qp, group, 0) < 0); /* again */
	assert_int_equal(ib_detach_mcast(q->qp, group, 0), 0);
	assert_int_equal(ib_detach_mcast(q->qp, group, 0), -EINVAL);
	site_qp_destroy(q);
	rdma_leave_multicast(c->id, (struct sockaddr *)&to);
	rdma_destroy_id(c->id);
}

/* RoCE has no administrator: memberships end without a word, groups without their entries
 * in the tables. */
static void a_roce_device_goes_from_beneath_its_groups(void **state)
{
	union ib_gid group = site_group(9);
	struct sockaddr_in own = ip(INADDR_LOOPBACK), to = ip(0xef010203);
	struct cm c = { .id = NULL };
	struct site_qp q;

	all.client.add = keep_one;
	assert_int_equal(ib_register_client(client), 0);
	site_qp_create(&q, all.device);
	assert_int_equal(ib_attach_mcast(q.qp, &group, 0), 0);
	waiter_init(&c.w);
	init_completion(&c.ready);
	c.id = rdma_create_id(&init_net, cm_event, &c, RDMA_PS_UDP, IB_QPT_UD);
	assert_false(IS_ERR(c.id));
	assert_int_equal(rdma_bind_addr(c.id, (struct sockaddr *)&own), 0);
	assert_int_equal(rdma_join_multicast(c.id, (struct sockaddr *)&to,
					     BIT(FULLMEMBER_JOIN), &c),
			 0);
	assert_true(wait_for_completion_timeout(&c.ready, DEADLINE));
	ib_set_client_data(all.device, client, &all);
	assert_int_equal(kapi_device_unplug(all.device), 0);
	assert_true(wait_for_completion_timeout(&all.removed, DEADLINE));
	check_roce(&q, &c, &group);
	complete(&all.looked_at);
	ib_unregister_client(client);
	assert_int_equal(all.removes, 1);
}

static int count_adds(struct ib_device *device)
{
	all.adds++;
	return 0;
}

static void count_removes(struct ib_device *device, void *data)
{
	all.removes++;
	complete(&all.removed);
}

/* One that was registered later than the `index`th: until its clients have let go, the old
 * one is found by the name, too. */
static bool has_come_back(unsigned int index)
{
	struct ib_device *device = ib_device_get_by_name("vroce0", RDMA_DRIVER_UNKNOWN);
	bool later = device && device->index > index;

	if (device)
		ib_device_put(device);
	return later;
}

/* The loopback's comes back when the machine's addresses are read. */
static void a_device_that_comes_back_is_added(void **state)
{
	struct ib_device *device;
	int devices;

	all.client.add = count_adds;
	all.client.remove = count_removes;
	assert_int_equal(ib_register_client(client), 0);
	devices = all.adds; /* vroce0, vib0, and those of interfaces */
	assert_true(devices >= 2);
	for (int round = 1; round <= 3; round++) {
		unsigned int index;

		device = site_device("vroce0");
		index = device->index;
		assert_int_equal(kapi_device_unplug(device), 0);
		assert_int_equal(kapi_device_unplug(device), -ENODEV);
		assert_true(wait_for_completion_timeout(&all.removed, DEADLINE));
		assert_int_equal(all.removes, round);
		ib_device_put(device);
		/* A device of the node, which one does not matter. */
		device = site_device("vib0");
		rdma_roce_rescan_device(device);
		ib_device_put(device);
		harness_until(has_come_back(index), 5000, harness_pause());
	}
	ib_unregister_client(client);
	assert_int_equal(all.adds, devices + 3);
	assert_int_equal(all.removes, devices + 3);
}

/* Whoever holds a device keeps it from being forgotten, not from going. */
static void a_reference_outlasts_the_removal(void **state)
{
	struct ib_device *device;
	struct ib_port_attr attr;

	all.client.add = count_adds;
	all.client.remove = count_removes;
	kapi_node_enter(VICTIM);
	assert_int_equal(ib_register_client(client), 0);
	device = site_device("vib0");
	assert_int_equal(kapi_device_unplug(device), 0);
	assert_true(wait_for_completion_timeout(&all.removed, DEADLINE));
	assert_int_equal(ib_query_port(device, 1, &attr), 0);
	assert_int_not_equal(attr.state, IB_PORT_ACTIVE);
	harness_until(!ib_device_try_get(device) || (ib_device_put(device), false), 5000,
		      harness_pause());
	ib_device_put(device);
	ib_unregister_client(client);
	assert_int_equal(all.removes, 1);
	kapi_node_enter(0);
}

static void a_consumers_own_device_is_not_unplugged(void **state)
{
	struct fake *f = fake_create(IB_LINK_LAYER_ETHERNET, IB_LINK_LAYER_ETHERNET);

	assert_int_equal(ib_register_device(&f->ib, "fake%d", NULL), 0);
	assert_int_equal(kapi_device_unplug(&f->ib), -EOPNOTSUPP);
	ib_unregister_device(&f->ib);
	fake_destroy(f);
}

static void everything_on_a_device_ends_with_it(void **state)
{
	struct ib_device *other;
	struct ib_port_attr port;

	ib_sa_register_client(&all.sa);
	assert_int_equal(kapi_node_enter(VICTIM), 0);
	assert_int_equal(ib_register_client(client), 0);
	assert_int_equal(all.adds, 1);
	for (int i = 0; i < MEMBERS; i++)
		join_now(&all.joined[i], mcmember_group(1, i / 2));
	for (int i = 0; i < 2; i++) {
		site_qp_create(&all.q[i], all.device);
		attach(&all.q[i], &all.joined[0]);
		attach(&all.q[i], &all.joined[2]);
	}
	prepare_mad();
	begin_ids();
	all.trigger.once_joined = begin_and_unplug;
	assert_false(IS_ERR(join(&all.trigger, mcmember_group(4, 0))));
	assert_true(wait_for_completion_timeout(&all.removed, DEADLINE));
	/* Its callback, which has done all that, has returned. */
	assert_true(wait_for_completion_timeout(&all.trigger.w.done, DEADLINE));
	assert_int_equal(all.unplugged, 0);
	assert_ptr_equal(all.given, &all);
	check_members();
	check_ids();
	check_nothing_begins();
	check_queue_pair(&all.q[0]);
	check_queue_pair(&all.q[1]);
	give_back();
	complete(&all.looked_at);
	/* Gone for this node, there for the others, who can still join. */
	ib_unregister_client(client); /* after the removal */
	assert_null(ib_device_get_by_name("vib0", RDMA_DRIVER_UNKNOWN));
	assert_int_equal(all.removes, 1);
	kapi_node_enter(2);
	other = site_device("vib0");
	assert_int_equal(ib_query_port(other, 1, &port), 0);
	assert_int_equal(port.state, IB_PORT_ACTIVE);
	all.device = other;
	join_now(&all.joined[0], mcmember_group(1, 0));
	ib_sa_free_multicast(all.joined[0].multicast);
	ib_device_put(other);
	kapi_node_enter(0);
	ib_sa_unregister_client(&all.sa);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fabric, close_fabric)
	const struct CMUnitTest tests[] = {
		TEST(everything_on_a_device_ends_with_it),
		TEST(a_roce_device_goes_from_beneath_its_groups),
		TEST(a_device_that_comes_back_is_added),
		TEST(a_reference_outlasts_the_removal),
		TEST(a_consumers_own_device_is_not_unplugged),
	};

	return harness_run(tests);
}
