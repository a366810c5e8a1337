// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client apps_alloc
/*
 * The n-th allocation fails, n from 1 up, until a call passes untouched: each time it
 * says ENOMEM, leaves nothing behind, and works when it is tried again.
 *
 *	out_of_memory [FILE]
 *
 * Without a file, allocations of the calling thread fail here; with one, those of a
 * verbcastd which has the allocator preloaded and is told by that file.
 */
#include <fcntl.h>
#include <netdb.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc/alloc.h"
#include "client.h"

#define TRIES_MAX 1000
#define HISTORY   1100

/* What every call finds; made once. */
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct rdma_event_channel *events;
static struct rdma_cm_id *id;
static union ibv_gid gid;
static struct sockaddr_in group;
static char memory[64];

/* What a call makes. */
static struct {
	struct ibv_device **list;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct rdma_addrinfo *info;
} made;

struct act {
	const char *name;
	int (*call)(void); /* 0 or a positive errno */
	void (*undo)(void);
	bool here_only; /* verbcastd has no part in it */
};

static int error_unless(const void *p)
{
	return p ? 0 : errno;
}

/* -- libibverbs --------------------------------------------------------------------- */

static int list_devices(void)
{
	return error_unless(made.list = ibv_get_device_list(NULL));
}

static void free_list(void)
{
	ibv_free_device_list(made.list);
}

static int open_device(void)
{
	return error_unless(made.context = ibv_open_device(context->device));
}

static void close_device(void)
{
	CHECK(!ibv_close_device(made.context));
}

static int alloc_pd(void)
{
	return error_unless(made.pd = ibv_alloc_pd(context));
}

static void dealloc_pd(void)
{
	CHECK(!ibv_dealloc_pd(made.pd));
}

static int create_channel(void)
{
	return error_unless(made.channel = ibv_create_comp_channel(context));
}

static void destroy_channel(void)
{
	CHECK(!ibv_destroy_comp_channel(made.channel));
}

static int create_cq(void)
{
	return error_unless(made.cq = ibv_create_cq(context, 16, NULL, NULL, 0));
}

static void destroy_cq(void)
{
	CHECK(!ibv_destroy_cq(made.cq));
}

static int create_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };

	return error_unless(made.cq_ex = ibv_create_cq_ex(context, &attr));
}

static void destroy_cq_ex(void)
{
	CHECK(!ibv_destroy_cq(ibv_cq_ex_to_cq(made.cq_ex)));
}

static int create_qp(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 4, 4, 1, 1, 0 } };

	return error_unless(made.qp = ibv_create_qp(pd, &attr));
}

static int create_qp_ex(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 16 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return error_unless(made.qp = ibv_create_qp_ex(context, &attr));
}

static void destroy_qp(void)
{
	CHECK(!ibv_destroy_qp(made.qp));
}

static int modify_qp(void)
{
	struct ibv_qp_attr attr = { .qkey = CLIENT_QKEY };

	return ibv_modify_qp(qp, &attr, IBV_QP_QKEY);
}

static int create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return error_unless(made.srq = ibv_create_srq(pd, &attr));
}

static void destroy_srq(void)
{
	CHECK(!ibv_destroy_srq(made.srq));
}

static int reg_mr(void)
{
	return error_unless(
		made.mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
}

static void dereg_mr(void)
{
	CHECK(!ibv_dereg_mr(made.mr));
}

static int rereg_mr(void)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ? errno : 0;
}

static int create_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .dgid = gid, .hop_limit = 64 } };

	return error_unless(made.ah = ibv_create_ah(pd, &attr));
}

static void destroy_ah(void)
{
	CHECK(!ibv_destroy_ah(made.ah));
}

static int attach(void)
{
	return ibv_attach_mcast(qp, &gid, 0);
}

static void detach(void)
{
	CHECK(!ibv_detach_mcast(qp, &gid, 0));
}

/* To a group that another queue pair has already. */
static int attach_second(void)
{
	return ibv_attach_mcast(id->qp, &gid, 0);
}

