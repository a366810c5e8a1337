# SPDX-License-Identifier: BSD-2-Clause
# What holds on RoCE and is no matter of the link, on a node that has vib0 alone.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
bin=$VERBCAST_BUILD/tests/apps/bin

ours fabric up --nodes 2
export CLIENT_ADDRESS=198.18.0.2
site_run='--node h2'
for client in verbs_rules verbs_life srq parent_domain cm_modes; do
	say $client
	run "$bin/$client"
done
say unfit_members
run "$bin/unfit_members" "$(site_daemon)"
say leave
run "$bin/leave" "$(site_daemon)"
say attach
run "$bin/attach"
[ "$(status '[.groups[] | .members[] | select(.state == "attached")] | length')" = 0 ] ||
	fail 'members are left'
site_end
