#!/usr/bin/env python3
"""`lamella probe`: the breakdown, the stacks behind a bucket, proposals that do what they say, and messages."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from record_lib import LAMELLA, check, compile_c, equal, main, record  # noqa: E402

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) unsigned long crunch(unsigned long n) { unsigned long s = 0; for (unsigned long i = 0; i < n; i++) s = s * 31 + (i ^ s); return s; }
__attribute__((noinline)) unsigned long heavy_step(unsigned long n) { return crunch(n) + 1; }
__attribute__((noinline)) unsigned long work(int argc) { return heavy_step(150000000ul + argc) + 1; }
int main(int argc, char **argv) { (void)argv; printf("%lu\\n", work(argc)); return 0; }
"""


def probe(*args, code=0):
    done = subprocess.run([LAMELLA, "probe", *args], capture_output=True, text=True, check=False)
    equal(done.returncode, code, f"probe {args}: {done.stderr}")
    return done


def data(*args):
    return json.loads(probe("--format", "json", *args).stdout)


def samples(seen, segment, phase=None):
    return sum(row["samples"] for row in seen["breakdown"] if row["segment"] == segment and phase in (None, row["phase"]))


def recording():
    program = compile_c("burner", PROGRAM)
    done = record(program, options=("--rate", "2000"))
    equal(done.returncode, 0, f"record: {done.stderr.decode()}")
    return program


def test_breakdown_and_stacks():
    recording()
    seen = data("r.lamella")
    equal(seen["format"], "lamella-probe", "format")
    check(samples(seen, "unknown") >= 20, f"no marker knows the program: {seen['breakdown']}")
    total = sum(row["cpu_s"] for row in seen["breakdown"])
    check(abs(total - seen["quality"]["cpu_s"]) < 1e-6, "the rows add up to the whole")
    equal(sum(row["samples"] for row in seen["roles"]), sum(row["samples"] for row in seen["breakdown"]), "roles and buckets agree")

    stacks = data("--bucket", "unknown", "--depth", "3", "--top", "1", "r.lamella")["stacks"]
    equal(len(stacks), 1, "stacks shown")
    equal(stacks[0]["frames"][:2], ["crunch", "heavy_step"], "innermost first")
    equal(len(stacks[0]["frames"]), 3, "as deep as was asked for")
    equal(stacks[0]["decided_by"], None, "no marker decided")

    text = probe("--bucket", "unknown/unattributed/-", "r.lamella").stdout
    check("crunch" in text and "decided by no marker" in text, text)
    text = probe("r.lamella").stdout
    for part in ("Breakdown", "unattributed", "What the markers say", "Stacks by thread role", "peak threads 1", "serial tail"):
        check(part in text, f"{part!r} in {text}")
    told = seen["recording"]
    check(told["peak_threads"] == 1 and told["serial_tail_s"] > 0 and told["lost_samples"] == 0, told)
    check(0 < told["sampled_cpu_s"] <= told["process_cpu_s"] * 1.01 and told["sampled_span_s"] <= told["elapsed_s"], told)
    check("no sample is in this bucket" in probe("--bucket", "backend", "r.lamella").stderr, "an empty bucket is said")


def test_proposals_do_what_they_say():
    program = recording()
    proposed = probe("--suggest", "r.lamella").stdout
    check(f"module={program}" in proposed, f"the program gets a role line: {proposed}")
    with open("my.markers", "w", encoding="utf-8") as file:
        file.write(proposed)
    seen = data("--markers", "my.markers", "r.lamella")
    equal(samples(seen, "unknown"), 0, "nothing is unknown with the proposals")
    check(samples(seen, "process", "program") >= 20, f"it is a program: {seen['breakdown']}")


def test_a_marker_decides_and_is_named():
    recording()
    with open("my.markers", "w", encoding="utf-8") as file:
        file.write("innermost heavy_step backend optimize -\ndetail crunch backend optimize loops\noutermost work backend lto -\n")
    stacks = data("--markers", "my.markers", "--bucket", "backend/optimize", "r.lamella")["stacks"]
    check("heavy_step (my.markers:1)" in stacks[0]["decided_by"], f"decided by: {stacks[0]}")
    check("work (my.markers:3)" in stacks[0]["runner_up"], f"next best: {stacks[0]}")
    check("crunch (my.markers:2)" in stacks[0]["detail_by"], f"detail by: {stacks[0]}")
    equal(stacks[0]["frames"][:3], ["crunch", "heavy_step", "work"], "the decider, what it called and what called it")
    check(data("--markers", "my.markers", "--process", "nothing such", "r.lamella")["breakdown"] == [], "other programs are left out")


def test_messages():
    recording()
    for bucket in ("front", "backend/", "backend/optimize/loops/x", ""):
        done = probe("--bucket", bucket, "r.lamella", code=2)
        check("bucket" in done.stderr and done.stderr.count("\n") <= 2, done.stderr)
    said = probe("nowhere.lamella", code=1).stderr
    check("No such file" in said and said.count("\n") == 1, f"a recording that is not there: {said}")
    probe("--top", "x", "r.lamella", code=2)
    with open("bad.markers", "w", encoding="utf-8") as file:
        file.write("innermost\n")
    check("bad.markers:1" in probe("--markers", "bad.markers", "r.lamella", code=1).stderr, "a marker file's error has its place")
    check("--suggest" in probe("--help").stdout, "help")


if __name__ == "__main__":
    main(globals())
