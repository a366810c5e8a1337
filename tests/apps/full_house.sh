# SPDX-License-Identifier: BSD-2-Clause
# A site with as many clients as it may have says so, and is looked at and ended like any
# other; callers that say nothing keep nobody out.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
member=$VERBCAST_BUILD/tests/apps/bin/member

start_with daemon "${VERBCAST}d" --linger 600 --limit max_clients=2 --limit hello_timeout_ms=600000
wait_for 20 'the site is there' site_daemon >/dev/null
for n in 1 2; do
	start_with member$n "$VERBCAST" run -- $member -m 239.1.32.1 -k
	wait_for 20 "$n members" members_are 239.1.32.1 $n
done

say 'one more'
timeout 60 "$VERBCAST" run -- true >"$site_work/more.out" 2>&1 && fail 'it was let in'
[ "$(cat "$site_work/more.out")" = \
	'verbcast: error: site default is full: its limit max_clients is reached' ] ||
	fail "it is told: $(cat "$site_work/more.out")"

say 'callers that say nothing'
socket=$(echo "$VERBCAST_RUNTIME_DIR"/*.default.sock)
start_with silent "$VERBCAST_BUILD/tests/apps/bin/silent" "$socket" 300
wait_for 20 'they are connected' said silent connected
members_are 239.1.32.1 2 || fail 'the status is not told'

timeout 60 "$VERBCAST" stop || fail 'it does not end'
ended daemon 20
killed silent
for n in 1 2; do killed member$n; done
site_end dead
