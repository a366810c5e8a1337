# SPDX-License-Identifier: BSD-2-Clause
# The delivery promise: a datagram for which a receive is posted is delivered whether or
# not the program polls. mckey pauses three seconds after joining; the sender starts
# first, so that its thousand datagrams of 4096 bytes arrive in the receivers' pause.
# ctest: TIMEOUT 400 SERIAL
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey

# sleeps PID: its first thread does; one that polls runs.
sleeps()
{
	[ "$(cut -d' ' -f3 "/proc/$1/task/$1/stat")" = S ]
}

for round in $(seq "$(count 3 30)"); do
	group=239.1.4.$round
	say "round $round"
	start sender mckey -m $group -b 127.0.0.1 -s -C 1000 -S 4096
	wait_for 10 'the sender is a member' members_are $group 1
	# Its pause ends while it is stopped, if need be: it begins when all are there.
	kill -STOP "$(pid sender)"
	# Two seconds later they are sure to sleep until after the sender has begun.
	sleep 1
	for r in 1 2 3; do
		start r$r mckey -m $group -b 127.0.0.1 -C 1000 -S 4096
		pids[r]=$(pid r$r)
	done
	wait_for 10 'all are members' members_are $group 4
	kill -CONT "$(pid sender)"
	ended sender 20
	for r in 1 2 3; do
		sleeps "${pids[r]}" || say "receiver $r polls already; this round shows less"
	done
	for r in 1 2 3; do
		ended r$r 20
		quiet r$r
		got $group "${pids[r]}" 1000
	done
	quiet sender
done

say 'a program that sleeps for long, and one that waits on a completion channel'
start idle "$VERBCAST_BUILD/tests/apps/bin/member" -m 239.1.5.1 -r 1000 -S 4096 -d
start waiting "$VERBCAST_BUILD/tests/apps/bin/member" -m 239.1.5.1 -r 1000 -S 4096 -w
idle=$(pid idle)
wait_for 10 'both are members' members_are 239.1.5.1 2
wait_for 10 'the one sleeps' sleeps "$idle"
run "$VERBCAST_BUILD/tests/apps/bin/member" -m 239.1.5.1 -s 1000 -S 4096
# The sender's log holds 512 such datagrams: without the helper that drains for the
# sleeper the others would be lost by now. What the log still holds may wait there.
[ "$(delivered 239.1.5.1 $idle)" -ge $((1000 - 512)) ] ||
	fail 'nobody drains for a program that sleeps'
sleeps "$idle" || fail 'the sleeper has woken'
kill -USR1 "$idle"
ended waiting 20
ended idle 20
quiet waiting idle
got 239.1.5.1 $idle 1000
site_end
