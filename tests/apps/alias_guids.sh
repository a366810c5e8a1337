# SPDX-License-Identifier: BSD-2-Clause
# Alias GUIDs that stock OpenSM and the embedded manager give a port: they are in the
# port's GUIDInfo, in the GID tables of programs, and gone when they are given back. With
# both managers they are what a port is joined by and what paths begin and end at; a
# standby of the embedded one has them. A GUID that is another port's own goes when that
# port comes back, and programs hear of it.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm ibv_devinfo smpquery saquery python3
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work
bin=$VERBCAST_BUILD/tests/apps/bin
group=ff12::a1a5
names=

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

# gid_of GUID
gid_of()
{
	echo "fe80::${1:0:4}:${1:4:4}:${1:8:4}:${1:12:4}"
}

# own NODE: the GID of its port's own GUID.
own()
{
	timeout 120 "$VERBCAST" run --node "$1" -- ibv_devinfo -v -d vib0 2>/dev/null |
		sed -n 's/^[[:space:]]*GID\[ *0\]:[[:space:]]*//p'
}

# on NODE ARGUMENT...: what the program says of it, in one line; its GIDs by their names.
on()
{
	timeout 120 "$VERBCAST" run --node "$1" -- "${@:2}" 2>/dev/null |
		awk -v names="$names" 'BEGIN { n = split(names, name, " ") }
			{ for (i = 1; i < n; i += 2) gsub(name[i], name[i + 1]) } { print }' |
		xargs
}

# members NODE: of the group, each with its state. saquery asks once, and waits for a second
# if it is not told otherwise.
members()
{
	on "$1" sh -c "saquery -t 20000 --smkey 1 --mgid $group MCMR |
		grep -E 'PortGid|JoinState' | paste -d' ' - - | tr -d '\t' |
		sed -E 's/PortGid\.+//; s/JoinState\.+0x/ /' | sort"
}

# paths ARGUMENT...: sorted, each from whom to whom.
paths()
{
	on h2 sh -c "saquery -t 20000 PR $* | grep -E '[sd]gid\.' | paste -d' ' - - | tr -d '\t' |
		sed -E 's/[ds]gid\.+//g' | sort"
}

# is WANTED HAVE
is()
{
	[ "$1" = "$2" ] || fail "is '$2', not '$1'"
}

