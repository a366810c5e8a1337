/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The MTU enum of verbs: 1 is 256 bytes, 5 is 4096.
 */
#ifndef WIRE_MTU_H
#define WIRE_MTU_H

#include <stdint.h>

#define MTU_ENUM_256  1
#define MTU_ENUM_4096 5

/* The largest that an interface of `link_mtu` bytes carries besides RoCE's headers
 * (spec/kernel 3.5 step 6); 0: not even the smallest. */
int mtu_enum_from_roce_link(uint32_t link_mtu);

/* 0: no such enum. */
static inline uint32_t mtu_enum_to_bytes(int mtu)
{
	return mtu < MTU_ENUM_256 || mtu > MTU_ENUM_4096 ? 0 : 128u << mtu;
}

#endif
