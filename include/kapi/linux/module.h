/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A consumer as a module: a shared object with one init function and perhaps an exit
 * function, loaded by `verbcast insmod` or kapi_module_load (verbcast/kapi.h).
 */
#ifndef KAPI_LINUX_MODULE_H
#define KAPI_LINUX_MODULE_H

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

struct module;
#define THIS_MODULE ((struct module *)0)
#ifndef KBUILD_MODNAME
#define KBUILD_MODNAME "module"
#endif

/* Two modules may lie in one process, so these are looked up in the object itself. */
#define module_init(fn)                             \
	extern int (*const kapi_module_init)(void); \
	__attribute__((visibility("default"))) int (*const kapi_module_init)(void) = fn
#define module_exit(fn)                              \
	extern void (*const kapi_module_exit)(void); \
	__attribute__((visibility("default"))) void (*const kapi_module_exit)(void) = fn

#define MODULE_INFO(tag, text)       _Static_assert(1, text)
#define MODULE_LICENSE(text)         _Static_assert(1, text)
#define MODULE_AUTHOR(text)          _Static_assert(1, text)
#define MODULE_DESCRIPTION(text)     _Static_assert(1, text)
#define MODULE_VERSION(text)         _Static_assert(1, text)
#define MODULE_ALIAS(text)           _Static_assert(1, text)
#define MODULE_SOFTDEP(text)         _Static_assert(1, text)
#define MODULE_DEVICE_TABLE(type, t) _Static_assert(1, #type)

static inline bool try_module_get(struct module *module)
{
	return true;
}

static inline void module_put(struct module *module)
{
}

#endif
