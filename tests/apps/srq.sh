# SPDX-License-Identifier: BSD-2-Clause
# Shared receive queues, over verbs and over rdma_cm; and when verbcastd dies.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
srq=$VERBCAST_BUILD/tests/apps/bin/srq

run "$srq"

say 'verbcastd dies'
start survivor "$srq" death
wait_for 10 'the program is ready' said survivor ready
kill -KILL "$(site_daemon)"
ended survivor 20
quiet survivor
site_keep # another one, for the end to stop
site_end
