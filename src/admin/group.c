/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "admin/admin_priv.h"
#include "wire/mtu.h"

/* What an SA must be told to create a group (spec/sa-sm 1.6). */
#define CREATE_COMPONENTS \
	(SA_MCM_QKEY | SA_MCM_TCLASS | SA_MCM_PKEY | SA_MCM_SL | SA_MCM_FLOW_LABEL)
#define PKEY_DEFAULT 0xffff

/* `components` that are given by the value of an option up to `max`. */
static int take(const char *name, const char *value, uint64_t max, uint64_t components,
		uint64_t *ret, char *error)
{
	if (admin_option(name, value, max, ret, error) < 0)
		return -EINVAL;
	admin_parsed.components |= components;
	return 0;
}

#define NUMBER_OPTION(field, name, max, component)                                       \
	static int set_##field(const char *value, char *error)                           \
	{                                                                                \
		uint64_t number = 0;                                                     \
		int r = take(name, value, max, component, &number, error);               \
                                                                                         \
		admin_parsed.group.field = (__typeof__(admin_parsed.group.field))number; \
		return r;                                                                \
	}

NUMBER_OPTION(pkey, "pkey", UINT16_MAX, SA_MCM_PKEY)
NUMBER_OPTION(qkey, "qkey", UINT32_MAX, SA_MCM_QKEY)
NUMBER_OPTION(sl, "sl", 15, SA_MCM_SL)
NUMBER_OPTION(tclass, "tclass", UINT8_MAX, SA_MCM_TCLASS)
NUMBER_OPTION(flow_label, "flow-label", 0xfffff, SA_MCM_FLOW_LABEL)
NUMBER_OPTION(hop_limit, "hop-limit", UINT8_MAX, SA_MCM_HOP_LIMIT)
NUMBER_OPTION(scope, "scope", 15, SA_MCM_SCOPE)

static int set_mtu(const char *value, char *error)
{
	struct sa_mcmember *g = &admin_parsed.group;
	uint64_t bytes;

	for (g->mtu = MTU_ENUM_256; g->mtu <= MTU_ENUM_4096; g->mtu++) {
		if (admin_number(value, 4096, &bytes) < 0 || bytes != 128u << g->mtu)
			continue;
		g->mtu_selector = SA_SELECT_EQ;
		admin_parsed.components |= SA_MCM_MTU | SA_MCM_MTU_SELECTOR;
		return 0;
	}
	return admin_wrong(error, "--mtu: '%.80s' is not 256, 512, 1024, 2048 or 4096",
			   value);
}

static int set_rate(const char *value, char *error)
{
	struct sa_mcmember *g = &admin_parsed.group;

	if (admin_rate_parse(value, &g->rate) < 0)
		return admin_wrong(error,
				   "--rate: '%.80s' is no rate in Gb/s, such as 10, 56 "
				   "or 100",
				   value);
	g->rate_selector = SA_SELECT_EQ;
	admin_parsed.components |= SA_MCM_RATE | SA_MCM_RATE_SELECTOR;
	return 0;
}

static int set_join_state(const char *value, char *error)
{
	if (!admin_join_state_parse(value, &admin_parsed.group.join_state))
		return 0;
	return admin_wrong(error,
			   "--join-state: '%.80s' is not full, non, send-only or "
			   "send-only-full",
			   value);
}

static int set_port(const char *value, char *error)
{
	uint64_t port;

	if (admin_option("port", value, 254, &port, error) < 0)
		return -EINVAL;
	admin_parsed.port = (unsigned int)port;
	return 0;
}

#define PLACE_OPTIONS                                                                    \
	{ "node",                                                                        \
	  OPTION_STRING,                                                                 \
	  "NAME",                                                                        \
	  "by this node (default: the site's first)",                                    \
	  &admin_parsed.node,                                                            \
	  NULL },                                                                        \
	{                                                                                \
		"port", OPTION_CALL, "N", "by this port of its vib0 (default: 1)", NULL, \
			set_port                                                         \
	}

const struct option_spec admin_list_options[] = {
	{ "node", OPTION_STRING, "NAME", "those of this node alone", &admin_parsed.node,
	  NULL },
	{ "json", OPTION_FLAG, NULL, "print JSON", &admin_parsed.json, NULL },
	{ .name = NULL },
};

const struct option_spec admin_join_options[] = {
	PLACE_OPTIONS,
	{ "join-state", OPTION_CALL, "STATE",
	  "full (the default), non, send-only or send-only-full", NULL, set_join_state },
	{ "pkey", OPTION_CALL, "NUMBER", "of this partition", NULL, set_pkey },
	{ "qkey", OPTION_CALL, "NUMBER", "with this queue key", NULL, set_qkey },
	{ "mtu", OPTION_CALL, "BYTES", "with exactly this MTU", NULL, set_mtu },
	{ "rate", OPTION_CALL, "GBPS", "with exactly this rate", NULL, set_rate },
	{ "sl", OPTION_CALL, "N", "with this service level", NULL, set_sl },
	{ "tclass", OPTION_CALL, "N", "with this traffic class", NULL, set_tclass },
	{ "flow-label", OPTION_CALL, "N", "with this flow label", NULL, set_flow_label },
	{ "hop-limit", OPTION_CALL, "N", "with this hop limit", NULL, set_hop_limit },
	{ "scope", OPTION_CALL, "N", "with this scope, where the SA gives the MGID", NULL,
	  set_scope },
	{ "json", OPTION_FLAG, NULL, "print JSON", &admin_parsed.json, NULL },
	{ .name = NULL },
};

const struct option_spec admin_leave_options[] = {
	PLACE_OPTIONS,
	{ .name = NULL },
};

static int set_place_and_state(struct admin_request *r)
{
	if (!r->port)
		r->port = 1;
	if (!r->group.join_state)
		r->group.join_state = SA_JOIN_FULL;
	r->components |= SA_MCM_MGID | SA_MCM_JOIN_STATE;
	return 0;
}

static int set_mgid(struct admin_request *r, const char *word, char *error)
{
	if (inet_pton(AF_INET6, word, r->group.mgid.raw) != 1)
		return admin_wrong(error, "'%.80s' is no MGID", word);
	return set_place_and_state(r);
}

int admin_operands_group(struct admin_request *r, int count, char **words, char *error)
{
	if (!count)
		return admin_wrong(error, "which group? its MGID");
	if (set_mgid(r, words[0], error) < 0)
		return -EINVAL;
	return admin_operands_none(r, count - 1, words + 1, error);
}

/* Without an MGID, which is one of all zeros, the SA gives one. */
int admin_operands_create(struct admin_request *r, int count, char **words, char *error)
{
	if (!(r->components & SA_MCM_PKEY))
		r->group.pkey = PKEY_DEFAULT;
	r->components |= CREATE_COMPONENTS;
	if (count)
		return admin_operands_group(r, count, words, error);
	return set_place_and_state(r);
}
