# SPDX-License-Identifier: BSD-2-Clause
# mckey's options, each as a small round of its own. The rounds run at once, since mckey
# spends its time in a pause of three seconds.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
# Linux refuses IPv6 groups on RoCEv2, and so do we unless told otherwise.
"${VERBCAST%/*}/verbcastd" --background --stay --ipv6-multicast || fail 'verbcastd'
site_keep
need mckey stdbuf
member=$VERBCAST_BUILD/tests/apps/bin/member

declare -A pids=()

# receivers ROUND GROUP COUNT QPS MCKEY-ARGUMENT...: start them, wait until they are in.
receivers()
{
	local round=$1 group=$2 count=$3 qps=$4 r

	shift 4
	for ((r = 1; r <= count; r++)); do
		start "$round-r$r" mckey -m "$group" "$@"
		pids[$round-r$r]=$(pid "$round-r$r")
	done
	wait_for 20 "$round: $count receivers are in $group" \
		members_are "$group" $((count * qps))
}

# sender ROUND GROUP MCKEY-ARGUMENT...
sender()
{
	local round=$1 group=$2

	shift 2
	start "$round-s" mckey -m "$group" -s "$@"
	pids[$round-s]=$(pid "$round-s")
}

# received ROUND GROUP COUNT QPS MESSAGES: what each receiver must have got.
received()
{
	local round=$1 group=$2 count=$3 qps=$4 messages=$5 r

	say "$round"
	ended "$round-s" 40
	quiet "$round-s"
	for ((r = 1; r <= count; r++)); do
		ended "$round-r$r" 40
		quiet "$round-r$r"
		says "$round-r$r" '^data transfers complete$'
		got "$group" "${pids[$round-r$r]}" "$messages" "$qps"
	done
}

here="-b 127.0.0.1"

receivers qps 239.1.2.1 2 8 $here -c 8
sender qps 239.1.2.1 $here
receivers thousand 239.1.2.2 2 1 $here -C 1000
sender thousand 239.1.2.2 $here -C 1000
# Without -b the machine's own route decides; where it has none for the group, none.
if ip route get 239.1.2.3 >/dev/null 2>&1; then
	receivers unbound 239.1.2.3 2 1
	sender unbound 239.1.2.3
	unbound=1
fi
sizes=(1 2 63 64 65 100 1023 1024 2048 4095 4096)
for i in "${!sizes[@]}"; do
	receivers "size${sizes[i]}" "239.1.3.$i" 1 1 $here -S "${sizes[i]}" -C 3
	sender "size${sizes[i]}" "239.1.3.$i" $here -S "${sizes[i]}" -C 3
done

# Send-only: the sender's queue pair is not attached, so it is no member with a counter.
receivers sendonly 239.1.2.4 1 1 $here
sender sendonly 239.1.2.4 $here -o
# A full member that sends is attached, and its copies come back to it; with -l, which
# asks for IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, they do not. mckey posts no receives where
# it sends; our own member does, and then looks for what must not come.
receivers loop 239.1.2.5 1 1 $here
sender loop 239.1.2.5 $here
receivers noloop 239.1.2.6 1 1 $here
sender noloop 239.1.2.6 $here -l
start loop-both $member -m 239.1.2.9 -s 100 -r 100
start noloop-both $member -m 239.1.2.10 -s 100 -r 1 -l
noloop_both=$(pid noloop-both)
# A receiver that joins send-only is not attached and hears nothing; the other does.
receivers deaf 239.1.2.7 1 1 $here
start deaf-o stdbuf -oL mckey -m 239.1.2.7 $here -o
pids[deaf-o]=$(pid deaf-o)
wait_for 20 'the send-only receiver has joined' said deaf-o 'joined dgid'
sender deaf 239.1.2.7 $here
# IPv6; and -M, a GID that is no IP address, which needs -b and resolves nothing.
receivers ipv6 ff0e::1:2:4 2 1 -b ::1
sender ipv6 ff0e::1:2:4 -b ::1
start gid-r1 mckey -M ff0e::1:2:3 $here
pids[gid-r1]=$(pid gid-r1)
wait_for 20 'a member of ff0e::1:2:3' members_are ff0e::1:2:3 1
start gid-s mckey -M ff0e::1:2:3 $here -s
pids[gid-s]=$(pid gid-s)

received qps 239.1.2.1 2 8 10
received thousand 239.1.2.2 2 1 1000
[ -z "${unbound:-}" ] || received unbound 239.1.2.3 2 1 10
for i in "${!sizes[@]}"; do
	received "size${sizes[i]}" "239.1.3.$i" 1 1 3
done

received sendonly 239.1.2.4 1 1 10
[ -z "$(delivered 239.1.2.4 "${pids[sendonly-s]}")" ] ||
	fail 'a send-only sender is a member with a queue pair'

received loop 239.1.2.5 1 1 10
received noloop 239.1.2.6 1 1 10
ended loop-both 20
says loop-both '^qp [0-9]+ got 100 from [0-9]+$'
wait_for 20 'a sender with -l has sent' said noloop-both '^qp [0-9]+ sent 100$'
alive noloop-both || fail 'a sender with -l hears itself'
[ "$(delivered 239.1.2.10 "$noloop_both")" = 0 ] || fail 'a sender with -l hears itself'
[ -z "$(dropped 239.1.2.10 "$noloop_both" | grep -v LOOPBACK)" ] ||
	fail "a sender with -l: $(dropped 239.1.2.10 "$noloop_both")"
killed noloop-both TERM

received deaf 239.1.2.7 1 1 10
alive deaf-o || fail 'a send-only receiver has ended'
[ -z "$(delivered 239.1.2.7 "${pids[deaf-o]}")" ] || fail 'a send-only receiver is attached'
killed deaf-o TERM

received ipv6 ff0e::1:2:4 2 1 10
received gid ff0e::1:2:3 1 1 10
site_end
