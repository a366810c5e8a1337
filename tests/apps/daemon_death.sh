# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of verbcastd under traffic: its programs come to an end, nothing is left, and
# the next `verbcast run` finds a site as good as new.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey
member=$VERBCAST_BUILD/tests/apps/bin/member

round()
{
	local group=$1

	start r1 mckey -m "$group" -b 127.0.0.1
	local r1
	r1=$(pid r1)
	wait_for 10 'a member' members_are "$group" 1
	start s mckey -m "$group" -b 127.0.0.1 -s
	ended s 20
	ended r1 20
	got "$group" "$r1" 10
}

for round in $(seq "$(count 2 20)"); do
	say "death $round"
	start polling mckey -m 239.1.9.1 -b 127.0.0.1 -C 16000
	start waiting $member -m 239.1.9.1 -r 16000 -S 100 -w
	wait_for 10 'two members' members_are 239.1.9.1 2
	waiting=$(pid waiting)
	start sender $member -m 239.1.9.1 -s 1000000 -S 100 -i 1000
	wait_for 10 'there is traffic' eval "[ \"\$(delivered 239.1.9.1 $waiting)\" -gt 20 ]"
	daemon=$(site_daemon)
	[ "$(cat "/proc/$daemon/comm")" = verbcastd ] || fail "process $daemon is no verbcastd"
	kill -KILL "$daemon"
	for who in polling waiting sender; do
		within 20 gone $who || fail "$who goes on without verbcastd"
		wait "$(pid $who)"
		unset "site_pid[$who]"
	done
	nothing_left
done

say 'as good as new'
# On a busy machine the site might end by itself before it is looked at, or killed.
site_keep
round 239.1.9.2

say 'a socket without a daemon is no obstacle'
daemon=$(site_daemon)
# The janitor, too, so that the files stay; first, or it might be quick enough to see it.
kill -KILL $(site_processes | cut -d' ' -f1 | grep -vx "$daemon") "$daemon"
wait_for 5 'verbcastd is gone' process_gone "$daemon"
within 5 no_site_processes || fail "left running: $(site_processes)"
runtime_is_empty && fail 'no stale file to be an obstacle'
killed keeper
site_keep
round 239.1.9.3

say 'and it stops in order'
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
wait_for 10 'the directory is empty' runtime_is_empty
site_end dead
