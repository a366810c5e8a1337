# SPDX-License-Identifier: BSD-2-Clause
# Whoever stops a site is done when that one has ended, also where the next one is there
# before he looks.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin

# state NAME: T is stopped by a signal, Z ended and not waited for.
state()
{
	cut -d' ' -f3 "/proc/$(pid "$1")/stat"
}

halted_or_ended()
{
	[[ $(state "$1") == [TZ] ]]
}

# True: verbcastd has begun to end, and `stop` was halted before it was done.
halt_stop()
{
	local stopper end=$((SECONDS + 60 * site_slow))

	start_with stopper "$VERBCAST" stop
	stopper=$(pid stopper)
	# It takes some milliseconds: no time to start a program.
	while [ -S "$socket" ]; do
		[ $SECONDS -lt $end ] || fail 'it does not begin to end'
	done
	kill -STOP "$stopper"
	wait_for 10 'the signal arrives' halted_or_ended stopper
	[ "$(state stopper)" = T ]
}

# One that has much to give back, so that there is time.
for try in $(seq 50); do
	ours fabric up --nodes 100
	daemon=$(status .pid)
	socket=$(echo "$VERBCAST_RUNTIME_DIR"/*.sock)
	halt_stop && break
	ended stopper 60
	[ "$try" != 50 ] || fail "stop is always quicker"
done
say "halted at try $try"
wait_for 30 'verbcastd is gone' daemon_gone "$daemon"
site_keep
kill -CONT "$(pid stopper)"
ended stopper 30
[ "$(status .pid)" != "$daemon" ] || fail 'the site did not end'
site_end
