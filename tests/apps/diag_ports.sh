# SPDX-License-Identifier: BSD-2-Clause
# What tools do to ports and see of them, with the embedded subnet manager and with stock
# OpenSM: a port that ibportstate disables carries nothing until it is enabled, speeds and
# widths are trained anew, perfquery counts what programs move, saquery shows every record.
# ctest: TIMEOUT 900
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm ibportstate ibping perfquery ibqueryerrors saquery smpquery mckey stdbuf \
	ibccquery vendstat
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
bin=$VERBCAST_BUILD/tests/apps/bin
groups=1500

# ping yes|no: h3 answers.
ping_ends()
{
	local answer=no

	timeout 120 "$VERBCAST" run --node h2 -- ibping -c 1 "$(lid_of h3)" >"$site_work/ping.out" 2>&1 &&
		grep -q ' 0% packet loss' "$site_work/ping.out" && answer=yes
	[ $answer = "$1" ]
}

# counter FILE NAME
counter()
{
	sed -n "s/^$2:\.*//p" "$site_work/$1.out"
}

# field_is NAME VALUE: of h3's port, which nobody reaches while a manager routes around it.
field_is()
{
	timeout 120 "$VERBCAST" run --node h2 -- smpquery portinfo "$(lid_of h3)" 1 2>/dev/null |
		grep -qE "^$1:\.*$2\$"
}

a_disabled_port_carries_nothing()
{
	site_run='--node h3' start server ibping -S
	wait_for 20 'a ping is answered' ping_ends yes
	for port in 1 2 3; do
		run ibportstate "$switch" $port query
		says run '^Peer PortInfo:$'
		says run '^LinkSpeedActive:\.+10.0 Gbps$'
	done
	run ibportstate "$switch" 3 disable
	wait_for 20 'the port is down' vib_port_is h3 DOWN
	run ibportstate "$switch" 3 query
	says run '^PhysLinkState:\.+Disabled$'
	ping_ends no || fail 'a ping passes a disabled port'
	run ibportstate "$switch" 3 enable
	wait_for 30 'the port is active' vib_port_is h3 ACTIVE
	wait_for 20 'a ping is answered again' ping_ends yes
	killed server

	say "$sm: speed and width"
	run ibportstate "$switch" 3 speed 1
	run ibportstate "$switch" 3 width 1
	run ibportstate "$switch" 3 reset
	wait_for 30 'the port is slower' field_is LinkSpeedActive '2.5 Gbps'
	wait_for 30 'the port is narrower' field_is LinkWidthActive 1X
	run ibportstate "$switch" 3 speed 7
	run ibportstate "$switch" 3 width 3
	run ibportstate "$switch" 3 reset
	wait_for 30 'the port is as before' field_is LinkSpeedActive '10.0 Gbps'
	wait_for 30 'the port is active' vib_port_is h3 ACTIVE
	# Whoever sent something to it meanwhile has counted that, too.
	timeout 120 "$VERBCAST" run --node h2 -- ibqueryerrors $(patience ibqueryerrors) \
		>"$site_work/errors.out" 2>&1
	says errors ' port 3: .*\[LinkDownedCounter == [0-9]+\]'
	says errors " $(grep -c '^ *GUID .* port [0-9]*: \[' "$site_work/errors.out") ports have errors beyond threshold\$"
}

counters_match()
{
	local h2=$(lid_of h2) h3=$(lid_of h3) count=200 group mlid

	wait_for 30 'all are in the broadcast group' broadcast_has h2 3
	site_run='--node h3' start receiver stdbuf -oL mckey -b 198.18.0.3 -m 239.7.1.1 -p 0x2 -C $count
	wait_for 30 'the receiver has joined' mckey_joined receiver
	read -r group mlid <<<"$(mckey_group receiver)"
	ours group join --node h2 "$group"
	wait_for 30 'the tables lead to the receiver' leads "$mlid" h2 h3
	run perfquery -R "$h2" 1
	run perfquery -R "$h3" 1
	site_run='--node h2' start sender stdbuf -oL mckey -b 198.18.0.2 -m 239.7.1.1 -p 0x2 -s -C $count
	ended sender 60
	ended receiver 60
	ours group leave --node h2 "$group"
	# Some management goes by the same links.
	for way in "$h2 Xmit" "$h3 Rcv"; do
		run perfquery -x ${way% *} 1
		packets=$(counter run "Port${way#* }Pkts")
		[ "$packets" -ge $count ] && [ "$packets" -lt $((count + 100)) ] ||
			fail "$way: $packets packets for $count datagrams"
		[ "$(counter run "Port${way#* }Data")" -ge $((count * (100 + 32) / 4)) ] ||
			fail "$way: $(counter run "Port${way#* }Data") words"
	done
	run perfquery -x "$switch" 3
	[ "$(counter run PortXmitPkts)" -ge $count ] || fail 'the switch has not sent them'
}

# records NAME COUNT: at least so many.
records()
{
	local found

	run saquery --smkey 1 ${1//_/ }
	found=$(grep -cE 'Record|MCMember' "$site_work/run.out")
	[ "$found" -ge "$2" ] || fail "$found records of $1, not $2"
}

every_record()
{
	while read -r name count; do
		records "$name" "$count"
	done <<-'END'
		NR 4
		PIR 7
		SL2VL 19
		PKTR 4
		VLAR 28
		IIR 0
		LR 6
		SR 0
		PR 16
		MCMR 3
		LFTR 1
		MFTR 1
		GIR 4
		SWIR 1
		SMIR 1
		CPI 0
	END
	run saquery -c
	says run 'ClassPortInfo'
	run "$bin/manager" $groups
	run saquery -g
	[ "$(grep -c '^MCMemberRecord' "$site_work/run.out")" -gt $groups ] || fail 'groups of saquery -g'
	run saquery -m
	[ "$(grep -c '^MCMemberRecord' "$site_work/run.out")" -gt $groups ] || fail 'members of saquery -m'
}

what_is_not_there()
{
	for tool in "ibccquery CongestionInfo $(lid_of h3)" "vendstat -N $switch"; do
		timeout 120 "$VERBCAST" run --node h2 -- $tool >"$site_work/none.out" 2>&1 &&
			fail "$tool succeeds"
		says none 'iberror: failed: '
	done
}

all()
{
	switch=$(lid_of "$(switch_name)")
	site_run='--node h2'
	say "$sm: a disabled port"
	a_disabled_port_carries_nothing
	say "$sm: counters"
	counters_match
	site_run='--node h2'
	say "$sm: records"
	every_record
	say "$sm: what is not there"
	what_is_not_there
}

say "a switch with room for many groups"
ours fabric up --nodes 3
site_run='--node h2' run ibnetdiscover
sed '/^switchguid=/i mftcap=4096' "$site_work/run.out" >"$site_work/topology"
ours stop

sm=embedded
ours fabric up --topology "$site_work/topology"
all
ours stop

sm=OpenSM
ours fabric up --topology "$site_work/topology" --no-sm
site_run='--node h1' start opensm opensm -f "$site_work/opensm.log" -g 0
wait_for 60 'OpenSM serves' broadcast_has h2 3
all
killed opensm TERM
site_end
