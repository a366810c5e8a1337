# SPDX-License-Identifier: BSD-2-Clause
# RoCE devices follow the machine's interfaces: which there are, their addresses, MTU and
# link; and what programs hear of it. In a network namespace of the test's own:
#
#	near --- far	10.77.0.1/24, the default route
#	left --- right	10.78.0.1/24, by --wire
# ctest: TIMEOUT 600
. "$VERBCAST_SOURCE/tests/harness/namespace.sh"
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need ip mckey ibv_devinfo ibv_ud_pingpong
bin=$VERBCAST_BUILD/tests/apps/bin

ip link set lo up || skip 'lo cannot be set up in a namespace of ours'
pair near far 10.77.0.1/24 2>/dev/null || skip 'this kernel has no veth interfaces'

# port_is DEVICE FILTER VALUE: of its port in the status.
port_is()
{
	[ "$(status '.nodes[].devices[] | select(.name == $name) | .ports[0] | '"$2" \
		--arg name "$1")" = "$3" ]
}

gids_are()
{
	port_is "$1" '[.gids[] | select(startswith("fe80") | not)] | join(" ")' "$2"
}

# watch NAME ARGUMENT...: a watcher, and the pipe by which it is told things.
watch()
{
	mkfifo "$site_work/$1.in"
	start "$1" "$BASH" -c 'exec "$0" "${@:2}" <"$1"' "$bin/watcher" "$site_work/$1.in" "${@:2}"
	eval "exec {in_$1}>\"$site_work/$1.in\""
	wait_for 20 "$1 has its device" said "$1" '^(bound|opened) '
}

# tell NAME WORD...: and the answer, if a pattern is waited for, must be new.
tell()
{
	local fd=in_$1

	echo "${*:2}" >&"${!fd}"
}

lines()
{
	grep -cE -- "$2" "$site_work/$1.out"
}

# asked NAME PATTERN WORD...: it answers so in the end, asked again and again.
asked_once()
{
	local before

	before=$(lines "$1" '')
	tell "$1" "${@:3}"
	within 10 eval "[ \"\$(lines $1 '')\" -gt $before ]" || return 1
	tail -n +$((before + 1)) "$site_work/$1.out" | grep -qE -- "$2"
}

asked()
{
	within 10 asked_once "$@" || fail "$1 does not answer '${*:3}' by $2"
}

# hears NAME PATTERN COUNT
hears()
{
	within 10 eval "[ \"\$(lines $1 '$2')\" -ge $3 ]" || fail "$1 does not hear $2 ($3 times)"
}

finish()
{
	local fd=in_$1

	tell "$1" end
	ended "$1" 20
	eval "exec {$fd}>&-"
	says "$1" '^ended$'
	quiet "$1"
}

# qp_drops REASON: of all queue pairs that are or were.
qp_drops()
{
	status '[(.processes[], .ended[]) | .qps[].drops[$r] // 0] | add // 0' --arg r "$1"
}

say 'without a default route there is the loopback alone'
site_keep
devices_are vroce0=lo || fail 'devices without a default route'
run mckey -m 239.1.20.1 -s
watch early -d vroce0
asked early '^devices vroce0 vib0$' list

say 'with the default route comes its interface, and programs find it'
ip route add default via 10.77.0.2
wait_for 10 'near has a device' devices_are vroce0=lo vroce1=near
asked early '^devices vroce0 vroce1 vib0$' list
gids_are vroce1 ::ffff:10.77.0.1 || fail 'GIDs of vroce1'
# Of its MAC address, as Linux makes it: ff:fe in the middle, one bit inverted.
mac=$(ip -o link show dev near | sed 's/.*link\/ether \([0-9a-f:]*\).*/\1/')
last=$(printf '%x' "0x$(cut -d: -f5,6 <<<"$mac" | tr -d :)")
port_is vroce1 '.gids[0] | test("^fe80::.*ff:fe[0-9a-f]+:'"$last"'$")' true ||
	fail "the first GID is not of $mac"
finish early

say 'the synthetic tree shows it'
run ls /sys/class/infiniband
[ "$(tr '\n' ' ' <"$site_work/run.out")" = 'vib0 vroce0 vroce1 ' ] || fail 'the tree has other devices'
run cat /sys/class/infiniband/vroce1/ports/1/gids/1
grep -qx '0000:0000:0000:0000:0000:ffff:0a4d:0001' "$site_work/run.out" ||
	fail "the tree's GID: $(cat "$site_work/run.out")"
run ls /sys/class/infiniband/vroce1/device/net
grep -qx near "$site_work/run.out" || fail "the tree's interface: $(cat "$site_work/run.out")"
run ibv_devinfo -v -d vroce1
cp "$site_work/run.out" "$site_work/info.out"
says info 'active_mtu:[[:space:]]*1024 \(3\)'
says info 'GID\[ +1\]:[[:space:]]*::ffff:10\.77\.0\.1, RoCE v2$'

