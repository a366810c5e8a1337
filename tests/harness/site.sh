# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of tests/apps: a site of the test's own, programs in it, waiting
# for what is to happen, and a look afterwards at what was left.
#
#	. "$VERBCAST_SOURCE/tests/harness/site.sh"
#	site_begin
#	start receiver mckey -m 239.1.2.3 -b 127.0.0.1
#	wait_for 10 'the receiver is a member' members_are 239.1.2.3 1
#	run mckey -m 239.1.2.3 -b 127.0.0.1 -s
#	ended receiver 10
#	quiet receiver
#	site_end
#
# Programs are started in the background under a name; `verbcast run` becomes them, so
# the process id is theirs. Only processes started here are ever signalled.
set -u
: "${VERBCAST:?}" "${VERBCAST_BUILD:?}" "${VERBCAST_SOURCE:?}"

site_scale=${VERBCAST_SCALE:-check}
# Waiting is for events, so a limit may be wide: it is reached only by a failure.
site_slow=6
case ${VERBCAST_SANITIZE:-} in
*address* | *thread*) site_slow=12 ;;
esac
unset VERBCAST_LOG VERBCAST_SITE LD_PRELOAD LD_LIBRARY_PATH
export LC_ALL=C
declare -A site_pid=() site_status=()
site_done=0

# count CHECK SOAK: how often; a tenth of SOAK under a sanitizer.
count()
{
	local soak=$2

	if [ "$site_scale" != soak ]; then
		echo "$1"
		return
	fi
	if [ -n "${VERBCAST_SANITIZE:-}" ]; then soak=$(($2 / 10)); fi
	echo $((soak > $1 ? soak : $1))
}

# pick CHECK SOAK: the one or the other: how many seconds all that may take, a list.
pick()
{
	if [ "$site_scale" = soak ]; then echo "$2"; else echo "$1"; fi
}

skip()
{
	echo "skipped: $*"
	site_done=1
	exit 77
}

need()
{
	local program

	for program in "$@"; do
		command -v "$program" >/dev/null || skip "$program is not installed"
	done
}

say()
{
	echo "-- $*"
}

fail()
{
	local file i at=

	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		at+=" ${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}"
	done
	echo "FAILED: $*"
	echo "   at:$at"
	for file in "$site_work"/*.out "$site_work"/*.err; do
		[ -s "$file" ] || continue
		echo "--- ${file##*/}"
		tail -n 20 "$file"
	done
	sanitizer_reports
	echo "--- status"
	timeout 120 "$VERBCAST" status 2>&1
	site_done=1
	exit 1
}

sanitizer_reports()
{
	local file found=1

	for file in "$site_work"/sanitizer.*; do
		[ -s "$file" ] || continue
		echo "--- ${file##*/}"
		head -n 80 "$file"
		found=0
	done
	return $found
}

# Signals only children of this script, and the daemons it has seen.
site_cleanup()
{
	local status=$? name pid

	trap - EXIT
	for name in "${!site_pid[@]}"; do
		{ alive "$name" && kill -KILL "${site_pid[$name]}" && wait "${site_pid[$name]}"; } 2>/dev/null
	done
	timeout 120 "$VERBCAST" stop >/dev/null 2>&1
	for pid in $(site_daemons); do
		site_owns "$pid" && kill "$pid" 2>/dev/null
	done
	rm -rf "$site_work"
	if [ $site_done = 0 ] && [ $status = 0 ]; then
		echo "FAILED: the test ended without site_end"
		status=1
	fi
	exit $status
}

site_begin()
{
	local log

	need jq timeout
	[ -x "$VERBCAST" ] || skip "$VERBCAST is not built"
	site_work=$(mktemp -d "${TMPDIR:-/tmp}/verbcast-test.XXXXXX")
	chmod 0755 "$site_work"
	# What a daemon or a quiet library would have said to nobody.
	log=log_path=$site_work/sanitizer
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}$log
	export UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}$log
	export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}$log
	mkdir -m 0700 "$site_work/runtime"
	export VERBCAST_RUNTIME_DIR=$site_work/runtime
	trap site_cleanup EXIT
	trap 'exit 1' INT TERM
}

