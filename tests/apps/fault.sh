# SPDX-License-Identifier: BSD-2-Clause
# `verbcast fault`: what a program sees under each fault, polling and asleep, on RoCE and on
# InfiniBand; that it is that and no more, and the same again by seed; stock programs;
# what is refused; and what becomes of rules when devices, programs and the site go.
# ctest: TIMEOUT 900
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need mckey ibv_ud_pingpong stdbuf
client=$VERBCAST_BUILD/tests/apps/bin/faulted

ours fabric up --nodes 2
status .pid >/dev/null

# rule OPTION...: its number in $rule.
rule()
{
	ours fault add "$@"
	rule=$(cat "$site_work/ours.out")
}

# counts RULE: matched, applied, skipped.
counts()
{
	timeout 120 "$VERBCAST" fault list --json |
		jq -r --argjson rule "$1" \
			'.[] | select(.rule == $rule) | "\(.matched) \(.applied) \(.skipped)"'
}

counts_are()
{
	[ "$(counts "$1")" = "$2" ]
}

expect_counts()
{
	within 10 counts_are "$1" "$2" || fail "rule $1 counts $(counts "$1"), not $2"
}

# hear GROUP COUNT [wait]: a receiver that is ready, in $ear.
ears=0
hear()
{
	ear=ear$((++ears))
	start "$ear" "$client" receive "$@"
	wait_for 20 'the receiver is ready' said "$ear" '^ready$'
}

