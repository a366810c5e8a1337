/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text form that ibnetdiscover prints and ibsim reads (spec/sa-sm 6.1):
 *
 *	switchguid=0x200000		attributes of the node that follows
 *	Switch 8 "S1"			kind, ports, name
 *	[1]	"H1"[1](100001)		port, the far end's name and port
 *
 * '#' begins a comment; of a node that is named by its GUID, as ibnetdiscover does, it
 * begins with the node's description (topology_names.c). A link may be told from one end
 * or from both. Of the attributes the GUIDs count, and `mftcap` of a switch, which is our
 * own; the others say what a fabric tells by itself. Without a GUID a node takes it from a
 * name like "S-0002c90300001234", and else the one that ibsim would give it.
 *
 * The text is input: every number is checked before use, and nothing is allocated by
 * what it claims but by what stands in it (a port count is at most TOPOLOGY_PORTS_MAX).
 */
#include "fabric/net/topology_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADAPTER_GUIDS 0x100000u
#define SWITCH_GUIDS  0x200000u

/* A port line. */
struct mention {
	uint32_t node, line;
	uint16_t port, peer_port;
	char peer[64];
};

/* What was said before the node's line. */
struct attributes {
	uint64_t guid;
	bool has_guid, has_mft_cap;
	uint32_t mft_cap;
};

struct parser {
	const char *at, *end; /* what is left of the line */
	uint32_t line;
	struct topology_builder b;
	struct attributes next;
	bool other_names;         /* some node is not named by its GUID */
	uint32_t *lines;          /* of the nodes */
	char (*descriptions)[64]; /* of the nodes, as comments have them; empty: none */
	struct mention *mentions;
	uint32_t mention_count, mention_room;
	uint32_t adapter_guids, switches;
	char *error;
	size_t error_room;
};

__attribute__((format(printf, 3, 4))) static int fail(struct parser *p, uint32_t line,
						      const char *format, ...)
{
	va_list args;
	int used;

	if (!p->error || !p->error_room)
		return -EINVAL;
	used = snprintf(p->error, p->error_room, "line %u: ", line);
	if (used < 0 || (size_t)used >= p->error_room)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(p->error + used, p->error_room - (size_t)used, format, args);
	va_end(args);
	return -EINVAL;
}

/* -- words of a line --------------------------------------------------------------- */

static void skip_space(struct parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
}