static void detach_second(void)
{
	CHECK(!ibv_detach_mcast(id->qp, &gid, 0));
}

static void nothing(void)
{
}

/* -- librdmacm ---------------------------------------------------------------------- */

static int create_events(void)
{
	return error_unless(made.events = rdma_create_event_channel());
}

static void destroy_events(void)
{
	rdma_destroy_event_channel(made.events);
}

static int create_id(void)
{
	return rdma_create_id(events, &made.id, NULL, RDMA_PS_UDP) ? errno : 0;
}

static int create_sync_id(void)
{
	return rdma_create_id(NULL, &made.id, NULL, RDMA_PS_UDP) ? errno : 0;
}

static void destroy_id(void)
{
	CHECK(!rdma_destroy_id(made.id));
}

static int create_bound_id(void)
{
	struct sockaddr_in here = client_ipv4("127.0.0.1");
	int error = create_id();

	if (error)
		return error;
	error = rdma_bind_addr(made.id, (struct sockaddr *)&here) ? errno : 0;
	if (error)
		destroy_id();
	return error;
}

static int create_id_qp(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_UD,
					 .cap = { 4, 4, 1, 1, 0 } };
	int error = create_bound_id();

	if (error)
		return error;
	error = rdma_create_qp(made.id, NULL, &attr) ? errno : 0;
	if (error)
		CHECK(!made.id->qp && !made.id->send_cq && !made.id->recv_cq);
	if (error)
		destroy_id();
	return error;
}

static void destroy_id_qp(void)
{
	rdma_destroy_qp(made.id);
	destroy_id();
}

/* Up to the event, which another thread makes: there nothing fails. */
static int join(void)
{
	struct rdma_cm_event *event;
	int error;

	if (rdma_join_multicast(id, (struct sockaddr *)&group, NULL))
		return errno;
	CHECK(!rdma_get_cm_event(events, &event));
	error = event->event == RDMA_CM_EVENT_MULTICAST_JOIN ? 0 : errno;
	CHECK(!rdma_ack_cm_event(event));
	if (error) /* the attach failed; the membership is there */
		CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
	return error;
}

static void leave(void)
{
	CHECK(!rdma_leave_multicast(id, (struct sockaddr *)&group));
}

static int get_info(void)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_UDP,
				       .ai_flags = RAI_NUMERICHOST };
	int r = rdma_getaddrinfo("239.1.29.3", "7174", &hints, &made.info);

	return r == EAI_MEMORY ? ENOMEM : r == -1 ? errno : r;
}

static void free_info(void)
{
	rdma_freeaddrinfo(made.info);
}

static int migrate(void)
{
	return rdma_migrate_id(id, NULL) ? errno : 0;
}

static void migrate_back(void)
{
	CHECK(!rdma_migrate_id(id, events));
}

static const struct act acts[] = {
	{ "ibv_get_device_list", list_devices, free_list, true },
	{ "ibv_open_device", open_device, close_device, false },
	{ "ibv_alloc_pd", alloc_pd, dealloc_pd, false },
	{ "ibv_create_comp_channel", create_channel, destroy_channel, true },
	{ "ibv_create_cq", create_cq, destroy_cq, false },
	{ "ibv_create_cq_ex", create_cq_ex, destroy_cq_ex, false },
	{ "ibv_create_qp", create_qp, destroy_qp, false },
	{ "ibv_create_qp_ex", create_qp_ex, destroy_qp, false },
	{ "ibv_modify_qp", modify_qp, nothing, false },
	{ "ibv_create_srq", create_srq, destroy_srq, false },
	{ "ibv_reg_mr", reg_mr, dereg_mr, false },
	{ "ibv_rereg_mr", rereg_mr, nothing, false },
	{ "ibv_create_ah", create_ah, destroy_ah, true },
	{ "ibv_attach_mcast", attach, detach, false },
	{ "ibv_attach_mcast, second", attach_second, detach_second, false },
	{ "rdma_create_event_channel", create_events, destroy_events, true },
	{ "rdma_create_id", create_id, destroy_id, false },
	{ "rdma_create_id, synchronous", create_sync_id, destroy_id, false },
	{ "rdma_bind_addr", create_bound_id, destroy_id, false },
	{ "rdma_create_qp", create_id_qp, destroy_id_qp, false },
	{ "rdma_join_multicast", join, leave, false },
	{ "rdma_getaddrinfo", get_info, free_info, true },
	{ "rdma_migrate_id", migrate, migrate_back, true },
};

