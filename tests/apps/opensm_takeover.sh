# SPDX-License-Identifier: BSD-2-Clause
# Subnet managers that die, take over, hand over and begin anew while groups are in use:
# OpenSM from OpenSM, OpenSM from the embedded one and the other way round. Each time the
# members hear that they are none any more (spec/kernel 2.9), join again, and hear what is
# sent; the new manager knows those and nobody else.
# ctest: TIMEOUT 1500
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm sminfo saquery ibstat
bin=$VERBCAST_BUILD/tests/apps/bin
ip=239.8.1.1
group=ff12:4001:ffff::f08:101

# manage NAME NODE PRIORITY: an OpenSM that notices soon when its master is gone.
manage()
{
	mkdir -p "$site_work/$1"
	printf '%s\n' 'force_log_flush TRUE' 'sminfo_polling_timeout 300' \
		'polling_retry_number 3' >"$site_work/$1/conf"
	OSM_TMP_DIR=$site_work/$1 OSM_CACHE_DIR=$site_work/$1 site_run="--node $2" \
		start "$1" opensm -F "$site_work/$1/conf" -f "$site_work/$1/log" -g 0 -p "$3"
}

# state NAME STATE
state()
{
	[ "$(sed -n 's/.*Entering \([A-Z]*\) state.*/\1/p' "$site_work/$1/log" 2>/dev/null |
		tail -n 1)" = "$2" ]
}

# master NODE: the subnet's, as the fourth node's port has been told, and the SA answers.
master()
{
	timeout 120 "$VERBCAST" run --node h4 -- sminfo 2>/dev/null |
		grep -q "sm lid $(lid_of "$1") .*SMINFO_MASTER\$"
}

# known NODE...: whom the SA has in the group, in that order.
known()
{
	[ "$(sa_members h4 $group)" = "$*" ]
}

# count WORD NAME: how often it has said so.
how_often()
{
	grep -c "^$1\$" "$site_work/$2.out"
}

members()
{
	site_run='--node h2' start one "$bin/faithful" "$ip" 198.18.0.2
	site_run='--node h3' start two "$bin/faithful" "$ip" 198.18.0.3
	wait_for 40 'both are members' known h2 h3
	traffic
}

no_members()
{
	killed one
	quiet one
	wait_for 20 'one is left' known h3
	killed two
	quiet two
	wait_for 20 'nobody is left' known
}

both_heard()
{
	[ "$(how_often heard one)" -gt "$heard_one" ] &&
		[ "$(how_often heard two)" -gt "$heard_two" ]
}

# An answer to a join comes before the tables are written, so a datagram may be lost.
sent_and_heard()
{
	timeout 120 "$VERBCAST" run --node h4 -- "$bin/member" -m "$ip" -b 198.18.0.4 -s 1 \
		-S 64 >"$site_work/send.out" 2>&1
	within 1 both_heard
}

traffic()
{
	heard_one=$(how_often heard one)
	heard_two=$(how_often heard two)
	wait_for 60 'both hear what is sent' sent_and_heard
	lost_one=$(how_often lost one)
	lost_two=$(how_often lost two)
}

both_lost()
{
	[ "$(how_often lost one)" -gt "$lost_one" ] &&
		[ "$(how_often lost two)" -gt "$lost_two" ]
}

# only_stands_by NAME: a membership is lost where it has been master, if only because the
# real one got no CPU for longer than it was polled.
only_stands_by()
{
	! both_lost || grep -q 'Entering MASTER state' "$site_work/$1/log" ||
		fail 'a manager that stands by has cost a membership'
}

# taken NODE: by the manager there; the members have lost their membership, and have it
# again, and nobody else has.
taken()
{
	wait_for 60 "the manager of $1 is master" master "$1"
	wait_for 30 'both have been told' both_lost
	wait_for 60 'both are members again' known h2 h3
	traffic
}

# one_master: of the two, and all ports are told of it.
one_master()
{
	if state first MASTER; then
		state second STANDBY && master h1
	else
		state first STANDBY && master h4
	fi
}

# settled: whichever it is, it has the members, who may have lost their membership or not.
settled()
{
	wait_for 60 'there is one master' one_master
	wait_for 60 'both are members' known h2 h3
	traffic
}

say 'OpenSM, and an OpenSM that stands by'
ours fabric up --nodes 4 --no-sm
manage first h1 5
wait_for 60 'the first is master' master h1
members
manage second h4 3
wait_for 60 'the second stands by' state second STANDBY
is_sm h1 && is_sm h4 || fail 'a port does not say that a manager is behind it'
only_stands_by second

say 'the master is killed'
killed first
wait_for 10 'its port is free of it' isnt_sm h1
taken h4

say 'its successor, of greater priority, gets the subnet back'
manage first h1 5
taken h1
wait_for 60 'the second stands by' state second STANDBY

say 'the master is stopped, and goes on when there is another'
kill -STOP "$(pid first)"
taken h4
kill -CONT "$(pid first)"
# Which of the two it is to be they settle by their next sweeps.
settled

say 'the master is killed, and begins anew before anybody notices'
killed second TERM
killed first
manage first h1 5
taken h1
no_members
killed first TERM
ours stop

# Of equal priority the lower GUID is the greater manager.
sed 's/^	//' >"$site_work/topology" <<-'END'
	switchguid=0x1000
	Switch 8 "sw"
	[1] "h1"[1]
	[2] "h2"[1]
	[3] "h3"[1]
	[4] "h4"[1]
	caguid=0x2001
	Ca 1 "h1"
	caguid=0x2003
	Ca 1 "h2"
	caguid=0x2005
	Ca 1 "h3"
	caguid=0x2007
	Ca 1 "h4"
END
say 'the embedded manager, and an OpenSM that stands by'
ours fabric up --topology "$site_work/topology"
wait_for 30 'the embedded one is master' master sw
members
manage other h1 0
wait_for 60 'OpenSM stands by' state other STANDBY
only_stands_by other

say 'the embedded one dies'
ours fabric sm stop
taken h1

say 'it comes back, and gets the subnet'
ours fabric sm start
taken sw
killed other TERM

say 'an OpenSM of greater priority gets it'
manage other h1 9
taken h1

say 'and is killed'
killed other
wait_for 10 'its port is free of it' isnt_sm h1
taken sw
no_members
site_end
