/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is sent, and the check of what arrives: the same for every contestant.
 *
 * A message begins with a word (sending worker, sequence number) and ends with its
 * complement; between them lies a fixed pattern, which is compared in the short run only.
 * The inbox expects every sender's numbers without a gap. What is missing is counted as
 * lost; what is damaged, doubled or out of order as wrong, and no run survives that.
 */
#ifndef BENCH_MESSAGE_H
#define BENCH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORKERS_MAX   65u /* one sender, 64 receivers */
#define MESSAGE_BYTES 16u /* the least size: both words */
#define MESSAGE_MTU   4096u

struct inbox {
	uint64_t expect[WORKERS_MAX]; /* next number, by sender */
	uint64_t base;                /* first number of this repetition */
	uint64_t received;
	uint64_t lost;
	uint64_t wrong;
	size_t size;
	bool thorough; /* compare the pattern, too */
};

static inline uint64_t message_word(unsigned int worker, uint64_t number)
{
	return (uint64_t)worker << 56 | number;
}

static inline void message_fill(void *message, size_t size, uint64_t word)
{
	uint64_t tail = ~word;

	memcpy(message, &word, 8);
	memcpy((char *)message + size - 8, &tail, 8);
}

/* Lay the pattern; once a buffer. */
void message_prepare(void *message, size_t size);

void inbox_begin(struct inbox *in, size_t size, uint64_t base, bool thorough);
/* Not the next one, or not whole: find out which. */
void inbox_take_odd(struct inbox *in, const void *message, size_t size);

static inline void inbox_take(struct inbox *in, const void *message, size_t size)
{
	uint64_t word, tail;

	memcpy(&word, message, 8);
	memcpy(&tail, (const char *)message + in->size - 8, 8);
	if (size != in->size || tail != ~word || word >> 56 >= WORKERS_MAX ||
	    (word & (UINT64_MAX >> 8)) != in->expect[word >> 56] || in->thorough) {
		inbox_take_odd(in, message, size);
		return;
	}
	in->expect[word >> 56]++;
	in->received++;
}

#endif
