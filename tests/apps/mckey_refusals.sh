# SPDX-License-Identifier: BSD-2-Clause
# What mckey says when it cannot have what it asks for: the lines of real hardware.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need mckey

say 'a unicast address as group'
start unicast mckey -m 127.0.0.1 -b 127.0.0.1
within 15 gone unicast || fail 'mckey has not given up'
wait "$(pid unicast)"
unset 'site_pid[unicast]'
says unicast '^mckey: event: RDMA_CM_EVENT_MULTICAST_ERROR, error: '

say 'a message beyond the MTU'
start large mckey -m 239.1.6.1 -b 127.0.0.1 -S 4097
within 15 gone large || fail 'mckey has not given up'
wait "$(pid large)"
unset 'site_pid[large]'
says large '^mckey: message_size 4097 is larger than active mtu 4096$'

say 'an address that nobody here has'
start stranger mckey -m 239.1.6.2 -b 203.0.113.77
within 15 gone stranger || fail 'mckey has not given up'
wait "$(pid stranger)"
unset 'site_pid[stranger]'
grep -q '^mckey: addr bind failure: Cannot assign requested address$' "$site_work/stranger.err" ||
	fail 'mckey does not say why'

say 'port space IPoIB, which only InfiniBand has'
start ipoib mckey -m 239.1.6.3 -b 127.0.0.1 -p 2
within 15 gone ipoib || fail 'mckey has not given up'
wait "$(pid ipoib)"
unset 'site_pid[ipoib]'
grep -q '^mckey: addr bind failure: Invalid argument$' "$site_work/ipoib.err" ||
	fail 'mckey does not say why'

say 'the same through the API'
run "$VERBCAST_BUILD/tests/apps/bin/join_refusals"
site_end
