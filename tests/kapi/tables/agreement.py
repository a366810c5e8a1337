#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""agreement.py KAPI-DIR SOURCE-DIR OUTPUT: write the tables of agreement_test.c.

The kernel's headers in include/kapi are written by hand, and so are the core's and those of
the wire; users have rdma-core's. What two of them call the same is the same, or it is named
below with the reason why not. Found by name, so that what is added is compared, too.
"""
import os
import re
import sys

KAPI = ["rdma/ib_addr.h", "rdma/ib_cache.h", "rdma/ib_mad.h", "rdma/ib_sa.h",
        "rdma/rdma_cm.h", "rdma/verbs"]
CORE = ["core/verbs/ib_verbs.h", "core/mad/ib_mad.h", "core/sa/ib_sa.h", "core/cm/cma.h",
        "wire/gid.h", "wire/mad.h", "wire/sa.h"]
USER = ["/usr/include/infiniband/verbs.h", "/usr/include/infiniband/sa.h",
        "/usr/include/rdma/rdma_cma.h", "/usr/include/rdma/ib_user_ioctl_verbs.h",
        "/usr/include/rdma/ib_user_verbs.h"]

# What differs is verified to: none stays here for longer than it is true.
OTHER_CONSTANTS = {
    # Users have no WITH_INVALIDATE there.
    "IB_WC_IP_CSUM_OK": "IBV_WC_IP_CSUM_OK",
}
# The core's are of another kind, and src/kapi translates them one by one.
OTHER_MEMBERS = {
    "ib_client.node",  # a number; the core's own object
    "ib_device.ops",
    "ib_device.node_type",
    "ib_device_attr.fw_ver",  # a number; the text that users see
    "ib_device_attr.device_cap_flags",
    "ib_port_attr.lid", "ib_port_attr.sm_lid",  # room for those of OPA
    "ib_qp_attr.cap", "ib_qp_init_attr.cap",  # with max_rdma_ctxs
    "ib_qp_attr.ah_attr", "ib_qp_attr.alt_ah_attr", "rdma_ah_attr.grh",  # with sgid_attr
    "ib_sa_multicast.rec",  # aligned to 8 bytes, since GIDs are
}
# What is passed on as memory.
ONE_LAYOUT = {"ib_gid", "ib_sa_mcmember_rec", "sa_service_rec"}
# The kernel's name, and the same thing elsewhere under another one.
RENAMED = [
    ("SA_MCM_", "IB_SA_MCMEMBER_REC_", {"TCLASS": "TRAFFIC_CLASS",
                                        "LIFETIME_SELECTOR": "PACKET_LIFE_TIME_SELECTOR",
                                        "LIFETIME": "PACKET_LIFE_TIME"}),
    ("SA_PR_", "IB_SA_PATH_REC_", {"TCLASS": "TRAFFIC_CLASS", "RAW": "RAW_TRAFFIC",
                                   "LIFE_SELECTOR": "PACKET_LIFE_TIME_SELECTOR",
                                   "LIFE": "PACKET_LIFE_TIME"}),
]


def read(path):
    if os.path.isdir(path):
        return "\n".join(read(os.path.join(path, n)) for n in sorted(os.listdir(path)))
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return text.replace("\\\n", " ")


def constants(text):
    """Enumerators, and macros that are numbers."""
    names = set()
    for body in re.findall(r"\benum\b[^{};]*\{([^}]*)\}", text):
        body = re.sub(r"^\s*#.*$", "", body, flags=re.M)
        names.update(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)\s*(?=[=,]|$)",
                                body.strip().rstrip(",")))
    for name, value in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*)$", text,
                                  flags=re.M):
        if re.fullmatch(r"[\w\s()|<+*-]+", value) and not re.match(r"[a-z_]", value):
            names.add(name)
        elif re.fullmatch(r"(\(?[A-Z_]+_COMP_MASK\(\d+\)[ |)]*)+|BIT\(\d+\)", value.strip()):
            names.add(name)
    return names


def members(text):
    """{struct: [member...]}, of the outermost braces; bit fields have no size."""
    found = {}
    for match in re.finditer(r"\b(?:struct|union)\s+(\w+)\s*\{", text):
        depth, at, body = 1, match.end(), ""
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 1 and text[at] != "}":
                body += text[at]
            at += 1
        names = []
        for line in body.split(";"):
            if ":" in line:
                continue
            function = re.search(r"\(\s*\*\s*(\w+)\s*\)", line)
            if function:
                names.append(function.group(1))
                continue
            names += re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?=,|$)", line.strip())
        found.setdefault(match.group(1), names)
    return found


def core_name(name):
    return "core_" + name if re.match(r"(ib|IB|rdma|RDMA|sa|SA)_", name) else name


def user_names(name):
    """What rdma-core calls it."""
    if name.startswith("IB_"):
        return ["IBV_" + name[3:], "IB_UVERBS_" + name[3:]]
    return [name]


def rows_of_constants(kapi, core, user):
    for name in sorted(kapi):
        if name in core and core_name(name) != name:
            yield name, core_name(name)
        for other in user_names(name):
            # A name that is spelled alike is one definition for both.
            if other in user and other != name:
                yield name, other
    for mine, theirs, words in RENAMED:
        for name in sorted(core):
            if name.startswith(mine):
                word = name[len(mine):]
                kernel = theirs + words.get(word, word)
                yield f"be64_to_cpu({kernel})", core_name(name)


def rows_of_members(kapi, core):
    for struct in sorted(set(kapi) & set(core)):
        if core_name(struct) == struct:
            continue
        for member in kapi[struct]:
            if member in core[struct]:
                yield struct, member


def main():
    kapi_dir, source_dir, output = sys.argv[1:]
    kapi = "\n".join(read(os.path.join(kapi_dir, n)) for n in KAPI)
    core = "\n".join(read(os.path.join(source_dir, n)) for n in CORE)
    user = "\n".join(read(n) for n in USER if os.path.exists(n))
    lines = ["static const struct same_constant constants[] = {"]
    for mine, other in rows_of_constants(constants(kapi), constants(core), constants(user)):
        differs = int(OTHER_CONSTANTS.get(mine) == other)
        lines.append(f'\t{{ "{mine}", "{other}", (long long)({mine}), '
                     f"(long long)({other}), {differs} }},")
    lines += ["};", "static const struct same_member members[] = {"]
    for struct, member in rows_of_members(members(kapi), members(core)):
        differs = int(f"{struct}.{member}" in OTHER_MEMBERS)
        kind = "union" if struct == "ib_gid" else "struct"
        offsets = (f"offsetof({kind} {struct}, {member}), "
                   f"offsetof({kind} {core_name(struct)}, {core_name(member)})")
        lines.append(f'\t{{ "{struct}.{member}", '
                     f"sizeof((({kind} {struct} *)0)->{member}), "
                     f"sizeof((({kind} {core_name(struct)} *)0)->{core_name(member)}), "
                     f"{offsets if struct in ONE_LAYOUT else '0, 0'}, {differs} }},")
    lines.append("};")
    with open(output, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


main()
