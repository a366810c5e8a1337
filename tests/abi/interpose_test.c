// SPDX-License-Identifier: BSD-2-Clause
// ctest: LABELS noasan
// Stock programs with our libibverbs preloaded see the synthetic tree, each by the calls
// that it happens to use, and see the machine as it is without a site.
#include "harness/harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/sysfs_tree.h"

#define LIBIBVERBS VERBCAST_LIBDIR "/libibverbs.so.1"

static char base[64];
static char dir[96];

static int make_tree(void **state)
{
	static const struct sysfs_gid gid = { .raw = { 0xfe, 0x80, [15] = 1 },
					      .roce_v2 = true };
	static const struct sysfs_port port = { .state = 4,
						.phys_state = 5,
						.ethernet = true,
						.gids = &gid,
						.gid_count = 1 };
	static const struct sysfs_device device = {
		.name = "vroce0",
		.netdev = "lo",
		.board_id = "verbcast",
		.node_type = 1,
		.ports = &port,
		.port_count = 1,
	};

	if (harness_guard_begin(state) < 0)
		return -1;
	snprintf(base, sizeof(base), "/tmp/vc-paths-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(dir, sizeof(dir), "%s/site.sys", base);
	return sysfs_tree_create(dir, &device, 1);
}

static int remove_tree(void **state)
{
	sysfs_tree_remove(dir);
	rmdir(base);
	return harness_guard_end(state);
}

/* What `command` of a shell with the preload prints, both streams together. */
static void run(const char *shell, const char *command, bool in_site, char *out,
		size_t size)
{
	const char *argv[] = { shell, "-c", command, NULL };
	size_t n = 0;
	ssize_t got;
	int pipe_fds[2];
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(pipe_fds[1], 1);
		dup2(pipe_fds[1], 2);
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		setenv("LD_PRELOAD", LIBIBVERBS, 1);
		setenv("LC_ALL", "C", 1);
		if (in_site)
			setenv("VERBCAST_SYSFS", dir, 1);
		else
			unsetenv("VERBCAST_SYSFS");
		execv(shell, (char *const *)argv);
		_exit(127);
	}
	close(pipe_fds[1]);
	while (n < size - 1 && (got = read(pipe_fds[0], out + n, size - 1 - n)) > 0)
		n += got;
	out[n] = 0;
	close(pipe_fds[0]);
	waitpid(child, NULL, 0);
}

static void prints(const char *shell, const char *command, const char *expected)
{
	char out[4096];

	run(shell, command, true, out, sizeof(out));
	if (strcmp(out, expected) != 0)
		fail_msg("%s -c '%s' prints\n%s\nnot\n%s", shell, command, out, expected);
}

static void coreutils_see_the_tree(void **state)
{
	prints("/bin/sh", "ls /sys/class/infiniband", "vroce0\n");
	prints("/bin/sh", "ls /sys/class/infiniband/vroce0/device/net/", "lo\n");
	prints("/bin/sh", "ls -l /dev/infiniband | grep -c /dev/null", "2\n");
	prints("/bin/sh", "ls -ld /sys/class/infiniband | cut -c1", "d\n");
	prints("/bin/sh", "cat /sys/class/infiniband/vroce0/board_id", "verbcast\n");
	prints("/bin/sh", "head -n1 /sys/class//infiniband/vroce0/ports/1/state",
	       "4: ACTIVE\n");
	prints("/bin/sh", "stat -L -c %F /dev/infiniband/uverbs0",
	       "character special file\n");
	prints("/bin/sh", "readlink /dev/infiniband/rdma_cm", "/dev/null\n");
	prints("/bin/sh", "find /sys/class/infiniband -name state",
	       "/sys/class/infiniband/vroce0/ports/1/state\n");
	prints("/bin/sh", "grep -r ACTIVE /sys/class/infiniband/",
	       "/sys/class/infiniband/vroce0/ports/1/state:4: ACTIVE\n");
	prints("/bin/sh", "echo x > /dev/infiniband/uverbs0 && echo written",
	       "written\n");
}

