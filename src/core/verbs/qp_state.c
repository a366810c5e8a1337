/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which state a queue pair may go to, and with which attributes: spec/kernel 5.3 for the
 * datagram types, and the InfiniBand specification's table for the connected ones.
 */
#include "core/verbs/ib_verbs.h"

enum family {
	UD = 1 << 0,
	RC = 1 << 1,
	UC = 1 << 2,
	SPECIAL = 1 << 3, /* SMI and GSI: bound to their port from the start */
	DATAGRAM = UD | SPECIAL,
	CONNECTED = RC | UC,
	ALL = DATAGRAM | CONNECTED,
};

#define RD_ATOMICS (IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC)
#define RETRIES    (IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY)
#define ADDRESS    (IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define MIGRATION  (IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PATH_MIG_STATE)
#define REPAIR     (IB_QP_AV | MIGRATION | IB_QP_PKEY_INDEX)

struct transition {
	enum ib_qp_state from, to;
	unsigned int families;
	unsigned int required, optional; /* beside IB_QP_STATE */
};

#define FROM(a, b) IB_QPS_##a, IB_QPS_##b

static const struct transition transitions[] = {
	{ FROM(RESET, INIT), UD, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0 },
	{ FROM(RESET, INIT), SPECIAL, IB_QP_PKEY_INDEX | IB_QP_QKEY, 0 },
	{ FROM(RESET, INIT), CONNECTED,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
	{ FROM(INIT, INIT), UD, 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY },
	{ FROM(INIT, INIT), SPECIAL, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ FROM(INIT, INIT), CONNECTED, 0,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ FROM(INIT, RTR), DATAGRAM, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ FROM(INIT, RTR), RC, ADDRESS | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
	  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ FROM(INIT, RTR), UC, ADDRESS,
	  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
	{ FROM(RTR, RTS), DATAGRAM, IB_QP_SQ_PSN, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ FROM(RTR, RTS), RC, IB_QP_SQ_PSN | RETRIES | IB_QP_MAX_QP_RD_ATOMIC,
	  IB_QP_CUR_STATE | MIGRATION | IB_QP_MIN_RNR_TIMER },
	{ FROM(RTR, RTS), UC, IB_QP_SQ_PSN, IB_QP_CUR_STATE | MIGRATION },
	{ FROM(RTS, RTS), DATAGRAM, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ FROM(RTS, RTS), RC, 0, IB_QP_CUR_STATE | MIGRATION | IB_QP_MIN_RNR_TIMER },
	{ FROM(RTS, RTS), UC, 0, IB_QP_CUR_STATE | MIGRATION },
	{ FROM(RTS, SQD), ALL, 0, IB_QP_EN_SQD_ASYNC_NOTIFY },
	{ FROM(SQD, RTS), DATAGRAM, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ FROM(SQD, RTS), RC, 0, IB_QP_CUR_STATE | MIGRATION | IB_QP_MIN_RNR_TIMER },
	{ FROM(SQD, RTS), UC, 0, IB_QP_CUR_STATE | MIGRATION },
	{ FROM(SQD, SQD), DATAGRAM, 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ FROM(SQD, SQD), RC, 0,
	  REPAIR | IB_QP_PORT | RETRIES | RD_ATOMICS | IB_QP_MIN_RNR_TIMER },
	{ FROM(SQD, SQD), UC, 0, REPAIR },
	/* A reliable queue pair has no SQE state to come from. */
	{ FROM(SQE, RTS), DATAGRAM, 0, IB_QP_CUR_STATE | IB_QP_QKEY },
	{ FROM(SQE, RTS), UC, 0, IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS },
};

static unsigned int family_of(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UD:
		return UD;
	case IB_QPT_RC:
		return RC;
	case IB_QPT_UC:
		return UC;
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		return SPECIAL;
	default:
		return 0;
	}
}

static const struct transition *find(enum ib_qp_state from, enum ib_qp_state to,
				     unsigned int family)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->from == from && t->to == to && (t->families & family))
			return t;
	}
	return NULL;
}

bool ib_modify_qp_is_ok(enum ib_qp_state cur_state, enum ib_qp_state next_state,
			enum ib_qp_type type, enum ib_qp_attr_mask mask)
{
	unsigned int bits = (unsigned int)mask & ~(unsigned int)IB_QP_STATE;
	unsigned int family = family_of(type);
	const struct transition *t;

	if (!family || (unsigned int)cur_state >= IB_QPS_COUNT)
		return false;
	if ((bits & IB_QP_CUR_STATE) &&
	    (cur_state < IB_QPS_RTR || cur_state > IB_QPS_SQE))
		return false;
	/* Any state can be reset, any but RESET be put into error; nothing else is said. */
	if (next_state == IB_QPS_RESET)
		return bits == 0;
	if (next_state == IB_QPS_ERR)
		return cur_state != IB_QPS_RESET && bits == 0;
	t = find(cur_state, next_state, family);
	if (!t)
		return false;
	return (bits & t->required) == t->required &&
	       (bits & ~(t->required | t->optional)) == 0;
}
