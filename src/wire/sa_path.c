/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/fields.h"
#include "wire/sa.h"

#define P(name, byte)             WIRE_BYTES(struct sa_path, name, byte)
#define B(name, byte, skip, bits) WIRE_BITS(struct sa_path, name, byte, skip, bits)
/* spec/sa-sm 4.3, spec/kernel 5.5 */
static const struct wire_field fields[] = {
	P(service_id, 0),
	P(dgid, 8),
	P(sgid, 24),
	P(dlid, 40),
	P(slid, 42),
	B(raw_traffic, 44, 0, 1),
	B(flow_label, 44, 4, 20),
	P(hop_limit, 47),
	P(tclass, 48),
	B(reversible, 49, 0, 1),
	B(numb_path, 49, 1, 7),
	P(pkey, 50),
	B(qos_class, 52, 0, 12),
	B(sl, 53, 4, 4),
	B(mtu_selector, 54, 0, 2),
	B(mtu, 54, 2, 6),
	B(rate_selector, 55, 0, 2),
	B(rate, 55, 2, 6),
	B(lifetime_selector, 56, 0, 2),
	B(lifetime, 56, 2, 6),
	P(preference, 57),
};
static const struct wire_format format = WIRE_FORMAT(0, SA_PATH_BYTES, fields);

void sa_path_get(const uint8_t data[SA_PATH_BYTES], struct sa_path *ret)
{
	wire_get(&format, data, ret);
}

void sa_path_put(uint8_t data[SA_PATH_BYTES], const struct sa_path *rec)
{
	wire_put(&format, data, rec);
}
