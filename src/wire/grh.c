// SPDX-License-Identifier: BSD-2-Clause
#include "wire/grh.h"

#include "wire/gid.h"

#define NEXT_HEADER_IB_TRANSPORT 0x1b

static void flow_init_ipv4(struct grh_flow *flow, const struct ip4_header *h)
{
	uint8_t *header = flow->bytes + 20;

	memset(flow->bytes, 0, 20);
	ip4_header_write(header, h);
	header[10] = 0;
	header[11] = 0;
	flow->sum = ip_sum(header, IP4_HEADER_BYTES, 0);
}

void grh_flow_init(struct grh_flow *flow, enum grh_kind kind, const uint8_t sgid[16],
		   const uint8_t dgid[16], uint8_t traffic_class, uint8_t hop_limit)
{
	struct ip6_header h6 = { .traffic_class = traffic_class, .hop_limit = hop_limit };

	flow->kind = kind;
	flow->sum = 0;
	if (kind == GRH_IPV4) {
		flow_init_ipv4(flow, &(struct ip4_header){ .src = gid_to_ipv4(sgid),
							   .dst = gid_to_ipv4(dgid),
							   .tos = traffic_class,
							   .ttl = hop_limit });
		return;
	}
	/* A GRH and an IPv6 header differ in the number of the next header alone. */
	memcpy(h6.src, sgid, 16);
	memcpy(h6.dst, dgid, 16);
	ip6_header_write(flow->bytes, &h6);
	if (kind == GRH_IB)
		flow->bytes[6] = NEXT_HEADER_IB_TRANSPORT;
}

void grh_flow_init_none(struct grh_flow *flow)
{
	*flow = (struct grh_flow){ .kind = GRH_NONE };
}

void grh_flow_label(struct grh_flow *flow, uint32_t label)
{
	flow->bytes[1] = (uint8_t)((flow->bytes[1] & 0xf0) | (label >> 16 & 0x0f));
	flow->bytes[2] = (uint8_t)(label >> 8);
	flow->bytes[3] = (uint8_t)label;
}

enum grh_kind grh_kind_of_roce_v2(const uint8_t sgid[16], const uint8_t dgid[16])
{
	return gid_is_v4_mapped(sgid) && gid_is_v4_mapped(dgid) ? GRH_IPV4 : GRH_IPV6;
}
