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

#undef P
#undef B
#define P(name, byte)             WIRE_BYTES(struct sa_multi_path, name, byte)
#define B(name, byte, skip, bits) WIRE_BITS(struct sa_multi_path, name, byte, skip, bits)
static const struct wire_field multi_fields[] = {
	B(raw_traffic, 0, 0, 1),
	B(flow_label, 0, 4, 20),
	P(hop_limit, 3),
	P(tclass, 4),
	B(reversible, 5, 0, 1),
	B(numb_path, 5, 1, 7),
	P(pkey, 6),
	B(qos_class, 8, 0, 12),
	B(sl, 9, 4, 4),
	B(mtu_selector, 10, 0, 2),
	B(mtu, 10, 2, 6),
	B(rate_selector, 11, 0, 2),
	B(rate, 11, 2, 6),
	B(lifetime_selector, 12, 0, 2),
	B(lifetime, 12, 2, 6),
	P(sgid_count, 15),
	P(dgid_count, 16),
	P(gids, 24),
};
static const struct wire_format multi_format =
	WIRE_FORMAT(0, SA_MULTI_PATH_BYTES, multi_fields);

void sa_multi_path_get(const uint8_t data[SA_MULTI_PATH_BYTES], struct sa_multi_path *ret)
{
	wire_get(&multi_format, data, ret);
}

void sa_multi_path_put(uint8_t data[SA_MULTI_PATH_BYTES], const struct sa_multi_path *rec)
{
	wire_put(&multi_format, data, rec);
}
