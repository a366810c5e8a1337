/* SPDX-License-Identifier: BSD-2-Clause */
/* The status of a site as tables for people. */
#ifndef TOOLS_STATUS_TEXT_H
#define TOOLS_STATUS_TEXT_H

#include <stdio.h>

struct cJSON;

void status_text_print(const struct cJSON *status, FILE *out);

#endif
