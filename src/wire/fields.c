/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/fields.h"

#include <stdbool.h>
#include <string.h>

static bool is_number(const struct wire_field *f)
{
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
}

static uint64_t member_load(const void *member, uint16_t size)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		memcpy(&v16, member, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, member, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, member, sizeof(v64));
		return v64;
	}
}

static void member_store(void *member, uint16_t size, uint64_t value)
{
	const uint16_t v16 = (uint16_t)value;
	const uint32_t v32 = (uint32_t)value;

	switch (size) {
	case 1:
		*(uint8_t *)member = (uint8_t)value;
		break;
	case 2:
		memcpy(member, &v16, sizeof(v16));
		break;
	case 4:
		memcpy(member, &v32, sizeof(v32));
		break;
	default:
		memcpy(member, &value, sizeof(value));
		break;
	}
}

static uint64_t field_mask(const struct wire_field *f)
{
	return f->bits == 64 ? UINT64_MAX : (1ull << f->bits) - 1;
}

/* The bytes that hold a number are at most eight: what is wider than 56 bits starts at a
 * byte. `below` bits of the last one belong to others. */
static void get_number(const struct wire_field *f, const uint8_t *wire, uint8_t *member)
{
	unsigned int end = f->bit + f->bits, last = (end + 7) / 8, below = 8 * last - end;
	uint64_t v = 0;

	for (unsigned int i = f->bit / 8; i < last; i++)
		v = v << 8 | wire[i];
	member_store(member, f->size, v >> below & field_mask(f));
}

static void put_number(const struct wire_field *f, uint8_t *wire, const uint8_t *member)
{
	unsigned int end = f->bit + f->bits, last = (end + 7) / 8, below = 8 * last - end;
	uint64_t v = (member_load(member, f->size) & field_mask(f)) << below;

	for (unsigned int i = last; i-- > f->bit / 8u; v >>= 8)
		wire[i] |= (uint8_t)v;
}

void wire_get(const struct wire_format *format, const uint8_t *wire, void *ret)
{
	for (unsigned int i = 0; i < format->count; i++) {
		const struct wire_field *f = &format->fields[i];
		uint8_t *member = (uint8_t *)ret + f->member;

		if (is_number(f))
			get_number(f, wire, member);
		else
			memcpy(member, wire + f->bit / 8, f->size);
	}
}

void wire_put(const struct wire_format *format, uint8_t *wire, const void *value)
{
	memset(wire + format->from, 0, (size_t)(format->to - format->from));
	for (unsigned int i = 0; i < format->count; i++) {
		const struct wire_field *f = &format->fields[i];
		const uint8_t *member = (const uint8_t *)value + f->member;

		if (is_number(f))
			put_number(f, wire, member);
		else
			memcpy(wire + f->bit / 8, member, f->size);
	}
}
