// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/* Spec/kernel 3.9 and spec/userland 3.4: joins, their events, and what leave waits for. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "fake.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static uint64_t uid;
static struct ibv_qp qp;

static int setup(void **state)
{
	assert_int_equal(fake_setup(state), 0);
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	uid = fake.last_id_uid;
	assert_int_equal(rdma_bind_addr(id, fake_addr("127.0.0.1", 0)), 0);
	return 0;
}

static int teardown(void **state)
{
	id->qp = NULL;
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	return fake_teardown(state);
}

static bool is_readable(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static struct rdma_cm_event *next_event(void)
{
	struct rdma_cm_event *event;

	assert_true(is_readable());
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	return event;
}

static uint64_t join(const char *group, uint16_t port, void *context)
{
	assert_int_equal(rdma_join_multicast(id, fake_addr(group, port), context), 0);
	return fake.last_join_uid;
}

static int leave(const char *group, uint16_t port)
{
	return rdma_leave_multicast(id, fake_addr(group, port));
}

static void bind_fills_the_id(void **state)
{
	assert_non_null(id->verbs);
	assert_non_null(id->pd);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(ntohs(rdma_get_src_port(id)), 4000);
	assert_int_equal(id->route.addr.addr.ibaddr.pkey, 0xffff);
	assert_int_equal(id->route.addr.addr.ibaddr.sgid.raw[15], 1);
}

static void the_event_says_where_to_send(void **state)
{
	struct rdma_cm_event *event;
	int context;

	fake_say_joined(uid, join("239.1.2.3", 0, &context), "239.1.2.3");
	event = next_event();
	assert_int_equal(event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(event->status, 0);
	assert_ptr_equal(event->id, id);
	assert_null(event->listen_id);
	assert_ptr_equal(event->param.ud.private_data, &context);
	assert_int_equal(event->param.ud.private_data_len, 0);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	assert_int_equal(event->param.ud.ah_attr.grh.hop_limit, 64);
	assert_int_equal(event->param.ud.ah_attr.grh.dgid.raw[12], 239);
	assert_int_equal(event->param.ud.ah_attr.port_num, 1);
	rdma_ack_cm_event(event);
	assert_int_equal(leave("239.1.2.3", 0), 0);
}

static void an_event_may_outrun_the_reply(void **state)
{
	int context;

	fake.event_in_join = true;
	join("239.1.2.3", 0, &context);
	rdma_ack_cm_event(next_event());
	assert_int_equal(leave("239.1.2.3", 0), 0);
}

static void the_queue_pair_is_attached_when_the_event_is_fetched(void **state)
{
	struct rdma_cm_event *event;

	id->qp = &qp;
	fake_say_joined(uid, join("239.1.2.3", 0, NULL), "239.1.2.3");
	assert_int_equal(fake_count_verb("attach_mcast"), 0);
	event = next_event();
	assert_int_equal(event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(fake_count_verb("attach_mcast"), 1);
	assert_memory_equal(&fake_last("attach_mcast")->gid,
			    &event->param.ud.ah_attr.grh.dgid, 16);
	rdma_ack_cm_event(event);
	assert_int_equal(leave("239.1.2.3", 0), 0);
	assert_int_equal(fake_count_verb("detach_mcast"), 1);
	assert_int_equal(fake_last("detach_mcast")->gid.raw[12], 239);
}

static void a_queue_pair_that_comes_later_is_not_attached(void **state)
{
	fake_say_joined(uid, join("239.1.2.3", 0, NULL), "239.1.2.3");
	rdma_ack_cm_event(next_event());
	id->qp = &qp;
	assert_int_equal(fake_count_verb("attach_mcast"), 0);
	assert_int_equal(leave("239.1.2.3", 0), 0);
}

static void a_failed_attach_is_an_error_event(void **state)
{
	struct rdma_cm_event *event;
	int context;

	id->qp = &qp;
	fake.attach_result = EINVAL;
	fake_say_joined(uid, join("10.1.2.3", 0, &context), "10.1.2.3");
	errno = 0;
	event = next_event();
	assert_int_equal(errno, EINVAL);
	assert_int_equal(event->event, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_int_equal(event->status, -1);
	assert_ptr_equal(event->param.ud.private_data, &context);
	rdma_ack_cm_event(event);
	assert_int_equal(leave("10.1.2.3", 0), 0);
}

static void send_only_joins_do_not_attach(void **state)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask =
			RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = fake_addr("239.1.2.3", 0),
	};

	id->qp = &qp;
	assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), 0);
	assert_int_equal(fake.calls[fake.call_count - 1].flags, UAPI_CM_JOIN_SENDONLY);
	fake_say_joined(uid, fake.last_join_uid, "239.1.2.3");
	rdma_ack_cm_event(next_event());
	assert_int_equal(leave("239.1.2.3", 0), 0);
	assert_int_equal(fake_count_verb("attach_mcast"), 0);
	assert_int_equal(fake_count_verb("detach_mcast"), 0);
}

