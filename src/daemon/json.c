/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/json.h"

#include <inttypes.h>
#include <stdio.h>

void json_add_count(cJSON *to, const char *key, uint64_t count)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, count);
	cJSON_AddRawToObject(to, key, text);
}
