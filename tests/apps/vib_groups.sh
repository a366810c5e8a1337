# SPDX-License-Identifier: BSD-2-Clause
# Groups and their administrator, end to end: which joins of an existing group are
# refused; who is in it when members leave, are killed, or lose the administrator.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
bin=$VERBCAST_BUILD/tests/apps/bin

# joins yes|no OPTION...: of h2 to the group.
joins()
{
	local want=$1

	shift
	if [ "$want" = yes ]; then
		ours group join --node h2 $group "$@"
		ours group leave --node h2 $group
	else
		refused 'the subnet administrator refuses' group join --node h2 $group "$@"
	fi
}

ours fabric up --nodes 3

say 'what does not fit an existing group'
group=ff15:a01b::30
ours group create --node h1 $group --qkey 0x1234 --mtu 2048 --rate 10 --sl 3 --tclass 5 \
	--flow-label 77 --hop-limit 9
while read -r want options; do
	joins $want $options
done <<'END'
yes
yes --qkey 0x1234
no --qkey 0x1235
yes --sl 3
no --sl 4
yes --tclass 5
no --tclass 6
yes --flow-label 77
no --flow-label 78
yes --hop-limit 9
no --hop-limit 10
no --pkey 0x8001
yes --pkey 0xffff
yes --mtu 2048
no --mtu 1024
no --mtu 4096
yes --rate 10
no --rate 5
no --scope 2
yes --join-state non
yes --join-state send-only
yes --join-state send-only-full
END
group_ports_are $group 'h1 full' || fail "members: $(group_ports $group)"
group=ff15:a01b::31
joins no # nobody has created it
joins no --join-state send-only-full
for mgid in fe80::1 ff12:a01b::; do
	timeout 60 "$VERBCAST" group create --node h2 $mgid >"$site_work/join.out" 2>&1
	says join 'refuses|no multicast|no MGID' || fail "$mgid: $(cat "$site_work/join.out")"
done

say 'the last full member leaves, one that sends stays'
group=ff15:a01b::32
ours group create --node h1 $group
ours group join --node h2 $group --join-state send-only
ours group leave --node h1 $group
wait_for 10 'the group is gone' group_ports_are $group ''
ours group create --node h3 $group
wait_for 10 'it is there again' group_ports_are $group 'h3 full'
ours group leave --node h3 $group

say 'a member is killed'
group=ff12:4001:ffff::f06:101
site_run='--node h2' start one "$bin/member" -m 239.6.1.1 -b 198.18.0.2 -k
site_run='--node h3' start two "$bin/member" -m 239.6.1.1 -b 198.18.0.3 -k
wait_for 20 'two members' group_ports_are $group 'h2 full, h3 full'
killed one
wait_for 20 'one is left' group_ports_are $group 'h3 full'
killed two
wait_for 20 'the group is gone' group_ports_are $group ''

say 'the subnet manager begins anew, under traffic'
rounds=$(count 3 100)
site_run='--node h2' start first "$bin/rejoin" 239.6.1.2 198.18.0.2 "$rounds"
site_run='--node h3' start second "$bin/rejoin" 239.6.1.2 198.18.0.3 "$rounds"
site_run='--node h1' start talker "$bin/rejoin" 239.6.1.2 198.18.0.1 "$rounds" send
group=ff12:4001:ffff::f06:102
# heard COUNT: both have, of what is sent since the last join.
heard()
{
	[ "$(grep -c heard "$site_work/first.out")" = "$1" ] &&
		[ "$(grep -c heard "$site_work/second.out")" = "$1" ]
}
for ((n = 1; n <= rounds; n++)); do
	wait_for 20 "both hear, $n" heard $n
	ours fabric sm stop
	ours fabric sm start
done
wait_for 20 'both hear again' heard $((rounds + 1))
ended first 20
ended second 20
for who in first second; do
	[ "$(grep -c joined "$site_work/$who.out")" = $((rounds + 1)) ] || fail "the joins of $who"
	say "$who hears again after $(sed -n 's/heard //p' "$site_work/$who.out" | sort -n | tail -n 1) ms at most"
done
wait_for 10 'the talker is alone' group_ports_are $group 'h1 full'
killed talker

say 'verbcastd is killed'
site_run='--node h2' start waiting "$bin/member" -m 239.6.1.3 -b 198.18.0.2 -r 100 -S 100 -w
site_run='--node h3' start polling "$bin/member" -m 239.6.1.3 -b 198.18.0.3 -r 100 -S 100
# Its port is in the group before a program is attached, which needs verbcastd, too.
for who in waiting polling; do
	wait_for 20 "$who has joined" said $who '^joined$'
done
group_ports_are ff12:4001:ffff::f06:103 'h2 full, h3 full' || fail 'not two members'
kill -KILL "$(site_daemon)"
for who in waiting polling; do
	within 20 gone $who || fail "$who goes on without verbcastd"
	wait "$(pid $who)"
	unset "site_pid[$who]"
	says $who 'Work Request Flushed Error|wrong:'
done
site_end dead
