/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "admin/admin_priv.h"

#define DELAY_MS_MAX 3600000u

static int set_count(const char *value, char *error)
{
	if (admin_option("count", value, UINT32_MAX, &admin_parsed.count, error) < 0)
		return -EINVAL;
	return admin_parsed.count ? 0 : admin_wrong(error, "--count: none is too few");
}

static int set_rate(const char *value, char *error)
{
	if (admin_percentage(value, &admin_parsed.rate) < 0)
		return admin_wrong(
			error,
			"--rate: '%.80s' is no percentage above 0%% and up to 100%%",
			value);
	return 0;
}

static int set_attribute(const char *value, char *error)
{
	if (!admin_attribute_parse(value, &admin_parsed.attribute))
		return 0;
	return admin_wrong(error,
			   "--attribute: '%.80s' is none, such as MCMemberRecord, "
			   "PathRecord or 0x38",
			   value);
}

static int set_delay(const char *value, char *error)
{
	uint64_t ms;

	if (admin_option("delay", value, DELAY_MS_MAX, &ms, error) < 0)
		return -EINVAL;
	admin_parsed.ms = (unsigned int)ms;
	return 0;
}

static int set_status(const char *value, char *error)
{
	uint64_t status;

	if (admin_option("status", value, UINT16_MAX, &status, error) < 0)
		return -EINVAL;
	admin_parsed.status = (uint16_t)status;
	return 0;
}

#define FAULT_OPTIONS                                                                 \
	{ "count", OPTION_CALL, "N", "so many requests (default: until sa clear)",    \
	  NULL,    set_count },                                                       \
		{ "rate", OPTION_CALL, "PERCENT", "of the requests only so many",     \
		  NULL,   set_rate },                                                 \
	{                                                                             \
		"attribute", OPTION_CALL, "NAME", "requests of this attribute alone", \
			NULL, set_attribute                                           \
	}

const struct option_spec admin_fault_options[] = {
	FAULT_OPTIONS,
	{ .name = NULL },
};

const struct option_spec admin_delay_options[] = {
	FAULT_OPTIONS,
	{ "delay", OPTION_CALL, "MS", "so many milliseconds", NULL, set_delay },
	{ .name = NULL },
};

const struct option_spec admin_error_options[] = {
	FAULT_OPTIONS,
	{ "status", OPTION_CALL, "NUMBER",
	  "the status of the answers (default 0x0700: denied)", NULL, set_status },
	{ .name = NULL },
};

int admin_operands_delay(struct admin_request *r, int count, char **words, char *error)
{
	if (!r->ms)
		return admin_wrong(error, "by how much? --delay MS");
	return admin_operands_none(r, count, words, error);
}

int admin_operands_error(struct admin_request *r, int count, char **words, char *error)
{
	if (!r->status)
		r->status = SA_REQ_DENIED;
	return admin_operands_none(r, count, words, error);
}
