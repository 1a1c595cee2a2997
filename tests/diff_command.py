#!/usr/bin/env python3
"""`lamella diff` of recordings: segments, phases and units of two builds, repeats and noise, stored baselines, messages."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from record_lib import LAMELLA, check, equal, main, record  # noqa: E402

PIECE = """#include <stdio.h>
#include <string.h>
static int step_{0}(const char *text, int n) {{ int s = n; for (const char *at = text; *at; at++) {{ s = s * 31 + *at; if (s % 7 == {1}) s ^= n; }} return s; }}
int call_{0}(int n) {{ char buffer[200]; snprintf(buffer, sizeof buffer, "%d %d", n, step_{0}("{0}", n)); return (int)strlen(buffer) + step_{0}(buffer, n); }}
"""


def source(path, pieces):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(PIECE.format(i, i % 7) for i in range(pieces)))


def build(out, *flags, files=("small.c", "large.c")):
    done = record("sh", "-c", "for f in {}; do gcc {} -c $f -o $f.o || exit; done".format(" ".join(files), " ".join(flags)), out=out, options=("-q", "--rate", "2000"))
    equal(done.returncode, 0, done.stderr)


def diff(*args, code=0):
    done = subprocess.run([LAMELLA, "diff", *args], capture_output=True, text=True, check=False)
    equal(done.returncode, code, f"diff {args}: {done.stdout}{done.stderr}")
    return done


def data(*args, code=0):
    return json.loads(diff("--format", "json", *args, code=code).stdout)


def by_name(rows):
    return {row["name"]: row for row in rows}


SHARED = []  # the directory that holds the recordings, once they are made


def recordings():
    if not SHARED:
        source("small.c", 15)
        source("large.c", 60)
        SHARED.append(tempfile.mkdtemp(prefix="lamella-test-"))
        atexit.register(shutil.rmtree, SHARED[0], True)
        for name, flag in (("a1", "-O0"), ("a2", "-O0"), ("b1", "-O2"), ("b2", "-O2")):
            build(os.path.join(SHARED[0], name + ".lamella"), flag)
    for name in os.listdir(SHARED[0]):
        os.symlink(os.path.join(SHARED[0], name), name)


def test_two_builds():
    recordings()
    seen = data("a1.lamella", "b1.lamella")
    for key in ("totals", "segments", "phases", "units"):
        check(seen[key], f"{key} is not empty")
    segments, phases = by_name(seen["segments"]), by_name(seen["phases"])
    for side in ("before", "after"):
        for segment in segments:
            parts = sum(row[side]["cpu_s"] for name, row in phases.items() if name.startswith(segment + " / "))
            check(abs(parts - segments[segment][side]["cpu_s"]) < 1e-6, f"the phases of {segment} are all of it")
        whole = sum(row[side]["cpu_s"] for row in segments.values())
        check(abs(whole - by_name(seen["totals"])["all phases"][side]["amount_s"]) < 1e-6, "and the segments all of the total")
    units = by_name(seen["units"])
    check("large.c (other opt_level)" in units and "small.c (other opt_level)" in units, f"units by what they compile: {sorted(units)}")
    large = units["large.c (other opt_level)"]
    check(large["change"] > 0 and large["verdict"] == "unknown", f"-O2 takes longer, and one run is no proof: {large}")
    text = diff("a1.lamella", "b1.lamella").stdout
    order = [text.index(part) for part in ("In all", "Segments by", "Phases by", "Units by")]
    equal(order, sorted(order), "segments come first")
    check("With one run on a side" in text, text)


def test_repeats_baseline_and_limits():
    recordings()
    sides = ("a1.lamella", "a2.lamella", "--against", "b1.lamella", "b2.lamella")
    seen = data(*sides)
    large = by_name(seen["units"])["large.c (other opt_level)"]
    equal(large["verdict"], "likely_increase", f"all of one side above all of the other: {large}")
    check(large["low"] <= large["change"] <= large["high"], large)
    with open("base.json", "w", encoding="utf-8") as file:
        subprocess.run([LAMELLA, "report", "--format", "json", "a1.lamella"], stdout=file, check=True)
    stored, direct = data("base.json", "b1.lamella"), data("a1.lamella", "b1.lamella")
    for key in ("segments", "phases", "units"):
        old, new = by_name(stored[key]), by_name(direct[key])
        equal(sorted(old), sorted(new), f"{key} of a stored report are those of its recording")
        check(all(abs(old[name]["change"] - new[name]["change"]) < 1e-6 for name in new), key)
    done = diff("--fail-above", "5%", "--format", "markdown", "base.json", "b1.lamella", code=1)
    check("## Segments by what changed" in done.stdout and "failed" in done.stdout, done.stdout)
    diff("--fail-above", "5%", "b1.lamella", "base.json")
    excluded = data("--exclude", "frontend", "a1.lamella", "b1.lamella")
    check(not any(row["name"].startswith("frontend") for row in excluded["segments"] + excluded["phases"]), "a segment takes its phases along")


def test_what_cannot_be_compared():
    source("small.c", 10)
    build("a.lamella", "-O0", files=("small.c",))
    events = {"format": "lamella-report", "version": 1, "coverage": {"process_cpu_s": None}, "intervals": {"measure": "time", "self_s": 1},
              "activities": [{"kind": "Query", "label": "a", "self_s": 1, "count": 1}]}
    with open("events.json", "w", encoding="utf-8") as file:
        json.dump(events, file)
    done = diff("a.lamella", "events.json", code=1)
    check("a.lamella is a recording of samples" in done.stderr and "events.json holds the events" in done.stderr, done.stderr)
    equal(done.stderr.count("\n"), 1, "one line")
    diff("a.lamella", "no.lamella", code=1)


def test_a_failed_build_is_told():
    source("small.c", 10)
    build("a.lamella", "-O0", files=("small.c",))
    done = record("sh", "-c", "gcc -c small.c -o s.o; exit 3", out="f.lamella", options=("-q",))
    equal(done.returncode, 3, done.stderr)
    text = diff("a.lamella", "f.lamella").stdout
    check("f.lamella: the command failed" in text, text)


if __name__ == "__main__":
    if not shutil.which("gcc"):
        print("skipped: no gcc")
        sys.exit(0)
    main(globals())
