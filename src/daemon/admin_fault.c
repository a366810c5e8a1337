/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbcast fault: rules for the data path. The words become a rule of the tables; names of
 * nodes and devices become numbers, which go when those go.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/admin_priv.h"
#include "daemon/fault_rules.h"

#define SEED_MAX 1000000u /* of those that we choose: for people to write down */

/* The kinds have the same numbers on both sides. */
static_assert((int)ADMIN_FAULT_DROP == SHM_FAULT_DROP &&
		      (int)ADMIN_FAULT_DUP == SHM_FAULT_DUP &&
		      (int)ADMIN_FAULT_DELAY == SHM_FAULT_DELAY &&
		      (int)ADMIN_FAULT_REORDER == SHM_FAULT_REORDER &&
		      (int)ADMIN_FAULT_CORRUPT == SHM_FAULT_CORRUPT &&
		      (int)ADMIN_FAULT_COMPLETION == SHM_FAULT_COMPLETION,
	      "kinds of faults");
static_assert((int)ADMIN_FAULT_MATCH_QP == SHM_FAULT_MATCH_QP &&
		      (int)ADMIN_FAULT_MATCH_OPCODE == SHM_FAULT_MATCH_OPCODE &&
		      (int)ADMIN_FAULT_MATCH_PSN == SHM_FAULT_MATCH_PSN,
	      "what is matched");
static_assert(ADMIN_FAULT_MS_MAX == SHM_FAULT_MS_MAX &&
		      ADMIN_FAULT_PLACES_MAX == SHM_FAULT_PLACES_MAX,
	      "how late");

/* -- add ------------------------------------------------------------------------------ */

static struct ib_device *find_device(const struct node *node, const char *name)
{
	struct ib_device *device;

	for (uint32_t i = 0; (device = ib_node_device(node->ib, i)); i++)
		if (!strcmp(ib_device_name(device), name))
			return device;
	return NULL;
}

/* The only one of that name; null: there is none, or (*ret_count) more. */
static struct ib_device *search(const struct site *s, const struct node *only,
				const char *name, unsigned int *ret_count)
{
	struct ib_device *device, *found = NULL;
	struct node *node;

	*ret_count = 0;
	for (unsigned int n = 0; (node = nodes_nth(s->nodes, n)); n++) {
		device = !only || node == only ? find_device(node, name) : NULL;
		if (!device)
			continue;
		found = device;
		++*ret_count;
	}
	return *ret_count == 1 ? found : NULL;
}

/* Several of a name are the nodes' vib0: they are what is InfiniBand. */
static bool set_device(struct site *s, struct uapi_admin_call *call,
		       const struct node *only, const char *name, struct fault_rule *rule)
{
	struct ib_device_info info;
	unsigned int count;
	struct ib_device *device = search(s, only, name, &count);

	if (!count) {
		admin_refuse(call, "%s %s has no device '%.80s'", only ? "node" : "site",
			     only ? ib_node_name(only->ib) : s->paths->name, name);
		return false;
	}
	snprintf(rule->device, sizeof(rule->device), "%s", name);
	if (!device) {
		rule->fault.link_layer = SHM_LINK_INFINIBAND;
		return true;
	}
	ib_describe_device(device, &info);
	rule->fault.device = info.site_device;
	return true;
}

/* False: refused. */
static bool set_place(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r, struct fault_rule *rule)
{
	struct node *node = NULL;

	rule->fault.node = rule->fault.device = SHM_NONE;
	if (r->node) {
		node = admin_find_node(s, call, r->node);
		if (!node)
			return false;
		rule->fault.node = ib_node_index(node->ib);
		snprintf(rule->node, sizeof(rule->node), "%s", ib_node_name(node->ib));
	}
	return !r->fault.device || set_device(s, call, node, r->fault.device, rule);
}

