/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MTU and rate: codes, what a selector asks for, what a port can do (spec/sa-sm 1.3, 1.7).
 * Rates are in the order of their speeds, not of their codes.
 */
#include "fabric/sa/server_priv.h"

#define MTU_LOWEST  1u
#define MTU_HIGHEST 5u
#define RATE_FIRST  2u
#define RATE_LAST   22u /* spec/sa-sm 1.6 step 2 */
#define RATE_LOWEST 2u  /* 2.5 Gb/s */

bool sa_mtu_is_valid(uint8_t mtu)
{
	return mtu >= MTU_LOWEST && mtu <= MTU_HIGHEST;
}

bool sa_rate_is_valid(uint8_t rate)
{
	return rate >= RATE_FIRST && rate <= RATE_LAST;
}

int sa_rate_compare(uint8_t a, uint8_t b)
{
	uint32_t x = smp_rate_speed(a), y = smp_rate_speed(b);

	return (x > y) - (x < y);
}

static bool is_selected(int compared, uint8_t selector)
{
	switch (selector) {
	case SA_SELECT_GT:
		return compared > 0;
	case SA_SELECT_LT:
		return compared < 0;
	case SA_SELECT_EQ:
		return compared == 0;
	default:
		return true;
	}
}

bool sa_mtu_is_selected(uint8_t mtu, uint8_t selector, uint8_t bound)
{
	return is_selected((mtu > bound) - (mtu < bound), selector);
}

bool sa_rate_is_selected(uint8_t rate, uint8_t selector, uint8_t bound)
{
	return is_selected(sa_rate_compare(rate, bound), selector);
}

uint8_t sa_mtu_realise(uint8_t most, uint8_t selector, uint8_t bound)
{
	switch (selector) {
	case SA_SELECT_GT:
		return most > bound ? most : 0;
	case SA_SELECT_LT:
		if (bound > most)
			return most;
		return bound > MTU_LOWEST ? bound - 1 : 0;
	case SA_SELECT_EQ:
		return bound;
	default:
		return most;
	}
}

/* 0: there is none below the slowest. */
static uint8_t next_lower_rate(uint8_t bound)
{
	uint8_t best = 0;

	for (uint8_t rate = RATE_FIRST; rate <= RATE_LAST; rate++) {
		if (smp_rate_speed(rate) && sa_rate_compare(rate, bound) < 0 &&
		    (!best || sa_rate_compare(rate, best) > 0))
			best = rate;
	}
	return best;
}

uint8_t sa_rate_realise(uint8_t most, uint8_t selector, uint8_t bound)
{
	switch (selector) {
	case SA_SELECT_GT:
		return sa_rate_compare(most, bound) > 0 ? most : 0;
	case SA_SELECT_LT:
		return sa_rate_compare(bound, most) > 0 ? most : next_lower_rate(bound);
	case SA_SELECT_EQ:
		return bound;
	default:
		return most;
	}
}

uint8_t sa_port_mtu(const struct subnet_port *port)
{
	return port->info.neighbor_mtu;
}

uint8_t sa_port_rate(const struct subnet_port *port)
{
	const struct smp_port_info *info = &port->info;
	uint8_t rate = smp_link_rate(info->width_active, info->speed_active,
				     info->speed_ext_active);

	/* Nothing that a link could be: as slow as one can be. */
	return rate ? rate : RATE_LOWEST;
}
