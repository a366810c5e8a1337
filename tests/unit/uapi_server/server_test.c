/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server against callers that keep to nothing.
 */
#include "server_world.h"

/* -- hello -------------------------------------------------------------------------- */

static void a_process_gets_its_memory(void **state)
{
	struct uapi_hello h = good_hello(0);
	struct uapi_hello_reply *reply;
	struct answer a;
	int fd = call_in();

	assert_int_equal(say_hello(fd, &h, &a), 0);
	reply = (void *)a.body;
	assert_int_equal(a.h.length, sizeof(a.h) + sizeof(*reply));
	assert_int_equal(a.count, 4);
	assert_int_equal(reply->incarnation, 9);
	assert_int_equal(reply->tables_bytes, 4096);
	assert_string_equal(reply->site, "test");
	assert_string_equal(reply->release, VERBCAST_VERSION);
	assert_int_equal(world->present, 1);
	close_fds(&a);
	close(fd);
	turn();
	assert_int_equal(world->closed, 1);
	assert_int_equal(world->present, 0);
}

static void a_tool_gets_nothing_and_is_not_counted(void **state)
{
	int fd = hello_tool();

	assert_int_equal(world->opened, 0);
	assert_int_equal(world->present, 0);
	close(fd);
}

static void another_version_is_told_both(void **state)
{
	struct uapi_hello h = good_hello(0);
	struct uapi_hello_reply *reply;
	struct answer a;
	int fd = call_in();

	h.version = UAPI_VERSION + 1;
	assert_int_equal(say_hello(fd, &h, &a), -EPROTO);
	reply = (void *)a.body;
	assert_int_equal(a.h.length, sizeof(a.h) + sizeof(*reply));
	assert_int_equal(reply->version, UAPI_VERSION);
	assert_int_equal(reply->layout_version, LAYOUT);
	assert_true(is_cut_off(fd));
	close(fd);
}

static void another_version_may_have_another_length(void **state)
{
	struct uapi_hello h = good_hello(0);
	struct answer a;
	int fd = call_in();

	h.version = UAPI_VERSION + 1;
	assert_int_equal(ask(fd, UAPI_HELLO, &h, 40, NULL, 0, &a), -EPROTO);
	close(fd);
}

static void another_layout_is_refused_to_processes_only(void **state)
{
	struct uapi_hello h = good_hello(0);
	struct answer a;
	int fd = call_in();

	h.layout_version++;
	assert_int_equal(say_hello(fd, &h, &a), -EPROTO);
	close(fd);
	fd = call_in();
	h.flags = UAPI_HELLO_TOOL;
	assert_int_equal(say_hello(fd, &h, &a), 0);
	close(fd);
	assert_int_equal(world->opened, 0);
}

static void every_field_of_hello_is_checked(void **state)
{
	const struct uapi_hello good = good_hello(0);
	struct uapi_hello wrong[6];
	static const int status_of[6] = { -EINVAL, -EINVAL, -EINVAL,
					  -EINVAL, -ENODEV, -EPERM };
	struct answer a;

	for (int i = 0; i < 6; i++)
		wrong[i] = good;
	wrong[0].magic ^= 1;
	wrong[1].flags = 2;
	wrong[2].reserved = 1;
	memset(wrong[3].program, 'p', sizeof(wrong[3].program));
	memcpy(wrong[4].node, "nowhere", 8);
	wrong[5].pid++;
	for (int i = 0; i < 6; i++) {
		int fd = call_in();

		assert_int_equal(say_hello(fd, &wrong[i], &a), status_of[i]);
		assert_int_equal(a.h.length, sizeof(a.h));
		assert_true(is_cut_off(fd));
		close(fd);
	}
	assert_int_equal(world->opened, 0);
}

