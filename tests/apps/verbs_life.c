// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * Objects of libibverbs from creation to destruction: who may be destroyed when, what the
 * descriptors tell, what a fork leaves usable, and what happens when verbcastd dies (with
 * the argument "death": says so on standard output, and waits for it).
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define GRH_BYTES 40
#define BYTES     64
#define DEPTH     16

/* A device, and a queue pair that can send to itself. */
struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	char buffer[2 * BYTES + GRH_BYTES];
};

static struct ibv_ah *ah_to_self(struct end *e)
{
	struct ibv_gid_entry gid;

	CHECK(ibv_query_gid_table(e->context, &gid, 1, 0) == 1);
	return client_ah(e->pd, &gid.gid);
}

static void end_open(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	e->context = client_open();
	CHECK(e->pd = ibv_alloc_pd(e->context));
	CHECK(e->channel = ibv_create_comp_channel(e->context));
	CHECK(e->cq = ibv_create_cq(e->context, 2 * DEPTH, e, e->channel, 0));
	attr.send_cq = attr.recv_cq = e->cq;
	CHECK(e->qp = ibv_create_qp(e->pd, &attr));
	client_to_state(e->qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(e->mr = ibv_reg_mr(e->pd, e->buffer, sizeof(e->buffer),
				 IBV_ACCESS_LOCAL_WRITE));
	CHECK(e->ah = ah_to_self(e));
}

static void end_close(struct end *e)
{
	CHECK(!ibv_destroy_ah(e->ah));
	CHECK(!ibv_destroy_qp(e->qp));
	CHECK(!ibv_destroy_cq(e->cq));
	CHECK(!ibv_destroy_comp_channel(e->channel));
	CHECK(!ibv_dereg_mr(e->mr));
	CHECK(!ibv_dealloc_pd(e->pd));
	CHECK(!ibv_close_device(e->context));
}

static int post_recv(struct end *e)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buffer + BYTES,
			       .length = BYTES + GRH_BYTES,
			       .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

static int post_send(struct end *e)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buffer,
			       .length = BYTES,
			       .lkey = e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.ud.ah = e->ah;
	wr.wr.ud.remote_qpn = e->qp->qp_num;
	wr.wr.ud.remote_qkey = CLIENT_QKEY;
	return ibv_post_send(e->qp, &wr, &bad);
}