say 'mckey by the address of the interface, and by the default route'
start by_address mckey -m 239.1.20.2 -b 10.77.0.1
start by_route mckey -m 239.1.20.2
start apart mckey -m 239.1.20.2 -b 127.0.0.1
by_address=$(pid by_address) by_route=$(pid by_route) apart=$(pid apart)
on_near()
{
	[ "$(status '.groups[] | select(.mgid == "::ffff:239.1.20.2" and .device == $d) |
		.members[] | select(.state == "attached") | .pid' --arg d "$1" | sort -n |
		tr '\n' ' ')" = "$2 " ]
}
wait_for 20 'both are on vroce1' on_near vroce1 "$(printf '%s\n' "$by_address" "$by_route" | sort -n | paste -sd' ')"
wait_for 20 'the third is on vroce0' on_near vroce0 "$apart"
start sender mckey -m 239.1.20.2 -s
ended sender 20
ended by_address 20
ended by_route 20
quiet sender by_address by_route
# The other device is another network: nothing has come there.
[ "$(status '.groups[] | select(.mgid == "::ffff:239.1.20.2" and .device == "vroce0") |
	.members[] | .delivered')" = 0 ] || fail 'a group has crossed devices'
killed apart
for p in "$by_address" "$by_route"; do
	[ "$(status '.groups[] | select(.device == "vroce1") | .members[] |
		select(.pid == $pid) | .delivered' --argjson pid "$p")" = 10 ] ||
		fail "process $p has not received 10"
done

say 'addresses come and go'
watch holder -b 10.77.0.1
says holder '^bound vroce1$'
ip address add 10.79.0.1/24 dev near
hears holder '^async GID_CHANGE$' 1
asked holder ' 1=::ffff:10.77.0.1 2=::ffff:10.79.0.1' port
ip -6 address add 2001:db8::1/64 dev near nodad
hears holder '^async GID_CHANGE$' 2
asked holder '3=2001:db8::1' port
ip address del 10.79.0.1/24 dev near
hears holder '^async GID_CHANGE$' 3
asked holder ' 1=::ffff:10.77.0.1 3=' port
timeout 120 "$VERBCAST" run -- mckey -m 239.1.20.3 -b 10.79.0.1 >"$site_work/lost.out" 2>&1
says lost 'addr bind failure: Cannot assign requested address'
said holder '^cm ' && fail 'an id whose address stays hears of others'

say 'the MTU follows, without a word'
before=$(lines holder '^async')
mtu_is()
{
	ip link set near mtu "$1"
	wait_for 10 "an interface of $1 bytes carries $2" port_is vroce1 .mtu "$2"
	asked holder "^port active $2 " port
}
mtu_is 1500 1024
mtu_is 4200 4096
mtu_is 9000 4096
mtu_is 1100 512
mtu_is 352 256
tell holder join 239.1.20.4
hears holder '^joined$' 1
mtu_is 351 256
asked holder '^not joined: Invalid argument$' join 239.1.20.5
mtu_is 1500 1024
# Below 1280 the kernel takes the IPv6 addresses away.
[ "$(lines holder '^async')" -ge "$before" ] || fail 'events are lost'
[ "$(lines holder '^async PORT')" = 0 ] || fail 'a port event without a change of the port'

say 'what would leave the machine is counted'
tell holder send 10.77.0.99
hears holder '^send good$' 1
wait_for 10 'unicast to a stranger is WIRE_OFF' eval '[ "$(qp_drops WIRE_OFF)" = 1 ]'
tell holder send 239.1.20.99
hears holder '^send good$' 2
wait_for 10 'a group without members here is WIRE_OFF' eval '[ "$(qp_drops WIRE_OFF)" = 2 ]'
tell holder send-joined
hears holder '^receive good$' 1
[ "$(qp_drops WIRE_OFF)" = 2 ] || fail 'a group with a member here counts as WIRE_OFF'

say 'link down and up'
ip link set far down
hears holder '^async PORT_ERR$' 1
asked holder '^port down ' port
port_is vroce1 .state DOWN || fail 'the status does not know'
tell holder send-joined
hears holder '^send good$' 4
[ "$(qp_drops PORT_DOWN)" = 1 ] || fail 'what is sent without a link is not PORT_DOWN'
ip link set far up
hears holder '^async PORT_ACTIVE$' 1
asked holder '^port active ' port
tell holder send-joined
hears holder '^receive good$' 2

say 'the bound address is taken away, and given back'
# With another address the default route stays, without which the interface is given up.
ip address add 10.79.0.2/32 dev near && ip route replace default dev near || fail 'ip'
ip address del 10.77.0.1/24 dev near
hears holder '^cm ADDR_CHANGE 0$' 1
tell holder send-joined
hears holder '^send good$' 6
[ "$(qp_drops NO_SOURCE)" = 1 ] || fail 'what is sent without a source is not NO_SOURCE'
ip address add 10.77.0.1/24 dev near
ip route replace default via 10.77.0.2
gids_back()
{
	port_is vroce1 '.gids | index("::ffff:10.77.0.1") != null' true
}
wait_for 10 'the address is back' gids_back
tell holder join 239.1.20.6
hears holder '^joined$' 2
tell holder send-joined
hears holder '^receive good$' 3
[ "$(lines holder '^cm ADDR_CHANGE')" = 1 ] || fail 'ADDR_CHANGE more than once'

say 'the interface is deleted under a program'
watch looker -d vroce1
"$VERBCAST" fault add --drop 1 --device vroce1 >/dev/null || fail 'a fault on vroce1'
"$VERBCAST" fault add --drop 1 --match qp=0xffffff >/dev/null || fail 'a fault anywhere'
faults_are()
{
	[ "$("$VERBCAST" fault list --json | jq -c '[.[].device]')" = "$1" ]
}
faults_are '["vroce1",null]' || fail "faults: $("$VERBCAST" fault list)"
ip link del near
hears holder '^cm DEVICE_REMOVAL 0$' 1
hears holder '^async DEVICE_FATAL$' 1
hears holder '^receive flushed$' 1
hears looker '^async DEVICE_FATAL$' 1
wait_for 10 'the device is gone' devices_are vroce0=lo
wait_for 10 'the fault of the device is gone' faults_are "[null]"
asked holder '^devices vroce0 vib0$' list
asked holder '^not made: Input/output error$' make
asked holder '^port: Input/output error$' port
asked looker '^not made: Input/output error$' make
run ls /sys/class/infiniband
[ "$(tr '\n' ' ' <"$site_work/run.out")" = 'vib0 vroce0 ' ] || fail 'the tree keeps a device that is gone'

say 'and comes back by its name, while the old one is still held'
pair near far 10.77.0.1/24 && ip route add default via 10.77.0.2 || fail 'ip'
wait_for 10 'near has a device again' devices_are vroce0=lo vroce1=near
asked holder '^devices vroce0 vroce1 vib0$' list
asked looker '^not made: Input/output error$' make
start r mckey -m 239.1.20.7 -b 10.77.0.1
r=$(pid r)
wait_for 20 'a member on the new device' members_are 239.1.20.7 1
start s mckey -m 239.1.20.7 -b 10.77.0.1 -s
ended s 20
ended r 20
got 239.1.20.7 "$r" 10
finish holder
finish looker

say 'a storm of changes'
daemon=$(site_daemon)
descriptors=$(ls "/proc/$daemon/fd" | wc -l)
for n in $(seq "$(count 100 2000)"); do
	ip address add 10.77.1.$((n % 250 + 1))/32 dev near
	ip address del 10.77.1.$((n % 250 + 1))/32 dev near
done
ip address add 10.77.2.1/32 dev near
wait_for 10 'the last word counts' gids_are vroce1 '::ffff:10.77.0.1 ::ffff:10.77.2.1'
[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has died in the storm'
[ "$(ls "/proc/$daemon/fd" | wc -l)" -le $((descriptors + 1)) ] || fail 'descriptors have leaked'

say 'the default route moves'
pair left right 10.78.0.1/24 || fail 'ip'
ip route replace default via 10.78.0.2
wait_for 10 'left has a device' eval \
	'devices_are vroce0=lo vroce1=near vroce2=left || devices_are vroce0=lo vroce2=left'
wait_for 20 'near is given up' devices_are vroce0=lo vroce2=left
ip link set left down
wait_for 10 'its link is down' port_is vroce2 .state DOWN
ip link set left up
ip route replace default via 10.78.0.2
wait_for 10 'its link is up' port_is vroce2 .state ACTIVE

say 'wires are named'
timeout 120 "$VERBCAST" run --wire near -- true >"$site_work/wire.out" 2>&1
[ $? = 125 ] || fail 'run is content with a site without the wire'
says wire "runs without a device for 'near'.*verbcast stop"
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
killed keeper TERM
nothing_left
timeout 120 "$VERBCAST" run --wire nowhere -- true >"$site_work/wire.out" 2>&1
[ $? = 125 ] || fail 'run starts a site with an interface that is not there'
says wire '--wire nowhere: there is no such interface'
timeout 120 "$VERBCAST" run --wire lo -- true >"$site_work/wire.out" 2>&1 &&
	fail 'run takes the loopback for a wire'
site_run='--wire near' start keeper sleep 100000
wait_for 20 'both have devices' devices_are vroce0=lo vroce1=left vroce2=near
timeout 120 "$VERBCAST" run --wire near --wire left -- true || fail 'run with wires that are there'

say 'unicast from one device to the other'
port=20000
for devices in 'vroce1 vroce2' 'vroce2 vroce1' 'vroce0 vroce1'; do
	set -- $devices
	index=$([ "$1" = vroce0 ] && echo 0 || echo 1)
	port=$((port + 1))
	start server ibv_ud_pingpong -d "$1" -g "$index" -n 100 -s 512 -p $port
	wait_for 20 'the server listens' listens $port
	start client ibv_ud_pingpong -d "$2" -g 1 -n 100 -s 512 -p $port 127.0.0.1
	ended client 20
	ended server 20
	says client '^100 iters in '
	says server '^100 iters in '
done

say 'a wire that goes and comes back'
ip link del near
wait_for 10 'near is gone' devices_are vroce0=lo vroce1=left
pair near far 10.77.0.1/24 || fail 'ip'
wait_for 10 'near is back' devices_are vroce0=lo vroce1=left vroce2=near
site_end