# sees LABEL EXPECTED COUNTS OPTION...: of six datagrams, under one rule. Their sender ends
# with the last one, or with `stays` lives until all have come.
sees()
{
	local label=$1 expected=$2 numbers=$3 number
	local -a words

	shift 3
	read -ra words <<<"$expected"
	number=${#words[@]}
	for how in '' wait; do
		say "$site_run $label $how: $*"
		rule "$@"
		hear ff12:a01b::77 "$number" $how
		start mouth "$client" send ff12:a01b::77 6 ${stays:-}
		ended "$ear" 30
		if [ -n "${stays:-}" ]; then terminated mouth; else ended mouth 30; fi
		quiet "$ear" mouth
		says mouth '^sent 6$'
		says "$ear" "^got $expected\$"
		expect_counts "$rule" "$numbers"
		ours fault clear "$rule"
	done
}

for site_run in '--node h1 --device vroce0' '--node h2'; do
	sees 'lost where received' '0 1 3 4 5' '6 1 0' --drop 3
	sees 'lost where sent' '0 1 3 4 5' '6 1 0' --drop 3 --direction send
	sees 'twice' '0 1 1 2 2 3 4 5' '6 2 0' --dup 2-3
	sees 'twice where sent' '0 1 1 2 3 4 5' '6 1 0' --dup 2 --direction send
	sees 'late' '0 2 3 4 5 1' '6 1 0' --delay 2 --by 1000
	stays=stay sees 'late where sent' '0 2 3 4 5 1' '6 1 0' --delay 2 --by 1000 --direction send
	sees 'overtaken' '0 2 3 1 4 5' '6 1 0' --reorder 2 --by 2
	sees 'overtaken where sent' '0 2 3 1 4 5' '6 1 0' --reorder 2 --by 2 --direction send
	sees 'the last, overtaken by none' '0 1 2 3 4 5' '6 1 0' --reorder 6
	sees 'broken' '0 1 2 3! 4 5' '6 1 0' --corrupt 4
	sees 'broken where sent' '0 1 2 3! 4 5' '6 1 0' --corrupt 4 --direction send
	sees 'completion late' '0 1 2 3 4 5' '6 1 0' --delay-completion 2 --by 300
	sees 'completion of a send late' '0 1 2 3 4 5' '6 1 0' \
		--delay-completion 2 --by 300 --direction send
	sees 'by PSN' '0 1 4 5' '2 2 0' --drop 1-9 --match psn=2-3
	sees 'another opcode' '0 1 2 3 4 5' '0 0 0' --drop 1-9 --match opcode=ud-send-only-imm
done
site_run=

say 'rules are for their node, device and link alone'
site_run='--node h2'
sees 'on another node' '0 1 2 3 4 5' '0 0 0' --drop 1-9 --node h1
sees 'on this one' '1 2 3 4 5' '6 1 0' --drop 1 --node h2
sees 'on another device' '0 1 2 3 4 5' '0 0 0' --drop 1-9 --device vroce0
sees 'on every vib0' '1 2 3 4 5' '6 1 0' --drop 1 --device vib0
site_run=

# chance SEED: what a receiver gets of a hundred, in $got.
chance()
{
	rule --drop 20% --seed "$1"
	hear 239.1.9.9 0
	run "$client" send 239.1.9.9 100
	wait_for 20 'all has come' eval 'counts "$rule" | grep -q "^100 "'
	terminated "$ear"
	got=$(grep '^got' "$site_work/$ear.out")
	[ "$(counts "$rule")" = "100 $((101 - $(wc -w <<<"$got"))) 0" ] ||
		fail "rule $rule: $(counts "$rule"), and $got"
	ours fault clear "$rule"
}

say 'the same seed loses the same, another one others'
chance 42
first=$got
[ "$(wc -w <<<"$first")" -lt 101 ] || fail 'nothing was lost'
chance 42
[ "$got" = "$first" ] || fail "seed 42 again: $got, and before $first"
chance 43
[ "$got" != "$first" ] || fail 'seed 43 loses what seed 42 does'

say 'mckey loses the third, and the status says why'
rule --drop 3
start mckey mckey -m 239.1.9.1 -b 127.0.0.1
wait_for 20 'mckey is a member' members_are 239.1.9.1 1
run mckey -m 239.1.9.1 -b 127.0.0.1 -s
expect_counts "$rule" '10 1 0'
within 10 eval '[ "$(delivered 239.1.9.1 "$(pid mckey)")" = 9 ]' || fail 'mckey did not get nine'
[ "$(dropped 239.1.9.1 "$(pid mckey)")" = 'FAULT 1' ] ||
	fail "mckey lost: $(dropped 239.1.9.1 "$(pid mckey)")"
ours status
grep -qE "^  $rule: drop 3, receive: matched 10, applied 1, skipped 0\$" "$site_work/ours.out" ||
	fail 'the status does not show the rule'
grep -qE '^  FAULT +a rule of verbcast fault' "$site_work/ours.out" ||
	fail 'the status does not explain FAULT'
killed mckey TERM
# Of those that have ended, too.
expect_counts "$rule" '10 1 0'
ours fault clear

# between LABEL RECEIVED LOST OPTION...: mckey on h2 and h1, across the switch, the third
# of ten struck. LOST: what the status says of the receiver.
across()
{
	local label=$1 received=$2 lost=$3

	shift 3
	say "across the switch: $label"
	rule --drop 3 "$@"
	ear=ear$((++ears))
	site_run='--node h2' start "$ear" stdbuf -oL mckey -m 239.1.9.4 -b 198.18.0.2
	wait_for 20 'mckey has joined' mckey_joined "$ear"
	read -r mgid _ <<<"$(mckey_group "$ear")"
	site_run='--node h1' run mckey -m 239.1.9.4 -b 198.18.0.1 -s
	expect_counts "$rule" '10 1 0'
	within 10 eval '[ "$(delivered "$mgid" "$(pid "$ear")")" = "$received" ]' ||
		fail "mckey got $(delivered "$mgid" "$(pid "$ear")")"
	[ "$(dropped "$mgid" "$(pid "$ear")")" = "$lost" ] ||
		fail "mckey lost: $(dropped "$mgid" "$(pid "$ear")")"
	killed "$ear" TERM
	ours fault clear
}
across 'lost where received' 9 'FAULT 1' --node h2 --device vib0
across 'lost where sent' 9 '' --node h1 --device vib0 --direction send

say 'ibv_ud_pingpong, asleep, waits for what is late'
port=$(free_port 24000)
rule --delay 20 --by 300
late=$rule
rule --dup 0.5% --direction send --seed 1
rule --delay-completion 30 --by 200 --direction send
start server ibv_ud_pingpong -d vroce0 -g 0 -p $port -n 100 -e
wait_for 10 'the server listens' listens $port
start pong ibv_ud_pingpong -d vroce0 -g 0 -p $port -n 100 -e 127.0.0.1
ended pong 60
ended server 60
says pong '^100 iters in '
[ "$(counts "$late" | cut -d' ' -f2)" = 2 ] || fail "rule $late: $(counts "$late")"
ours fault clear

say 'who dies with what it holds leaves nothing'
rule --delay 100% --by 60000 --direction send
hear 239.1.9.9 0
start mouth "$client" send 239.1.9.9 50 stay
wait_for 20 'all is held' counts_are "$rule" '50 50 0'
killed mouth
terminated "$ear"
says "$ear" '^got$'
expect_counts "$rule" '50 50 0'
ours fault clear

say 'what is no rule'
refused "has no device 'nix'" fault add --drop 1 --device nix
refused "node h2 has no device 'vroce0'" fault add --drop 1 --device vroce0 --node h2
refused "no node 'h9'; it has h1, h2" fault add --drop 1 --node h9
refused 'there is no rule 4000000' fault clear 4000000
fails 2 'what is to happen' fault add
fails 2 'one of them' fault add --drop 1 --dup 1
fails 2 'by how much' fault add --delay 1
ours fault list
[ ! -s "$site_work/ours.out" ] || fail 'there are rules'
for ((i = 0; i < 64; i++)); do ours fault add --drop 1; done
refused 'there are 64 rules' fault add --drop 1
last=$(cat "$site_work/ours.out")
ours fault clear
ours fault add --drop 1 --seed 18446744073709551615
ours fault list --json
[ "$(jq -r '.[0].fault, .[0].first, .[0].direction' "$site_work/ours.out" | xargs)" = \
	'drop 1 receive' ] || fail "listed: $(cat "$site_work/ours.out")"
grep -q '"seed":18446744073709551615' "$site_work/ours.out" || fail 'the seed is another'

say 'a site that is started anew knows none'
ours stop
ours fabric up --nodes 2
ours fault list --json
[ "$(cat "$site_work/ours.out")" = '[]' ] || fail 'rules are left'
site_end
