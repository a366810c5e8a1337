# SPDX-License-Identifier: BSD-2-Clause
# Stock OpenSM as the subnet manager of a fabric that has none of its own: it brings the
# ports up, joins go to it, and its port says who it is for as long as it lives.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm mckey sminfo ibstat saquery stdbuf
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work

ours fabric up --nodes 4 --no-sm

manage()
{
	site_run='--node h1' start "$1" opensm -f "$site_work/$1.log" -g 0
}

# Whose administrator the interfaces have come to, which others' joins start from.
master()
{
	timeout 120 "$VERBCAST" run --node h3 -- sminfo 2>/dev/null | grep -q 'SMINFO_MASTER$' &&
		broadcast_has h3 4
}

say 'one sweep'
vib_ports_are INIT || fail 'ports are not waiting for a subnet manager'
isnt_sm h1 || fail 'a subnet manager before there is one'
site_run='--node h1' run opensm -o -f "$site_work/once.log"
grep -q 'SUBNET UP' "$site_work/once.log" || fail "OpenSM: $(tail -n 5 "$site_work/once.log")"
vib_ports_are ACTIVE || fail 'ports are not active'
wait_for 10 'the port is free of a subnet manager that has gone' isnt_sm h1

say 'a subnet manager that stays'
manage first
wait_for 30 'it is master' master
is_sm h1 || fail 'its port does not say so'
isnt_sm h2 || fail 'another port does'

say 'mckey across'
site_run='--node h2' start receiver stdbuf -oL mckey -b 198.18.0.2 -m 239.7.1.1 -p 0x2 -C 20
wait_for 30 'the receiver has joined' mckey_joined receiver
read -r group mlid <<<"$(mckey_group receiver)"
site_run='--node h2' run saquery -g
says run "MGID\.+$group\$"
ours group join --node h4 "$group"
wait_for 30 'the tables lead to the receiver' leads "$mlid" h4 h2
site_run='--node h4' start sender stdbuf -oL mckey -b 198.18.0.4 -m 239.7.1.1 -p 0x2 -s -C 20
ended sender 60
ended receiver 60
quiet sender receiver

say 'its death, and a successor'
killed first
wait_for 10 'the port is free of it' isnt_sm h1
manage second
wait_for 30 'the successor is master' master
is_sm h1 || fail "the successor's port does not say so"
killed second TERM
wait_for 10 'the port is free of that one' isnt_sm h1
site_end