static bool take(struct parser *p, char c)
{
	skip_space(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool at_end(struct parser *p)
{
	skip_space(p);
	return p->at == p->end || *p->at == '#';
}

/* Letters and digits, cut to `room`. */
static void take_word(struct parser *p, char *word, size_t room)
{
	size_t length = 0;

	skip_space(p);
	for (; p->at < p->end && isalnum((unsigned char)*p->at); p->at++) {
		if (length + 1 < room)
			word[length++] = *p->at;
	}
	word[length] = '\0';
}

static int digit_value(char c, unsigned int base)
{
	int v = isdigit((unsigned char)c)    ? c - '0'
		: isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					     : 16;

	return v < (int)base ? v : -1;
}

/* False: no digit, or more than 64 bits. */
static bool take_digits(struct parser *p, unsigned int base, uint64_t *ret)
{
	uint64_t value = 0;
	const char *from = p->at;

	for (; p->at < p->end && digit_value(*p->at, base) >= 0; p->at++) {
		if (value > (UINT64_MAX - 15) / base)
			return false;
		value = value * base + (uint64_t)digit_value(*p->at, base);
	}
	*ret = value;
	return p->at > from;
}

/* 0x makes it hexadecimal, as `base` 16 does. */
static bool take_number(struct parser *p, unsigned int base, uint64_t *ret)
{
	skip_space(p);
	if (p->end - p->at > 2 && p->at[0] == '0' &&
	    tolower((unsigned char)p->at[1]) == 'x') {
		p->at += 2;
		base = 16;
	}
	return take_digits(p, base, ret);
}

static int take_name(struct parser *p, char name[64])
{
	size_t length = 0;

	if (!take(p, '"'))
		return fail(p, p->line, "a name in quotes is missing");
	for (; p->at < p->end && *p->at != '"'; p->at++) {
		if (length == 63)
			return fail(p, p->line, "a name has more than 63 characters");
		if (iscntrl((unsigned char)*p->at))
			return fail(p, p->line, "a name has a control character");
		name[length++] = *p->at;
	}
	name[length] = '\0';
	if (!take(p, '"'))
		return fail(p, p->line, "a name does not end");
	return length ? 0 : fail(p, p->line, "a name is empty");
}

/* [n] */
static int take_port(struct parser *p, uint16_t *ret)
{
	uint64_t port;

	if (!take(p, '[') || !take_number(p, 10, &port) || !take(p, ']'))
		return fail(p, p->line, "a port is written [number]");
	if (!port || port > TOPOLOGY_PORTS_MAX)
		return fail(p, p->line, "a port is a number from 1 to %u",
			    TOPOLOGY_PORTS_MAX);
	*ret = (uint16_t)port;
	return 0;
}

/* -- lines ------------------------------------------------------------------------- */

/* (100001), the port's GUID: ours follows from the node's. */
static int skip_port_guid(struct parser *p)
{
	uint64_t guid;

	if (!take(p, '('))
		return 0;
	if (!take_number(p, 16, &guid) || !take(p, ')'))
		return fail(p, p->line, "a GUID in parentheses is not one");
	return 0;
}

/* What may stand behind a far end: lid 4 lmc 0, s=4 w=2. The SM says the former here, and
 * all links are alike. */
static int skip_link_words(struct parser *p)
{
	static const char *const words[] = { "lid", "lmc", "smlid", "s", "w" };
	char word[16];

	while (!at_end(p)) {
		uint64_t value;
		bool known = false;

		take_word(p, word, sizeof(word));
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			known |= strcmp(word, words[i]) == 0;
		take(p, '=');
		if (!known || !take_number(p, 10, &value))
			return fail(p, p->line, "there is more than a far end");
	}
	return 0;
}

static struct mention *new_mention(struct parser *p)
{
	if (p->mention_count == p->mention_room) {
		uint32_t room = p->mention_room ? p->mention_room * 2 : 64;
		struct mention *more = realloc(p->mentions, room * sizeof(*more));

		if (!more)
			return NULL;
		p->mentions = more;
		p->mention_room = room;
	}
	return &p->mentions[p->mention_count++];
}

static int parse_port_line(struct parser *p)
{
	struct mention m = { .line = p->line };
	struct mention *kept;
	int r;

	if (!p->b.t->count)
		return fail(p, p->line, "a port stands before any node");
	m.node = p->b.t->count - 1;
	if ((r = take_port(p, &m.port)) < 0 || (r = skip_port_guid(p)) < 0 ||
	    (r = take_name(p, m.peer)) < 0 || (r = take_port(p, &m.peer_port)) < 0 ||
	    (r = skip_port_guid(p)) < 0 || (r = skip_link_words(p)) < 0)
		return r;
	if (m.port > topology_last(&p->b)->ports)
		return fail(p, p->line, "\"%s\" has no port %u",
			    topology_last(&p->b)->name, m.port);
	kept = new_mention(p);
	if (!kept)
		return -ENOMEM;
	*kept = m;
	return 0;
}

static bool is_guid_word(const char *word)
{
	return strcmp(word, "switchguid") == 0 || strcmp(word, "caguid") == 0;
}

static bool is_ignored_word(const char *word)
{
	return strcmp(word, "vendid") == 0 || strcmp(word, "devid") == 0 ||
	       strcmp(word, "sysimgguid") == 0;
}

/* word=value; switchguid=0x2c9(2c9) has a port GUID too. */
static int parse_attribute(struct parser *p, const char *word)
{
	uint64_t value;
	int r;

	if (!take_number(p, 10, &value))
		return fail(p, p->line, "%s is not a number", word);
	if (is_guid_word(word)) {
		p->next.guid = value;
		p->next.has_guid = true;
	} else if (strcmp(word, "mftcap") == 0) {
		if (value > TOPOLOGY_MFT_CAP_MAX)
			return fail(p, p->line, "mftcap is more than %u",
				    TOPOLOGY_MFT_CAP_MAX);
		p->next.mft_cap = (uint32_t)value;
		p->next.has_mft_cap = true;
	} else if (!is_ignored_word(word)) {
		return fail(p, p->line, "there is no attribute %s", word);
	}
	r = skip_port_guid(p);
	if (r == 0 && !at_end(p))
		r = fail(p, p->line, "there is more than a number behind %s=", word);
	return r;
}

/* "S-0002c90300001234" */
static bool guid_of_name(const char *name, uint64_t *ret)
{
	struct parser digits = { .at = name + 2, .end = name + strlen(name) };

	if ((name[0] != 'S' && name[0] != 'H') || name[1] != '-')
		return false;
	return take_digits(&digits, 16, ret) && digits.at == digits.end;
}

static void give_guid(struct parser *p, struct topology_node *n)
{
	if (p->next.has_guid)
		n->node_guid = p->next.guid;
	else if (!guid_of_name(n->name, &n->node_guid))
		n->node_guid = n->is_switch ? SWITCH_GUIDS + p->switches
					    : ADAPTER_GUIDS + p->adapter_guids;
	if (n->is_switch)
		p->switches++;
	else
		p->adapter_guids += n->ports + 1u;
}

/* What the parser keeps of the last node beside it. */
static int make_room(struct parser *p)
{
	size_t room = 2 * (size_t)p->b.t->count;
	char(*descriptions)[64];
	uint32_t *lines;

	if (p->b.t->count & (p->b.t->count - 1))
		return 0;
	lines = realloc(p->lines, room * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	p->lines = lines;
	descriptions = realloc(p->descriptions, room * sizeof(*descriptions));
	if (!descriptions)
		return -ENOMEM;
	p->descriptions = descriptions;
	return 0;
}

/* # "h1": a comment is never wrong, so what cannot be a name is none. */
static void take_description(struct parser *p, char description[64])
{
	struct parser comment = { .at = p->at, .end = p->end };

	if (!take(&comment, '#') || take_name(&comment, description) < 0)
		description[0] = '\0';
}

static int add_node(struct parser *p, const char *name, bool is_switch, uint16_t ports)
{
	uint64_t guid;
	int r = topology_add(&p->b, name, is_switch, ports);

	if (r == -E2BIG)
		return fail(p, p->line, "there are more than %u nodes",
			    TOPOLOGY_NODES_MAX);
	if (r == 0)
		r = make_room(p);
	if (r < 0)
		return r;
	p->lines[p->b.t->count - 1] = p->line;
	p->descriptions[p->b.t->count - 1][0] = '\0';
	if (guid_of_name(name, &guid))
		take_description(p, p->descriptions[p->b.t->count - 1]);
	else
		p->other_names = true;
	give_guid(p, topology_last(&p->b));
	if (p->next.has_mft_cap && is_switch)
		topology_last(&p->b)->mft_cap = p->next.mft_cap;
	p->next = (struct attributes){ 0 };
	return 0;
}

static int parse_node(struct parser *p, const char *kind)
{
	bool is_switch = strcmp(kind, "Switch") == 0;
	uint64_t ports;
	char name[64];
	int r;

	if (strcmp(kind, "Rt") == 0 || strcmp(kind, "Router") == 0)
		return fail(p, p->line, "routers are not among what a fabric has here");
	if (!is_switch && strcmp(kind, "Ca") != 0 && strcmp(kind, "Hca") != 0)
		return fail(p, p->line, "neither Switch, Hca, Ca, [port] nor attribute=");
	if (!take_number(p, 10, &ports) || !ports || ports > TOPOLOGY_PORTS_MAX)
		return fail(p, p->line, "a %s has 1 to %u ports", kind,
			    TOPOLOGY_PORTS_MAX);
	r = take_name(p, name);
	if (r < 0)
		return r;
	if (!at_end(p))
		return fail(p, p->line, "there is more than a name behind %s", kind);
	return add_node(p, name, is_switch, (uint16_t)ports);
}

static int parse_line(struct parser *p)
{
	char word[24];

	if (at_end(p))
		return 0;
	if (*p->at == '[')
		return parse_port_line(p);
	take_word(p, word, sizeof(word));
	if (take(p, '='))
		return parse_attribute(p, word);
	return parse_node(p, word);
}

static int parse_lines(struct parser *p, const char *text, size_t length)
{
	const char *end = text + length;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		int r;

		p->line++;
		p->at = text;
		p->end = newline ? newline : end;
		text = p->end + (newline ? 1 : 0);
		r = parse_line(p);
		if (r < 0)
			return r;
	}
	return p->b.t->count ? 0 : fail(p, p->line, "there is no node");
}

/* -- what must hold of all --------------------------------------------------------- */

struct name_place {
	const char *name;
	uint32_t node;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct name_place *)a)->name,
		      ((const struct name_place *)b)->name);
}

