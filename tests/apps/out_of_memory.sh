# SPDX-License-Identifier: BSD-2-Clause
# One allocation after another fails, in a program and in verbcastd.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
program=$VERBCAST_BUILD/tests/apps/bin/out_of_memory

say 'here'
run "$program"
sed 's/^/   /' "$site_work/run.out"

# A sanitizer's allocator cannot be replaced from outside.
[ -z "${VERBCAST_SANITIZE:-}" ] || { site_end; exit 0; }
say 'in verbcastd'
"$VERBCAST" stop >/dev/null 2>&1
truncate -s 4096 "$site_work/alloc"
# Without a subnet manager, whose sweeps would take part in what is counted.
VERBCAST_TEST_ALLOC=$site_work/alloc LD_PRELOAD=$VERBCAST_BUILD/tests/apps/bin/alloc.so \
	"${VERBCAST%/*}/verbcastd" --background --no-sm || fail 'verbcastd'
site_keep
daemon=$(site_daemon)
run "$program" "$site_work/alloc"
sed 's/^/   /' "$site_work/run.out"
[ "$(site_daemon)" = "$daemon" ] || fail 'verbcastd has not survived it'
site_end
