/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/fields.h"
#include "wire/sa.h"

#define M(name, byte)             WIRE_BYTES(struct sa_mcmember, name, byte)
#define B(name, byte, skip, bits) WIRE_BITS(struct sa_mcmember, name, byte, skip, bits)
/* spec/sa-sm 1.3, spec/kernel 2.2 */
static const struct wire_field fields[] = {
	M(mgid, 0),
	M(port_gid, 16),
	M(qkey, 32),
	M(mlid, 36),
	B(mtu_selector, 38, 0, 2),
	B(mtu, 38, 2, 6),
	M(tclass, 39),
	M(pkey, 40),
	B(rate_selector, 42, 0, 2),
	B(rate, 42, 2, 6),
	B(lifetime_selector, 43, 0, 2),
	B(lifetime, 43, 2, 6),
	B(sl, 44, 0, 4),
	B(flow_label, 44, 4, 20),
	M(hop_limit, 47),
	B(scope, 48, 0, 4),
	B(join_state, 48, 4, 4),
	B(proxy_join, 49, 0, 1),
};
static const struct wire_format format = WIRE_FORMAT(0, SA_MCMEMBER_BYTES, fields);

#define PROXY_BYTE      49
#define PROXY_OF_OPENSM 0x01

void sa_mcmember_get(const uint8_t data[SA_MCMEMBER_BYTES], struct sa_mcmember *ret)
{
	wire_get(&format, data, ret);
	/* OpenSM has the flag at the other end of the byte: spec/sa-sm 1.3. */
	if (data[PROXY_BYTE] & PROXY_OF_OPENSM)
		ret->proxy_join = 1;
}

void sa_mcmember_put(uint8_t data[SA_MCMEMBER_BYTES], const struct sa_mcmember *rec)
{
	wire_put(&format, data, rec);
}
