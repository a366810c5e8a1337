/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/sm/partitions.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wire/smp.h"

#define WORD_MAX       64u
#define PARTITIONS_MAX 1024u
#define MEMBERS_MAX    65536u /* of one */
#define GROUPS_MAX     4096u

struct parser {
	const char *at, *end;
	unsigned int line;
	char *error;
	size_t room;
	bool failed;
	int code;
	sm_partitions_guid_fn guid_of;
	void *arg;
	struct sm_partition *list; /* with members and groups of its own */
	unsigned int count;
	bool default_full; /* defmember of the one at hand */
};

/* The first cause counts. */
static bool fail(struct parser *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool fail(struct parser *p, const char *format, ...)
{
	int n;
	va_list args;

	if (p->failed)
		return false;
	p->failed = true;
	p->code = -EINVAL;
	n = snprintf(p->error, p->room, "line %u: ", p->line);
	va_start(args, format);
	if (n > 0 && (size_t)n < p->room)
		vsnprintf(p->error + n, p->room - (size_t)n, format, args);
	va_end(args);
	return false;
}

/* Room for one more; null: no memory. */
static void *grow(struct parser *p, const void *array, unsigned int count, size_t bytes)
{
	/* Doubled whenever it is a power of two. */
	void *grown = (void *)(uintptr_t)array;

	if (count & (count - 1))
		return grown;
	grown = realloc(grown, (count ? count * 2u : 1u) * bytes);
	if (!grown && !p->failed) {
		p->failed = true;
		p->code = -ENOMEM;
	}
	return grown;
}

/* -- words ---------------------------------------------------------------------------- */

static void skip(struct parser *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '#') {
			while (p->at < p->end && *p->at != '\n')
				p->at++;
			if (p->at == p->end)
				return;
		}
		if (!strchr(" \t\r\n\f\v", *p->at) || !*p->at)
			return;
		p->line += *p->at == '\n';
	}
}

