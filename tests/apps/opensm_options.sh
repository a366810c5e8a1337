# SPDX-License-Identifier: BSD-2-Clause
# What OpenSM writes into ports when its options say so, and what tools then see: an M_Key
# that keeps strangers out until its lease has ended, and tables for quality of service.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need opensm saquery smpquery sed
export OSM_TMP_DIR=$site_work OSM_CACHE_DIR=$site_work

opensm -c "$site_work/defaults.conf" >/dev/null 2>&1 || skip 'opensm -c writes no options'
sed -e '/^qos_\(max_vls\|high_limit\|vlarb_high\|vlarb_low\|sl2vl\) /d' \
	-e 's/^m_key 0x.*/m_key 0x1234/' \
	-e 's/^m_key_protection_level .*/m_key_protection_level 2/' \
	-e 's/^m_key_lease_period .*/m_key_lease_period 12/' \
	-e 's/^sweep_interval .*/sweep_interval 1/' \
	-e 's/^force_log_flush .*/force_log_flush TRUE/' \
	-e 's/^qos FALSE/qos TRUE/' "$site_work/defaults.conf" >"$site_work/options.conf"
cat >>"$site_work/options.conf" <<'END'
qos_max_vls 8
qos_high_limit 4
qos_vlarb_high 0:4,1:8,2:0
qos_vlarb_low 0:0,1:4,2:16,3:7
qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3
END

ours fabric up --nodes 3 --no-sm
site_run='--node h1' start manager opensm -F "$site_work/options.conf" \
	-f "$site_work/opensm.log" -g 0
wait_for 30 'OpenSM serves' sa_serves h2
h3=$(lid_of h3)
switch=$(lid_of s1)
site_run='--node h2'

# A stranger's question and its answer: within a second or never.
tells_strangers()
{
	timeout 120 "$VERBCAST" run --node h2 -- smpquery nodeinfo "$h3" >"$site_work/stranger.out" 2>&1
}

# Its port counts them.
doesnt()
{
	tells_strangers && return 1
	run smpquery -y 0x1234 portinfo "$h3" 1
	said run '^MkeyViolations:\.+[1-9]'
}

say 'an M_Key, which is soon on every port'
wait_for 30 'h3 does not speak to strangers' doesnt
run smpquery -y 0x1234 nodeinfo "$h3"
says run '^NodeType:\.+Channel Adapter$'
run smpquery -y 0x1234 portinfo "$h3" 1
says run '^ProtectBits:\.+2$'
says run '^MkeyLeasePeriod:\.+12$'
says run '^MkeyViolations:\.+[1-9]'
hears_of_it()
{
	grep -q "Generic Notice type:2 num:256 .* from LID:$h3 " "$site_work/opensm.log"
}
wait_for 20 'OpenSM hears of who does not know it' hears_of_it

say 'quality of service'
run smpquery -y 0x1234 sl2vl "$switch" 1
says run '^ports: in  2, out  1: \| 0\| 1\| 2\| 3\| 0\| 1\| 2\| 3\| 0\|'
run smpquery -y 0x1234 vlarb "$h3" 1
says run '^WEIGHT: \|0x0 \|0x4 \|0x10\|0x7 \|'
says run '^WEIGHT: \|0x4 \|0x8 \|0x0 \|0x0 \|'
run saquery SL2VL "$switch/2/1"
says run 'VL: 0\| 1\| 2\| 3\| 0\| 1\| 2\| 3\| 0\|'
run saquery VLAR "$h3/1/1"
says run 'Weight: 0\| 4\|16\| 7\| 0\|'
run smpquery -y 0x1234 portinfo "$h3" 1
says run '^VLHighLimit:\.+4$'

say 'the end of the lease, when nobody shows the key any more'
killed manager
wait_for 60 'h3 speaks to strangers' tells_strangers
site_end
