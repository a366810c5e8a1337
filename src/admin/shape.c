/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "admin/admin_priv.h"

/* From a node to the farthest one it is 63 links, which is as far as directed routes lead
 * (spec/sa-sm 3.2), and so any of them may have the subnet manager. */
#define SWITCHES_MAX  123u
#define FAT_TREE_MAX  14u /* ports: 686 hosts; the next one has 1024 */
#define HOSTS_DEFAULT 1u

static int choose(struct admin_shape *s, enum admin_shape_kind kind, char *error)
{
	if (s->kind != ADMIN_SHAPE_DEFAULT)
		return admin_wrong(error,
				   "a fabric has one shape: one of --nodes, --ring, "
				   "--fat-tree and --topology, once");
	s->kind = kind;
	return 0;
}

/* 1 .. max */
static int count(const char *text, unsigned int max, unsigned int *ret)
{
	uint64_t number;

	if (admin_number(text, max, &number) < 0 || !number)
		return -EINVAL;
	*ret = (unsigned int)number;
	return 0;
}

int admin_shape_nodes(struct admin_shape *s, const char *value, char *error)
{
	if (count(value, ADMIN_STAR_MAX, &s->count) < 0)
		return admin_wrong(error,
				   "--nodes: '%.80s' is not a number from 1 to %u, as "
				   "many as a switch has ports (--ring and --fat-tree "
				   "have several)",
				   value, ADMIN_STAR_MAX);
	return choose(s, ADMIN_SHAPE_NODES, error);
}

int admin_shape_ring(struct admin_shape *s, const char *value, char *error)
{
	const char *colon = strchrnul(value, ':');
	char switches[16];

	s->hosts = HOSTS_DEFAULT;
	snprintf(switches, sizeof(switches), "%.*s", (int)(colon - value), value);
	if (count(switches, SWITCHES_MAX, &s->count) < 0 || s->count < 3 ||
	    (*colon && count(colon + 1, ADMIN_NODES_MAX, &s->hosts) < 0))
		return admin_wrong(error,
				   "--ring: '%.80s' is not SWITCHES or SWITCHES:HOSTS, "
				   "of which there are 3 to %u, and hosts on each",
				   value, SWITCHES_MAX);
	if (s->count * s->hosts > ADMIN_NODES_MAX)
		return admin_wrong(error, "--ring: these are more than %u nodes",
				   ADMIN_NODES_MAX);
	return choose(s, ADMIN_SHAPE_RING, error);
}

int admin_shape_fat_tree(struct admin_shape *s, const char *value, char *error)
{
	if (count(value, FAT_TREE_MAX, &s->count) < 0 || s->count < 4 || s->count % 2)
		return admin_wrong(error,
				   "--fat-tree: '%.80s' is not an even number of ports "
				   "from 4 to %u",
				   value, FAT_TREE_MAX);
	return choose(s, ADMIN_SHAPE_FAT_TREE, error);
}

int admin_shape_file(struct admin_shape *s, const char *value, char *error)
{
	s->file = value;
	return choose(s, ADMIN_SHAPE_FILE, error);
}

int admin_shape_none(struct admin_shape *s, char *error)
{
	return choose(s, ADMIN_SHAPE_NONE, error);
}

int admin_shape_partitions(struct admin_shape *s, const char *value, char *error)
{
	s->partitions = value;
	return 0;
}

int admin_shape_lmc(struct admin_shape *s, const char *value, char *error)
{
	uint64_t lmc;

	if (admin_option("lmc", value, ADMIN_LMC_MAX, &lmc, error) < 0)
		return -EINVAL;
	s->lmc = (uint8_t)lmc;
	return 0;
}

int admin_shape_words(const struct admin_shape *s, struct admin_shape_text *ret)
{
	static const char *const names[] = {
		[ADMIN_SHAPE_NODES] = "--nodes",       [ADMIN_SHAPE_RING] = "--ring",
		[ADMIN_SHAPE_FAT_TREE] = "--fat-tree", [ADMIN_SHAPE_FILE] = "--topology",
		[ADMIN_SHAPE_NONE] = "--no-fabric",
	};
	int n = 0;

	snprintf(ret->value, sizeof(ret->value),
		 s->kind == ADMIN_SHAPE_RING ? "%u:%u" : "%u", s->count, s->hosts);
	if (s->kind != ADMIN_SHAPE_DEFAULT)
		ret->words[n++] = names[s->kind];
	if (s->kind == ADMIN_SHAPE_FILE)
		ret->words[n++] = s->file;
	else if (s->kind != ADMIN_SHAPE_DEFAULT && s->kind != ADMIN_SHAPE_NONE)
		ret->words[n++] = ret->value;
	if (s->partitions) {
		ret->words[n++] = "--partitions";
		ret->words[n++] = s->partitions;
	}
	if (s->lmc) {
		snprintf(ret->lmc, sizeof(ret->lmc), "%u", s->lmc);
		ret->words[n++] = "--lmc";
		ret->words[n++] = ret->lmc;
	}
	if (s->no_sm)
		ret->words[n++] = "--no-sm";
	ret->words[n] = NULL;
	return n;
}

void admin_shape_print(const struct admin_shape *s, char *to, size_t room)
{
	struct admin_shape_text text;
	int n = admin_shape_words(s, &text);
	size_t at = 0;

	to[0] = '\0';
	if (s->kind == ADMIN_SHAPE_DEFAULT)
		at = (size_t)snprintf(to, room, "--nodes 1");
	for (int i = 0; i < n && at < room; i++)
		at += (size_t)snprintf(to + at, room - at, "%s%s", at ? " " : "",
				       text.words[i]);
}

static bool is_single(const struct admin_shape *s)
{
	return s->kind == ADMIN_SHAPE_DEFAULT ||
	       (s->kind == ADMIN_SHAPE_NODES && s->count == 1);
}

bool admin_shape_equal(const struct admin_shape *a, const struct admin_shape *b)
{
	if (a->no_sm != b->no_sm || a->lmc != b->lmc ||
	    !a->partitions != !b->partitions ||
	    (a->partitions && strcmp(a->partitions, b->partitions) != 0))
		return false;
	if (is_single(a) || is_single(b))
		return is_single(a) && is_single(b);
	if (a->kind != b->kind)
		return false;
	if (a->kind == ADMIN_SHAPE_FILE)
		return !strcmp(a->file, b->file);
	return a->kind == ADMIN_SHAPE_NONE ||
	       (a->count == b->count &&
		(a->kind != ADMIN_SHAPE_RING || a->hosts == b->hosts));
}
