# SPDX-License-Identifier: BSD-2-Clause
# Stock OpenSM on fabrics of many shapes, with each of its routing engines that the shape
# allows: it sees the subnet up without a complaint, and what stock mckey sends over the
# tables it wrote arrives once at every member, by the members' own counters.
# ctest: TIMEOUT 1800
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm mckey stdbuf
declare -A pids=() options=()
groups=0

# fabric OPTION...: a site with such a fabric, and nothing of what managed another.
fabric()
{
	timeout 120 "$VERBCAST" stop >/dev/null 2>&1
	ours fabric up "$@" --no-sm
	rm -rf "$site_work/osm"
	mkdir "$site_work/osm"
	# Or what it says stays in its buffers.
	echo 'force_log_flush TRUE' >"$site_work/osm/conf"
	options=()
	export OSM_TMP_DIR=$site_work/osm OSM_CACHE_DIR=$site_work/osm
}

# cable down|up NODE PORT
cable()
{
	timeout 120 "$VERBCAST" fabric link "$@" >/dev/null || fail "fabric link $*"
}

first_node()
{
	status '.nodes[0].name'
}

logged()
{
	grep -qE -- "$1" "$site_work/osm/log"
}

# What OpenSM has to say against the fabric. Not this: a trap may come to its agent before
# its own table has the agent (5407); while it is slow, a leave may be asked for once more
# (1B25). On any hardware, too.
complaints()
{
	grep -E ' ERR |Errors during' "$site_work/osm/log" | grep -vE 'ERR (5407|1B25)'
}

# manage ENGINE OPTION...: until the subnet is up.
manage()
{
	local engine=$1

	shift
	: >"$site_work/osm/log"
	[ "$engine" = minhop ] || set -- -R "$engine,no_fallback" "$@"
	site_run="--node $(first_node)" start opensm opensm -F "$site_work/osm/conf" \
		-f "$site_work/osm/log" -g 0 "$@"
	within "$patience" logged 'SUBNET UP' ||
		fail "no SUBNET UP by $engine: $(tail -n 3 "$site_work/osm/log")"
	logged "$engine tables configured on all switches" ||
		fail "tables of another engine than $engine"
}

# ready NODE...: the SA has their ports in the broadcast group, without which rdma_cm joins
# none (EADDRNOTAVAIL). Who does not wait for its answer makes OpenSM complain.
ready()
{
	local members node

	members=$(timeout 120 "$VERBCAST" run --node h1 -- \
		saquery $(patience saquery) --smkey 1 -m 0xc000 2>/dev/null)
	for node in "$@"; do
		grep -q "PortGid.*(h$node)\$" <<<"$members" || return 1
	done
}

# address NUMBER: of the fabric's n-th node.
address()
{
	echo "198.18.$(($1 / 256)).$(($1 % 256))"
}

# member NAME NUMBER MCKEY-ARGUMENT...
member()
{
	site_run="--node h$2" start "$1" stdbuf -oL mckey -b "$(address "$2")" -m "$ip" "${@:3}"
	pids[$1]=$(pid "$1")
}

# deliver SENDER RECEIVER...: all of them nodes, by number; each gets all, once.
deliver()
{
	local from=$1 node group mlid

	shift
	groups=$((groups + 1))
	ip=239.7.$((groups / 200)).$((groups % 200 + 1))
	wait_for 60 'all have joined the broadcast group' ready "$from" "$@"
	for node in "$@"; do member "m$node" "$node"; done
	for node in "$@"; do wait_for 30 "h$node has joined" mckey_joined "m$node"; done
	read -r group mlid <<<"$(mckey_group "m$1")"
	wait_for 30 "$# members" members_are "$group" $#
	timeout 120 "$VERBCAST" group join --node "h$from" "$group" >/dev/null ||
		fail "h$from cannot join"
	wait_for 30 'the tables lead to all members' leads "$mlid" "h$from" "${@/#/h}"
	member sender "$from" -s
	ended sender 60
	quiet sender
	timeout 120 "$VERBCAST" group leave --node "h$from" "$group" >/dev/null ||
		fail "h$from cannot leave"
	for node in "$@"; do
		ended "m$node" 60
		quiet "m$node"
		got "$group" "${pids[m$node]}" 10
	done
}