static void a_short_or_long_hello_is_refused(void **state)
{
	uint8_t bytes[sizeof(struct uapi_hello) + 8] = { 0 };
	struct uapi_hello h = good_hello(0);
	struct answer a;

	memcpy(bytes, &h, sizeof(h));
	for (size_t n = 0; n <= sizeof(bytes); n += 4) {
		int fd;

		if (n == sizeof(h))
			continue;
		fd = call_in();
		assert_int_equal(ask(fd, UAPI_HELLO, bytes, n, NULL, 0, &a), -EINVAL);
		close(fd);
		turn();
	}
}

static void the_descriptor_must_be_the_callers_own(void **state)
{
	struct uapi_hello h = good_hello(0);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd = call_in(), parent;
	struct answer a;

	assert_int_equal(ask(fd, UAPI_HELLO, &h, sizeof(h), &null, 1, &a), -EBADF);
	close(fd);
	parent = pidfd_open_process(getppid());
	if (parent >= 0) { /* in a container it may be out of sight */
		fd = call_in();
		assert_int_equal(ask(fd, UAPI_HELLO, &h, sizeof(h), &parent, 1, &a),
				 -EPERM);
		close(fd);
		close(parent);
	}
	close(null);
	assert_int_equal(world->opened, 0);
}

static void a_second_hello_is_refused(void **state)
{
	struct uapi_hello h = good_hello(0);
	struct answer a;
	int fd = hello_process(NULL);

	assert_int_equal(say_hello(fd, &h, &a), -EINVAL);
	assert_int_equal(world->opened, 1);
	close(fd);
}

static void whoever_does_not_say_hello_first_is_cut_off(void **state)
{
	int fd = call_in();

	assert_true(send_op(fd, UAPI_STATUS, NULL, 0, NULL, 0));
	assert_true(is_cut_off(fd));
	close(fd);
}

static void whoever_says_nothing_is_cut_off(void **state)
{
	int patient, fd;

	patient = call_in();
	turn();
	world->server->config.limits.hello_timeout_ms = 30;
	fd = call_in();
	harness_until(is_cut_off(fd), 5000, harness_pause());
	assert_false(is_cut_off(patient));
	close(patient);
	close(fd);
}

/* -- the frame ---------------------------------------------------------------------- */

static void a_broken_frame_ends_the_connection(void **state)
{
	const struct uapi_header good = { .length = sizeof(good), .op = UAPI_STATUS };
	struct uapi_header wrong[4] = { good, good, good, good };
	size_t sizes[4] = { sizeof(good), sizeof(good), sizeof(good), sizeof(good) - 1 };

	wrong[0].length++;
	wrong[1].length = 0;
	wrong[2].fds = 1;
	for (int i = 0; i < 4; i++) {
		int fd = hello_tool();

		assert_true(send_raw(fd, &wrong[i], sizes[i], NULL, 0));
		assert_true(is_cut_off(fd));
		close(fd);
	}
}

static void a_message_beyond_the_longest_ends_the_connection(void **state)
{
	static uint8_t message[UAPI_MESSAGE_MAX + 1];
	struct uapi_header h = { .length = sizeof(message), .op = UAPI_STATUS };
	int fd = hello_tool();

	memcpy(message, &h, sizeof(h));
	assert_true(send_raw(fd, message, sizeof(message), NULL, 0));
	assert_true(is_cut_off(fd));
	close(fd);
}

