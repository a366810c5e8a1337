# SPDX-License-Identifier: BSD-2-Clause
# What programs with libibumad may count on, and how a site that ends leaves them.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
bin=$VERBCAST_BUILD/tests/apps/bin
ours fabric up --nodes 2
site_run='--node h2'
run "$bin/umad_rules" "$(count 5 300)"
says run '^all of it$'

say 'the end of the site'
start waiter "$bin/umad_rules" end
wait_for 20 'its port is open' said waiter '^open$'
ours stop
ended waiter 20
quiet waiter
site_end dead
