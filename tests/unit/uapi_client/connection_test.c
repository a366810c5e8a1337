// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client's end against a peer that we play ourselves, well or badly: a thread accepts
 * one connection and does what the test's script says.
 */
// ctest: LABELS threads
#include "harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "uapi/client/client.h"
#include "uapi/client/client_priv.h"

struct peer {
	char dir[64], path[128];
	int listen_fd;
	int fd;       /* the accepted control socket */
	int event_fd; /* the peer's end of the event socket */
	pthread_t thread;
	void (*script)(struct peer *p);
	uint8_t body[4096];
	struct message m; /* the last request */
	uint32_t hello_pid;
	bool hello_pidfd_is_ours;
};

static void receive(struct peer *p)
{
	p->m.body = p->body;
	p->m.room = sizeof(p->body);
	assert_int_equal(message_receive(p->fd, &p->m), 0);
}

static void answer(struct peer *p, int status, const void *body, size_t length,
		   const int *fds, unsigned int fds_n)
{
	struct uapi_header h = {
		.length = sizeof(h) + length,
		.op = p->m.header.op,
		.fds = fds_n,
		.serial = p->m.header.serial,
		.status = status,
	};

	assert_int_equal(message_send(p->fd, &h, body, fds), 0);
}

/* What /proc says about the pidfd that came along. */
static bool pidfd_names_us(int fd)
{
	char path[64], line[128];
	bool ours = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		ours |= strncmp(line, "Pid:", 4) == 0 && atoi(line + 4) == getpid();
	if (f)
		fclose(f);
	return ours;
}

static void accept_hello(struct peer *p)
{
	const struct uapi_hello *hello = (const void *)p->body;

	p->fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(p->fd >= 0);
	receive(p);
	assert_int_equal(p->m.header.op, UAPI_HELLO);
	assert_int_equal(p->m.header.length, sizeof(p->m.header) + sizeof(*hello));
	assert_int_equal(hello->magic, UAPI_MAGIC);
	p->hello_pid = hello->pid;
	p->hello_pidfd_is_ours = p->m.fds_n == 1 && pidfd_names_us(p->m.fds[0]);
	message_close_fds(&p->m);
}

static const struct uapi_hello_reply welcome_reply = {
	.version = UAPI_VERSION, .layout_version = 7, .slot = 3, .incarnation = 4
};

static void greet(struct peer *p)
{
	int pair[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fds[4];

	accept_hello(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	p->event_fd = pair[0];
	fds[0] = pair[1];
	fds[1] = fds[2] = fds[3] = null;
	answer(p, 0, &welcome_reply, sizeof(welcome_reply), fds, 4);
	close(pair[1]);
	close(null);
}

static void *peer_thread(void *arg)
{
	struct peer *p = arg;

	p->script(p);
	if (p->fd >= 0)
		close(p->fd);
	if (p->event_fd >= 0)
		close(p->event_fd);
	return NULL;
}

static void peer_start(struct peer *p, void (*script)(struct peer *p))
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	*p = (struct peer){ .fd = -1, .event_fd = -1, .script = script };
	snprintf(p->dir, sizeof(p->dir), "/tmp/verbcast-client-test.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/sock", p->dir);
	strcpy(addr.sun_path, p->path);
	p->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listen_fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(p->listen_fd, 1), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, peer_thread, p), 0);
}

static void peer_stop(struct peer *p)
{
	pthread_join(p->thread, NULL);
	close(p->listen_fd);
	unlink(p->path);
	rmdir(p->dir);
}

static void welcome_close(struct uapi_welcome *w)
{
	close(w->event_fd);
	close(w->tables_fd);
	close(w->doorbell_fd);
	close(w->counters_fd);
}

static int open_to(const struct peer *p, struct uapi_connection **c,
		   struct uapi_welcome *w)
{
	struct uapi_introduction who = { .path = p->path, .layout_version = 7 };

	return uapi_connection_open(&who, c, w);
}

/* -- hello -------------------------------------------------------------------------- */

