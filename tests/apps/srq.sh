# SPDX-License-Identifier: BSD-2-Clause
# Shared receive queues, over verbs and over rdma_cm.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
run "$VERBCAST_BUILD/tests/apps/bin/srq"
site_end
