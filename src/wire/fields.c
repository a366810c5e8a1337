/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/fields.h"

#include <endian.h>
#include <string.h>

/* Wider ones are bytes. */
#define NUMBER_BITS_MAX 64

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

static uint64_t wire_load(const uint8_t *at, unsigned int bytes)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v = 0;

	switch (bytes) {
	case 1:
		return at[0];
	case 2:
		memcpy(&v16, at, sizeof(v16));
		return be16toh(v16);
	case 4:
		memcpy(&v32, at, sizeof(v32));
		return be32toh(v32);
	case 8:
		memcpy(&v, at, sizeof(v));
		return be64toh(v);
	default:
		while (bytes-- > 0)
			v = v << 8 | *at++;
		return v;
	}
}

static void wire_or(uint8_t *at, unsigned int bytes, uint64_t value)
{
	for (; bytes > 0; value >>= 8)
		at[--bytes] |= (uint8_t)value;
}

/* The bytes that hold a number are at most eight: what is wider than 56 bits starts at a
 * byte. `below` bits of the last one belong to others. */
struct place {
	unsigned int first, bytes, below;
	uint64_t mask;
};

static struct place place_of(const struct wire_field *f)
{
	unsigned int end = f->bit + f->bits, first = f->bit / 8, last = (end + 7) / 8;

	return (struct place){ first, last - first, 8 * last - end,
			       UINT64_MAX >> (NUMBER_BITS_MAX - f->bits) };
}

static void get_number(const struct wire_field *f, const uint8_t *wire, uint8_t *member)
{
	const struct place p = place_of(f);

	member_store(member, f->size,
		     wire_load(wire + p.first, p.bytes) >> p.below & p.mask);
}

static void put_number(const struct wire_field *f, uint8_t *wire, const uint8_t *member)
{
	const struct place p = place_of(f);

	wire_or(wire + p.first, p.bytes,
		(member_load(member, f->size) & p.mask) << p.below);
}

void wire_get(const struct wire_format *format, const uint8_t *wire, void *ret)
{
	for (unsigned int i = 0; i < format->count; i++) {
		const struct wire_field *f = &format->fields[i];
		uint8_t *member = (uint8_t *)ret + f->member;

		if (f->bits <= NUMBER_BITS_MAX)
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

		if (f->bits <= NUMBER_BITS_MAX)
			put_number(f, wire, member);
		else
			memcpy(wire + f->bit / 8, member, f->size);
	}
}
