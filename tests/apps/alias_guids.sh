# SPDX-License-Identifier: BSD-2-Clause
# Alias GUIDs that stock OpenSM and the embedded manager give a port: they are in the
# port's GUIDInfo, in the GID tables of programs, and gone when they are given back.
# ctest: TIMEOUT 200
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm ibv_devinfo smpquery
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
bin=$VERBCAST_BUILD/tests/apps/bin

# gids: of h2, one a line.
gids()
{
	run ibv_devinfo -v -d vib0
	sed -n 's/^[[:space:]]*GID\[ *\([0-9]*\)\]:[[:space:]]*\(.*\)$/\1 \2/p' "$site_work/run.out"
}

# has PLACE GUID
has()
{
	local end="${2:0:4}:${2:4:4}:${2:8:4}:${2:12:4}"

	gids | grep -qE "^$1 fe80(:0{0,4})*:?$(sed -E 's/(^|:)0{1,3}/\10{0,3}/g' <<<"$end")"
}

hasnt()
{
	! has "$@"
}

# aliases: what is the same with every subnet manager.
aliases()
{
	local guid second lid

	site_run='--node h2'
	lid=$(vib_port h2 .lid)
	say 'one in place 1'
	run "$bin/alias_guids" set 1
	guid=$(cat "$site_work/run.out")
	[ "$guid" != 0000000000000000 ] || fail 'no GUID is given'
	wait_for 20 'programs see it' has 1 "$guid"
	run smpquery guidinfo "$lid"
	grep -q "$guid" "$site_work/run.out" || fail "GUIDInfo is without $guid"
	run saquery GIR "$lid"
	grep -qi "$guid" "$site_work/run.out" || fail "the record is without $guid"

	say 'one more in place 5'
	run "$bin/alias_guids" set 5
	second=$(cat "$site_work/run.out")
	[ "$second" != "$guid" ] || fail 'the same GUID twice'
	wait_for 20 'programs see it' has 5 "$second"
	has 1 "$guid" || fail 'the first one has gone'

	say 'the first is given back'
	run "$bin/alias_guids" delete 1
	wait_for 20 'programs see it no longer' hasnt 1 "$guid"
	has 5 "$second" || fail 'the second one has gone'
}

say 'the embedded subnet manager'
ours fabric up --nodes 3
wait_for 30 'it serves' sa_serves h2
aliases
ours stop

say 'OpenSM'
ours fabric up --nodes 3 --no-sm
site_run='--node h1' start manager opensm -f "$site_work/opensm.log" -g 0
wait_for 30 'OpenSM serves' sa_serves h2
aliases
killed manager TERM
site_end
