# SPDX-License-Identifier: BSD-2-Clause
"""A forbidden #include does not compile: every layer tries every header it may not see.

The table is that of docs/architecture.md, written down a second time on purpose. What a
layer uses brings along what that one uses. Every pair is tried with the layer's own
compiler flags, the allowed ones too, or a broken compiler would look like good manners.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import tree

MAY_USE = {
    "base": "",
    "loop": "base",
    "wire": "base",
    "shm": "base",
    "engine": "shm wire base",
    "core_verbs": "wire base",
    "mad": "wire base",
    "core_mad": "core_verbs mad wire base",
    "core_sa": "core_mad core_verbs wire base",
    "core_addr": "wire base",
    "core_ipoib": "core_sa core_verbs core_addr wire base",
    "core_cm": "core_ipoib core_sa core_verbs core_addr wire base",
    "path": "base wire",
    "path_roce": "path base wire",
    "fabric_net": "wire base",
    "fabric_sm": "mad wire base",
    "fabric_sa": "fabric_sm mad wire base",
    "path_fabric": "path fabric_net base wire",
    "hca": "core_verbs path shm wire base",
    "admin": "wire base",
    "uapi": "base",
    "uapi_client": "uapi base",
    "uapi_server": "uapi core_cm core_mad core_verbs loop wire base",
    "site": "uapi shm base",
    # Composition, and yet not the clients' half.
    "daemon": "kapi site admin uapi_server core_cm core_ipoib core_sa core_mad core_addr "
              "core_verbs hca path_fabric path_roce path fabric_sa fabric_sm fabric_net uapi "
              "shm wire loop base",
    "kapi": "core_cm core_sa core_mad core_addr core_verbs engine shm wire loop base",
    "kapi_site": "kapi daemon",
}
# Not layers, but folders of src/ whose programs are loaded into foreign processes.
SHIMS_MAY_USE = "uapi_client uapi engine shm wire base"


def closure(layer):
    seen, todo = set(), [layer]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += MAY_USE[one].split()
    return seen


def first_header(layer):
    folder = tree.SOURCE / "src" / tree.layers()[layer]
    headers = [h for h in sorted(folder.glob("*.h")) if not h.name.endswith("_priv.h")]
    return str(headers[0].relative_to(tree.SOURCE / "src")) if headers else None


def try_all(report, who, command, allowed, all_of_them=True):
    for other, folder in tree.layers().items():
        header = first_header(other)
        if not header:
            continue
        report.looked_at += 1
        good, said = tree.try_compile(command, f'#include "{header}"\n')
        if other in allowed and not good and all_of_them:
            report.complain(f"{who} may use {other}, but {header} does not compile:\n{said}")
        elif other not in allowed and good:
            report.complain(f"{who} must not know {other}, but sees {header}")
        elif other not in allowed and "No such file" not in said:
            report.complain(f"{who} does not see {header}, but for another reason:\n{said}")


def can_fail(report, commands):
    """With all of src/ in sight a forbidden header does compile, and would be noticed."""
    command = tree.layer_command(commands, "wire") + ["-I", str(tree.SOURCE / "src")]
    good, said = tree.try_compile(command, f'#include "{first_header("shm")}"\n')
    if not good:
        report.complain(f"this check could not fail:\n{said}")


def main():
    report = tree.Report()
    commands = tree.compile_commands()
    can_fail(report, commands)
    for layer in tree.layers():
        if layer not in MAY_USE:
            report.complain(f"layer {layer} is not in docs/architecture.md and this table")
            continue
        try_all(report, layer, tree.layer_command(commands, layer), closure(layer))
    allowed = set().union(*(closure(l) for l in SHIMS_MAY_USE.split()))
    seen = set()
    for source, command in commands.items():
        if tree.SOURCE / "src/shim" in source.parents and source.parent not in seen:
            seen.add(source.parent)
            # Each takes of these what it needs.
            try_all(report, tree.name(source.parent), command, allowed, False)
    report.end("pairs tried")


main()