static void join_ex_checks_in_the_order_of_stock(void **state)
{
	struct sockaddr unknown = { .sa_family = AF_UNIX };
	const struct {
		uint32_t comp_mask, join_flags;
		struct sockaddr *addr;
		int error;
	} rows[] = {
		{ 4, 9, NULL, ENOTSUP },
		{ 7, 0, fake_addr("239.1.2.3", 0), ENOTSUP },
		{ 2, 0, fake_addr("239.1.2.3", 0), EINVAL },
		{ 1, 0, fake_addr("239.1.2.3", 0), EINVAL },
		{ 3, 2, fake_addr("239.1.2.3", 0), EINVAL },
		{ 3, 0, NULL, EINVAL },
		{ 3, 0, &unknown, EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rdma_cm_join_mc_attr_ex attr = { rows[i].comp_mask,
							rows[i].join_flags,
							rows[i].addr };

		errno = 0;
		assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), -1);
		assert_int_equal(errno, rows[i].error);
	}
	assert_int_equal(fake_count(UAPI_CM_JOIN), 0);
}

static void verbcastds_refusal_is_errno(void **state)
{
	fake.result = -524;
	assert_int_equal(rdma_join_multicast(id, fake_addr("ff0e::1", 0), NULL), -1);
	assert_int_equal(errno, 524);
	fake.result = 0;
	assert_int_equal(leave("ff0e::1", 0), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
}

static void leave_wants_an_address_byte_by_byte(void **state)
{
	struct sockaddr unknown = { .sa_family = AF_UNIX };

	join("239.1.2.3", 5, NULL);
	assert_int_equal(leave("239.1.2.3", 6), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(leave("239.1.2.4", 5), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(rdma_leave_multicast(id, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_leave_multicast(id, &unknown), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(leave("239.1.2.3", 5), 0);
	assert_int_equal(leave("239.1.2.3", 5), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
}

static void leave_takes_the_newest(void **state)
{
	uint32_t first, second;

	join("239.1.2.3", 0, NULL);
	first = fake.last_handle;
	join("239.1.2.3", 0, NULL);
	second = fake.last_handle;
	assert_int_equal(leave("239.1.2.3", 0), 0);
	assert_int_equal(fake.calls[fake.call_count - 1].handle, second);
	assert_int_equal(leave("239.1.2.3", 0), 0);
	assert_int_equal(fake.calls[fake.call_count - 1].handle, first);
}

static void leave_drops_what_is_not_fetched_and_does_not_block(void **state)
{
	uint64_t gone = join("239.1.2.3", 0, NULL), stays = join("239.1.2.4", 0, &qp);
	struct rdma_cm_event *event;

	fake_say_joined(uid, gone, "239.1.2.3");
	fake_say_joined(uid, stays, "239.1.2.4");
	assert_int_equal(leave("239.1.2.3", 0), 0);
	fake_say_joined(uid, gone, "239.1.2.3"); /* on its way while leave was asked */
	event = next_event();
	assert_ptr_equal(event->param.ud.private_data, &qp);
	rdma_ack_cm_event(event);
	assert_false(is_readable());
	assert_int_equal(leave("239.1.2.4", 0), 0);
}

/* -- blocking ----------------------------------------------------------------------- */

enum call {
	CALL_LEAVE,
	CALL_DESTROY,
	CALL_MIGRATE,
};

struct blocker {
	enum call call;
	pthread_t thread;
	struct rdma_event_channel *to;
	atomic_int tid;
	atomic_bool done;
	int result;
};

static void *block(void *arg)
{
	struct blocker *b = arg;

	atomic_store(&b->tid, gettid());
	if (b->call == CALL_LEAVE)
		b->result = leave("239.1.2.3", 0);
	else if (b->call == CALL_DESTROY)
		b->result = rdma_destroy_id(id);
	else
		b->result = rdma_migrate_id(id, b->to);
	atomic_store(&b->done, true);
	return NULL;
}

static void blocks_until_ack(struct blocker *b, struct rdma_cm_event *event)
{
	atomic_init(&b->tid, 0);
	atomic_init(&b->done, false);
	assert_int_equal(pthread_create(&b->thread, NULL, block, b), 0);
	harness_until(atomic_load(&b->done) || fake_is_asleep(&b->tid), 5000,
		      harness_pause());
	assert_false(atomic_load(&b->done));
	rdma_ack_cm_event(event);
	assert_int_equal(pthread_join(b->thread, NULL), 0);
	assert_int_equal(b->result, 0);
}

static void leave_waits_for_the_acknowledgement(void **state)
{
	struct blocker b = { .call = CALL_LEAVE };

	fake_say_joined(uid, join("239.1.2.3", 0, NULL), "239.1.2.3");
	blocks_until_ack(&b, next_event());
}

static void leave_does_not_wait_for_other_memberships(void **state)
{
	struct rdma_cm_event *event;

	fake_say_joined(uid, join("239.1.2.4", 0, NULL), "239.1.2.4");
	event = next_event();
	join("239.1.2.3", 0, NULL);
	assert_int_equal(leave("239.1.2.3", 0), 0);
	rdma_ack_cm_event(event);
	assert_int_equal(leave("239.1.2.4", 0), 0);
}

static void destroy_waits_for_every_acknowledgement(void **state)
{
	struct blocker b = { .call = CALL_DESTROY };
	uint64_t old = uid;

	fake_say_joined(uid, join("239.1.2.3", 0, NULL), "239.1.2.3");
	fake_say_joined(uid, join("239.1.2.4", 0, NULL), "239.1.2.4");
	blocks_until_ack(&b, next_event());
	assert_false(is_readable()); /* the second vanished */
	fake_say_joined(old, 1, "239.1.2.3");
	assert_false(is_readable());
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
}

static void migration_moves_what_is_not_fetched(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_event_channel *old = channel;
	struct blocker b = { .call = CALL_MIGRATE, .to = other };
	struct rdma_cm_event *event;

	fake_say_joined(uid, join("239.1.2.3", 0, NULL), "239.1.2.3");
	fake_say_joined(uid, join("239.1.2.4", 0, &qp), "239.1.2.4");
	blocks_until_ack(&b, next_event());
	assert_false(is_readable());
	assert_ptr_equal(id->channel, other);
	channel = other;
	event = next_event();
	assert_ptr_equal(event->param.ud.private_data, &qp);
	rdma_ack_cm_event(event);
	rdma_destroy_event_channel(old);
}

/* -- synchronous ids ---------------------------------------------------------------- */

static void a_synchronous_join_waits_and_keeps_its_event(void **state)
{
	struct rdma_cm_id *sync;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_bind_addr(sync, fake_addr("127.0.0.1", 0)), 0);
	fake.answer_sync = true;
	assert_int_equal(rdma_join_multicast(sync, fake_addr("239.1.2.3", 0), &qp), 0);
	assert_non_null(sync->event);
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(sync->event->param.ud.private_data, &qp);
	assert_int_equal(rdma_leave_multicast(sync, fake_addr("239.1.2.3", 0)), 0);
	assert_null(sync->event);
	assert_int_equal(rdma_migrate_id(sync, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

static void a_synchronous_failure_is_errno(void **state)
{
	struct rdma_cm_id *sync;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_UDP), 0);
	fake.answer_sync = true;
	fake.answer_status = -EHOSTUNREACH;
	assert_int_equal(rdma_resolve_addr(sync, NULL, fake_addr("203.0.113.1", 5), 10),
			 -1);
	assert_int_equal(errno, EHOSTUNREACH);
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_ADDR_ERROR);
	fake.answer_status = 0;
	assert_int_equal(rdma_resolve_addr(sync, NULL, fake_addr("239.1.2.3", 5), 10), 0);
	assert_non_null(sync->verbs);
	assert_int_equal(ntohs(rdma_get_dst_port(sync)), 5);
	assert_int_equal(rdma_resolve_route(sync, 10), 0);
	assert_int_equal(sync->route.num_paths, 1);
	assert_int_equal(sync->route.path_rec->mtu, 5);
	assert_int_equal(sync->route.path_rec->pkey, 0xffff);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

static void a_synchronous_call_ends_with_its_device(void **state)
{
	struct rdma_cm_id *sync;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_UDP), 0);
	fake.answer_sync = true;
	fake.answer_event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	assert_int_equal(rdma_resolve_addr(sync, NULL, fake_addr("239.1.2.3", 5), 10),
			 -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(sync->event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

static void an_id_becomes_asynchronous_and_back(void **state)
{
	struct rdma_cm_id *sync;

	assert_int_equal(rdma_create_id(NULL, &sync, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_migrate_id(sync, channel), 0);
	assert_ptr_equal(sync->channel, channel);
	assert_int_equal(rdma_resolve_addr(sync, NULL, fake_addr("239.1.2.3", 5), 10), 0);
	fake_say_resolved(fake.last_id_uid);
	rdma_ack_cm_event(next_event());
	assert_int_equal(rdma_migrate_id(sync, NULL), 0);
	assert_ptr_not_equal(sync->channel, channel);
	assert_int_equal(rdma_destroy_id(sync), 0);
}

/* -- the death of verbcastd --------------------------------------------------------- */

static void death_answers_what_is_owed(void **state)
{
	struct rdma_cm_event *event;

	join("239.1.2.3", 0, &qp);
	fake_die();
	event = next_event();
	assert_int_equal(event->event, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_int_equal(event->status, -ENODEV);
	assert_ptr_equal(event->param.ud.private_data, &qp);
	rdma_ack_cm_event(event);
	event = next_event();
	assert_int_equal(event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
	rdma_ack_cm_event(event);
	assert_false(is_readable());
	errno = 0;
	assert_int_equal(rdma_join_multicast(id, fake_addr("239.1.2.3", 0), NULL), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(leave("239.1.2.3", 0), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(leave("239.1.2.3", 0), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
}

static void death_ends_a_resolution(void **state)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *other;

	assert_int_equal(rdma_create_id(channel, &other, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_resolve_addr(other, NULL, fake_addr("239.1.2.3", 5), 10),
			 0);
	fake_die();
	for (int i = 0; i < 2; i++) {
		event = next_event();
		if (event->id == other) {
			assert_int_equal(event->event, RDMA_CM_EVENT_ADDR_ERROR);
			assert_int_equal(event->status, -ENODEV);
		} else {
			assert_int_equal(event->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
		}
		rdma_ack_cm_event(event);
	}
	assert_false(is_readable());
	assert_int_equal(rdma_destroy_id(other), 0);
}

/* -- against a model ---------------------------------------------------------------- */

/*
 * Random joins, events, fetches, acknowledgements and leaves, next to a plain list of
 * what should be queued. After every step the descriptor is readable exactly when that
 * list has something, and events come in its order with the right context.
 */
#define MODEL_JOINS  6
#define MODEL_EVENTS 64

struct model {
	bool joined[MODEL_JOINS];
	uint64_t uids[MODEL_JOINS];
	unsigned int fetched[MODEL_JOINS];
	int queued[MODEL_EVENTS]; /* which join, oldest first */
	int queued_count;
	struct rdma_cm_event *held[MODEL_EVENTS];
	int held_join[MODEL_EVENTS];
	int held_count;
};

static int contexts[MODEL_JOINS];

static const char *group_of(int n)
{
	static char text[32];

	snprintf(text, sizeof(text), "239.0.0.%d", n + 1);
	return text;
}

static void model_join(struct model *m, int n)
{
	if (m->joined[n])
		return;
	m->uids[n] = join(group_of(n), 0, &contexts[n]);
	m->joined[n] = true;
}

static void model_say(struct model *m, int n)
{
	if (!m->joined[n] || m->queued_count == MODEL_EVENTS)
		return;
	fake_say_joined(uid, m->uids[n], group_of(n));
	m->queued[m->queued_count++] = n;
}

static void model_fetch(struct model *m)
{
	int n = m->queued[0];

	if (!m->queued_count || m->held_count == MODEL_EVENTS)
		return;
	memmove(m->queued, m->queued + 1, (size_t)--m->queued_count * sizeof(int));
	m->held[m->held_count] = next_event();
	assert_ptr_equal(m->held[m->held_count]->param.ud.private_data, &contexts[n]);
	m->held_join[m->held_count++] = n;
	m->fetched[n]++;
}

static void model_ack(struct model *m, int which)
{
	if (which >= m->held_count)
		return;
	m->fetched[m->held_join[which]]--;
	rdma_ack_cm_event(m->held[which]);
	m->held_count--;
	m->held[which] = m->held[m->held_count];
	m->held_join[which] = m->held_join[m->held_count];
}

static void model_leave(struct model *m, int n)
{
	int kept = 0;

	if (!m->joined[n] || m->fetched[n])
		return; /* would wait for ever: this is the only thread */
	assert_int_equal(leave(group_of(n), 0), 0);
	m->joined[n] = false;
	for (int i = 0; i < m->queued_count; i++)
		if (m->queued[i] != n)
			m->queued[kept++] = m->queued[i];
	m->queued_count = kept;
}

static void random_steps_agree_with_a_model(void **state)
{
	unsigned int steps = harness_count(20000, 500000);
	struct model m = { .held_count = 0 };
	unsigned int seed = 20240607;

	for (unsigned int i = 0; i < steps; i++) {
		int n = rand_r(&seed) % MODEL_JOINS;

		fake.call_count = 0;
		switch (rand_r(&seed) % 5) {
		case 0:
			model_join(&m, n);
			break;
		case 1:
			model_say(&m, n);
			break;
		case 2:
			model_fetch(&m);
			break;
		case 3:
			model_ack(&m, rand_r(&seed) % MODEL_EVENTS);
			break;
		case 4:
			model_leave(&m, n);
			break;
		}
		assert_int_equal(is_readable(), m.queued_count > 0);
	}
	while (m.held_count)
		model_ack(&m, 0);
}

#define multicast_test(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		multicast_test(bind_fills_the_id),
		multicast_test(the_event_says_where_to_send),
		multicast_test(an_event_may_outrun_the_reply),
		multicast_test(the_queue_pair_is_attached_when_the_event_is_fetched),
		multicast_test(a_queue_pair_that_comes_later_is_not_attached),
		multicast_test(a_failed_attach_is_an_error_event),
		multicast_test(send_only_joins_do_not_attach),
		multicast_test(join_ex_checks_in_the_order_of_stock),
		multicast_test(verbcastds_refusal_is_errno),
		multicast_test(leave_wants_an_address_byte_by_byte),
		multicast_test(leave_takes_the_newest),
		multicast_test(leave_drops_what_is_not_fetched_and_does_not_block),
		multicast_test(leave_waits_for_the_acknowledgement),
		multicast_test(leave_does_not_wait_for_other_memberships),
		multicast_test(destroy_waits_for_every_acknowledgement),
		multicast_test(migration_moves_what_is_not_fetched),
		multicast_test(a_synchronous_join_waits_and_keeps_its_event),
		multicast_test(a_synchronous_failure_is_errno),
		multicast_test(a_synchronous_call_ends_with_its_device),
		multicast_test(an_id_becomes_asynchronous_and_back),
		multicast_test(death_answers_what_is_owed),
		multicast_test(death_ends_a_resolution),
		multicast_test(random_steps_agree_with_a_model),
	};

	return harness_run(tests);
}