# Where the tree may be closed to others, an installed copy is not.
site_install()
{
	cmake --install "$VERBCAST_BUILD" --prefix "$site_work/prefix" \
		>"$site_work/install.out" 2>&1 || fail 'cmake --install'
	VERBCAST=$site_work/prefix/bin/verbcast
	chmod 1777 "$site_work" # sanitizers write here
	mkdir -m 0555 "$site_work/home"
}

# site_as UID: what follows by $VERBCAST is that user's, an ordinary one's: no capability,
# little locked memory, a home that cannot be written. After site_install.
site_as()
{
	local become=(env HOME="$site_work/home")

	[ "$(id -u)" != 0 ] || become+=(setpriv --reuid "$1" --regid "$1" --clear-groups
		--inh-caps=-all --bounding-set=-all --no-new-privs)
	{
		echo '#!/bin/bash'
		echo 'ulimit -l 64 || exit 1'
		echo 'cd / || exit 1'
		printf 'exec %s %q "$@"\n' "$(printf '%q ' "${become[@]}")" \
			"$site_work/prefix/bin/verbcast"
	} >"$site_work/verbcast-$1"
	chmod 0755 "$site_work/verbcast-$1"
	VERBCAST=$site_work/verbcast-$1
}

# Keeps the site between programs, for tests that look at what those have left.
site_keep()
{
	start_with keeper "$VERBCAST" run -- sleep 100000
	wait_for 20 'the site is there' site_daemon >/dev/null
}

# within SECONDS COMMAND...: whether the command succeeds in time.
within()
{
	local end=$(($(date +%s%N) + $1 * site_slow * 1000000000))

	shift
	until "$@"; do
		[ "$(date +%s%N)" -lt $end ] || return 1
		sleep 0.02
	done
}

# wait_for SECONDS WHAT COMMAND...
wait_for()
{
	local limit=$1 what=$2

	shift 2
	within "$limit" "$@" || fail "not within $limit s: $what"
}

# start NAME PROGRAM ARGUMENT...: through `verbcast run`, in the background.
start()
{
	start_with "$1" "$VERBCAST" run ${site_run:-} -- "${@:2}"
}

# start_with NAME COMMAND...: any command, in the background.
start_with()
{
	local name=$1

	shift
	# Now, or what one of that name has said before would be taken for its own.
	: >"$site_work/$name.out" && : >"$site_work/$name.err"
	"$@" >"$site_work/$name.out" 2>"$site_work/$name.err" </dev/null &
	site_pid[$name]=$!
	unset "site_status[$name]"
}

pid()
{
	echo "${site_pid[$1]}"
}