/* In order of names; null: no memory. */
static struct name_place *sort_names(const struct topology *t)
{
	struct name_place *places = calloc(t->count, sizeof(*places));

	if (!places)
		return NULL;
	for (uint32_t i = 0; i < t->count; i++)
		places[i] = (struct name_place){ t->nodes[i].name, i };
	qsort(places, t->count, sizeof(*places), compare_names);
	return places;
}

static bool far_end_is(const struct topology_link *link, uint32_t node, uint16_t port)
{
	return link->node == node && link->port == port;
}

static int connect_mention(struct parser *p, const struct name_place *names,
			   const struct mention *m)
{
	struct topology *t = p->b.t;
	struct name_place key = { .name = m->peer };
	const struct name_place *peer =
		bsearch(&key, names, t->count, sizeof(*names), compare_names);
	struct topology_link *here = &t->nodes[m->node].links[m->port], *there;

	if (!peer)
		return fail(p, m->line, "there is no node \"%s\"", m->peer);
	if (m->peer_port > t->nodes[peer->node].ports)
		return fail(p, m->line, "\"%s\" has no port %u", m->peer, m->peer_port);
	if (peer->node == m->node && m->peer_port == m->port)
		return fail(p, m->line, "port %u leads to itself", m->port);
	there = &t->nodes[peer->node].links[m->peer_port];
	if (far_end_is(here, peer->node, m->peer_port))
		return 0; /* told from the other end too */
	if (here->node != TOPOLOGY_NONE)
		return fail(p, m->line, "\"%s\"[%u] has another link",
			    t->nodes[m->node].name, m->port);
	if (there->node != TOPOLOGY_NONE)
		return fail(p, m->line, "\"%s\"[%u] has another link", m->peer,
			    m->peer_port);
	topology_connect(t, m->node, m->port, peer->node, m->peer_port);
	return 0;
}

