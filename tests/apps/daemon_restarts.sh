# SPDX-License-Identifier: BSD-2-Clause
# verbcastd is killed under traffic and started again, over and over, while the same
# programs stay: each time they hear that their device is lost, what they posted comes
# back, blocked calls return, and with the next verbcastd they talk on.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
reopener=$VERBCAST_BUILD/tests/apps/bin/reopener
clients='first second sleeper'

# all_said PATTERN: every client has said that.
all_said()
{
	local client

	for client in $clients; do
		alive $client || fail "$client has ended"
		said $client "$1" || return 1
	done
}

site_keep
start first $reopener 239.1.15.1 poll
start second $reopener 239.1.15.1 poll
start sleeper $reopener 239.1.15.1 wait

for round in $(seq "$(count 5 100)"); do
	say "death $round"
	wait_for 30 'all hear each other' all_said "^heard $round\$"
	daemon=$(site_daemon)
	[ "$(cat "/proc/$daemon/comm")" = verbcastd ] || fail "process $daemon is no verbcastd"
	kill -KILL "$daemon"
	wait_for 10 'verbcastd is gone' process_gone "$daemon"
	wait_for 30 'all know that their device is lost' all_said "^fatal $round\$"
	wait_for 30 'all receives have come back' all_said "^flushed $round\$"
	killed keeper
	site_keep
done
wait_for 30 'all hear each other' all_said "^heard $((round + 1))\$"
members_are 239.1.15.1 3 || fail 'not three members'

for client in $clients; do
	killed $client
	quiet $client
done
wait_for 10 'nobody is left' members_are 239.1.15.1 0
site_end
