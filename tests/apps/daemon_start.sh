# SPDX-License-Identifier: BSD-2-Clause
# Ten `verbcast run` at once get one verbcastd; it inherits nothing that would keep a
# pipe open; it lives as long as one of them does.
# ctest: TIMEOUT 600 COST 9
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin

# verbcastds: those that no other verbcastd has started, that is, without the janitors.
verbcastds()
{
	local pid all parent

	all=$(site_processes | awk '/verbcastd/ { print $1 }')
	for pid in $all; do
		parent=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
		grep -qx "${parent:-none}" <<<"$all" || echo "$pid"
	done
}

# runs NAME: `verbcast run` has become its program, and the site lives while that does.
runs()
{
	[ "$(cat "/proc/$(pid "$1")/comm")" = sleep ]
}

for round in $(seq "$(count 5 200)"); do
	for n in 0 1 2 3 4 5 6 7 8 9; do
		start run$n sleep 300
	done
	for n in 0 1 2 3 4 5 6 7 8 9; do
		wait_for 20 "run$n is its program" runs run$n
	done
	n=$(verbcastds | wc -l)
	[ "$n" = 1 ] || fail "round $round: $n verbcastd: $(site_processes)"
	n=$(ls "$VERBCAST_RUNTIME_DIR" | grep -c '\.sock$')
	[ "$n" = 1 ] || fail "round $round: $n sockets"
	daemon=$(site_daemon)
	[ "$(verbcastds)" = "$daemon" ] || fail "round $round: status knows another one"
	timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
	for n in 0 1 2 3 4 5 6 7 8 9; do
		quiet run$n
		killed run$n TERM
	done
	nothing_left
done

say 'nothing inherited'
# The pipe closes with the program, although the daemon it started lives on.
out=$(timeout 120 bash -c '"$VERBCAST" run -- echo hello 2>&1 | cat') ||
	fail 'a pipe stays open'
[ "$out" = hello ] || fail "the pipe said: $out"
exec 9<"$VERBCAST_SOURCE/LICENSE"
timeout 120 "$VERBCAST" stop || no_site_processes || fail 'verbcast stop'
nothing_left
cd "$site_work" || exit 1
start keeper sleep 300
wait_for 20 'the keeper is its program' runs keeper
daemon=$(site_daemon)
ls -l "/proc/$daemon/fd" | grep -E 'LICENSE|keeper\.(out|err)' &&
	fail 'verbcastd has inherited a descriptor'
[ "$(readlink "/proc/$daemon/cwd")" = / ] || fail 'verbcastd keeps the working directory'
[ "$(ps -o sid= -p "$daemon" | tr -d ' ')" != "$(ps -o sid= -p $$ | tr -d ' ')" ] ||
	fail 'verbcastd is in the session of its starter'
exec 9<&-
cd /
killed keeper TERM

say 'it outlives a program, and not the last one for long'
start first sleep 300
wait_for 20 'the first is its program' runs first
start second sleep 300
wait_for 20 'the second is its program' runs second
daemon=$(site_daemon)
killed first
[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has changed'
killed second
wait_for 60 'verbcastd stops by itself' process_gone "$daemon"
nothing_left

say 'a private site ends with its program'
site_run=--private start alone sleep 300
wait_for 20 'it is its program' runs alone
daemon=$(verbcastds)
[ -n "$daemon" ] || fail 'no private verbcastd'
killed alone
wait_for 5 'the private verbcastd ends at once' process_gone "$daemon"
nothing_left
site_end dead
