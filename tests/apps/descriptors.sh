# SPDX-License-Identifier: BSD-2-Clause
# Descriptors are the program's: what it opens under a number that was ours is left
# alone, its device lives on when it has no number left for a while, and the standard ones
# are not ours where they are closed.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
descriptors=$VERBCAST_BUILD/tests/apps/bin/descriptors

run "$descriptors" closed
run "$descriptors" full

# What a program prints to a closed standard output must not reach us. Not by `start`,
# which opens it.
say 'without standard descriptors'
member=$VERBCAST_BUILD/tests/apps/bin/member
without()
{
	timeout "$((60 * site_slow))" "$VERBCAST" run -- $member -m 239.1.31.3 -s 100 -r 100 ||
		fail "member ended with $?, started without $1"
}
without 'input' <&-
without 'output' >&-
without 'input and output' <&- >&-
without 'any' <&- >&- 2>&-
site_end
