# SPDX-License-Identifier: BSD-2-Clause
# What switches forward to each other is in their ports' counters, as stock perfquery shows
# them: multicast and unicast datagrams of programs, to the last one.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need perfquery saquery mckey stdbuf ibv_ud_pingpong jq awk
count=200

# Hosts 1 and 2 on one switch, 3 and 4 on the other; port 7 leads to the other switch.
cat >"$site_work/topology" <<'END'
switchguid=0x100
Switch 8 "s1"
[1] "h1"[1]
[2] "h2"[1]
[7] "s2"[7]

switchguid=0x200
Switch 8 "s2"
[1] "h3"[1]
[2] "h4"[1]
[7] "s1"[7]

caguid=0x1000
Ca 1 "h1"
[1] "s1"[1]

caguid=0x2000
Ca 1 "h2"
[1] "s1"[2]

caguid=0x3000
Ca 1 "h3"
[1] "s2"[1]

caguid=0x4000
Ca 1 "h4"
[1] "s2"[2]
END

clear_counters()
{
	for switch in $s1 $s2; do
		site_run='--node h1' run perfquery -a -R "$switch"
		site_run='--node h1' run perfquery -x -a -R "$switch"
	done
}

# counter LID PORT NAME
counter()
{
	site_run='--node h1' run perfquery -x "$1" "$2"
	sed -n "s/^$3:\.*//p" "$site_work/run.out"
}

# is LID PORT NAME VALUE
is()
{
	local value=$(counter "$1" "$2" "$3")

	[ "$value" = "$4" ] || fail "port $2 of LID $1: $3 $value, not $4"
}

# some LID PORT NAME: the program's, and some of the tools that ask.
some()
{
	local value=$(counter "$1" "$2" "$3")

	[ "$value" -ge $count ] && [ "$value" -lt $((count + 100)) ] ||
		fail "port $2 of LID $1: $3 $value, not $count and some"
}

ours fabric up --topology "$site_work/topology"
wait_for 30 'all are in the broadcast group' broadcast_has h2 4
s1=$(lid_of s1)
s2=$(lid_of s2)

say 'multicast from h1 to h3'
site_run='--node h3' start receiver stdbuf -oL mckey -b 198.18.0.3 -m 239.7.1.1 -p 0x2 -C $count
wait_for 30 'the receiver has joined' mckey_joined receiver
clear_counters
site_run='--node h1' start sender stdbuf -oL mckey -b 198.18.0.1 -m 239.7.1.1 -p 0x2 -s -C $count
ended sender 60
ended receiver 60
is "$s1" 1 PortMulticastRcvPkts $count
is "$s1" 2 PortMulticastXmitPkts 0
is "$s1" 7 PortMulticastXmitPkts $count
is "$s1" 7 PortMulticastRcvPkts 0
is "$s2" 7 PortMulticastRcvPkts $count
is "$s2" 1 PortMulticastXmitPkts $count
is "$s2" 2 PortMulticastXmitPkts 0
[ "$(counter "$s1" 7 PortXmitData)" -ge $((count * (100 + 72) / 4)) ] || fail 'words from s1 to s2'

say 'unicast between h2 and h4'
port=$(free_port 22000)
site_run='--node h4' start server ibv_ud_pingpong -d vib0 -p $port -n $count
wait_for 30 'the server listens' listens $port
clear_counters
site_run='--node h2' start client ibv_ud_pingpong -d vib0 -p $port -n $count 127.0.0.1
ended client 60
ended server 60
for way in "$s1 2 Rcv" "$s1 2 Xmit" "$s1 7 Rcv" "$s1 7 Xmit" "$s2 7 Rcv" "$s2 2 Xmit"; do
	some ${way% *} "PortUnicast${way##* }Pkts"
done
is "$s1" 7 PortMulticastXmitPkts 0
site_end
