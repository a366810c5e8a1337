/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a group's record do for a member? (spec/kernel 2.7) The MGID is equal anyhow, join
 * state and proxy join do not count. Rates are compared by their codes, as Linux does.
 */
#include "core/sa/sa_priv.h"

/* Both bits, else the member does not care. */
static bool selected(u64 mask, u64 selector_bit, u64 value_bit, u8 selector, u8 group,
		     u8 wanted)
{
	if (!(mask & selector_bit) || !(mask & value_bit))
		return true;
	switch (selector) {
	case SA_SELECT_GT:
		return group > wanted;
	case SA_SELECT_LT:
		return group < wanted;
	case SA_SELECT_EQ:
		return group == wanted;
	default:
		return true;
	}
}

static bool equal(u64 mask, u64 bit, u64 group, u64 wanted)
{
	return !(mask & bit) || group == wanted;
}

static bool scalars_do(const struct ib_sa_mcmember_rec *s,
		       const struct ib_sa_mcmember_rec *d, u64 mask)
{
	return equal(mask, SA_MCM_QKEY, s->qkey, d->qkey) &&
	       equal(mask, SA_MCM_MLID, s->mlid, d->mlid) &&
	       equal(mask, SA_MCM_TCLASS, s->traffic_class, d->traffic_class) &&
	       equal(mask, SA_MCM_PKEY, s->pkey, d->pkey) &&
	       equal(mask, SA_MCM_SL, s->sl, d->sl) &&
	       equal(mask, SA_MCM_FLOW_LABEL, s->flow_label, d->flow_label) &&
	       equal(mask, SA_MCM_HOP_LIMIT, s->hop_limit, d->hop_limit) &&
	       equal(mask, SA_MCM_SCOPE, s->scope, d->scope);
}

bool ib_sa_record_does(const struct ib_sa_mcmember_rec *s,
		       const struct ib_sa_mcmember_rec *d, ib_sa_comp_mask comp_mask)
{
	u64 mask = ib_sa_comp_mask_to_host(comp_mask);

	if ((mask & SA_MCM_PORT_GID) && !gid_equal(s->port_gid.raw, d->port_gid.raw))
		return false;
	return scalars_do(s, d, mask) &&
	       selected(mask, SA_MCM_MTU_SELECTOR, SA_MCM_MTU, d->mtu_selector, s->mtu,
			d->mtu) &&
	       selected(mask, SA_MCM_RATE_SELECTOR, SA_MCM_RATE, d->rate_selector,
			s->rate, d->rate) &&
	       selected(mask, SA_MCM_LIFETIME_SELECTOR, SA_MCM_LIFETIME,
			d->packet_life_time_selector, s->packet_life_time,
			d->packet_life_time);
}
