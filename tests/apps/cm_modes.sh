# SPDX-License-Identifier: BSD-2-Clause
# rdma_cm around multicast: synchronous ids, resolution, options, migration, events.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
run "$VERBCAST_BUILD/tests/apps/bin/cm_modes"
site_end
