/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A format on the wire as data: which bits of the bytes are which member of a struct. One
 * table serves both directions, so that they cannot disagree. Used by the codecs of
 * management datagrams, whose fields are of any width and rarely aligned.
 *
 * Numbers are big-endian on the wire and host order in the struct, where a member of 1, 2,
 * 4 or 8 bytes holds them; what has more than 64 bits is bytes and is copied.
 */
#ifndef WIRE_FIELDS_H
#define WIRE_FIELDS_H

#include <stddef.h>
#include <stdint.h>

struct wire_field {
	uint16_t member, size; /* of the struct, in bytes */
	uint16_t bit, bits;    /* of the wire; bit 0 is the highest of byte 0 */
};

/* `bits` bits of the wire from `skip` bits below the top of byte `byte`. */
#define WIRE_BITS(type, name, byte, skip, bits_)                           \
	{                                                                  \
		offsetof(type, name), sizeof(((type *)0)->name),           \
			(uint16_t)(8 * (byte) + (skip)), (uint16_t)(bits_) \
	}
/* As many bytes as the member has. */
#define WIRE_BYTES(type, name, byte) \
	WIRE_BITS(type, name, byte, 0, 8 * sizeof(((type *)0)->name))

/* Bytes `from` up to `to` of the wire belong to the format. */
struct wire_format {
	uint16_t from, to;
	uint16_t count;
	const struct wire_field *fields;
};

#define WIRE_FORMAT(from, to, fields)                                                    \
	{                                                                                \
		(from), (to), (uint16_t)(sizeof(fields) / sizeof((fields)[0])), (fields) \
	}

/* Every member the table names is set, none else. */
void wire_get(const struct wire_format *format, const uint8_t *wire, void *ret);
/* What the table does not name is zero between `from` and `to`; what does not fit into its
 * bits loses the upper ones. */
void wire_put(const struct wire_format *format, uint8_t *wire, const void *value);

#endif