static int connect_all(struct parser *p)
{
	const struct topology *t = p->b.t;
	struct name_place *names = sort_names(t);
	int r = 0;

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->count && r == 0; i++) {
		if (strcmp(names[i - 1].name, names[i].name) == 0)
			r = fail(p, p->lines[names[i].node], "\"%s\" is there twice",
				 names[i].name);
	}
	for (uint32_t i = 0; i < p->mention_count && r == 0; i++)
		r = connect_mention(p, names, &p->mentions[i]);
	free(names);
	return r;
}

/* A node's GUID, or those of its ports: first .. last. */
struct guid_range {
	uint64_t first, last;
	uint32_t node;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct guid_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int find_overlap(struct parser *p, struct guid_range *ranges, const char *what)
{
	qsort(ranges, p->b.t->count, sizeof(*ranges), compare_ranges);
	for (uint32_t i = 1; i < p->b.t->count; i++) {
		if (ranges[i].first <= ranges[i - 1].last)
			return fail(p, p->lines[ranges[i].node],
				    "\"%s\" and \"%s\" share %s GUID 0x%llx",
				    p->b.t->nodes[ranges[i - 1].node].name,
				    p->b.t->nodes[ranges[i].node].name, what,
				    (unsigned long long)ranges[i].first);
	}
	return 0;
}

/* A node's GUID may be that of another one's port, as real adapters of two functions
 * have it. */
static int check_guids(struct parser *p)
{
	const struct topology *t = p->b.t;
	struct guid_range *ranges = calloc(t->count, sizeof(*ranges));
	int r = 0;

	if (!ranges)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count && r == 0; i++) {
		uint64_t guid = t->nodes[i].node_guid;

		if (!guid || guid > UINT64_MAX - t->nodes[i].ports)
			r = fail(p, p->lines[i], "0x%llx is no GUID for a node",
				 (unsigned long long)guid);
		ranges[i] = (struct guid_range){ guid, guid, i };
	}
	if (r == 0)
		r = find_overlap(p, ranges, "node");
	for (uint32_t i = 0; i < t->count; i++) {
		const struct topology_node *n = &t->nodes[i];

		ranges[i] =
			(struct guid_range){ n->node_guid + !n->is_switch,
					     n->node_guid + (n->is_switch ? 0 : n->ports),
					     i };
	}
	if (r == 0)
		r = find_overlap(p, ranges, "port");
	free(ranges);
	return r;
}

int topology_parse(const char *text, size_t length, struct topology **ret, char *error,
		   size_t error_room)
{
	struct parser p = { .error = error, .error_room = error_room };
	int r = topology_builder_init(&p.b);

	if (r < 0)
		return r;
	r = parse_lines(&p, text, length);
	if (r == 0)
		r = connect_all(&p);
	if (r == 0)
		r = check_guids(&p);
	if (r == 0)
		r = topology_name_nodes(p.b.t, p.descriptions);
	if (r == 0 && !p.other_names)
		r = topology_sort(p.b.t);
	free(p.lines);
	free(p.descriptions);
	free(p.mentions);
	if (r < 0)
		topology_destroy(p.b.t);
	else
		*ret = p.b.t;
	return r;
}
