# SPDX-License-Identifier: BSD-2-Clause
# A fabric that loses a fifth of its management datagrams on each way: OpenSM and our own
# manager bring it up all the same, joins and leaves come true, tables come whole, and
# what was made under loss is exactly what is there afterwards.
# ctest: TIMEOUT 900
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm saquery smpquery
bin=$VERBCAST_BUILD/tests/apps/bin
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
ip=239.9.1.1
group=ff12:4001:ffff::f09:101

# loss PERCENT: of each link. To OpenSM, which is behind an adapter, it is two of them; to
# ours, which is in the switch, one.
loss()
{
	ours fabric loss "$1"
}

lost()
{
	fabric_shows .mads.lost
}

# known NODE...: whom the SA has in the group. Without loss it is asked at once.
known()
{
	[ "$(sa_members h1 $group)" = "$*" ]
}

joined()
{
	said "$1" '^joined$'
}

both_heard()
{
	said two '^heard$' && said three '^heard$'
}

sent_and_heard()
{
	timeout 120 "$VERBCAST" run --node h1 -- "$bin/member" -m "$ip" -b 198.18.0.1 -s 1 \
		-S 64 >"$site_work/send.out" 2>&1
	within 1 both_heard
}

tables_are_whole()
{
	timeout 120 "$VERBCAST" run --node h3 -- saquery >"$site_work/nodes.out" 2>/dev/null &&
		[ "$(grep -c '^NodeRecord' "$site_work/nodes.out")" = 5 ]
}

# left NAME NODE: no request of its own is owed. Who was reset (a request of the manager's
# came twice, since its answer was lost) and killed before he had joined anew, asks for
# nothing any more, but the SA has him yet.
left()
{
	[ "$(grep -E '^(joined|lost)$' "$site_work/$1.out" | tail -n 1)" = lost ] || return 0
	site_run="--node $2" start "$1" "$bin/faithful" "$ip" "198.18.0.${2#h}"
	wait_for 90 "$2 has joined again" joined "$1"
	killed "$1"
}

# under_loss: members come, hear, and go; all with a fifth of the datagrams lost.
under_loss()
{
	site_run='--node h2' start two "$bin/faithful" "$ip" 198.18.0.2
	site_run='--node h3' start three "$bin/faithful" "$ip" 198.18.0.3
	wait_for 90 'h2 has joined' joined two
	wait_for 90 'h3 has joined' joined three
	wait_for 90 'both hear' sent_and_heard
	wait_for 60 'a table of all nodes' tables_are_whole
	killed two
	loss 0
	left two h2
	wait_for 60 'h3 alone is a member' known h3
	killed three
	left three h3
	quiet two three
	wait_for 60 'nobody is a member' known
	[ "$(lost)" -gt 3 ] || fail "only $(lost) datagrams were lost"
}

say 'OpenSM'
ours fabric up --nodes 4 --no-sm
loss 10
site_run='--node h1' start opensm opensm -f "$site_work/log" -g 0
wait_for 90 'all ports are active' vib_ports_are ACTIVE
under_loss
killed opensm TERM
ours stop

say 'ours'
ours fabric up --nodes 4
loss 20
ours fabric sm stop
ours fabric sm start
wait_for 60 'all ports are active' vib_ports_are ACTIVE
under_loss
site_end