static void set_rule(struct site *s, const struct admin_fault *from, struct shm_fault *to)
{
	to->kind = from->kind;
	to->direction = from->send ? SHM_FAULT_SEND : SHM_FAULT_RECEIVE;
	to->match = from->match;
	to->qpn = from->qpn;
	to->opcode = from->opcode;
	to->psn = from->psn;
	to->psn_last = from->psn_last;
	to->rate = from->rate;
	to->first = from->first;
	to->last = from->last;
	to->by = from->by;
	to->seed = from->seeded ? from->seed : random_below(&s->random, SEED_MAX);
}

void admin_fault_add(struct site *s, struct uapi_admin_call *call,
		     const struct admin_request *r)
{
	struct fault_rule rule = { .place = 0 };
	struct admin_text t;
	uint32_t id;
	int error;

	if (!set_place(s, call, r, &rule))
		return;
	set_rule(s, &r->fault, &rule.fault);
	error = fault_rules_add(s, &rule, &id);
	if (error == -ENOSPC) {
		admin_refuse(call,
			     "there are %u rules, which is all there may be: "
			     "verbcast fault clear some first",
			     SHM_FAULTS_MAX);
	} else if (error < 0) {
		admin_refuse(call, "the rule: %s", strerror(-error));
	} else if (admin_text_begin(&t, call)) {
		fprintf(t.out, "%u\n", id);
		admin_text_answer(&t, call);
	}
}

/* -- clear ----------------------------------------------------------------------------- */

void admin_fault_clear(struct site *s, struct uapi_admin_call *call,
		       const struct admin_request *r)
{
	if (fault_rules_clear(s, r->fault.id) < 0)
		admin_refuse(call, "there is no rule %u (verbcast fault list)",
			     r->fault.id);
	else
		admin_done(call);
}

/* -- list ------------------------------------------------------------------------------ */

static void print_when(const struct shm_fault *f, FILE *out)
{
	if (f->rate)
		fprintf(out, " %g%%", f->rate / 10000.0);
	else if (f->first == f->last)
		fprintf(out, " %" PRIu64, f->first);
	else
		fprintf(out, " %" PRIu64 "-%" PRIu64, f->first, f->last);
	if (f->kind == SHM_FAULT_REORDER)
		fprintf(out, " by %u places", f->by);
	else if (f->by)
		fprintf(out, " by %u ms", f->by);
}

static void print_match(const struct shm_fault *f, FILE *out)
{
	if (f->match & SHM_FAULT_MATCH_QP)
		fprintf(out, " qp=0x%06x", f->qpn);
	if (f->match & SHM_FAULT_MATCH_OPCODE) {
		const char *name = admin_opcode_name(f->opcode);

		if (name)
			fprintf(out, " opcode=%s", name);
		else
			fprintf(out, " opcode=0x%02x", f->opcode);
	}
	if (f->match & SHM_FAULT_MATCH_PSN)
		fprintf(out, " psn=%u-%u", f->psn, f->psn_last);
}

static void print_rule(const struct site *s, const struct fault_rule *rule, FILE *out)
{
	const struct shm_fault *f = &rule->fault;
	struct fault_numbers n = fault_rules_numbers(s, rule);

	fprintf(out, "%u: %s", f->id, admin_fault_name((enum admin_fault_kind)f->kind));
	print_when(f, out);
	fprintf(out, ", %s", f->direction == SHM_FAULT_SEND ? "send" : "receive");
	if (*rule->node)
		fprintf(out, ", node %s", rule->node);
	if (*rule->device)
		fprintf(out, ", device %s", rule->device);
	if (f->match)
		fprintf(out, ", match");
	print_match(f, out);
	fprintf(out,
		", seed %" PRIu64 "\n  matched %" PRIu64 ", applied %" PRIu64
		", skipped %" PRIu64 "\n",
		f->seed, n.matched, n.applied, n.skipped);
}

void admin_fault_list(struct site *s, struct uapi_admin_call *call,
		      const struct admin_request *r)
{
	struct admin_text t;

	if (r->json) {
		admin_json_answer(call, fault_rules_json(s));
		return;
	}
	if (!admin_text_begin(&t, call))
		return;
	list_for_each(pos, &s->faults.rules)
		print_rule(s, container_of(pos, struct fault_rule, link), t.out);
	admin_text_answer(&t, call);
}
