# SPDX-License-Identifier: BSD-2-Clause
# Nobody reads the pipe that verbcastd logs to, and it is full: the site goes on, and the
# log says later what is missing.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
. "$VERBCAST_SOURCE/tests/harness/fabric.sh"
site_begin
need dd

# Lines of verbcastd's log: its subnet manager sweeps.
sweeps()
{
	local way

	for way in down up; do
		timeout 60 "$VERBCAST" fabric link $way "$switch" 1 >/dev/null ||
			fail "link $way ends with $?"
	done
}

# In the log's file, what is in the pipe.
read_pipe()
{
	timeout 10 dd if="$site_work/pipe" iflag=nonblock >>"$site_work/log" 2>/dev/null
}

swept()
{
	read_pipe
	grep -qa 'debug: sm: sweep over' "$site_work/log"
}

missing_is_told()
{
	sweeps
	read_pipe
	grep -qa 'lines are missing here' "$site_work/log"
}

mkfifo "$site_work/pipe"
exec 7<>"$site_work/pipe"
# start_with has a file for standard error.
VERBCAST_LOG=debug start_with stays bash -c 'exec "$0" --stay 2>&7' "${VERBCAST}d"
wait_for 20 'the site is there' site_daemon >/dev/null
switch=$(switch_name)
read_pipe
: >"$site_work/log"
sweeps
wait_for 10 'sweeps are logged' swept
timeout 10 dd if=/dev/zero of="$site_work/pipe" bs=4096 oflag=nonblock 2>/dev/null
for round in 1 2 3; do
	sweeps
	[ "$(status .site)" = default ] || fail "round $round: no answer"
done
read_pipe
wait_for 10 'the log says that lines are missing' missing_is_told
ours stop
ended stays 30
exec 7>&-
site_end dead
