# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of a receiver, of a sender, and of a parent whose forked child keeps the
# descriptors, each in the middle of traffic: the others go on, the dead are members no
# more, and what they got is still to be read.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey
member=$VERBCAST_BUILD/tests/apps/bin/member
group=239.1.8.1

at_least()
{
	local have

	have=$(delivered $group "$1")
	[ "${have:-0}" -ge "$2" ]
}

left()
{
	[ "$(group_members $group "select(.pid == $1) | .state")" = left ]
}

start survivor mckey -m $group -b 127.0.0.1 -C 8000
start victim $member -m $group -r 16000 -S 100
survivor=$(pid survivor) victim=$(pid victim)
wait_for 10 'both are members' members_are $group 2
# At this pace the survivor has 8000 after forty seconds.
start sender $member -m $group -s 1000000 -S 100 -i 5000
sender=$(pid sender)
wait_for 20 'the victim has heard something' at_least "$victim" 100

say 'a receiver dies'
killed victim
wait_for 5 'the dead receiver has left' left "$victim"
at_least "$victim" 100 || fail 'what the dead receiver got is forgotten'
before=$(delivered $group "$survivor")
wait_for 20 'the survivor goes on' at_least "$survivor" $((before + 100))

say 'a sender dies'
killed sender
wait_for 5 'the dead sender has left' left "$sender"
have=$(delivered $group "$survivor")
[ "$have" -lt 8000 ] || fail 'the sender died too late to show anything'
# At a pace that needs no promise: on a busy machine 8000 in one go may overtake somebody.
start next $member -m $group -s 9000 -S 100 -i 500
ended survivor 60
killed next
quiet survivor next
[ "$(delivered $group "$survivor")" = 8000 ] || fail 'the survivor has not got 8000'

say 'a parent dies whose child keeps every descriptor'
group=239.1.8.2
start parent $member -m $group -r 1000 -f
wait_for 10 'there is a child' said parent '^child [0-9]+$'
parent=$(pid parent)
child=$(sed -n 's/^child //p' "$site_work/parent.out")
members_are $group 1 || fail 'the parent is no member'
killed parent
wait_for 5 'the parent has left' left "$parent"
kill -0 "$child" || fail 'the child is gone, and showed nothing'
kill -KILL "$child"
wait_for 5 'the child is gone' process_gone "$child"

say 'a sender of mckey dies in its pause, before it sends'
# Be it that it has sent its ten: on a busy machine three seconds are soon over.
group=239.1.8.3
start patient mckey -m $group -b 127.0.0.1 -C 20
start hasty mckey -m $group -b 127.0.0.1 -s
wait_for 10 'both are members' members_are $group 2
killed hasty
wait_for 5 'one is left' members_are $group 1
start second mckey -m $group -b 127.0.0.1 -s -C 20
ended second 20
ended patient 20
site_end
