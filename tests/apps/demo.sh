# SPDX-License-Identifier: BSD-2-Clause
# What `make demo` runs: it succeeds, says so of each receiver, and leaves nothing; and it
# fails where a member has not got everything.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey
demo=$VERBCAST_SOURCE/scripts/demo

export TMPDIR=$site_work
before=$(ls -d /tmp/verbcast-demo.* 2>/dev/null)
start_with demo "$demo"
ended demo 60
quiet demo
[ "$(ls -d /tmp/verbcast-demo.* 2>/dev/null)" = "$before" ] || fail 'it leaves its files'
within 10 no_site_processes || fail "left running: $(site_processes)"

say 'without a sender to hear there is no success'
mkdir "$site_work/bin"
printf '#!/bin/sh\ncase " $* " in *" -s "*) exit 0 ;; esac\nexec %s "$@"\n' \
	"$(command -v mckey)" >"$site_work/bin/mckey"
chmod 0755 "$site_work/bin/mckey"
start_with deaf env PATH="$site_work/bin:$PATH" "$demo"
within 120 gone deaf || fail 'it does not end'
wait "$(pid deaf)" && fail 'it calls that a success'
unset 'site_pid[deaf]'
[ "$(ls -d /tmp/verbcast-demo.* 2>/dev/null)" = "$before" ] || fail 'it leaves its files'
site_end dead
