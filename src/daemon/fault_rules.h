/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faults that the site's processes are to make on the data path (shm/faults.h): the
 * rules as `verbcast fault` gave them, and what the processes say of them. The engines carry
 * them out; nothing of a rule outlives its site, its node or its device.
 */
#ifndef DAEMON_FAULT_RULES_H
#define DAEMON_FAULT_RULES_H

#include "base/list.h"
#include "shm/counters.h"
#include "shm/faults.h"

struct cJSON;
struct site;

/* How often a rule matched, was applied, and could not be. */
struct fault_numbers {
	uint64_t matched, applied, skipped;
};

/* Of a site; from fault add to fault clear, or until its device goes. */
struct fault_rule {
	struct list link; /* in fault_rules.rules, oldest first */
	struct shm_fault fault;
	uint32_t place;             /* in the tables */
	char node[64], device[64];  /* as they were named; "": all */
	struct fault_numbers ended; /* of processes that have gone */
};

struct fault_rules {
	struct list rules;
	uint32_t count;
	uint32_t latest_id; /* never used again */
};

void fault_rules_init(struct fault_rules *f);
void fault_rules_fini(struct fault_rules *f);

/* A rule of that kind of fault: `id` and place are given to it. -ENOSPC, -ENOMEM. */
int fault_rules_add(struct site *s, const struct fault_rule *rule, uint32_t *ret_id);
/* 0: all of them. -ENOENT: no such rule. */
int fault_rules_clear(struct site *s, uint32_t id);
/* Those whose device is not in the list any more go with it. */
void fault_rules_devices_changed(struct site *s);
/* Keep what its counters say, which go with it. */
void fault_rules_process_ended(struct fault_rules *f,
			       const struct shm_counters *counters);

/* Of all processes, those that have gone included. */
struct fault_numbers fault_rules_numbers(const struct site *s,
					 const struct fault_rule *rule);
/* The rules, with their numbers. */
struct cJSON *fault_rules_json(const struct site *s);

#endif
