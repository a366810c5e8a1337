# SPDX-License-Identifier: BSD-2-Clause
# Every command and option that the programs know is in their manual page, and every
# option in the pages is one that they know.
set -u
: "${VERBCAST:?}" "${VERBCAST_SOURCE:?}"
verbcastd=${VERBCAST%/*}/verbcastd
failed=0

complain()
{
	echo "FAILED: $*"
	failed=1
}

# The options of a help text, one a line.
options_of_help()
{
	grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | sort -u
}

options_of_page()
{
	grep -oE '\*--[a-z0-9-]+\*' "$VERBCAST_SOURCE/man/$1.scd" | tr -d '*' | sort -u
}

# compare PAGE: options on standard input against those of the page. These are understood
# by all programs, and the first is no option at all.
compare()
{
	local page=$1 option known documented

	known=$(cat)
	documented=$(options_of_page "$page")
	[ -n "$known" ] || complain "$page: the programs show no options"
	for option in $known; do
		grep -qxe "$option" <<<"$documented" || complain "$page does not tell of $option"
	done
	for option in $documented; do
		case $option in
		--help | --version) continue ;;
		esac
		grep -qxe "$option" <<<"$known" || complain "$page tells of $option, which is none"
	done
}

commands=$("$VERBCAST" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
	grep -qE "^\*verbcast $command" "$VERBCAST_SOURCE/man/verbcast.1.scd" ||
		complain "verbcast.1 has no synopsis of $command"
done
for command in $commands; do
	[ "$command" = help ] || "$VERBCAST" help "$command"
done | options_of_help | compare verbcast.1
"$verbcastd" --help | options_of_help | compare verbcastd.8
exit $failed
