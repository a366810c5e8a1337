/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "admin/admin_priv.h"
#include "wire/ib_packet.h"

static int set_nodes(const char *value, char *error)
{
	return admin_shape_nodes(&admin_parsed.shape, value, error);
}

static int set_ring(const char *value, char *error)
{
	return admin_shape_ring(&admin_parsed.shape, value, error);
}

static int set_fat_tree(const char *value, char *error)
{
	return admin_shape_fat_tree(&admin_parsed.shape, value, error);
}

static int set_file(const char *value, char *error)
{
	return admin_shape_file(&admin_parsed.shape, value, error);
}

static int set_partitions(const char *value, char *error)
{
	return admin_shape_partitions(&admin_parsed.shape, value, error);
}

static int set_lmc(const char *value, char *error)
{
	return admin_shape_lmc(&admin_parsed.shape, value, error);
}

const struct option_spec admin_no_options[] = { { .name = NULL } };

const struct option_spec admin_json_options[] = {
	{ "json", OPTION_FLAG, NULL, "print JSON", &admin_parsed.json, NULL },
	{ .name = NULL },
};

/* Of a group that another's subnet administrator has, only the MLID can be told. */
static int set_group(const char *value, char *error)
{
	struct admin_request *r = &admin_parsed;
	uint64_t mlid;

	if (!admin_number(value, UINT16_MAX, &mlid) &&
	    ib_lid_is_multicast((uint16_t)mlid)) {
		r->group.mlid = (uint16_t)mlid;
		r->components = SA_MCM_MLID;
		return 0;
	}
	if (inet_pton(AF_INET6, value, r->group.mgid.raw) != 1)
		return admin_wrong(
			error,
			"--group: '%.80s' is neither an MGID nor an MLID, which "
			"is a number from 0xc000 to 0xfffe",
			value);
	r->components = SA_MCM_MGID;
	return 0;
}

const struct option_spec admin_show_options[] = {
	{ "json", OPTION_FLAG, NULL, "print JSON", &admin_parsed.json, NULL },
	{ "graphviz", OPTION_FLAG, NULL, "print a graph for dot(1)",
	  &admin_parsed.graphviz, NULL },
	{ "group", OPTION_CALL, "GROUP",
	  "with the tree of this group marked: its MGID or its MLID", NULL, set_group },
	{ .name = NULL },
};

const struct option_spec admin_up_options[] = {
	{ "nodes", OPTION_CALL, "N", "one switch with N nodes, h1 to hN (default: 1)",
	  NULL, set_nodes },
	{ "ring", OPTION_CALL, "S[:H]", "S switches in a ring, H nodes on each", NULL,
	  set_ring },
	{ "fat-tree", OPTION_CALL, "K", "three levels of switches with K ports", NULL,
	  set_fat_tree },
	{ "topology", OPTION_CALL, "FILE", "what ibnetdiscover has written", NULL,
	  set_file },
	{ "partitions", OPTION_CALL, "FILE", "with these, as OpenSM's partitions.conf",
	  NULL, set_partitions },
	{ "lmc", OPTION_CALL, "N", "2^N LIDs for each adapter's port, N from 0 to 7",
	  NULL, set_lmc },
	{ "no-sm", OPTION_FLAG, NULL, "without subnet manager: bring one of your own",
	  &admin_parsed.shape.no_sm, NULL },
	{ .name = NULL },
};

static int set_priority(const char *value, char *error)
{
	uint64_t priority;

	if (admin_option("priority", value, 15, &priority, error) < 0)
		return -EINVAL;
	admin_parsed.priority = (uint8_t)priority;
	return 0;
}

static int set_sm_lmc(const char *value, char *error)
{
	uint64_t lmc;

	if (admin_option("lmc", value, ADMIN_LMC_MAX, &lmc, error) < 0)
		return -EINVAL;
	admin_parsed.lmc = (uint8_t)lmc;
	return 0;
}

const struct option_spec admin_sm_options[] = {
	{ "priority", OPTION_CALL, "N",
	  "of this one among several, 0 to 15: the greatest is master (default: 0)", NULL,
	  set_priority },
	{ "lmc", OPTION_CALL, "N",
	  "2^N LIDs for each adapter's port (default: the fabric's)", NULL, set_sm_lmc },
	{ .name = NULL },
};

int admin_operands_none(struct admin_request *r, int count, char **words, char *error)
{
	return count ? admin_wrong(error, "'%.80s' is one word too many", words[0]) : 0;
}

int admin_operands_show(struct admin_request *r, int count, char **words, char *error)
{
	if (r->json && r->graphviz)
		return admin_wrong(error, "one of --json and --graphviz");
	return admin_operands_none(r, count, words, error);
}

/* The first word is one of two. */
static int choose(struct admin_request *r, int count, char **words, const char *off,
		  const char *on, char *error)
{
	r->on = count && !strcmp(words[0], on);
	if (r->on || (count && !strcmp(words[0], off)))
		return 0;
	return admin_wrong(error, "%s or %s?", off, on);
}

int admin_operands_sm(struct admin_request *r, int count, char **words, char *error)
{
	if (choose(r, count, words, "stop", "start", error) < 0)
		return -EINVAL;
	if (count > 1)
		r->node = words[1];
	if (r->priority && !r->on)
		return admin_wrong(error, "--priority is for start");
	if (r->lmc != ADMIN_LMC_DEFAULT && !r->on)
		return admin_wrong(error, "--lmc is for start");
	return admin_operands_none(r, count < 2 ? 0 : count - 2, words + 2, error);
}

int admin_operands_link(struct admin_request *r, int count, char **words, char *error)
{
	uint64_t port;

	if (choose(r, count, words, "down", "up", error) < 0)
		return -EINVAL;
	if (count < 3)
		return admin_wrong(error, "the link of which node, and of which port?");
	if (admin_number(words[2], 254, &port) < 0 || !port)
		return admin_wrong(error, "'%.80s' is no port: they are numbers from 1",
				   words[2]);
	r->node = words[1];
	r->port = (unsigned int)port;
	return admin_operands_none(r, count - 3, words + 3, error);
}

int admin_operands_node(struct admin_request *r, int count, char **words, char *error)
{
	if (!count || strcmp(words[0], "power"))
		return admin_wrong(error, "it is: fabric node power off|on NODE");
	if (choose(r, count - 1, words + 1, "off", "on", error) < 0)
		return -EINVAL;
	if (count < 3)
		return admin_wrong(error, "which node?");
	r->node = words[2];
	return admin_operands_none(r, count - 3, words + 3, error);
}

int admin_operands_loss(struct admin_request *r, int count, char **words, char *error)
{
	if (!count)
		return admin_wrong(error, "how many of a hundred?");
	if (strcmp(words[0], "0") && admin_percentage(words[0], &r->rate) < 0)
		return admin_wrong(error, "'%.80s' is no percentage from 0%% to 100%%",
				   words[0]);
	return admin_operands_none(r, count - 1, words + 1, error);
}
