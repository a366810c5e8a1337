# SPDX-License-Identifier: BSD-2-Clause
# Installed under a prefix, it works from there and needs nothing of the build tree.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey ibv_devices readelf

prefix=$site_work/some/prefix
cmake --install "$VERBCAST_BUILD" --prefix "$prefix" >"$site_work/install.out" 2>&1 ||
	fail 'cmake --install'
VERBCAST=$prefix/bin/verbcast
[ -x "$VERBCAST" ] || fail 'no bin/verbcast'

site_keep
start r mckey -m 239.1.12.1 -b 127.0.0.1
r=$(pid r)
wait_for 10 'a member' members_are 239.1.12.1 1
daemon=$(site_daemon)
case $(readlink "/proc/$daemon/exe") in
"$prefix"/*) ;;
*) fail "verbcastd runs from $(readlink "/proc/$daemon/exe")" ;;
esac
libraries=$(grep -oE '/[^[:space:]].*/lib(ibverbs|rdmacm|ibumad)\.so.*' "/proc/$r/maps" | sort -u)
[ -n "$libraries" ] || fail 'mckey has none of the libraries'
grep -vF "$prefix/" <<<"$libraries" && fail 'a library from elsewhere'
start s mckey -m 239.1.12.1 -b 127.0.0.1 -s
ended s 20
ended r 20
quiet r s
got 239.1.12.1 "$r" 10
timeout 120 "$VERBCAST" stop || fail 'verbcast stop'
killed keeper TERM

say 'also from a path with a blank in it'
mkdir "$site_work/a blank" "$site_work/a:colon"
cp -a "$prefix" "$site_work/a blank/"
timeout 120 "$site_work/a blank/prefix/bin/verbcast" run -- ibv_devices \
	>"$site_work/blank.out" 2>"$site_work/blank.err" || fail 'it does not run'
quiet blank
says blank 'vroce0'

say 'where the dynamic linker cannot follow, it says so'
cp -a "$prefix" "$site_work/a:colon/"
timeout 120 "$site_work/a:colon/prefix/bin/verbcast" run -- true >"$site_work/colon.out" 2>&1 &&
	fail 'it pretends to have run'
says colon '^verbcast: error: .*colon'

say 'nothing in it points back'
find "$prefix" -type f | while read -r file; do
	readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' | grep -F "$VERBCAST_BUILD" &&
		echo "$file"
done | grep . && fail 'a run path into the build tree'
site_end dead
