# SPDX-License-Identifier: BSD-2-Clause
#
# From the list of a library's exports, what its link needs (docs/abi.md):
#
#   awk -v lib=NAME -v out=DIRECTORY -f generate.awk NAME.list
#
#   NAME.map      version script: the nodes, and each symbol's default node
#   NAME.ld       linker script: the same function at further nodes
#   NAME_stubs.c  a failing definition of what is not implemented
#   NAME.opts     linker options: what must be defined by somebody else
#   NAME.exports  symbol@node, type and kind, one a line: what the tests compare with
#
# POSIX awk alone: a bare build machine has no other interpreter.

function fail(why)
{
	printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0 > "/dev/stderr"
	failed = 1
	exit 1
}

# Node k of a family inherits from k - 1 when the family is linear.
function family(prefix, linear, i)
{
	for (i = 3; i <= NF; i++) {
		order[++nodes] = prefix $i
		parent[prefix $i] = linear && i > 3 ? prefix $(i - 1) : ""
	}
}

function add_export(name, node, mark)
{
	if (seen[name "@" node]++)
		fail("twice at one node")
	print name mark node, (kind == "bool" ? "OBJECT" : "FUNC"), \
		(kind == "func" ? "func" : "stub") > exports
}

# The node a plain definition of the name gets: through the version script.
function define(name, node)
{
	members[node] = members[node] "\t\t" name ";\n"
	add_export(name, node, "@@")
	own(name)
}

function own(name)
{
	if (kind == "func")
		print "-Wl,--require-defined=" name > opts
	else
		printf "STUB_%s(%s)\n", kind, name > stubs
}

# A definition of its own for one node.
function define_apart(name, node, id)
{
	if (kind == "func")
		fail("a function can be defined at its default node alone")
	id = name "__" node
	gsub(/[^A-Za-z0-9_]/, "_", id)
	printf "STUB_AT(%s, %s, \"%s@%s\")\n", kind, id, name, node > stubs
	add_export(name, node, "@")
}

# The default definition once more at an older node. An alias in a linker script, unlike
# one in assembly, follows the function that replaces a weak stub; but it has no size,
# which matters for objects.
function define_again(name, node)
{
	if (kind == "bool") {
		define_apart(name, node)
		return
	}
	printf "\"%s@%s\" = %s;\n", name, node, name > aliases
	add_export(name, node, "@")
}

# 34: that private node. 34+: that and all newer ones.
function define_private(name, first, all, n, i, last)
{
	all = sub(/\+$/, "", first)
	if (!((private_prefix first) in parent))
		fail("no such private node")
	last = all ? private[private_count] : first
	for (i = 1; i <= private_count; i++) {
		n = private[i]
		if (n + 0 >= first + 0 && n + 0 < last + 0)
			define_again(name, private_prefix n)
	}
	define(name, private_prefix last)
}

BEGIN {
	map = out "/" lib ".map"
	aliases = out "/" lib ".ld"
	stubs = out "/" lib "_stubs.c"
	opts = out "/" lib ".opts"
	exports = out "/" lib ".exports"
	printf "" > aliases
	printf "" > opts
	printf "" > exports
	print "/* Generated from " lib ".list. */\n#include \"shim/exports/stub.h\"\n" > stubs
	split("func errno negerrno minus1 null void zero bool", k, " ")
	for (i in k)
		known[k[i]] = 1
}

/^#/ || NF == 0 {
	next
}

$1 == "nodes" {
	prefix = $2
	family($2, 1)
	next
}

$1 == "private" {
	private_prefix = $2
	for (i = 3; i <= NF; i++)
		private[++private_count] = $i
	family($2, 0)
	next
}

$1 == "alone" {
	order[++nodes] = $2
	parent[$2] = ""
	next
}

{
	name = $1
	kind = $2
	node = $3
	if (NF != 3)
		fail("a line is: name kind node")
	if (!(kind in known))
		fail("unknown kind")
	if (node == "base") {
		add_export(name, "", "")
		own(name)
	} else if (node in parent) {
		define(name, node)
	} else if (node ~ /^[0-9]+\+?$/) {
		define_private(name, node)
	} else if (sub(/^@@/, "", node) && (prefix node) in parent) {
		define(name, prefix node)
	} else if (sub(/^@/, "", node) && (prefix node) in parent) {
		define_apart(name, prefix node)
	} else {
		fail("no such node")
	}
}

# No `local: *`: it would hide what is exported at the base version. Visibility hides.
END {
	if (failed)
		exit 1
	for (i = 1; i <= nodes; i++) {
		node = order[i]
		print node " {" > map
		if (members[node] != "")
			printf "\tglobal:\n%s", members[node] > map
		print "}" (parent[node] != "" ? " " parent[node] : "") ";\n" > map
	}
}
