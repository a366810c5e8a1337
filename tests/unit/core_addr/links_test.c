// SPDX-License-Identifier: BSD-2-Clause
/*
 * The machine's interfaces. Only what holds on every machine is asserted: what getifaddrs
 * and if_nametoindex say must be what we say.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "core/addr/links.h"
#include "core/addr/sockaddr.h"
#include "harness/harness.h"

static bool has_local(const struct addr_links *l, uint32_t ifindex, const uint8_t gid[16])
{
	for (size_t i = 0; i < l->local_count; i++)
		if (l->locals[i].ifindex == ifindex && gid_equal(l->locals[i].gid, gid))
			return true;
	return false;
}

static void what_there_is_is_what_the_c_library_says(void **state)
{
	struct addr_links l;
	struct ifaddrs *list;

	assert_int_equal(addr_links_read(&l), 0);
	assert_int_equal(getifaddrs(&list), 0);
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		uint32_t ifindex = if_nametoindex(i->ifa_name);
		const struct addr_link *link = addr_links_find(&l, ifindex);
		uint8_t gid[16];

		assert_non_null(link);
		assert_ptr_equal(addr_links_named(&l, link->name), link);
		assert_int_equal(link->up, !!(i->ifa_flags & IFF_UP));
		assert_int_equal(link->loopback, !!(i->ifa_flags & IFF_LOOPBACK));
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
			continue;
		addr_to_gid(i->ifa_addr, gid);
		assert_true(has_local(&l, ifindex, gid));
	}
	freeifaddrs(list);
	addr_links_free(&l);
}

static void the_default_route_is_over_a_link_that_is_there(void **state)
{
	struct addr_links l;

	assert_int_equal(addr_links_read(&l), 0);
	if (l.default_ifindex)
		assert_non_null(addr_links_find(&l, l.default_ifindex));
	addr_links_free(&l);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct addr_links l;

	assert_int_equal(addr_links_read(&l), 0);
	assert_null(addr_links_find(&l, 0));
	assert_null(addr_links_find(&l, UINT32_MAX));
	assert_null(addr_links_named(&l, "no-such-iface"));
	assert_null(addr_links_named(&l, ""));
	addr_links_free(&l);
	addr_links_free(&l);
}

static void a_mac_becomes_the_gid_that_linux_makes_of_it(void **state)
{
	static const uint8_t mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
	struct in6_addr want;
	uint8_t gid[16];

	inet_pton(AF_INET6, "fe80::5054:ff:fe12:3456", &want);
	addr_gid_from_mac(mac, gid);
	assert_memory_equal(gid, &want, 16);
}

static void a_monitor_that_nobody_tells_anything_does_not_wait(void **state)
{
	struct addr_monitor *m;

	assert_int_equal(addr_monitor_open(&m), 0);
	assert_true(addr_monitor_fd(m) >= 0);
	/* What was said meanwhile, if anything; what counts is that it returns. */
	(void)addr_monitor_read(m);
	(void)addr_monitor_read(m);
	addr_monitor_close(m);
	addr_monitor_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_there_is_is_what_the_c_library_says),
		cmocka_unit_test(the_default_route_is_over_a_link_that_is_there),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(a_mac_becomes_the_gid_that_linux_makes_of_it),
		cmocka_unit_test(a_monitor_that_nobody_tells_anything_does_not_wait),
	};

	return harness_run(tests);
}