# Numbers of processes come back soon on a busy machine: one that is not this script's child
# is somebody else's by now.
alive()
{
	local stat

	{ read -r stat <"/proc/${site_pid[$1]}/stat"; } 2>/dev/null &&
		[[ ${stat##*) } == [!ZX]" $$ "* ]]
}

gone()
{
	! alive "$1"
}

# ended NAME SECONDS [STATUS]: it ends in time, by itself, with that status.
ended()
{
	local name=$1 want=${3:-0}

	within "$2" gone "$name" 2>/dev/null || fail "$name has not ended within $2 s"
	wait "${site_pid[$name]}" 2>/dev/null
	site_status[$name]=$?
	unset "site_pid[$name]"
	[ "${site_status[$name]}" = "$want" ] ||
		fail "$name ended with ${site_status[$name]}, not $want"
}

# killed NAME [SIGNAL]
killed()
{
	local name=$1 signal=${2:-KILL} died=1

	# bash would report the death of its job.
	{
		! alive "$name" || kill "-$signal" "${site_pid[$name]}"
		within 10 gone "$name" || died=0
		[ $died = 0 ] || wait "${site_pid[$name]}"
	} 2>/dev/null
	[ $died = 1 ] || fail "$name survives SIG$signal"
	unset "site_pid[$name]"
}

# terminated NAME: SIGTERM tells it to end, and it does, well.
terminated()
{
	kill -TERM "${site_pid[$1]}"
	ended "$1" 20
}

# patience PROGRAM: what has it wait for as long as it takes. Stock tools that manage wait a
# second for an answer, which on a crowded machine tells nothing of who answers.
patience()
{
	case $1 in
	saquery | smpquery | smpdump | sminfo | perfquery | vendstat | dump_lfts | dump_mfts | \
		ibaddr | ibccquery | ibhosts | iblinkinfo | ibnetdiscover | ibportstate | \
		ibqueryerrors | ibroute | ibswitches | ibsysstat | ibtracert)
		echo '-t 20000'
		;;
	esac
}

# run PROGRAM ARGUMENT...: through `verbcast run`, patiently, to its end, which must be good.
run()
{
	timeout "$((60 * site_slow))" "$VERBCAST" run ${site_run:-} -- \
		"$1" $(patience "$1") "${@:2}" \
		>"$site_work/run.out" 2>"$site_work/run.err" </dev/null ||
		fail "$* ended with $?"
	[ ! -s "$site_work/run.err" ] || fail "$* says on its standard error what it should not"
}

# ours WORD...: a command of verbcast's, which must succeed without a complaint. What it says
# is in ours.out.
ours()
{
	timeout 120 "$VERBCAST" "$@" >"$site_work/ours.out" 2>"$site_work/ours.err" </dev/null ||
		fail "verbcast $* ends with $?"
	quiet ours
}

# fails STATUS PATTERN WORD...: a command of verbcast's, which must end so, and say why on
# its standard error alone.
fails()
{
	local want=$1 pattern=$2 got

	shift 2
	timeout 120 "$VERBCAST" "$@" >"$site_work/ours.out" 2>"$site_work/ours.err" </dev/null
	got=$?
	[ $got = "$want" ] || fail "verbcast $* ends with $got, not $want"
	[ ! -s "$site_work/ours.out" ] || fail "verbcast $*: an error on standard output"
	[ -z "$pattern" ] || grep -qE -- "$pattern" "$site_work/ours.err" ||
		fail "verbcast $*: does not say: $pattern"
}

# refused PATTERN WORD...: what is asked for, not how.
refused()
{
	fails 1 "$@"
}

said()
{
	grep -qE -- "$2" "$site_work/$1.out"
}

# says NAME PATTERN: its standard output has such a line.
says()
{
	said "$1" "$2" || fail "$1 does not say: $2"
}

# quiet NAME...: nothing on its standard error.
quiet()
{
	local name

	for name in "$@"; do
		[ ! -s "$site_work/$name.err" ] ||
			fail "$name says on its standard error what it should not"
	done
}

# status FILTER [JQ-ARGUMENT...]: the site's status through jq, raw. Notes its daemon.
status()
{
	local json

	json=$(timeout 120 "$VERBCAST" status --json 2>"$site_work/status.err") || return 1
	jq -r '.pid // empty' <<<"$json" >>"$site_work/daemons"
	jq -r "${@:2}" "$1" <<<"$json"
}

mgid()
{
	case $1 in
	*:*) echo "$1" ;;
	*) echo "::ffff:$1" ;;
	esac
}

# group_members GROUP FILTER: the filter's value for every member of the group's.
group_members()
{
	status '.groups[] | select(.mgid == $mgid) | .members[] | '"$2" \
		--arg mgid "$(mgid "$1")"
}

# attached GROUP: how many queue pairs are attached.
attached()
{
	group_members "$1" 'select(.state == "attached") | .qpn' | wc -l
}

members_are()
{
	[ "$(attached "$1")" = "$2" ]
}

# delivered GROUP PID: how much each of its queue pairs got, one a line.
delivered()
{
	status '.groups[] | select(.mgid == $mgid) | .members[] | select(.pid == $pid) |
		.delivered' --arg mgid "$(mgid "$1")" --argjson pid "$2" | sort -n
}

# dropped GROUP PID: the reasons and counts of its members' drops, one a line.
dropped()
{
	status '.groups[] | select(.mgid == $mgid) | .members[] | select(.pid == $pid) |
		.drops | to_entries[] | select(.value > 0) | "\(.key) \(.value)"' \
		--arg mgid "$(mgid "$1")" --argjson pid "$2"
}

