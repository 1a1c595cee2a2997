#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""The rows that src/unwind decodes agree with `readelf -wF` of binutils, on libraries of this machine."""
import glob
import os
import re
import subprocess
import sys

BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
PROGRAM = os.path.join(BUILD, "unit", "unwind_table_test")
FILES = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/x86_64-linux-gnu/libgcc_s.so.1",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/readelf",
    "/usr/aarch64-linux-gnu/lib/libc.so.6",
    "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
] + glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*/cc1") + glob.glob(
    os.path.expanduser("~/.rustup/toolchains/stable-*/lib/rustlib/*/bin/rust-lld"))

X86 = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra".split()
MOST_DIFFERENCES = 10


def column(name, aarch64, ra):
    if name == "ra":
        return ra
    if aarch64:
        return 31 if name == "sp" else int(name[1:]) if re.fullmatch(r"x\d+", name) else None
    return X86.index(name) if name in X86 else None


def cfa_rule(text, aarch64):
    if text == "exp":
        return text
    name, sign, offset = re.fullmatch(r"(\w+)([+-])(\d+)", text).groups()
    return f"{column(name, aarch64, 16)}{sign}{offset}"


def read_rows(path, aarch64):
    """readelf's frame descriptions: (begin, end) -> {address: (cfa, {column: rule})}."""
    out = subprocess.run(["readelf", "-wFN", path], capture_output=True, text=True, check=True).stdout
    fdes, cies, rows, names, last_cie, ra = {}, {}, None, [], None, 16
    for line in out.splitlines():
        fields = line.split()
        match = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE) (.*)", line)
        if match:
            rows = {}
            if match[2] == "CIE":
                ra = int(re.search(r"ra=(\d+)", match[3])[1])
                last_cie = int(match[1], 16)
                cies[last_cie] = (rows, ra)
            else:
                cie = int(re.search(r"cie=([0-9a-f]+)", match[3])[1], 16)
                begin, end = re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", match[3]).groups()
                ra = cies[cie][1]
                fdes[(int(begin, 16), int(end, 16))] = (rows, cies[cie][0])
        elif fields[:1] == ["LOC"]:
            names = fields[2:]
        elif rows is not None and len(fields) > 1 and re.fullmatch(r"[0-9a-f]{16}", fields[0]):
            columns = {}
            # a register is printed as "r9 (r9)"
            rules = [field for field in fields[2:] if not field.startswith("(")]
            for name, rule in zip(names, rules):
                number = column(name, aarch64, ra)
                if number is not None and rule != "u":
                    columns[number] = rule
            rows[int(fields[0], 16)] = (cfa_rule(fields[1], aarch64), columns)
    result = {}
    for (begin, end), (rows, cie_rows) in fdes.items():
        if not rows and cie_rows:  # nothing but what the common part says
            rows = {begin: list(cie_rows.values())[-1]}
        result[(begin, end)] = rows
    return result


def own_rows(path):
    out = subprocess.run([PROGRAM, "--rows", path], capture_output=True, text=True, check=True).stdout
    fdes, rows = {}, None
    for line in out.splitlines():
        fields = line.split()
        if fields[0] == "fde":
            rows = fdes.setdefault((int(fields[1], 16), int(fields[2], 16)), {})
            continue
        columns = dict(field.split(":", 1) for field in fields[2:])
        rows[int(fields[0], 16)] = (fields[1], {int(k): v for k, v in columns.items() if v != "u"})
    return fdes


def at(rows, address):
    return rows[max(begin for begin in rows if begin <= address)]


def compare(path):
    with open(path, "rb") as file:
        aarch64 = file.read(20)[18] == 183
    theirs, ours = read_rows(path, aarch64), own_rows(path)
    different = set(theirs) ^ set(ours)
    messages = [f"{path}: only one knows {begin:x}..{end:x}" for begin, end in sorted(different)]
    checked = 0
    for key in set(theirs) & set(ours):
        for address in set(theirs[key]) | set(ours[key]):
            if not key[0] <= address < key[1]:
                continue
            checked += 1
            expected, got = at(theirs[key], address), at(ours[key], address)
            if expected != got:
                messages.append(f"{path}: {address:x}: readelf {expected}, lamella {got}")
    print(f"{path}: {len(ours)} descriptions, {checked} addresses, {len(messages)} differences")
    for message in messages[:MOST_DIFFERENCES]:
        print(message, file=sys.stderr)
    return checked, len(messages)


def main():
    files = [path for path in FILES if os.path.exists(path)]
    results = [compare(path) for path in files]
    checked = sum(result[0] for result in results)
    assert checked > 20000, f"only {checked} addresses were compared"
    sys.exit(any(result[1] for result in results))


main()
