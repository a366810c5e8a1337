// SPDX-License-Identifier: BSD-2-Clause
// uses: core_ipoib core_verbs wire
/*
 * What verbcastd keeps of network namespaces: one a node and one for all, the first of each,
 * and nothing that is none.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/harness.h"
#include "uapi/server/server_priv.h"

static struct {
	struct uapi_server server;
	struct uapi_client client;
	struct ib_node *nodes[2];
} site;

static int begin(void **state)
{
	memset(&site, 0, sizeof(site));
	site.nodes[0] = ib_node_create("h1", 0);
	site.nodes[1] = ib_node_create("h7", 6);
	site.client.server = &site.server;
	site.client.node = site.nodes[0];
	return 0;
}

static int end(void **state)
{
	netns_close(&site.server.netns);
	ib_node_destroy(site.nodes[0]);
	ib_node_destroy(site.nodes[1]);
	return 0;
}

static int ask(uint16_t op, const void *request, void *reply, struct uapi_fds *fds)
{
	for (const struct uapi_command *c = netns_commands; c->op; c++)
		if (c->op == op)
			return c->fn(&site.client, request, reply, fds);
	fail_msg("nobody serves %u", op);
	return -1;
}

static int put(uint32_t which, const char *path)
{
	struct uapi_fds fds = { .in = { open(path, O_RDONLY | O_CLOEXEC) },
				.in_count = 1 };
	struct uapi_netns request = { .which = which };
	int r;

	assert_true(fds.in[0] >= 0);
	r = ask(UAPI_NETNS_PUT, &request, NULL, &fds);
	/* Taken over by success alone. */
	assert_int_equal(fds.in[0] < 0, r == 0);
	if (r < 0)
		close(fds.in[0]);
	return r;
}

static int get(uint32_t which, int *ret_fd)
{
	struct uapi_netns request = { .which = which };
	struct uapi_fds fds = { 0 };
	int r = ask(UAPI_NETNS_GET, &request, NULL, &fds);

	if (r < 0)
		return r;
	assert_int_equal(fds.out_count, 1);
	assert_int_equal(fds.close_out, 0); /* it stays */
	*ret_fd = fds.out[0];
	return 0;
}

static void assert_is(int fd, const char *path)
{
	struct stat is, should;

	assert_int_equal(fstat(fd, &is), 0);
	assert_int_equal(stat(path, &should), 0);
	assert_int_equal(is.st_ino, should.st_ino);
}

#define OURS "/proc/self/ns/net"

static void the_first_one_stays(void **state)
{
	int fd, other;

	assert_int_equal(get(UAPI_NETNS_HUB, &fd), -ENOENT);
	assert_int_equal(get(UAPI_NETNS_NODE, &fd), -ENOENT);
	assert_int_equal(put(UAPI_NETNS_NODE, OURS), 0);
	assert_int_equal(put(UAPI_NETNS_NODE, OURS), -EEXIST);
	assert_int_equal(get(UAPI_NETNS_HUB, &fd), -ENOENT);
	assert_int_equal(get(UAPI_NETNS_NODE, &fd), 0);
	assert_is(fd, OURS);
	site.client.node = site.nodes[1];
	assert_int_equal(get(UAPI_NETNS_NODE, &other), -ENOENT);
	assert_int_equal(put(UAPI_NETNS_NODE, OURS), 0);
	assert_int_equal(put(UAPI_NETNS_HUB, OURS), 0);
	assert_int_equal(get(UAPI_NETNS_NODE, &other), 0);
	assert_int_not_equal(other, fd);
	site.client.node = site.nodes[0];
	assert_int_equal(get(UAPI_NETNS_NODE, &other), 0);
	assert_int_equal(other, fd);
}

static void what_is_no_network_namespace_is_refused(void **state)
{
	struct uapi_netns request = { .which = UAPI_NETNS_HUB };
	struct uapi_fds none = { 0 };
	int fd;

	assert_int_equal(put(UAPI_NETNS_HUB, "/proc/self/ns/user"), -EINVAL);
	assert_int_equal(put(UAPI_NETNS_HUB, "/dev/null"), -EINVAL);
	assert_int_equal(put(2, OURS), -EINVAL);
	assert_int_equal(ask(UAPI_NETNS_PUT, &request, NULL, &none), -EINVAL);
	request.reserved = 1;
	assert_int_equal(ask(UAPI_NETNS_GET, &request, NULL, &none), -EINVAL);
	assert_int_equal(get(UAPI_NETNS_HUB, &fd), -ENOENT);
}

static void a_nodes_addresses_are_its_ports(void **state)
{
	struct uapi_netns_address a = { 0 };
	struct uapi_fds none = { 0 };
	char text[INET6_ADDRSTRLEN];

	site.client.node = site.nodes[1];
	assert_int_equal(ask(UAPI_NETNS_ADDRESS, NULL, &a, &none), 0);
	assert_string_equal(inet_ntop(AF_INET, a.ip4, text, sizeof(text)), "198.18.0.7");
	assert_string_equal(inet_ntop(AF_INET6, a.ip6, text, sizeof(text)),
			    "fdc6:1200::7");
	assert_int_equal(a.ip4_prefix, 15);
	assert_int_equal(a.ip6_prefix, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_first_one_stays, begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_network_namespace_is_refused,
						begin, end),
		cmocka_unit_test_setup_teardown(a_nodes_addresses_are_its_ports, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
