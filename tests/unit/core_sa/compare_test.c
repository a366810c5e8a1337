// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether a group's record does for a member, as far as joiners can see: the group is
 * joined, and everybody else is decided on without the SA (spec/kernel 2.7, 6 no. 19).
 */
#include "unit/core_sa/world.h"

static struct joiner first;

static int begin(void **state)
{
	world_begin(state);
	memset(&first, 0, sizeof(first));
	join_granted(&first, 1, SA_JOIN_FULL);
	return 0;
}

static int end(void **state)
{
	leave(&first);
	let_leave(SA_JOIN_FULL);
	return world_end(state);
}

static bool does(const struct ib_sa_mcmember_rec *rec, u64 mask)
{
	struct joiner joiner = { 0 };
	int status;

	join_record(&joiner, rec, MASK_MINIMAL | mask);
	assert_silence();
	assert_int_equal(joiner.calls, 1);
	status = last_status(&joiner);
	assert_true(status == 0 || status == -EINVAL);
	leave(&joiner);
	assert_silence();
	return status == 0;
}

/* The group as it is, as a wish. */
static struct ib_sa_mcmember_rec as_it_is(void)
{
	struct ib_sa_mcmember_rec rec = first.rec;

	rec.join_state = SA_JOIN_FULL;
	return rec;
}

static void what_must_be_equal(void **state)
{
	static const struct {
		u64 bit;
		size_t offset;
		u8 change;
	} fields[] = {
#define FIELD(bit, name) { bit, offsetof(struct ib_sa_mcmember_rec, name), 1 }
		FIELD(SA_MCM_PORT_GID, port_gid),
		FIELD(SA_MCM_QKEY, qkey),
		FIELD(SA_MCM_MLID, mlid),
		FIELD(SA_MCM_TCLASS, traffic_class),
		FIELD(SA_MCM_PKEY, pkey),
		FIELD(SA_MCM_SL, sl),
		FIELD(SA_MCM_FLOW_LABEL, flow_label),
		FIELD(SA_MCM_HOP_LIMIT, hop_limit),
		FIELD(SA_MCM_SCOPE, scope),
	};
	u64 all = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct ib_sa_mcmember_rec rec = as_it_is();

		assert_true(does(&rec, fields[i].bit));
		((u8 *)&rec)[fields[i].offset] ^= fields[i].change;
		assert_false(does(&rec, fields[i].bit));
		/* Whoever does not name it does not care; the port is always named. */
		if (fields[i].bit != SA_MCM_PORT_GID)
			assert_true(does(&rec, 0));
		all |= fields[i].bit;
	}
	first.rec.join_state = SA_JOIN_FULL;
	assert_true(does(&first.rec, all));
}

/* All 16 bits, the membership's too. */
static void a_limited_key_is_another(void **state)
{
	struct ib_sa_mcmember_rec rec = as_it_is();

	rec.pkey = htobe16(0x7fff);
	assert_false(does(&rec, SA_MCM_PKEY));
}

struct selected {
	u64 selector_bit, value_bit;
	size_t selector, value;
};

static const struct selected selecteds[] = {
#define SELECTED(NAME, name)                                                  \
	{                                                                     \
		SA_MCM_##NAME##_SELECTOR, SA_MCM_##NAME,                      \
			offsetof(struct ib_sa_mcmember_rec, name##_selector), \
			offsetof(struct ib_sa_mcmember_rec, name)             \
	}
	SELECTED(MTU, mtu),
	SELECTED(RATE, rate),
	SELECTED(LIFETIME, packet_life_time),
};

static void selectors_with_both_bits(void **state)
{
	/* The group's value is below, equal, above the wanted one. */
	static const bool expected[4][3] = {
		[SA_SELECT_GT] = { false, false, true },
		[SA_SELECT_LT] = { true, false, false },
		[SA_SELECT_EQ] = { false, true, false },
		[SA_SELECT_BEST] = { true, true, true },
	};

	for (size_t i = 0; i < 3; i++) {
		const struct selected *s = &selecteds[i];

		for (u8 selector = 0; selector < 4; selector++) {
			for (int where = 0; where < 3; where++) {
				struct ib_sa_mcmember_rec rec = as_it_is();
				u8 *value = (u8 *)&rec + s->value;

				((u8 *)&rec)[s->selector] = selector;
				*value = (u8)(*value + 1 - where);
				assert_int_equal(
					does(&rec, s->selector_bit | s->value_bit),
					expected[selector][where]);
				/* One bit alone says nothing. */
				assert_true(does(&rec, s->selector_bit));
				assert_true(does(&rec, s->value_bit));
			}
		}
	}
}

static void codes_are_compared_and_not_speeds(void **state)
{
	struct ib_sa_mcmember_rec rec = as_it_is(); /* 7 is 40 Gb/s */

	rec.rate_selector = SA_SELECT_GT;
	rec.rate = 6; /* 20 Gb/s */
	assert_true(does(&rec, SA_MCM_RATE | SA_MCM_RATE_SELECTOR));
	rec.rate = 11; /* 14 Gb/s, with a larger code */
	assert_false(does(&rec, SA_MCM_RATE | SA_MCM_RATE_SELECTOR));
}

static void proxies_are_not_compared(void **state)
{
	struct ib_sa_mcmember_rec rec = as_it_is();

	rec.proxy_join ^= 1;
	assert_true(does(&rec, SA_MCM_PROXY_JOIN));
}

#define COMPARE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COMPARE(what_must_be_equal),
		COMPARE(a_limited_key_is_another),
		COMPARE(selectors_with_both_bits),
		COMPARE(codes_are_compared_and_not_speeds),
		COMPARE(proxies_are_not_compared),
	};

	return harness_run(tests);
}
