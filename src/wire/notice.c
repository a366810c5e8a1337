/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "wire/fields.h"
#include "wire/smp.h"

#define N(name, byte) WIRE_BYTES(struct notice, name, byte)
/* spec/sa-sm 2.1 */
static const struct wire_field fields[] = {
	WIRE_BITS(struct notice, is_generic, 0, 0, 1),
	WIRE_BITS(struct notice, type, 0, 1, 7),
	WIRE_BITS(struct notice, producer_type, 1, 0, 24),
	N(trap, 4),
	N(issuer_lid, 6),
	N(toggle_count, 8),
	N(details, 10),
};
static const struct wire_format format = WIRE_FORMAT(0, NOTICE_TRAP_BYTES, fields);

void notice_get(const uint8_t *data, uint32_t bytes, struct notice *ret)
{
	wire_get(&format, data, ret);
	memset(ret->issuer_gid, 0, sizeof(ret->issuer_gid));
	if (bytes >= NOTICE_BYTES)
		memcpy(ret->issuer_gid, data + NOTICE_TRAP_BYTES,
		       sizeof(ret->issuer_gid));
}

void notice_put(uint8_t *data, uint32_t bytes, const struct notice *notice)
{
	wire_put(&format, data, notice);
	if (bytes >= NOTICE_BYTES)
		memcpy(data + NOTICE_TRAP_BYTES, notice->issuer_gid,
		       sizeof(notice->issuer_gid));
}
