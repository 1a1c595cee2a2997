#!/usr/bin/env python3
"""What `lamella report --format json` prints is what docs/report-json.md says: every key, and every value's type."""

import json
import os
import re
import subprocess
import sys
import tempfile

LAMELLA = os.environ["LAMELLA"]
SRC = os.environ["LAMELLA_SRC"]
# Keys that stand only where the table is a list of its own, or only inside units.
ONLY_SOMETIMES = {("phases", "share"), ("phases", "role"), ("phases", "cgu")}


def read_document():
    """Table name → {column: type}; report key → table name; keys that stand only where there is something to say."""
    tables, parts, optional, name = {}, {}, set(), None
    with open(os.path.join(SRC, "docs", "report-json.md"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("# Tables"):
                break
            if line.startswith("## "):
                name = line[3:].strip()
                tables[name] = {}
            row = re.match(r"\| `([^`]+)` \| (.*?) \|", line)
            if row and name:
                tables[name][row[1]] = row[2]
            elif row and "](#" in row[2]:
                parts[row[1]] = re.search(r"\(#(\w+)\)", row[2])[1]
                if "only where" in row[2]:
                    optional.add(row[1])
    return tables, parts, optional


def fits(value, kind):
    if value is None:
        return True
    if kind.startswith("list"):
        return isinstance(value, list)
    if kind.startswith("integer"):
        return isinstance(value, int) and not isinstance(value, bool)
    if kind.startswith("number"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind.startswith("true"):
        return isinstance(value, bool)
    if kind.startswith("time"):
        return isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value) is not None
    return isinstance(value, str)


def check(tables, name, row, where, wrong):
    columns = tables[name]
    for key, value in row.items():
        if key not in columns:
            wrong.add(f"{where}.{key} is not in the document (table {name})")
        elif not fits(value, columns[key]):
            wrong.add(f"{where}.{key} is {value!r}, and should be: {columns[key]}")
        elif columns[key].startswith("list") and value is not None:
            for item in value:
                check(tables, re.search(r"\(#(\w+)\)", columns[key])[1], item, f"{where}.{key}", wrong)
    for key in columns:
        if key not in row and (name, key) not in ONLY_SOMETIMES:
            wrong.add(f"{where} lacks {key} of the document (table {name})")


def main():
    tables, parts, optional = read_document()
    with tempfile.TemporaryDirectory() as directory:
        recording = os.path.join(directory, "r.lamella")
        source = os.path.join(directory, "a.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n" + "".join(f"int f{i}(int x) {{ return x * {i}; }}\n" for i in range(3000)))
        command = ["sh", "-c", f"cc -O2 -c {source} -o {directory}/a.o; sleep 0.15; kill -9 $$"]
        subprocess.run([LAMELLA, "record", "-o", recording, "--", *command], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        out = subprocess.run([LAMELLA, "report", "--format", "json",
                              "--by", "unit,phase,label,span,memory,function,caller", "--around", "*", recording], stdout=subprocess.PIPE, check=True).stdout
    report = json.loads(out)
    wrong = set()
    assert report.pop("format") == "lamella-report" and report.pop("version") == 1
    for key, value in report.items():
        if key not in parts:
            wrong.add(f"{key} is not in the document")
            continue
        for row in value if isinstance(value, list) else [value]:
            check(tables, parts[key], row, key, wrong)
    for key in parts:
        if key not in report and key not in optional:
            wrong.add(f"the report lacks {key}")
    for line in sorted(wrong):
        print(line)
    filled = [key for key in ("segments", "units", "threads", "processes", "timeline", "around", "calls", "functions") if report.get(key)]
    print("with rows:", ", ".join(filled))
    sys.exit(1 if wrong or len(filled) < 8 else 0)


if __name__ == "__main__":
    main()
