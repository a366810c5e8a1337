// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's headers in include/kapi agree with the core's, with those of the wire, and
 * with rdma-core's: each constant and each member that two of them call alike. The lists
 * are made when this is built (tables/agreement.py), so what is added is in them.
 */
#include <stdio.h>
#include <infiniband/verbs.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_cm.h>

#include "core_view/core/cm/cma.h"
#include "core_view/core/mad/ib_mad.h"
#include "core_view/core/sa/ib_sa.h"
#include "core_view/core/verbs/ib_verbs.h"
#include "core_view/wire/mad.h"
#include "core_view/wire/sa.h"
#include "harness/harness.h"

struct same_constant {
	const char *name, *other;
	long long value, others;
	bool differs; /* known to, and why */
};

struct same_member {
	const char *name;
	size_t size, others;
	size_t offset, others_offset; /* 0 where they do not count */
	bool differs;
};

#include "agreement.inc"

static void constants_of_one_name_have_one_value(void **state)
{
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		const struct same_constant *c = &constants[i];

		if ((c->value != c->others) == c->differs)
			continue;
		print_error("%s is %lld, %s is %lld%s\n", c->name, c->value, c->other,
			    c->others, c->differs ? ": no exception any more" : "");
		wrong++;
	}
	assert_int_equal(wrong, 0);
	/* Whoever looks for them has found them. */
	assert_true(ARRAY_SIZE(constants) > 250);
}

static void members_of_one_name_have_one_size(void **state)
{
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct same_member *m = &members[i];
		bool equal = m->size == m->others && m->offset == m->others_offset;

		if (equal != m->differs)
			continue;
		print_error("%s has %zu bytes at %zu, the core's %zu at %zu%s\n", m->name,
			    m->size, m->offset, m->others, m->others_offset,
			    m->differs ? ": no exception any more" : "");
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_true(ARRAY_SIZE(members) > 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_of_one_name_have_one_value),
		cmocka_unit_test(members_of_one_name_have_one_size),
	};

	return harness_run(tests);
}
