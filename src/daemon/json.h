/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON, where cJSON alone does not do.
 */
#ifndef DAEMON_JSON_H
#define DAEMON_JSON_H

#include <cjson/cJSON.h>
#include <stdint.h>

/* A number as it is; cJSON's are doubles, which keep 53 bits. */
void json_add_count(cJSON *to, const char *key, uint64_t count);

#endif
