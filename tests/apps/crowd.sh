# SPDX-License-Identifier: BSD-2-Clause
# Hundreds of processes in one site, a thousand in a soak: a group of few costs its sender
# what it cost among eight, a group of all reaches all, and when all are killed at once
# nothing of them is left.
# ctest: TIMEOUT 300 LABELS noasan
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
crowd=$VERBCAST_BUILD/tests/apps/bin/crowd

processes=$(count 200 1000)
available=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))
[ "$available" -ge $((processes * 4)) ] ||
	skip "$processes processes need more than $available MiB"
daemon=$(site_daemon)
descriptors=$(ls "/proc/$daemon/fd" | wc -l)

start crowd $crowd "$processes"
ended crowd "$(pick 90 1200)"
quiet crowd
cat "$site_work/crowd.out"
says crowd '^got [0-9]+$'
awk '/^few/ { exit !($4 < 1.5) }' "$site_work/crowd.out" ||
	fail 'a group of few costs more in a site of many'

nobody()
{
	[ "$(status '.processes | length')" = 0 ] &&
		[ "$(ls "/proc/$daemon/fd" | wc -l)" -le "$descriptors" ]
}
wait_for 30 'nothing of them is left' nobody
site_end
