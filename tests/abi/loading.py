# SPDX-License-Identifier: BSD-2-Clause
"""Every installed file that needs one of the three libraries binds all its symbols to
ours at once, as BIND_NOW has it (spec/userland 1.1): programs, libraries, modules."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))
import elf

FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
           "/usr/lib/python3/dist-packages", "/usr/lib64", "/usr/libexec", "/usr/lib/ibacm")
# A name of theirs; a module of Python has undefined names of other kinds.
THEIRS = re.compile(r"_?_?(ibv_|verbs_|rdma_|umad_|mbps_to_|mult_to_|execute_ioctl|ioctl_final|"
                    r"r(socket|bind|listen|accept|connect|poll|select|read|write|send|recv)\b)")
# What a machine with the packages of ours has at least.
EXPECTED = ("mckey", "udaddy", "rping", "ibv_devinfo", "ibv_ud_pingpong", "ib_send_bw",
            "ibstat", "libosmvendor.so", "librspreload.so", "device.cpython")
PACKAGES = ("rdmacm-utils", "ibverbs-utils", "perftest", "infiniband-diags", "opensm",
            "librdmacm1", "python3-pyverbs")


def is_elf(path):
    try:
        with open(path, "rb") as f:
            return f.read(4) == b"\x7fELF"
    except OSError:
        return False


def mentions_one(path):
    """Cheap: whether the bytes of one of the sonames are in the file."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError:
        return False
    return any(soname.encode() in data for soname in elf.SONAMES)


def clients():
    """Files that name one of the libraries as needed; each once, whatever its links."""
    seen = set()
    for folder in FOLDERS:
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.realpath(os.path.join(root, name))
                if path in seen or not os.path.isfile(path) or not is_elf(path):
                    continue
                seen.add(path)
                if mentions_one(path) and set(elf.needed(path)) & set(elf.SONAMES):
                    yield path


def bind(path):
    """What the loader says when it must bind everything to ours."""
    environment = {**os.environ, "LC_ALL": "C", "LD_BIND_NOW": "1",
                   "LD_LIBRARY_PATH": str(elf.OURS)}
    done = subprocess.run(["ldd", "-r", path], capture_output=True, text=True,
                          env=environment)
    return done.stdout + done.stderr


def complaints(path, said):
    for line in said.split("\n"):
        undefined = re.search(r"undefined symbol: (\S+?),?\s", line + " ")
        if undefined and THEIRS.match(undefined.group(1)):
            yield line.strip()
        elif re.search(r"version .* not found", line) and any(s in line for s in elf.SONAMES):
            yield line.strip()
        elif re.search(r"size mismatch|copy relocation|no version information", line):
            yield line.strip()
        found = re.match(r"\s*(\S+) => (\S+)", line)
        if found and found.group(1) in elf.SONAMES and \
           not found.group(2).startswith(str(elf.OURS)):
            yield f"{found.group(1)} is taken from {found.group(2)}"


def expected_ones(report, seen):
    """So that a search that finds nothing does not pass."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *PACKAGES],
                          capture_output=True, text=True)
    if done.stdout.count("install ok installed") < len(PACKAGES):
        print("not all of", " ".join(PACKAGES), "are installed")
        return
    for name in EXPECTED:
        report.check(any(os.path.basename(path).startswith(name) for path in seen),
                     f"{name} was not looked at")


def main():
    report = elf.Report()
    seen = []
    for path in clients():
        seen.append(path)
        said = bind(path)
        for complaint in complaints(path, said):
            report.check(False, f"{path}: {complaint}")
        report.check("=>" in said, f"{path}: ldd said {said.strip()}")
    expected_ones(report, seen)
    print("\n".join(seen))
    report.end("files bound")


main()
