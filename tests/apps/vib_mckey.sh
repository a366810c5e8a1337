# SPDX-License-Identifier: BSD-2-Clause
# Stock mckey across the nodes of a fabric, by vib0: each port space, MGIDs given and
# assigned, send-only members. What arrived is read from each member's counters.
# ctest: TIMEOUT 600
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need mckey stdbuf ibv_devinfo
ours fabric up --nodes 4

# address NODE MCKEY-ARGUMENT...: that of the node's vib0, of the group's family.
address()
{
	case ${*:2} in
	*:*) echo "fdc6:1200::${1#h}" ;;
	*) echo "198.18.0.${1#h}" ;;
	esac
}

# begin NAME NODE MCKEY-ARGUMENT...
begin()
{
	local name=$1 node=$2

	shift 2
	site_run="--node $node" start "$name" stdbuf -oL \
		mckey -b "$(address "$node" "$@")" "$@"
	pids[$name]=$(pid "$name")
}
declare -A pids=()

# joined NAME: it has; `group` is its MGID, `mlid` its MLID.
joined()
{
	wait_for 20 "$1 has joined" mckey_joined "$1"
	read -r group mlid <<<"$(mckey_group "$1")"
}

# in GROUP COUNT: so many queue pairs are attached, on all nodes together.
in_group()
{
	wait_for 20 "$2 members in $1" members_are "$1" "$2"
}

# over NAME GROUP MESSAGES
over()
{
	ended "$1" 40
	quiet "$1"
	says "$1" '^data transfers complete$'
	got "$2" "${pids[$1]}" "$3"
}

# round NAME MCKEY-ARGUMENT...: receivers on h2, h3 and h4, a sender on h1; all are in one
# group, and all get ten datagrams.
round()
{
	local name=$1 first node

	shift
	say "$name"
	for node in h2 h3 h4; do begin "$name-$node" $node "$@"; done
	joined "$name-h2"
	first=$group
	case $mlid in
	0xc*) ;;
	*) fail "$name: MLID $mlid" ;;
	esac
	in_group "$first" 3
	begin "$name-send" h1 "$@" -s
	ended "$name-send" 40
	quiet "$name-send"
	for node in h3 h4 h2; do over "$name-$node" "$first" 10; done
	joined "$name-send"
	[ "$group" = "$first" ] || fail "$name: the sender is in $group, not $first"
}

say 'ibv_devinfo'
site_run='--node h2' run ibv_devinfo -d vib0 -v
says run 'PORT_ACTIVE'
says run 'link_layer:[[:space:]]+InfiniBand'

round udp -m 239.1.2.3
round ipoib -m 239.1.2.4 -p 0x2
round inet6 -m ff05::1:2
round mgid -m ff15:a01b:1:2::77

say 'port spaces do not hear each other'
begin one h2 -m 239.1.9.1
begin other h3 -m 239.1.9.1 -p 0x2
joined other
another=$group
joined one
[ "$group" != "$another" ] || fail "one group for two port spaces: $group"
in_group "$group" 1
in_group "$another" 1
begin speaker h1 -m 239.1.9.1 -s
over one "$group" 10
ended speaker 40
# PS_IPOIB may not have got any of it; it waits for a sender of its own.
[ "$(delivered "$another" "${pids[other]}")" = 0 ] || fail 'a datagram of another port space'
begin speaker h1 -m 239.1.9.1 -p 0x2 -s
over other "$another" 10
ended speaker 40

say 'the SA gives the MGID'
begin giver h2 -m 0.0.0.0
joined giver
case $group in
ff1?:a01b:*) ;;
*) fail "an assigned MGID: $group" ;;
esac
begin taker h3 -M "$group"
given=$group
joined taker
[ "$group" = "$given" ] || fail 'another MGID'
in_group "$group" 2
begin speaker h4 -M "$group" -s
over giver "$group" 10
over taker "$group" 10
ended speaker 40

say 'send-only'
begin listener h2 -m 239.1.2.7
joined listener
in_group "$group" 1
begin speaker h3 -m 239.1.2.7 -o -s
over listener "$group" 10
ended speaker 40
site_end
