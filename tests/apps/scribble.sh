# SPDX-License-Identifier: BSD-2-Clause
# A client that writes random bytes over all the shared memory that it can write, while
# others talk, first over its own (log, doorbell, counters), then also over the doorbells
# of others: what they have to say to each other arrives, once, whole and in order;
# verbcastd goes on and tells what it reads; and whoever comes later is served.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
scribbler=$VERBCAST_BUILD/tests/apps/bin/scribbler
seed=${VERBCAST_SEED:-$(date +%s)}
say "seed $seed"
daemon=$(site_daemon)

# round GROUP MODE: two receivers hear one sender beside it, and one that comes when it
# has gone.
round()
{
	local group=$1 mode=$2 count who

	count=$(count 2000 60000)
	start poller $scribbler "$group" receive $((count + 100))
	start sleeper $scribbler "$group" wait $((count + 100))
	wait_for 20 'both are members' members_are "$group" 2
	start bad $scribbler "$group" "$mode" "$seed"
	wait_for 30 'it scribbles' said bad '^scribbles'
	start sender $scribbler "$group" send "$count"
	# What it says of itself is rubbish by now; that it is told, matters.
	timeout 120 "$VERBCAST" status --json >"$site_work/status.json" || fail 'no status'
	jq -e . "$site_work/status.json" >/dev/null || fail 'the status is no JSON'
	ended sender $((count / 50))
	alive bad || fail "it has not survived it"
	killed bad
	say "$(cat "$site_work/bad.out")"
	start late $scribbler "$group" stay 100 "$count"
	for who in poller sleeper; do
		ended $who 30
		says $who "^got $((count + 100))\$"
		quiet $who
		say "$who: $(cat "$site_work/$who.out")"
	done
	killed late
	[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has not survived it'
}

say 'over its own'
round 239.1.16.1 own

say 'over all that it can write'
round 239.1.16.2 all
site_end
