# SPDX-License-Identifier: BSD-2-Clause
# Programs that write over the memory in which their management datagrams go to verbcastd and
# back, and die at any moment of it: others are served meanwhile and afterwards, by the same
# verbcastd, which holds nothing of theirs.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need saquery
bin=$VERBCAST_BUILD/tests/apps/bin
seed=${VERBCAST_SEED:-$RANDOM}
say "seed $seed"

descriptors()
{
	find "/proc/$daemon/fd" -mindepth 1 | wc -l
}

# Those of who has just asked may still go.
as_before()
{
	[ "$(descriptors)" -le "$before" ]
}

ours fabric up --ring 3:2
daemon=$(site_daemon)
wait_for 20 'it serves' sa_serves h1
before=$(descriptors)
for ((round = 0; round < $(count 3 60); round++)); do
	for i in 1 2 3 4 5 6; do
		site_run="--node h$i" start "s$i" "$bin/umad_scribbler" 2000 $((seed + 10 * round + i))
	done
	wait_for 20 'h1 is served' sa_serves h1
	for i in 1 2 3; do
		if alive "s$i"; then killed "s$i"; else ended "s$i" 1; fi
	done
	for i in 4 5 6; do
		ended "s$i" 60
		says "s$i" '^scribbled$'
	done
done
wait_for 20 'h2 is served' sa_serves h2
[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has not survived it'
wait_for 20 'nothing is held' as_before
site_end
