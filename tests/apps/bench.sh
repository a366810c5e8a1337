# SPDX-License-Identifier: BSD-2-Clause
# Every scenario of the benchmark, short: it checks each byte and takes no figures, so
# that it does not rot.
# ctest: TIMEOUT 300
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
bench=$VERBCAST_BUILD/bin/verbcast-bench
[ -x "$bench" ] || skip 'verbcast-bench is not built'

scenarios=$("$bench" --help | sed -n '/^Scenarios:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ -n "$scenarios" ] || fail 'it has no scenarios'
for scenario in $scenarios; do
	say "$scenario"
	start bench "$bench" --short --transports verbs,ring --against ring "$scenario"
	ended bench 120
	quiet bench
	says bench 'verbs'
done
site_end
