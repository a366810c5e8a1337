# SPDX-License-Identifier: BSD-2-Clause
# Groups without rdma_cm: MGID in, MLID out, by the nodes' SA clients; and how they fare
# when the subnet administrator does not.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin

mlid()
{
	jq .mlid "$site_work/ours.out"
}

ours fabric up --nodes 4
group=ff15:a01b::1
# Else a fault for one request might meet another's.
wait_for 10 'all interfaces have joined' group_ports_are ff12:401b:ffff::ffff:ffff \
	'h1 full, h2 full, h3 full, h4 full'

say 'created, joined, listed'
refused 'refuses' group join --node h2 $group
ours group create --node h1 $group --qkey 0x1234 --json
first=$(mlid)
[ "$first" -ge 49152 ] || fail "MLID $first"
[ "$(jq -c '[.mgid, .node, .qkey, .pkey]' "$site_work/ours.out")" = "[\"$group\",\"h1\",4660,65535]" ] ||
	fail "$(cat "$site_work/ours.out")"
ours group join --node h2 $group --json
[ "$(mlid)" = "$first" ] || fail 'another MLID'
ours group join --node h3 $group --join-state send-only-full
says ours "^$group mlid 0x$(printf %04x "$first") pkey 0xffff qkey 0x00001234 mtu [0-9]+ rate .* sl 0\$"
group_ports_are $group 'h1 full, h2 full, h3 send-only-full' || fail "members: $(group_ports $group)"
ours group list
says ours "^$group mlid "
says ours '^  h3 send-only-full$'
ours group list --node h3
says ours "^$group mlid "
says ours '^  h3 send-only-full$'
said ours '^  h1' && fail 'another node in the list of one'

say 'refused'
refused 'been told to join' group join --node h2 $group
refused 'refuses' group join --node h4 $group --qkey 0x1235
refused "no node 'h9'; it has h1, h2, h3, h4" group join --node h9 $group
refused 'no port 2' group join --port 2 $group
refused 'not been told to join' group leave --node h4 $group

say 'the SA gives the MGID'
ours group create --node h4 --json
given=$(jq -r .mgid "$site_work/ours.out")
[ "$(mlid)" != "$first" ] || fail 'an MLID twice'
ours group join --node h1 "$given"
group_ports_are "$given" 'h1 full, h4 full' || fail "members: $(group_ports "$given")"
ours group leave --node h4 "$given"
ours group leave --node h1 "$given"
wait_for 10 'the group has gone with its last member' group_ports_are "$given" ''

say 'left'
ours group leave --node h2 $group
wait_for 10 'h2 has left' group_ports_are $group 'h1 full, h3 send-only-full'
refused 'not been told to join' group leave --node h2 $group

say 'faults'
other=ff15:a01b::2
ours sa error --status 0x0700 --count 1 --attribute MCMemberRecord
refused 'refuses' group create --node h2 $other
ours group create --node h2 $other
ours group leave --node h2 $other
wait_for 10 'h2 has left' group_ports_are $other ''
ours sa delay --delay 300 --count 1
began=$(date +%s%N)
ours group create --node h2 $other
[ $(($(date +%s%N) - began)) -ge 300000000 ] || fail 'no delay'
ours group leave --node h2 $other
wait_for 10 'h2 has left' group_ports_are $other ''
ours sa drop --attribute PathRecord
ours group create --node h2 $other
ours group leave --node h2 $other
wait_for 10 'h2 has left' group_ports_are $other ''
ours sa clear
ours sa busy --count 1
timeout 120 "$VERBCAST" group create --node h2 $other >/dev/null 2>&1
ours sa clear
timeout 120 "$VERBCAST" group leave --node h2 $other >/dev/null 2>&1
wait_for 10 'h2 has left' group_ports_are $other ''

say 'nobody answers'
ours sa drop
start_with waiting timeout 100 "$VERBCAST" group create --node h2 $other
start_with impatient "$VERBCAST" group create --node h4 $other
wait_for 10 'it runs' eval "[ \"\$(cat /proc/$(pid impatient)/comm)\" = verbcast ]"
killed impatient TERM
ended waiting 90 1
grep -q 'does not answer' "$site_work/waiting.err" || fail "$(cat "$site_work/waiting.err")"
ours sa clear

say 'memberships outlive the subnet manager and a cable'
ours fabric sm stop
refused 'no subnet administrator' group list
ours fabric sm start
wait_for 30 'all have joined again' group_ports_are $group 'h1 full, h3 send-only-full'
ours fabric link down h1 1
wait_for 30 'h1 is out' group_ports_are $group 'h3 send-only-full'
ours fabric link up h1 1
wait_for 30 'h1 is in again' group_ports_are $group 'h1 full, h3 send-only-full'
site_end
