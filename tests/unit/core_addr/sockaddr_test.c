// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <string.h>

#include "core/addr/sockaddr.h"
#include "harness/harness.h"

static const struct sockaddr *address(const char *text)
{
	static struct sockaddr_storage storage[4];
	static unsigned int next;
	struct sockaddr_storage *ss = &storage[next++ % 4];
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)ss)->sin_addr) == 1) {
		ss->ss_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		ss->ss_family = AF_INET6;
	}
	return (const struct sockaddr *)ss;
}

static void sizes_follow_the_family(void **state)
{
	struct sockaddr_storage ss = { .ss_family = AF_IB };

	assert_int_equal(addr_size(address("1.2.3.4")), 16);
	assert_int_equal(addr_size(address("::1")), 28);
	assert_int_equal(addr_size((struct sockaddr *)&ss), 48);
	ss.ss_family = AF_UNIX;
	assert_int_equal(addr_size((struct sockaddr *)&ss), 0);
	ss.ss_family = 0;
	assert_int_equal(addr_size((struct sockaddr *)&ss), 0);
}

static void kinds_of_address_are_told_apart(void **state)
{
	static const struct {
		const char *text;
		bool any, loopback, multicast, link_local;
	} rows[] = {
		{ "0.0.0.0", .any = true },
		{ "::", .any = true },
		{ "127.0.0.1", .loopback = true },
		{ "127.255.0.9", .loopback = true },
		{ "::1", .loopback = true },
		{ .text = "126.255.255.255" },
		{ .text = "128.0.0.0" },
		{ .text = "223.255.255.255" },
		{ "224.0.0.0", .multicast = true },
		{ "239.255.255.255", .multicast = true },
		{ .text = "240.0.0.0" },
		{ "ff00::", .multicast = true },
		{ .text = "feff::1" },
		{ "fe80::1", .link_local = true },
		{ .text = "fec0::1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sockaddr *a = address(rows[i].text);

		assert_int_equal(addr_is_any(a), rows[i].any);
		assert_int_equal(addr_is_loopback(a), rows[i].loopback);
		assert_int_equal(addr_is_multicast(a), rows[i].multicast);
		assert_int_equal(addr_is_link_local(a), rows[i].link_local);
	}
}

static void an_address_goes_to_a_gid_and_back(void **state)
{
	static const char *const texts[] = { "10.1.2.3", "2001:db8::1", "ff0e::1" };
	struct sockaddr_storage back;
	uint8_t gid[16];

	for (size_t i = 0; i < 3; i++) {
		const struct sockaddr *a = address(texts[i]);

		addr_to_gid(a, gid);
		addr_from_gid(&back, gid, 7);
		assert_memory_equal(&back, a, addr_size(a));
	}
	addr_to_gid(address("10.1.2.3"), gid);
	assert_memory_equal(gid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x01\x02\x03", 16);
}

static void the_scope_of_a_link_local_address_is_kept(void **state)
{
	struct sockaddr_storage a, b;
	uint8_t gid[16];

	addr_to_gid(address("fe80::5"), gid);
	addr_from_gid(&a, gid, 3);
	addr_from_gid(&b, gid, 4);
	assert_int_equal(((struct sockaddr_in6 *)&a)->sin6_scope_id, 3);
	assert_false(addr_equal_host((struct sockaddr *)&a, (struct sockaddr *)&b));
	assert_true(addr_equal_host((struct sockaddr *)&a, (struct sockaddr *)&a));
}

static void equality_of_hosts_ignores_ports_but_not_families(void **state)
{
	struct sockaddr_storage a;

	memcpy(&a, address("10.0.0.1"), sizeof(a));
	addr_set_port((struct sockaddr *)&a, 4711);
	assert_int_equal(addr_port((struct sockaddr *)&a), 4711);
	assert_true(addr_equal_host((struct sockaddr *)&a, address("10.0.0.1")));
	assert_false(addr_equal_host((struct sockaddr *)&a, address("10.0.0.2")));
	assert_false(addr_equal_host((struct sockaddr *)&a, address("::ffff:10.0.0.1")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_follow_the_family),
		cmocka_unit_test(kinds_of_address_are_told_apart),
		cmocka_unit_test(an_address_goes_to_a_gid_and_back),
		cmocka_unit_test(the_scope_of_a_link_local_address_is_kept),
		cmocka_unit_test(equality_of_hosts_ignores_ports_but_not_families),
	};

	return harness_run(tests);
}
