# SPDX-License-Identifier: BSD-2-Clause
# `fabric show` with a group's tree marked, as text, as JSON and for Graphviz: the three say
# the same; it is a tree, it has every member, and goes another way when a link is cut.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need jq awk
group=ff12:4001:ffff::5

# links: of the tree, "h1 1 s1 1", each once, lower name first.
links()
{
	timeout 120 "$VERBCAST" fabric show --json --group "$group" | jq -r '.nodes[] | .name as $n |
		.ports[] | select(.in_tree) | select($n < .peer) |
		"\($n) \(.port) \(.peer) \(.peer_port)"' | sort
}

# Such links on standard input: a tree has one node more than it has links, and hangs together.
is_tree()
{
	awk '{ from[NR] = $1; to[NR] = $3; seen[$1] = seen[$3] = 1; last = $1 }
		END {
			for (n in seen) nodes++
			reached[last] = 1
			for (round = 0; round < NR; round++)
				for (i = 1; i <= NR; i++)
					if (reached[from[i]] || reached[to[i]])
						reached[from[i]] = reached[to[i]] = 1
			for (n in reached) count += reached[n]
			exit !(NR && nodes == NR + 1 && count == nodes)
		}'
}

# goes_around LINK: another tree, with all three members, is in the tables. They lose the old
# links first, and what is left of those may be a tree as well.
goes_around()
{
	links >"$site_work/links"
	! grep -qxF "$1" "$site_work/links" && [ "$(grep -c ^h "$site_work/links")" = 3 ] &&
		is_tree <"$site_work/links"
}

# members: by the ports' own words, "h1 full".
members()
{
	timeout 120 "$VERBCAST" fabric show --json --group "$group" | jq -r '[.nodes[] | .name as $n |
		.ports[] | select(.join_state) | "\($n) \(.join_state)"] | join(", ")'
}

# The red links of the graph, and the marked ports of the text, are those of the JSON.
agree()
{
	links >"$site_work/json"
	ours fabric show --graphviz --group "$group"
	sed -n 's/^\t"\(.*\)" -> "\(.*\)" \[taillabel=\([0-9]*\), headlabel=\([0-9]*\), .*color=red.*/\1 \3 \2 \4/p' \
		"$site_work/ours.out" | sort | diff "$site_work/json" - || fail 'the graph differs'
	ours fabric show --group "$group"
	awk '/^(adapter|switch) / { node = $2 }
		/, in the tree/ && node < $5 { print node, $2, $5, $7 + 0 }' "$site_work/ours.out" |
		sort | diff "$site_work/json" - || fail 'the text differs'
}

ours fabric up --ring 4:2
ours fabric show --graphviz
says ours '^digraph "--ring 4:2" \{$'
says ours '^	"s1" \[shape=box'
says ours '^	"s1" \[peripheries=2\];$'
says ours '^	"h1" -> "s1" \[taillabel=1, headlabel=1, dir=none\];$'
[ "$(grep -c -- '->' "$site_work/ours.out")" = 12 ] || fail 'not each link once'

say 'one member needs no table, three have a tree'
ours group create --node h1 $group
[ -z "$(links)" ] || fail 'a tree of one member'
[ "$(members)" = 'h1 full' ] || fail "the members: $(members)"
ours group join --node h5 $group
ours group join --node h4 --join-state send-only $group
links | is_tree || fail "no tree: $(links)"
agree
[ "$(links | grep -c ^h)" = 3 ] || fail "not all members: $(links)"
[ "$(members)" = 'h1 full, h4 send-only, h5 full' ] || fail "the members: $(members)"
ours fabric show --graphviz --group $group
says ours '^	"h1" \[.*style=filled'
says ours '^	"h1" -> "s1" \[.*dir=both, color=red'
says ours '^	"h4" -> "s2" \[.*dir=forward, color=red'
says ours '^	"h2" \[shape=ellipse, tooltip'
ours fabric show --group $group
says ours "^group $group mlid 0xc[0-9a-f]{3}\$"
says ours '^  port 1   ACTIVE to s2 port 2, in the tree, member \(send-only\)$'

say 'by its MLID, as a number of either kind'
mlid=$(timeout 120 "$VERBCAST" fabric show --json --group $group | jq .group.mlid)
ours fabric show --json --group "$mlid"
[ "$(jq -r .group.mgid "$site_work/ours.out")" = $group ] || fail 'another group'
mlid=$(printf '0x%04x' "$mlid")
ours fabric show --group "$mlid"
says ours "^group $group mlid $mlid\$"

say 'a link of the tree is cut'
cut=$(links | grep '^s' | head -n 1)
ours fabric link down ${cut%% s*}
wait_for 20 'another tree' goes_around "$cut"
agree
ours fabric show --graphviz --group $group
[ "$(grep -c 'style=dashed' "$site_work/ours.out")" = 1 ] || fail 'the cut link'
ours fabric node power off h8
ours fabric show --graphviz
says ours '^	"h8" \[shape=ellipse, style=dashed'

say 'without subnet administrator the tables stand'
links >"$site_work/before"
ours fabric sm stop
refused 'no subnet administrator of ours' fabric show --group $group
group=$mlid
[ -n "$(links)" ] || fail 'no tree is left'
diff <(grep '^s' "$site_work/before") <(grep '^s' <(links)) || fail 'another tree'
ours fabric show --group "$mlid"
says ours "^group of another administrator mlid $mlid\$"
ours fabric sm start

say 'what is refused'
refused 'no such group' fabric show --group ff12::77
fails 2 'neither an MGID nor an MLID' fabric show --group 0xbfff
fails 2 'neither an MGID nor an MLID' fabric show --group 0xffff
fails 2 'neither an MGID nor an MLID' fabric show --group h1
fails 2 'one of --json and --graphviz' fabric show --json --graphviz
site_end
