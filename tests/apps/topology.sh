# SPDX-License-Identifier: BSD-2-Clause
# What ibnetdiscover prints of a fabric starts the same fabric again: nodes, names, GUIDs,
# ports and cables, in every shape; and what a file has that cannot be used is named by its
# line.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need ibnetdiscover

up()
{
	timeout 120 "$VERBCAST" fabric up "$@" >"$site_work/up.out" 2>"$site_work/up.err" </dev/null
}

stop()
{
	timeout 60 "$VERBCAST" stop || fail 'verbcast stop'
}

# discovered FILE: the same fabric in the same words, but for LIDs and order, which the
# subnet manager chooses.
discovered()
{
	site_run="--node $node" run ibnetdiscover
	sed -e '/^#/d' -e 's/\<lid [0-9]*/lid/g' "$site_work/run.out" | sort >"$1"
	grep -q '^Switch' "$1" || fail 'no switch is found'
}

# In their order, which gives them their addresses.
nodes()
{
	timeout 120 "$VERBCAST" fabric show --json | jq -r '[.nodes[] | select(.type != "switch") | .name] | join(" ")'
}

node=h1
while read -r shape; do
	say "$shape"
	up $shape || fail "fabric up $shape: $(cat "$site_work/up.err")"
	discovered "$site_work/first"
	before=$(nodes)
	cp "$site_work/run.out" "$site_work/topology"
	stop
	up --topology "$site_work/topology" || fail "the same: $(cat "$site_work/up.err")"
	discovered "$site_work/second"
	[ "$(nodes)" = "$before" ] || fail "nodes $(nodes), not $before"
	cmp "$site_work/first" "$site_work/second" ||
		fail "another: $(diff "$site_work/first" "$site_work/second" | head -n 10)"
	stop
done <<'END'
--nodes 5
--ring 4:2
--fat-tree 4
END

say 'a real one, with comments, chassis and a description that two have'
cat >"$site_work/topology" <<'END'
#
# Topology file: generated on Mon Jan  1 00:00:00 2024
#
# Initiated from node e41d2d0300000001 port e41d2d0300000002

vendid=0x2c9
devid=0xc738
sysimgguid=0xe41d2d0300000100
switchguid=0xe41d2d0300000100(e41d2d0300000100)
Switch	36 "S-e41d2d0300000100"		# "MF0;sw-1:SX6036/U1" enhanced port 0 lid 3 lmc 0
[1]	"H-e41d2d0300000001"[1](e41d2d0300000002) 		# "node 1 mlx4_0" lid 1 4xFDR
[2]	"H-e41d2d0300000011"[1](e41d2d0300000012) 		# "localhost" lid 2 4xFDR
[3]	"H-e41d2d0300000021"[2](e41d2d0300000023) 		# "localhost" lid 4 4xFDR

vendid=0x2c9
devid=0x1003
sysimgguid=0xe41d2d0300000004
caguid=0xe41d2d0300000001
Ca	1 "H-e41d2d0300000001"		# "node 1 mlx4_0"
[1](e41d2d0300000002) 	"S-e41d2d0300000100"[1]		# lid 1 lmc 0 "MF0;sw-1:SX6036/U1" lid 3 4xFDR

caguid=0xe41d2d0300000011
Ca	1 "H-e41d2d0300000011"		# "localhost"
[1](e41d2d0300000012) 	"S-e41d2d0300000100"[2]		# lid 2 lmc 0 "MF0;sw-1:SX6036/U1" lid 3 4xFDR

caguid=0xe41d2d0300000021
Ca	2 "H-e41d2d0300000021"		# "localhost"
[2](e41d2d0300000023) 	"S-e41d2d0300000100"[3]		# lid 4 lmc 0 "MF0;sw-1:SX6036/U1" lid 3 4xFDR
END
up --topology "$site_work/topology" || fail "fabric up: $(cat "$site_work/up.err")"
names=$(timeout 120 "$VERBCAST" fabric show --json | jq -r '[.nodes[].name] | sort | join("|")')
[ "$names" = 'H-e41d2d0300000011|H-e41d2d0300000021|MF0;sw-1:SX6036/U1|node 1 mlx4_0' ] ||
	fail "nodes $names"
timeout 120 "$VERBCAST" run --node 'node 1 mlx4_0' -- ibstat >"$site_work/run.out" ||
	fail 'no program runs on a node with blanks in its name'
says run 'Node GUID: 0xe41d2d0300000001$'
stop

say 'what cannot be used'
while IFS='|' read -r line change what; do
	sed "$change" "$site_work/topology" >"$site_work/bad"
	up --topology "$site_work/bad" && fail "it starts with $change"
	grep -q "bad: line $line: $what" "$site_work/up.err" ||
		fail "$change: $(cat "$site_work/up.err")"
done <<'END'
8|8s/^sysimgguid/nodeguid/|there is no attribute nodeguid
10|10s/^Switch/Rt/|routers are not among
10|10s/36/255/|a Switch has 1 to 254 ports
11|11s/H-e41d2d0300000001/H-e41d2d0300000002/|there is no node "H-e41d2d0300000002"
12|12s/^.2./[1]/|"S-e41d2d0300000100".1. has another link
12|12s/^.2./[37]/|"S-e41d2d0300000100" has no port 37
13|13s/.2.(/[3](/|"H-e41d2d0300000021" has no port 3
19|19s/"H/H/|a name in quotes is missing
20|20s/^.1./[2]/|"H-e41d2d0300000001" has no port 2
23|23s/^Ca/Hcaa/|neither Switch, Hca, Ca
END

say 'what is no regular file'
mkfifo "$site_work/fifo"
refused 'fifo: it is no regular file' fabric up --topology "$site_work/fifo"
refused 'fifo: it is no regular file' fabric up --partitions "$site_work/fifo"
refused '/dev/fd/[0-9]+: it is no regular file' fabric up --topology <(cat "$site_work/topology")
timeout 120 "${VERBCAST%/*}/verbcastd" --topology "$site_work/fifo" 2>"$site_work/up.err"
[ $? = 2 ] || fail 'verbcastd reads a FIFO'
grep -q 'fifo: it is no regular file' "$site_work/up.err" || fail "$(cat "$site_work/up.err")"
site_end dead
