/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a specification says of a format, and the checks that a codec keeps to it. The
 * positions are written as the specification's tables have them, byte and bits, so that
 * they are not those of the codec under test by construction.
 */
#ifndef TESTS_WIRE_LAYOUT_H
#define TESTS_WIRE_LAYOUT_H

#include <string.h>

#include "base/random.h"
#include "harness/harness.h"

#define LAYOUT_BYTES_MAX 256u

struct layout_field {
	const char *name;
	size_t member, size;
	unsigned int byte, top,
		width;      /* `top`: the field's highest bit in that byte, 7..0 */
	unsigned int shift; /* of the value in the member */
};

struct layout {
	const char *name;
	size_t struct_bytes;
	unsigned int from, to; /* the bytes of the format */
	const struct layout_field *fields;
	size_t count;
	void (*get)(const uint8_t *wire, void *value);
	void (*put)(uint8_t *wire, const void *value);
};

/* Bits top .. top - width + 1 of a byte and those that follow. */
#define AT(type, name, byte, top, width)                                           \
	{                                                                          \
#name, offsetof(type, name), sizeof(((type *)0)->name), byte, top, \
			width, 0                                                   \
	}
/* As wide as the member. */
#define WHOLE(type, name, byte) AT(type, name, byte, 7, 8 * sizeof(((type *)0)->name))

/* The codec's two functions without their types. */
#define LAYOUT_CODEC(codec)                                           \
	static void codec##_get_any(const uint8_t *wire, void *value) \
	{                                                             \
		codec##_get(wire, value);                             \
	}                                                             \
	static void codec##_put_any(uint8_t *wire, const void *value) \
	{                                                             \
		codec##_put(wire, value);                             \
	}

#define LAYOUT(codec, type, from, to, table)                                             \
	{                                                                                \
#codec, sizeof(type), from, to, table, sizeof(table) / sizeof(*(table)), \
			codec##_get_any, codec##_put_any                                 \
	}

static inline bool layout_is_number(const struct layout_field *f)
{
	return f->size <= 8;
}

/* Bit `i` of the field, from its highest: on the wire. */
static inline bool layout_wire_bit(const uint8_t *wire, const struct layout_field *f,
				   unsigned int i)
{
	unsigned int bit = 8 * f->byte + 7 - f->top + i;

	return wire[bit / 8] >> (7 - bit % 8) & 1;
}

static inline uint64_t layout_number(const struct layout_field *f, const uint8_t *member)
{
	uint64_t v = 0;

	/* The tests run on little-endian and on big-endian machines. */
	for (size_t i = 0; i < f->size; i++)
		v |= (uint64_t)member[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
					      ? i
					      : f->size - 1 - i]
		     << 8 * i;
	return v;
}

/* ... and in the struct. */
static inline bool layout_member_bit(const void *value, const struct layout_field *f,
				     unsigned int i)
{
	const uint8_t *member = (const uint8_t *)value + f->member;

	if (!layout_is_number(f))
		return member[i / 8] >> (7 - i % 8) & 1;
	return layout_number(f, member) >> (f->width - 1 - i + f->shift) & 1;
}

static inline void layout_check_equal(const struct layout *l, const uint8_t *wire,
				      const void *value)
{
	for (size_t n = 0; n < l->count; n++)
		for (unsigned int i = 0; i < l->fields[n].width; i++)
			if (layout_wire_bit(wire, &l->fields[n], i) !=
			    layout_member_bit(value, &l->fields[n], i))
				fail_msg("%s.%s: bit %u from the top", l->name,
					 l->fields[n].name, i);
}

static inline void layout_noise(struct random *r, void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		((uint8_t *)bytes)[i] = (uint8_t)random_u64(r);
}

/* A bit of a field must be that bit on the wire and no other one. */
static inline void layout_check_positions(const struct layout *l)
{
	_Alignas(8) uint8_t value[LAYOUT_BYTES_MAX];
	uint8_t wire[LAYOUT_BYTES_MAX];

	assert_true(l->struct_bytes <= sizeof(value));
	for (size_t n = 0; n < l->count; n++) {
		const struct layout_field *f = &l->fields[n];
		unsigned int set = 0;

		memset(value, 0, sizeof(value));
		memset(value + f->member, 0xff, f->size);
		memset(wire, 0, sizeof(wire));
		l->put(wire, value);
		for (unsigned int i = 0; i < f->width; i++)
			if (!layout_wire_bit(wire, f, i))
				fail_msg("%s.%s: bit %u is not set", l->name, f->name, i);
		for (unsigned int bit = 0; bit < 8 * sizeof(wire); bit++)
			set += wire[bit / 8] >> (7 - bit % 8) & 1;
		if (set != f->width)
			fail_msg("%s.%s: %u bits changed", l->name, f->name, set);
	}
}

/* What a format does not name is zero, whatever was there; what lies outside stays. */
static inline void layout_check_reserved(const struct layout *l, const uint8_t *wire,
					 uint8_t outside)
{
	uint8_t named[LAYOUT_BYTES_MAX] = { 0 };

	for (size_t n = 0; n < l->count; n++)
		for (unsigned int i = 0; i < l->fields[n].width; i++) {
			unsigned int bit =
				8 * l->fields[n].byte + 7 - l->fields[n].top + i;

			named[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		}
	for (unsigned int i = 0; i < LAYOUT_BYTES_MAX; i++)
		if (i < l->from || i >= l->to)
			assert_int_equal(wire[i], outside);
		else if (wire[i] & ~named[i])
			fail_msg("%s: byte %u has reserved bits: %02x", l->name, i,
				 wire[i]);
}

/* Struct to bytes to struct, then other bytes to struct to bytes. */
static inline void layout_check_round_trip(const struct layout *l, struct random *r)
{
	_Alignas(8) uint8_t value[LAYOUT_BYTES_MAX], back[LAYOUT_BYTES_MAX];
	uint8_t wire[LAYOUT_BYTES_MAX];

	layout_noise(r, value, l->struct_bytes);
	memset(wire, 0xa5, sizeof(wire));
	l->put(wire, value);
	layout_check_equal(l, wire, value);
	layout_check_reserved(l, wire, 0xa5);
	layout_noise(r, back, l->struct_bytes);
	l->get(wire, back);
	layout_check_equal(l, wire, back);

	layout_noise(r, wire, sizeof(wire));
	l->get(wire, value);
	layout_check_equal(l, wire, value);
	/* Nothing is left of what was there but the field. */
	for (size_t n = 0; n < l->count; n++) {
		const struct layout_field *f = &l->fields[n];

		if (layout_is_number(f) && f->width < 8 * f->size)
			assert_int_equal(layout_number(f, value + f->member) >>
						 f->shift >> f->width,
					 0);
	}
}

static inline void layout_check(const struct layout *l)
{
	unsigned int rounds = harness_count(500, 200000);
	struct random r;

	random_seed(&r, 1);
	layout_check_positions(l);
	for (unsigned int i = 0; i < rounds; i++)
		layout_check_round_trip(l, &r);
}

/* "0123 45" to bytes; the count. */
static inline size_t layout_hex(const char *text, uint8_t *out)
{
	size_t nibbles = 0;

	for (; *text; text++) {
		int v = *text >= '0' && *text <= '9'   ? *text - '0'
			: *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
						       : -1;

		if (v < 0)
			continue;
		out[nibbles / 2] = (uint8_t)(nibbles % 2 ? out[nibbles / 2] | v : v << 4);
		nibbles++;
	}
	return nibbles / 2;
}

#endif
