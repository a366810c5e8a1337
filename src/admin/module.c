/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "admin/admin_priv.h"

int admin_operands_load(struct admin_request *r, int count, char **words, char *error)
{
	if (count == 0)
		return admin_wrong(error, "which file?");
	r->module = words[0];
	for (int i = 1; i < count; i++) {
		if (!strchr(words[i], '='))
			return admin_wrong(error, "'%.80s' is not NAME=VALUE", words[i]);
		r->parameters[i - 1] = words[i];
	}
	return 0;
}

int admin_operands_unload(struct admin_request *r, int count, char **words, char *error)
{
	if (count != 1)
		return admin_wrong(error, count ? "one name is enough" : "which module?");
	r->module = words[0];
	return 0;
}
