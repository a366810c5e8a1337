# SPDX-License-Identifier: BSD-2-Clause
# An ordinary user: no capability, 64 KiB of locked memory, a home that cannot be
# written, files of his own nowhere but in the runtime directory. And two such users do
# not meet, nor can one look into the site of the other.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey setpriv

site_install
if [ "$(id -u)" = 0 ]; then
	# Numbers that nobody has: the runtime directory is made for the first time.
	first=$((54000 + $$ % 1000)) second=$((55000 + $$ % 1000))
	unset VERBCAST_RUNTIME_DIR
else
	first=$(id -u) second=
fi

site_as "$first"
site_keep
start r1 mckey -m 239.1.10.1 -b 127.0.0.1 -C 1000 -S 4096
start r2 mckey -m 239.1.10.1 -b 127.0.0.1 -C 1000 -S 4096
r1=$(pid r1) r2=$(pid r2)
wait_for 20 'two members' members_are 239.1.10.1 2
grep -q '^CapEff:[[:space:]]*0*$' "/proc/$r1/status" || fail 'the program has capabilities'
grep -qE '^Max locked memory +65536' "/proc/$r1/limits" || fail 'the limit is not there'
daemon=$(site_daemon)
[ "$(stat -c %u "/proc/$daemon")" = "$first" ] || fail 'verbcastd is not his'

if [ -n "$second" ]; then
	say 'another user in the same group, on the same machine'
	site_as "$second"
	start hold sleep 1000 # his site, while it is looked at
	start other mckey -m 239.1.10.1 -b 127.0.0.1 -s -C 5 -S 4096
	ended other 20
	quiet other
	other_daemon=$(site_daemon)
	[ "$other_daemon" != "$daemon" ] || fail 'two users, one verbcastd'
	say 'who looks into a site that is not his'
	VERBCAST_RUNTIME_DIR=/tmp/verbcast-$first timeout 120 "$VERBCAST" status \
		>"$site_work/look.out" 2>"$site_work/look.err" && fail 'he may'
	[ -s "$site_work/look.err" ] || fail 'he is refused without a word'
	timeout 120 "$VERBCAST" stop || fail "verbcast stop of the second user"
	wait_for 10 'his verbcastd is gone' process_gone "$other_daemon"
	killed hold TERM
	site_as "$first"
	[ -z "$(delivered 239.1.10.1 "$r1" | grep -vx 0)" ] || fail 'two users have met'
fi

say 'his own sender'
start s mckey -m 239.1.10.1 -b 127.0.0.1 -s -C 1000 -S 4096
ended s 20
ended r1 30
ended r2 30
quiet s r1 r2
got 239.1.10.1 "$r1" 1000
got 239.1.10.1 "$r2" 1000
run ibv_devinfo -v
[ -z "$(ls -A "$site_work/home")" ] || fail 'something in the home'

timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
wait_for 10 'his verbcastd is gone' process_gone "$daemon"
killed keeper TERM
if [ -n "$second" ]; then
	for uid in $first $second; do
		dir=/tmp/verbcast-$uid
		[ -d "/run/user/$uid/verbcast" ] && dir=/run/user/$uid/verbcast
		[ -z "$(ls -A "$dir" 2>/dev/null)" ] || fail "left in $dir: $(ls -A "$dir")"
		[ ! -d "$dir" ] || [ "$(stat -c %a "$dir")" = 700 ] || fail "$dir is not private"
		rmdir "$dir" 2>/dev/null
	done
	export VERBCAST_RUNTIME_DIR=$site_work/runtime
fi
VERBCAST=$site_work/prefix/bin/verbcast
site_end dead
