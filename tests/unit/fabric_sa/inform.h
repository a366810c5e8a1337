/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the subnet administrator subscribe to.
 */
#ifndef FABRIC_SA_INFORM_H
#define FABRIC_SA_INFORM_H

#include "wire/sa.h"

/* Everybody's traps of that number, or all traps: 0xffff. */
static inline struct sa_inform_info inform_all_of(uint16_t trap)
{
	return (struct sa_inform_info){ .lid_begin = 0xffff,
					.is_generic = 1,
					.subscribe = 1,
					.type = 0xffff,
					.trap = trap,
					.producer_type = 0xffffff };
}

#endif
