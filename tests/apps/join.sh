# SPDX-License-Identifier: BSD-2-Clause
# Joining: port spaces, states, attributes, and the event to the last byte; IPv6 groups
# where they are allowed.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
join=$VERBCAST_BUILD/tests/apps/bin/join

site_keep
run "$join"
ours stop
killed keeper TERM
"${VERBCAST%/*}/verbcastd" --background --stay --ipv6-multicast || fail 'verbcastd'
run "$join" ipv6
site_end
