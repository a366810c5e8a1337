/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mtu.h"

/* GRH, UDP, BTH, the largest extended header, immediate and ICRC. */
#define ROCE_HEADERS_MAX 96

int mtu_enum_from_roce_link(uint32_t link_mtu)
{
	uint32_t payload = link_mtu > ROCE_HEADERS_MAX ? link_mtu - ROCE_HEADERS_MAX : 0;
	int mtu = 0;

	while (mtu < MTU_ENUM_4096 && payload >= 256u << mtu)
		mtu++;
	return mtu;
}
