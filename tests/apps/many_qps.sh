# SPDX-License-Identifier: BSD-2-Clause
# Eight queue pairs in one process and eight in another, in one group, and a thousand
# numbered datagrams from one byte to the MTU: sixteen thousand completions, each of which
# the receivers check (order, content, byte_len, src_qp, header).
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
member=$VERBCAST_BUILD/tests/apps/bin/member

for round in $(seq "$(count 3 20)"); do
	say "round $round"
	group=239.1.7.$round
	start one $member -m $group -q 8 -r 1000
	start two $member -m $group -q 8 -r 1000 $([ $((round % 2)) = 0 ] && echo -w)
	one=$(pid one) two=$(pid two)
	wait_for 10 'sixteen members' members_are $group 16
	run $member -m $group -s 1000
	sender=$(sed -n 's/^qp \([0-9]*\) sent 1000$/\1/p' "$site_work/run.out")
	[ -n "$sender" ] || fail 'the sender does not say its number'
	for who in one two; do
		ended $who 30
		quiet $who
		n=$(grep -c "^qp [0-9]* got 1000 from $sender\$" "$site_work/$who.out")
		[ "$n" = 8 ] || fail "$who: $n queue pairs got all of it"
	done
	got $group "$one" 1000 8
	got $group "$two" 1000 8
done
site_end
