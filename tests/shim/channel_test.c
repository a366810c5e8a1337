// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS threads
/*
 * Event channels: spec/userland 2.8 (descriptors), 2.9 (fork), 3.2 and 3.3 (counting).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

static struct rdma_event_channel *open_channel(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	assert_non_null(channel);
	return channel;
}

static struct rdma_cm_id *open_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	return id;
}

static bool is_readable(struct rdma_event_channel *channel)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void set_nonblocking(struct rdma_event_channel *channel)
{
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
}

static void ack_next(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(rdma_ack_cm_event(event), 0);
}

static void without_verbcastd_there_is_nothing(void **state)
{
	struct rdma_cm_id *id;
	int n = 5;

	fake.generation = 0;
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, ENODEV);
	errno = 0;
	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP), -1);
	assert_int_equal(errno, ENODEV);
	errno = 0;
	assert_null(rdma_get_devices(&n));
	assert_int_equal(errno, ENODEV);
	assert_int_equal(n, 0);
}

static void without_a_device_there_is_nothing(void **state)
{
	fake.devices = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, ENODEV);
	assert_null(rdma_get_devices(NULL));
	assert_int_equal(errno, ENODEV);
}

static void devices_are_contexts_that_end_with_null(void **state)
{
	struct ibv_context **list;
	int n;

	list = rdma_get_devices(&n);
	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_non_null(list[0]);
	assert_null(list[1]);
	rdma_free_devices(list);
}

static void the_descriptor_is_closed_by_exec(void **state)
{
	struct rdma_event_channel *channel = open_channel();

	assert_true(fcntl(channel->fd, F_GETFD) & FD_CLOEXEC);
	rdma_destroy_event_channel(channel);
}

static void readable_means_that_an_event_can_be_fetched(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *id = open_id(channel);
	struct rdma_cm_event *event;

	set_nonblocking(channel);
	assert_false(is_readable(channel));
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 3; i++)
		fake_say_resolved(fake.last_id_uid);
	for (int i = 0; i < 3; i++) {
		assert_true(is_readable(channel));
		ack_next(channel);
	}
	assert_false(is_readable(channel));
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

static void every_event_makes_an_edge(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *id = open_id(channel);
	struct epoll_event want = { .events = EPOLLIN | EPOLLET }, got;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(epoll >= 0);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &want), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(epoll_wait(epoll, &got, 1, 0), 0);
		fake_say_resolved(fake.last_id_uid);
		assert_int_equal(epoll_wait(epoll, &got, 1, 0), 1);
	}
	close(epoll);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

static void what_nobody_knows_is_dropped(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *id = open_id(channel);
	uint64_t uid = fake.last_id_uid;

	fake_say_resolved(uid + 1000);
	fake_say_joined(uid, 4711, "239.1.2.3");
	assert_false(is_readable(channel));
	rdma_destroy_id(id);
	fake_say_resolved(uid);
	assert_false(is_readable(channel));
	rdma_destroy_event_channel(channel);
}

static void wrong_pointers_are_refused(void **state)
{
	struct rdma_event_channel *channel = open_channel();

	assert_int_equal(rdma_get_cm_event(channel, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_ack_cm_event(NULL), -1);
	assert_int_equal(errno, EINVAL);
	rdma_destroy_event_channel(channel);
}

static void every_event_has_a_name(void **state)
{
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_MULTICAST_ERROR),
			    "RDMA_CM_EVENT_MULTICAST_ERROR");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(rdma_event_str(16), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str((enum rdma_cm_event_type) - 1),
			    "UNKNOWN EVENT");
}

/* -- threads ------------------------------------------------------------------------ */

struct waiter {
	struct rdma_event_channel *channel;
	pthread_t thread;
	atomic_int tid;
	atomic_int result; /* 1: waits; 0: an event; else -errno */
};

static void *wait_in_channel(void *arg)
{
	struct waiter *w = arg;
	struct rdma_cm_event *event;
	int r;

	atomic_store(&w->tid, gettid());
	r = rdma_get_cm_event(w->channel, &event) ? -errno : 0;
	if (r == 0)
		rdma_ack_cm_event(event);
	atomic_store(&w->result, r);
	return NULL;
}

static void start_waiter(struct waiter *w, struct rdma_event_channel *channel)
{
	w->channel = channel;
	atomic_init(&w->tid, 0);
	atomic_init(&w->result, 1);
	assert_int_equal(pthread_create(&w->thread, NULL, wait_in_channel, w), 0);
	harness_until(fake_is_asleep(&w->tid), 5000, harness_pause());
}

static void a_thread_that_waits_is_woken(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *ids[3];
	struct waiter w[3];
	uint64_t uids[3];

	for (int i = 0; i < 3; i++) {
		ids[i] = open_id(channel);
		uids[i] = fake.last_id_uid;
		start_waiter(&w[i], channel);
	}
	for (int i = 0; i < 3; i++)
		fake_say_resolved(uids[i]);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
		assert_int_equal(atomic_load(&w[i].result), 0);
	}
	for (int i = 0; i < 3; i++)
		rdma_destroy_id(ids[i]);
	rdma_destroy_event_channel(channel);
}

