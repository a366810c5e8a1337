# SPDX-License-Identifier: BSD-2-Clause
# Descriptors are the program's: what it opens under a number that was ours is left
# alone, and its device lives on when it has no number left for a while.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
descriptors=$VERBCAST_BUILD/tests/apps/bin/descriptors

run "$descriptors" closed
run "$descriptors" full
site_end
