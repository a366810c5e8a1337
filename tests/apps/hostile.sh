# SPDX-License-Identifier: BSD-2-Clause
# Clients that send verbcastd whatever comes to mind, while a group goes about its
# business: they harm nobody but themselves, and leave nothing behind.
# ctest: TIMEOUT 900 COST 5
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey
member=$VERBCAST_BUILD/tests/apps/bin/member

start witness $member -m 239.1.14.1 -r 1000
witness=$(pid witness)
wait_for 20 'a member' members_are 239.1.14.1 1
daemon=$(site_daemon)
socket=$(echo "$VERBCAST_RUNTIME_DIR"/*.default.sock)
[ -S "$socket" ] || fail 'no socket'
descriptors=$(ls "/proc/$daemon/fd" | wc -l)

seed=${VERBCAST_SEED:-$(date +%s)}
say "seed $seed"
for n in 1 2 3; do
	start_with hostile$n "$VERBCAST_BUILD/tests/apps/bin/hostile" "$socket" $((seed + n)) \
		"$(count 20000 1000000)"
done
for n in 1 2 3; do
	ended hostile$n "$(pick 120 3000)"
	say "$(cat "$site_work/hostile$n.out")"
	says hostile$n '^[1-9][0-9]+ answered'
done
[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has not survived it'

run $member -m 239.1.14.1 -s 1000
ended witness 20
got 239.1.14.1 "$witness" 1000
settled()
{
	# What the three had is given back; the witness has gone, too.
	[ "$(ls "/proc/$daemon/fd" | wc -l)" -le "$descriptors" ]
}
wait_for 20 'every descriptor is closed' settled
nobody()
{
	[ "$(status '.processes | length')" = 0 ]
}
within 10 nobody || fail "processes are left: $(status .processes)"
site_end
