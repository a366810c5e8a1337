# SPDX-License-Identifier: BSD-2-Clause
# A fabric from the command line: what it consists of, what programs on its nodes see of
# it, and that it lives through pulled cables and a killed subnet manager.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need ibv_devinfo

# devinfo NODE: what ibv_devinfo says there of vib0's port.
devinfo()
{
	site_run="--node $1" run ibv_devinfo -d vib0
}

say 'a fabric of four nodes'
ours fabric up --nodes 4
says ours '^site default is up: nodes h1, h2, h3, h4$'
[ "$(status '[.nodes[].name] | join(" ")')" = 'h1 h2 h3 h4' ] || fail 'the nodes of the status'
[ "$(status '.nodes[0].devices[0].name')" = vroce0 ] || fail 'the first node is the machine'
[ "$(status '[.nodes[1:][].devices[].name] | unique | join(" ")')" = vib0 ] ||
	fail 'the other nodes have vib0 alone'
for node in h1 h2 h3 h4; do
	vib_port_is $node ACTIVE || fail "$node is $(vib_port $node .state)"
done
[ "$(fabric_shows '.sm.state')" = master ] || fail "the subnet manager is $(fabric_shows .sm.state)"
[ "$(fabric_shows '[.nodes[] | .lid | select(. > 0)] | unique | length')" = 5 ] || fail 'the LIDs'
[ "$(fabric_shows '[.nodes[] | select(.type == "switch")] | length')" = 1 ] || fail 'the switches'
ours fabric show
says ours '^subnet manager master, behind .*, all is up$'
says ours '^adapter h3 guid 0x[0-9a-f]{16} lid [0-9]+$'
says ours '^  port 1 +ACTIVE +to .* port 3$'

say 'the same again is the same site, another is not'
daemon=$(site_daemon)
ours fabric up --nodes 4
[ "$(site_daemon)" = "$daemon" ] || fail 'another daemon'
refused 'runs already, with the fabric --nodes 4' fabric up --nodes 5
refused 'runs already' fabric up --ring 4

say 'programs on the nodes'
for node in h2 h4; do
	lid=$(lid_of $node)
	devinfo $node
	says run 'state:[[:space:]]+PORT_ACTIVE'
	says run "port_lid:[[:space:]]+$lid\$"
	says run 'link_layer:[[:space:]]+InfiniBand'
	guid=$(guid_of $node | sed 's/^0x//')
	run true
	site_run="--node $node" run sh -c 'cat "$VERBCAST_SYSFS/sys/class/infiniband/vib0/node_guid"
		cat "$VERBCAST_SYSFS/sys/class/infiniband/vib0/ports/1/state"
		ls "$VERBCAST_SYSFS/sys/class/infiniband"'
	[ "$(tr -d ':\n' <"$site_work/run.out")" = "${guid}4 ACTIVEvib0" ] ||
		fail "the tree of $node: $(cat "$site_work/run.out")"
done
site_run='--node local' run ibv_devices
says run vroce0
fails 125 "no node 'h9'; it has h1, h2, h3, h4" run --node h9 -- true

say 'a copy on each of several nodes'
site_run='--nodes h2-h4,h1' run sh -c 'echo "I am $VERBCAST_NODE"; printf end'
for node in h1 h2 h3 h4; do
	says run "^$node: I am $node\$"
done
[ "$(grep -c '^h[1-4]: end$' "$site_work/run.out")" = 4 ] || fail 'a line without an end'
fails 7 '^h3: oh$' run --nodes h1-3 -- sh -c '[ $VERBCAST_NODE != h3 ] || { echo oh >&2; exit 7; }'
fails 143 '' run --nodes h1,h2 -- sh -c '[ $VERBCAST_NODE != h2 ] || kill -TERM $$'
site_run='--nodes h1,h2' start copies sh -c 'echo $$; exec sleep 300'
wait_for 20 'both copies run' eval '[ "$(grep -c "^h[12]: [0-9]*$" "$site_work/copies.out")" = 2 ]'
killed copies KILL
for copy in $(sed 's/.*: //' "$site_work/copies.out"); do
	wait_for 20 "copy $copy ends with verbcast run" process_gone "$copy"
done
fails 125 "h9: .*no node 'h9'" run --nodes h1,h9 -- true
fails 125 'no list of nodes' run --nodes h1,,h2 -- true
fails 125 'exclude each other' run --nodes h1 --node h2 -- true

say 'a cable'
ours fabric link down h3 1
wait_for 10 'h3 is down' vib_port_is h3 DOWN
wait_for 10 'its interface is' eval '[ "$(vib_port h3 .joined)" = false ]'
vib_port_is h2 ACTIVE || fail 'h2 is down, too'
devinfo h3
says run 'state:[[:space:]]+PORT_DOWN'
ours fabric show
says ours '^  port 1 +DOWN +to .* port 3, link down$'
ours fabric link up h3 1
wait_for 20 'h3 is up again' vib_port_is h3 ACTIVE
refused "no node 'nobody', or" fabric link down nobody 1
refused "no link at port 99" fabric link down h1 99

say 'power'
ours fabric node power off h2
wait_for 10 'h2 is down' vib_port_is h2 DOWN
ours fabric node power on h2
wait_for 20 'h2 is up again' vib_port_is h2 ACTIVE
refused "no node 'nobody'" fabric node power off nobody

