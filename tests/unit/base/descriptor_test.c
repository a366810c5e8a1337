// SPDX-License-Identifier: BSD-2-Clause
/* A held descriptor whose number has been given to another file is nobody's to close. */
#include "harness/harness.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"

static int open_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static void what_is_held_is_ours_until_it_is_closed(void **state)
{
	struct descriptor d;
	int fd = open_socket();

	descriptor_hold(&d, fd);
	assert_true(descriptor_is_ours(&d));
	descriptor_close(&d);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_false(descriptor_is_ours(&d));
	descriptor_close(&d);
}

static void a_number_used_anew_is_left_alone(void **state)
{
	struct descriptor d;
	int fd = open_socket();

	descriptor_hold(&d, fd);
	close(fd);
	assert_false(descriptor_is_ours(&d));
	assert_int_equal(open_socket(), fd);
	assert_false(descriptor_is_ours(&d));
	descriptor_close(&d);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	close(fd);
}

static void nothing_is_held(void **state)
{
	struct descriptor d = DESCRIPTOR_NONE;

	assert_false(descriptor_is_ours(&d));
	descriptor_hold(&d, -1);
	assert_false(descriptor_is_ours(&d));
	descriptor_close(&d);
}

static void the_standard_ones_are_left_free(void **state)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), fd;
	struct descriptor d;

	close(STDIN_FILENO);
	fd = open_socket();
	assert_int_equal(fd, STDIN_FILENO);
	descriptor_hold(&d, fd);
	assert_true(d.fd > STDERR_FILENO);
	assert_true(descriptor_is_ours(&d));
	assert_true(fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	descriptor_close(&d);
	if (input >= 0) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
	assert_int_equal(descriptor_behind_standard(-1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_held_is_ours_until_it_is_closed),
		cmocka_unit_test(a_number_used_anew_is_left_alone),
		cmocka_unit_test(nothing_is_held),
		cmocka_unit_test(the_standard_ones_are_left_free),
	};

	return harness_run(tests);
}
