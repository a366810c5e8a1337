# SPDX-License-Identifier: BSD-2-Clause
# Management datagrams that are wrong change nothing in a fabric, and are counted.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need saquery
bin=$VERBCAST_BUILD/tests/apps/bin

ours fabric up --ring 3:2
wait_for 30 'all are in the broadcast group' broadcast_has h3 6
ours group create --node h2 ff15:a01b::77

# asked RECORD: saquery waits a second, and no longer.
asked()
{
	timeout 120 "$VERBCAST" run --node h3 -- saquery --smkey 1 "$1" >"$site_work/asked.out" 2>&1
}

# everything FILE: all that stands in the fabric and its administrator, but for counters, and
# for a switch's news as the manager read them last.
everything()
{
	local record

	fabric_shows '[.nodes[] | del(.mads)], .sm.state, .sm.up' -S >"$1"
	timeout 120 "$VERBCAST" group list --json | jq -S . >>"$1"
	for record in NodeRecord PortInfoRecord SwitchInfoRecord LFTRecord MFTRecord; do
		wait_for 20 "$record is answered" asked "$record"
		grep -vE "PortStateChange|[MPQ]keyViolations" "$site_work/asked.out" >>"$1"
	done
	status '[.nodes[].devices[] | select(.name == "vib0") | .ports[0] | del(.counters)]' >>"$1"
}

# How many were seen to be wrong, or were nobody's.
wrong()
{
	fabric_shows '[.mads | .no_route, .bad_hops, .malformed, .nobody] + [.nodes[].mads //
		empty | .unmatched, .malformed, .no_owner] | add'
}

everything "$site_work/before"
wrong_before=$(wrong)
for node in h1 h4; do
	seed=$RANDOM
	say "from $node, seed $seed"
	site_run="--node $node" run "$bin/umad_noise" "$(count 2000 200000)" "$seed"
	says run '^[0-9]+ sent$'
done
wrong_after=$(wrong)
everything "$site_work/after"
diff "$site_work/before" "$site_work/after" >"$site_work/diff.out" ||
	fail 'something has changed'
[ $((wrong_after - wrong_before)) -gt "$(count 400 40000)" ] ||
	fail "only $((wrong_after - wrong_before)) were counted"
ours group leave --node h2 ff15:a01b::77
site_end
