# SPDX-License-Identifier: BSD-2-Clause
# The tools of infiniband-diags that need a partner, a group, or a refusal: ibsysstat,
# ibping, the multicast form of ibtracert, dump_mfts, dump_lfts, vendstat, ibccquery; and
# what all others show of the subnet. Under our subnet manager and under OpenSM.
# ctest: TIMEOUT 900
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need ibsysstat ibping ibtracert dump_mfts dump_lfts vendstat ibccquery opensm ibstat \
	ibv_devinfo ibnetdiscover iblinkinfo ibhosts ibswitches ibroute smpquery smpdump sminfo
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
group=ff15:a01b::77

lids()
{
	fabric_shows '.nodes[] | "\(.name) \(.lid)"'
}

# tool PROGRAM ARGUMENT...: on h1. It may complain of being replaced by another tool.
tool()
{
	timeout "$((60 * site_slow))" "$VERBCAST" run --node h1 -- \
		"$1" $(patience "$1") "${@:2}" \
		>"$site_work/run.out" 2>"$site_work/run.err" </dev/null
}

# tool_refused PROGRAM ARGUMENT...: by an answer, not for want of one.
tool_refused()
{
	tool "$@" && fail "$* is not refused"
	! grep -qi 'timed out' "$site_work/run.err" "$site_work/run.out" ||
		fail "$*: no answer: $(cat "$site_work/run.err")"
}

answers()
{
	tool "$@"
}

# pong COUNT: that many pings, and as many answers.
pong()
{
	tool ibping -t 20000 -c "$1" -f "$(lid_of h6)"
	said run ' 0% packet loss'
}

routes_to()
{
	tool ibtracert -m "$mlid" "$(lid_of h1)" "$(lid_of "$1")"
}

# shows COUNT PATTERN PROGRAM ARGUMENT...
shows()
{
	local found

	tool "${@:3}" || fail "${*:3}: $(cat "$site_work/run.err")"
	found=$(grep -cE -- "$2" "$site_work/run.out")
	[ "$found" = "$1" ] || fail "${*:3}: $found lines of $2, not $1"
}

the_subnet()
{
	local far=$(lid_of h6)

	shows 1 'State: Active$' ibstat
	shows 1 'sm_lid:[[:space:]]+[1-9]' ibv_devinfo -d vib0
	shows 1 'SMINFO_MASTER$' sminfo
	shows 9 '^(Switch|Ca)[[:space:]]' ibnetdiscover
	shows 18 'Active/ +LinkUp' iblinkinfo
	shows 6 '^Ca[[:space:]]' ibhosts
	shows 3 '^Switch[[:space:]]' ibswitches
	shows 1 '^9 valid lids dumped' ibroute "$(lid_of s2)"
	shows 1 '-> ca port .* "h6"$' ibtracert "$(lid_of h1)" "$far"
	shows 1 '^LinkState:\.+Active$' smpquery portinfo "$far" 1
	# NodeInfo: versions, an adapter, one port; and the GUID.
	shows 1 "^0101 0101 $(guid_of h6 | sed 's/^0x//; s/..../& /g') ?" smpdump "$far" 0x11
	shows 1 '^h1$' smpdump -s -D 0 0x10
	shows 1 '^SMP status: 0xc$' smpdump "$far" 0x99
}

tools()
{
	local far
	far=$(lid_of h6)

	say '  the subnet'
	the_subnet

	say '  what nobody serves'
	tool_refused vendstat -N "$far"
	tool_refused vendstat -N "$(lid_of s2)"
	tool_refused ibccquery CongestionInfo "$far"
	tool ibsysstat "$far" ping && fail 'ibsysstat has no partner'
	tool ibping -c 1 "$far"
	says run ' 100% packet loss'

	say '  ibsysstat, ibping'
	site_run='--node h6' start sysstat ibsysstat -S
	site_run='--node h6' start pings ibping -S
	wait_for 20 'ibsysstat answers' answers ibsysstat "$far" ping
	says run '^sysstat ping succeeded$'
	tool ibsysstat "$far" host || fail 'ibsysstat host'
	tool ibsysstat "$far" cpu || fail 'ibsysstat cpu'
	says run '^cpu 0: '
	wait_for 20 'ibping answers' pong 1
	pong 5 || fail 'not all pings are answered'
	killed sysstat
	killed pings
	tool ibping -c 1 "$far"
	says run ' 100% packet loss'

	say '  a group'
	ours group create --node h1 "$group"
	mlid=$(sed -n 's/.* mlid \([^ ]*\) .*/\1/p' "$site_work/ours.out")
	ours group join --node h3 "$group"
	ours group join --node h6 "$group"
	for node in h3 h6; do
		wait_for 20 "the group's tree leads to $node" routes_to $node
		says run "^To ca .* \"$node\"\$"
	done
	tool ibtracert -m "$mlid" "$(lid_of h1)" "$(lid_of h4)" && fail 'a way to no member'
	tool dump_mfts || fail 'dump_mfts'
	[ "$(grep -c "^${mlid/0xc/0x[cC]}" "$site_work/run.out")" = 3 ] ||
		fail 'the group is not in three tables'
	for node in h1 h3 h6; do ours group leave --node $node "$group"; done

	say '  dump_lfts'
	tool dump_lfts || fail 'dump_lfts'
	[ "$(grep -c '^9 valid lids dumped' "$site_work/run.out")" = 3 ] ||
		fail 'not three tables of nine LIDs'
	lids | while read -r node lid; do
		[ "$(grep -c "^$(printf 0x%04X "$lid").*'$node')" "$site_work/run.out")" = 3 ] ||
			fail "not three ways to $node"
	done || exit 1
}

say 'our subnet manager'
ours fabric up --ring 3:2
tools
ours stop

# ready: the interfaces have joined, so OpenSM has done its part.
ready()
{
	[ "$(timeout 120 "$VERBCAST" run --node h1 -- saquery --smkey 1 -m 0xc000 2>/dev/null |
		grep -c PortGid)" = 6 ]
}

say 'OpenSM'
ours fabric up --ring 3:2 --no-sm
site_run='--node h1' start opensm opensm -f "$site_work/log" -g 0
wait_for 60 'all have joined' ready
tools
killed opensm TERM
site_end
