# SPDX-License-Identifier: BSD-2-Clause
# verbcastd started by a person or by systemd: foreground, background, on a socket that
# is passed in; never twice on one site.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
verbcastd=${VERBCAST%/*}/verbcastd
[ -x "$verbcastd" ] || verbcastd=${VERBCAST%/*}/../sbin/verbcastd

serves()
{
	status .pid >/dev/null
}

say 'version, help and limits'
start_with version "$verbcastd" --version
ended version 10
says version '^verbcastd [0-9]+\.[0-9]+\.[0-9]+$'
start_with help "$verbcastd" --help
ended help 10
says help '--foreground'
start_with limits "$verbcastd" --limit help
ended limits 10
says limits '^[a-z_]+ +[0-9]+ +[0-9]+ '
quiet version help limits

say 'wrong uses'
for wrong in '--nonsense' 'nonsense' '--site ../x' '--foreground --background' \
	'--limit nonsense=1' '--limit nonsense' '--linger x' '--ready-fd x' '--group no.such.group'; do
	start_with wrong "$verbcastd" $wrong
	ended wrong 10 2
	grep -q '^verbcastd: ' "$site_work/wrong.err" || fail "verbcastd $wrong: not a word"
done

# Where nothing is said of --linger, they are looked at for longer than its five seconds on
# a busy machine.
say 'in the foreground'
start_with foreground "$verbcastd" --foreground --linger 600
wait_for 20 'it serves' serves
[ "$(site_daemon)" = "$(pid foreground)" ] || fail 'another one serves'
run ibv_devices
alive foreground || fail 'it has ended'

say 'twice'
start_with twice "$verbcastd"
ended twice 20 3
grep -q "process $(pid foreground)" "$site_work/twice.err" ||
	fail "it does not name who serves: $(cat "$site_work/twice.err")"
start_with twice "$verbcastd" --background
ended twice 20 3
grep -q "process $(pid foreground)" "$site_work/twice.err" ||
	fail "it does not name who serves: $(cat "$site_work/twice.err")"
serves || fail 'the first one does not serve any more'

say 'SIGTERM ends it in order'
terminated foreground
quiet foreground
nothing_left

say 'in the background'
start_with background "$verbcastd" --background --linger 600
ended background 20
# It returns when it serves, not before.
serves || fail 'it does not serve when its starter returns'
run ibv_devices
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
nothing_left

say 'it stays as long as it is told'
start_with short "$verbcastd" --linger 1
wait_for 20 'it serves' serves
run ibv_devices
ended short 20
start_with stays "$verbcastd" --stay --linger 0
wait_for 20 'it serves' serves
run ibv_devices
# One without --stay, that loses its last client later, shows that the time was up.
start_with ends "$verbcastd" --site ends --linger 0
wait_for 20 'the other serves' eval '"$VERBCAST" status --site ends --json >/dev/null 2>&1'
site_run='--site ends' run ibv_devices
ended ends 20
alive stays || fail 'it has ended in spite of --stay'
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
ended stays 20
nothing_left

say 'a limit is kept'
start_with limited "$verbcastd" --linger 600 --limit max_qp=2
wait_for 20 'it serves' serves
run ibv_devinfo -v -d vroce0
grep -qE '^[[:space:]]*max_qp:[[:space:]]*2$' "$site_work/run.out" || fail 'max_qp is not 2'
start_with third "$VERBCAST" run -- "$VERBCAST_BUILD/tests/apps/bin/member" -m 239.1.13.1 -q 3 -r 1
within 20 gone third || fail 'three queue pairs where two are allowed'
wait "$(pid third)" && fail 'three queue pairs where two are allowed'
unset 'site_pid[third]'
says third "rdma_create_qp"
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
ended limited 20
nothing_left

say 'on a socket that is passed in, as systemd does'
path=$VERBCAST_RUNTIME_DIR/$(stat -Lc %i /proc/self/ns/net).default.sock
cat >"$site_work/pass.py" <<'PYTHON'
import os, socket, sys
path, program = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.umask(0o177)
s.bind(path)
s.listen(64)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="x")
os.execv(program, [program, "--linger", "600", "--yield"])
PYTHON
start_with passed python3 "$site_work/pass.py" "$path" "$verbcastd"
wait_for 20 'it serves' serves
[ "$(site_daemon)" = "$(pid passed)" ] || fail 'another one serves'
run ibv_devices
refused 'runs already' fabric up --nodes 2
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
ended passed 20
[ -S "$path" ] || fail "it has removed a socket that is systemd's"
rm -f "$path"
site_end dead
