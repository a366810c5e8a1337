# SPDX-License-Identifier: BSD-2-Clause
# What mckey says when it cannot have what it asks for: the lines of real hardware.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey

# refused NAME OUTPUT ERROR MCKEY-ARGUMENT...: it gives up by itself, and says that.
refused()
{
	local name=$1 output=$2 error=$3

	shift 3
	say "mckey $*"
	start "$name" mckey "$@"
	within 15 gone "$name" || fail 'mckey has not given up'
	wait "$(pid "$name")"
	unset "site_pid[$name]"
	says "$name" "$output"
	[ -z "$error" ] || grep -qE "$error" "$site_work/$name.err" ||
		fail "$name does not say: $error"
}

refused unicast '^mckey: event: RDMA_CM_EVENT_MULTICAST_ERROR, error: ' '' \
	-m 127.0.0.1 -b 127.0.0.1
refused foreign '^mckey: event: RDMA_CM_EVENT_MULTICAST_ERROR, error: ' '' \
	-m 10.1.2.3 -b 127.0.0.1
refused large '^mckey: message_size 4097 is larger than active mtu 4096$' '' \
	-m 239.1.6.1 -b 127.0.0.1 -S 4097
# An address that nobody here has.
refused stranger '^test complete$' '^mckey: addr bind failure: Cannot assign requested address$' \
	-m 239.1.6.2 -b 203.0.113.77
# This port space only InfiniBand has.
refused ipoib '^test complete$' '^mckey: addr bind failure: Invalid argument$' \
	-m 239.1.6.3 -b 127.0.0.1 -p 2
# As Linux: no IPv6 groups on RoCEv2 (ENOTSUPP, which no C library has a name for).
refused ipv6 '^test complete$' '^mckey: failure joining: Unknown error 524$' \
	-m ff0e::1:2:3 -b ::1
refused gid '^test complete$' '^mckey: failure joining: Unknown error 524$' \
	-M ff0e::1:2:3 -b 127.0.0.1

say 'the same through the API'
run "$VERBCAST_BUILD/tests/apps/bin/join_refusals"
site_end
