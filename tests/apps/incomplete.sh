# SPDX-License-Identifier: BSD-2-Clause
# An installation that lacks something: `verbcast run` says what, at once, and leaves
# nothing behind.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
place=$site_work/place
mkdir -p "$place/bin" "$place/lib/verbcast"
cp "$VERBCAST" "$place/bin/"

# refuses PATTERN: at once, with our own exit status
refuses()
{
	local status

	timeout "$((10 * site_slow))" "$place/bin/verbcast" run -- true >"$site_work/try.out" 2>"$site_work/try.err"
	status=$?
	[ $status = 125 ] || fail "it ends with $status"
	grep -qE "^verbcast: error: .*$1" "$site_work/try.err" ||
		fail "it does not say $1: $(cat "$site_work/try.err")"
	[ -z "$(ls -A "$VERBCAST_RUNTIME_DIR" 2>/dev/null)" ] ||
		fail "left behind: $(ls -A "$VERBCAST_RUNTIME_DIR")"
}

say 'no libraries'
refuses 'libibverbs'
say 'no verbcastd'
: >"$place/lib/verbcast/libibverbs.so.1"
refuses 'verbcastd is neither'
say 'one that fails'
printf '#!/bin/sh\nexit 1\n' >"$place/bin/verbcastd"
chmod +x "$place/bin/verbcastd"
refuses 'did not start'
say 'one that ends without a word'
printf '#!/bin/sh\nexit 0\n' >"$place/bin/verbcastd"
refuses 'did not start'
site_end dead
