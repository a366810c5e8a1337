# SPDX-License-Identifier: BSD-2-Clause
# A ring with a switch whose multicast table is small, and that was off when groups were made
# for which it has no room: back again, it is gone around. Who hangs on it cannot join them;
# and who has no other way left is cut off, which `fabric show` says, until there is one.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need mckey saquery stdbuf jq

# ring: four switches, two adapters at each: h1 and h2 at s1. The table of s2 has room for
# the broadcast group and three more.
ring()
{
	local i

	for i in 1 2 3 4; do
		[ $i != 2 ] || echo mftcap=4
		printf 'switchguid=0x%x\nSwitch 4 "s%d"\n[1] "s%d"[2]\n' $((0x1000 + i)) $i \
			$((i % 4 + 1))
		printf '[3] "h%d"[1]\n[4] "h%d"[1]\n\n' $((2 * i - 1)) $((2 * i))
	done
	for i in 1 2 3 4 5 6 7 8; do
		printf 'caguid=0x%x\nCa 1 "h%d"\n\n' $((0x2000 + 2 * i)) "$i"
	done
}

cut_off_are()
{
	[ "$(fabric_shows '.sm | select(.up) | .members_cut_off')" = "$1" ]
}

# knows SWITCH...: the administrator knows these and no others, nor their tables.
knows()
{
	[ "$(timeout 120 "$VERBCAST" run --node h1 -- saquery 2>/dev/null |
		sed -n 's/.*NodeDescription\.*\(s[0-9]*\)$/\1/p' | sort | xargs)" = "$*" ]
}

say 'groups are made while it is off'
ring >"$site_work/topology"
ours fabric up --topology "$site_work/topology"
ours fabric node power off s2
wait_for 30 'h3 has no link' vib_port_is h3 DOWN
wait_for 30 'the subnet manager has noticed' knows s1 s3 s4
for i in 1 2 3 4; do
	ours group create --node h1 "ff12::$i"
done
site_run='--node h5' start receiver stdbuf -oL mckey -b 198.18.0.5 -m 239.1.2.3 -C 10
wait_for 20 'the receiver has joined' mckey_joined receiver
mlid=$(mckey_group receiver)
[ $((${mlid#* })) -ge $((0xc004)) ] || fail "the group has $mlid"
for node in h1 h5 h6; do
	ours group create --node $node ff12::7
done

say 'it comes back'
ours fabric node power on s2
wait_for 30 'h3 is active' vib_port_is h3 ACTIVE
site_run='--node h1' start sender stdbuf -oL mckey -b 198.18.0.1 -m 239.1.2.3 -C 10 -s
ended sender 20
ended receiver 20
quiet sender receiver
wait_for 20 'nobody is cut off' cut_off_are 0
refused 'node h3 cannot join' group join --node h3 ff12::7
ours group join --node h3 ff12::1

say 'the other way fails, and comes back'
ours fabric node power off s4
wait_for 30 'h1 is cut off from h5 and h6' cut_off_are 1
ours fabric show
says ours '^  members cut off from their groups by .*: 1$'
group_ports_are ff12::7 'h1 full, h5 full, h6 full' || fail 'a member is gone'
ours fabric node power on s4
wait_for 30 'nobody is cut off any more' cut_off_are 0
site_end
