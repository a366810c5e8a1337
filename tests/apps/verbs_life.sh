# SPDX-License-Identifier: BSD-2-Clause
# The objects of libibverbs over their lives; and over that of verbcastd.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
# A child of several threads starts threads here, which the sanitizer would not have.
export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}die_after_fork=0
life=$VERBCAST_BUILD/tests/apps/bin/verbs_life

run "$life"

say 'verbcastd dies, and there is another'
start survivor "$life" death
wait_for 10 'the program is ready' said survivor ready
kill -KILL "$(site_daemon)"
wait_for 20 'all is flushed' said survivor flushed
site_keep
ended survivor 20
quiet survivor
site_end
