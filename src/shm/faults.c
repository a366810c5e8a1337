// SPDX-License-Identifier: BSD-2-Clause
/*
 * T8  `faults` odd, release fence, a rule, `faults` even or 0 with release | even with
 *     acquire, the rules, acquire fence, the same number
 */
#include "shm/faults.h"

#include <string.h>

static void words_read(const struct shm_fault_words *from, struct shm_fault *to)
{
	uint64_t words[SHM_FAULT_WORDS];

	for (unsigned int i = 0; i < SHM_FAULT_WORDS; i++)
		words[i] = atomic_load_explicit(&from->words[i], memory_order_relaxed);
	memcpy(to, words, sizeof(words));
}

static void words_write(struct shm_fault_words *to, const struct shm_fault *from)
{
	uint64_t words[SHM_FAULT_WORDS] = { 0 };

	if (from)
		memcpy(words, from, sizeof(words));
	for (unsigned int i = 0; i < SHM_FAULT_WORDS; i++)
		atomic_store_explicit(&to->words[i], words[i], memory_order_relaxed);
}

bool shm_faults_read(const struct shm_tables *t, struct shm_fault rules[SHM_FAULTS_MAX],
		     uint32_t *ret_generation)
{
	uint32_t generation = atomic_load_explicit(&t->h.faults, memory_order_acquire);

	if (generation & 1)
		return false;
	for (unsigned int i = 0; i < SHM_FAULTS_MAX; i++)
		words_read(&t->faults[i], &rules[i]);
	atomic_thread_fence(memory_order_acquire); /* T8 */
	*ret_generation = generation;
	return atomic_load_explicit(&t->h.faults, memory_order_relaxed) == generation;
}

static bool any(const struct shm_tables *t)
{
	struct shm_fault f;

	for (unsigned int i = 0; i < SHM_FAULTS_MAX; i++) {
		words_read(&t->faults[i], &f);
		if (f.id)
			return true;
	}
	return false;
}

void shm_fault_write(struct shm_tables *t, uint32_t place, const struct shm_fault *fault)
{
	uint32_t next = t->h.faults_last + 2;

	if (!next) /* 0 is for none */
		next = 2;
	t->h.faults_last = next;
	atomic_store_explicit(&t->h.faults, next - 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release); /* T8 */
	words_write(&t->faults[place], fault);
	atomic_store_explicit(&t->h.faults, any(t) ? next : 0, memory_order_release);
}
