/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an exported function fails that this version does not implement.
 *
 * The generated NAME_stubs.c is a list of these macros. Programs are linked with
 * BIND_NOW, so every symbol must be there although hardly any is ever called
 * (spec/userland 1.1). "Not supported" is EOPNOTSUPP everywhere: the pyverbs tests
 * compare with it and skip (spec/userland 2.6).
 *
 * The definitions are weak: the real function replaces its stub by being linked, and
 * the binding seen in the library tells which of the two it holds.
 */
#ifndef SHIM_EXPORTS_STUB_H
#define SHIM_EXPORTS_STUB_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/export.h"

#define STUB(type, name)                                 \
	VC_EXPORT __attribute__((weak)) type name(void); \
	type name(void)

/* returns the positive errno */
#define STUB_errno(name)           \
	STUB(int, name)            \
	{                          \
		return EOPNOTSUPP; \
	}

/* returns the negative errno */
#define STUB_negerrno(name)         \
	STUB(long, name)            \
	{                           \
		return -EOPNOTSUPP; \
	}

/* returns -1 and sets errno */
#define STUB_minus1(name)           \
	STUB(long, name)            \
	{                           \
		errno = EOPNOTSUPP; \
		return -1;          \
	}

/* returns NULL and sets errno */
#define STUB_null(name)             \
	STUB(void *, name)          \
	{                           \
		errno = EOPNOTSUPP; \
		return NULL;        \
	}

/* does nothing */
#define STUB_void(name)  \
	STUB(void, name) \
	{                \
	}

/* returns 0: nothing to do, or a count, number or answer of none */
#define STUB_zero(name)   \
	STUB(long, name)  \
	{                 \
		return 0; \
	}

/* a flag of the library, off */
#define STUB_bool(name)                                   \
	extern VC_EXPORT __attribute__((weak)) bool name; \
	bool name;

/* a definition for one node alone: symbol is "name@node" */
#define STUB_AT(kind, id, symbol) \
	STUB_##kind(id) __asm__(".symver " #id ", " symbol ", remove");

#endif
