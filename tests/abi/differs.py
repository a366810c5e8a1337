# SPDX-License-Identifier: BSD-2-Clause
"""Every file of src/ that says `Differs:` is in the table of docs/abi.md, and the other
way round."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import elf

SOURCE = pathlib.Path(os.environ["VERBCAST_SOURCE"])


def marked():
    for path in sorted((SOURCE / "src").rglob("*.[ch]")):
        if re.search(r"\bDiffers:", path.read_text()):
            yield str(path.relative_to(SOURCE))


def main():
    report = elf.Report()
    text = (SOURCE / "docs/abi.md").read_text()
    table = text.split("## Differences")[1].split("\n## ")[0]
    named = set(re.findall(r"`(src/[\w./]+)`", table))
    found = set(marked())
    for path in sorted(found | named):
        report.check(path in named, f"{path} says Differs:, docs/abi.md does not")
        report.check(path in found, f"docs/abi.md names {path}, which does not say Differs:")
    report.end("marks compared")


main()
