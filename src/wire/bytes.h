/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers among bytes, big-endian, for those who need a few of them: what has a format of
 * its own has a table (wire/fields.h).
 */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include <stdint.h>

static inline uint16_t wire_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void wire_put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void wire_put32(uint8_t *p, uint32_t value)
{
	wire_put16(p, (uint16_t)(value >> 16));
	wire_put16(p + 2, (uint16_t)value);
}

static inline uint64_t wire_get64(const uint8_t *p)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < 8; i++)
		value = value << 8 | p[i];
	return value;
}

static inline void wire_put64(uint8_t *p, uint64_t value)
{
	wire_put32(p, (uint32_t)(value >> 32));
	wire_put32(p + 4, (uint32_t)value);
}

/* So many of them, one behind the other, as tables of P_Keys and ports are. */
static inline void wire_get16s(const uint8_t *p, uint16_t *ret, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		ret[i] = wire_get16(p + 2 * i);
}

static inline void wire_put16s(uint8_t *p, const uint16_t *values, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		wire_put16(p + 2 * i, values[i]);
}

#endif
