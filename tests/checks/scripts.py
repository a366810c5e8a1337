# SPDX-License-Identifier: BSD-2-Clause
"""Every shell script parses, and may be executed where it is meant to be."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import tree


def is_shell(path):
    with path.open("rb") as f:
        return b"sh" in f.readline() and path.suffix != ".py"


def main():
    report = tree.Report()
    commands = [p for p in sorted((tree.SOURCE / "scripts").iterdir()) if p.is_file()]
    commands.append(tree.SOURCE / ".ci/run")
    for path in commands:
        if not os.access(path, os.X_OK):
            report.complain(f"{tree.name(path)} is not executable")
    shell = [p for p in commands if is_shell(p)] + list(tree.files(".sh", under=("tests",)))
    for path in shell:
        report.looked_at += 1
        done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
        if done.returncode:
            report.complain(done.stderr)
    report.end("scripts")


main()