static atomic_int handled;

static void on_signal(int signum)
{
	atomic_fetch_add(&handled, 1);
}

static void install(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	atomic_store(&handled, 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void a_signal_ends_the_wait(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct waiter w;

	install(0);
	start_waiter(&w, channel);
	assert_int_equal(pthread_kill(w.thread, SIGUSR1), 0);
	assert_int_equal(pthread_join(w.thread, NULL), 0);
	assert_int_equal(atomic_load(&w.result), -EINTR);
	rdma_destroy_event_channel(channel);
}

static void a_restarting_signal_does_not(void **state)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct waiter w;

#ifdef __SANITIZE_THREAD__
	skip(); /* it holds the handler back until the thread calls into it */
#endif
	channel = open_channel();
	id = open_id(channel);
	install(SA_RESTART);
	start_waiter(&w, channel);
	assert_int_equal(pthread_kill(w.thread, SIGUSR1), 0);
	harness_until(atomic_load(&handled) && fake_is_asleep(&w.tid), 5000,
		      harness_pause());
	assert_int_equal(atomic_load(&w.result), 1);
	fake_say_resolved(fake.last_id_uid);
	assert_int_equal(pthread_join(w.thread, NULL), 0);
	assert_int_equal(atomic_load(&w.result), 0);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

static void a_waiting_thread_can_be_cancelled(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *id = open_id(channel);
	struct waiter w;
	void *result;

	start_waiter(&w, channel);
	assert_int_equal(pthread_cancel(w.thread), 0);
	assert_int_equal(pthread_join(w.thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	fake_say_resolved(fake.last_id_uid); /* no lock went with it */
	ack_next(channel);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

/* mckey destroys its channel while its event thread sits there, and then exits; the
 * thread must neither hang the call nor come back with something to print. */
static void a_channel_may_be_destroyed_under_a_waiting_thread(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct waiter w;
	void *result;

	start_waiter(&w, channel);
	rdma_destroy_event_channel(channel);
	assert_true(fake_is_asleep(&w.tid));
	assert_int_equal(atomic_load(&w.result), 1);
	assert_int_equal(pthread_cancel(w.thread), 0);
	assert_int_equal(pthread_join(w.thread, &result), 0);
}

static void an_id_outlives_its_channel(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *id = open_id(channel);

	fake_say_resolved(fake.last_id_uid);
	rdma_destroy_event_channel(channel);
	fake_say_resolved(fake.last_id_uid);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* -- fork --------------------------------------------------------------------------- */

static int child_with_inherited(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	struct rdma_event_channel *fresh;
	struct rdma_cm_event *event;
	struct rdma_cm_id *own;

	fake.generation += 1000; /* as the real one: a child begins the next */
	if (rdma_get_cm_event(channel, &event) != -1 || errno != ENODEV)
		return 1;
	if (rdma_bind_addr(id, fake_addr("127.0.0.1", 0)) != -1 || errno != ENODEV)
		return 2;
	if (rdma_create_id(channel, &own, NULL, RDMA_PS_UDP) != -1 || errno != ENODEV)
		return 3;
	rdma_destroy_id(id); /* though an event of it is not acknowledged */
	rdma_destroy_event_channel(channel);
	fresh = rdma_create_event_channel();
	if (!fresh || rdma_create_id(fresh, &own, NULL, RDMA_PS_UDP))
		return 4;
	fake_say_resolved(fake.last_id_uid);
	if (rdma_get_cm_event(fresh, &event) || event->id != own)
		return 5;
	rdma_ack_cm_event(event);
	rdma_destroy_id(own);
	rdma_destroy_event_channel(fresh);
	return 0;
}

static void a_forked_child_starts_afresh(void **state)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *id = open_id(channel);
	struct rdma_cm_event *event;
	int status;
	pid_t pid;

	fake_say_resolved(fake.last_id_uid);
	fake_say_resolved(fake.last_id_uid);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(20);
		_exit(child_with_inherited(channel, id));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* The parent goes on, with its own count. */
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_true(is_readable(channel));
	ack_next(channel);
	assert_false(is_readable(channel));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		shim_test(without_verbcastd_there_is_nothing),
		shim_test(without_a_device_there_is_nothing),
		shim_test(devices_are_contexts_that_end_with_null),
		shim_test(the_descriptor_is_closed_by_exec),
		shim_test(readable_means_that_an_event_can_be_fetched),
		shim_test(every_event_makes_an_edge),
		shim_test(what_nobody_knows_is_dropped),
		shim_test(wrong_pointers_are_refused),
		shim_test(every_event_has_a_name),
		shim_test(a_thread_that_waits_is_woken),
		shim_test(a_signal_ends_the_wait),
		shim_test(a_restarting_signal_does_not),
		shim_test(a_waiting_thread_can_be_cancelled),
		shim_test(a_channel_may_be_destroyed_under_a_waiting_thread),
		shim_test(an_id_outlives_its_channel),
		shim_test(a_forked_child_starts_afresh),
	};

	return harness_run(tests);
}
