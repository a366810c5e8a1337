# SPDX-License-Identifier: BSD-2-Clause
# The command line: the program's exit status, signals, arguments and streams are its own;
# every wrong use says in a line what is wrong.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin

# status_of WANTED COMMAND...
status_of()
{
	local want=$1 got

	shift
	timeout 120 "$@" >"$site_work/cli.out" 2>"$site_work/cli.err" </dev/null
	got=$?
	[ $got = "$want" ] || fail "$* ends with $got, not $want"
}

say "the program's exit status and signals"
for code in 0 1 7 255; do
	status_of $code "$VERBCAST" run -- sh -c "exit $code"
	quiet cli
done
start signalled sleep 300
wait_for 10 'it runs' eval "[ \"\$(cat /proc/$(pid signalled)/comm)\" = sleep ]"
kill -TERM "$(pid signalled)"
ended signalled 10 143
start signalled sh -c 'kill -KILL $$'
ended signalled 10 137
# bash reports these on its own standard error, where it has one.
start pidtest sh -c 'echo $$'
mine=$(pid pidtest)
ended pidtest 10
says pidtest "^$mine\$"

say 'arguments, streams, directory'
[ "$("$VERBCAST" run -- printf '%s|' 'b c' -x -- '' --site)" = 'b c|-x|--||--site|' ] ||
	fail 'arguments after --'
[ "$("$VERBCAST" run printf '%s|' -x --json)" = '-x|--json|' ] ||
	fail "options after the program are the program's"
[ "$(echo hello | "$VERBCAST" run -- cat)" = hello ] || fail 'standard input'
[ "$("$VERBCAST" run -- sh -c 'echo hello >&2' 2>&1 >/dev/null)" = hello ] || fail 'standard error'
[ "$(cd /usr && "$VERBCAST" run -- pwd)" = /usr ] || fail 'working directory'
[ "$(umask 0027; "$VERBCAST" run -- sh -c umask)" = 0027 ] || fail 'umask'
[ "$("$VERBCAST" run -- ls /proc/self/fd)" = "$(ls /proc/self/fd)" ] ||
	fail 'descriptors are left open, or closed'

say 'version and help'
status_of 0 "$VERBCAST" --version
says cli '^verbcast [0-9]+\.[0-9]+\.[0-9]+'
status_of 0 "$VERBCAST" --help
says cli 'run'
says cli 'status'
says cli 'stop'
quiet cli

say 'the log is only where it is asked for'
status_of 0 "$VERBCAST" run -- ibv_devices
quiet cli
timeout 120 "$VERBCAST" run -- mckey -m 239.1.15.1 -b 203.0.113.77 >"$site_work/cli.out" 2>&1
says cli 'addr bind failure'
said cli '^verbcast' && fail 'a library speaks uninvited'
VERBCAST_LOG=debug timeout 120 "$VERBCAST" run -- mckey -m 239.1.15.1 -b 203.0.113.77 \
	>"$site_work/cli.out" 2>&1
says cli '^verbcast: debug: .*BIND'

# wrong PATTERN ARGUMENT...: refused, in a few lines, on standard error alone.
wrong()
{
	local pattern=$1 status lines

	shift
	timeout 120 "$VERBCAST" "$@" >"$site_work/cli.out" 2>"$site_work/cli.err" </dev/null
	status=$?
	[ $status != 0 ] && [ $status != 124 ] && [ $status -lt 128 ] ||
		fail "verbcast $*: exit status $status"
	[ ! -s "$site_work/cli.out" ] || fail "verbcast $*: an error on standard output"
	lines=$(wc -l <"$site_work/cli.err")
	[ "$lines" -ge 1 ] && [ "$lines" -le 30 ] || fail "verbcast $*: $lines lines of error"
	head -n 1 "$site_work/cli.err" | grep -qE '^(usage: )?verbcast' || fail "verbcast $*: who speaks?"
	grep -qiE -- "$pattern" "$site_work/cli.err" || fail "verbcast $*: does not say: $pattern"
}

