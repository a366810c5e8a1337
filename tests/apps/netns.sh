# SPDX-License-Identifier: BSD-2-Clause
# run --netns: each node has a network of its own, with its address on ib0, and reaches the
# others there; programs use sockets and RDMA beside each other.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need ip python3 mckey stdbuf unshare
unshare --user --map-current-user --net ip link add ib type bridge 2>/dev/null ||
	skip 'this user may not create network namespaces, or there are no bridges'

ours fabric up --nodes 3

# on NODE: what follows is run there.
on()
{
	site_run="--netns --node $1"
}

namespace()
{
	on "$1"
	run readlink /proc/self/ns/net
	cat "$site_work/run.out"
}

say 'three at once make what there is to make'
for node in h1 h2 h3; do
	on $node
	for i in 1 2 3; do
		start "$node.$i" readlink /proc/self/ns/net
	done
done
for node in h1 h2 h3; do
	for i in 1 2 3; do
		ended "$node.$i" 30
	done
	[ "$(sort -u "$site_work/$node".[123].out | wc -l)" = 1 ] ||
		fail "$node has several namespaces"
done
[ "$(sort -u "$site_work"/h[123].[123].out | wc -l)" = 3 ] || fail 'nodes share namespaces'
[ "$(namespace h2)" = "$(cat "$site_work/h2.1.out")" ] || fail 'it is another one later'
[ "$(namespace h2)" != "$(readlink /proc/self/ns/net)" ] || fail 'it is our own'

say 'who one is, and where'
on h2
run id -u
says run "^$(id -u)\$"
run ip -o addr show dev ib0
says run 'inet 198\.18\.0\.2/15 '
run ip -o addr show dev lo
says run 'inet 127\.0\.0\.1/8 '
run python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("239.1.1.1", 1))
print(s.getsockname()[0])
'
says run '^198\.18\.0\.2$'

say 'a connection between nodes'
on h3
start server python3 -c '
import socket
s = socket.socket()
s.bind(("198.18.0.3", 5000))
s.listen(1)
print("listening", flush=True)
c, a = s.accept()
print("from", a[0])
c.sendall(b"hello")
'
wait_for 10 'it listens' said server '^listening$'
on h1
run python3 -c '
import socket
print(socket.create_connection(("198.18.0.3", 5000), 60).recv(9).decode())
'
says run '^hello$'
ended server 10
says server '^from 198\.18\.0\.1$'

say 'RDMA beside it'
on h2
start receiver stdbuf -oL mckey -b 198.18.0.2 -m 239.7.1.1 -p 0x2 -C 20
wait_for 30 'the receiver has joined' mckey_joined receiver
on h1
start sender stdbuf -oL mckey -b 198.18.0.1 -m 239.7.1.1 -p 0x2 -s -C 20
ended sender 60
ended receiver 60
quiet sender receiver

say 'a copy on each'
timeout 120 "$VERBCAST" run --netns --nodes h1-h3 -- ip -o -4 addr show dev ib0 \
	>"$site_work/copies.out" 2>&1 || fail "run --nodes: $(cat "$site_work/copies.out")"
for i in 1 2 3; do
	grep -q "h$i.*198\.18\.0\.$i/" "$site_work/copies.out" ||
		fail "h$i: $(cat "$site_work/copies.out")"
done

say 'where it is forbidden'
unshare --user --map-current-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' \
	2>/dev/null && {
	unshare --user --map-current-user sh -c \
		'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh \
		"$VERBCAST" run --netns --private -- true >"$site_work/no.out" 2>&1
	[ $? = 125 ] || fail "it is not: $(cat "$site_work/no.out")"
	grep -q 'namespaces are forbidden' "$site_work/no.out" ||
		fail "no word of it: $(cat "$site_work/no.out")"
}
site_end
