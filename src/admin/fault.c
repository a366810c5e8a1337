/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "admin/admin_priv.h"

#define NTH_MAX UINT64_MAX
#define QPN_MAX 0xffffffu
#define PSN_MAX 0xffffffu

static const struct admin_name kinds[] = {
	{ ADMIN_FAULT_DROP, "drop" },
	{ ADMIN_FAULT_DUP, "dup" },
	{ ADMIN_FAULT_DELAY, "delay" },
	{ ADMIN_FAULT_REORDER, "reorder" },
	{ ADMIN_FAULT_CORRUPT, "corrupt" },
	{ ADMIN_FAULT_COMPLETION, "delay-completion" },
	{ 0, NULL },
};

/* Of the base transport header. */
static const struct admin_name opcodes[] = {
	{ 0x64, "ud-send-only" },
	{ 0x65, "ud-send-only-imm" },
	{ 0, NULL },
};

const char *admin_fault_name(enum admin_fault_kind kind)
{
	const char *name = admin_name_of(kinds, kind);

	return name ? name : "?";
}

const char *admin_opcode_name(unsigned int opcode)
{
	return admin_name_of(opcodes, opcode);
}

/* "7", or "7-12", each up to `max`. */
static int take_range(const char *text, uint64_t max, uint64_t *ret_first,
		      uint64_t *ret_last)
{
	const char *dash = strchr(text, '-');
	char first[32];

	if (!dash) {
		if (admin_number(text, max, ret_first) < 0)
			return -EINVAL;
		*ret_last = *ret_first;
		return 0;
	}
	if (dash - text >= (ptrdiff_t)sizeof(first))
		return -EINVAL;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	if (admin_number(first, max, ret_first) < 0)
		return -EINVAL;
	return admin_number(dash + 1, max, ret_last);
}

/* -- what is to happen, and when ------------------------------------------------------ */

static int take_when(const char *name, const char *value, char *error)
{
	struct admin_fault *f = &admin_parsed.fault;

	if (strchr(value, '%')) {
		if (admin_percentage(value, &f->rate) < 0)
			return admin_wrong(
				error,
				"--%s: '%.80s' is not a percentage above 0%% and "
				"up to 100%%",
				name, value);
		return 0;
	}
	if (take_range(value, NTH_MAX, &f->first, &f->last) < 0 || !f->first ||
	    f->last < f->first)
		return admin_wrong(
			error,
			"--%s: '%.80s' is not which one (3), which ones (3-5), "
			"or how many (0.5%%)",
			name, value);
	return 0;
}

static int set_kind(enum admin_fault_kind kind, const char *value, char *error)
{
	struct admin_fault *f = &admin_parsed.fault;

	if (f->kind)
		return admin_wrong(error, "--%s and --%s: a rule has one of them",
				   admin_fault_name(f->kind), admin_fault_name(kind));
	f->kind = kind;
	return take_when(admin_fault_name(kind), value, error);
}

#define KIND_OPTION(name, kind)                               \
	static int set_##name(const char *value, char *error) \
	{                                                     \
		return set_kind(kind, value, error);          \
	}

KIND_OPTION(drop, ADMIN_FAULT_DROP)
KIND_OPTION(dup, ADMIN_FAULT_DUP)
KIND_OPTION(delay, ADMIN_FAULT_DELAY)
KIND_OPTION(reorder, ADMIN_FAULT_REORDER)
KIND_OPTION(corrupt, ADMIN_FAULT_CORRUPT)
KIND_OPTION(completion, ADMIN_FAULT_COMPLETION)

static int set_by(const char *value, char *error)
{
	uint64_t by;

	if (admin_option("by", value, ADMIN_FAULT_MS_MAX, &by, error) < 0)
		return -EINVAL;
	admin_parsed.fault.by = (unsigned int)by;
	return by ? 0 : admin_wrong(error, "--by: 0 is nothing");
}

static int set_seed(const char *value, char *error)
{
	admin_parsed.fault.seeded = true;
	return admin_option("seed", value, UINT64_MAX, &admin_parsed.fault.seed, error);
}

/* -- whom it is about ----------------------------------------------------------------- */

static int set_direction(const char *value, char *error)
{
	admin_parsed.fault.send = !strcmp(value, "send");
	if (admin_parsed.fault.send || !strcmp(value, "receive"))
		return 0;
	return admin_wrong(error, "--direction: '%.80s' is not send or receive", value);
}

static int match_qp(const char *value, char *error)
{
	uint64_t qpn;

	if (admin_number(value, QPN_MAX, &qpn) < 0)
		return admin_wrong(error, "--match: '%.80s' is no queue pair number",
				   value);
	admin_parsed.fault.qpn = (uint32_t)qpn;
	return 0;
}

static int match_opcode(const char *value, char *error)
{
	uint64_t opcode = admin_value_of(opcodes, value);

	if (!opcode && admin_number(value, UINT8_MAX, &opcode) < 0)
		return admin_wrong(error,
				   "--match: '%.80s' is no opcode, such as ud-send-only, "
				   "ud-send-only-imm or 0x64",
				   value);
	admin_parsed.fault.opcode = (uint32_t)opcode;
	return 0;
}

