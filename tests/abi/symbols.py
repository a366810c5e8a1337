# SPDX-License-Identifier: BSD-2-Clause
"""Our three libraries export what the distribution's do and what their lists say, no
more; they need libc alone; and what is still a stub is declared as one."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import elf

# Instrumented libraries need their sanitizer's runtime as well, which brings libm & Co.
NEEDED = {
    "libibverbs.so.1": {"libc.so.6"},
    "librdmacm.so.1": {"libc.so.6", "libibverbs.so.1"},
    "libibumad.so.3": {"libc.so.6"},
}


def listed(soname):
    """name@node -> (default, type, kind), as the generator wrote them."""
    symbols = {}
    text = (elf.LISTS / f"{soname.split('.')[0]}.exports").read_text()
    for line in text.split("\n"):
        if not line:
            continue
        where, kind_of_symbol, kind = line.split()
        name, _, node = where.partition("@")
        default, node = node.startswith("@"), node.lstrip("@")
        at = f"{name}@{node}" if node else name
        symbols[at] = (default, kind_of_symbol, kind)
    return symbols


def compare_with_installed(report, soname, ours):
    path = elf.installed(soname)
    if not path:
        print(f"{soname}: none installed to compare with")
        return
    for at, theirs in elf.exports(path).items():
        mine = ours.get(at)
        report.check(mine is not None, f"{soname}: {at} is missing")
        if mine is None:
            continue
        report.check(mine.type == theirs.type, f"{soname}: {at} is {mine.type}")
        if theirs.type == "OBJECT":
            report.check(mine.size == theirs.size, f"{soname}: {at} has {mine.size} bytes")


def compare_with_list(report, soname, ours):
    symbols = listed(soname)
    for at, (default, kind_of_symbol, _) in symbols.items():
        mine = ours.get(at)
        report.check(mine is not None, f"{soname}: {at} is listed and not exported")
        if mine is None:
            continue
        report.check(mine.type == kind_of_symbol, f"{soname}: {at} is {mine.type}")
        # A private symbol may be linked with at the newest node alone.
        report.check(mine.default == default, f"{soname}: {at} is default or is not")
    for at in ours:
        report.check(at in symbols, f"{soname}: {at} is exported and not listed")


def compare_stubs(report, soname, ours):
    """A stub is weak (exports/stub.h). Aliases at older nodes tell nothing."""
    symbols = listed(soname)
    stubs = []
    for at, (default, _, kind) in symbols.items():
        if at not in ours or (not default and "PRIVATE" in at):
            continue
        weak = ours[at].bind == "WEAK"
        if weak:
            stubs.append(at)
        report.check(weak == (kind == "stub"),
                     f"{soname}: {at} is {'a stub' if weak else 'real'}, listed as {kind}; "
                     "write its kind in src/shim/exports")
    print(f"{soname}: {len(symbols) - len(stubs)} real or alias, {len(stubs)} stubs")
    print("  " + " ".join(stubs))


def compare_needs(report, soname):
    needed = set(elf.needed(elf.OURS / soname))
    if not elf.SANITIZED:
        report.check(needed <= NEEDED[soname], f"{soname} needs {needed}")
    flags = " ".join(elf.flags(elf.OURS / soname))
    report.check("NODELETE" in flags, f"{soname} can be unloaded")
    text = elf.readelf("-d", elf.OURS / soname)
    report.check(f"[{soname}]" in text, f"{soname} has another soname")
    report.check("TEXTREL" not in text, f"{soname} has text relocations")


def main():
    report = elf.Report()
    for soname in elf.SONAMES:
        ours = elf.exports(elf.OURS / soname)
        compare_with_installed(report, soname, ours)
        compare_with_list(report, soname, ours)
        compare_stubs(report, soname, ours)
        compare_needs(report, soname)
    report.end("properties of symbols")


main()