/* The character that is next, if it is this one. */
static bool take(struct parser *p, char c)
{
	skip(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool read_until(struct parser *p, const char *ends, char word[WORD_MAX])
{
	size_t n = 0;

	skip(p);
	while (p->at < p->end && *p->at && !strchr(ends, *p->at)) {
		if (n == WORD_MAX - 1)
			return fail(p, "'%.20s...' is too long", word);
		word[n++] = *p->at++;
		word[n] = '\0';
	}
	word[n] = '\0';
	return n > 0;
}

static bool read_word(struct parser *p, char word[WORD_MAX])
{
	return read_until(p, " \t\r\n\f\v,:;=#", word);
}

/* MGIDs have colons. */
static bool read_mgid(struct parser *p, char word[WORD_MAX])
{
	return read_until(p, " \t\r\n\f\v,;=#", word);
}

static bool to_number(const char *word, uint64_t least, uint64_t most, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(word, &end, 0);
	return word[0] >= '0' && word[0] <= '9' && !*end && !errno && *ret >= least &&
	       *ret <= most;
}

static bool read_number(struct parser *p, const char *name, uint64_t least, uint64_t most,
			uint64_t *ret)
{
	char word[WORD_MAX];

	if (!take(p, '=') || !read_word(p, word))
		return fail(p, "%s is without a value", name);
	if (to_number(word, least, most, ret))
		return true;
	return fail(p, "%s: '%s' is not a number from %llu to %llu", name, word,
		    (unsigned long long)least, (unsigned long long)most);
}

/* -- flags ----------------------------------------------------------------------------- */

enum flag {
	FLAG_MTU,
	FLAG_RATE,
	FLAG_SL,
	FLAG_SCOPE, /* of partitions alone */
	FLAG_QKEY,  /* of groups alone, from here on */
	FLAG_TCLASS,
	FLAG_FLOW,
};
static const struct {
	const char *name;
	uint64_t least, most;
} flags[] = {
	[FLAG_MTU] = { "mtu", 1, 5 },
	[FLAG_RATE] = { "rate", 2, 22 },
	[FLAG_SL] = { "sl", 0, 15 },
	[FLAG_SCOPE] = { "scope", 1, 14 },
	[FLAG_QKEY] = { "Q_Key", 0, UINT32_MAX },
	[FLAG_TCLASS] = { "TClass", 0, UINT8_MAX },
	[FLAG_FLOW] = { "FlowLabel", 0, 0xfffff },
};
#define FLAGS (sizeof(flags) / sizeof(flags[0]))

/* Its number and its value. */
static bool read_flag(struct parser *p, const char *word, enum flag *ret, uint64_t *value)
{
	for (unsigned int f = 0; f < FLAGS; f++) {
		if (strcasecmp(word, flags[f].name) != 0)
			continue;
		*ret = (enum flag)f;
		if (!read_number(p, flags[f].name, flags[f].least, flags[f].most, value))
			return false;
		if (f == FLAG_RATE && !smp_rate_speed((uint8_t)*value))
			return fail(p, "rate: there is no rate %llu",
				    (unsigned long long)*value);
		return true;
	}
	return fail(p, "no such flag: '%s'", word);
}

static bool is_prefix(const char *word, const char *of)
{
	return *word && strncasecmp(word, of, strlen(word)) == 0;
}

static bool read_membership(struct parser *p, bool *ret_full)
{
	char word[WORD_MAX];

	if (!read_word(p, word))
		return fail(p, "full or limited?");
	*ret_full = is_prefix(word, "full");
	if (*ret_full || is_prefix(word, "limited"))
		return true;
	return fail(p, "'%s' is neither full nor limited", word);
}

static bool read_partition_flag(struct parser *p, struct sm_partition *part)
{
	char word[WORD_MAX];
	enum flag flag;
	uint64_t value;

	if (!read_word(p, word))
		return fail(p, "a flag is missing");
	if (strcasecmp(word, "ipoib") == 0) {
		part->ipoib = true;
		return true;
	}
	if (strcasecmp(word, "defmember") == 0)
		return take(p, '=') ? read_membership(p, &p->default_full)
				    : fail(p, "defmember is without a value");
	if (!read_flag(p, word, &flag, &value))
		return false;
	switch (flag) {
	case FLAG_MTU:
		part->mtu = (uint8_t)value;
		break;
	case FLAG_RATE:
		part->rate = (uint8_t)value;
		break;
	case FLAG_SL:
		part->sl = (uint8_t)value;
		break;
	case FLAG_SCOPE:
		part->scopes |= (uint16_t)(1u << value);
		break;
	default:
		return fail(p, "'%s' is of groups alone", word);
	}
	return true;
}

static bool read_group_flag(struct parser *p, struct sm_partition_group *g)
{
	char word[WORD_MAX];
	enum flag flag;
	uint64_t value;

	if (!read_word(p, word))
		return fail(p, "a flag is missing");
	if (!read_flag(p, word, &flag, &value))
		return false;
	switch (flag) {
	case FLAG_MTU:
		g->mtu = (uint8_t)value;
		break;
	case FLAG_RATE:
		g->rate = (uint8_t)value;
		break;
	case FLAG_SL:
		g->sl = (uint8_t)value;
		break;
	case FLAG_QKEY:
		g->qkey = (uint32_t)value;
		break;
	case FLAG_TCLASS:
		g->tclass = (uint8_t)value;
		break;
	case FLAG_FLOW:
		g->flow_label = (uint32_t)value;
		break;
	default:
		return fail(p, "'%s' is of partitions alone", word);
	}
	return true;
}

/* -- groups ---------------------------------------------------------------------------- */

static bool is_ip(const uint8_t mgid[16])
{
	return (mgid[2] == 0x40 || mgid[2] == 0x60) && mgid[3] == 0x1b;
}

static bool read_group(struct parser *p, struct sm_partition *part)
{
	struct sm_partition_group g = { .mtu = part->mtu,
					.rate = part->rate,
					.sl = part->sl };
	struct sm_partition_group *groups;
	char word[WORD_MAX];

	if (!take(p, '=') || !read_mgid(p, word))
		return fail(p, "mgid is without a value");
	if (inet_pton(AF_INET6, word, g.mgid) != 1 || g.mgid[0] != 0xff)
		return fail(p, "'%s' is no MGID", word);
	if (is_ip(g.mgid) && !part->ipoib)
		return fail(p, "an IP group in a partition without ipoib: %s", word);
	g.qkey = is_ip(g.mgid) ? SM_IPOIB_QKEY : 0;
	while (take(p, ','))
		if (!read_group_flag(p, &g))
			return false;
	if (part->group_count == GROUPS_MAX)
		return fail(p, "more than %u groups", GROUPS_MAX);
	groups = grow(p, part->groups, part->group_count, sizeof(*groups));
	if (!groups)
		return false;
	groups[part->group_count++] = g;
	part->groups = groups;
	return true;
}

/* -- members --------------------------------------------------------------------------- */

static bool name_member(struct parser *p, const char *word, struct sm_partition_member *m)
{
	static const struct {
		const char *name;
		enum sm_member_kind kind;
	} names[] = {
		{ "ALL", SM_MEMBER_PORT },
		{ "ALL_CAS", SM_MEMBER_ADAPTERS },
		{ "ALL_SWITCHES", SM_MEMBER_SWITCHES },
		{ "ALL_ROUTERS", SM_MEMBER_ROUTERS },
		{ "SELF", SM_MEMBER_SELF },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(word, names[i].name) != 0)
			continue;
		m->kind = names[i].kind;
		return true;
	}
	if (to_number(word, 1, UINT64_MAX, &m->port_guid))
		return true;
	m->port_guid = p->guid_of ? p->guid_of(p->arg, word) : 0;
	return m->port_guid || fail(p, "'%s' is neither a port GUID nor a node", word);
}

static bool read_member(struct parser *p, const char *word, struct sm_partition *part)
{
	struct sm_partition_member m = { .full = p->default_full };
	struct sm_partition_member *members;

	if (!name_member(p, word, &m))
		return false;
	if (take(p, '=') && !read_membership(p, &m.full))
		return false;
	if (part->member_count == MEMBERS_MAX)
		return fail(p, "more than %u members", MEMBERS_MAX);
	members = grow(p, part->members, part->member_count, sizeof(*members));
	if (!members)
		return false;
	members[part->member_count++] = m;
	part->members = members;
	return true;
}

/* -- a partition ----------------------------------------------------------------------- */

static bool read_pkey(struct parser *p, struct sm_partition *part)
{
	uint64_t value;

	skip(p);
	if (p->at == p->end || *p->at != '=') {
		if (strcmp(part->name, "Default") != 0)
			return fail(p, "partition %s is without a P_Key", part->name);
		part->pkey = 0x7fff;
		return true;
	}
	if (!read_number(p, "P_Key", 1, 0xffff, &value))
		return false;
	part->pkey = (uint16_t)(value & 0x7fff);
	return part->pkey || fail(p, "0x8000 is no P_Key");
}

/* Groups come first. */
static bool read_contents(struct parser *p, struct sm_partition *part)
{
	char word[WORD_MAX];
	bool more = read_word(p, word);

	while (more && strcmp(word, "mgid") == 0) {
		if (!read_group(p, part))
			return false;
		more = read_word(p, word);
	}
	while (more) {
		if (!read_member(p, word, part))
			return false;
		if (!take(p, ','))
			break;
		more = read_word(p, word);
		if (!more)
			return fail(p, "a member is missing");
	}
	return take(p, ';') || fail(p, "where is the ; of partition %s?", part->name);
}

static bool read_partition(struct parser *p)
{
	struct sm_partition *list = p->count < PARTITIONS_MAX
					    ? grow(p, p->list, p->count, sizeof(*list))
					    : NULL;
	struct sm_partition *part;
	char name[WORD_MAX];

	if (!list)
		return fail(p, "more than %u partitions", PARTITIONS_MAX);
	p->list = list;
	if (!read_word(p, name))
		return fail(p, "a partition begins with its name");
	if (strlen(name) >= sizeof(part->name))
		return fail(p, "the name '%s' is too long", name);
	part = &list[p->count++];
	*part = (struct sm_partition){ .name = "" };
	memcpy(part->name, name, strlen(name) + 1);
	p->default_full = false;
	if (!read_pkey(p, part))
		return false;
	while (take(p, ','))
		if (!read_partition_flag(p, part))
			return false;
	if (!take(p, ':'))
		return fail(p, "where is the : of partition %s?", part->name);
	return read_contents(p, part);
}

/* -- all of them ----------------------------------------------------------------------- */

static void free_list(const struct sm_partition *list, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		free((void *)(uintptr_t)list[i].members);
		free((void *)(uintptr_t)list[i].groups);
	}
	free((void *)(uintptr_t)list);
}

int sm_partitions_parse(const char *text, size_t bytes, sm_partitions_guid_fn guid_of,
			void *arg, struct sm_partitions **ret, char *error, size_t room)
{
	struct parser p = { .at = text,
			    .end = text + bytes,
			    .line = 1,
			    .error = error,
			    .room = room,
			    .guid_of = guid_of,
			    .arg = arg };
	struct sm_partitions *all = calloc(1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (skip(&p); p.at < p.end && !p.failed; skip(&p))
		read_partition(&p);
	if (p.failed) {
		free_list(p.list, p.count);
		free(all);
		return p.code;
	}
	all->list = p.list;
	all->count = p.count;
	*ret = all;
	return 0;
}

void sm_partitions_destroy(struct sm_partitions *p)
{
	if (!p)
		return;
	free_list(p->list, p->count);
	free(p);
}
