/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a site's files lie, and which directories are refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/harness.h"
#include "site/paths.h"

static char base[64], dir[128];

static int set_up(void **state)
{
	snprintf(base, sizeof(base), "/tmp/verbcast-paths.XXXXXX");
	assert_non_null(mkdtemp(base));
	snprintf(dir, sizeof(dir), "%s/run", base);
	setenv("VERBCAST_RUNTIME_DIR", dir, 1);
	setenv("VERBCAST_LOG", "none", 1);
	return 0;
}

static int tear_down(void **state)
{
	unlink(dir);
	rmdir(dir);
	return rmdir(base);
}

static void names_are_checked(void **state)
{
	char longest[SITE_NAME_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	longest[SITE_NAME_MAX + 1] = '\0';
	assert_non_null(site_name_problem(longest));
	longest[SITE_NAME_MAX] = '\0';
	assert_null(site_name_problem(longest));
	assert_null(site_name_problem("default"));
	assert_null(site_name_problem("a.b_c-9"));
	assert_non_null(site_name_problem(""));
	assert_non_null(site_name_problem("."));
	assert_non_null(site_name_problem(".."));
	assert_non_null(site_name_problem("-x"));
	assert_non_null(site_name_problem("a/b"));
	assert_non_null(site_name_problem("a b"));
	assert_non_null(site_name_problem("a\nb"));
	assert_non_null(site_name_problem("\xc3\xa9"));
}

static void the_directory_is_made_for_us_alone(void **state)
{
	struct site_paths p;
	struct stat st;

	assert_int_equal(site_paths_init(&p, "s", true), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_string_equal(p.dir, dir);
	assert_int_equal(site_paths_init(&p, "s", true), 0);
}

static void looking_makes_nothing(void **state)
{
	struct site_paths p;

	assert_int_equal(site_paths_init(&p, "s", false), -ENOENT);
	assert_int_equal(access(dir, F_OK), -1);
}

static void files_bear_namespace_and_name(void **state)
{
	struct site_paths p, q;
	char expected[256];
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	assert_int_equal(site_paths_init(&p, "one.two", true), 0);
	snprintf(expected, sizeof(expected), "%s/%lu.one.two.sock", dir,
		 (unsigned long)st.st_ino);
	assert_string_equal(p.socket, expected);
	assert_non_null(strstr(p.lock, ".one.two.lock"));
	assert_non_null(strstr(p.start, ".one.two.start"));
	assert_non_null(strstr(p.up, ".one.two.up"));
	assert_non_null(strstr(p.sys, ".one.two.sys"));
	assert_int_equal(site_paths_init(&q, "other", true), 0);
	assert_string_not_equal(p.socket, q.socket);
}

static void a_directory_others_can_write_to_is_refused(void **state)
{
	static const mode_t modes[] = { 0777, 01777, 0720, 0702 };
	struct site_paths p;

	assert_int_equal(mkdir(dir, 0700), 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(dir, modes[i]), 0);
		assert_int_equal(site_paths_init(&p, "s", true), -EPERM);
	}
	assert_int_equal(chmod(dir, 0750), 0); /* a group may look */
	assert_int_equal(site_paths_init(&p, "s", true), 0);
}

static void somebody_elses_directory_is_refused(void **state)
{
	struct site_paths p;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chown(dir, 12345, 12345), 0);
	assert_int_equal(site_paths_init(&p, "s", true), -EPERM);
}

static void a_link_is_no_directory(void **state)
{
	struct site_paths p;

	assert_int_equal(symlink(base, dir), 0);
	assert_int_equal(site_paths_init(&p, "s", true), -ENOTDIR);
}

static void unusable_overrides_are_refused(void **state)
{
	struct site_paths p;
	char longer[400];

	setenv("VERBCAST_RUNTIME_DIR", "relative", 1);
	assert_int_equal(site_paths_init(&p, "s", true), -EINVAL);
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	setenv("VERBCAST_RUNTIME_DIR", longer, 1);
	assert_int_equal(site_paths_init(&p, "s", false), -ENAMETOOLONG);
}

static void a_socket_path_that_is_too_long_is_refused(void **state)
{
	char name[SITE_NAME_MAX + 1];
	struct site_paths p;

	/* With this name the path has more than the 107 bytes of a socket's address. */
	memset(name, 'n', sizeof(name));
	name[SITE_NAME_MAX] = '\0';
	snprintf(dir, sizeof(dir), "%s/a-directory-with-a-name", base);
	setenv("VERBCAST_RUNTIME_DIR", dir, 1);
	assert_int_equal(site_paths_init(&p, name, true), -ENAMETOOLONG);
	assert_int_equal(site_paths_init(&p, "short", true), 0);
	assert_true(strlen(p.socket) < SITE_SOCKET_MAX);
}

static void without_override_the_users_own_place_is_taken(void **state)
{
	struct site_paths p;
	char run[64], expected[96];
	struct stat st;

	unsetenv("VERBCAST_RUNTIME_DIR");
	snprintf(run, sizeof(run), "/run/user/%u", geteuid());
	if (!stat(run, &st))
		snprintf(expected, sizeof(expected), "%s/verbcast", run);
	else
		snprintf(expected, sizeof(expected), "/tmp/verbcast-%u", geteuid());
	site_paths_init(&p, "s", false);
	assert_string_equal(p.dir, expected);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(names_are_checked),
		T(the_directory_is_made_for_us_alone),
		T(looking_makes_nothing),
		T(files_bear_namespace_and_name),
		T(a_directory_others_can_write_to_is_refused),
		T(somebody_elses_directory_is_refused),
		T(a_link_is_no_directory),
		T(unusable_overrides_are_refused),
		T(a_socket_path_that_is_too_long_is_refused),
		T(without_override_the_users_own_place_is_taken),
	};

	return harness_run(tests);
}
