# SPDX-License-Identifier: BSD-2-Clause
# Management datagrams that are wrong change nothing in a fabric, and are counted.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need saquery
bin=$VERBCAST_BUILD/tests/apps/bin

ours fabric up --ring 3:2
timeout 60 "$VERBCAST" group create --node h2 ff15:a01b::77 >/dev/null || fail 'group create'

fabric()
{
	timeout 20 "$VERBCAST" fabric show --json
}

# All that stands in the fabric and its administrator, but for counters, and for a switch's
# news as the manager read them last.
everything()
{
	fabric | jq -S '[.nodes[] | del(.mads)], .sm.state, .sm.up'
	timeout 20 "$VERBCAST" group list --json | jq -S .
	site_run='--node h3'
	for record in NodeRecord PortInfoRecord SwitchInfoRecord LFTRecord MFTRecord; do
		timeout 60 "$VERBCAST" run --node h3 -- saquery --smkey 1 "$record" 2>&1 |
			grep -vE "PortStateChange|[MPQ]keyViolations"
	done
	status '[.nodes[].devices[] | select(.name == "vib0") | .ports[0] | del(.counters)]'
}

# How many were seen to be wrong, or were nobody's.
wrong()
{
	fabric | jq '[.mads | .no_route, .bad_hops, .malformed, .nobody] + [.nodes[].mads //
		empty | .unmatched, .malformed, .no_owner] | add'
}

everything >"$site_work/before"
wrong_before=$(wrong)
for node in h1 h4; do
	seed=$RANDOM
	say "from $node, seed $seed"
	site_run="--node $node" run "$bin/umad_noise" "$(count 2000 200000)" "$seed"
	says run '^[0-9]+ sent$'
done
wrong_after=$(wrong)
everything >"$site_work/after"
diff "$site_work/before" "$site_work/after" >"$site_work/diff.out" ||
	fail 'something has changed'
[ $((wrong_after - wrong_before)) -gt "$(count 400 40000)" ] ||
	fail "only $((wrong_after - wrong_before)) were counted"
timeout 60 "$VERBCAST" group leave --node h2 ff15:a01b::77 >/dev/null || fail 'group leave'
site_end
