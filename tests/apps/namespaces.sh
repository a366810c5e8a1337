# SPDX-License-Identifier: BSD-2-Clause
# Two network namespaces of one user are two machines: same runtime directory, same group,
# two sites that do not meet.
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need mckey unshare nsenter ip

enter=(unshare --net)
join=(--net)
if [ "$(id -u)" != 0 ]; then
	enter=(unshare --user --map-root-user --net)
	join=(--user --preserve-credentials --net)
fi
"${enter[@]}" true 2>/dev/null || skip 'this user may not create a network namespace'
start_with holder "${enter[@]}" sleep 100000
# With its user in it, where it has one of its own: unshare is done.
wait_for 10 'the namespace is there' eval "[ \"\$(cat /proc/$(pid holder)/comm)\" = sleep ]"
inside=(nsenter -t "$(pid holder)" "${join[@]}" --)
"${inside[@]}" ip link set lo up || skip 'lo cannot be set up in a namespace of ours'

here=$VERBCAST
printf '#!/bin/bash\nexec %s %q "$@"\n' "${inside[*]}" "$here" >"$site_work/there"
chmod 0755 "$site_work/there"
there=$site_work/there

# Each site stays for as long as it is looked at.
site_keep
start r mckey -m 239.1.11.1 -b 127.0.0.1
r=$(pid r)
wait_for 10 'a member here' members_are 239.1.11.1 1
daemon=$(site_daemon)

VERBCAST=$there
start keeper2 sleep 100000
start r2 mckey -m 239.1.11.1 -b 127.0.0.1
r2=$(pid r2)
wait_for 10 'a member there' members_are 239.1.11.1 1
[ "$(site_daemon)" != "$daemon" ] || fail 'two namespaces, one verbcastd'
start s2 mckey -m 239.1.11.1 -b 127.0.0.1 -s
ended s2 20
ended r2 20
got 239.1.11.1 "$r2" 10
other=$(site_daemon)
ours stop
killed keeper2 TERM
wait_for 10 'the other verbcastd is gone' process_gone "$other"

VERBCAST=$here
[ "$(delivered 239.1.11.1 "$r")" = 0 ] || fail 'two namespaces have met'
start s mckey -m 239.1.11.1 -b 127.0.0.1 -s
ended s 20
ended r 20
got 239.1.11.1 "$r" 10
quiet r r2 s s2
killed holder
site_end
