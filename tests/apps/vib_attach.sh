# SPDX-License-Identifier: BSD-2-Clause
# Attaching on InfiniBand: which LIDs, to the errno; and that it takes two, an attached
# queue pair and a port that is a member, for a datagram to come from another node.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
bin=$VERBCAST_BUILD/tests/apps/bin

# listen NODE: an ear there, under the node's name.
listen()
{
	site_run="--node $1" start "$1" "$bin/parted" 0xffff hear "$group" "$mlid"
	wait_for 10 "$1 is attached" said "$1" '^ready '
}

# speak NODE: ten datagrams from there.
speak()
{
	site_run="--node $1" run "$bin/parted" 0xffff cast "$group" "$mlid" 10
}

# heard NODE COUNT: by its ear, which ends.
heard()
{
	[ "$2" = 0 ] || wait_for 10 "$1 has heard $2" said "$1" "^heard $2\$"
	terminated "$1"
	says "$1" "^got $2\$"
}

# lost PID REASON COUNT: of what its queue pairs sent, it having ended; and nothing else.
lost()
{
	[ "$(status '.ended[] | select(.pid == $pid) | .qps[].drops | to_entries[] |
		"\(.key) \(.value)"' --argjson pid "$1")" = "$2 $3" ]
}

ours fabric up --nodes 3
group=ff15:a01b::7

say 'LIDs on Ethernet and on InfiniBand'
run "$bin/lids"
site_run='--node h2' start lids "$bin/lids"
lids=$(pid lids)
ended lids 20
wait_for 10 "one by another LID than the group's" lost "$lids" MLID 1

say 'attached, and no port has joined'
ours group create --node h1 $group --qkey 0x11111111 --json
mlid=$(jq .mlid "$site_work/ours.out")
[ "$mlid" -ge 49153 ] || fail "MLID $mlid"
listen h2
listen h3
speak h2
heard h2 10 # its own
heard h3 0

say 'joined, and attached'
ours group join --node h2 $group
ours group join --node h3 $group
listen h2
listen h3
speak h2
speak h3
heard h2 20
heard h3 20

say 'the receiving port has left'
listen h3
ours group leave --node h3 $group
speak h2
speak h3
heard h3 10 # its own

say 'the sending port has left'
ours group join --node h3 $group
ours group leave --node h2 $group
listen h2
listen h3
speak h3
heard h2 0
heard h3 10

say 'asked for, and no administrator to program the switches'
ours fabric sm stop
listen h2
listen h3
site_run='--node h2' start asking "$bin/member" -m 239.3.1.1 -b 198.18.0.2
timeout 60 "$VERBCAST" group join --node h2 $group >"$site_work/join.out" 2>&1 &&
	fail 'joined without an administrator'
speak h3
heard h2 0
heard h3 10
ended asking 20 1
says asking 'MULTICAST_ERROR, status -110'
ours fabric sm start

say 'nobody anywhere'
site_run='--node h2' start nobody "$bin/parted" 0xffff cast ff15:a01b::8 0xc099 3
nobody=$(pid nobody)
ended nobody 20
wait_for 10 'three to no group' lost "$nobody" NO_GROUP 3
site_end
