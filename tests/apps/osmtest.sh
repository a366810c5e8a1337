# SPDX-License-Identifier: BSD-2-Clause
# Stock osmtest against both subnet administrators, flow by flow as the table in
# docs/testing.md has it: the embedded one, and stock OpenSM on our fabric. The flows that
# fill the pool of MLIDs take a minute each and are for soaks.
# ctest: TIMEOUT 1800
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need osmtest opensm
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work

# flow WHAT ARGUMENT...
flow()
{
	say "$sm: $1"
	site_run='--node h2' start flow osmtest -i "$site_work/inventory" \
		-l "$site_work/flow.log" -t 1000 "${@:2}"
	ended flow 100
	says flow '^OSMTEST: TEST ".*" PASS$'
	rm -f "$site_work/flow.log"
}

flows()
{
	flow 'inventory' -f c
	# Ten seconds of it are a lease that ends; nothing else minds.
	site_run='--node h3' start services osmtest -i "$site_work/inventory" \
		-l "$site_work/services.log" -t 1000 -f s
	flow 'multicast, single, from the first moment' -f m -M1
	flow 'multicast, among others' -f m -M2
	flow 'multicast, again' -f m -M2
	flow 'multicast, once more' -f m -M2
	flow 'multicast, single, once more' -f m -M1
	flow 'events' -f e
	flow 'quality of service' -f q
	flow 'validation' -f v
	if [ "$site_scale" = soak ]; then
		flow 'all of it' -f a
		flow 'all MLIDs, single' -f m -M3
		flow 'all MLIDs, among others' -f m -M4
		flow 'multicast, with MLIDs again' -f m -M2
	fi
	say "$sm: services"
	ended services 60
	says services '^OSMTEST: TEST ".*" PASS$'
}

sm=embedded
ours fabric up --nodes 4
wait_for 20 'all are in the broadcast group' broadcast_has h3 4
flows
ours stop

sm=OpenSM
ours fabric up --nodes 4 --no-sm
site_run='--node h1' start manager opensm -f "$site_work/opensm.log" -g 0
wait_for 30 'OpenSM serves' broadcast_has h3 4
flows
killed manager TERM
site_end
