# SPDX-License-Identifier: BSD-2-Clause
"""What the checks share: the tree's files, its layers, and how each is compiled."""
import json
import os
import pathlib
import shlex
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["VERBCAST_SOURCE"])
BUILD = pathlib.Path(os.environ["VERBCAST_BUILD"])


def files(*suffixes, under=("src", "include", "tests", "bench")):
    """The tree's own files with one of these suffixes."""
    for top in under:
        for path in sorted((SOURCE / top).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path


def name(path):
    return str(path.relative_to(SOURCE))


def layers():
    """Layer name -> folder below src/, bottom first."""
    lines = (BUILD / "tests/checks/layers.txt").read_text().split("\n")
    return dict(line.split() for line in lines if line)


def compile_commands():
    """Source file -> the arguments it is compiled with, without input and output.

    Tests compile some sources of src/ a second time, with more in sight: not those.
    """
    database = json.loads((BUILD / "compile_commands.json").read_text())
    commands = {}
    for entry in database:
        source = pathlib.Path(entry["file"])
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        if output.startswith("tests/") and SOURCE / "src" in source.parents:
            continue
        cut = words.index("-o")
        commands[source] = words[:cut]
    return commands


def layer_command(commands, layer):
    """How this layer's own sources are compiled; without any, how its users are."""
    folder = SOURCE / "src" / layers()[layer]
    for source, command in commands.items():
        if source.parent == folder:
            return command
    return commands[BUILD / f"tests/checks/probe.{layer}.c"]


def try_compile(command, text):
    """Whether this text compiles, and what the compiler says."""
    done = subprocess.run([*command, "-fsyntax-only", "-x", "c", "-"], input=text,
                          capture_output=True, text=True, cwd=BUILD)
    return done.returncode == 0, done.stderr


class Report:
    """Collects complaints; ends the check."""

    def __init__(self):
        self.complaints = 0
        self.looked_at = 0

    def complain(self, text):
        self.complaints += 1
        print(text)

    def end(self, what):
        print(f"{self.looked_at} {what}, {self.complaints} complaints")
        if not self.looked_at:
            print("nothing was looked at")
        sys.exit(1 if self.complaints or not self.looked_at else 0)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)