static unsigned int count_open(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void too_many_descriptors_end_the_connection_and_are_closed(void **state)
{
	struct uapi_header h = { .length = sizeof(h), .op = UAPI_STATUS, .fds = 5 };
	int fd = hello_tool(), fds[5];
	unsigned int before = count_open();

	for (int i = 0; i < 5; i++)
		fds[i] = world->memory;
	assert_true(send_raw(fd, &h, sizeof(h), fds, 5));
	assert_true(is_cut_off(fd));
	close(fd);
	assert_int_equal(count_open(), before - 3); /* both ends, and its process's */
}

static void descriptors_that_nobody_wants_are_closed(void **state)
{
	int fd = hello_process(NULL), fds[4];
	struct uapi_map_peer q = { .slot = 0 };
	unsigned int before = count_open();
	struct answer a;

	for (int i = 0; i < 4; i++)
		fds[i] = world->memory;
	assert_int_equal(ask(fd, UAPI_MAP_PEER, &q, sizeof(q), fds, 4, &a), 0);
	assert_int_equal(ask(fd, UAPI_PUBLISH_LOG, NULL, 0, fds, 4, &a), -EINVAL);
	assert_int_equal(ask(fd, UAPI_PUBLISH_LOG, NULL, 0, NULL, 0, &a), -EINVAL);
	assert_int_equal(world->published, 0);
	assert_int_equal(ask(fd, UAPI_PUBLISH_LOG, NULL, 0, fds, 1, &a), 0);
	assert_int_equal(world->published, 1);
	assert_int_equal(count_open(), before);
	close(fd);
}

static void nonsense_that_keeps_the_frame_gets_an_errno(void **state)
{
	uint8_t body[64] = { 0 };
	int fd = hello_process(NULL);
	struct answer a;

	assert_int_equal(ask(fd, 0, NULL, 0, NULL, 0, &a), -EOPNOTSUPP);
	assert_int_equal(ask(fd, 127, NULL, 0, NULL, 0, &a), -EOPNOTSUPP);
	assert_int_equal(ask(fd, 0xffff, NULL, 0, NULL, 0, &a), -EOPNOTSUPP);
	assert_int_equal(ask(fd, UAPI_STATUS, body, 1, NULL, 0, &a), -EINVAL);
	assert_int_equal(ask(fd, UAPI_MAP_PEER, body, 7, NULL, 0, &a), -EINVAL);
	assert_int_equal(ask(fd, UAPI_ALLOC_PD, body, 9, NULL, 0, &a), -EINVAL);
	assert_int_equal(ask(fd, UAPI_STATUS, NULL, 0, NULL, 0, &a), 0);
	close_fds(&a);
	close(fd);
}

static void a_tool_may_not_ask_what_processes_ask(void **state)
{
	uint8_t body[8] = { 0 };
	struct answer a;
	int fd = hello_tool();

	assert_int_equal(ask(fd, UAPI_MAP_PEER, body, 8, NULL, 0, &a), -EPERM);
	assert_int_equal(ask(fd, UAPI_DRAINED, body, 8, NULL, 0, &a), -EPERM);
	assert_int_equal(ask(fd, UAPI_QUERY_DEVICE, body, 8, NULL, 0, &a), -EPERM);
	close(fd);
}

static void descriptors_of_a_peer_come_as_told(void **state)
{
	struct uapi_map_peer q = { .slot = 0 };
	struct uapi_map_peer_reply *reply;
	int fd = hello_process(NULL);
	struct answer a;

	reply = (void *)a.body;
	assert_int_equal(ask(fd, UAPI_MAP_PEER, &q, sizeof(q), NULL, 0, &a), 0);
	assert_int_equal(a.count, 0);
	assert_false(reply->has_doorbell || reply->has_log);
	q.slot = 1;
	assert_int_equal(ask(fd, UAPI_MAP_PEER, &q, sizeof(q), NULL, 0, &a), 0);
	assert_int_equal(a.count, 1);
	assert_true(reply->has_doorbell && !reply->has_log && !reply->has_process);
	close_fds(&a);
	q.slot = 2;
	assert_int_equal(ask(fd, UAPI_MAP_PEER, &q, sizeof(q), NULL, 0, &a), 0);
	assert_int_equal(a.count, 2);
	assert_true(reply->has_doorbell && !reply->has_log && reply->has_process);
	close_fds(&a);
	q.slot = 6;
	assert_int_equal(ask(fd, UAPI_MAP_PEER, &q, sizeof(q), NULL, 0, &a), -ENOENT);
	q.reserved = 1;
	assert_int_equal(ask(fd, UAPI_MAP_PEER, &q, sizeof(q), NULL, 0, &a), -EINVAL);
	close(fd);
}

/* Messages of random bytes behind a frame that is right, half right or random. */
static void send_garbage(int fd, unsigned int *seed)
{
	uint8_t message[600];
	size_t length = (size_t)rand_r(seed) % sizeof(message);
	struct uapi_header h = { .length = (uint32_t)length,
				 .op = (uint16_t)(rand_r(seed) % 90) };
	int fds[8];
	size_t count = rand_r(seed) % 4 ? 0 : (size_t)rand_r(seed) % 7;

	for (size_t i = 0; i < length; i++)
		message[i] = rand_r(seed) % 3 ? 0 : (uint8_t)rand_r(seed);
	h.fds = (uint16_t)count;
	h.op = h.op == UAPI_STOP ? 0 : h.op;
	if (rand_r(seed) % 4 && length >= sizeof(h))
		memcpy(message, &h, sizeof(h));
	for (size_t i = 0; i < count; i++)
		fds[i] = world->memory;
	send_raw(fd, message, length, fds, count);
}

static void garbage_hurts_nobody_but_its_sender(void **state)
{
	unsigned int rounds = harness_count(400, 20000), seed = 20260101;
	int good = hello_process(NULL);
	unsigned int before = count_open();
	struct answer a;

	for (unsigned int i = 0; i < rounds; i++) {
		int fd = i % 3 ? hello_process(NULL) : call_in();

		for (int k = 0; k < 20; k++) {
			send_garbage(fd, &seed);
			turn();
			while (receive(fd, &a))
				close_fds(&a);
		}
		close(fd);
		turn();
		assert_int_equal(ask(good, UAPI_STATUS, NULL, 0, NULL, 0, &a), 0);
		close_fds(&a);
		assert_int_equal(count_open(), before);
	}
	assert_int_equal(world->opened, world->closed + 1);
	close(good);
}

/* -- those who do not read ---------------------------------------------------------- */

static void whoever_does_not_read_replies_is_cut_off(void **state)
{
	int lazy = hello_tool(), good = hello_tool();
	struct answer a;

	for (int i = 0; i < 100000; i++) {
		if (!send_op(lazy, 1000, NULL, 0, NULL, 0) && errno == EPIPE)
			break;
		turn();
		if (i % 50 == 0)
			assert_int_equal(ask(good, 1000, NULL, 0, NULL, 0, &a),
					 -EOPNOTSUPP);
	}
	assert_false(send_op(lazy, 1000, NULL, 0, NULL, 0));
	close(lazy);
	close(good);
}

static struct uapi_client *only_client(void)
{
	return &container_of(world->server->connections.next, struct connection, link)
			->client;
}

static void events_wait_in_order_for_a_slow_reader(void **state)
{
	enum {
		EVENTS = 3000
	};
	struct uapi_async_event body = { 0 };
	int event_fd, fd = hello_process(&event_fd);
	struct answer a;

	for (uint32_t i = 0; i < EVENTS; i++) {
		body.event = i;
		assert_int_equal(uapi_client_event(only_client(), UAPI_EVENT_ASYNC, &body,
						   sizeof(body)),
				 0);
	}
	for (uint32_t i = 0; i < EVENTS; i++) {
		if (!receive(event_fd, &a)) {
			turn();
			assert_true(receive(event_fd, &a));
		}
		assert_int_equal(((struct uapi_async_event *)(void *)a.body)->event, i);
	}
	assert_false(receive(event_fd, &a));
	close(event_fd);
	close(fd);
}

static void whoever_lets_events_pile_up_is_cut_off(void **state)
{
	struct uapi_async_event body = { 0 };
	int event_fd, fd = hello_process(&event_fd), r = 0;

	for (uint32_t i = 0; i < 100000 && !r; i++)
		r = uapi_client_event(only_client(), UAPI_EVENT_ASYNC, &body,
				      sizeof(body));
	assert_int_equal(r, -ENOBUFS);
	assert_int_equal(world->closed, 0); /* not from inside the call */
	assert_true(is_cut_off(fd));
	assert_int_equal(world->closed, 1);
	close(event_fd);
	close(fd);
}

/* -- death -------------------------------------------------------------------------- */

/* A child that says hello (or sends a lease) by itself, and then sits there. */
static pid_t fork_client(bool lease, bool with_grandchild)
{
	int ready[2];
	pid_t child;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		struct uapi_hello h = good_hello(lease ? UAPI_HELLO_TOOL : 0);
		int fd = call_in(), pidfd = pidfd_open_process(getpid());
		struct uapi_lease l = { .flags = 1 };

		setpgid(0, 0); /* before there is a grandchild, which is to be in it */
		send_op(fd, UAPI_HELLO, &h, sizeof(h), &pidfd, 1);
		if (lease) {
			send_op(fd, UAPI_LEASE, &l, sizeof(l), &pidfd, 1);
			shutdown(fd, SHUT_WR);
		}
		if (with_grandchild && !fork())
			for (;;)
				pause(); /* keeps the sockets; killed by its group */
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	harness_until(read(ready[0], &c, 1) == 1, 5000, harness_pause());
	close(ready[0]);
	return child;
}

static void a_forked_child_does_not_hide_its_parents_death(void **state)
{
	pid_t child = fork_client(false, true);

	harness_until(world->opened == 1, 5000, turn());
	turn();
	assert_int_equal(world->closed, 0);
	kill(child, SIGKILL);
	harness_until(world->closed == 1, 5000, turn());
	kill(-child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void the_end_of_the_socket_is_death_too(void **state)
{
	int fd = hello_process(NULL);

	close(fd);
	turn();
	assert_int_equal(world->closed, 1);
}

static void half_a_socket_is_death_too(void **state)
{
	int fd = hello_process(NULL);

	shutdown(fd, SHUT_WR);
	turn();
	assert_int_equal(world->closed, 1);
	close(fd);
}

static void a_lease_lives_as_long_as_its_process(void **state)
{
	pid_t child = fork_client(true, false);

	harness_until(world->present == 1, 5000, turn());
	turn();
	assert_int_equal(world->present, 1);
	assert_int_equal(world->server->connection_count, 0);
	kill(child, SIGKILL);
	harness_until(world->present == 0, 5000, turn());
	assert_int_equal(world->private_ends, 1);
	waitpid(child, NULL, 0);
}

static void a_lease_is_for_oneself(void **state)
{
	int fd = hello_tool(), other = pidfd_open_process(getppid());
	struct uapi_lease l = { 0 };
	struct answer a;

	if (other >= 0) {
		assert_true(ask(fd, UAPI_LEASE, &l, sizeof(l), &other, 1, &a) < 0);
		close(other);
	}
	assert_int_equal(ask(fd, UAPI_LEASE, &l, sizeof(l), NULL, 0, &a), -EINVAL);
	assert_int_equal(ask(fd, UAPI_LEASE, &l, sizeof(l), &world->memory, 1, &a),
			 -EBADF);
	assert_int_equal(world->present, 0);
	close(fd);
}

/* -- limits and the rest ------------------------------------------------------------ */

#define CALLERS_MAX (8 + 64) /* max_clients, and room for tools and the silent */

static void beyond_the_limit_processes_are_refused_and_tools_are_not(void **state)
{
	struct uapi_hello h = good_hello(0);
	int fds[8], more, tool;
	struct answer a;

	for (int i = 0; i < 8; i++)
		fds[i] = hello_process(NULL);
	more = call_in();
	assert_int_equal(say_hello(more, &h, &a), -EUSERS);
	assert_true(is_cut_off(more));
	close(more);
	tool = hello_tool();
	close(fds[0]);
	turn();
	fds[0] = hello_process(NULL);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	close(tool);
}

static void tools_are_not_without_number(void **state)
{
	int fds[CALLERS_MAX], more;

	for (int i = 0; i < CALLERS_MAX; i++)
		fds[i] = hello_tool();
	more = call_in();
	assert_true(is_cut_off(more));
	close(more);
	for (int i = 0; i < CALLERS_MAX; i++)
		close(fds[i]);
}

static void silent_callers_make_room_for_others(void **state)
{
	int fds[CALLERS_MAX], tool;

	for (int i = 0; i < CALLERS_MAX; i++) {
		fds[i] = call_in();
		turn();
	}
	tool = hello_tool();
	assert_true(is_cut_off(fds[0]));
	assert_false(is_cut_off(fds[1]));
	for (int i = 0; i < CALLERS_MAX; i++)
		close(fds[i]);
	close(tool);
}

static void without_descriptors_callers_are_sent_away(void **state)
{
	struct rlimit old, none;
	int fd = call_in(), highest = 0, fillers[1024], count = 0;

	for (int i = 0; i < 1024; i++)
		if (fcntl(i, F_GETFD) >= 0)
			highest = i;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = (rlim_t)highest + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	do /* fill the gaps below */
		fillers[count] = fcntl(world->memory, F_DUPFD_CLOEXEC, 0);
	while (fillers[count] >= 0 && ++count < 1024);
	assert_true(is_cut_off(fd));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	while (count)
		close(fillers[--count]);
	close(fd);
	close(hello_tool());
	turn();
}

static void stop_is_answered(void **state)
{
	struct answer a;
	int fd = hello_tool();

	assert_int_equal(ask(fd, UAPI_STOP, NULL, 0, NULL, 0, &a), 0);
	assert_int_equal(world->stopped, 1);
	close(fd);
}

static void status_is_a_file(void **state)
{
	struct uapi_status_reply *reply;
	struct answer a;
	char text[8] = "";
	int fd = hello_tool();

	assert_int_equal(ask(fd, UAPI_STATUS, NULL, 0, NULL, 0, &a), 0);
	reply = (void *)a.body;
	assert_int_equal(reply->bytes, 2);
	assert_int_equal(a.count, 1);
	assert_int_equal(pread(a.fds[0], text, sizeof(text), 0), 2);
	assert_string_equal(text, "{}");
	close_fds(&a);
	close(fd);
}

/* -- commands in words -------------------------------------------------------------- */

static struct uapi_admin words(uint32_t argc, const char *text, uint32_t bytes)
{
	struct uapi_admin a = { .argc = argc, .bytes = bytes };

	memcpy(a.words, text, bytes);
	return a;
}

static int admin_fd(struct answer *a, int exit_status, const char *text)
{
	const struct uapi_admin_reply *reply = (void *)a->body;
	char have[64] = "";

	assert_int_equal(a->count, 1);
	assert_int_equal(reply->exit_status, exit_status);
	assert_int_equal(reply->bytes, strlen(text));
	assert_int_equal(pread(a->fds[0], have, sizeof(have), 0), strlen(text));
	assert_string_equal(have, text);
	close_fds(a);
	return 0;
}

static void a_command_is_answered_at_once(void **state)
{
	struct uapi_admin w = words(3, "now\0\0b", 7);
	int fd = hello_tool();
	struct answer a;

	assert_int_equal(ask(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0, &a), 0);
	assert_string_equal(world->admin_words, "now  b");
	admin_fd(&a, 0, "at once");
	close(fd);
}

static void a_command_is_answered_later(void **state)
{
	struct uapi_admin w = words(1, "later", 6);
	int fd = hello_tool();
	struct answer a;

	assert_true(send_op(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0));
	turn();
	assert_false(receive(fd, &a));
	uapi_admin_answer(world->admin, 3, "no");
	assert_true(receive(fd, &a));
	assert_int_equal(a.h.op, UAPI_ADMIN);
	assert_int_equal(a.h.serial, 4711);
	admin_fd(&a, 3, "no");
	w = words(1, "now", 4);
	assert_int_equal(ask(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0, &a), 0);
	close_fds(&a);
	close(fd);
	turn();
	assert_int_equal(world->admin_gone, 0);
}

static void nothing_else_is_asked_while_a_command_lasts(void **state)
{
	struct uapi_admin w = words(1, "later", 6);
	int fd = hello_tool();

	assert_true(send_op(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0));
	assert_true(send_op(fd, UAPI_STATUS, NULL, 0, NULL, 0));
	assert_true(is_cut_off(fd));
	assert_int_equal(world->admin_gone, 1);
	close(fd);
}

static void a_command_ends_with_who_asked(void **state)
{
	struct uapi_admin w = words(1, "later", 6);
	int fd = hello_tool();

	assert_true(send_op(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0));
	turn();
	assert_non_null(world->admin);
	close(fd);
	turn();
	assert_int_equal(world->admin_gone, 1);
}

static void lease_here(int fd)
{
	int pidfd = pidfd_open_process(getpid());
	struct uapi_lease l = { 0 };
	struct answer a;

	assert_int_equal(ask(fd, UAPI_LEASE, &l, sizeof(l), &pidfd, 1, &a), 0);
	close(pidfd);
}

static struct uapi_admin_call *call_later(int fd)
{
	struct uapi_admin w = words(1, "later", 6);

	assert_true(send_op(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0));
	turn();
	assert_non_null(world->admin);
	return world->admin;
}

static void others_are_processes_leases_and_calls_in_hand(void **state)
{
	int fd = hello_tool(), other = hello_tool();
	struct uapi_admin_call *call, *second;
	pid_t child;

	/* Who has come to ask is no other, with a lease or without. */
	lease_here(fd);
	call = call_later(fd);
	assert_false(uapi_server_has_others(world->server, call));

	child = fork_client(true, false);
	harness_until(world->present == 2, 5000, turn());
	assert_true(uapi_server_has_others(world->server, call));
	kill(child, SIGKILL);
	harness_until(world->present == 1, 5000, turn());
	waitpid(child, NULL, 0);
	assert_false(uapi_server_has_others(world->server, call));

	child = fork_client(false, false);
	harness_until(world->present == 2, 5000, turn());
	assert_true(uapi_server_has_others(world->server, call));
	kill(child, SIGKILL);
	harness_until(world->present == 1, 5000, turn());
	waitpid(child, NULL, 0);

	second = call_later(other);
	assert_true(uapi_server_has_others(world->server, call));
	uapi_admin_answer(second, 0, "");
	assert_false(uapi_server_has_others(world->server, call));
	uapi_admin_answer(call, 0, "");
	close(fd);
	close(other);
	turn();
}

static void who_is_put_off_asks_the_next_site(void **state)
{
	int fd = hello_tool();
	struct answer a;

	uapi_admin_put_off(call_later(fd));
	assert_true(receive(fd, &a));
	assert_int_equal(a.h.op, UAPI_ADMIN);
	assert_int_equal(a.h.serial, 4711);
	assert_int_equal(a.h.status, -EAGAIN);
	assert_int_equal(a.count, 0);
	close(fd);
	turn();
	assert_int_equal(world->admin_gone, 0);
}

/* Both have come before the loop looks, the lease behind the command. */
static void no_lease_is_granted_by_a_loop_that_was_stopped(void **state)
{
	struct uapi_admin w = words(1, "yield", 6);
	int fd = hello_tool(), comer = hello_tool();
	int pidfd = pidfd_open_process(getpid());
	struct uapi_lease l = { 0 };
	struct answer a;

	assert_true(send_op(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0));
	assert_true(send_op(comer, UAPI_LEASE, &l, sizeof(l), &pidfd, 1));
	assert_int_equal(loop_run(world->loop), 0);
	assert_true(receive(fd, &a));
	assert_int_equal(a.h.status, -EAGAIN);
	assert_false(receive(comer, &a));
	assert_int_equal(world->present, 0);
	uapi_server_destroy(world->server);
	world->server = NULL;
	assert_true(is_cut_off(comer));
	close(pidfd);
	close(fd);
	close(comer);
}

static void words_that_are_none_are_refused(void **state)
{
	struct uapi_admin wrong[] = {
		words(0, "", 0),      words(1, "", 0),          words(1, "a", 1),
		words(2, "a", 2),     words(1, "a\0b", 4),      words(0, "a", 2),
		words(65, "a\0b", 4), words(UINT32_MAX, "", 1),
	};
	int fd = hello_tool(), pidfd = pidfd_open_process(getpid());
	struct answer a;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			ask(fd, UAPI_ADMIN, &wrong[i], sizeof(wrong[i]), NULL, 0, &a),
			-EINVAL);
	wrong[0] = words(1, "a", 2);
	wrong[0].bytes = sizeof(wrong[0].words) + 1;
	assert_int_equal(ask(fd, UAPI_ADMIN, &wrong[0], sizeof(wrong[0]), NULL, 0, &a),
			 -EINVAL);
	wrong[0].bytes = 2;
	assert_int_equal(ask(fd, UAPI_ADMIN, &wrong[0], sizeof(wrong[0]), &pidfd, 1, &a),
			 -EINVAL);
	assert_string_equal(world->admin_words, "");
	close(pidfd);
	close(fd);
}

static void processes_command_nothing(void **state)
{
	struct uapi_admin w = words(1, "now", 4);
	int fd = hello_process(NULL);
	struct answer a;

	assert_int_equal(ask(fd, UAPI_ADMIN, &w, sizeof(w), NULL, 0, &a), -EPERM);
	close(fd);
	turn();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_process_gets_its_memory),
		T(a_tool_gets_nothing_and_is_not_counted),
		T(another_version_is_told_both),
		T(another_version_may_have_another_length),
		T(another_layout_is_refused_to_processes_only),
		T(every_field_of_hello_is_checked),
		T(a_short_or_long_hello_is_refused),
		T(the_descriptor_must_be_the_callers_own),
		T(a_second_hello_is_refused),
		T(whoever_does_not_say_hello_first_is_cut_off),
		T(whoever_says_nothing_is_cut_off),
		T(a_broken_frame_ends_the_connection),
		T(a_message_beyond_the_longest_ends_the_connection),
		T(too_many_descriptors_end_the_connection_and_are_closed),
		T(descriptors_that_nobody_wants_are_closed),
		T(nonsense_that_keeps_the_frame_gets_an_errno),
		T(a_tool_may_not_ask_what_processes_ask),
		T(descriptors_of_a_peer_come_as_told),
		T(garbage_hurts_nobody_but_its_sender),
		T(whoever_does_not_read_replies_is_cut_off),
		T(events_wait_in_order_for_a_slow_reader),
		T(whoever_lets_events_pile_up_is_cut_off),
		T(a_forked_child_does_not_hide_its_parents_death),
		T(the_end_of_the_socket_is_death_too),
		T(half_a_socket_is_death_too),
		T(a_lease_lives_as_long_as_its_process),
		T(a_lease_is_for_oneself),
		T(beyond_the_limit_processes_are_refused_and_tools_are_not),
		T(tools_are_not_without_number),
		T(silent_callers_make_room_for_others),
		T(without_descriptors_callers_are_sent_away),
		T(stop_is_answered),
		T(status_is_a_file),
		T(a_command_is_answered_at_once),
		T(a_command_is_answered_later),
		T(nothing_else_is_asked_while_a_command_lasts),
		T(a_command_ends_with_who_asked),
		T(others_are_processes_leases_and_calls_in_hand),
		T(who_is_put_off_asks_the_next_site),
		T(no_lease_is_granted_by_a_loop_that_was_stopped),
		T(words_that_are_none_are_refused),
		T(processes_command_nothing),
	};

	return harness_run(tests);
}
