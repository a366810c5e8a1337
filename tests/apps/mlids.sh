# SPDX-License-Identifier: BSD-2-Clause
# A member that joins as two things at once and leaves as one after the other. The embedded
# administrator forgets nothing of it; OpenSM keeps an MLID for each such group until it has
# none: joins are then refused, what is joined stays, and a new OpenSM has them all.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm ibnetdiscover mckey saquery stdbuf
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
bin=$VERBCAST_BUILD/tests/apps/bin
capacity=64

groups()
{
	site_run='--node h3' run saquery -g
	grep -c '^MCMemberRecord' "$site_work/run.out"
}

# To a group that is not there, for which there is an MLID.
joins()
{
	ours group create --node h2 ff15:a01b::31 --qkey 1
	ours group leave --node h2 ff15:a01b::31
}

manage()
{
	site_run='--node h1' start "$1" opensm -f "$site_work/$1.log" -g 0
	wait_for 30 'OpenSM serves' broadcast_has h3 3
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
joins
ours stop

say 'OpenSM'
ours fabric up --topology "$site_work/topology" --no-sm
manage first
site_run='--node h3' start listener stdbuf -oL mckey -b 198.18.0.3 -m 239.7.1.1 -p 0x2 -C 20
wait_for 30 'the listener has joined' mckey_joined listener
site_run='--node h2' run "$bin/mlids" $((capacity * 4))
says run '^[0-9]+ times, then no resources$'
refused 'the subnet administrator refuses' group create --node h2 ff15:a01b::31 --qkey 1
site_run='--node h2' run mckey -b 198.18.0.2 -m 239.7.1.2 -p 0x2 -s -C 1
says run 'MULTICAST_ERROR, error: -22$'

say 'what was joined before still delivers'
read -r group mlid <<<"$(mckey_group listener)"
ours group join --node h2 "$group"
wait_for 30 'the tables lead to the listener' leads "$mlid" h2 h3
site_run='--node h2' start sender stdbuf -oL mckey -b 198.18.0.2 -m 239.7.1.1 -p 0x2 -s -C 20
ended sender 60
ended listener 60
quiet sender listener

say 'a new one has MLIDs again'
killed first TERM
manage second
joins
killed second TERM
site_end
