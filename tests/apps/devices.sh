# SPDX-License-Identifier: BSD-2-Clause
# ibv_devices and ibv_devinfo see a device with limits that make sense.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need ibv_devices ibv_devinfo

run ibv_devices
cp "$site_work/run.out" "$site_work/devices.out"
says devices '^[[:space:]]+vroce0[[:space:]]+[0-9a-f]{16}$'
guids=$(awk 'NR > 2 { print $2 }' "$site_work/devices.out")
[ "$(sort <<<"$guids" | uniq -d)" = '' ] || fail "GUIDs that are not unique: $guids"
grep -q '^0*$' <<<"$guids" && fail "a GUID that is zero: $guids"

run ibv_devinfo -v -d vroce0
cp "$site_work/run.out" "$site_work/info.out"

# field NAME: its number
field()
{
	sed -n "s/^[[:space:]]*$1:[[:space:]]*\([0-9a-fx]*\).*/\1/p" "$site_work/info.out" | head -n 1
}

# between NAME LEAST MOST
between()
{
	local value

	value=$(field "$1")
	[ -n "$value" ] || fail "ibv_devinfo does not name $1"
	[ $((value)) -ge "$2" ] && [ $((value)) -le "$3" ] ||
		fail "$1 is $value, not $2 to $3"
}

between vendor_id 1 $((0xffffff))
between phys_port_cnt 1 1
between max_qp 1024 $((1 << 24))
between max_qp_wr 1000 1048576
between max_sge 2 256
between max_cq 1024 $((1 << 24))
between max_cqe 65535 $((1 << 24))
between max_mr 1024 $((1 << 24))
between max_pd 256 $((1 << 24))
between max_ah 1024 $((1 << 24))
between max_mcast_grp 1024 $((1 << 24))
between max_mcast_qp_attach 16 $((1 << 24))
between max_total_mcast_qp_attach 1024 2147483647
between max_srq 256 $((1 << 24))
between max_srq_wr 1000 $((1 << 24))
between max_srq_sge 1 256
between max_pkeys 1 128
says info 'hca_id:[[:space:]]*vroce0$'
says info 'transport:[[:space:]]*InfiniBand \(0\)$'
says info 'node_guid:[[:space:]]*[0-9a-f]{4}(:[0-9a-f]{4}){3}$'
grep -E '(node|sys_image)_guid:[[:space:]]*0000:0000:0000:0000' "$site_work/info.out" &&
	fail 'a GUID that is zero'
says info 'state:[[:space:]]*PORT_ACTIVE \(4\)$'
says info 'max_mtu:[[:space:]]*4096 \(5\)$'
says info 'active_mtu:[[:space:]]*4096 \(5\)$'
says info 'link_layer:[[:space:]]*Ethernet$'
says info 'GID\[ +[0-9]+\]:[[:space:]]*::ffff:127\.0\.0\.1, RoCE v2$'
says info 'max_msg_sz:[[:space:]]*0x[0-9a-f]+$'

say 'a device that is not there'
timeout 120 "$VERBCAST" run -- ibv_devinfo -d vroce99 >"$site_work/none.out" 2>&1 &&
	fail 'ibv_devinfo finds vroce99'
says none "IB device 'vroce99' wasn't found"

say 'two processes see the same device'
run ibv_devices
cmp "$site_work/run.out" "$site_work/devices.out" || fail 'the list changes'
site_end
