# SPDX-License-Identifier: BSD-2-Clause
# Senders that end as soon as they have sent, several at a time: their last words are in
# the logs of dead processes, and every receiver gets them once.
# ctest: TIMEOUT 300 COST 8
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey

senders=4
messages=5
for round in $(seq "$(count 2 50)"); do
	say "round $round"
	group=239.1.14.$round
	for receiver in a b c; do
		start $receiver mckey -m "$group" -b 127.0.0.1 -C 1000
	done
	wait_for 20 'three members' members_are "$group" 3
	total=0
	for wave in 1 2; do
		for n in $(seq $senders); do
			start "s$n" mckey -m "$group" -b 127.0.0.1 -C $messages -s -o
		done
		for n in $(seq $senders); do
			ended "s$n" 30
			quiet "s$n"
		done
		total=$((total + senders * messages))
		for receiver in a b c; do
			has_all() { [ "$(delivered "$group" "$(pid $receiver)")" -ge $total ]; }
			wait_for 20 "$receiver has got $total" has_all
		done
	done
	# One message too many would be seen by now or at the next round's end.
	for receiver in a b c; do
		got "$group" "$(pid $receiver)" $total
	done
	# mckey waits for a thousand; let it have its end.
	for receiver in a b c; do
		killed $receiver
	done
done
site_end
