/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `verbcast fault` has verbcastd break on the data path: rules in the tables of the
 * site, which every engine carries out for the queue pairs that it runs.
 *
 * `tables->h.faults` is 0 while there is no rule, so that one look at it is all that a post
 * or a turn pays. Else it is even, and another number after every change; odd, while a rule
 * changes. A rule's place is used again, its id is not.
 */
#ifndef SHM_FAULTS_H
#define SHM_FAULTS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/tables.h"

enum shm_fault_kind {
	SHM_FAULT_DROP = 1,
	SHM_FAULT_DUP,
	SHM_FAULT_DELAY,
	SHM_FAULT_REORDER,
	SHM_FAULT_CORRUPT,
	SHM_FAULT_COMPLETION, /* the completion comes late, and all behind it */
};

enum shm_fault_direction {
	SHM_FAULT_SEND = 1, /* at the queue pair that sends: for all receivers */
	SHM_FAULT_RECEIVE,  /* at each queue pair that receives, for itself */
};

enum shm_fault_match {
	SHM_FAULT_MATCH_QP = 1u << 0,
	SHM_FAULT_MATCH_OPCODE = 1u << 1,
	SHM_FAULT_MATCH_PSN = 1u << 2,
};

#define SHM_FAULT_MS_MAX     60000u
#define SHM_FAULT_PLACES_MAX 1000u

struct shm_fault {
	uint32_t id;            /* 0: there is none in this place */
	uint32_t kind;          /* enum shm_fault_kind */
	uint32_t direction;     /* enum shm_fault_direction */
	uint32_t match;         /* enum shm_fault_match: which of the three below count */
	uint32_t qpn;           /* of the queue pair that sends, or receives */
	uint32_t opcode;        /* of the base transport header */
	uint32_t psn, psn_last; /* from the first to the last, modulo 2^24 */
	uint32_t node;          /* SHM_NONE: any */
	uint32_t device;        /* SHM_NONE: any */
	uint32_t link_layer;    /* enum shm_link_layer; 0: any */
	uint32_t rate;          /* millionths of those that match; 0: by count */
	uint64_t first, last;   /* by count: from the first to the last of them, from 1 */
	uint64_t seed;
	uint32_t by; /* DELAY, COMPLETION: milliseconds. REORDER: how many overtake it */
	uint32_t reserved[13];
};
static_assert(sizeof(struct shm_fault) == 8 * SHM_FAULT_WORDS, "shm layout");

/* Any process. All rules as they are, in their places, and the word that they are of. False:
 * they were changing just now; look again some time. */
bool shm_faults_read(const struct shm_tables *t, struct shm_fault rules[SHM_FAULTS_MAX],
		     uint32_t *ret_generation);

/* verbcastd. `fault` is the rule in that place from now on; null: there is none. */
void shm_fault_write(struct shm_tables *t, uint32_t place, const struct shm_fault *fault);

#endif
