/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness/message.h"

static uint8_t pattern_byte(size_t at)
{
	return (uint8_t)(at * 31 + (at >> 8) + 7);
}

void message_prepare(void *message, size_t size)
{
	uint8_t *bytes = message;

	for (size_t i = 0; i < size; i++)
		bytes[i] = pattern_byte(i);
}

static bool pattern_intact(const uint8_t *bytes, size_t size)
{
	for (size_t i = 8; i < size - 8; i++)
		if (bytes[i] != pattern_byte(i))
			return false;
	return true;
}

void inbox_begin(struct inbox *in, size_t size, uint64_t base, bool thorough)
{
	memset(in, 0, sizeof(*in));
	in->size = size;
	in->base = base;
	in->thorough = thorough;
	for (unsigned int i = 0; i < WORKERS_MAX; i++)
		in->expect[i] = base;
}

void inbox_take_odd(struct inbox *in, const void *message, size_t size)
{
	uint64_t word, tail, number;
	unsigned int worker;

	if (size != in->size) {
		in->wrong++;
		return;
	}
	memcpy(&word, message, 8);
	memcpy(&tail, (const char *)message + size - 8, 8);
	worker = (unsigned int)(word >> 56);
	number = word & (UINT64_MAX >> 8);
	if (tail != ~word || worker >= WORKERS_MAX || !pattern_intact(message, size)) {
		in->wrong++;
		return;
	}
	/* A straggler of an earlier repetition: that one has counted it as lost. */
	if (number < in->base)
		return;
	if (number < in->expect[worker]) {
		in->wrong++;
		return;
	}
	in->lost += number - in->expect[worker];
	in->expect[worker] = number + 1;
	in->received++;
}
