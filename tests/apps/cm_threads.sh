# SPDX-License-Identifier: BSD-2-Clause
# Ids of rdma_cm by threads and by the ten thousand: nothing grows, nothing stays.
# ctest: TIMEOUT 400 COST 11 LABELS threads
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep

start threads "$VERBCAST_BUILD/tests/apps/bin/cm_threads" "$(site_daemon)"
ended threads "$(pick 200 4000)"
quiet threads
say "$(cat "$site_work/threads.out")"
[ "$(status '[.groups[] | .members[] | select(.state == "attached")] | length')" = 0 ] ||
	fail 'members are left'
site_end
