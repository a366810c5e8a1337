# SPDX-License-Identifier: BSD-2-Clause
# Stock tools on a fabric that loses a fifth of its management datagrams on each way: they
# end, and what they say is whole or is said to have failed.
# ctest: TIMEOUT 900
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need saquery smpquery perfquery ibping jq
tries=60

# try NAME COMMAND...: once, on h1; its output in NAME.try. A score of them run at once.
try()
{
	timeout 240 "$VERBCAST" run --node h1 -- "${@:2}" >"$site_work/$1.try" \
		2>"$site_work/$1.trouble" </dev/null
}

# The tools, by name: what answers to a query is as it is without loss (whole), or may lack
# what a port did not say to the administrator in time (parts), or changes with each look.
declare -A whole=() parts=() looks=()

tools()
{
	local lid record

	lid=$(lid_of h2)
	for record in CPI NR PIR 'PKTR --smkey 1' IIR LR SR PR 'MCMR --smkey 1' LFTR MFTR SWIR; do
		whole[saquery-${record%% *}]="saquery -t 500 $record"
	done
	whole[smpquery]="smpquery nodeinfo $lid"
	for record in GIR SL2VL VLAR; do
		parts[saquery-$record]="saquery -t 3000 $record"
	done
	looks[saquery-SMIR]='saquery -t 500 SMIR'
	looks[perfquery]="perfquery $lid 1"
}

# without_loss: each of them at once; what is whole is kept for later.
without_loss()
{
	local name

	for name in "${!whole[@]}" "${!parts[@]}" "${!looks[@]}"; do
		try "$name" ${whole[$name]:-}${parts[$name]:-}${looks[$name]:-} -t 20000 ||
			fail "$name ends with $? without loss: $(cat "$site_work/$name.trouble")"
		mv "$site_work/$name.try" "$site_work/$name.whole"
	done
}

# steady FILE: without what only says that the manager has not yet looked at a switch again.
steady()
{
	sed 's/\(PortStateChange.*0x.\)4$/\10/' "$site_work/$1"
}

is_whole()
{
	cmp -s <(steady "$1.try") <(steady "$1.whole")
}

# insist NAME KIND COMMAND...: until it succeeds; how that went is in NAME.end.
insist()
{
	local name=$1 kind=$2 end='never succeeds' status i

	for ((i = 0; i < tries; i++)); do
		try "$name" "${@:3}"
		status=$?
		if [ $status = 124 ]; then
			end=hangs
			break
		elif [ $status != 0 ]; then
			continue
		elif [ "$kind" = looks ] || is_whole "$name"; then
			end=well
			break
		elif [ "$kind" = whole ]; then
			end='is content with a part'
			break
		fi
	done
	echo "$end" >"$site_work/$name.end"
}

# ping LID: until one is answered.
ping()
{
	local end='hears nothing' i

	for ((i = 0; i < tries; i++)); do
		try ping ibping -c 1 "$1" || continue
		if grep -qE '^1 packets transmitted, 1 received' "$site_work/ping.try"; then
			end=well
			break
		fi
	done
	echo "$end" >"$site_work/ping.end"
}

with_loss()
{
	local name kind pids=()

	for kind in whole parts looks; do
		declare -n of_kind=$kind
		for name in "${!of_kind[@]}"; do
			insist "$name" $kind ${of_kind[$name]} &
			pids+=($!)
		done
	done
	ping "$(lid_of h2)" &
	wait "${pids[@]}" $!
	for name in "${!whole[@]}" "${!parts[@]}" "${!looks[@]}" ping; do
		[ "$(cat "$site_work/$name.end")" = well ] ||
			fail "$name $(cat "$site_work/$name.end")"
	done
}

say 'without loss'
ours fabric up --nodes 4
wait_for 20 'all are in the broadcast group' broadcast_has h1 4
wait_for 20 'the tables lead to all' leads 0xc000 h1 h2 h3 h4
site_run='--node h2' start pong ibping -S
tools
without_loss

say 'with loss'
ours fabric loss 20
with_loss
[ "$(fabric_shows .mads.lost)" -gt 20 ] || fail 'too little was lost'
killed pong
site_end
