// SPDX-License-Identifier: BSD-2-Clause
/*
 * The queue pair state table of spec/kernel 5.3, all pairs of states by all masks of the
 * bits that UD knows, with and without one bit that it does not.
 */
#include "core/verbs/ib_verbs.h"
#include "harness/harness.h"

#define BITS(...) (0 __VA_ARGS__)
#define PKEY      | IB_QP_PKEY_INDEX
#define PORT      | IB_QP_PORT
#define QKEY      | IB_QP_QKEY
#define PSN       | IB_QP_SQ_PSN
#define CUR       | IB_QP_CUR_STATE
#define ASYNC     | IB_QP_EN_SQD_ASYNC_NOTIFY

/* The rows of the specification as they stand there, but for ERR and RESET. */
static const struct row {
	int from, to, required, optional;
} ud_rows[] = {
	{ IB_QPS_RESET, IB_QPS_INIT, BITS(PKEY PORT QKEY), 0 },
	{ IB_QPS_INIT, IB_QPS_INIT, 0, BITS(PKEY PORT QKEY) },
	{ IB_QPS_INIT, IB_QPS_RTR, 0, BITS(PKEY QKEY) },
	{ IB_QPS_RTR, IB_QPS_RTS, BITS(PSN), BITS(CUR QKEY) },
	{ IB_QPS_RTS, IB_QPS_RTS, 0, BITS(CUR QKEY) },
	{ IB_QPS_RTS, IB_QPS_SQD, 0, BITS(ASYNC) },
	{ IB_QPS_SQD, IB_QPS_RTS, 0, BITS(CUR QKEY) },
	{ IB_QPS_SQD, IB_QPS_SQD, 0, BITS(PKEY QKEY) },
	{ IB_QPS_SQE, IB_QPS_RTS, 0, BITS(CUR QKEY) },
};

static const int ud_bits[] = {
	IB_QP_STATE,     IB_QP_PKEY_INDEX,          IB_QP_PORT, IB_QP_QKEY, IB_QP_SQ_PSN,
	IB_QP_CUR_STATE, IB_QP_EN_SQD_ASYNC_NOTIFY,
};
#define UD_MASKS (1 << (sizeof(ud_bits) / sizeof(ud_bits[0])))

static bool expected(int from, int to, int mask)
{
	mask &= ~IB_QP_STATE;
	if (to == IB_QPS_RESET)
		return mask == 0;
	if (to == IB_QPS_ERR)
		return from != IB_QPS_RESET && mask == 0;
	for (size_t i = 0; i < sizeof(ud_rows) / sizeof(ud_rows[0]); i++) {
		const struct row *row = &ud_rows[i];

		if (row->from == from && row->to == to)
			return (mask & row->required) == row->required &&
			       !(mask & ~(row->required | row->optional));
	}
	return false;
}

static int mask_of(unsigned int n)
{
	int mask = 0;

	for (size_t i = 0; i < sizeof(ud_bits) / sizeof(ud_bits[0]); i++)
		mask |= n >> i & 1 ? ud_bits[i] : 0;
	return mask;
}

static void check(int from, int to, int mask)
{
	if (ib_modify_qp_is_ok(from, to, IB_QPT_UD, mask) != expected(from, to, mask))
		fail_msg("%d -> %d, mask 0x%x: not %d", from, to, mask,
			 expected(from, to, mask));
}

static void ud_goes_where_the_table_says_and_nowhere_else(void **state)
{
	for (int from = 0; from < IB_QPS_COUNT; from++)
		for (int to = 0; to < IB_QPS_COUNT; to++)
			for (unsigned int n = 0; n < UD_MASKS; n++)
				check(from, to, mask_of(n));
}

static void ud_refuses_every_attribute_it_does_not_have(void **state)
{
	int ud_all = mask_of(UD_MASKS - 1);

	for (int bit = 1; bit <= IB_QP_RATE_LIMIT; bit <<= 1) {
		if (bit & ud_all)
			continue;
		for (int from = 0; from < IB_QPS_COUNT; from++)
			for (int to = 0; to < IB_QPS_COUNT; to++)
				for (unsigned int n = 0; n < UD_MASKS; n++)
					assert_false(ib_modify_qp_is_ok(
						from, to, IB_QPT_UD, mask_of(n) | bit));
	}
}

static void states_out_of_range_are_refused(void **state)
{
	for (int s = 0; s < IB_QPS_COUNT; s++) {
		assert_false(ib_modify_qp_is_ok(IB_QPS_COUNT, s, IB_QPT_UD, IB_QP_STATE));
		assert_false(ib_modify_qp_is_ok(-1, s, IB_QPT_UD, IB_QP_STATE));
		assert_false(ib_modify_qp_is_ok(s, IB_QPS_COUNT, IB_QPT_UD, IB_QP_STATE));
		assert_false(ib_modify_qp_is_ok(s, -1, IB_QPT_UD, IB_QP_STATE));
	}
}

static void types_without_a_table_go_nowhere(void **state)
{
	static const int types[] = { IB_QPT_RAW_PACKET, IB_QPT_XRC_INI, IB_QPT_DRIVER,
				     77 };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (int from = 0; from < IB_QPS_COUNT; from++)
			for (int to = 0; to < IB_QPS_COUNT; to++)
				assert_false(ib_modify_qp_is_ok(from, to, types[i],
								IB_QP_STATE));
}

static void connected_types_need_an_address_before_they_receive(void **state)
{
	int uc = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	int rc = uc | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;

	assert_true(ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_UC, uc));
	assert_true(ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_RC, rc));
	for (int bit = 1; bit <= IB_QP_DEST_QPN; bit <<= 1) {
		if (bit & uc)
			assert_false(ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR,
							IB_QPT_UC, uc & ~bit));
		if (bit & rc)
			assert_false(ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR,
							IB_QPT_RC, rc & ~bit));
	}
	assert_false(ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_UC, rc));
	assert_false(ib_modify_qp_is_ok(IB_QPS_SQE, IB_QPS_RTS, IB_QPT_RC, IB_QP_STATE));
	assert_true(ib_modify_qp_is_ok(IB_QPS_SQE, IB_QPS_RTS, IB_QPT_UC, IB_QP_STATE));
}

static void special_queue_pairs_have_no_port_to_set(void **state)
{
	int mask = IB_QP_PKEY_INDEX | IB_QP_QKEY;

	assert_true(ib_modify_qp_is_ok(IB_QPS_RESET, IB_QPS_INIT, IB_QPT_GSI, mask));
	assert_false(ib_modify_qp_is_ok(IB_QPS_RESET, IB_QPS_INIT, IB_QPT_GSI,
					mask | IB_QP_PORT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud_goes_where_the_table_says_and_nowhere_else),
		cmocka_unit_test(ud_refuses_every_attribute_it_does_not_have),
		cmocka_unit_test(states_out_of_range_are_refused),
		cmocka_unit_test(types_without_a_table_go_nowhere),
		cmocka_unit_test(connected_types_need_an_address_before_they_receive),
		cmocka_unit_test(special_queue_pairs_have_no_port_to_set),
	};

	return harness_run(tests);
}
