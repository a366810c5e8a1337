# SPDX-License-Identifier: BSD-2-Clause
"""Each header compiles alone, and twice, with the flags of the folder it lies in."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import tree


# Whose headers are in the kernel's style, or stand on those: that is nobody's business but
# the sources' of this folder.
KERNEL_STYLE = (tree.SOURCE / "include" / "kapi", tree.SOURCE / "src" / "kapi")


def command_for(commands, header, layer_of):
    if any(folder in header.parents for folder in KERNEL_STYLE):
        return commands.get(tree.SOURCE / "src" / "kapi" / "driver.c")
    if header.parent in layer_of:
        return tree.layer_command(commands, layer_of[header.parent])
    # The nearest source: in the same folder, else below it, else beside it.
    for folder in (header.parent, header.parent.parent):
        for source, command in commands.items():
            if folder in source.parents and folder not in (tree.SOURCE, tree.SOURCE / "src"):
                return command
    return None


def main():
    report = tree.Report()
    commands = tree.compile_commands()
    layer_of = {tree.SOURCE / "src" / d: l for l, d in tree.layers().items()}
    for header in tree.files(".h"):
        command = command_for(commands, header, layer_of)
        if not command:
            report.complain(f"{tree.name(header)}: no target compiles this folder")
            continue
        report.looked_at += 1
        # By an absolute path #include_next would find the header itself.
        include = (f"#include <{header.relative_to(KERNEL_STYLE[0])}>\n"
                   if KERNEL_STYLE[0] in header.parents else f'#include "{header}"\n')
        good, said = tree.try_compile(command, include * 2 + "typedef int alone;\n")
        if not good:
            report.complain(f"{tree.name(header)} does not compile alone:\n{said}")
    report.end("headers")


main()
