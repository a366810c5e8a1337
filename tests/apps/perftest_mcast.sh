# SPDX-License-Identifier: BSD-2-Clause
# perftest's own way to multicast on InfiniBand: MADs of its own to the subnet
# administrator, ours and OpenSM, by an ordinary user. What it sends arrives, and it leaves
# its groups.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need ib_send_bw ib_send_lat opensm saquery setpriv
site_install
if [ "$(id -u)" = 0 ]; then
	# A number that nobody has.
	uid=$((56000 + $$ % 1000))
	mkdir "$site_work/osm"
	chown "$uid" "$site_work/osm" "$VERBCAST_RUNTIME_DIR"
	site_as "$uid"
else
	site_as "$(id -u)"
	mkdir "$site_work/osm"
fi
export OSM_TMP_DIR=$site_work/osm OSM_CACHE_DIR=$site_work/osm
tcp=$(free_port 21000)
mgid=ff01:0:2:c985::

groups()
{
	timeout 120 "$VERBCAST" run --node h1 -- saquery -g 2>/dev/null | grep -c MGID
}

only_ipoib()
{
	[ "$(groups)" = 1 ]
}

# too_early: one of them has sent to where there was no way yet, and will wait in vain.
too_early()
{
	[ -n "$(status '.processes[] | select(.pid == ($a, $b)) | .qps[].drops.NO_GROUP // empty' \
		--argjson a "$server" --argjson b "$client")" ]
}

over()
{
	gone client || too_early
}

# OpenSM answers joins before it writes tables: on a busy machine the client is quicker. Who
# is killed stays a member, so the next two find the way.
may_be_early=
again()
{
	too_early || return 1
	[ -n "$may_be_early" ] || fail 'no way to a group whose join was answered'
	say '  sent too early'
	killed client
	killed server
}

# both PROGRAM ARGUMENT...: a server on h2 and a client on h3.
both()
{
	say "  $1"
	tcp=$(unused_port $((tcp + 1)))
	site_run='--node h2' start server stdbuf -oL "$@" -c UD -g -p $tcp
	server=$(pid server)
	wait_for 20 'it waits for its client' listens $tcp
	site_run='--node h3' start client "$@" -c UD -g -p $tcp 127.0.0.1
	client=$(pid client)
	wait_for 60 'all is sent' over
	if again; then
		both "$@"
		return
	fi
	ended client 60
	ended server 60
	quiet client server
	says server 'Link type +: IB$'
	says client 'MGID: 255:01:'
	wait_for 20 'their groups are gone' only_ipoib
}

# None is sent beyond the receives that are posted, so none may be lost.
measured()
{
	both ib_send_bw -s 1024 -n 1000
	got $mgid "$server" 1000
	both ib_send_lat -s 512 -n 300
	got $mgid "$server" 300
	got ${mgid}1 "$client" 300
}

say 'our subnet administrator'
ours fabric up --nodes 3
measured
ours stop

say 'OpenSM'
ours fabric up --nodes 3 --no-sm
site_run='--node h1' start opensm opensm -f "$site_work/osm/log" -g 0
wait_for 60 'the interfaces have joined' broadcast_has h1 3
may_be_early=yes
measured
killed opensm TERM
site_end
