# SPDX-License-Identifier: BSD-2-Clause
# The main job: three stock mckey receivers and a stock sender in one group, again and
# again without a miss. What arrived is read from verbcast's own counters of each member;
# mckey's exit status does not tell.
# ctest: TIMEOUT 600
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey

# Groups of this many repetitions run at once; each has a multicast group of its own.
at_once=4
repetitions=$(count 12 100)

begin_receivers()
{
	local n=$1 r

	for r in 1 2 3; do
		start "receiver-$n-$r" mckey -m "239.1.1.$n" -b 127.0.0.1
	done
}

check_receivers()
{
	local n=$1 r

	for r in 1 2 3; do
		ended "receiver-$n-$r" 20
		quiet "receiver-$n-$r"
		says "receiver-$n-$r" '^mckey: joined dgid: ::ffff:239\.1\.1\.'"$n"' mlid 0x0 sl 0$'
		says "receiver-$n-$r" '^receiving data transfers$'
		says "receiver-$n-$r" '^data transfers complete$'
		got "239.1.1.$n" "${receivers[$n-$r]}" 10
	done
}

declare -A receivers
for ((done = 0; done < repetitions; done += at_once)); do
	say "repetitions $((done + 1)) to $((done + at_once))"
	for ((n = done + 1; n <= done + at_once; n++)); do
		begin_receivers $n
		for r in 1 2 3; do receivers[$n-$r]=$(pid "receiver-$n-$r"); done
	done
	for ((n = done + 1; n <= done + at_once; n++)); do
		wait_for 20 "three members in 239.1.1.$n" members_are "239.1.1.$n" 3
		start "sender-$n" mckey -m "239.1.1.$n" -b 127.0.0.1 -s
	done
	for ((n = done + 1; n <= done + at_once; n++)); do
		ended "sender-$n" 30
		quiet "sender-$n"
		check_receivers $n
		wait_for 5 "all have left 239.1.1.$n" members_are "239.1.1.$n" 0
	done
done
site_end