/* -- failing ------------------------------------------------------------------------ */

static struct alloc_control *far; /* verbcastd's; null: it is about us */

static void arm(int n)
{
	if (!far) {
		alloc_fail_at(n);
		return;
	}
	far->failed = 0;
	far->countdown = n;
}

static bool disarm(void)
{
	struct alloc_control *c = far ? far : &alloc_here;

	bool failed = c->failed;

	if (far)
		far->countdown = 0;
	else
		alloc_fail_at(0);
	return failed;
}

static long live(void)
{
	return far ? far->live : alloc_here.live;
}

/* What verbcastd gives back when it has answered already, it has given back before it takes
 * the next request; this one needs no memory. */
static long at_rest(void)
{
	for (int i = 0; i < 2; i++)
		CHECK(!modify_qp());
	return live();
}

static bool settled(long want)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;

	/* What another thread holds for a moment. */
	while (live() != want && client_now_ms() < end)
		client_pause();
	return live() == want;
}

/* False: the call passed with no allocation failing. */
static bool try(const struct act *act, int n, long before)
{
	bool failed;
	int error;

	arm(n);
	error = act->call();
	failed = disarm();
	if (error != (failed ? ENOMEM : 0) && !(failed && !error))
		printf("%s, allocation %d: %s\n", act->name, n, strerror(error));
	/* A failure that a call can do without is none. */
	CHECK(!error || (failed && error == ENOMEM));
	if (!error)
		act->undo();
	if (!settled(before))
		printf("%s, allocation %d: %ld left\n", act->name, n, live() - before);
	CHECK(live() == before);
	if (error) {
		CHECK(!act->call());
		act->undo();
		CHECK(settled(before));
	}
	return failed;
}

static void run(const struct act *act)
{
	unsigned int descriptors;
	long before;
	int n = 1;

	/* What is made once, and what a table has grown to. */
	for (int i = 0; i < 3; i++) {
		CHECK(!act->call());
		act->undo();
	}
	descriptors = client_descriptors(0);
	before = at_rest();
	while (try(act, n, before))
		CHECK(n++ < TRIES_MAX);
	CHECK(client_descriptors(0) == descriptors);
	printf("%s: %d\n", act->name, n - 1);
}

static void set_up(void)
{
	gid = client_gid("239.1.29.1");
	group = client_ipv4("239.1.29.2");
	context = client_open();
	CHECK(pd = ibv_alloc_pd(context));
	CHECK(cq = ibv_create_cq(context, 16, NULL, NULL, 0));
	CHECK(!create_qp());
	qp = made.qp;
	client_to_state(qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!reg_mr());
	mr = made.mr;
	CHECK(events = rdma_create_event_channel());
	id = client_bound_id(events);
	client_id_qp(id, 4);
	/* verbcastd remembers so many who have left, and then forgets the oldest. */
	for (int i = 0; far && i < HISTORY; i++) {
		CHECK(!attach());
		detach();
	}
}

static void tear_down(void)
{
	rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id));
	rdma_destroy_event_channel(events);
	CHECK(!ibv_dereg_mr(mr) && !ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
	CHECK(!ibv_dealloc_pd(pd) && !ibv_close_device(context));
}

static void map_far(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	far = mmap(NULL, sizeof(*far), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(far != MAP_FAILED);
	close(fd);
	CHECK(far->live > 0); /* it is preloaded there */
}

int main(int argc, char **argv)
{
	if (argc == 2)
		map_far(argv[1]);
	set_up();
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!far || !acts[i].here_only)
			run(&acts[i]);
	tear_down();
	return 0;
}
