# SPDX-License-Identifier: BSD-2-Clause
# Datagrams in partitions, to queue pairs and to groups: between full members, between full
# and limited ones, and not between limited ones, between partitions or from outside; what
# does not arrive is counted by its reason.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need jq
parted=$VERBCAST_BUILD/tests/apps/bin/parted
count=$(count 20 200)
group=ff15::101
listeners='h1.full h2.full h3.limited h4.limited h2.other'

# pkey NODE.KIND: a member's P_Key; "other" has the partition of all, as a limited member.
pkey()
{
	case $1 in
	*.full) echo 0x8101 ;;
	*.limited) echo 0x101 ;;
	*.other) echo 0x7fff ;;
	esac
}

# listen [MGID MLID]: all of them.
listen()
{
	local who

	for who in $listeners; do
		site_run="--node ${who%.*}" start "$who" "$parted" "$(pkey "$who")" hear "$@"
	done
	for who in $listeners; do
		wait_for 20 "$who is ready" said "$who" '^ready '
	done
}

# of WHO FIELD: 2: queue pair, 3: LID.
of()
{
	sed -n 's/^ready //p' "$site_work/$1.out" | cut -d' ' -f$(($2 - 1))
}

# Its queue pair, or its membership, counts them.
has_lost()
{
	local of_qp of_member

	of_qp=$(status '.processes[] | select(.pid == $pid) | .qps[].drops | to_entries[] |
		"\(.key) \(.value)"' --argjson pid "$(pid "$1")")
	of_member=$(dropped $group "$(pid "$1")")
	[ "$of_qp$of_member" = "PKEY $count" ]
}

# heard WHO...: these have heard all that was sent, the others nothing.
heard()
{
	local who want

	for who in $listeners; do
		want=0
		case " $* " in *" $who "*) want=$count ;; esac
		[ $want = 0 ] || wait_for 10 "$who has heard all" said "$who" "^heard $want\$"
		terminated "$who"
		says "$who" "^got $want\$"
	done
}

cat >"$site_work/partitions" <<'PARTITIONS'
Default=0x7fff, ipoib : ALL, SELF=full ;
blue=0x101 : h1=full, h2=full, h3, h4, h5=full ;
PARTITIONS
ours fabric up --ring 3:2 --partitions "$site_work/partitions"

say 'who is in no partition has no P_Key to send with'
timeout 120 "$VERBCAST" run --node h6 -- "$parted" 0x8101 send 1 1 1 >"$site_work/none.out" 2>&1
[ $? = 3 ] || fail 'h6 sends in the partition'
says none '^no such P_Key$'

# unicast FROM PKEY TO HEARS: by the LID and queue pair of TO, which hears it or has lost it.
unicast()
{
	say "from $1, $2, to $3"
	listen
	site_run="--node $1" run "$parted" "$2" send "$(of "$3" 3)" "$(of "$3" 2)" "$count"
	if [ "$4" = hears ]; then
		heard "$3"
	else
		wait_for 10 "$3 has lost them" has_lost "$3"
		heard
	fi
}

unicast h1 0x8101 h2.full hears
unicast h1 0x8101 h3.limited hears
unicast h3 0x101 h1.full hears
unicast h3 0x101 h4.limited loses
unicast h1 0x7fff h2.full loses
unicast h1 0x7fff h2.other loses
unicast h1 0x8101 h2.other loses
# multicast FROM PKEY HEARS...
multicast()
{
	local from=$1 pkey=$2 who

	shift 2
	say "from $from, $pkey, to the group"
	listen $group "$mlid"
	site_run="--node $from" run "$parted" "$pkey" cast $group "$mlid" "$count"
	for who in $listeners; do
		case " $* " in *" $who "*) continue ;; esac
		wait_for 10 "$who has lost them" has_lost "$who"
	done
	heard "$@"
}

ours group create --node h5 --pkey 0x8101 --qkey 1 $group
for node in h1 h2 h3 h4; do
	ours group join --node $node $group
done
mlid=$(timeout 120 "$VERBCAST" group list --json |
	jq -r --arg mgid $group '.[] | select(.mgid == $mgid) | .mlid')
multicast h5 0x8101 h1.full h2.full h3.limited h4.limited
multicast h3 0x101 h1.full h2.full
site_end
