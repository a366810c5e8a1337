# SPDX-License-Identifier: BSD-2-Clause
# The stock tools of infiniband-diags on nodes of a fabric: what they find is what the
# fabric says of itself.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need ibstat sminfo smpquery saquery ibnetdiscover iblinkinfo ibhosts ibswitches ibroute \
	ibtracert perfquery ibping

lines()
{
	grep -cE -- "$1" "$site_work/run.out"
}

say 'a fabric of four nodes'
ours fabric up --nodes 4
site_run='--node h2'
switch=$(switch_name)

say 'ibstat'
run ibstat
says run "^CA 'vib0'\$"
says run "Node GUID: $(guid_of h2)\$"
says run 'State: Active$'
says run "Base lid: $(lid_of h2)\$"
says run 'Link layer: InfiniBand$'
run ibstat -l
[ "$(cat "$site_work/run.out")" = vib0 ] || fail "the list: $(cat "$site_work/run.out")"

say 'sminfo and smpquery'
run sminfo
says run 'SMINFO_MASTER$'
run smpquery nodeinfo "$(lid_of h4)"
says run "^Guid:\.+$(guid_of h4)\$"
run smpquery nodedesc "$(lid_of h3)"
says run ':\.+h3$'
run smpquery -D nodedesc 0,1
says run ":\.+$switch\$"
run smpquery -D portinfo 0 1
says run "^Lid:\.+$(lid_of h2)\$"
says run '^LinkState:\.+Active$'

say 'what is connected'
run ibnetdiscover
[ "$(lines '^Switch')" = 1 ] && [ "$(lines '^Ca')" = 4 ] || fail 'nodes of ibnetdiscover'
for node in h1 h2 h3 h4; do
	says run "^\[[0-9]+\].*\"$node\" lid $(lid_of $node) "
done
run ibhosts
[ "$(lines '^Ca')" = 4 ] || fail 'ibhosts'
says run "$(guid_of h1) ports 1 \"h1\"\$"
run ibswitches
says run "$(guid_of "$switch") ports [0-9]+ \"$switch\".* lid $(lid_of "$switch") "
run iblinkinfo
[ "$(lines 'Active/ +LinkUp')" = 8 ] || fail 'links of iblinkinfo'

say 'routes'
run ibroute "$(lid_of "$switch")"
says run '^5 valid lids dumped'
broadcast_is_routed()
{
	run ibroute -M "$(lid_of "$switch")"
	said run '^0x[cC]000 +x +x +x +x'
}
wait_for 20 'the broadcast group has all ports' broadcast_is_routed
run ibtracert "$(lid_of h2)" "$(lid_of h4)"
says run "^From ca .* lid $(lid_of h2)-.* \"h2\"\$"
says run "-> ca port .* lid $(lid_of h4)-.* \"h4\"\$"

say 'counters'
run perfquery
says run "Port counters: Lid $(lid_of h2) port 1"
run perfquery "$(lid_of "$switch")" 255
says run '^PortSelect:\.+255$'

say 'the subnet administrator'
run saquery
[ "$(lines '^NodeRecord')" = 5 ] || fail 'node records'
says run 'NodeDescription\.+h4$'
run saquery -p --src-to-dst "$(lid_of h2):$(lid_of h3)"
says run "dlid\.+$(lid_of h3)\$"

say 'a server of pings, which dies'
site_run='--node h4' start server ibping -S
answered()
{
	timeout 120 "$VERBCAST" run --node h2 -- ibping -c 1 "$(lid_of h4)" 2>/dev/null |
		grep -q ' 0% packet loss'
}
wait_for 20 'a ping is answered' answered
site_run='--node h4' start rival ibping -S
ended rival 20 255
says rival "can't serve class"
killed server
site_run='--node h4' start server ibping -S
wait_for 20 'its successor answers' answered
killed server
say 'the same again, as ibnetdiscover has described it, with room for many groups'
groups=2000
site_run='--node h2'
run ibnetdiscover
sed '/^switchguid=/i mftcap=4096' "$site_work/run.out" >"$site_work/topology"
guid=$(guid_of h2)
ours stop
ours fabric up --topology "$site_work/topology"
[ "$(guid_of h2)" = "$guid" ] || fail "h2 has not the GUID $guid"

say 'agents, timeouts, and tables of many segments'
run "$VERBCAST_BUILD/tests/apps/bin/manager" "$groups"
says run "^$groups groups\$"
run saquery -g
[ "$(lines '^MCMemberRecord')" = $((groups + 1)) ] ||
	fail "saquery finds $(lines '^MCMemberRecord') groups"

ours stop

say 'a ring of switches'
ours fabric up --ring 3:2
site_run='--node h1'
run ibnetdiscover
[ "$(lines '^Switch')" = 3 ] && [ "$(lines '^Ca')" = 6 ] || fail 'nodes of the ring'
run saquery
[ "$(lines '^NodeRecord')" = 9 ] || fail 'node records of the ring'
run iblinkinfo
[ "$(lines 'Active/ +LinkUp')" = 18 ] || fail 'links of the ring'
for node in h2 h3 h4 h5 h6; do
	run ibtracert "$(lid_of h1)" "$(lid_of $node)"
	says run "-> ca port .* \"$node\"\$"
done
ours stop

say 'no fabric, no management'
"${VERBCAST%/*}/verbcastd" --background --stay --no-fabric || fail 'verbcastd --no-fabric'
site_keep
site_run=''
run ibstat -l
[ ! -s "$site_work/run.out" ] || fail 'a device without a fabric'
site_end
