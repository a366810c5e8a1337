// SPDX-License-Identifier: BSD-2-Clause
#include "harness/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static int saved_stderr, pipes[2];

static int catch_stderr(void **state)
{
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(saved_stderr >= 0);
	dup2(pipes[1], STDERR_FILENO);
	return 0;
}

static int give_stderr_back(void **state)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(pipes[0]);
	close(pipes[1]);
	unsetenv("VERBCAST_LOG");
	return 0;
}

static void expect_said(const char *text)
{
	char said[4096];
	ssize_t n = read(pipes[0], said, sizeof(said) - 1);

	said[n < 0 ? 0 : n] = '\0';
	assert_string_equal(said, text);
}

static void a_library_says_nothing_uninvited(void **state)
{
	log_open("library", LOG_LEVEL_NONE);
	log_error("broken");
	log_debug("detail");
	expect_said("");
}

static void a_program_says_up_to_its_level(void **state)
{
	log_open("program", LOG_LEVEL_WARNING);
	log_info("detail");
	expect_said("");
	log_warning("odd: %d", 7);
	expect_said("program: warning: odd: 7\n");
	log_error("broken");
	expect_said("program: error: broken\n");
}

static void the_environment_decides(void **state)
{
	setenv("VERBCAST_LOG", "debug", 1);
	log_open("program", LOG_LEVEL_NONE);
	log_debug("detail");
	expect_said("program: debug: detail\n");
	setenv("VERBCAST_LOG", "nonsense", 1);
	log_open("program", LOG_LEVEL_NONE);
	log_error("broken");
	expect_said("");
}

static void a_long_line_is_cut_and_ends(void **state)
{
	char text[4000], said[4096];
	ssize_t n;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_open("program", LOG_LEVEL_ERROR);
	log_error("%s", text);
	n = read(pipes[0], said, sizeof(said));
	assert_in_range(n, 100, 1024);
	assert_int_equal(said[n - 1], '\n');
}

static void errno_stays(void **state)
{
	log_open("program", LOG_LEVEL_ERROR);
	errno = ENOTTY;
	log_error("broken");
	assert_int_equal(errno, ENOTTY);
	expect_said("program: error: broken\n");
}

/* The last test: who never waits does so for good. */
static void a_full_pipe_keeps_nobody_waiting(void **state)
{
	char said[4096];

	log_open("program", LOG_LEVEL_ERROR);
	log_never_wait();
	for (int i = 0; i < 10000; i++)
		log_error("line %d", i);
	while (read(pipes[0], said, sizeof(said)) > 0)
		;
	log_error("again");
	said[read(pipes[0], said, sizeof(said) - 1)] = '\0';
	assert_non_null(strstr(said, " lines are missing here: nobody read them\n"
				     "program: error: again\n"));
	log_error("once more");
	expect_said("program: error: once more\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_library_says_nothing_uninvited,
						catch_stderr, give_stderr_back),
		cmocka_unit_test_setup_teardown(a_program_says_up_to_its_level,
						catch_stderr, give_stderr_back),
		cmocka_unit_test_setup_teardown(the_environment_decides, catch_stderr,
						give_stderr_back),
		cmocka_unit_test_setup_teardown(a_long_line_is_cut_and_ends, catch_stderr,
						give_stderr_back),
		cmocka_unit_test_setup_teardown(errno_stays, catch_stderr,
						give_stderr_back),
		cmocka_unit_test_setup_teardown(a_full_pipe_keeps_nobody_waiting,
						catch_stderr, give_stderr_back),
	};

	return harness_run(tests);
}
