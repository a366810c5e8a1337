# SPDX-License-Identifier: BSD-2-Clause
# Ports with several LIDs, by the embedded subnet manager and by OpenSM: what stock tools
# find is what the LMC says, the ways to a port's LIDs differ, and path bits are kept from
# end to end. And what becomes of LIDs and groups when a manager with another LMC takes over.
# ctest: TIMEOUT 1200
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need jq ibstat ibaddr saquery smpquery ibroute ibtracert mckey stdbuf
bin=$VERBCAST_BUILD/tests/apps/bin

lids()
{
	fabric_shows '[.nodes[] | "\(.name) \(.lid)"] | sort | join(", ")'
}

lids_are()
{
	[ "$(lids)" = "$1" ]
}

# lmc_is N: of all adapters; switches have one LID each.
lmc_is()
{
	[ "$(fabric_shows '[.nodes[] | "\(.type) \(.lmc)"] | unique | join(", ")')" = \
		"adapter $1, switch 0" ]
}

# manages NODE: one of our managers there is the only master, and has done its work. Before
# that it has told ports of LIDs, but answers nobody.
manages()
{
	[ "$(fabric_shows '[.sms[] | select(.state == "master") | "\(.node) \(.up)"] | join(", ")')" = \
		"$1 true" ]
}

stands_by()
{
	[ "$(fabric_shows '.sms[] | select(.node == $node) | .state' --arg node "$1")" = standby ]
}

opensm_is_up()
{
	grep -q 'SUBNET UP' "$site_work/osm/log"
}

lines()
{
	grep -cE -- "$1" "$site_work/run.out"
}

gid_of()
{
	vib_port "$1" '.gids[0]'
}

# The way to a port's LID, as the switches that ibtracert comes by.
way()
{
	run ibtracert "$1" "$2"
	sed -n 's/.*-> switch port {\([^}]*\)}.*/\1/p' "$site_work/run.out" | xargs
}

