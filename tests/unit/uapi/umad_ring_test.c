// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rings of a port of libibumad: what goes in comes out, once and in order, and whoever
 * listens is rung once for it, never for nothing.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "harness/harness.h"
#include "uapi/protocol/umad_ring.h"

#define WAIT_MS 10000

static struct uapi_umad_rings *rings;
static struct uapi_umad_end from, to;

static int begin(void **state)
{
	int fd;

	assert_int_equal(uapi_umad_rings_create(&fd, &rings), 0);
	close(fd);
	from = to = (struct uapi_umad_end){ &rings->out, 0 };
	return 0;
}

static int end(void **state)
{
	uapi_umad_rings_unmap(rings);
	return 0;
}

static bool put(uint32_t n)
{
	struct uapi_umad_message m = { .retries = n };

	return uapi_umad_ring_put(&from, &m);
}

static int look(void)
{
	struct uapi_umad_message m;
	int r = uapi_umad_ring_look(&to, &m);

	return r == 1 ? (int)m.retries : r < 0 ? r : -EAGAIN;
}

static void what_was_put_stays_until_it_is_dropped(void **state)
{
	assert_int_equal(look(), -EAGAIN);
	assert_true(put(1));
	assert_true(put(2));
	assert_int_equal(look(), 1);
	assert_int_equal(look(), 1);
	assert_false(uapi_umad_ring_drop(&to));
	assert_int_equal(look(), 2);
	assert_false(uapi_umad_ring_drop(&to));
	assert_true(uapi_umad_ring_is_empty(&to));
}

static void a_full_ring_takes_nothing_and_rings_when_half_is_free(void **state)
{
	for (uint32_t i = 0; i < UAPI_UMAD_SLOTS; i++)
		assert_true(put(i));
	assert_false(put(0));
	assert_true(uapi_umad_ring_await_room(&from));
	for (uint32_t i = 0; i < UAPI_UMAD_SLOTS / 2 - 1; i++)
		assert_false(uapi_umad_ring_drop(&to));
	assert_true(uapi_umad_ring_drop(&to));
	assert_false(uapi_umad_ring_drop(&to));
	assert_false(uapi_umad_ring_await_room(&from));
}

static void who_listens_is_rung_once(void **state)
{
	assert_true(put(1));
	assert_false(uapi_umad_ring_is_heard(&from));
	assert_false(uapi_umad_ring_drop(&to));
	assert_true(uapi_umad_ring_listen(&to));
	assert_false(uapi_umad_ring_is_heard(&from)); /* all of it has been taken */
	assert_true(put(2));
	assert_true(put(3));
	assert_true(uapi_umad_ring_is_heard(&from));
	assert_false(uapi_umad_ring_is_heard(&from));
	assert_false(uapi_umad_ring_listen(&to));
}

static void positions_may_wrap(void **state)
{
	from.count = to.count = UINT32_MAX - 1;
	atomic_store(&rings->out.head, UINT32_MAX - 1);
	atomic_store(&rings->out.tail, UINT32_MAX - 1);
	for (uint32_t i = 0; i < 2 * UAPI_UMAD_SLOTS; i++) {
		assert_true(put(i));
		assert_int_equal(look(), i);
		assert_false(uapi_umad_ring_drop(&to));
	}
}

static void nonsense_is_neither_read_nor_overwritten(void **state)
{
	atomic_store(&rings->out.head, UAPI_UMAD_SLOTS + 1);
	assert_int_equal(look(), -EPROTO);
	atomic_store(&rings->out.tail, 77);
	assert_false(put(1));
}

static void another_file_is_no_ring(void **state)
{
	struct uapi_umad_rings *mapped;
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(uapi_umad_rings_map(fileno(file), &mapped), -EPROTO);
	fclose(file);
}

/* -- two threads ------------------------------------------------------------------------ */

static int bells[2],
	room[2]; /* to who takes; to who puts, who rings it as verbcastd is */
static uint32_t total;
static atomic_bool is_over;

static void ring(const int pipe_fds[2])
{
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
}

static void await(const int pipe_fds[2])
{
	struct pollfd p = { .fd = pipe_fds[0], .events = POLLIN };
	char byte;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
}

static bool was_rung(const int pipe_fds[2], int timeout_ms)
{
	struct pollfd p = { .fd = pipe_fds[0], .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void ring_if_heard(void)
{
	if (uapi_umad_ring_is_heard(&from))
		ring(bells);
}

/* Puts in bursts; whenever it is rung it looks whether somebody listens in vain. */
static void *puts_all(void *arg)
{
	for (uint32_t n = 0; n < total;) {
		if (put(n)) {
			if (++n % 3 == 0)
				ring_if_heard();
		} else if (uapi_umad_ring_await_room(&from)) {
			ring_if_heard();
			await(room);
			ring_if_heard();
		}
	}
	do {
		ring_if_heard();
		await(room);
	} while (!atomic_load(&is_over));
	return NULL;
}

/* As the library: nothing is there before its bell, and that goes when all is taken. */
static void takes_and_listens(void **state)
{
	uint32_t expected = 0;
	pthread_t thread;

	total = (uint32_t)harness_count(20000, 2000000);
	assert_int_equal(pipe(bells), 0);
	assert_int_equal(pipe(room), 0);
	assert_true(uapi_umad_ring_listen(&to));
	assert_int_equal(pthread_create(&thread, NULL, puts_all, NULL), 0);
	while (expected < total) {
		assert_true(was_rung(bells, WAIT_MS));
		assert_int_equal(look(), expected); /* no bell was for nothing */
		expected++;
		if (uapi_umad_ring_drop(&to))
			ring(room);
		if (!uapi_umad_ring_is_empty(&to))
			continue;
		await(bells);
		assert_false(was_rung(bells, 0));
		if (!uapi_umad_ring_listen(&to))
			ring(room);
	}
	atomic_store(&is_over, true);
	ring(room);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_false(was_rung(bells, 0));
	for (int i = 0; i < 2; i++) {
		close(bells[i]);
		close(room[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_put_stays_until_it_is_dropped,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_full_ring_takes_nothing_and_rings_when_half_is_free, begin,
			end),
		cmocka_unit_test_setup_teardown(who_listens_is_rung_once, begin, end),
		cmocka_unit_test_setup_teardown(positions_may_wrap, begin, end),
		cmocka_unit_test_setup_teardown(nonsense_is_neither_read_nor_overwritten,
						begin, end),
		cmocka_unit_test_setup_teardown(another_file_is_no_ring, begin, end),
		cmocka_unit_test_setup_teardown(takes_and_listens, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
