# SPDX-License-Identifier: BSD-2-Clause
# What the callback of ib_sa_join_multicast(9) hears, each status by its real cause: a
# consumer inside verbcastd, and the administrator of the site at fault.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
module=$VERBCAST_BUILD/examples/joiner.so
report=$site_work/report

# load PARAMETER...: it joins on h2.
load()
{
	: >"$report"
	ours insmod "$module" "report=$report" node=1 "$@"
}

unload()
{
	ours rmmod joiner
	[ "$(tail -n 1 "$report")" = gone ] || fail "it is not gone: $(cat "$report")"
	wait_for 20 'the group is gone' gone
}

gone()
{
	! timeout 120 "$VERBCAST" group list --json | grep -q 'ff15:a01b::7'
}

statuses()
{
	sed -n 's/^told [0-9]* //p' "$report" | tr '\n' ' '
}

# hears STATUS...: these, in that order, and then nothing.
are()
{
	[ "$(statuses)" = "$* " ]
}

hears()
{
	wait_for 20 "it hears $*, not $(statuses)" are "$@"
}

requests()
{
	fabric_shows .sa.requests
}

ours fabric up --nodes 3

say '0, and a hundred of one port are one request'
before=$(requests)
load members=100
wait_for 20 'all have joined' eval '[ "$(grep -c "^told [0-9]* 0$" "$report")" = 100 ]'
[ "$(requests)" = $((before + 1)) ] || fail "$(($(requests) - before)) requests"
before=$(requests)
unload
[ "$(requests)" = $((before + 1)) ] || fail "$(($(requests) - before)) requests to leave"

say '-ETIMEDOUT: nobody answers'
ours sa drop --attribute MCMemberRecord
load
hears -110
unload
load release=1
hears -110
unload
say 'given back before there is an answer'
# Or before three seconds are over, which a busy machine may need for itself.
for try in 1 2 3 4 5 6; do
	began=$(date +%s%N)
	load members=3
	unload
	[ -n "$(statuses)" ] || break
	[ $(($(date +%s%N) - began)) -ge 3000000000 ] || fail "it heard $(statuses)"
done
[ -z "$(statuses)" ] || fail 'it was too late, each time'
ours sa clear

say '-EINVAL: refused, or busy'
ours sa error --status 0x0100
load
hears -22
unload
ours sa busy
load release=1
hears -22
unload
ours sa clear

say '-ENETRESET: the port loses its link; a rejoin finds no manager until it is back'
load rejoin=1
hears 0
ours fabric link down h2 1
wait_for 20 'it is lost' eval 'statuses | grep -q "^0 -102 "'
ours fabric link up h2 1
wait_for 30 'it is in again' eval 'statuses | grep -qE "^0 -102 (-11 |-110 |-5 |-102 )*0 $"'
[ "$(timeout 120 "$VERBCAST" group list --json | jq '[.. | objects | select(.mgid? == "ff15:a01b::7") |
	.members[]] | length')" = 1 ] || fail 'the administrator does not have it'
unload

say '-ENETRESET: another manager begins anew; a rejoin from the callback works at once'
load rejoin=1
hears 0
ours fabric sm stop
ours fabric sm start
hears 0 -102 0
unload

say 'who says no to a loss is freed'
load release=1
hears 0 # and is freed
wait_for 20 'the group is gone' gone
ours fabric sm stop
ours fabric sm start
[ "$(statuses)" = '0 ' ] || fail "what is freed hears $(statuses)"
unload

is_going()
{
	! timeout 120 "$VERBCAST" lsmod | grep -q joiner
}

say 'a site ends, though a hundred wait for an administrator who says nothing'
for unloading in '' yes; do
	ours sa drop
	load members=100 release=1
	if [ -n "$unloading" ]; then
		timeout 120 "$VERBCAST" rmmod joiner >"$site_work/rmmod.out" 2>&1 &
		rmmod=$!
		wait_for 20 'it is being unloaded' is_going
	fi
	ours stop
	[ -z "$unloading" ] || wait "$rmmod" # whatever it is told
	[ "$(tail -n 1 "$report")" = gone ] || fail "it is not gone: $(tail "$report")"
	[ "$(grep -c '^told' "$report")" = 100 ] || fail 'not all have been told'
	ours fabric up --nodes 2
done

say '-EAGAIN: there is no manager'
ours stop
ours fabric up --nodes 2 --no-sm
load
hears -11
unload
site_end
