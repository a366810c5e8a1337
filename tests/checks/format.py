# SPDX-License-Identifier: BSD-2-Clause
"""clang-format would change nothing. Other versions than ours have other opinions."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import tree

VERSION = "14"


def main():
    if not shutil.which("clang-format"):
        tree.skip("no clang-format here")
    said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True)
    found = re.search(r"version (\d+)", said.stdout)
    if not found or found.group(1) != VERSION:
        tree.skip(f"clang-format {VERSION} is wanted, here is: {said.stdout.strip()}")
    done = subprocess.run([tree.SOURCE / "scripts/format", "--check"])
    sys.exit(1 if done.returncode else 0)


main()
