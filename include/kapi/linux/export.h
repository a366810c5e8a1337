/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KAPI_LINUX_EXPORT_H
#define KAPI_LINUX_EXPORT_H

#define EXPORT_SYMBOL(name)     _Static_assert(sizeof(&(name)), #name)
#define EXPORT_SYMBOL_GPL(name) EXPORT_SYMBOL(name)

#endif