# managed ENGINE SENDER RECEIVER...: from the first sweep to the last datagram.
managed()
{
	local engine=$1

	shift
	say "  $engine"
	manage "$engine" ${options[$engine]:-}
	deliver "$@"
	[ -z "$(complaints)" ] || fail "OpenSM: $(complaints | head -n 5)"
	killed opensm TERM
}

# two_levels LEAVES SPINES HOSTS: hosts on each leaf. Each leaf has a link to each spine.
two_levels()
{
	local leaf spine host

	for ((leaf = 1; leaf <= $1; leaf++)); do
		echo "Switch $(($2 + $3)) \"l$leaf\""
		for ((host = 1; host <= $3; host++)); do
			echo "[$host] \"h$(((leaf - 1) * $3 + host))\"[1]"
		done
		for ((spine = 1; spine <= $2; spine++)); do
			echo "[$(($3 + spine))] \"s$spine\"[$leaf]"
		done
	done
	for ((spine = 1; spine <= $2; spine++)); do echo "Switch $1 \"s$spine\""; done
	for ((host = 1; host <= $1 * $3; host++)); do echo "Ca 1 \"h$host\""; done
}

# roots SWITCH...: where "up" is, for engines that cannot find it out.
roots()
{
	for switch in "$@"; do guid_of "$switch"; done >"$site_work/osm/roots"
	options[updn]="-a $site_work/osm/roots"
}

shape()
{
	say "$1"
	fabric "${@:2}"
}

patience=60
shape 'one switch' --nodes 5
for engine in $(pick minhop 'minhop updn lash dor dfsssp'); do
	managed "$engine" 1 2 3 5
done

# Two of five switches are where they cannot see each other but by the broken link.
shape 'a ring, and a ring that is broken' --ring 5:2
roots "$(switch_name)"
for engine in $(pick '' 'minhop updn lash dor dfsssp'); do
	managed "$engine" 1 2 4 7 10
done
cable down "$(switch_name)" 3
for engine in $(pick lash 'minhop updn lash dor dfsssp'); do
	managed "$engine" 1 2 4 7 10
done
# What breaks while it manages is gone around, or `leads` does not come true.
if [ "$site_scale" = soak ]; then
	manage minhop
	deliver 1 2 4 7 10
	cable up "$(switch_name)" 3
	deliver 1 2 4 7 10
	cable down "$(switch_name)" 4
	deliver 1 2 4 7 10
	killed opensm TERM
fi

two_levels 3 2 3 >"$site_work/topology"
sed -i 's/^Switch .* "s1"$/mftcap=0\n&/' "$site_work/topology"
shape 'two levels, with a switch without multicast tables' --topology "$site_work/topology"
roots s1 s2
for engine in $(pick updn 'minhop updn ftree lash dfsssp'); do
	managed "$engine" 1 2 4 7 9
done

shape 'three levels' --fat-tree 4
for engine in $(pick ftree 'minhop updn ftree lash dor dfsssp'); do
	managed "$engine" 1 2 3 5 16
done

if [ "$site_scale" = soak ]; then
	shape 'many LIDs a port, lanes and levels' --ring 3:2
	for how in 'minhop -l 2' 'minhop -Q -r' 'lash -Q -l 1' 'dfsssp -Q -l 1' 'minhop -r'; do
		options[${how%% *}]=${how#* }
		managed "${how%% *}" 1 2 4 6
	done

	patience=240
	two_levels 36 18 18 >"$site_work/topology"
	shape 'two levels, 648 hosts' --topology "$site_work/topology"
	for engine in minhop updn ftree; do
		managed "$engine" 1 2 19 300 648
	done
	shape 'three levels, 686 hosts' --fat-tree 14
	for engine in minhop ftree; do
		managed "$engine" 1 2 50 300 686
	done
fi
site_end
