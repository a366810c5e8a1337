/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters come from memory that the processes write: they are shown, never relied on.
 */
#include "daemon/fault_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "daemon/admin_priv.h"
#include "daemon/json.h"
#include "daemon/site.h"

void fault_rules_init(struct fault_rules *f)
{
	list_init(&f->rules);
}

static void forget(struct fault_rules *f, struct fault_rule *rule)
{
	list_remove(&rule->link);
	f->count--;
	free(rule);
}

void fault_rules_fini(struct fault_rules *f)
{
	list_for_each_safe(pos, &f->rules)
		forget(f, container_of(pos, struct fault_rule, link));
}

static bool is_taken(const struct fault_rules *f, uint32_t place)
{
	list_for_each(pos, &f->rules)
		if (container_of(pos, struct fault_rule, link)->place == place)
			return true;
	return false;
}

int fault_rules_add(struct site *s, const struct fault_rule *rule, uint32_t *ret_id)
{
	struct fault_rules *f = &s->faults;
	struct fault_rule *added;

	if (f->count == SHM_FAULTS_MAX)
		return -ENOSPC;
	added = malloc(sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = *rule;
	added->place = 0;
	while (is_taken(f, added->place))
		added->place++;
	added->fault.id = ++f->latest_id;
	list_append(&f->rules, &added->link);
	f->count++;
	shm_fault_write(s->tables, added->place, &added->fault);
	*ret_id = added->fault.id;
	return 0;
}

static void take_back(struct site *s, struct fault_rule *rule)
{
	shm_fault_write(s->tables, rule->place, NULL);
	forget(&s->faults, rule);
}

int fault_rules_clear(struct site *s, uint32_t id)
{
	int r = id ? -ENOENT : 0;

	list_for_each_safe(pos, &s->faults.rules) {
		struct fault_rule *rule = container_of(pos, struct fault_rule, link);

		if (id && rule->fault.id != id)
			continue;
		take_back(s, rule);
		r = 0;
	}
	return r;
}

/* -- devices that go ------------------------------------------------------------------ */

static bool has_device(struct ib_node *node, uint32_t site_device)
{
	struct ib_device_info info;
	struct ib_device *device;

	for (uint32_t i = 0; (device = ib_node_device(node, i)); i++) {
		ib_describe_device(device, &info);
		if (info.site_device == site_device)
			return true;
	}
	return false;
}

static bool is_there(const struct site *s, uint32_t site_device)
{
	struct node *node;

	for (unsigned int n = 0; (node = nodes_nth(s->nodes, n)); n++)
		if (has_device(node->ib, site_device))
			return true;
	return false;
}

void fault_rules_devices_changed(struct site *s)
{
	list_for_each_safe(pos, &s->faults.rules) {
		struct fault_rule *rule = container_of(pos, struct fault_rule, link);

		if (rule->fault.device == SHM_NONE || is_there(s, rule->fault.device))
			continue;
		log_info("rule %u of the faults goes with %s", rule->fault.id,
			 rule->device);
		take_back(s, rule);
	}
}

/* -- what they did -------------------------------------------------------------------- */

static void add_up(struct fault_numbers *to, const struct shm_fault_counters *c,
		   uint32_t id)
{
	if (atomic_load_explicit(&c->rule, memory_order_acquire) != id)
		return;
	to->matched += shm_count(&c->matched);
	to->applied += shm_count(&c->applied);
	to->skipped += shm_count(&c->skipped);
}

void fault_rules_process_ended(struct fault_rules *f, const struct shm_counters *counters)
{
	list_for_each(pos, &f->rules) {
		struct fault_rule *rule = container_of(pos, struct fault_rule, link);

		add_up(&rule->ended, &counters->faults[rule->place], rule->fault.id);
	}
}

struct fault_numbers fault_rules_numbers(const struct site *s,
					 const struct fault_rule *rule)
{
	struct fault_numbers n = rule->ended;
	struct slot_view p;

	for (uint32_t slot = 0; slot < SHM_SLOTS_MAX; slot++)
		if (slots_view(s->slots, slot, &p))
			add_up(&n, &p.counters->faults[rule->place], rule->fault.id);
	return n;
}

/* -- JSON ------------------------------------------------------------------------------ */

static void add_when(cJSON *o, const struct shm_fault *f)
{
	if (f->rate) {
		cJSON_AddNumberToObject(o, "percent", f->rate / 10000.0);
		return;
	}
	json_add_count(o, "first", f->first);
	json_add_count(o, "last", f->last);
}

static void add_match(cJSON *o, const struct shm_fault *f)
{
	if (f->match & SHM_FAULT_MATCH_QP)
		cJSON_AddNumberToObject(o, "qpn", f->qpn);
	if (f->match & SHM_FAULT_MATCH_OPCODE)
		cJSON_AddNumberToObject(o, "opcode", f->opcode);
	if (f->match & SHM_FAULT_MATCH_PSN) {
		cJSON_AddNumberToObject(o, "psn", f->psn);
		cJSON_AddNumberToObject(o, "psn_last", f->psn_last);
	}
}

static cJSON *rule_json(const struct site *s, const struct fault_rule *rule)
{
	const struct shm_fault *f = &rule->fault;
	struct fault_numbers n = fault_rules_numbers(s, rule);
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "rule", f->id);
	cJSON_AddStringToObject(o, "fault",
				admin_fault_name((enum admin_fault_kind)f->kind));
	add_when(o, f);
	if (f->by)
		cJSON_AddNumberToObject(o, "by", f->by);
	if (*rule->node)
		cJSON_AddStringToObject(o, "node", rule->node);
	if (*rule->device)
		cJSON_AddStringToObject(o, "device", rule->device);
	cJSON_AddStringToObject(o, "direction",
				f->direction == SHM_FAULT_SEND ? "send" : "receive");
	add_match(o, f);
	json_add_count(o, "seed", f->seed);
	json_add_count(o, "matched", n.matched);
	json_add_count(o, "applied", n.applied);
	json_add_count(o, "skipped", n.skipped);
	return o;
}

struct cJSON *fault_rules_json(const struct site *s)
{
	cJSON *rules = cJSON_CreateArray();

	list_for_each(pos, &s->faults.rules)
		cJSON_AddItemToArray(
			rules, rule_json(s, container_of(pos, struct fault_rule, link)));
	return rules;
}
