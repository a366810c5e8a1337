// SPDX-License-Identifier: BSD-2-Clause
// Which paths the interposers send to the synthetic tree, and where to.
#include "harness/harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/verbs/interpose/redirect.h"

static int in_a_site(void **state)
{
	return setenv("VERBCAST_SYSFS", "/T", 1);
}

static void goes_to(const char *path, const char *expected)
{
	struct redirect to;

	errno = 42;
	assert_string_equal(redirect(path, &to), expected);
	assert_int_equal(errno, 42);
}

static void stays(const char *path)
{
	struct redirect to;

	assert_ptr_equal(redirect(path, &to), path);
}

static void the_rdma_paths_go_to_the_tree(void **state)
{
	goes_to("/sys/class/infiniband", "/T/sys/class/infiniband");
	goes_to("/sys/class/infiniband/", "/T/sys/class/infiniband/");
	goes_to("/sys/class/infiniband/vroce0/ports/1/state",
		"/T/sys/class/infiniband/vroce0/ports/1/state");
	goes_to("/sys/class/infiniband_verbs/uverbs0",
		"/T/sys/class/infiniband_verbs/uverbs0");
	goes_to("/sys/class/infiniband_mad", "/T/sys/class/infiniband_mad");
	goes_to("/dev/infiniband/uverbs0", "/T/dev/infiniband/uverbs0");
}

static void slashes_and_dots_make_no_difference(void **state)
{
	goes_to("//sys///class//infiniband//vroce0", "/T/sys/class/infiniband/vroce0");
	goes_to("/sys/./class/infiniband/.", "/T/sys/class/infiniband");
	goes_to("/sys/class/net/../infiniband/vroce0//",
		"/T/sys/class/infiniband/vroce0/");
	goes_to("/sys/class/infiniband/a/../b", "/T/sys/class/infiniband/b");
	goes_to("/dev/../sys/class/infiniband", "/T/sys/class/infiniband");
}

static void everything_else_stays(void **state)
{
	const char *const paths[] = {
		"/sys/class/infiniband2",
		"/sys/class/infiniban",
		"/sys/class",
		"/sys/class/net/lo",
		"/dev/infinibandx/y",
		"/dev/null",
		"/dev",
		"/",
		"",
		"//",
		"sys/class/infiniband",
		"./sys/class/infiniband",
		"/sys/class/infiniband/../net/lo",
		"/dev/infiniband/../../etc/passwd",
		"/T/sys/class/infiniband/vroce0",
		"/../../..",
	};
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		stays(paths[i]);
	stays(NULL);
}

static void without_a_site_everything_stays(void **state)
{
	unsetenv("VERBCAST_SYSFS");
	stays("/sys/class/infiniband");
	setenv("VERBCAST_SYSFS", "", 1);
	stays("/sys/class/infiniband");
	setenv("VERBCAST_SYSFS", "relative", 1);
	stays("/sys/class/infiniband");
	setenv("VERBCAST_SYSFSX", "/T", 1);
	stays("/sys/class/infiniband");
	unsetenv("VERBCAST_SYSFSX");
}

/* Every length of tree and path around the limit: all that fits, and nothing more. */
static void what_does_not_fit_stays(void **state)
{
	static char tree[2 * REDIRECT_MAX], path[2 * REDIRECT_MAX];
	const size_t base = strlen("/sys/class/infiniband/");
	size_t t, p;

	for (t = 1; t <= REDIRECT_MAX + 2; t++) {
		memset(tree, 't', t);
		tree[0] = '/';
		tree[t] = 0;
		setenv("VERBCAST_SYSFS", tree, 1);
		for (p = 0; p < 4; p++) {
			struct redirect *to = malloc(sizeof(*to));
			size_t want = REDIRECT_MAX - 3 + p;
			size_t fill = want > t + base ? want - t - base : 1;
			const char *got;

			memset(path, 'p', base + fill);
			memcpy(path, "/sys/class/infiniband/", base);
			path[base + fill] = 0;
			got = redirect(path, to);
			if (got != path) {
				assert_int_equal(strlen(got), t + base + fill);
				assert_true(strlen(got) < REDIRECT_MAX);
			}
			/* An extra byte may be reserved for a slash, no more. */
			assert_true(got != path || t + base + fill >= REDIRECT_MAX - 2);
			free(to);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_rdma_paths_go_to_the_tree, in_a_site),
		cmocka_unit_test_setup(slashes_and_dots_make_no_difference, in_a_site),
		cmocka_unit_test_setup(everything_else_stays, in_a_site),
		cmocka_unit_test_setup(without_a_site_everything_stays, in_a_site),
		cmocka_unit_test_setup(what_does_not_fit_stays, in_a_site),
	};

	return harness_run(tests);
}
