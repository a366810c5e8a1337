# SPDX-License-Identifier: BSD-2-Clause
# An interface is deleted and made again, over and over, while threads of two programs
# open its device, bind to its address and join groups. Nobody hangs, nobody crashes, and
# nothing piles up.
# ctest: TIMEOUT 400 LABELS threads
. "$VERBCAST_SOURCE/tests/harness/namespace.sh"
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need ip
bin=$VERBCAST_BUILD/tests/apps/bin

ip link set lo up || skip 'lo cannot be set up in a namespace of ours'
pair near far 10.77.0.1/24 2>/dev/null || skip 'this kernel has no veth interfaces'
site_run='--wire near' start keeper sleep 100000
wait_for 20 'near has a device' devices_are vroce0=lo vroce1=near
daemon=$(site_daemon)

for n in 1 2; do
	mkfifo "$site_work/flapper$n.in"
	start flapper$n "$BASH" -c 'exec "$0" 10.77.0.1 <"$1"' "$bin/flapper" "$site_work/flapper$n.in"
	eval "exec {in$n}>\"$site_work/flapper$n.in\""
	wait_for 20 "flapper$n has begun" said flapper$n '^flapping$'
done

for round in $(seq "$(count 15 500)"); do
	ip link del near
	wait_for 10 "round $round: the device is gone" devices_are vroce0=lo
	# Now and then something else happens at the same time.
	[ $((round % 3)) != 0 ] || pair side else 10.78.0.1/24 || fail 'ip'
	pair near far 10.77.0.1/24 || fail 'ip'
	wait_for 10 "round $round: the device is back" devices_are vroce0=lo vroce1=near
	[ $((round % 3)) != 1 ] || ip address del 10.77.0.1/24 dev near
	[ $((round % 3)) != 0 ] || ip link del side
done
[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has died'
exec {in1}>&- {in2}>&-
for n in 1 2; do
	ended flapper$n 30
	quiet flapper$n
	says flapper$n '^rounds [0-9]+, removals [0-9]+$'
	say "flapper$n: $(tail -n 1 "$site_work/flapper$n.out")"
done
within 10 eval '[ "$(ls /proc/'"$daemon"'/fd | wc -l)" -lt 40 ]' ||
	fail "verbcastd keeps descriptors: $(ls -l "/proc/$daemon/fd")"
site_end
