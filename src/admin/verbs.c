/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "admin/admin_priv.h"

#define OPERANDS_MAX 8

struct admin_request admin_parsed;

const struct admin_verb admin_verbs[] = {
	{ "nodes", NULL, "", "Name the nodes", admin_no_options, ADMIN_NODES,
	  admin_operands_none },
	{ "fabric", "up",
	  "[--nodes N | --ring S[:H] | --fat-tree K | --topology FILE] "
	  "[--partitions FILE] [--lmc N] [--no-sm]",
	  "Start a site with this fabric, and keep it until verbcast stop",
	  admin_up_options, ADMIN_FABRIC_UP, admin_operands_none },
	{ "fabric", "show", "[--json | --graphviz] [--group GROUP]",
	  "Show nodes, ports, links, and the subnet manager", admin_show_options,
	  ADMIN_FABRIC_SHOW, admin_operands_show },
	{ "fabric", "sm", "[--priority N] [--lmc N] stop|start [NODE]",
	  "Kill a subnet manager, or start one", admin_sm_options, ADMIN_FABRIC_SM,
	  admin_operands_sm },
	{ "fabric", "link", "down|up NODE PORT", "Pull a cable out, or put it in again",
	  admin_no_options, ADMIN_FABRIC_LINK, admin_operands_link },
	{ "fabric", "node", "power off|on NODE",
	  "Switch an adapter or a switch off or on", admin_no_options, ADMIN_FABRIC_NODE,
	  admin_operands_node },
	{ "fabric", "loss", "PERCENT", "Let each link lose so many management datagrams",
	  admin_no_options, ADMIN_FABRIC_LOSS, admin_operands_loss },
	{ "sa", "drop", "[--count N] [--rate PERCENT] [--attribute NAME]",
	  "Let requests to the SA vanish", admin_fault_options, ADMIN_SA_DROP,
	  admin_operands_none },
	{ "sa", "delay", "--delay MS [--count N] [--rate PERCENT] [--attribute NAME]",
	  "Let the SA's answers come late", admin_delay_options, ADMIN_SA_DELAY,
	  admin_operands_delay },
	{ "sa", "busy", "[--count N] [--rate PERCENT] [--attribute NAME]",
	  "Let the SA answer that it is busy", admin_fault_options, ADMIN_SA_BUSY,
	  admin_operands_none },
	{ "sa", "error",
	  "[--status NUMBER] [--count N] [--rate PERCENT] [--attribute NAME]",
	  "Let the SA refuse", admin_error_options, ADMIN_SA_ERROR,
	  admin_operands_error },
	{ "sa", "clear", "", "Let the SA answer as it should", admin_no_options,
	  ADMIN_SA_CLEAR, admin_operands_none },
	{ "group", "list", "[--node NAME] [--json]",
	  "List the multicast groups of the fabric and their members", admin_list_options,
	  ADMIN_GROUP_LIST, admin_operands_none },
	{ "group", "create", "[--node NAME] [OPTION...] [MGID]",
	  "Create a group, as its first member; without MGID the SA gives one",
	  admin_join_options, ADMIN_GROUP_CREATE, admin_operands_create },
	{ "group", "join", "[--node NAME] [OPTION...] MGID",
	  "Make a node a member of a group, until verbcast group leave",
	  admin_join_options, ADMIN_GROUP_JOIN, admin_operands_group },
	{ "group", "leave", "[--node NAME] MGID", "Give back what join or create took",
	  admin_leave_options, ADMIN_GROUP_LEAVE, admin_operands_group },
	{ "module", "load", "FILE [NAME=VALUE...]",
	  "Run a consumer of the kernel's RDMA API inside verbcastd", admin_no_options,
	  ADMIN_MODULE_LOAD, admin_operands_load },
	{ "module", "unload", "NAME", "End what module load began", admin_no_options,
	  ADMIN_MODULE_UNLOAD, admin_operands_unload },
	{ "module", "list", "", "Name what is loaded", admin_no_options,
	  ADMIN_MODULE_LIST, admin_operands_none },
	{ "fault", "add",
	  "[--node NAME] [--device NAME] [--direction send|receive] [--match LIST] "
	  "--drop|--dup|--delay|--reorder|--corrupt|--delay-completion WHICH [--by N] "
	  "[--seed N]",
	  "Let datagrams or completions suffer, until fault clear, and print the rule's "
	  "number; WHICH is 3, 3-5 or 0.5%",
	  admin_rule_options, ADMIN_FAULT_ADD, admin_operands_rule },
	{ "fault", "list", "[--json]", "List the rules, and how often they struck",
	  admin_json_options, ADMIN_FAULT_LIST, admin_operands_none },
	{ "fault", "clear", "[RULE]", "Take back that rule, or all of them",
	  admin_no_options, ADMIN_FAULT_CLEAR, admin_operands_rule_id },
	{ .noun = NULL },
};

const struct admin_verb *admin_find_verb(const char *noun, const char *verb)
{
	for (const struct admin_verb *v = admin_verbs; v->noun; v++)
		if (!strcmp(v->noun, noun) &&
		    (v->verb ? verb && !strcmp(v->verb, verb) : true))
			return v;
	return NULL;
}

/* Options may stand before, between and behind the operands. */
static int parse_words(const struct admin_verb *v, int argc, char **argv, char *error)
{
	char *words[OPERANDS_MAX];
	int count = 0, at = 0;

	while (at < argc) {
		int r = options_parse(v->options, argc - at, argv + at, error);

		if (r < 0)
			return r;
		at += r;
		if (at == argc)
			break;
		if (count == OPERANDS_MAX)
			return admin_wrong(error, "'%.80s' is one word too many",
					   argv[at]);
		if (!*argv[at])
			return admin_wrong(error, "a word is empty");
		words[count++] = argv[at];
	}
	return v->operands(&admin_parsed, count, words, error);
}

int admin_parse(int argc, char **argv, struct admin_request *ret,
		char error[OPTIONS_ERROR_MAX])
{
	const struct admin_verb *v =
		argc ? admin_find_verb(argv[0], argc > 1 ? argv[1] : NULL) : NULL;
	int skip, r;

	if (!v && argc > 1)
		return admin_wrong(error, "%.80s has no '%.80s'", argv[0], argv[1]);
	if (!v)
		return admin_wrong(error, "what about it?");
	skip = v->verb ? 1 : 0;
	admin_parsed =
		(struct admin_request){ .command = v->command, .lmc = ADMIN_LMC_DEFAULT };
	r = parse_words(v, argc - skip, argv + skip, error);
	if (!r)
		*ret = admin_parsed;
	return r;
}
