# SPDX-License-Identifier: BSD-2-Clause
# A port says that a subnet manager is behind it while a program has the file open that
# umad_get_issm_path names, be it one of several, or killed, or a child; and whatever
# programs do, while a manager of ours stands there.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need ibstat
bin=$VERBCAST_BUILD/tests/apps/bin

# hold NAME [ARGUMENT]
hold()
{
	local name=$1

	shift
	site_run='--node h2' start "$name" "$bin/issm" "$@"
	wait_for 10 "$name holds it" said "$name" held
}

ours fabric up --nodes 3
isnt_sm h2 || fail 'a subnet manager before there is one'

say 'one program, then another'
hold first
wait_for 10 'the port says so' is_sm h2
isnt_sm h3 || fail 'another port does'
hold second
killed first
is_sm h2 || fail 'one of two has gone, and with it both'
killed second
wait_for 10 'the port is free' isnt_sm h2

say 'twice by one program, and closed once'
hold third twice
wait_for 10 'the port says so' is_sm h2
killed third TERM
wait_for 10 'the port is free' isnt_sm h2

say 'a child has it from its parent'
hold parent child
ended parent 10
child=$(grep '^[0-9]' "$site_work/parent.out")
wait_for 10 'the port says so' is_sm h2
kill -9 "$child"
wait_for 10 'the port is free' isnt_sm h2

say 'beside a manager of ours'
ours fabric sm start h2
wait_for 10 'the port says so' is_sm h2
hold fourth
killed fourth
hold fifth
killed fifth
for again in 1 2 3; do
	is_sm h2 || fail 'it is said no longer'
done
ours fabric sm stop h2
wait_for 10 'the port is free' isnt_sm h2
site_end
