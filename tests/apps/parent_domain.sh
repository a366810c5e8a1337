# SPDX-License-Identifier: BSD-2-Clause
# Parent domains and the program's own memory for rings.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
run "$VERBCAST_BUILD/tests/apps/bin/parent_domain"
site_end
