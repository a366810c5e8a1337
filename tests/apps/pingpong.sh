# SPDX-License-Identifier: BSD-2-Clause
# ibv_ud_pingpong, server and client, at every GID of the port, polling and waiting for
# events: UD unicast between two stock programs.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
need ibv_ud_pingpong ibv_devinfo

run ibv_devinfo -v -d vroce0
indexes=$(sed -n 's/^[[:space:]]*GID\[ *\([0-9]*\)\]:.*/\1/p' "$site_work/run.out")
[ -n "$indexes" ] || fail 'the port has no GID'

port=$(free_port 20000)

# pingpong NAME ARGUMENT...
pingpong()
{
	local name=$1

	shift
	say "ibv_ud_pingpong $*"
	port=$(unused_port $((port + 1)))
	start "$name-server" ibv_ud_pingpong -d vroce0 -p $port "$@"
	wait_for 10 'the server listens' listens $port
	start "$name-client" ibv_ud_pingpong -d vroce0 -p $port "$@" 127.0.0.1
	ended "$name-client" 30
	ended "$name-server" 30
	quiet "$name-client" "$name-server"
	says "$name-client" "^${iterations:-1000} iters in "
	says "$name-server" "^${iterations:-1000} iters in "
}

for gid in $indexes; do
	pingpong "poll$gid" -g "$gid"
	pingpong "event$gid" -g "$gid" -e
done
first=$(head -n 1 <<<"$indexes")
iterations=100 pingpong small -g "$first" -s 1 -n 100
# Two programs that poll take turns where others want the CPUs, too, one message a turn.
iterations=$(count 1000 5000)
pingpong deep -g "$first" -s 2048 -r 200 -n "$iterations"
site_end
