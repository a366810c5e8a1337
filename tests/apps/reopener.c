// SPDX-License-Identifier: BSD-2-Clause
// links: apps_client
/*
 * A member of a group that outlives verbcastd: when its device is gone it sees to the end
 * what was posted, gives everything back, and opens the device again as soon as there is
 * another verbcastd.
 *
 *	reopener GROUP poll|wait
 *
 * poll: sends, and polls. wait: sleeps in ibv_get_cq_event. In its n-th life it says
 * "life n", "heard n" when something of others has come, "fatal n" after
 * IBV_EVENT_DEVICE_FATAL and "flushed n" when every receive has completed. It ends by
 * itself when from one life to the next it holds more.
 */

#include "client.h"

#define DEPTH      64u
#define HEAP_SLACK 65536u
#define SETTLED    3u /* lives until what libraries keep for good is there */

struct life {
	unsigned int number;
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_ah *ah;
	struct client_qp q; /* its cq sees its sends only */
	unsigned int posted;
	bool heard, waits;
};

static union ibv_gid group;

static void say(const char *what, const struct life *l)
{
	printf("%s %u\n", what, l->number);
}

/* -- opening, closing ------------------------------------------------------------------ */

/* Null while there is no verbcastd. */
static struct ibv_context *try_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	if (list && list[0])
		context = ibv_open_device(list[0]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static struct ibv_qp *create_qp(struct life *l)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(l->q.pd, &attr);
}

/* False: verbcastd is gone again, or is not quite there. */
static bool begin(struct life *l)
{
	const size_t bytes = (CLIENT_GRH + CLIENT_BYTES) * (DEPTH + 1);

	l->context = try_open();
	if (!l->context)
		return false;
	CHECK(l->q.pd = ibv_alloc_pd(l->context));
	CHECK(l->channel = ibv_create_comp_channel(l->context));
	CHECK(l->cq = ibv_create_cq(l->context, DEPTH + 8, NULL, l->channel, 0));
	CHECK(l->q.qp = create_qp(l));
	CHECK(l->q.memory = calloc(1, bytes));
	CHECK(l->q.mr = ibv_reg_mr(l->q.pd, l->q.memory, bytes, IBV_ACCESS_LOCAL_WRITE));
	l->q.cq = l->q.send_cq = l->cq;
	l->q.depth = DEPTH;
	client_to_state(l->q.qp, IBV_QPS_RTS, CLIENT_QKEY);
	CHECK(!ibv_attach_mcast(l->q.qp, &group, 0));
	CHECK(l->ah = client_ah(l->q.pd, &group));
	client_post_recvs(&l->q, DEPTH);
	l->posted = DEPTH;
	return true;
}

/* What is left of a lost device goes as if it were there. */
static void end(struct life *l)
{
	CHECK(!ibv_destroy_ah(l->ah));
	CHECK(!ibv_destroy_qp(l->q.qp));
	CHECK(!ibv_destroy_cq(l->cq));
	CHECK(!ibv_destroy_comp_channel(l->channel));
	CHECK(!ibv_dereg_mr(l->q.mr));
	CHECK(!ibv_dealloc_pd(l->q.pd));
	CHECK(!ibv_close_device(l->context));
	free(l->q.memory);
}

/* -- a life ------------------------------------------------------------------------------ */

/* Returns whether the device is lost. */
static bool take(struct life *l, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		CHECK(wc->status == IBV_WC_WR_FLUSH_ERR);
		l->posted--;
		return true;
	}
	CHECK(wc->opcode == IBV_WC_RECV);
	CHECK(wc->byte_len == CLIENT_GRH + CLIENT_BYTES);
	if (!l->heard && wc->src_qp != l->q.qp->qp_num) {
		l->heard = true;
		say("heard", l);
	}
	if (client_post_recv(&l->q, (unsigned int)wc->wr_id)) {
		l->posted--;
		return true;
	}
	return false;
}

static bool take_all(struct life *l)
{
	struct ibv_wc wc;
	bool lost = false;
	int n;

	while ((n = ibv_poll_cq(l->cq, 1, &wc)) > 0)
		lost |= take(l, &wc);
	CHECK(n == 0);
	return lost;
}

/* Unsignalled; false: refused, as by a lost device. */
static bool send_one(struct life *l)
{
	struct ibv_sge sge = { .addr = (uintptr_t)l->q.memory +
				       (CLIENT_GRH + CLIENT_BYTES) * DEPTH,
			       .length = CLIENT_BYTES,
			       .lkey = l->q.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = l->ah,
			   .remote_qpn = 0xffffff,
			   .remote_qkey = CLIENT_QKEY },
	};

	return !ibv_post_send(l->q.qp, &wr, &bad);
}

static void live_polling(struct life *l)
{
	while (send_one(l) && !take_all(l))
		client_pause();
}

static void live_waiting(struct life *l)
{
	struct ibv_cq *cq;
	void *context;

	do {
		CHECK(!ibv_req_notify_cq(l->cq, 0));
		if (take_all(l))
			return;
		CHECK(!ibv_get_cq_event(l->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	} while (!take_all(l));
}

static void expect_fatal(struct life *l)
{
	struct ibv_async_event event;

	do {
		CHECK(!ibv_get_async_event(l->context, &event));
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	say("fatal", l);
}

static void expect_flushed(struct life *l)
{
	const uint64_t deadline = client_now_ms() + CLIENT_LONG_MS;

	while (l->posted) {
		take_all(l);
		CHECK(client_now_ms() < deadline);
		client_pause();
	}
	say("flushed", l);
}

static void live(struct life *l)
{
	while (!begin(l))
		client_pause();
	say("life", l);
	if (l->waits)
		live_waiting(l);
	else
		live_polling(l);
	expect_fatal(l);
	expect_flushed(l);
	end(l);
}

/* The thread that heard of verbcastd's end gives back what was its own in its own time. */
static bool holds_more(const struct client_holdings *before)
{
	const uint64_t deadline = client_now_ms() + CLIENT_LONG_MS;

	while (client_descriptors(0) > before->descriptors ||
	       (!client_sanitized() && client_heap() > before->heap + HEAP_SLACK)) {
		if (client_now_ms() > deadline)
			return true;
		client_pause();
	}
	return false;
}

int main(int argc, char **argv)
{
	struct client_holdings before = { 0 };

	CHECK(argc == 3);
	setvbuf(stdout, NULL, _IOLBF, 0);
	group = client_gid(argv[1]);
	for (unsigned int n = 1;; n++) {
		struct life l = { .number = n, .waits = argv[2][0] == 'w' };

		live(&l);
		if (n == SETTLED) {
			before.heap = client_heap();
			before.descriptors = client_descriptors(0);
		}
		CHECK(n < SETTLED || !holds_more(&before));
	}
}
