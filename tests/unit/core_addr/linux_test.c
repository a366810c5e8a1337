// SPDX-License-Identifier: BSD-2-Clause
/*
 * The machine's own answers. Only what holds on every machine is asserted: what getifaddrs
 * says must be what we say, and documentation addresses are nobody's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "core/addr/host.h"
#include "core/addr/sockaddr.h"
#include "harness/harness.h"

static const struct addr_host_ops *const host = &addr_linux_ops;

static struct sockaddr_in ipv4(const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	return in;
}

static bool is_ours_to_ask(const struct ifaddrs *i)
{
	return i->ifa_addr && addr_size(i->ifa_addr) > 0;
}

/* Two interfaces may have one address; then either is right. */
static bool is_on(struct ifaddrs *list, const struct sockaddr *addr, uint32_t ifindex)
{
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		if (is_ours_to_ask(i) && addr_equal_host(i->ifa_addr, addr) &&
		    if_nametoindex(i->ifa_name) == ifindex)
			return true;
	return false;
}

static void every_address_of_the_machine_has_its_interface(void **state)
{
	struct ifaddrs *list;
	uint32_t ifindex;

	assert_int_equal(getifaddrs(&list), 0);
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		if (!is_ours_to_ask(i))
			continue;
		assert_int_equal(host->find_owner(NULL, i->ifa_addr, &ifindex), 0);
		assert_true(is_on(list, i->ifa_addr, ifindex));
	}
	freeifaddrs(list);
}

static void a_documentation_address_is_not_of_this_host(void **state)
{
	struct sockaddr_in in = ipv4("203.0.113.77");
	struct sockaddr_storage other = { .ss_family = AF_IB };
	uint32_t ifindex;

	assert_int_equal(host->find_owner(NULL, (struct sockaddr *)&in, &ifindex),
			 -EADDRNOTAVAIL);
	assert_int_equal(host->find_owner(NULL, (struct sockaddr *)&other, &ifindex),
			 -EADDRNOTAVAIL);
}

static void all_of_the_loopback_network_is_local(void **state)
{
	struct sockaddr_in one = ipv4("127.0.0.1"), other = ipv4("127.9.8.7");
	uint32_t a, b;

	if (host->find_owner(NULL, (struct sockaddr *)&one, &a) < 0)
		skip(); /* a namespace whose loopback is down */
	assert_int_equal(host->find_owner(NULL, (struct sockaddr *)&other, &b), 0);
	assert_int_equal(a, b);
}

static void a_local_address_is_routed_locally(void **state)
{
	struct sockaddr_in one = ipv4("127.0.0.1");
	struct addr_route route;
	uint32_t owner;

	if (host->find_owner(NULL, (struct sockaddr *)&one, &owner) < 0)
		skip();
	assert_int_equal(host->find_route(NULL, (struct sockaddr *)&one, &route), 0);
	assert_true(route.local);
	assert_int_equal(route.ifindex, owner);
}

static void a_route_leads_over_an_interface_or_is_none(void **state)
{
	struct sockaddr_in group = ipv4("239.192.1.2");
	struct addr_route route;
	char name[IF_NAMESIZE];
	int r = host->find_route(NULL, (struct sockaddr *)&group, &route);

	if (r < 0) {
		assert_int_equal(r, -ENETUNREACH);
		return;
	}
	assert_non_null(if_indextoname(route.ifindex, name));
	assert_false(route.local);
}

static void a_scoped_destination_names_its_interface(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_scope_id = 4242 };
	struct addr_route route;

	assert_int_equal(inet_pton(AF_INET6, "ff02::1", &in6.sin6_addr), 1);
	assert_int_equal(host->find_route(NULL, (struct sockaddr *)&in6, &route), 0);
	assert_int_equal(route.ifindex, 4242);
}

static void mtu_is_of_an_interface_or_no_device(void **state)
{
	uint32_t mtu = 0;

	assert_int_equal(host->link_mtu(NULL, if_nametoindex("lo"), &mtu), 0);
	assert_true(mtu > 0);
	assert_int_equal(host->link_mtu(NULL, 0x7fffff00, &mtu), -ENODEV);
}

static void ports_are_a_range(void **state)
{
	struct addr_ports ports;

	host->ports(NULL, &ports);
	assert_true(ports.first > 0);
	assert_true(ports.first <= ports.last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_of_the_machine_has_its_interface),
		cmocka_unit_test(a_documentation_address_is_not_of_this_host),
		cmocka_unit_test(all_of_the_loopback_network_is_local),
		cmocka_unit_test(a_local_address_is_routed_locally),
		cmocka_unit_test(a_route_leads_over_an_interface_or_is_none),
		cmocka_unit_test(a_scoped_destination_names_its_interface),
		cmocka_unit_test(mtu_is_of_an_interface_or_no_device),
		cmocka_unit_test(ports_are_a_range),
	};

	return harness_run(tests);
}