# got GROUP PID COUNT [QPS]: each of its queue pairs got exactly that, and lost nothing.
got()
{
	local group=$1 pid=$2 count=$3 qps=${4:-1} have lost

	have=$(delivered "$group" "$pid")
	[ "$have" = "$(yes "$count" | head -n "$qps")" ] ||
		fail "process $pid in $group got $(echo ${have:-nothing}), not $qps times $count"
	lost=$(dropped "$group" "$pid")
	[ -z "$lost" ] || fail "process $pid in $group lost: $lost"
}

site_daemon()
{
	status .pid
}

# Every daemon that `status` has seen in this test.
site_daemons()
{
	sort -u "$site_work/daemons" 2>/dev/null
}

# listens PORT: whether a process listens on that TCP port; asking it would be taken for
# the client.
listens()
{
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		awk -v port="$(printf ':%04X$' "$1")" '$2 ~ port && $4 == "0A" { found = 1 }
			END { exit !found }'
}

# unused_port FROM: the first TCP port from there that nobody listens on.
unused_port()
{
	local port=$1

	while listens "$port"; do port=$((port + 1)); done
	echo "$port"
}

# free_port FROM: one of the thousand from there. Each script has a thousand of its own,
# below those that clients get, since several run at once and all count on from theirs.
free_port()
{
	unused_port $(($1 + $$ % 900))
}

process_gone()
{
	! kill -0 "$1" 2>/dev/null || [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" = Z ]
}

# site_owns PID: it is a process of ours, by name, that was given this test's runtime
# directory.
site_owns()
{
	local comm

	{ read -r comm <"/proc/$1/comm"; } 2>/dev/null && [[ $comm == verbcast* ]] &&
		grep -qzF "$site_work/" "/proc/$1/environ" "/proc/$1/cmdline" 2>/dev/null
}

# daemon_gone PID: what was verbcastd; its number may be a stranger's by now. One that is
# ending has no environment any more, and is not gone.
daemon_gone()
{
	local comm=

	process_gone "$1" && return
	{ read -r comm <"/proc/$1/comm"; } 2>/dev/null
	[ "$comm" != verbcastd ] ||
		{ grep -qz . "/proc/$1/environ" 2>/dev/null && ! site_owns "$1"; }
}

# All of ours.
site_processes()
{
	local file pid

	for file in /proc/[0-9]*/comm; do
		pid=${file#/proc/}
		pid=${pid%/comm}
		site_owns "$pid" && echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
	done
}

no_site_processes()
{
	[ -z "$(site_processes)" ]
}

runtime_is_empty()
{
	[ -z "$(ls -A "$VERBCAST_RUNTIME_DIR" 2>/dev/null)" ]
}

# Nothing of the site is left: no process, no file.
nothing_left()
{
	local pid

	for pid in $(site_daemons); do
		wait_for 10 "verbcastd $pid is gone" daemon_gone "$pid"
	done
	within 10 no_site_processes || fail "left running: $(site_processes)"
	within 10 runtime_is_empty || fail "left in the runtime directory: $(ls -A "$VERBCAST_RUNTIME_DIR")"
}

# site_end [dead]: ends the site, and the test. Every program must have ended before;
# dead: there need be no daemon any more to stop.
site_end()
{
	local name

	for name in "${!site_pid[@]}"; do
		[ "$name" = keeper ] ||
			fail "$name (process ${site_pid[$name]}) has not ended"
	done
	# While the keeper keeps it: on a busy machine it might end by itself before.
	status .pid >/dev/null 2>&1
	timeout 120 "$VERBCAST" stop >"$site_work/stop.out" 2>&1 ||
		[ "${1:-}" = dead ] || fail "verbcast stop: $(cat "$site_work/stop.out")"
	[ -z "${site_pid[keeper]:-}" ] || killed keeper TERM
	nothing_left
	sanitizer_reports && fail "a sanitizer has found something"
	site_done=1
}
