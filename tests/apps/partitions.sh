# SPDX-License-Identifier: BSD-2-Clause
# Partitions from a file: what programs see of them, broadcast groups with limits of their
# own, who may join what, and what is said of a file that is wrong.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need jq ibv_devinfo

# group MGID FILTER: of group list.
group()
{
	timeout 120 "$VERBCAST" group list --json |
		jq -r --arg mgid "$1" ".[] | select(.mgid == \$mgid) | $2"
}

# pkeys NODE: the first four of its vib0's port.
pkeys()
{
	site_run="--node $1" run sh -c \
		'cd "$VERBCAST_SYSFS/sys/class/infiniband/vib0/ports/1/pkeys"; cat 0 1 2 3'
	tr '\n' ' ' <"$site_work/run.out"
}

say 'files that are wrong'
echo 'Default=0x7fff,ipoib : ALL=full' >"$site_work/wrong"
refused 'wrong: line 2: where is the ;' fabric up --nodes 2 --partitions "$site_work/wrong"
printf 'Default=0x7fff:ALL;\nblue=0x101 : h9;\n' >"$site_work/wrong"
refused "line 2: 'h9' is neither" fabric up --nodes 2 --partitions "$site_work/wrong"
refused 'nosuchfile' fabric up --nodes 2 --partitions "$site_work/nosuchfile"

say 'three partitions'
cat >"$site_work/partitions" <<'END'
Default=0x7fff, ipoib : ALL, SELF=full ;
blue=0x101, ipoib, mtu=4 : h1=full, h2=full, h3 ;
red=0x202, ipoib, mtu=1, defmember=full :
	mgid=ff15::77, Q_Key=0x1234	# is there from the beginning
	h1, h4 ;
END
ours fabric up --ring 4:1 --partitions "$site_work/partitions"
ours fabric up --ring 4:1 --partitions "$site_work/partitions"
refused 'runs already' fabric up --ring 4:1
[ "$(pkeys h1)" = '0x7fff 0x8101 0x8202 0x0000 ' ] || fail "P_Keys of h1: $(pkeys h1)"
[ "$(pkeys h2)" = '0x7fff 0x8101 0x0000 0x0000 ' ] || fail "P_Keys of h2: $(pkeys h2)"
[ "$(pkeys h3)" = '0x7fff 0x0101 0x0000 0x0000 ' ] || fail "P_Keys of h3: $(pkeys h3)"
[ "$(pkeys h4)" = '0x7fff 0x8202 0x0000 0x0000 ' ] || fail "P_Keys of h4: $(pkeys h4)"

say 'two partitions of different MTU on one port'
blue=ff12:401b:8101::ffff:ffff
red=ff12:401b:8202::ffff:ffff
[ "$(group $blue .mtu) $(group $red .mtu)" = '2048 256' ] ||
	fail "MTUs: $(group $blue .mtu) $(group $red .mtu)"
ours group join --node h1 $blue
ours group join --node h1 $red
ours group join --node h3 $blue
ours group join --node h4 ff15::77
ours group create --node h1 --pkey 0x8101 --qkey 1 --mtu 2048 ff15::101
ours group create --node h1 --pkey 0x8202 --qkey 1 --mtu 256 ff15::202
[ "$(group ff15::101 .mtu) $(group ff15::202 .mtu)" = '2048 256' ] || fail 'MTUs of groups'

say 'joins across partitions are refused'
refused 'refuse' group join --node h2 $red
refused 'refuse' group join --node h4 $blue
refused 'refuse' group join --node h2 ff15::77
refused 'refuse' group create --node h4 --pkey 0x8101 --qkey 1 ff15::102
refused 'refuse' group join --node h4 ff15::101
ours group join --node h2 ff15::101
site_end
