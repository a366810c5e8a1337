#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is installed is enough: a program, against the shared and the static library, and a
# module are built with pkg-config alone, and the program loads the module.
# ctest: LABELS noasan
set -euo pipefail

command -v pkg-config >/dev/null || { echo "skip: no pkg-config"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$VERBCAST_BUILD" --component kapi --prefix "$dir/usr" >/dev/null
pc=$(find "$dir/usr" -name verbcast-kapi.pc)
export PKG_CONFIG_PATH=${pc%/*}
lib=${pc%/pkgconfig/*}

cat >"$dir/program.c" <<'END'
#include <rdma/ib_verbs.h>
#include <verbcast/kapi.h>

static int add(struct ib_device *device)
{
	pr_info("found %s\n", device->name);
	return 0;
}

static struct ib_client client = { .name = "program", .add = add };

int main(int argc, char **argv)
{
	char why[256] = "";
	int r = ib_register_client(&client);

	if (!r)
		r = kapi_module_load(argv[1], NULL, why, sizeof(why));
	if (r)
		return pr_err("%s (%d)\n", why, r), 1;
	kapi_module_unload("mcast_consumer");
	ib_unregister_client(&client);
	return kapi_site_close() != 0;
}
END
cc -O1 -Wall -fPIC -shared $(pkg-config --cflags verbcast-kapi) \
	-o "$dir/mcast_consumer.so" "$VERBCAST_SOURCE/examples/mcast_consumer.c"
cc -O1 -Wall $(pkg-config --cflags verbcast-kapi) -o "$dir/shared" \
	"$dir/program.c" $(pkg-config --libs verbcast-kapi)
cc -O1 -Wall -rdynamic $(pkg-config --cflags verbcast-kapi) -o "$dir/static" \
	"$dir/program.c" -Wl,--whole-archive "$lib/libverbcast-kapi.a" -Wl,--no-whole-archive \
	$(pkg-config --libs --static verbcast-kapi | sed 's/-lverbcast-kapi//')
LD_LIBRARY_PATH=$lib "$dir/shared" "$dir/mcast_consumer.so" 2>"$dir/said"
grep -q "found vroce0" "$dir/said"
grep -q "listening to 224.0.1.9 on vroce0" "$dir/said"
"$dir/static" "$dir/mcast_consumer.so" 2>"$dir/said"
grep -q "listening to 224.0.1.9 on vroce0" "$dir/said"
if ldd "$dir/static" | grep -q verbcast; then
	echo "the static program needs a library of ours"
	exit 1
fi
