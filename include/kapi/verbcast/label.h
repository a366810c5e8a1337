/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every function of the kernel API has a symbol of its own, kapi_NAME, since librdmacm and
 * others have calls of the same names with other signatures: one program may link both.
 */
#ifndef VERBCAST_LABEL_H
#define VERBCAST_LABEL_H

#define KAPI(name) __asm__("kapi_" #name) __attribute__((visibility("default")))

#endif
