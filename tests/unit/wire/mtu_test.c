// SPDX-License-Identifier: BSD-2-Clause
#include "wire/mtu.h"
#include "harness/harness.h"

/* The numbers of spec/kernel 3.5. */
static void an_interface_carries_its_mtu_less_the_headers(void **state)
{
	static const struct {
		uint32_t link;
		int mtu;
	} cases[] = {
		{ 0, 0 },     { 96, 0 },         { 351, 0 },  { 352, 1 },  { 607, 1 },
		{ 608, 2 },   { 1100, 2 },       { 1400, 3 }, { 1500, 3 }, { 2143, 3 },
		{ 2144, 4 },  { 4191, 4 },       { 4192, 5 }, { 4200, 5 }, { 9000, 5 },
		{ 65536, 5 }, { UINT32_MAX, 5 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(mtu_enum_from_roce_link(cases[i].link), cases[i].mtu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interface_carries_its_mtu_less_the_headers),
	};

	return harness_run(tests);
}
