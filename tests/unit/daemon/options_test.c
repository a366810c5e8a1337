/* SPDX-License-Identifier: BSD-2-Clause */
/* verbcastd's command line, right and wrong. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/options.h"
#include "harness/harness.h"

static struct daemon_options o;
static int old_stderr = -1;

/* What it says is for people; here it only must refuse. */
static int hush(void **state)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	old_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(null, STDERR_FILENO);
	close(null);
	return 0;
}

static int speak(void **state)
{
	dup2(old_stderr, STDERR_FILENO);
	close(old_stderr);
	return 0;
}

#define PARSE(...)                                                                \
	({                                                                        \
		const char *words[] = { "verbcastd", ##__VA_ARGS__ };             \
		daemon_options_parse(&o, (int)(sizeof(words) / sizeof(words[0])), \
				     (char **)(uintptr_t)words);                  \
	})

static void without_options_it_is_the_usual(void **state)
{
	struct hca_limits limits;

	hca_limits_init(&limits);
	assert_int_equal(PARSE(), 0);
	assert_null(o.site);
	assert_false(o.background || o.stay || o.is_private || o.list_limits);
	assert_int_equal(o.linger_s, 5);
	assert_int_equal(o.ready_fd, -1);
	assert_int_equal(o.gid, (gid_t)-1);
	assert_int_equal(o.server.max_clients, 1000);
	assert_memory_equal(&o.hca, &limits, sizeof(limits));
}

static void options_of_an_earlier_call_do_not_stay(void **state)
{
	assert_int_equal(PARSE("--stay", "--site", "x", "--limit", "max_clients=3"), 0);
	assert_int_equal(PARSE(), 0);
	assert_false(o.stay);
	assert_null(o.site);
	assert_int_equal(o.server.max_clients, 1000);
}

static void limits_of_site_and_device_are_set_by_name(void **state)
{
	assert_int_equal(PARSE("--limit", "max_clients=12", "--limit=max_qp=7",
			       "--limit=max_pd=0"),
			 0);
	assert_int_equal(o.server.max_clients, 12);
	assert_int_equal(o.hca.max_qp, 7);
	assert_int_equal(o.hca.max_pd, 0);
}

static void limits_that_are_none_are_refused(void **state)
{
	static const char *const wrong[] = { "max_clients",
					     "max_clients=",
					     "max_clients=x",
					     "max_clients=-1",
					     "max_clients=1025",
					     "nothing=1",
					     "=1",
					     "max_qp=99999999999" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(PARSE("--limit", wrong[i]), DAEMON_EXIT_USAGE);
}

static void help_lists_limits(void **state)
{
	assert_int_equal(PARSE("--limit", "help"), 0);
	assert_true(o.list_limits);
}

static void wrong_use_is_refused(void **state)
{
	assert_int_equal(PARSE("word"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--site", "a/b"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--site"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--foreground", "--background"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--linger", "soon"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--linger", "4000000000"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--ready-fd", "-1"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--group", "no such group"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--loud"), DAEMON_EXIT_USAGE);
}

/* Any that others may be behind; "": there is none here. */
static const char *some_interface(void)
{
	static char name[IF_NAMESIZE];
	struct if_nameindex *list = if_nameindex();

	for (struct if_nameindex *i = list; i && i->if_index; i++)
		if (strcmp(i->if_name, "lo") != 0)
			strcpy(name, i->if_name);
	if (list)
		if_freenameindex(list);
	return name;
}

static void a_wire_is_an_interface_of_the_machine(void **state)
{
	const char *name = some_interface();

	assert_int_equal(PARSE("--wire", "no-such-iface"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--wire", "sixteen-letters-"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--wire", ""), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--wire", "lo"), DAEMON_EXIT_USAGE);
	if (!*name)
		return;
	assert_int_equal(PARSE("--wire", name, "--wire", name), 0);
	assert_int_equal(o.wire_count, 1);
	assert_string_equal(o.wires[0], name);
	assert_int_equal(PARSE(), 0);
	assert_int_equal(o.wire_count, 0);
}

static void groups_go_by_name_or_number(void **state)
{
	assert_int_equal(PARSE("--group", "root"), 0);
	assert_int_equal(o.gid, 0);
	assert_int_equal(PARSE("--group", "4242"), 0);
	assert_int_equal(o.gid, 4242);
}

/* Not even a FIFO that nobody writes into, or a device without an end, is waited for. */
static void what_is_no_regular_file_is_refused(void **state)
{
	char dir[] = "/tmp/verbcast-options-XXXXXX", fifo[64];

	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(PARSE("--topology", fifo), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--partitions", fifo), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--topology", "/dev/zero"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--partitions", dir), DAEMON_EXIT_USAGE);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* As of those in /proc: text behind a size of 0. */
static void what_is_not_as_long_as_it_says_is_refused(void **state)
{
	assert_int_equal(PARSE("--partitions", "/proc/self/status"), DAEMON_EXIT_USAGE);
	assert_int_equal(PARSE("--topology", "/proc/self/status"), DAEMON_EXIT_USAGE);
}

static void files_are_read_whole(void **state)
{
	char name[] = "/tmp/verbcast-options-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "Switch", 6), 6);
	close(fd);
	assert_int_equal(PARSE("--topology", name, "--partitions", name), 0);
	assert_int_equal(o.topology_bytes, 6);
	assert_memory_equal(o.topology, "Switch", 6);
	assert_int_equal(o.partitions_bytes, 6);
	free(o.topology);
	free(o.partitions);
	assert_int_equal(unlink(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_options_it_is_the_usual),
		cmocka_unit_test(options_of_an_earlier_call_do_not_stay),
		cmocka_unit_test(limits_of_site_and_device_are_set_by_name),
		cmocka_unit_test_setup_teardown(limits_that_are_none_are_refused, hush,
						speak),
		cmocka_unit_test(help_lists_limits),
		cmocka_unit_test_setup_teardown(wrong_use_is_refused, hush, speak),
		cmocka_unit_test_setup_teardown(a_wire_is_an_interface_of_the_machine,
						hush, speak),
		cmocka_unit_test(groups_go_by_name_or_number),
		cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_refused, hush,
						speak),
		cmocka_unit_test_setup_teardown(what_is_not_as_long_as_it_says_is_refused,
						hush, speak),
		cmocka_unit_test(files_are_read_whole),
	};

	return harness_run(tests);
}
