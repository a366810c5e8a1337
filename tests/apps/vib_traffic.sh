# SPDX-License-Identifier: BSD-2-Clause
# Eight queue pairs in processes on two nodes, a sender on each of the nodes in turn and
# on a third one: numbered datagrams of all lengths reach all of them, in order, with the
# content, the header and the addresses that they should have.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
bin=$VERBCAST_BUILD/tests/apps/bin
count=$(count 1000 10000)

ours fabric up --ring 3:1
n=0
for sender in h1 h2 h3; do
	n=$((n + 1))
	group=239.4.1.$n
	mgid=ff12:4001:ffff::f04:10$n
	say "from $sender to $mgid"
	for who in h1.a h1.b h2.a h2.b; do
		node=${who%.*}
		site_run="--node $node" start "$who" "$bin/member" -m $group \
			-b "198.18.0.${node#h}" -q 2 -r "$count" \
			-L "$(vib_port $sender .lid)" -G "$(vib_port $sender '.gids[0]')"
	done
	for who in h1.a h1.b h2.a h2.b; do
		wait_for 20 "$who is a member" said $who joined
	done
	site_run="--node $sender" run "$bin/member" -m $group -b 198.18.0.${sender#h} \
		-s "$count"
	says run "^qp [0-9]+ sent $count\$"
	qpn=$(sed -n 's/^qp \([0-9]*\) sent.*/\1/p' "$site_work/run.out")
	for who in h1.a h1.b h2.a h2.b; do
		of=$(pid $who)
		ended $who 30
		quiet $who
		[ "$(grep -c "^qp [0-9]* got $count from $qpn\$" "$site_work/$who.out")" = 2 ] ||
			fail "$who has not got $count from queue pair $qpn"
		got $mgid "$of" "$count" 2
	done
done
site_end
