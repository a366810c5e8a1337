# SPDX-License-Identifier: BSD-2-Clause
# A consumer of the kernel API inside verbcastd has the devices of every node: it hears what
# stock programs send there, and shares their ports of rdma_cm.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey
module=$VERBCAST_BUILD/examples/everywhere.so
bin=$VERBCAST_BUILD/tests/apps/bin
report=$site_work/report

reported()
{
	grep -qE -- "$1" "$report"
}

reports()
{
	reported "$1" || fail "not reported: $1; but $(cat "$report")"
}

# load PARAMETER...: anew.
load()
{
	: >"$report"
	ours insmod "$module" "report=$report" "$@"
}

unload()
{
	ours rmmod everywhere
	reported '^(wrong|failed)' && fail "it went wrong: $(cat "$report")"
	[ "$(grep -c '^added' "$report")" = "$(grep -c '^removed' "$report")" ] ||
		fail "not all that was added was removed: $(cat "$report")"
}

ours fabric up --nodes 3

say 'it is told of the devices of all nodes'
load group=239.1.2.99
for node in 0 1 2; do
	reports "^added vib0 $node [0-9]+\$"
done
reports '^added vroce0 0 '
[ "$(grep -c '^added vib0' "$report")" = 3 ] || fail "vib0: $(cat "$report")"
# One process of each node that it uses.
[ "$(status '[.processes[] | select(.program == "verbcastd") | .node] | sort | join(" ")')" = 'h1 h2 h3' ] ||
	fail "verbcastd is on $(status '[.processes[] | select(.program == "verbcastd") | .node]')"

say 'it hears what is sent on any of them'
for node in 1 2 3; do
	site_run="--node h$node" start "sender$node" mckey -m 239.1.2.99 -b "198.18.0.$node" -s -C 10
	ended "sender$node" 60
done
heard()
{
	[ "$(status '[.groups[] | select(.device == "vib0") | .members[] | select(.state == "attached" and
		.pid == $pid) | .delivered] | add // 0' --argjson pid "$(site_daemon)")" = "$1" ]
}
wait_for 20 'thirty datagrams on each of three nodes' heard 90
for node in 0 1 2; do
	wait_for 20 "the consumer has heard of them on vib0 of $node" reported "^heard vib0 $node 30\$"
done
unload
for node in 0 1 2; do
	reports "^removed vib0 $node 30\$"
done
reports '^removed vroce0 0 0$'

say 'a port that a program has is no more to be had on its node'
mkfifo "$site_work/watcher.in"
site_run='--node h2' start watcher "$BASH" -c 'exec "$0" -b 198.18.0.2:7174 <"$1"' \
	"$bin/watcher" "$site_work/watcher.in"
exec {watcher}>"$site_work/watcher.in"
wait_for 20 'the program has its port' said watcher '^bound vib0$'
load port=7174
reports '^refused vib0 1 -98$' # EADDRINUSE
reports '^added vib0 0 7174$'
reports '^added vib0 2 7174$'
sed -i '/^refused vib0 1/d; /^failed vib0 1 -98$/d' "$report"
unload
echo end >&"$watcher"
ended watcher 20
exec {watcher}>&-

say 'and the other way round'
load port=7174
reports '^added vib0 1 7174$'
site_run='--node h2' start late "$bin/watcher" -b 198.18.0.2:7174
wait_for 20 'the program has ended' gone late
wait "${site_pid[late]}"
unset 'site_pid[late]'
says late 'Address already in use'
site_run='--node h2' run "$BASH" -c 'echo end | "$0" -b 198.18.0.2:7175' "$bin/watcher"
says run '^ended$'
unload

say 'a module that is loaded goes with the site'
load port=7174
site_end
