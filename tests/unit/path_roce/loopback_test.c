// SPDX-License-Identifier: BSD-2-Clause
#include "path/roce/roce.h"
#include "harness/harness.h"

static void a_loopback_port_is_reached_from_itself_only(void **state)
{
	static const uint8_t mgid[16] = { 0xff };
	const struct path *path = &path_roce_loopback;
	uint32_t ports[2] = { 99, 99 };

	for (uint32_t port = 0; port < 5; port++) {
		assert_int_equal(
			path->ops->ingress_ports(path->arg, port, mgid, 0, ports, 2), 1);
		assert_int_equal(ports[0], port);
		assert_int_equal(ports[1], 99);
		assert_int_equal(
			path->ops->ingress_ports(path->arg, port, mgid, 0, NULL, 0), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loopback_port_is_reached_from_itself_only),
	};

	return harness_run(tests);
}
