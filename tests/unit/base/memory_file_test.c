// SPDX-License-Identifier: BSD-2-Clause
/*
 * What goes into a file of memory comes out of it, and its seals hold.
 */
#include "base/memory_file.h"
#include "harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BYTES 100000

static unsigned char in[BYTES], out[BYTES];

static void what_is_in_it_is_read(void **state)
{
	int fd;

	for (unsigned int i = 0; i < BYTES; i++)
		in[i] = (unsigned char)(i % 251);
	fd = memory_file_create("test", in, BYTES, 0);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(memory_file_read(fd, out, BYTES), 0);
	assert_memory_equal(in, out, BYTES);
	assert_int_equal(memory_file_read(fd, out, 10), 0);
	close(fd);
}

static void more_than_is_there_is_told(void **state)
{
	int fd = memory_file_create("test", "word", 4, 0);

	assert_true(fd >= 0);
	assert_int_equal(memory_file_read(fd, out, 5), -ENODATA);
	assert_int_equal(memory_file_read(fd, out, 4), 0);
	assert_memory_equal(out, "word", 4);
	close(fd);
	assert_int_equal(memory_file_read(fd, out, 4), -EBADF);
}

static void seals_are_those_that_were_asked_for(void **state)
{
	int fd = memory_file_create("test", "word", 4, F_SEAL_SHRINK);

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW),
			 F_SEAL_SHRINK);
	assert_int_equal(ftruncate(fd, 3), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 5), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_it_is_read),
		cmocka_unit_test(more_than_is_there_is_told),
		cmocka_unit_test(seals_are_those_that_were_asked_for),
	};

	return harness_run(tests);
}
