# SPDX-License-Identifier: BSD-2-Clause
# The same random requests to the embedded subnet administrator and to stock OpenSM, on the
# same fabric: the same statuses, records and groups. What differs is known, one by one: as
# sa_differences.txt has it, and with its reason in docs/sa-differences.md.
# ctest: TIMEOUT 900
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm saquery
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
bin=$VERBCAST_BUILD/tests/apps/bin

# Two switches, two hosts on each; GUIDs are named, for both are to sort alike.
cat >"$site_work/topology" <<END
caguid=0x10
Ca 1 "h1"

caguid=0x20
Ca 1 "h2"

caguid=0x30
Ca 1 "h3"

caguid=0x40
Ca 1 "h4"

switchguid=0x100
Switch 8 "s1"
[1] "h1"[1]
[2] "h2"[1]
[7] "s2"[7]

switchguid=0x200
Switch 8 "s2"
[1] "h3"[1]
[2] "h4"[1]
END

# fabric OPTION...: another one, in the place of the last.
fabric()
{
	timeout 60 "$VERBCAST" stop >"$site_work/stopped.out" 2>&1
	ours fabric up --topology "$site_work/topology" "$@"
}

# ask FILE ARGUMENT...
ask()
{
	timeout 600 "$VERBCAST" run --node h2 -- "$bin/sa_requests" "${@:2}" \
		>"$site_work/$1" 2>"$site_work/ask.err" || fail "$*: $(cat "$site_work/ask.err")"
}

# both ARGUMENT...: what ours says is in `ours`, what OpenSM says in `theirs`.
both()
{
	fabric
	ask ours "$@"
	fabric --no-sm
	site_run='--node h1' start manager opensm -f "$site_work/opensm.log" -g 0
	wait_for 60 'OpenSM serves' sa_serves h3
	ask theirs "$@"
	killed manager TERM
}

for seed in $(seq 1 "$(count 1 4)"); do
	requests=$(count 1000 6000)
	say "$requests requests of seed $seed"
	both "$seed" "$requests"
	[ "$(wc -l <"$site_work/ours")" -gt "$requests" ] || fail 'requests are missing'
	diff "$site_work/ours" "$site_work/theirs" >"$site_work/diff.out" ||
		fail 'the two differ'
done

say 'known differences'
both differences
known=$VERBCAST_SOURCE/tests/apps/sa_differences.txt
paste "$site_work/ours" <(cut -f 2 "$site_work/theirs") >"$site_work/differences"
diff "$known" "$site_work/differences" >"$site_work/diff.out" || fail 'they are others'
[ -z "$(awk -F '\t' '$2 == $3' "$known")" ] || fail 'some are none'
diff <(cut -f 1 "$known" | sort) \
	<(sed -n 's/^| `\([a-z0-9-]*\)` .*/\1/p' "$VERBCAST_SOURCE/docs/sa-differences.md" | sort) \
	>"$site_work/diff.out" || fail 'docs/sa-differences.md has not all of them, or others'
site_end
