# SPDX-License-Identifier: BSD-2-Clause
# What lies idle is small: a client, a member of a group with buffers posted, that has heard
# another one or has itself sent, under 4 MiB resident; verbcastd and its janitor together
# under 16 MiB, with three clients there.
# ctest: LABELS noasan
. "$VERBCAST_SOURCE/tests/harness/site.sh"
[ -z "${VERBCAST_SANITIZE:-}" ] || skip 'a sanitizer has memory of its own'
site_begin
site_keep
member=$VERBCAST_BUILD/tests/apps/bin/member

# resident PID: KiB, shared pages included.
resident()
{
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"
}

# below LIMIT KiB WHAT
below()
{
	say "$3: $2 KiB"
	[ "$2" -gt 0 ] && [ "$2" -lt "$1" ] || fail "$3: $2 KiB resident, not under $1"
}

for name in one two; do
	start $name $member -m 239.1.9.1 -r 8 -S 1024 -k
done
wait_for 10 'two members' members_are 239.1.9.1 2
start three $member -m 239.1.9.1 -s 8 -S 1024 -k
wait_for 10 'three members' members_are 239.1.9.1 3
for name in one two; do
	wait_for 10 "$name to have heard all" said $name 'got 8'
done
for name in one two three; do
	below 4096 "$(resident "$(pid $name)")" "client $name"
done

daemon=$(site_daemon)
site=$(resident "$daemon")
for child in $(cat "/proc/$daemon/task/"*/children); do
	site=$((site + $(resident "$child")))
done
below 16384 "$site" 'verbcastd and its janitor'

for name in one two three; do
	killed $name TERM
done
site_end
