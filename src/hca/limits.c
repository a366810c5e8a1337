/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "hca/hca_priv.h"

static const struct hca_limit_info limit_table[] = {
#define LIMIT(name, value, maximum, text) { #name, text, value, maximum },
#include "hca/limits.def"
#undef LIMIT
};

/* The struct has the table's order and nothing else, so it can be indexed. */
static const size_t limit_offsets[] = {
#define LIMIT(name, value, maximum, text) offsetof(struct hca_limits, name),
#include "hca/limits.def"
#undef LIMIT
};

#define LIMITS (sizeof(limit_table) / sizeof(limit_table[0]))

static uint32_t *limit_at(struct hca_limits *limits, unsigned int n)
{
	return (uint32_t *)((char *)limits + limit_offsets[n]);
}

struct hca_limit_info hca_limit_info(unsigned int n)
{
	return n < LIMITS ? limit_table[n] : (struct hca_limit_info){ 0 };
}

void hca_limits_init(struct hca_limits *limits)
{
	for (unsigned int n = 0; n < LIMITS; n++)
		*limit_at(limits, n) = limit_table[n].value;
}

int hca_limit_set(struct hca_limits *limits, const char *name, uint64_t value)
{
	for (unsigned int n = 0; n < LIMITS; n++) {
		if (strcmp(limit_table[n].name, name) != 0)
			continue;
		if (value > limit_table[n].maximum)
			return -ERANGE;
		*limit_at(limits, n) = (uint32_t)value;
		return 0;
	}
	return -EINVAL;
}
