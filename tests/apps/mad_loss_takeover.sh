# SPDX-License-Identifier: BSD-2-Clause
# A takeover on a fabric that loses a fifth of its management datagrams on each way: a
# standby comes into step while a port is given alias GUIDs, and when it has taken over,
# nothing that was answered is lost.
# ctest: TIMEOUT 600
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need saquery jq
bin=$VERBCAST_BUILD/tests/apps/bin
ip=239.9.1.1
group=ff12:4001:ffff::f09:101

# alias_guid set|delete PLACE: of h2, asked for until it is answered.
alias_guid()
{
	timeout 120 "$VERBCAST" run --node h2 -- "$bin/alias_guids" "$@" >"$site_work/alias" 2>&1
}

# in_table: place 1 of h2's port and no other has a GUID, and it is the one.
in_table()
{
	timeout 120 "$VERBCAST" run --node h1 -- saquery GIR "$(lid_of h2)" 2>/dev/null |
		sed -n 's/.*GUID \([1-7]\)\.\.*0x\(.*\)/\1 \2/p' | grep -v ' 0*$' |
		grep -qx "1 $alias"
}

standby_is_in_step()
{
	[ "$(fabric_shows '[.sms[] | select(.state == "standby" and .in_step)] | length')" = 1 ]
}

one_is_up()
{
	[ "$(fabric_shows '[.sms[] | select(.up)] | length')" = 1 ]
}

members_are_both()
{
	[ "$(sa_members h1 $group)" = 'h2 h3' ]
}

ours fabric up --nodes 4
wait_for 20 'all ports are active' vib_ports_are ACTIVE
site_run='--node h2' start two "$bin/faithful" "$ip" 198.18.0.2
site_run='--node h3' start three "$bin/faithful" "$ip" 198.18.0.3
wait_for 30 'both are members' members_are_both
ours fabric loss 20
ours fabric sm start h4
wait_for 60 'a GUID is given' alias_guid set 2
wait_for 60 'another one is' alias_guid set 1
alias=$(tail -n 1 "$site_work/alias")
wait_for 60 'the first one is taken back' alias_guid delete 2
wait_for 60 'the standby is in step' standby_is_in_step
ours fabric sm stop "$(fabric_shows '.sms[] | select(.state == "master") | .node')"
wait_for 60 'it is master' one_is_up
[ "$(fabric_shows .mads.lost)" -gt 20 ] || fail 'too little was lost'
ours fabric loss 0
wait_for 60 'both are members still' members_are_both
wait_for 20 'the alias is where it was' in_table
killed two
killed three
quiet two three
site_end