say 'wrong uses'
wrong 'command|usage'
wrong 'nonsense' nonsense
wrong 'nonsense' --nonsense
wrong 'program' run
wrong 'program' run --
wrong 'nonsense' run --nonsense -- true
wrong 'site' run --site
wrong 'site|name' run --site '' -- true
wrong '--node needs a value that is not empty' run --node '' -- ibv_devices
wrong '--nodes needs a value that is not empty' run --nodes= -- ibv_devices
wrong '--device needs a value that is not empty' run --device '' -- ibv_devices
wrong '--site needs a value that is not empty' status --site=
wrong '--site needs a value that is not empty' stop --site ''
wrong '--node needs a value that is not empty' group list --node ''
wrong 'a word is empty' fabric node power off ''
wrong 'a word is empty' fabric link down '' 1
wrong 'it is empty' fabric show --site ''
wrong 'site|name' run --site ../escape -- true
wrong 'site|name' run --site "$(printf 'x%.0s' $(seq 300))" -- true
wrong 'private' run --site a --private -- true
wrong 'nosuchnode' run --node nosuchnode -- ibv_devices
wrong 'nosuchdevice' run --device nosuchdevice -- ibv_devices
wrong 'no/such/program' run -- /no/such/program
wrong 'nosuchprogram' run -- nosuchprogram
status_of 127 "$VERBCAST" run -- nosuchprogram
: >"$site_work/not-executable"
wrong 'not-executable' run -- "$site_work/not-executable"
status_of 126 "$VERBCAST" run -- "$site_work/not-executable"
mkfifo -m 0700 "$site_work/fifo"
wrong 'fifo.*denied' run -- "$site_work/fifo"
status_of 126 "$VERBCAST" run -- "$site_work/fifo"
wrong 'nonsense' status nonsense
wrong 'nonsense' status --nonsense
wrong 'nonsense' stop nonsense

say 'a runtime directory that will not do'
chmod 0777 "$VERBCAST_RUNTIME_DIR"
wrong 'open to others' run -- true
chmod 0700 "$VERBCAST_RUNTIME_DIR"
VERBCAST_RUNTIME_DIR=$site_work/not-executable wrong 'not-executable' run -- true
if [ "$(id -u)" = 0 ]; then
	mkdir -m 0700 "$site_work/theirs"
	chown 54321 "$site_work/theirs"
	VERBCAST_RUNTIME_DIR=$site_work/theirs wrong 'theirs' run -- true
fi

say 'a level of the log that is none'
VERBCAST_LOG=loud "$VERBCAST" version >/dev/null 2>"$site_work/loud" || fail 'version'
grep -q "^verbcast: warning: VERBCAST_LOG: 'loud' is not one of" "$site_work/loud" ||
	fail "VERBCAST_LOG=loud: $(cat "$site_work/loud")"

say 'the device list can be narrowed'
[ "$("$VERBCAST" run --device vroce0 -- ibv_devices | awk 'NR > 2 { print $1 }')" = vroce0 ] ||
	fail '--device vroce0'

say 'sites by name do not meet'
start here sleep 300
site_run='--site other' start there sleep 300
wait_for 10 'one daemon' site_daemon >/dev/null
here=$(site_daemon)
wait_for 10 'another daemon' timeout 120 "$VERBCAST" status --site other --json >/dev/null
there=$("$VERBCAST" status --site other --json | jq .pid)
[ "$here" != "$there" ] || fail 'two sites, one daemon'
# While they are kept: on a busy machine they might end by themselves before.
timeout 120 "$VERBCAST" stop --site other || fail 'stop --site other'
wait_for 10 'the other one is gone' process_gone "$there"
[ "$(site_daemon)" = "$here" ] || fail 'this one has gone with the other'
timeout 120 "$VERBCAST" stop || fail 'stop'
wait_for 10 'this one is gone' process_gone "$here"
killed here TERM
killed there TERM

say 'a site that is not there'
wrong 'no|not' status
wrong 'no|not' stop
site_end dead