# name_gids FIRST SECOND: of h2, beside its own; as inet_ntop writes them.
name_gids()
{
	names=$(python3 -c 'import ipaddress, sys
for gid, name in zip(sys.argv[1::2], sys.argv[2::2]):
    print(ipaddress.ip_address(gid), name)' \
		"$1" FIRST "$2" SECOND "$(own h2)" OWN "$(own h3)" OTHER | xargs)
}

# listed: members of the group as `group list` has them.
listed()
{
	timeout 120 "$VERBCAST" group list --json | jq -r --arg mgid $group \
		'.[] | select(.mgid == $mgid) | .members[] | "\(.node) \(.join_state) \(.alias)"'
}

# memberships FIRST SECOND
memberships()
{
	local first=$1 second=$2 mine member="$bin/alias_guids"

	mine=$(own h2)
	name_gids "$first" "$second"
	is 'FIRST 1' "$(on h2 "$member" join "$first" "$group" 1)"
	is 'status 0x0200' "$(on h2 "$member" leave "$mine" "$group" 1)"
	is 'OWN 4' "$(on h2 "$member" join "$mine" "$group" 4)"
	is 'status 0x0200' "$(on h3 "$member" join "$first" "$group" 1)"
	is 'status 0x0200' "$(on h3 "$member" leave "$first" "$group" 1)"
	is 'SECOND 1' "$(on h3 "$member" join "$second" "$group" 1)"
	is 'SECOND 5' "$(on h2 "$member" join "$second" "$group" 4)"
	is 'status 0x0200' "$(on h2 "$member" join fe80::1 "$group" 1)"
	is 'FIRST 1 OWN 4 SECOND 5' "$(members h2 | xargs -n 2 | sort | xargs)"
	is 'status 0x0700' "$(on h2 "$member" delete 1)"
	is 'FIRST 0' "$(on h2 "$member" leave "$first" "$group" 1)"
	is 'SECOND 0' "$(on h3 "$member" leave "$second" "$group" 5)"
	# With the last full member the group has gone.
	is '' "$(members h2)"
}

# way FIRST SECOND: paths.
way()
{
	local first=$1 second=$2 other
	other=$(own h3)
	is 'OTHER FIRST' "$(paths --sgid "$first" --dgid "$other")"
	is 'FIRST OTHER' "$(paths --sgid "$other" --dgid "$first")"
	is 'SECOND FIRST' "$(paths --sgid "$first" --dgid "$second")"
	is '' "$(paths --sgid "${first/fe80/fec0}" --dgid "$other")"
	is '' "$(paths --sgid "$other" --dgid "${first/fe80/fec0}")"
	# Who is not named is everybody, by each of his GUIDs: h2 has three, the others one.
	is 6 "$(paths --dgid "$first" | xargs -n 2 | wc -l)"
	is 6 "$(paths --sgid "$first" | xargs -n 2 | wc -l)"
	is 36 "$(paths | xargs -n 2 | wc -l)"
	is 'OTHER FIRST OTHER OWN OTHER SECOND' \
		"$(paths --slid "$lid" --dgid "$other" | xargs -n 2 | sort | xargs)"
}

in_step()
{
	[ "$(fabric_shows '[.sms[] | select(.state == "standby" and .in_step)] | length')" = 1 ]
}

one_is_up()
{
	[ "$(fabric_shows '[.sms[] | select(.up)] | length')" = 1 ] && sa_serves h2
}

# gets PLACE GUID: h2 is given that one.
gets()
{
	[ "$(on h2 "$bin/alias_guids" set "$1" "$2")" = "$2" ]
}

# owner_back: h2 has the GUID of h3, which is off, until h3 is there again.
owner_back()
{
	local gid guid table

	site_run='--node h2'
	names=
	table=$(gids)
	gid=$(own h3)
	guid=$(python3 -c 'import ipaddress, sys
print("%016x" % (int(ipaddress.ip_address(sys.argv[1])) & (1 << 64) - 1))' "$gid")
	ours fabric node power off h3
	wait_for 30 "h2 is given h3's GUID" gets 3 "$guid"
	wait_for 20 'programs see it' has 3 "$guid"
	on h2 "$bin/alias_guids" join "$gid" "$group" 1 >/dev/null
	is 1 "$(members h2 | xargs -n 2 | wc -l)"
	mkfifo "$site_work/watcher.in"
	start watcher "$BASH" -c 'exec "$0" -d vib0 <"$1"' "$bin/watcher" \
		"$site_work/watcher.in"
	exec {watcher}>"$site_work/watcher.in"
	wait_for 20 'a program has the device' said watcher '^opened vib0$'
	ours fabric node power on h3
	wait_for 30 'programs see it no longer' hasnt 3 "$guid"
	wait_for 20 'a program was told' said watcher '^async GID_CHANGE$'
	echo end >&"$watcher"
	ended watcher 20
	exec {watcher}>&-
	is "$table" "$(gids)"
	is '' "$(members h2)"
	wait_for 30 'h3 has a LID again' vib_port_is h3 ACTIVE
}

# taken_over: a standby has the aliases, and goes on with them when the master has gone.
taken_over()
{
	local guid second first table member="$bin/alias_guids"

	site_run='--node h2'
	run "$member" set 1
	guid=$(cat "$site_work/run.out")
	wait_for 20 'programs see it' has 1 "$guid"
	ours fabric sm start h3
	wait_for 30 'a standby is in step' in_step
	run "$member" set 2
	second=$(cat "$site_work/run.out")
	wait_for 20 'programs see that' has 2 "$second"
	table=$(gids)
	first=$(gid_of "$guid")
	name_gids "$first" "$(gid_of "$second")"
	is 'FIRST 1' "$(on h2 "$member" join "$first" "$group" 1)"
	is "h2 full ${names%% *}" "$(listed)"
	ours group list
	says ours "^  h2 full, by ${names%% *}\$"
	ours fabric sm stop "$(fabric_shows '.sms[] | select(.state == "master") | .node')"
	wait_for 30 'the standby has taken over' one_is_up
	is "$table" "$(gids)"
	is 'FIRST 1' "$(members h2)"
	is 'SECOND FIRST' "$(paths --sgid "$first" --dgid "$(gid_of "$second")")"
	is 'status 0x0700' "$(on h2 "$member" delete 1)"
	is 'FIRST 0' "$(on h2 "$member" leave "$first" "$group" 1)"
	run "$member" delete 1
	wait_for 20 'programs see it no longer' hasnt 1 "$guid"
	has 2 "$second" || fail 'the second one has gone'
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
	run saquery -t 20000 GIR "$lid"
	grep -qi "$guid" "$site_work/run.out" || fail "the record is without $guid"

	say 'one more in place 5'
	run "$bin/alias_guids" set 5
	second=$(cat "$site_work/run.out")
	[ "$second" != "$guid" ] || fail 'the same GUID twice'
	wait_for 20 'programs see it' has 5 "$second"
	has 1 "$guid" || fail 'the first one has gone'

	say 'groups that are joined by them'
	memberships "$(gid_of "$guid")" "$(gid_of "$second")"
	say 'paths from them and to them'
	way "$(gid_of "$guid")" "$(gid_of "$second")"

	say 'the first is given back'
	run "$bin/alias_guids" delete 1
	wait_for 20 'programs see it no longer' hasnt 1 "$guid"
	has 5 "$second" || fail 'the second one has gone'
}

say 'the embedded subnet manager'
ours fabric up --nodes 3
wait_for 30 'it serves' sa_serves h2
aliases
say 'a port comes whose GUID another one has'
owner_back
say 'a standby takes over'
taken_over
ours stop

say 'OpenSM'
ours fabric up --nodes 3 --no-sm
site_run='--node h1' start manager opensm -f "$site_work/opensm.log" -g 0
wait_for 30 'OpenSM serves' sa_serves h2
aliases
killed manager TERM
site_end