# cycled NODE: its power, and all is up again. $powered: in nanoseconds, when it came back.
cycled()
{
	ours fabric node power off "$1"
	wait_for 10 'h2 or h4 is down' eval 'vib_port_is h2 DOWN || vib_port_is h4 DOWN'
	powered=$(date +%s%N)
	ours fabric node power on "$1"
	wait_for 20 "all is up after $1" eval 'vib_port_is h1 ACTIVE && vib_port_is h2 ACTIVE && vib_port_is h4 ACTIVE'
}

# at_once NODE: the same, before the subnet manager has looked by itself: that is ten seconds
# after its last look, and there was one after $powered. A busy machine may need all that
# for itself, and is asked again.
at_once()
{
	local last try

	for try in 1 2 3 4 5 6; do
		last=$powered
		cycled "$1"
		[ $(($(date +%s%N) - last)) -ge 10000000000 ] || return
	done
	fail "after $1 all was up by chance alone, $try times"
}

say 'the power of what the subnet manager stands on'
# Nobody else tells it.
cycled s1
at_once s1
ours fabric sm stop
powered=$(date +%s%N)
ours fabric sm start h4
wait_for 20 'h4 manages' eval '[ "$(fabric_shows ".sms[1].state")" = master ]'
at_once h4
at_once s1
ours fabric sm stop h4
ours fabric sm start

say 'the subnet manager is killed'
ours fabric sm stop
[ "$(fabric_shows .sm.state)" = stopped ] || fail "the subnet manager is $(fabric_shows .sm.state)"
vib_port_is h2 ACTIVE || fail 'a port does not live without subnet manager'
refused 'stopped already' fabric sm stop
refused 'no subnet administrator' sa drop
ours fabric link down h4 1
wait_for 10 'h4 is down' vib_port_is h4 DOWN
ours fabric link up h4 1
wait_for 10 'h4 has a link, and nobody brings it up' vib_port_is h4 INIT
ours fabric sm start
wait_for 20 'h4 is up again' vib_port_is h4 ACTIVE
refused 'runs already' fabric sm start
ours stop

say 'other shapes'
ours fabric up --ring 3:2
[ "$(status '.nodes | length')" = 6 ] || fail 'nodes of a ring'
[ "$(fabric_shows '[.nodes[] | select(.type == "switch")] | length')" = 3 ] || fail 'a ring'
ours stop
ours fabric up --fat-tree 4
[ "$(status '.nodes | length')" = 16 ] || fail 'nodes of a fat tree'
[ "$(status '[.nodes[].devices[] | select(.name == "vib0") | .ports[0].state] | unique | join(" ")')" = ACTIVE ] ||
	fail 'a fat tree is not active'
wait_for 10 'all interfaces have joined' interfaces_joined 16
# One after another at more places than there may be at once.
for i in $(seq 16); do
	ours fabric sm start "h$i"
	ours fabric sm stop "h$i"
done
wait_for 20 'the first one is master' eval '[ "$(fabric_shows ".sms[0].state")" = master ]'
[ "$(fabric_shows '[.sms[].node] | index("h16") != null')" = true ] || fail 'the last one is not shown'
ours stop
ours fabric up --nodes 2 --no-sm
[ "$(fabric_shows .sm.state)" = none ] || fail 'a subnet manager'
vib_port_is h2 INIT || fail "without subnet manager h2 is $(vib_port h2 .state)"
refused 'without a subnet manager' fabric sm start
ours stop

say 'a topology by file'
cat >"$site_work/topology" <<'END'
Switch	4 "S-0002c90000000001"		# "leaf" enhanced port 0 lid 1 lmc 0
[1]	"H-0002c90000000010"[1](2c90000000011)		# "alpha" lid 2 4xEDR
[2]	"H-0002c90000000020"[1](2c90000000021)		# "beta" lid 3 4xEDR

Ca	1 "H-0002c90000000010"		# "alpha"
[1](2c90000000011)	"S-0002c90000000001"[1]		# lid 2 lmc 0 "leaf" lid 1 4xEDR

Ca	1 "H-0002c90000000020"		# "beta"
[1](2c90000000021)	"S-0002c90000000001"[2]		# lid 3 lmc 0 "leaf" lid 1 4xEDR
END
(cd "$site_work" && timeout 120 "$VERBCAST" fabric up --topology topology >ours.out 2>ours.err) ||
	fail "a topology: $(cat "$site_work/ours.err")"
[ "$(status '.nodes | length')" = 2 ] || fail 'nodes of a topology'
ours stop
echo nonsense >"$site_work/nonsense"
refused 'nonsense' fabric up --topology "$site_work/nonsense"
refused 'nosuchfile' fabric up --topology "$site_work/nosuchfile"

say 'no fabric'
"${VERBCAST%/*}/verbcastd" --background --no-fabric || fail 'verbcastd --no-fabric'
site_keep
[ "$(status '[.nodes[].devices[].name | select(startswith("vib"))] | length')" = 0 ] ||
	fail 'vib0 without a fabric'
refused 'no fabric' fabric show
refused 'no fabric' group list

say 'wrong uses'
fails 2 'which|what' fabric
fails 2 "no 'nonsense'" fabric nonsense
fails 2 'one shape' fabric up --nodes 2 --ring 3
fails 2 '3 to 123' fabric up --ring 124
fails 2 'stop or start' fabric sm nonsense
fails 2 'unknown option' fabric show --nonsense
fails 2 'power off' fabric node
fails 2 'by how much' sa delay
fails 2 'no MGID' group join 239.1.2.3
fails 2 "site's name" fabric show --site ../escape
refused 'no verbcastd runs' fabric show --site other
site_end
