// SPDX-License-Identifier: BSD-2-Clause
// uses: core_mad core_verbs mad wire
/*
 * The libibumad commands over an adapter that only remembers: what a client may ask, what
 * reaches the wire, and what of it comes back in the port's ring.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <unistd.h>

#include "unit/core_mad/world.h"
#include "loop/loop.h"
#include "uapi/server/server_priv.h"
#include "uapi/server/umad_priv.h"

static struct {
	struct uapi_server server;
	struct connection connection;
	struct uapi_site_ops ops;
	struct loop *loop;
	struct loop_timer *stop;       /* ends the loop */
	int port;                      /* the program's end */
	struct uapi_umad_rings *rings; /* its mapping */
	struct uapi_umad_end out, in;
	const struct ib_device *asked; /* for its file */
} site;

/* Stands in for the dispatcher's. */
void connection_doom(struct connection *c, const char *why)
{
	c->doomed = true;
	loop_stop(site.loop);
}

int uapi_message_send(int fd, const void *message, size_t bytes,
		      const struct uapi_fds *fds)
{
	ssize_t n = send(fd, message, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? -errno : 0;
}

static int issm_path(void *arg, const struct ib_device *device, char *path, size_t size)
{
	site.asked = device;
	snprintf(path, size, "/there");
	return 0;
}

static int ask(uint16_t op, const void *request, void *reply, struct uapi_fds *fds)
{
	for (const struct uapi_command *c = umad_commands; c->op; c++)
		if (c->op == op)
			return c->fn(&site.connection.client, request, reply, fds);
	fail_msg("nobody serves %u", op);
	return -1;
}

static void stop(void *arg)
{
	loop_stop(site.loop);
}

static int begin(void **state)
{
	world_begin(state);
	memset(&site, 0, sizeof(site));
	assert_int_equal(loop_create(&site.loop), 0);
	assert_int_equal(loop_timer_create(site.loop, stop, NULL, &site.stop), 0);
	site.ops.issm_path = issm_path;
	site.server.config.ops = &site.ops;
	site.connection.client = (struct uapi_client){ .server = &site.server,
						       .loop = site.loop,
						       .node = world.node };
	site.port = -1;
	return 0;
}

static int end(void **state)
{
	umad_client_close(&site.connection.client);
	if (site.port >= 0)
		close(site.port);
	uapi_umad_rings_unmap(site.rings);
	loop_timer_destroy(site.stop);
	loop_destroy(site.loop);
	run_ms(10000);
	return world_end(state);
}

static void open_port(void)
{
	struct uapi_umad_open req = { .id = ib_device_id(&world.hca.ib), .port_num = 1 };
	struct uapi_fds fds = { 0 };

	assert_int_equal(ask(UAPI_UMAD_OPEN, &req, NULL, &fds), 0);
	assert_int_equal(fds.out_count, 2);
	site.port = fds.out[0];
	assert_int_equal(uapi_umad_rings_map(fds.out[1], &site.rings), 0);
	close(fds.out[1]);
	site.out = (struct uapi_umad_end){ &site.rings->out, 0 };
	site.in = (struct uapi_umad_end){ &site.rings->in, 0 };
}

static int add(uint8_t mgmt_class, uint64_t methods)
{
	struct uapi_umad_register req = { .mgmt_class = mgmt_class,
					  .mgmt_class_version = 1,
					  .qpn = mgmt_class != 0x81,
					  .method_mask = { methods } };
	struct uapi_umad_agent rep = { 0 };
	struct uapi_fds fds = { 0 };
	int r = ask(UAPI_UMAD_REGISTER, &req, &rep, &fds);

	return r < 0 ? r : (int)rep.agent;
}

static int remove_agent(uint32_t agent)
{
	struct uapi_umad_agent req = { .agent = agent };
	struct uapi_fds fds = { 0 };

	return ask(UAPI_UMAD_UNREGISTER, &req, NULL, &fds);
}

static struct uapi_umad_message message(uint32_t timeout_ms, uint64_t tid)
{
	struct uapi_umad_message m = { .timeout_ms = timeout_ms,
				       .length = MAD_BYTES,
				       .lid = 7,
				       .qpn = 1,
				       .qkey = IB_GSI_QKEY };

	build_mad(m.mad, 0x04, 1, MAD_METHOD_GET, tid);
	return m;
}

static int send_fd(const struct uapi_umad_message *m, int fd)
{
	struct uapi_fds fds = { .in = { fd }, .in_count = fd >= 0 };

	return ask(UAPI_UMAD_SEND, m, NULL, &fds);
}

static bool is_readable(void)
{
	struct pollfd p = { .fd = site.port, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void hear_bell(void)
{
	struct uapi_header bell;

	assert_int_equal(recv(site.port, &bell, sizeof(bell), MSG_DONTWAIT),
			 sizeof(bell));
	assert_int_equal(bell.op, UAPI_UMAD_BELL);
}

/* The next message for the program; false: none. There is a bell while there are some. */
static bool heard_message(struct uapi_umad_message *ret)
{
	umad_queue_flush(&site.connection.client.umad->queue);
	if (!is_readable()) {
		assert_true(uapi_umad_ring_is_empty(&site.in));
		return false;
	}
	assert_int_equal(uapi_umad_ring_look(&site.in, ret), 1);
	assert_false(uapi_umad_ring_drop(&site.in));
	if (uapi_umad_ring_is_empty(&site.in)) {
		hear_bell();
		assert_true(uapi_umad_ring_listen(&site.in));
	}
	return true;
}

static void without_a_port_nothing_is_done(void **state)
{
	struct uapi_umad_message m = message(0, 1);
	struct uapi_umad_open req = { .id = 99, .port_num = 1 };
	struct uapi_fds fds = { 0 };

	assert_int_equal(add(4, 0), -EBADF);
	assert_int_equal(remove_agent(0), -EBADF);
	assert_int_equal(send_fd(&m, -1), -EBADF);
	assert_int_equal(ask(UAPI_UMAD_OPEN, &req, NULL, &fds), -ENODEV);
	req.id = ib_device_id(&world.hca.ib);
	req.port_num = 9;
	assert_int_equal(ask(UAPI_UMAD_OPEN, &req, NULL, &fds), -EINVAL);
	open_port();
	req.port_num = 1;
	assert_int_equal(ask(UAPI_UMAD_OPEN, &req, NULL, &fds), -EBUSY);
}

static void agents_get_the_smallest_free_number(void **state)
{
	open_port();
	for (int i = 0; i < 32; i++)
		assert_int_equal(add(4, 0), i);
	assert_int_equal(add(4, 0), -ENOMEM);
	assert_int_equal(remove_agent(5), 0);
	assert_int_equal(remove_agent(5), -EINVAL);
	assert_int_equal(remove_agent(32), -EINVAL);
	assert_int_equal(add(4, 2), 5);
	assert_int_equal(remove_agent(6), 0);
	assert_int_equal(add(4, 2), -EINVAL);
	assert_int_equal(add(0x50, 0), -EINVAL);
}

static void a_port_has_a_file_for_managers(void **state)
{
	struct uapi_umad_open req = { .id = ib_device_id(&world.hca.ib), .port_num = 1 };
	struct uapi_umad_issm rep = { "" };
	struct uapi_fds fds = { 0 };

	assert_int_equal(ask(UAPI_UMAD_ISSM, &req, &rep, &fds), 0);
	assert_string_equal(rep.path, "/there");
	assert_ptr_equal(site.asked, &world.hca.ib);
	req.port_num = 9;
	assert_int_equal(ask(UAPI_UMAD_ISSM, &req, &rep, &fds), -EINVAL);
	req.id += 77;
	assert_int_equal(ask(UAPI_UMAD_ISSM, &req, &rep, &fds), -ENODEV);
	site.ops.issm_path = NULL;
	req.id -= 77;
	req.port_num = 1;
	assert_int_equal(ask(UAPI_UMAD_ISSM, &req, &rep, &fds), -ENODEV);
}

static void what_is_not_answered_comes_back(void **state)
{
	struct uapi_umad_message m = message(100, 0xaaaaaaaa00000005), back;
	struct mad_header header;

	open_port();
	assert_int_equal(add(4, 0), 0);
	assert_int_equal(send_fd(&m, -1), 0);
	assert_int_equal(send_fd(&m, -1), -EINVAL);
	run_ms(99);
	assert_false(heard_message(&back));
	run_ms(2);
	assert_true(heard_message(&back));
	assert_int_equal(back.status, ETIMEDOUT);
	assert_int_equal(back.length, MAD_HEADER_BYTES);
	mad_header_get(back.mad, &header);
	assert_int_equal((uint32_t)header.tid, 5);
	assert_int_not_equal(header.tid >> 32, 0xaaaaaaaa);
	m.timeout_ms = 0;
	assert_int_equal(send_fd(&m, -1), 0);
	run_ms(1000);
	assert_false(heard_message(&back));
}

/* Without a request. */
static void put(const struct uapi_umad_message *m)
{
	assert_true(uapi_umad_ring_put(&site.out, m));
}

static void send_bell(uint16_t op)
{
	struct uapi_header bell = { .length = sizeof(bell), .op = op };

	assert_int_equal(send(site.port, &bell, sizeof(bell), 0), sizeof(bell));
}

/* What is there is looked at before a timer of no delay. */
static void turn(void)
{
	for (int i = 0; i < 3; i++) {
		loop_timer_arm(site.stop, 0);
		assert_int_equal(loop_run(site.loop), 0);
	}
}

static void take(void)
{
	umad_queue_take(&site.connection.client.umad->queue);
}

static void what_is_sent_unasked_comes_back_if_it_is_refused(void **state)
{
	struct uapi_umad_message m = message(100, 5), back;

	open_port();
	assert_int_equal(add(4, 0), 0);
	put(&m);
	put(&m); /* the same transaction */
	m.agent = 7;
	put(&m);
	m.timeout_ms = 0; /* who waits for nothing hears nothing */
	put(&m);
	m = message(100, 6);
	m.length = 4096;
	put(&m);
	take();
	assert_int_equal(world.hca.count, 1);
	assert_true(heard_message(&back));
	assert_int_equal(back.status, EINVAL);
	assert_int_equal(back.length, MAD_HEADER_BYTES);
	assert_true(heard_message(&back));
	assert_int_equal(back.status, EIO);
	assert_int_equal(back.agent, 7);
	assert_true(heard_message(&back));
	assert_int_equal(back.status, EMSGSIZE);
	assert_false(heard_message(&back));
	assert_false(site.connection.doomed);
}

static void what_was_sent_goes_before_what_is_asked(void **state)
{
	struct uapi_umad_message m = message(0, 5), back;

	open_port();
	assert_int_equal(add(4, 0), 0);
	put(&m);
	m = message(0, 6);
	assert_int_equal(send_fd(&m, -1), 0);
	assert_int_equal(world.hca.count, 2);
	m = message(0, 8);
	put(&m);
	assert_int_equal(remove_agent(0), 0);
	assert_int_equal(world.hca.count, 3);
	assert_false(heard_message(&back));
}

static void a_bell_wakes_once(void **state)
{
	struct uapi_umad_message m = message(0, 5);

	open_port();
	assert_int_equal(add(4, 0), 0);
	put(&m);
	assert_true(uapi_umad_ring_is_heard(&site.out));
	m = message(0, 6);
	put(&m);
	assert_false(uapi_umad_ring_is_heard(&site.out));
	take();
	assert_int_equal(world.hca.count, 2);
	m = message(0, 7);
	put(&m);
	assert_true(uapi_umad_ring_is_heard(&site.out));
}

/* As when its bell and the program's listening cross. */
static void a_bell_asks_for_a_bell(void **state)
{
	struct uapi_umad_message m = message(1, 5);

	open_port();
	assert_int_equal(add(4, 0), 0);
	atomic_store(&site.in.ring->listens, 0);
	put(&m);
	put(&m);
	take();
	umad_queue_flush(&site.connection.client.umad->queue);
	assert_false(uapi_umad_ring_listen(&site.in));
	assert_false(is_readable());
	send_bell(UAPI_UMAD_BELL);
	send_bell(UAPI_UMAD_OPEN); /* which ends the loop */
	assert_int_equal(loop_run(site.loop), 0);
	hear_bell();
}

static void what_has_no_room_waits_for_it(void **state)
{
	struct uapi_umad_message m = message(1, 5), back;
	unsigned int count = 0;

	open_port();
	assert_int_equal(add(4, 0), 0);
	m.agent = 7; /* each comes back */
	for (unsigned int i = 0; i < 3 * UAPI_UMAD_SLOTS; i++) {
		m.retries = i;
		put(&m);
		take();
	}
	umad_queue_flush(&site.connection.client.umad->queue);
	assert_true(is_readable());
	while (uapi_umad_ring_look(&site.in, &back) == 1) {
		assert_int_equal(back.retries, count++);
		if (!uapi_umad_ring_drop(&site.in))
			continue;
		send_bell(UAPI_UMAD_BELL);
		turn();
	}
	assert_int_equal(count, 3 * UAPI_UMAD_SLOTS);
	assert_false(site.connection.doomed);
}

static void a_ring_of_nonsense_ends_the_connection(void **state)
{
	struct uapi_umad_message m = message(0, 5);

	open_port();
	assert_int_equal(add(4, 0), 0);
	put(&m);
	take();
	atomic_store(&site.out.ring->head, UAPI_UMAD_SLOTS + 2);
	take();
	assert_true(site.connection.doomed);
	take();
	assert_int_equal(world.hca.count, 1);
}

static void one_bell_is_enough_for_a_full_ring(void **state)
{
	open_port();
	assert_int_equal(add(4, 0), 0);
	for (unsigned int i = 0; i < UAPI_UMAD_SLOTS; i++) {
		struct uapi_umad_message m = message(0, i);

		put(&m);
	}
	send_bell(UAPI_UMAD_BELL);
	turn();
	assert_int_equal(world.hca.count, UAPI_UMAD_SLOTS);
}

static void a_packet_of_another_op_ends_the_connection(void **state)
{
	open_port();
	send_bell(UAPI_UMAD_OPEN);
	assert_int_equal(loop_run(site.loop), 0);
	assert_true(site.connection.doomed);
}

static void nonsense_is_refused(void **state)
{
	struct uapi_umad_message m = message(0, 1);
	int memory = memfd_create("test", MFD_ALLOW_SEALING);

	open_port();
	assert_int_equal(send_fd(&m, -1), -EIO);
	assert_int_equal(add(4, 0), 0);
	m.agent = 32;
	assert_int_equal(send_fd(&m, -1), -EINVAL);
	m = message(0, 1);
	m.length = 35;
	assert_int_equal(send_fd(&m, -1), -EINVAL);
	m = message(0, 1);
	m.sl = 16;
	assert_int_equal(send_fd(&m, -1), -EINVAL);
	m = message(0, 1);
	m.length = UAPI_UMAD_BYTES_MAX + 1;
	assert_int_equal(send_fd(&m, -1), -EMSGSIZE);
	m.length = 4096;
	assert_int_equal(send_fd(&m, -1), -EINVAL);
	assert_int_equal(ftruncate(memory, 4095), 0);
	assert_int_equal(send_fd(&m, memory), -EINVAL); /* not sealed */
	assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(send_fd(&m, memory), -EINVAL); /* too short */
	close(memory);
	assert_int_equal(world.hca.count, 0);
}

static void to_close_the_socket_ends_the_connection(void **state)
{
	struct uapi_umad_message m = message(0, 5);

	open_port();
	assert_int_equal(add(4, 0), 0);
	put(&m); /* goes before */
	close(site.port);
	site.port = -1;
	assert_int_equal(loop_run(site.loop), 0);
	assert_true(site.connection.doomed);
	assert_int_equal(world.hca.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_a_port_nothing_is_done, begin,
						end),
		cmocka_unit_test_setup_teardown(agents_get_the_smallest_free_number,
						begin, end),
		cmocka_unit_test_setup_teardown(a_port_has_a_file_for_managers, begin,
						end),
		cmocka_unit_test_setup_teardown(what_is_not_answered_comes_back, begin,
						end),
		cmocka_unit_test_setup_teardown(
			what_is_sent_unasked_comes_back_if_it_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(what_was_sent_goes_before_what_is_asked,
						begin, end),
		cmocka_unit_test_setup_teardown(a_bell_wakes_once, begin, end),
		cmocka_unit_test_setup_teardown(a_bell_asks_for_a_bell, begin, end),
		cmocka_unit_test_setup_teardown(what_has_no_room_waits_for_it, begin,
						end),
		cmocka_unit_test_setup_teardown(a_ring_of_nonsense_ends_the_connection,
						begin, end),
		cmocka_unit_test_setup_teardown(one_bell_is_enough_for_a_full_ring, begin,
						end),
		cmocka_unit_test_setup_teardown(
			a_packet_of_another_op_ends_the_connection, begin, end),
		cmocka_unit_test_setup_teardown(nonsense_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(to_close_the_socket_ends_the_connection,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
