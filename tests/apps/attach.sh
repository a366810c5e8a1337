# SPDX-License-Identifier: BSD-2-Clause
# Attaching queue pairs to groups and detaching them, to the errno, and on sites whose
# limits are low.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
attach=$VERBCAST_BUILD/tests/apps/bin/attach

run "$attach"
[ "$(status '[.groups[] | .members[] | select(.state == "attached")] | length')" = 0 ] ||
	fail 'members are left'
killed keeper TERM

# limited GROUPS QPS TOTAL
limited()
{
	say "at most $1 groups, $2 queue pairs in one, $3 attachments"
	"$VERBCAST" stop >/dev/null 2>&1
	"${VERBCAST%/*}/verbcastd" --background --stay --limit max_mcast_grp="$1" \
		--limit max_mcast_qp_attach="$2" --limit max_total_mcast_qp_attach="$3" ||
		fail 'verbcastd'
	run "$attach" limits "$@"
}

limited 3 5 7
limited 100 2 4
limited 1 1 1
limited 0 1 1
site_end