/* They wrap, so the last may be below the first. */
static int match_psn(const char *value, char *error)
{
	uint64_t first, last;

	if (take_range(value, PSN_MAX, &first, &last) < 0)
		return admin_wrong(
			error, "--match: '%.80s' is no PSN and no range of them", value);
	admin_parsed.fault.psn = (uint32_t)first;
	admin_parsed.fault.psn_last = (uint32_t)last;
	return 0;
}

static const struct {
	const char *name;
	unsigned int bit;
	int (*take)(const char *value, char *error);
} matches[] = {
	{ "qp", ADMIN_FAULT_MATCH_QP, match_qp },
	{ "opcode", ADMIN_FAULT_MATCH_OPCODE, match_opcode },
	{ "psn", ADMIN_FAULT_MATCH_PSN, match_psn },
};

static int match_one(const char *name, const char *value, char *error)
{
	for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++) {
		if (strcmp(matches[i].name, name) != 0)
			continue;
		if (admin_parsed.fault.match & matches[i].bit)
			return admin_wrong(error, "--match: %s is there twice", name);
		admin_parsed.fault.match |= matches[i].bit;
		return matches[i].take(value, error);
	}
	return admin_wrong(error, "--match: '%.80s' is not qp, opcode or psn", name);
}

/* "qp=0x11,psn=5-7" */
static int set_match(const char *value, char *error)
{
	char text[128], *rest = text;
	size_t length = strlen(value);

	if (!length || length >= sizeof(text))
		return admin_wrong(error, "--match: it is qp=N,opcode=NAME,psn=N-M, or "
					  "some of these");
	memcpy(text, value, length + 1);
	while (rest) {
		char *word = strsep(&rest, ","), *is = strchr(word, '=');

		if (!is)
			return admin_wrong(error, "--match: '%.80s' lacks its value",
					   word);
		*is = '\0';
		if (match_one(word, is + 1, error) < 0)
			return -EINVAL;
	}
	return 0;
}

/* -- the commands ---------------------------------------------------------------------- */

const struct option_spec admin_rule_options[] = {
	{ "node", OPTION_STRING, "NAME", "on this node (default: on all)",
	  &admin_parsed.node, NULL },
	{ "device", OPTION_STRING, "NAME", "on this device (default: on all)",
	  &admin_parsed.fault.device, NULL },
	{ "direction", OPTION_CALL, "send|receive",
	  "where it is sent, for all, or where it is received (the default)", NULL,
	  set_direction },
	{ "match", OPTION_CALL, "LIST",
	  "of these alone: qp=N, opcode=NAME, psn=N-M, with commas between", NULL,
	  set_match },
	{ "drop", OPTION_CALL, "WHICH", "is lost", NULL, set_drop },
	{ "dup", OPTION_CALL, "WHICH", "comes twice", NULL, set_dup },
	{ "delay", OPTION_CALL, "WHICH", "comes --by so many milliseconds late", NULL,
	  set_delay },
	{ "reorder", OPTION_CALL, "WHICH", "is overtaken --by so many (default: 1)", NULL,
	  set_reorder },
	{ "corrupt", OPTION_CALL, "WHICH", "has a bit of its payload turned over", NULL,
	  set_corrupt },
	{ "delay-completion", OPTION_CALL, "WHICH",
	  "its completion, and all behind it, come --by so many milliseconds late", NULL,
	  set_completion },
	{ "by", OPTION_CALL, "N", "milliseconds, or places", NULL, set_by },
	{ "seed", OPTION_CALL, "N", "the same seed, the same faults (default: a new one)",
	  NULL, set_seed },
	{ .name = NULL },
};

static int check_by(struct admin_fault *f, char *error)
{
	const char *name = admin_fault_name(f->kind);

	switch (f->kind) {
	case ADMIN_FAULT_DELAY:
	case ADMIN_FAULT_COMPLETION:
		if (!f->by)
			return admin_wrong(error, "--%s: by how much? --by MS", name);
		return 0;
	case ADMIN_FAULT_REORDER:
		if (f->by > ADMIN_FAULT_PLACES_MAX)
			return admin_wrong(error, "--by: not by more than %u places",
					   ADMIN_FAULT_PLACES_MAX);
		f->by = f->by ? f->by : 1;
		return 0;
	default:
		return f->by ? admin_wrong(error, "--%s knows no --by", name) : 0;
	}
}

int admin_operands_rule(struct admin_request *r, int count, char **words, char *error)
{
	struct admin_fault *f = &r->fault;

	if (!f->kind)
		return admin_wrong(error, "what is to happen? --drop, --dup, --delay, "
					  "--reorder, --corrupt or --delay-completion");
	if (check_by(f, error) < 0)
		return -EINVAL;
	if (f->kind == ADMIN_FAULT_COMPLETION && f->match & ADMIN_FAULT_MATCH_PSN)
		return admin_wrong(error, "--match: completions have no psn");
	return admin_operands_none(r, count, words, error);
}

int admin_operands_rule_id(struct admin_request *r, int count, char **words, char *error)
{
	uint64_t id;

	if (!count)
		return 0;
	if (admin_number(words[0], UINT32_MAX, &id) < 0 || !id)
		return admin_wrong(error,
				   "'%.80s' is no rule's number (verbcast fault list)",
				   words[0]);
	r->fault.id = (uint32_t)id;
	return admin_operands_none(r, count - 1, words + 1, error);
}