# records LMC: each LID of h7's names it, and there is a path to it.
records()
{
	local lid last count=$((1 << $1)) first from

	first=$(lid_of h7)
	from=$(lid_of h2)
	last=$((first + count - 1))
	for lid in "$first" "$last"; do
		run saquery NR "$lid"
		says run "lid\.+$first\$"
		says run 'NodeDescription\.+h7$'
		run saquery PIR "$lid"
		says run "EndPortLid\.+$first\$"
		says run "LMC:\.+$1\$"
		run smpquery -L portinfo "$lid"
		says run "^Lid:\.+$first\$"
		says run "^LMC:\.+$1\$"
		run saquery PR --slid "$from" --dlid "$lid"
		[ "$(lines "dlid\.+$lid\$")" = 1 ] || fail "paths to LID $lid"
	done
	run saquery NR $((last + 1))
	[ "$(lines 'NodeDescription\.+h7$')" = 0 ] || fail "LID $((last + 1)) is h7's"
	run saquery PR --sgid "$(gid_of h2)" --dgid "$(gid_of h7)"
	[ "$(lines '^PathRecord')" = $((count * count)) ] || fail "paths: $(lines '^PathRecord')"
	[ "$(lines 'preference\.+0x0$')" = "$count" ] || fail 'paths without an end in common'
	run saquery PR --sgid "$(gid_of h2)" --dgid "$(gid_of h7)" --numb_path "$count"
	[ "$(lines 'preference\.+0x0$')" = "$count" ] || fail "the first $count paths"
	run ibroute "$(lid_of s1)"
	says run "^$((8 * count + 4)) valid lids dumped"
	[ "$(lines "^0x.*path #$count out of $count")" = 8 ] || fail 'the last LIDs in the table'
}

# path_bits LMC: between h2 and h7.
path_bits()
{
	site_run='--node h7' start "hear$1" "$bin/path_bits" hear $((2 << 2 * $1))
	wait_for 20 'h7 listens' said "hear$1" '^at '
	run "$bin/path_bits" say "$(lid_of h7)" "$1" \
		"$(sed -n 's/^at //p' "$site_work/hear$1.out")" "$(gid_of h7)"
	ended "hear$1" 20
	quiet "hear$1"
	run "$bin/path_bits" manage "$(lid_of h7)" "$1"
}

# heard NAME: a group of mckey's, from h2 to h5 and h8.
heard()
{
	local node group mlid

	wait_for 60 'all are in the broadcast group' broadcast_has h1 8
	for node in h5 h8; do
		site_run="--node $node" start "$1-$node" stdbuf -oL mckey \
			-b "198.18.0.${node#h}" -m 239.7.0.9 -C 10
		wait_for 20 "$node has joined" mckey_joined "$1-$node"
	done
	read -r group mlid <<<"$(mckey_group "$1-h5")"
	ours group join --node h2 "$group"
	wait_for 30 'the tables lead to both' leads "$mlid" h2 h5 h8
	site_run='--node h2' start "$1-h2" stdbuf -oL mckey -b 198.18.0.2 -m 239.7.0.9 -C 10 -s
	for node in h2 h5 h8; do
		ended "$1-$node" 60
		quiet "$1-$node"
		says "$1-$node" '^data transfers complete$'
	done
	ours group leave --node h2 "$group"
}

say 'what there are not enough LIDs for'
fails 2 "'8'.*0 to 7|0 to 7" fabric up --lmc 8
refused 'up to --lmc 6' fabric up --fat-tree 14 --lmc 7
refused 'no-sm leaves it out' fabric up --lmc 1 --no-sm

for lmc in 1 3; do
	say "an LMC of $lmc"
	ours fabric up --ring 4:2 --lmc $lmc
	refused "runs already, with the fabric --ring 4:2 --lmc $lmc:" fabric up --ring 4:2
	lmc_is $lmc || fail "LMCs: $(fabric_shows '[.nodes[].lmc]')"
	site_run='--node h2'
	run ibstat
	says run "LMC: $lmc\$"
	records $lmc
	# Around the ring there are two ways to the switch opposite.
	from=$(lid_of h3) to=$(lid_of h7)
	site_run='--node h2'
	[ "$(way "$from" "$to")" != "$(way "$from" $((to + 1)))" ] ||
		fail "both LIDs are reached by $(way "$from" "$to")"
	path_bits $lmc
	heard "lmc$lmc"
	[ $lmc = 3 ] || ours stop
done

say 'a manager with a smaller LMC takes over: all keep their first LIDs'
before=$(lids)
ours fabric sm start --lmc 1 --priority 5 h3
wait_for 20 'h3 manages' manages h3
wait_for 20 'LMC is 1' lmc_is 1
wait_for 20 'all have their first LIDs' lids_are "$before"
site_run='--node h2'
wait_for 20 'the administrator answers' sa_serves h2
site_run='--node h2'
records 1
path_bits 1
heard smaller

say 'one with a greater LMC: who must not keep them gets others'
ours fabric sm stop h3
wait_for 20 'the first one manages' manages s1
wait_for 20 'LMC is 3' lmc_is 3
[ "$(lids)" = "$before" ] || fail "LIDs were $before and are $(lids)"
ours fabric sm start --lmc 5 --priority 5 h4
wait_for 20 'h4 manages' manages h4
wait_for 20 'LMC is 5' lmc_is 5
wait_for 20 'the administrator answers' sa_serves h2
heard greater
ours stop

if command -v opensm >/dev/null; then
	say 'OpenSM takes over, with another LMC'
	ours fabric up --ring 4:2 --lmc 1
	lmc_is 1 || fail 'LMC'
	mkdir "$site_work/osm"
	echo 'force_log_flush TRUE' >"$site_work/osm/conf"
	OSM_TMP_DIR=$site_work/osm OSM_CACHE_DIR=$site_work/osm site_run='--node h1' \
		start opensm opensm -F "$site_work/osm/conf" -l 2 -p 9 -g 0 -f "$site_work/osm/log"
	wait_for 60 'OpenSM has done its work' opensm_is_up
	# Ours would take over as soon as OpenSM gets no CPU for a moment, and cost members.
	ours fabric sm stop
	wait_for 60 'LMC is 2' lmc_is 2
	wait_for 60 'OpenSM answers' sa_serves h2
	site_run='--node h2'
	records 2
	path_bits 2
	heard opensm
	ours fabric sm start
	wait_for 20 'ours stands by' stands_by s1
	killed opensm
	wait_for 60 'ours is back' manages s1
	wait_for 60 'LMC is 1' lmc_is 1
	wait_for 20 'the administrator answers' sa_serves h2
	site_run='--node h2'
	records 1
	heard ours
fi
site_end
