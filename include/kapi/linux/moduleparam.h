/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of a module: `verbcast insmod FILE NAME=VALUE` sets them before init. */
#ifndef KAPI_LINUX_MODULEPARAM_H
#define KAPI_LINUX_MODULEPARAM_H

#include <linux/types.h>

enum kapi_param_type {
	KAPI_PARAM_bool,
	KAPI_PARAM_int,
	KAPI_PARAM_uint,
	KAPI_PARAM_ulong,
	KAPI_PARAM_charp,
	KAPI_PARAM_string,
};

struct kapi_param {
	const char *name;
	enum kapi_param_type type;
	void *value;
	size_t size; /* of a string */
};

#define module_param_named(param, variable, kind, perm)                           \
	extern const struct kapi_param kapi_param_##param;                        \
	__attribute__((visibility("default")))                                    \
	const struct kapi_param kapi_param_##param = { #param, KAPI_PARAM_##kind, \
						       &(variable), sizeof(variable) }
#define module_param(param, kind, perm) module_param_named(param, param, kind, perm)
#define module_param_string(param, variable, len, perm) \
	module_param_named(param, variable, string, perm)
#define MODULE_PARM_DESC(param, text) _Static_assert(1, #param)

#endif
