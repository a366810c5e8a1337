# SPDX-License-Identifier: BSD-2-Clause
# Leaving groups: what is compared, who is waited for, who goes on receiving.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep

run "$VERBCAST_BUILD/tests/apps/bin/leave" "$(site_daemon)"
say "$(cat "$site_work/run.out")"
[ "$(status '[.groups[] | .members[] | select(.state == "attached")] | length')" = 0 ] ||
	fail 'members are left'
site_end
