// SPDX-License-Identifier: BSD-2-Clause
/* A module that calls what no kernel API has. */
#include <linux/module.h>

int nobody_has_this(void) KAPI(nobody_has_this);

static int __init start(void)
{
	return nobody_has_this();
}
module_init(start);
