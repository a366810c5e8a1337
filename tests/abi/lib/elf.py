# SPDX-License-Identifier: BSD-2-Clause
"""What readelf says of shared objects, and the three libraries that are compared."""
import collections
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["VERBCAST_BUILD"])
OURS = BUILD / "lib/verbcast"
LISTS = BUILD / "src/shim/exports"
SANITIZED = bool(os.environ.get("VERBCAST_SANITIZE"))
SONAMES = ("libibverbs.so.1", "librdmacm.so.1", "libibumad.so.3")

# `at` is name@node, or the name alone for the base version; `default` tells @@ from @.
Symbol = collections.namedtuple("Symbol", "at default type bind size")


def readelf(*arguments):
    done = subprocess.run(["readelf", "-W", *map(str, arguments)], check=True,
                          capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"})
    return done.stdout


def exports(path):
    """name@node -> Symbol, of everything the object defines for others."""
    found = {}
    for line in readelf("--dyn-syms", path).split("\n"):
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "Ndx") or words[4] == "LOCAL":
            continue
        name, _, node = words[7].partition("@")
        default = node.startswith("@")
        node = node.lstrip("@")
        # The linker also exports the nodes themselves.
        if words[6] == "ABS" or name == node:
            continue
        at = f"{name}@{node}" if node else name
        found[at] = Symbol(at, default, words[3], words[4], int(words[2], 0))
    return found


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path))


def flags(path):
    return re.findall(r"\(FLAGS(?:_1)?\)\s+(.*)", readelf("-d", path))


def installed(soname):
    """The distribution's file of that name, or None."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                   "/usr/lib"):
        path = pathlib.Path(folder) / soname
        if path.exists():
            return path
    return None


class Report:
    """Collects complaints; ends the test."""

    def __init__(self):
        self.complaints = []
        self.looked_at = 0

    def check(self, good, complaint):
        self.looked_at += 1
        if not good:
            self.complaints.append(complaint)

    def end(self, what):
        for complaint in self.complaints:
            print("FAILED:", complaint)
        print(f"{self.looked_at} {what}, {len(self.complaints)} wrong")
        if not self.looked_at:
            print("skipped: nothing here to look at")
            sys.exit(77)
        sys.exit(1 if self.complaints else 0)
