# SPDX-License-Identifier: BSD-2-Clause
# A member that joins as two things at once and leaves as one after the other. The embedded
# administrator forgets nothing of it; OpenSM keeps an MLID for each such group until it has
# none: joins are then refused, what is joined stays, and a new OpenSM has them all.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need opensm ibnetdiscover mckey saquery stdbuf
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
bin=$VERBCAST_BUILD/tests/apps/bin
capacity=64

ours()
{
	timeout 120 "$VERBCAST" "$@" >"$site_work/ours.out" 2>"$site_work/ours.err" </dev/null ||
		fail "verbcast $* ends with $?: $(cat "$site_work/ours.err")"
}

groups()
{
	site_run='--node h3' run saquery -g
	grep -c '^MCMemberRecord' "$site_work/run.out"
}

# joins yes|no: of h2 to a group that is not there.
joins()
{
	if timeout 60 "$VERBCAST" group create --node h2 ff15:a01b::31 --qkey 1 \
		>"$site_work/join.out" 2>"$site_work/join.err"; then
		[ "$1" = yes ] || fail 'joined without an MLID'
		ours group leave --node h2 ff15:a01b::31
	else
		[ "$1" = no ] || fail "not joined: $(cat "$site_work/join.err")"
		grep -q 'the subnet administrator refuses' "$site_work/join.err" ||
			fail "it says: $(cat "$site_work/join.err")"
	fi
}

# All nodes are in the broadcast group, from which others are made.
serves()
{
	[ "$(timeout 20 "$VERBCAST" run --node h3 -- saquery --smkey 1 MCMR --mlid 0xc000 2>/dev/null |
		grep -c '^MCMember Record')" = 3 ]
}

manage()
{
	site_run='--node h1' start "$1" opensm -f "$site_work/$1.log" -g 0
	wait_for 30 'OpenSM serves' serves
}

say "a fabric of switches with $capacity multicast entries"
ours fabric up --nodes 3
site_run='--node h1' run ibnetdiscover
sed "/^switchguid=/i mftcap=$capacity" "$site_work/run.out" >"$site_work/topology"
ours stop

say 'the embedded administrator'
ours fabric up --topology "$site_work/topology"
before=$(groups)
site_run='--node h2' run "$bin/mlids" $((capacity * 4))
says run "^$((capacity * 4)) times\$"
[ "$(groups)" = "$before" ] || fail 'groups stay behind'
joins yes
ours stop

say 'OpenSM'
ours fabric up --topology "$site_work/topology" --no-sm
manage first
site_run='--node h3' start listener stdbuf -oL mckey -b 198.18.0.3 -m 239.7.1.1 -p 0x2 -C 20
joined()
{
	said listener '^mckey: joined dgid: '
}
wait_for 30 'the listener has joined' joined
site_run='--node h2' run "$bin/mlids" $((capacity * 4))
says run '^[0-9]+ times, then no resources$'
joins no
site_run='--node h2' run mckey -b 198.18.0.2 -m 239.7.1.2 -p 0x2 -s -C 1
says run 'MULTICAST_ERROR, error: -22$'

say 'what was joined before still delivers'
site_run='--node h2' start sender stdbuf -oL mckey -b 198.18.0.2 -m 239.7.1.1 -p 0x2 -s -C 20
ended sender 60
ended listener 60
quiet sender listener

say 'a new one has MLIDs again'
killed first TERM
manage second
joins yes
killed second TERM
site_end
