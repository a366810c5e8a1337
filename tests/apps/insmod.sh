# SPDX-License-Identifier: BSD-2-Clause
# A consumer of the kernel's RDMA API inside verbcastd: the example hears stock mckey, on
# the loopback's device and on the fabric; what cannot be loaded says why.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey
site_keep
example=$VERBCAST_BUILD/examples/mcast_consumer.so

# hears DEVICE GROUP ADDRESS: the example on that device, and mckey as a sender there.
hears()
{
	say "on $1"
	ours insmod "$example" "device=$1" "group=$2"
	ours lsmod
	[ "$(cat "$site_work/ours.out")" = mcast_consumer ] || fail "lsmod does not name it"
	refused 'mcast_consumer is loaded already' insmod "$example"
	start "sender-$1" mckey -m "$2" -b "$3" -s -C 10
	ended "sender-$1" 30
	wait_for 10 "ten datagrams for verbcastd on $1" heard 10
	ours rmmod mcast_consumer
	ours lsmod
	[ ! -s "$site_work/ours.out" ] || fail "lsmod names what is gone"
}

# What verbcastd's own members have been given.
heard()
{
	[ "$("$VERBCAST" status --json | jq --argjson pid "$(site_daemon)" \
		'[.groups[].members[] | select(.pid == $pid and .state == "attached") | .delivered] | add // 0')" = "$1" ]
}

hears vroce0 239.1.2.55 127.0.0.1
hears vib0 239.1.2.56 198.18.0.1

say 'what cannot be loaded'
refused '/nowhere.so: No such file' insmod /nowhere.so
refused 'no_init has no module_init' insmod "$VERBCAST_BUILD/examples/no_init.so"
refused 'kapi_nobody_has_this' insmod "$VERBCAST_BUILD/examples/unknown_symbol.so"
mkfifo "$site_work/fifo.so"
refused 'fifo.so: it is no regular file' insmod "$site_work/fifo.so"
refused "colour=blue" insmod "$example" colour=blue
fails 2 'is not NAME=VALUE' insmod "$example" colour
refused 'cannot_be: no such module' rmmod cannot_be
fails 2 'which file' insmod
fails 2 'which module' rmmod

say 'a module that is loaded goes with the site'
ours insmod "$example"
site_end
