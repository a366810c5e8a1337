# SPDX-License-Identifier: BSD-2-Clause
# A member with a wrong Q_Key, in ERR, in INIT, with an empty queue or with a buffer too
# small costs the others nothing and raises its own counter; what is sent to a group that
# nobody has is counted, too.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep

start members "$VERBCAST_BUILD/tests/apps/bin/unfit_members" "$(site_daemon)"
members=$(pid members)
ended members "$(pick 60 1000)"
quiet members

word()
{
	sed -n "s/^$1 //p" "$site_work/members.out"
}

# member NAME DELIVERED DROPS
member()
{
	local have

	have=$(group_members 239.1.23.1 "select(.pid == $members and .qpn == $(word "$1")) |
		\"\\(.delivered) \\(.drops)\"")
	[ "$have" = "$2 $3" ] || fail "the member '$1' has $have, not $2 $3"
}

sent=$(word sent)
member good "$sent" '{}'
member qkey 1 "{\"QKEY\":$((sent - 1))}"
member error 0 "{\"QP_STATE\":$sent}"
member init 0 "{\"QP_STATE\":$sent}"
member empty 1 "{\"NO_RECV_WQE\":$((sent - 1))}"
member small 0 "{\"RECV_TOO_SMALL\":$sent}"
member last "$sent" '{}'

have=$(status '.ended[] | select(.pid == $pid) | .qps[] | select(.qpn == $qpn) | .drops' \
	--argjson pid "$members" --argjson qpn "$(word sender)" | jq -c .)
[ "$have" = "{\"NO_GROUP\":$((sent - 1))}" ] || fail "the sender's drops are $have"
site_end
