/* SPDX-License-Identifier: BSD-2-Clause */
#include "uapi/protocol/protocol.h"

const char *uapi_op_name(unsigned int op)
{
	switch (op) {
#define UAPI_CASE(number, name, request, reply) \
	case number:                            \
		return #name;
		UAPI_OPS(UAPI_CASE)
#undef UAPI_CASE
	default:
		return "unknown";
	}
}
