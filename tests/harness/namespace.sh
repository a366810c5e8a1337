# SPDX-License-Identifier: BSD-2-Clause
# Sourced first by a test that wants a network namespace of its own; the test begins anew
# inside of it, with `lo` up. Skips where the user may not have one.
if [ -z "${VERBCAST_TEST_INSIDE:-}" ]; then
	enter=(unshare --net)
	[ "$(id -u)" = 0 ] || enter=(unshare --user --map-root-user --net)
	if ! "${enter[@]}" true 2>/dev/null; then
		echo 'skipped: this user may not create a network namespace'
		exit 77
	fi
	VERBCAST_TEST_INSIDE=1 exec "${enter[@]}" "$BASH" "$0"
fi

# pair NEAR FAR ADDRESS: a cable with an address at this end.
pair()
{
	ip link add "$1" type veth peer name "$2" && ip address add "$3" dev "$1" &&
		ip link set "$1" up && ip link set "$2" up
}

# devices_are NAME=INTERFACE...
devices_are()
{
	[ "$(status '[.nodes[].devices[] | select(.link_layer == "Ethernet") | "\(.name)=\(.netdev)"] | join(" ")')" = "$*" ]
}