static void hello_sends_a_pidfd_of_ourselves_and_gets_four_descriptors(void **state)
{
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct peer p;

	peer_start(&p, greet);
	assert_int_equal(open_to(&p, &c, &w), 0);
	peer_stop(&p);
	assert_int_equal(p.hello_pid, getpid());
	assert_true(p.hello_pidfd_is_ours);
	assert_int_equal(w.reply.slot, 3);
	assert_true(fcntl(w.counters_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(uapi_connection_fd(c), F_GETFD) & FD_CLOEXEC);
	welcome_close(&w);
	uapi_connection_close(c);
}

static void nobody_there_is_told_apart_from_nobody_listening(void **state)
{
	char path[64];
	struct uapi_introduction who = { .path = path };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct uapi_connection *c;
	struct uapi_welcome w;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(path, sizeof(path), "/tmp/verbcast-client-test.%d", getpid());
	assert_int_equal(uapi_connection_open(&who, &c, &w), -ENOENT);
	strcpy(addr.sun_path, who.path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(uapi_connection_open(&who, &c, &w), -ECONNREFUSED);
	close(fd);
	unlink(who.path);
}

static void refuse_version(struct peer *p)
{
	struct uapi_hello_reply reply = { .version = 99, .layout_version = 98 };

	strcpy(reply.release, "9.9");
	accept_hello(p);
	answer(p, -EPROTO, &reply, sizeof(reply), NULL, 0);
}

static void another_version_is_named(void **state)
{
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct peer p;

	peer_start(&p, refuse_version);
	assert_int_equal(open_to(&p, &c, &w), -EPROTO);
	peer_stop(&p);
	assert_int_equal(w.reply.version, 99);
	assert_int_equal(w.reply.layout_version, 98);
	assert_string_equal(w.reply.release, "9.9");
}

static void hang_up(struct peer *p)
{
	accept_hello(p);
}

static void greet_without_descriptors(struct peer *p)
{
	accept_hello(p);
	answer(p, 0, &welcome_reply, sizeof(welcome_reply), NULL, 0);
}

static void greet_briefly(struct peer *p)
{
	accept_hello(p);
	answer(p, 0, &welcome_reply, 4, NULL, 0);
}

static void bad_greetings_fail_and_leave_nothing(void **state)
{
	static const struct {
		void (*script)(struct peer *p);
		int result;
	} cases[] = {
		{ hang_up, -ECONNREFUSED },
		{ greet_without_descriptors, -EPROTO },
		{ greet_briefly, -EPROTO },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct uapi_connection *c;
		struct uapi_welcome w;
		struct peer p;

		peer_start(&p, cases[i].script);
		assert_int_equal(open_to(&p, &c, &w), cases[i].result);
		peer_stop(&p);
		assert_int_equal(w.event_fd, -1);
	}
}

/* -- requests ----------------------------------------------------------------------- */

static const struct uapi_handle handle = { .handle = 5 };

static int ask(struct uapi_connection *c, struct uapi_handle_reply *rep)
{
	return uapi_connection_rpc(c, UAPI_ALLOC_PD, &handle, sizeof(handle), rep,
				   sizeof(*rep));
}

static void answer_some(struct peer *p)
{
	struct uapi_handle_reply reply = { .handle = 6 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	greet(p);
	receive(p);
	assert_int_equal(p->m.header.op, UAPI_ALLOC_PD);
	assert_memory_equal(p->body, &handle, sizeof(handle));
	answer(p, 0, &reply, sizeof(reply), NULL, 0);
	receive(p);
	answer(p, -EBUSY, NULL, 0, NULL, 0);
	receive(p);
	answer(p, 0, &reply, 4, NULL, 0); /* too short */
	receive(p);
	answer(p, 0, &reply, sizeof(reply), &null, 1); /* a descriptor nobody asked for */
	receive(p);
	answer(p, 0, &reply, sizeof(reply), NULL, 0);
	close(null);
}

static void an_error_is_handed_on_and_the_connection_lives(void **state)
{
	struct uapi_handle_reply rep = { .handle = 1 };
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct peer p;

	peer_start(&p, answer_some);
	assert_int_equal(open_to(&p, &c, &w), 0);
	assert_int_equal(ask(c, &rep), 0);
	assert_int_equal(rep.handle, 6);
	rep.handle = 1;
	assert_int_equal(ask(c, &rep), -EBUSY);
	assert_int_equal(ask(c, &rep), -EPROTO);
	assert_int_equal(ask(c, &rep), -EPROTO);
	assert_int_equal(rep.handle, 1);
	assert_true(uapi_connection_alive(c));
	assert_int_equal(ask(c, &rep), 0);
	peer_stop(&p);
	assert_false(uapi_connection_alive(c));
	welcome_close(&w);
	uapi_connection_close(c);
}

static void echo_descriptor(struct peer *p)
{
	struct uapi_map_peer_reply reply = { .incarnation = 9 };

	greet(p);
	receive(p);
	assert_int_equal(p->m.fds_n, 1);
	answer(p, 0, &reply, sizeof(reply), p->m.fds, 1);
	message_close_fds(&p->m);
}

static void descriptors_travel_both_ways(void **state)
{
	struct uapi_map_peer_reply rep;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), got[UAPI_FDS_MAX];
	struct uapi_call call = {
		.op = UAPI_MAP_PEER,
		.rep = &rep,
		.replen = sizeof(rep),
		.send_fds = &fd,
		.send_fds_n = 1,
		.recv_fds = got,
	};
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct peer p;

	peer_start(&p, echo_descriptor);
	assert_int_equal(open_to(&p, &c, &w), 0);
	assert_int_equal(uapi_connection_call(c, &call), 0);
	assert_int_equal(call.recv_fds_n, 1);
	assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
	peer_stop(&p);
	close(got[0]);
	close(fd);
	welcome_close(&w);
	uapi_connection_close(c);
}

static void answer_with_a_descriptor(struct peer *p)
{
	struct uapi_map_peer_reply reply = { .incarnation = 9 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	greet(p);
	for (int i = 0; i < 2; i++) {
		receive(p);
		answer(p, 0, &reply, sizeof(reply), &null, 1);
	}
	close(null);
}

static struct rlimit forbid_descriptors(void)
{
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	return before;
}

static void a_reply_without_room_for_descriptors_is_only_an_error(void **state)
{
	struct uapi_map_peer_reply rep;
	int got[UAPI_FDS_MAX];
	struct uapi_call call = {
		.op = UAPI_MAP_PEER,
		.rep = &rep,
		.replen = sizeof(rep),
		.recv_fds = got,
	};
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct rlimit before;
	struct peer p;

	peer_start(&p, answer_with_a_descriptor);
	assert_int_equal(open_to(&p, &c, &w), 0);
	before = forbid_descriptors();
	assert_int_equal(uapi_connection_call(c, &call), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(uapi_connection_alive(c));
	assert_int_equal(uapi_connection_call(c, &call), 0);
	assert_int_equal(call.recv_fds_n, 1);
	close(got[0]);
	peer_stop(&p);
	welcome_close(&w);
	uapi_connection_close(c);
}

static void a_socket_that_is_not_ours_any_more_is_left_alone(void **state)
{
	struct uapi_handle_reply rep;
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct peer p;
	int pair[2], fd;
	char byte;

	peer_start(&p, greet);
	assert_int_equal(open_to(&p, &c, &w), 0);
	fd = uapi_connection_fd(c);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(dup3(pair[0], fd, O_CLOEXEC), fd);
	assert_int_equal(uapi_connection_fd(c), -1);
	assert_false(uapi_connection_alive(c));
	assert_int_equal(ask(c, &rep), -ENODEV);
	uapi_connection_close(c);
	assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(send(fd, "", 1, MSG_NOSIGNAL), 1);
	peer_stop(&p);
	close(fd);
	close(pair[0]);
	close(pair[1]);
	welcome_close(&w);
}

static void answer_another_question(struct peer *p)
{
	struct uapi_handle_reply reply = { .handle = 6 };

	greet(p);
	receive(p);
	p->m.header.serial++;
	answer(p, 0, &reply, sizeof(reply), NULL, 0);
	/* The client hangs up on us; until then our ends stay open. */
	p->m.body = p->body;
	p->m.room = sizeof(p->body);
	assert_int_equal(message_receive(p->fd, &p->m), -EPIPE);
}

static void die_over_a_request(struct peer *p)
{
	greet(p);
	receive(p);
}

static void a_broken_connection_is_dead_and_ends_the_event_socket(void **state)
{
	void (*const scripts[])(struct peer * p) = { answer_another_question,
						     die_over_a_request };

	for (int i = 0; i < 2; i++) {
		struct uapi_handle_reply rep;
		struct uapi_connection *c;
		struct uapi_welcome w;
		unsigned int op;
		uint8_t body[64];
		size_t length;
		struct peer p;

		peer_start(&p, scripts[i]);
		assert_int_equal(open_to(&p, &c, &w), 0);
		assert_int_equal(ask(c, &rep), -ENODEV);
		assert_int_equal(
			uapi_event_read(w.event_fd, &op, body, sizeof(body), &length),
			-ENODEV);
		assert_int_equal(ask(c, &rep), -ENODEV);
		assert_false(uapi_connection_alive(c));
		peer_stop(&p);
		welcome_close(&w);
		uapi_connection_close(c);
	}
}

static atomic_int interrupted;

static void on_signal(int sig)
{
	interrupted++;
}

static pthread_t asking;

static void answer_after_a_signal(struct peer *p)
{
	struct uapi_handle_reply reply = { .handle = 6 };

	greet(p);
	receive(p);
	for (int i = 1; i <= 20; i++) {
		pthread_kill(asking, SIGUSR1);
		harness_until(interrupted >= i, 5000, harness_pause());
	}
	answer(p, 0, &reply, sizeof(reply), NULL, 0);
}

static void signals_do_not_interrupt_a_request(void **state)
{
	struct sigaction act = { .sa_handler = on_signal }, old;
	struct uapi_handle_reply rep;
	struct uapi_connection *c;
	struct uapi_welcome w;
	struct peer p;

	sigaction(SIGUSR1, &act, &old);
	asking = pthread_self();
	peer_start(&p, answer_after_a_signal);
	assert_int_equal(open_to(&p, &c, &w), 0);
	assert_int_equal(ask(c, &rep), 0);
	assert_int_equal(rep.handle, 6);
	assert_int_equal(interrupted, 20);
	peer_stop(&p);
	sigaction(SIGUSR1, &old, NULL);
	welcome_close(&w);
	uapi_connection_close(c);
}

#define THREADS 4

static void answer_many(struct peer *p)
{
	greet(p);
	for (unsigned int i = 0; i < THREADS * harness_count(500, 5000); i++) {
		receive(p);
		answer(p, 0, p->body, sizeof(struct uapi_handle_reply), NULL, 0);
	}
}

static void *ask_many(void *arg)
{
	unsigned int n = harness_count(500, 5000);

	for (unsigned int i = 1; i <= n; i++) {
		struct uapi_handle req = { .handle = i, .reserved = pthread_self() };
		struct uapi_handle_reply rep;

		if (uapi_connection_rpc(arg, UAPI_ALLOC_PD, &req, sizeof(req), &rep,
					sizeof(rep)) ||
		    memcmp(&req, &rep, sizeof(rep)))
			return arg;
	}
	return NULL;
}

static void threads_get_the_answers_to_their_own_questions(void **state)
{
	struct uapi_connection *c;
	struct uapi_welcome w;
	pthread_t threads[THREADS];
	struct peer p;
	void *wrong;

	peer_start(&p, answer_many);
	assert_int_equal(open_to(&p, &c, &w), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_many, c), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	peer_stop(&p);
	welcome_close(&w);
	uapi_connection_close(c);
}

/* -- events ------------------------------------------------------------------------- */

static void tell(struct peer *p)
{
	struct uapi_async_event event = { .event = 10, .port_num = 1 };
	struct uapi_header h = { .length = sizeof(h) + sizeof(event),
				 .op = UAPI_EVENT_ASYNC };

	greet(p);
	assert_int_equal(message_send(p->event_fd, &h, &event, NULL), 0);
	h.length--; /* not what is sent */
	assert_int_equal(send(p->event_fd, &h, sizeof(h), 0), sizeof(h));
}

static void events_are_read_whole_and_lies_are_told(void **state)
{
	struct uapi_async_event event;
	struct uapi_connection *c;
	struct uapi_welcome w;
	unsigned int op;
	size_t length;
	struct peer p;

	peer_start(&p, tell);
	assert_int_equal(open_to(&p, &c, &w), 0);
	peer_stop(&p);
	assert_int_equal(uapi_event_read(w.event_fd, &op, &event, sizeof(event), &length),
			 0);
	assert_int_equal(op, UAPI_EVENT_ASYNC);
	assert_int_equal(length, sizeof(event));
	assert_int_equal(event.event, 10);
	assert_int_equal(uapi_event_read(w.event_fd, &op, &event, sizeof(event), &length),
			 -EPROTO);
	assert_int_equal(uapi_event_read(w.event_fd, &op, &event, sizeof(event), &length),
			 -ENODEV);
	welcome_close(&w);
	uapi_connection_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			hello_sends_a_pidfd_of_ourselves_and_gets_four_descriptors),
		cmocka_unit_test(nobody_there_is_told_apart_from_nobody_listening),
		cmocka_unit_test(another_version_is_named),
		cmocka_unit_test(bad_greetings_fail_and_leave_nothing),
		cmocka_unit_test(an_error_is_handed_on_and_the_connection_lives),
		cmocka_unit_test(descriptors_travel_both_ways),
		cmocka_unit_test(a_reply_without_room_for_descriptors_is_only_an_error),
		cmocka_unit_test(a_socket_that_is_not_ours_any_more_is_left_alone),
		cmocka_unit_test(a_broken_connection_is_dead_and_ends_the_event_socket),
		cmocka_unit_test(signals_do_not_interrupt_a_request),
		cmocka_unit_test(threads_get_the_answers_to_their_own_questions),
		cmocka_unit_test(events_are_read_whole_and_lies_are_told),
	};

	return harness_run(tests);
}
