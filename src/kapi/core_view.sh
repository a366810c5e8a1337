#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# core_view.sh SOURCE-DIR OUT-DIR HEADER...: the core's headers under other names.
#
# The kernel's headers and the core's declare the same names with other contents, and the
# files that translate between the two need both. In the copies made here every name that
# the two have in common begins with core_ (struct core_ib_qp, core_ib_attach_mcast,
# core_IB_QPS_RTS); the functions keep the symbols that the core gave them.
set -eu
src=$1 out=$2
shift 2
for header; do
	mkdir -p "$out/$(dirname "core_view/$header")"
	{
		sed -E '
			s,^#include "(.*)",#include "core_view/\1",
			/^#include/b
			s/\<(ib|IB|rdma|RDMA|sa|SA)_/core_&/g
			s/\<(ERR_PTR|PTR_ERR|IS_ERR|INIT_IB_EVENT_HANDLER|container_of)\>/core_\1/g
			s/\<(list|LIST|hash|HASH)_/core_&/g
			s/\<struct (list|hash)\>/struct core_\1/g
			s/core_(sa_family|sa_data)/\1/g
			s/\<u(8|16|32|64)\>/uint\1_t/g
			/^typedef uint[0-9]+_t uint[0-9]+_t;/d
		' "$src/$header"
		grep -v '^static inline' "$src/$header" |
			grep -oE '(^|[ *])(ib|rdma)_[a-z0-9_]+\(' | tr -d ' *(' | sort -u |
			sed 's/.*/#pragma redefine_extname core_& &/'
	} >"$out/core_view/$header.new"
	# The pragmas have to be seen before the functions.
	{
		grep '^#pragma' "$out/core_view/$header.new" || true
		grep -v '^#pragma' "$out/core_view/$header.new"
	} >"$out/core_view/$header"
	rm "$out/core_view/$header.new"
done
