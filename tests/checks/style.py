# SPDX-License-Identifier: BSD-2-Clause
"""Rules of the tree that no compiler knows. One line a rule; see RULES and LIMITS."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import tree

# (pattern, where, except where, why)
RULES = [
    (r"#include\s*\"\.\./", ".*", "$^", "an include out of the folder hides who knows whom"),
    (r"\b(gets|strcpy|strcat|sprintf|vsprintf|strncpy|strncat)\(", "src/", "$^",
     "says nothing of the room there is"),
    (r"\b(strtok|asctime|ctime|gmtime|localtime|tmpnam|tempnam|mktemp|readdir_r)\(", ".*",
     "$^", "has hidden state or a race; there is a better one"),
    (r"\balloca\(", ".*", "$^", "grows the stack by what a caller says"),
    (r"\b(TODO|FIXME|XXX)\b", "src/", "$^", "what is not there fails with the right errno"),
    (r"\b(clock_gettime|gettimeofday)\(|\btime\(NULL\)", "src/", r"src/base/clock\.c",
     "nobody but base/clock asks for the time"),
    (r"\b(exit|abort|_exit)\(", "src/(shim|engine|shm|wire|base|uapi/client)/",
     r"src/engine/lock\.c", # debug builds, where locks are taken out of order
     "a library never ends its host"),
    (r"\bsleep\(\d|\busleep\(", "tests/(unit|stress)/", "$^", "a test waits for an event"),
    (r"[ \t]+$", ".*", "$^", "space at the end of a line"),
]
LINES_MAX = 1000
FUNCTION_LINES_MAX = 80
COLUMNS_MAX = 100
SPDX = "SPDX-License-Identifier: BSD-2-Clause"


def without_comments(text):
    """The same lines, with comments and strings blanked."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'

    def keep_includes(match):
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        return match.group(0) if line.startswith("#include") else blank(match)

    return re.sub(pattern, keep_includes, text, flags=re.S)


def check_rules(report, path, text):
    where = tree.name(path)
    code = without_comments(text).split("\n")
    for number, (line, raw) in enumerate(zip(code, text.split("\n")), 1):
        for pattern, inside, outside, why in RULES:
            subject = raw if pattern.startswith("[ ") or "TODO" in pattern else line
            if re.match(inside, where) and not re.match(outside, where) and \
               re.search(pattern, subject):
                report.complain(f"{where}:{number}: {why}: {raw.strip()}")
        if len(raw.expandtabs(8)) > COLUMNS_MAX:
            report.complain(f"{where}:{number}: {len(raw.expandtabs(8))} columns")


def check_lengths(report, path, text):
    where, start = tree.name(path), None
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        report.complain(f"{where}: {len(lines)} lines")
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start - 1 > FUNCTION_LINES_MAX:
                report.complain(f"{where}:{start}: a function of {number - start - 1} lines")
            start = None


def check_spdx(report):
    kinds = (".c", ".h", ".def", ".py", ".sh", ".cmake", ".map", ".txt")
    for path in tree.files(*kinds, under=("src", "include", "tests", "bench", "cmake",
                                          "scripts")):
        if path.suffix == ".txt" and path.name != "CMakeLists.txt":
            continue
        report.looked_at += 1
        if SPDX not in "\n".join(path.read_text(errors="replace").split("\n")[:3]):
            report.complain(f"{tree.name(path)}: no line {SPDX}")
    for path in (*(tree.SOURCE / "scripts").iterdir(), tree.SOURCE / "Makefile",
                 tree.SOURCE / ".ci/run", tree.SOURCE / "CMakeLists.txt"):
        if path.is_file() and SPDX not in path.read_text():
            report.complain(f"{tree.name(path)}: no line {SPDX}")


def main():
    report = tree.Report()
    for path in tree.files(".c", ".h"):
        text = path.read_text()
        check_rules(report, path, text)
        check_lengths(report, path, text)
    check_spdx(report)
    report.end("files")


main()
