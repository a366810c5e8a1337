# SPDX-License-Identifier: BSD-2-Clause
# Devices come and go beneath a consumer inside verbcastd, with all that it has on them:
# memberships, ids of rdma_cm, attached queue pairs. In a network namespace of the test's own.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/namespace.sh"
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need ip mckey
module=$VERBCAST_BUILD/examples/everywhere.so
report=$site_work/report

ip link set lo up || skip 'lo cannot be set up in a namespace of ours'
pair near far 10.77.0.1/24 2>/dev/null || skip 'this kernel has no veth interfaces'

# times PATTERN COUNT
times()
{
	[ "$(grep -cE -- "$1" "$report")" = "$2" ]
}

reports()
{
	wait_for 20 "'$1' $2 times" times "$1" "$2"
}

site_keep
: >"$report"
ours insmod "$module" "report=$report" group=239.1.2.98
reports '^added vroce0 0 ' 1
reports '^added vib0 0 ' 1

rounds=$(count 3 50)
for ((i = 1; i <= rounds; i++)); do
	say "an interface comes ($i)"
	ip route add default via 10.77.0.2
	reports '^added vroce1 0 ' $i
	start sender mckey -m 239.1.2.98 -b 10.77.0.1 -s -C 10
	ended sender 30
	got()
	{
		[ "$(status '[.groups[] | select(.device == "vroce1") | .members[] |
			select(.state == "attached") | .delivered] | add // 0')" = 10 ]
	}
	wait_for 20 'ten datagrams on it' got
	reports '^heard vroce1 0 10$' $i
	say "and goes ($i)"
	ip link del near
	reports '^removal vroce1 0 ' $i
	reports '^removed vroce1 0 10$' $i
	pair near far 10.77.0.1/24
done

say 'what stays is as it was'
times '^(wrong|failed)' 0 || fail "it went wrong: $(cat "$report")"
times '^removed vroce0' 0 || fail 'vroce0 has gone, too'
start last mckey -m 239.1.2.98 -b 127.0.0.1 -s -C 10
ended last 30
reports '^heard vroce0 0 10$' 1
ours rmmod everywhere
reports '^removed vroce0 0 10$' 1
reports '^removed vib0 0 0$' 1
times '^(wrong|failed)' 0 || fail "it went wrong: $(cat "$report")"
[ "$(status '[.nodes[].devices[].name] | join(" ")')" = 'vroce0 vib0' ] || fail 'a device is left'

say 'one goes while the site ends'
ip route add default via 10.77.0.2
: >"$report"
ours insmod "$module" "report=$report" group=239.1.2.98
reports '^added vroce1 0 ' 1
ip link del near
site_end
