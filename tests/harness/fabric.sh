# SPDX-License-Identifier: BSD-2-Clause
# Sourced after site.sh by the tests of tests/apps that have a fabric: what it consists of,
# who is in which group, and what its subnet administrator and its ports say to stock tools.
#
#	. "$VERBCAST_SOURCE/tests/harness/site.sh"
#	. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
#	site_begin
#	ours fabric up --nodes 3
#	wait_for 10 'h2 is active' vib_port_is h2 ACTIVE
#
# What is asked for in vain is not there (yet), be it that nobody answers; such answers are
# for wait_for.

# fabric_shows FILTER [JQ-ARGUMENT...]: `fabric show` through jq, raw.
fabric_shows()
{
	timeout 120 "$VERBCAST" fabric show --json | jq -r "${@:2}" "$1"
}

# lid_of NODE, guid_of NODE: an adapter's or a switch's.
lid_of()
{
	fabric_shows '.nodes[] | select(.name == $name) | .lid' --arg name "$1"
}

guid_of()
{
	fabric_shows '.nodes[] | select(.name == $name) | .guid' --arg name "$1"
}

# switch_name: of the first one.
switch_name()
{
	fabric_shows '[.nodes[] | select(.type == "switch")][0].name'
}

# vib_port NODE FILTER: of its vib0's port, as the status has it.
vib_port()
{
	status '.nodes[] | select(.name == $node) | .devices[] | select(.name == "vib0") |
		.ports[0] | '"$2" --arg node "$1"
}

vib_port_is()
{
	[ "$(vib_port "$1" .state)" = "$2" ]
}

# vib_ports_are STATE: all of them.
vib_ports_are()
{
	[ "$(status '[.nodes[].devices[] | select(.name == "vib0") | .ports[0].state] |
		unique | join(" ")')" = "$1" ]
}

# group_ports MGID: "h1 full, h2 send-only-full", in the order of their names.
group_ports()
{
	timeout 120 "$VERBCAST" group list --json | jq -r --arg mgid "$1" \
		'[.[] | select(.mgid == $mgid) | .members[] | "\(.node) \(.join_state)"] | sort | join(", ")'
}

group_ports_are()
{
	[ "$(group_ports "$1")" = "$2" ]
}

# sa_serves NODE: the subnet administrator answers there, which has seen the subnet up then.
sa_serves()
{
	timeout 120 "$VERBCAST" run --node "$1" -- saquery -g 2>/dev/null | grep -q MGID
}

# sa_members NODE MGID: whom the administrator has in the group, in the order of their names,
# asked from that node.
sa_members()
{
	timeout 120 "$VERBCAST" run --node "$1" -- saquery --smkey 1 -m 2>/dev/null |
		awk -v group="$2" '/MGID/ { ours = index($0, group) }
			/NodeDescription/ && ours { sub(/.*\.\.+/, ""); print }' | sort | xargs
}

# interfaces_joined COUNT: so many have joined the broadcast group, by their own account.
interfaces_joined()
{
	[ "$(status '[.nodes[].devices[].ports[] | select(.joined)] | length')" = "$1" ]
}

# broadcast_has NODE COUNT: so many ports are in the broadcast group, from which others are
# made: the administrator, asked from that node, says so, and so do they.
broadcast_has()
{
	[ "$(timeout 120 "$VERBCAST" run --node "$1" -- saquery --smkey 1 MCMR --mlid 0xc000 2>/dev/null |
		grep -c '^MCMember Record')" = "$2" ] &&
		interfaces_joined "$2"
}

# leads MLID FROM NODE...: the switches' tables lead from there to all of them. OpenSM answers
# a join first and writes tables then, while mckey sends three seconds after its join.
leads()
{
	local mlid=$1 from=$2 node lids

	shift 2
	lids=$(fabric_shows '.nodes[] | "\(.name) \(.lid)"')
	for node in "$@"; do
		timeout 120 "$VERBCAST" run --node "$from" -- ibtracert -m "$mlid" \
			"$(sed -n "s/^$from //p" <<<"$lids")" \
			"$(sed -n "s/^$node //p" <<<"$lids")" >/dev/null 2>&1 || return 1
	done
}

# capability_mask NODE: its port's.
capability_mask()
{
	timeout 120 "$VERBCAST" run --node "$1" -- ibstat 2>/dev/null |
		sed -n 's/.*Capability mask: //p'
}

# is_sm NODE: its port says that a subnet manager is behind it; isnt_sm: that none is.
is_sm()
{
	local mask

	mask=$(capability_mask "$1")
	[ $((mask & 2)) -ne 0 ]
}

isnt_sm()
{
	local mask

	mask=$(capability_mask "$1")
	[ -n "$mask" ] && [ $((mask & 2)) = 0 ]
}

# mckey_joined NAME: that mckey has.
mckey_joined()
{
	said "$1" '^mckey: joined dgid: '
}

# mckey_group NAME: the MGID and the MLID that it has said then.
mckey_group()
{
	sed -n 's/^mckey: joined dgid: \([^ ]*\) mlid \([^ ]*\) .*/\1 \2/p' \
		"$site_work/$1.out" | head -n 1
}