static void shells_see_the_tree(void **state)
{
	static const char *const shells[] = { "/bin/sh", "/bin/bash" };
	size_t i;

	for (i = 0; i < 2; i++) {
		prints(shells[i], "echo /sys/class/infiniband/*/ports/*",
		       "/sys/class/infiniband/vroce0/ports/1\n");
		prints(shells[i], "[ -c /dev/infiniband/uverbs0 ] && echo yes", "yes\n");
		prints(shells[i], "[ -r /dev/infiniband/uverbs0 ] && echo yes", "yes\n");
		prints(shells[i],
		       "read x < /sys/class/infiniband/vroce0/board_id; echo $x",
		       "verbcast\n");
		prints(shells[i],
		       "cd /sys/class/infiniband/vroce0 && cat board_id && cd .. && ls",
		       "verbcast\nvroce0\n");
	}
}

static void python_sees_the_tree(void **state)
{
	static const char python[] = "/usr/bin/python3";

	if (access(python, X_OK) < 0)
		skip();
	/* The very question of the pyverbs tests (spec/userland 5.1). */
	prints(python,
	       "import os; "
	       "print(os.path.exists('/sys/class/infiniband/vroce0/device/net/'))",
	       "True\n");
	prints(python, "import os; print(os.listdir('/sys/class/infiniband'))",
	       "['vroce0']\n");
	prints(python,
	       "import subprocess; print(subprocess.check_output("
	       "['ls', '/sys/class/infiniband/vroce0/device/net/']))",
	       "b'lo\\n'\n");
	prints(python,
	       "print(open('/sys/class/infiniband/vroce0/board_id').read(), end='')",
	       "verbcast\n");
	prints(python,
	       "import os; print(os.access('/dev/infiniband/uverbs0', os.R_OK | "
	       "os.W_OK))",
	       "True\n");
	prints(python,
	       "import glob; print(glob.glob('/sys/class/infiniband/*/ports/*/state'))",
	       "['/sys/class/infiniband/vroce0/ports/1/state']\n");
	prints(python,
	       "import os; print([f for _, _, f in "
	       "os.walk('/sys/class/infiniband_verbs')])",
	       "[['abi_version'], ['abi_version', 'ibdev']]\n");
	prints(python,
	       "import os; fd = os.open('/', os.O_RDONLY); "
	       "print(os.stat('/sys/class/infiniband/vroce0', dir_fd=fd).st_mode >> 12)",
	       "4\n");
}

static void the_rest_of_the_machine_is_itself(void **state)
{
	prints("/bin/sh", "ls -d /sys/class/net/lo /dev/null /sys/class",
	       "/dev/null\n/sys/class\n/sys/class/net/lo\n");
	prints("/bin/sh", "cat /sys/class/infiniband/vroce9/board_id",
	       "cat: /sys/class/infiniband/vroce9/board_id: No such file or directory\n");
	prints("/bin/sh", "f=$(mktemp) && echo hello > $f && cat $f && rm $f", "hello\n");
}

static void without_a_site_the_tree_is_not_there(void **state)
{
	char out[512];

	if (access("/sys/class/infiniband", F_OK) == 0)
		skip();
	run("/bin/sh", "ls /sys/class/infiniband/vroce0 && echo there", false, out,
	    sizeof(out));
	assert_non_null(strstr(out, "No such file or directory"));
	assert_null(strstr(out, "there"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coreutils_see_the_tree),
		cmocka_unit_test(shells_see_the_tree),
		cmocka_unit_test(python_sees_the_tree),
		cmocka_unit_test(the_rest_of_the_machine_is_itself),
		cmocka_unit_test(without_a_site_the_tree_is_not_there),
	};

	/* Preloading an instrumented library needs its runtime first. */
	if (harness_sanitized())
		harness_skip(
			"stock programs cannot preload instrumented libraries alone");
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
