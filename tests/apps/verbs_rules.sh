# SPDX-License-Identifier: BSD-2-Clause
# The limits and rules of the verbs that a UD program may call.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
run "$VERBCAST_BUILD/tests/apps/bin/verbs_rules"
site_end
