# SPDX-License-Identifier: BSD-2-Clause
# A subnet manager dies while datagrams are on their way, and a standby takes over: none of
# them is lost, no group goes, no member is told to join again, and stock mckey goes on.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need mckey stdbuf jq

# manager NODE: its state.
manager()
{
	fabric_shows '.sms[] | select(.node == $node) | .state' --arg node "$1"
}

is()
{
	[ "$(manager "$1")" = "$2" ]
}

# groups: MGID, MLID and members of all.
groups()
{
	timeout 120 "$VERBCAST" group list --json |
		jq -c '[.[] | [.mgid, .mlid, ([.members[] | .node] | sort)]] | sort'
}

# listen NAME NODE GROUP COUNT; speak likewise
listen()
{
	site_run="--node $2" start "$1" stdbuf -oL mckey -b "198.18.0.${2#h}" -m "$3" -C "$4"
}
speak()
{
	site_run="--node $2" start "$1" stdbuf -oL mckey -b "198.18.0.${2#h}" -m "$3" -C "$4" -s
}
joined()
{
	wait_for 20 "$1 has joined" mckey_joined "$1"
}

# settled: the greater one is master, and the other one, its standby, has what it has. Before
# that a master that dies takes its groups along.
settled()
{
	one_is_up && is h7 master &&
		[ "$(timeout 120 "$VERBCAST" fabric show --json |
			jq '.sms[] | select(.node == "s1") | .state == "standby" and .in_step')" = true ]
}

# one_is_up: just one is master, and done.
one_is_up()
{
	[ "$(timeout 120 "$VERBCAST" fabric show --json | jq '[.sms[] | select(.up)] | length')" = 1 ]
}

say 'a second manager'
ours fabric up --ring 4:2
ours fabric sm start h7
# Of equal priority is master who has the lower GUID, and adapters have.
wait_for 10 'the other one is the standby now' is s1 standby
is h7 master || fail "h7 is $(manager h7)"
refused 'runs already' fabric sm start h7
refused "no node 'nobody'" fabric sm start nobody
refused "no subnet manager behind 'h2'" fabric sm stop h2
wait_for 10 'the standby is in step' settled
ours fabric show
says ours "^subnet manager standby, behind s1, has the master's groups$"
says ours '^subnet manager master, behind h7, all is up$'

say 'the master is killed while datagrams are on their way'
bin=$VERBCAST_BUILD/tests/apps/bin
messages=12000 # two minutes
lid=$(timeout 120 "$VERBCAST" fabric show --json | jq '.nodes[] | select(.name == "h1") | .lid')
gid=$(status '.nodes[] | select(.name == "h1") | .devices[] | select(.name == "vib0") |
	.ports[0].gids[0]')
for node in h2 h5 h8; do
	site_run="--node $node" start "long-$node" "$bin/member" -m 239.7.0.1 \
		-b "198.18.0.${node#h}" -r $messages -S 64 -w \
		-L "$lid" -G "$gid"
	wait_for 20 "long-$node has joined" said "long-$node" '^joined'
done
listen h3 h3 239.7.0.2 10
joined h3
site_run='--node h1' start speaker "$bin/member" -m 239.7.0.1 -b 198.18.0.1 \
	-s $messages -S 64 -i 10000
wait_for 20 'the speaker has joined' said speaker '^joined'
before=$(groups)
for round in 1 2; do
	wait_for 10 'the standby is in step' settled
	ours fabric sm stop h7
	wait_for 5 'another master' one_is_up
	[ "$(groups)" = "$before" ] || fail "the groups were $before and are $(groups)"
	# Who comes back is handed mastership, and nobody notices that either.
	ours fabric sm start h7
	wait_for 10 'h7 is master again' is h7 master
	wait_for 10 'and has begun to serve' one_is_up
	[ "$(groups)" = "$before" ] || fail "the groups were $before and are $(groups)"
done
alive speaker || fail 'the datagrams were too few to be on their way all the time'
kill -USR1 "$(pid speaker)" # at a hundred times the pace
ended speaker 60
# Nothing was lost, and nobody had to join again.
for node in h2 h5 h8; do
	ended "long-$node" 20
	quiet "long-$node"
	says "long-$node" " got $messages from "
done

say 'and serves'
speak h4 h4 239.7.0.2 10
ended h4 20
ended h3 20
says h3 '^data transfers complete$'
listen h6 h6 239.7.0.3 10
joined h6
speak h4b h4 239.7.0.3 10
ended h4b 20
ended h6 20
says h6 '^data transfers complete$'
site_end
