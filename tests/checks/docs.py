# SPDX-License-Identifier: BSD-2-Clause
"""What the documents name is there.

- every `function()` of the documents that explain code is an identifier of src/
- every file that a document names in backquotes, and every relative link, exists
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import tree

EXPLAIN_CODE = ("life-of-a-datagram.md", "life-of-a-join.md", "locking.md", "shm-layout.md")
# Calls of the system and of the APIs we implement are not ours to define.
FOREIGN = re.compile(r"(pthread|sem|epoll|poll|futex|process_vm|pidfd|memfd|mmap|fork|exec"
                     r"|select|read|write|close|open|kill|clone|dlopen|dlclose)\w*")


def identifiers():
    words = set()
    for path in tree.files(".c", ".h", ".def", under=("src", "include")):
        words.update(re.findall(r"\w+", path.read_text()))
    return words


def check_names(report, document, known):
    for found in re.finditer(r"`([a-z_][a-z0-9_]*)\(\)?`", document.read_text()):
        report.looked_at += 1
        word = found.group(1)
        if word not in known and not FOREIGN.fullmatch(word):
            report.complain(f"{tree.name(document)}: {word}() is not in src/")


def check_files(report, document):
    text = document.read_text()
    for found in re.finditer(r"`((?:src|tests|scripts|cmake|docs|bench)/[\w./-]+)`", text):
        if re.search(r"/[A-Z]{3,}\b|[A-Z]{3,}_", found.group(1)):
            continue # a pattern, as in tests/unit/LAYER
        report.looked_at += 1
        if not (tree.SOURCE / found.group(1)).exists():
            report.complain(f"{tree.name(document)}: there is no {found.group(1)}")
    for found in re.finditer(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        report.looked_at += 1
        if not (document.parent / found.group(1)).exists():
            report.complain(f"{tree.name(document)}: link to nowhere: {found.group(1)}")


def main():
    report = tree.Report()
    known = identifiers()
    documents = [*sorted((tree.SOURCE / "docs").glob("*.md")), tree.SOURCE / "README.md",
                 tree.SOURCE / "CHANGELOG.md"]
    for document in documents:
        if not document.exists():
            report.complain(f"there is no {tree.name(document)}")
            continue
        if document.name in EXPLAIN_CODE:
            check_names(report, document, known)
        check_files(report, document)
    for wanted in ("architecture", "life-of-a-datagram", "locking", "shm-layout", "testing"):
        if not (tree.SOURCE / f"docs/{wanted}.md").exists():
            report.complain(f"there is no docs/{wanted}.md")
    report.end("names")


main()
