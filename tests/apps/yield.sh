# SPDX-License-Identifier: BSD-2-Clause
# A site that only waits for its end makes room for another fabric at once; one that anybody
# uses, or that is to be there, does not; and who comes at that moment is let down by nobody.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin

# Waits for its end so long that nothing here is decided by that.
serve()
{
	start_with daemon "${VERBCAST}d" --linger 600 "$@"
	wait_for 20 'the site is there' site_daemon >/dev/null
	[ "$(site_daemon)" = "$(pid daemon)" ] || fail 'another one serves'
}

nodes()
{
	[ "$(status '.nodes | length')" = "$1" ] || fail "the site has not $1 nodes"
}

# knocks NAME: its only socket is that to verbcastd.
knocks()
{
	ls -l "/proc/$(pid "$1")/fd" 2>/dev/null | grep -q socket:
}

say 'nobody is there'
serve --yield
ours fabric up --nodes 2
says ours '^site default is up: nodes h1, h2$'
ended daemon 20
nodes 2
site_run='--node h2' run true
refused 'runs already, with the fabric --nodes 2' fabric up --nodes 3
ours stop

say 'as verbcast run leaves it'
run true
ours fabric up --nodes 2
nodes 2
ours stop

say 'the same fabric is the same site'
serve --yield
ours fabric up
[ "$(site_daemon)" = "$(pid daemon)" ] || fail 'another one serves'
refused 'runs already' fabric up --nodes 2
ours stop
ended daemon 20

say 'a program'
serve --yield
start user sleep 100000
wait_for 20 'its lease' eval '[ "$(cat /proc/$(pid user)/comm)" = sleep ]'
refused 'runs already, with the fabric --nodes 1' fabric up --nodes 2
[ "$(site_daemon)" = "$(pid daemon)" ] || fail 'another one serves'
killed user
wait_for 20 'room for a fabric' eval 'timeout 120 "$VERBCAST" fabric up --nodes 2 2>&1' >/dev/null
ended daemon 20
ours stop

say 'a module'
serve --yield
ours insmod "$VERBCAST_BUILD/examples/mcast_consumer.so"
refused 'runs already' fabric up --nodes 2
ours rmmod mcast_consumer
ours fabric up --nodes 2
ended daemon 20
ours stop

say 'who started it by hand meant it'
serve
refused 'runs already' fabric up --nodes 2
ours stop
ended daemon 20

# both A B: two `fabric up` that ask the same idle site; leaves their ends in $ends.
both()
{
	local name

	serve --yield
	kill -STOP "$(pid daemon)"
	start_with first "$VERBCAST" fabric up --nodes "$1"
	wait_for 20 'the first knocks' knocks first
	# It knocks too, or waits for the first.
	start_with second "$VERBCAST" fabric up --nodes "$2"
	wait_for 20 'the second waits' eval \
		'[ "$(cut -d" " -f2-3 "/proc/$(pid second)/stat")" = "(verbcast) S" ]'
	kill -CONT "$(pid daemon)"
	ends=
	for name in first second; do
		within 60 gone $name || fail "fabric up does not end"
		wait "$(pid $name)"
		ends="$ends$? "
		unset "site_pid[$name]"
	done
}

say 'two fabrics at once: the first wins'
both 2 3
[ "$ends" = '0 1 ' ] || fail "they end with $ends: $(cat "$site_work"/{first,second}.err)"
ended daemon 20
grep -q 'runs already, with the fabric --nodes 2' "$site_work/second.err" ||
	fail "the second says: $(cat "$site_work/second.err")"
nodes 2
ours stop

say 'the same one twice at once'
both 2 2
[ "$ends" = '0 0 ' ] || fail "they end with $ends: $(cat "$site_work"/{first,second}.err)"
ended daemon 20
nodes 2
ours stop

say 'who comes just then'
for ((round = 0; round < $(count 4 100); round++)); do
	serve --yield
	# All of them knock before anybody is answered.
	kill -STOP "$(pid daemon)"
	start_with fabric "$VERBCAST" fabric up --nodes 2
	for ((i = 0; i < 4; i++)); do
		start "comer$i" true
	done
	for who in fabric comer{0..3}; do
		wait_for 20 "$who knocks" knocks $who
	done
	kill -CONT "$(pid daemon)"
	for ((i = 0; i < 4; i++)); do
		ended "comer$i" 60
	done
	within 60 gone fabric || fail 'fabric up does not end'
	wait "$(pid fabric)"
	status=$?
	[ $status = 0 ] || { [ $status = 1 ] && grep -q 'runs already' "$site_work/fabric.err"; } ||
		fail "fabric up ends with $status: $(cat "$site_work/fabric.err")"
	unset "site_pid[fabric]"
	ours stop
	ended daemon 20
done
site_end dead