/* Both completions of a message to oneself. */
static void drain_pair(struct end *e)
{
	uint64_t end = client_now_ms() + CLIENT_LONG_MS;
	unsigned int seen = 0;
	struct ibv_wc wc;

	while (seen != 3) {
		int n = ibv_poll_cq(e->cq, 1, &wc);

		CHECK(n >= 0 && client_now_ms() < end);
		if (!n)
			continue;
		CHECK(wc.status == IBV_WC_SUCCESS);
		CHECK(!(seen & wc.wr_id));
		seen |= wc.wr_id;
		if (wc.wr_id == 1)
			CHECK(wc.byte_len == BYTES + GRH_BYTES &&
			      wc.wc_flags & IBV_WC_GRH && wc.src_qp == e->qp->qp_num);
	}
	CHECK(!memcmp(e->buffer, e->buffer + BYTES + GRH_BYTES, BYTES));
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	CHECK(!fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

static void the_used_outlives_its_users(void)
{
	struct end e;

	end_open(&e);
	CHECK(ibv_dealloc_pd(e.pd) == EBUSY);
	CHECK(ibv_destroy_cq(e.cq) == EBUSY);
	CHECK(ibv_destroy_comp_channel(e.channel) == EBUSY);
	end_close(&e);
}

static void a_message_to_oneself_arrives(void)
{
	struct end e;

	end_open(&e);
	memset(e.buffer, 'x', BYTES);
	CHECK(!post_recv(&e));
	CHECK(!post_send(&e));
	drain_pair(&e);
	end_close(&e);
}

static void the_descriptor_tells_of_events_exactly(void)
{
	struct ibv_cq *cq;
	struct end e;
	void *context;

	end_open(&e);
	CHECK(fcntl(e.channel->fd, F_GETFD) & FD_CLOEXEC);
	set_nonblocking(e.channel->fd, true);
	errno = 0;
	CHECK(ibv_get_cq_event(e.channel, &cq, &context) == -1 && errno == EAGAIN);
	CHECK(!ibv_req_notify_cq(e.cq, 0));
	CHECK(!readable(e.channel->fd, 0));
	CHECK(!post_recv(&e) && !post_send(&e));
	CHECK(readable(e.channel->fd, CLIENT_LONG_MS));
	CHECK(!ibv_get_cq_event(e.channel, &cq, &context));
	CHECK(cq == e.cq && context == &e);
	CHECK(!readable(e.channel->fd,
			0)); /* one event an arming, not one a completion */
	drain_pair(&e);
	CHECK(!post_recv(&e) && !post_send(&e));
	drain_pair(&e);
	CHECK(!readable(e.channel->fd, 0)); /* not armed again */
	ibv_ack_cq_events(e.cq, 1);
	end_close(&e);
}

static void an_unfetched_event_goes_with_its_queue(void)
{
	struct end e;

	end_open(&e);
	CHECK(!ibv_req_notify_cq(e.cq, 0));
	CHECK(!post_recv(&e) && !post_send(&e));
	CHECK(readable(e.channel->fd, CLIENT_LONG_MS));
	CHECK(!ibv_destroy_ah(e.ah) && !ibv_destroy_qp(e.qp));
	CHECK(!ibv_destroy_cq(e.cq));
	CHECK(!readable(e.channel->fd, 0));
	CHECK(!ibv_destroy_comp_channel(e.channel));
	CHECK(!ibv_dereg_mr(e.mr) && !ibv_dealloc_pd(e.pd));
	CHECK(!ibv_close_device(e.context));
}

static void on_signal(int sig)
{
}

struct waiter {
	struct end *end;
	atomic_int result; /* -2: still waiting */
	atomic_int error;
};

static void *wait_event(void *arg)
{
	struct waiter *w = arg;
	struct ibv_cq *cq;
	void *context;
	int r = ibv_get_cq_event(w->end->channel, &cq, &context);

	w->error = errno;
	if (!r)
		ibv_ack_cq_events(cq, 1);
	w->result = r;
	return NULL;
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void a_blocked_thread_is_woken_by_an_event(void)
{
	struct waiter w = { .result = -2 };
	pthread_t thread;
	struct end e;

	end_open(&e);
	w.end = &e;
	CHECK(!ibv_req_notify_cq(e.cq, 0));
	CHECK(!pthread_create(&thread, NULL, wait_event, &w));
	CHECK(!post_recv(&e) && !post_send(&e));
	CHECK(!pthread_join(thread, NULL));
	CHECK(w.result == 0);
	drain_pair(&e);
	end_close(&e);
}

static void a_blocked_thread_is_interrupted_by_a_signal(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct waiter w = { .result = -2 };
	pthread_t thread;
	struct end e;

	CHECK(!sigaction(SIGUSR1, &act, NULL));
	end_open(&e);
	w.end = &e;
	CHECK(!pthread_create(&thread, NULL, wait_event, &w));
	while (w.result == -2) {
		pthread_kill(thread, SIGUSR1);
		pause_briefly();
	}
	CHECK(!pthread_join(thread, NULL));
	CHECK(w.result == -1 && w.error == EINTR);
	end_close(&e);
}

static void *destroy_cq(void *arg)
{
	struct waiter *w = arg;

	w->result = ibv_destroy_cq(w->end->cq);
	return NULL;
}

/* It cannot be seen that a call waits; but it must not have returned after a while. */
static void destroying_waits_for_acknowledgement(void)
{
	struct waiter w = { .result = -2 };
	struct ibv_cq *cq;
	pthread_t thread;
	struct end e;
	void *context;

	end_open(&e);
	w.end = &e;
	CHECK(!ibv_req_notify_cq(e.cq, 0));
	CHECK(!post_recv(&e) && !post_send(&e));
	CHECK(!ibv_get_cq_event(e.channel, &cq, &context));
	CHECK(!ibv_destroy_ah(e.ah) && !ibv_destroy_qp(e.qp));
	CHECK(!pthread_create(&thread, NULL, destroy_cq, &w));
	for (int i = 0; i < 50; i++)
		pause_briefly();
	CHECK(w.result == -2);
	ibv_ack_cq_events(cq, 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK(w.result == 0);
	CHECK(!ibv_destroy_comp_channel(e.channel));
	CHECK(!ibv_dereg_mr(e.mr) && !ibv_dealloc_pd(e.pd));
	CHECK(!ibv_close_device(e.context));
}

/* In the child: what was inherited says so, and releasing it does no harm. */
static void inherited_objects_fail_cleanly(struct end *e)
{
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	CHECK(post_send(e) == ENODEV);
	CHECK(post_recv(e) == ENODEV);
	CHECK(ibv_poll_cq(e->cq, 1, &wc) < 0);
	CHECK(ibv_req_notify_cq(e->cq, 0) == ENODEV);
	CHECK(ibv_query_device(e->context, &device) == ENODEV);
	CHECK(ibv_query_port(e->context, 1, &port) == ENODEV);
	CHECK(ibv_get_cq_event(e->channel, &cq, &context) == -1 && errno == ENODEV);
	CHECK(!ibv_alloc_pd(e->context) && errno == ENODEV);
	CHECK(!ibv_create_cq(e->context, 1, NULL, NULL, 0) && errno == ENODEV);
	CHECK(!ibv_create_ah(e->pd, &(struct ibv_ah_attr){ .port_num = 1 }) &&
	      errno == ENODEV);
	end_close(e);
}

static int child_status(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	return status;
}

/* The parent's objects outlive the child that released its copies of them; and the child
 * starts afresh, with a device list of before the fork, too. */
static void a_forked_child_starts_afresh(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *again;
	struct end e;
	pid_t child;

	end_open(&e);
	CHECK(!post_recv(&e));
	fflush(stdout);
	child = fork();
	if (!child) {
		inherited_objects_fail_cleanly(&e);
		again = ibv_open_device(list[0]);
		CHECK(again && !ibv_close_device(again));
		a_message_to_oneself_arrives();
		ibv_free_device_list(list);
		_exit(0); /* what the parent's engine had, the child does not free */
	}
	CHECK(child_status(child) == 0);
	CHECK(!post_send(&e));
	drain_pair(&e);
	ibv_free_device_list(list);
	end_close(&e);
}

static void a_child_that_does_nothing_takes_nothing_along(void)
{
	struct end e;
	pid_t child;

	end_open(&e);
	child = fork();
	if (!child)
		_exit(0);
	CHECK(child_status(child) == 0);
	CHECK(!post_recv(&e) && !post_send(&e));
	drain_pair(&e);
	end_close(&e);
}

/* Closing a device over a queue pair ends what the queue pair does. */
static void a_closed_device_leaves_memory_alone(void)
{
	static struct end left; /* its objects are never freed: let them be seen */
	struct end e;

	end_open(&left);
	CHECK(!post_recv(&left));
	memset(left.buffer, 0, sizeof(left.buffer));
	CHECK(!ibv_close_device(left.context));
	end_open(&e);
	memset(e.buffer, 'y', BYTES);
	CHECK(!post_recv(&e) && !post_send(&e));
	drain_pair(&e);
	for (unsigned int i = 0; i < sizeof(left.buffer); i++)
		CHECK(!left.buffer[i]);
	end_close(&e);
}

static void errors_have_the_dialect_of_their_call(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	union ibv_gid gid;
	struct ibv_gid_entry entry;
	uint16_t pkey;
	struct end e;

	end_open(&e);
	CHECK(ibv_query_gid(e.context, 1, 10000, &gid) == -1);
	CHECK(ibv_query_gid(e.context, 2, 0, &gid) == -1);
	CHECK(ibv_query_gid_ex(e.context, 2, 0, &entry, 0) == EINVAL);
	CHECK(ibv_query_gid_ex(e.context, 1, 0, &entry, 1) == EINVAL);
	CHECK(ibv_query_gid_table(e.context, &entry, 0, 0) == -EINVAL);
	CHECK(ibv_query_pkey(e.context, 1, 0, &pkey) == 0 && pkey == 0xffff);
	CHECK(ibv_query_pkey(e.context, 1, 10000, &pkey) == -1);
	CHECK(ibv_get_pkey_index(e.context, 1, 0xffff) == 0);
	CHECK(ibv_get_pkey_index(e.context, 1, 0x1234) == -1);
	CHECK(!ibv_create_cq(e.context, 0, NULL, NULL, 0) && errno == EINVAL);
	CHECK(!ibv_create_cq(e.context, 1, NULL, NULL, e.context->num_comp_vectors) &&
	      errno == EINVAL);
	CHECK(!ibv_reg_mr(e.pd, e.buffer, 0, 0) && errno == EINVAL);
	CHECK(!ibv_reg_mr(e.pd, e.buffer, 1, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
	CHECK(!ibv_create_ah(e.pd, &(struct ibv_ah_attr){ .port_num = 2 }) &&
	      errno == EINVAL);
	attr.send_cq = attr.recv_cq = e.cq;
	CHECK(!ibv_create_qp(e.pd, &attr) && errno == EOPNOTSUPP);
	CHECK(ibv_attach_mcast(e.qp, &gid, 0) == EINVAL);
	CHECK(ibv_detach_mcast(e.qp, &gid, 0) == EINVAL);
	CHECK(ibv_rereg_mr(e.mr, 0, NULL, NULL, 0, 0) == IBV_REREG_MR_ERR_INPUT);
	CHECK(ibv_resize_cq(e.cq, 0) == EINVAL);
	end_close(&e);
}

static int device_count(void)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);

	CHECK(list);
	ibv_free_device_list(list);
	return n;
}

/* Everything posted comes back flushed, blocked threads included; the device says that
 * it is gone; and the next one opened is a new verbcastd's. */
static void verbcastd_dies(void)
{
	struct waiter w = { .result = -2 };
	struct ibv_async_event event;
	struct ibv_device_attr device;
	pthread_t thread;
	struct ibv_wc wc;
	struct end e;
	uint64_t end;
	int n = 0;

	end_open(&e);
	w.end = &e;
	for (int i = 0; i < DEPTH; i++)
		CHECK(!post_recv(&e));
	CHECK(!ibv_req_notify_cq(e.cq, 0));
	CHECK(!pthread_create(&thread, NULL, wait_event, &w));
	puts("ready");
	fflush(stdout);
	CHECK(!ibv_get_async_event(e.context, &event));
	CHECK(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	CHECK(!pthread_join(thread, NULL) && w.result == 0);
	end = client_now_ms() + CLIENT_LONG_MS;
	while (n < DEPTH) {
		int r = ibv_poll_cq(e.cq, 1, &wc);

		CHECK(r >= 0 && client_now_ms() < end);
		CHECK(!r || wc.status == IBV_WC_WR_FLUSH_ERR);
		n += r;
	}
	CHECK(post_send(&e) != 0);
	CHECK(ibv_query_device(e.context, &device) == ENODEV);
	CHECK(!ibv_alloc_pd(e.context));
	CHECK(device_count() == 0);
	end_close(&e);
	puts("flushed");
	fflush(stdout);
	while (!device_count())
		pause_briefly();
	a_message_to_oneself_arrives();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "death")) {
		verbcastd_dies();
		return 0;
	}
	the_used_outlives_its_users();
	a_message_to_oneself_arrives();
	the_descriptor_tells_of_events_exactly();
	an_unfetched_event_goes_with_its_queue();
	a_blocked_thread_is_woken_by_an_event();
	a_blocked_thread_is_interrupted_by_a_signal();
	destroying_waits_for_acknowledgement();
	errors_have_the_dialect_of_their_call();
	a_closed_device_leaves_memory_alone();
	a_child_that_does_nothing_takes_nothing_along();
	a_forked_child_starts_afresh();
	return 0;
}
