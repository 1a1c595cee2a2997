#!/usr/bin/env python3
"""`lamella page`: what is in the file, read by docs/page-data.md alone, is what `lamella report` says."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export_lib import Profdata  # noqa: E402
from page_lib import Page  # noqa: E402
from record_lib import LAMELLA, Skip, check, compile_c, equal, main, record  # noqa: E402

BURN = """
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void inner(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) static void outer(unsigned long n) { inner(n); inner(n); sink++; }
int main(int argc, char **argv) { for (int i = 0; i < 20; i++) outer(strtoul(argv[1], 0, 10)); return argc > 2 ? atoi(argv[2]) : 0; }
"""
SHARED = {}
# What a page leaves out of the report's tables: it follows from the rest.
DERIVED = {"segments": {"share"}, "phases": {"share"}}


def page(name, *args, wanted=0):
    done = subprocess.run([LAMELLA, "page", "-o", name, *args], capture_output=True, timeout=60, check=False)
    if b"built without" in done.stderr:
        raise Skip("this lamella was built without its page")
    equal(done.returncode, wanted, f"lamella page: {done.stderr.decode(errors='replace')[-400:]}")
    return done.stderr.decode(errors="replace")


def report(path):
    done = subprocess.run([LAMELLA, "report", "--format", "json", path], capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


def near(got, wanted, off):
    if isinstance(got, float) or isinstance(wanted, float):
        return (got is None) == (wanted is None) and (got is None or abs(got - wanted) <= off)
    return got == wanted


def same_rows(recording, name, rows, off, drop=()):
    """Each key of each row of a report's list is in the page's table; lists inside are tables of their own."""
    table = recording.table(name)
    equal(len(table), len(rows), f"rows of {name}")
    for got, wanted in zip(table, rows):
        for key, value in wanted.items():
            if not isinstance(value, list) and key not in drop and (key in got or value is not None):
                check(key in got, f"{name}.{key} is in the page")
                check(near(got[key], value, off), f"{name}.{key}: {got[key]!r}, wanted {value!r}")


def by_parent(recording, name):
    lists = {}
    for row in recording.table(name):
        lists.setdefault(row.pop("row"), []).append(row)
    return lists


def a_build():
    """Compilations, the last of which fails, and a program between them; recorded once."""
    if "build" in SHARED:
        shutil.copytree(SHARED["build"].name + "/r.lamella", "r.lamella")
        return
    burn = compile_c("burn", BURN)
    with open("good.c", "w", encoding="utf-8") as file:
        file.write("\n".join(f"int f{i}(int x) {{ return x * {i} + (x << {i % 7}); }}" for i in range(800)))
    with open("bad.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return nothing; }\n")
    done = record("sh", "-c", f"cc -O1 -c -o good.o good.c && {burn} 1500000 && cc -c -o bad.o bad.c", options=("--rate", "2000"))
    check(done.returncode != 0, "the build failed")
    SHARED["build"] = tempfile.TemporaryDirectory(prefix="lamella-page-")
    shutil.copytree("r.lamella", SHARED["build"].name + "/r.lamella")


def test_figures_are_those_of_the_report():
    a_build()
    said = page("p.html", "r.lamella")
    check("holds command lines" in said and "--redact" in said, "it says once what the file holds")
    wanted = report("r.lamella")
    made = Page("p.html")
    equal(len(made.recordings), 1, "recordings")
    recording = made.recordings[0]
    quantum = recording.header["spans"]["quantum_s"]
    for key in ("session", "coverage", "findings"):
        equal(recording.header[key], wanted[key], key)
    equal(len(recording.header["links"]), len(wanted["findings"]), "links")
    for name in ("segments", "phases", "roles", "units", "processes", "threads"):
        fine = 1e-12 if name in ("segments", "phases", "roles", "units") else 3 * quantum  # some are sums of three that are rounded
        same_rows(recording, name, wanted[name], fine, DERIVED.get(name, ()))
    cells, waits = by_parent(recording, "units.phases"), by_parent(recording, "units.waits")
    for i, unit in enumerate(wanted["units"]):
        def key(cell):
            return [str(cell[k]) for k in ("role", "cgu", "segment", "phase", "detail")]
        got, said = sorted(cells.get(i, []), key=key), sorted(unit["phases"], key=key)
        equal([key(c) + [c["samples"]] for c in got], [key(c) + [c["samples"]] for c in said], "cells")
        check(all(near(g["cpu_s"], s["cpu_s"], quantum) for g, s in zip(got, said)), "CPU of cells")
        check(abs(sum(c["cpu_s"] for c in got) - unit["sampled_cpu_s"]) <= quantum, "cells add up to their unit")
        equal(len(waits.get(i, [])), len(unit["waits"]), "waits")
    for i, process in enumerate(recording.column("threads", "process")):
        equal(wanted["processes"][process]["pid"], wanted["threads"][i]["pid"], "the process of a thread")
    meanings = recording.header["meanings"]
    equal(meanings["units"]["wall_s"]["unit"], "s", "columns have a unit")


def test_spans_and_stacks_hold_every_sample():
    a_build()
    page("p.html", "r.lamella")
    wanted = report("r.lamella")
    recording = Page("p.html").recordings[0]
    spans = recording.table("spans")
    equal(sum(span["samples"] for span in spans), wanted["coverage"]["samples"], "samples of spans")
    check(abs(sum(span["cpu"] for span in spans) - wanted["coverage"]["sampled_cpu_s"]) <= len(wanted["threads"]) * recording.header["spans"]["quantum_s"], "CPU of spans")
    equal(sum(recording.column("threads", "spans")), len(spans), "each span is of a thread")
    said = subprocess.run([LAMELLA, "report", "--format", "json", "--by", "span", "r.lamella"], capture_output=True, check=True, timeout=60)
    exact = json.loads(said.stdout)["phase_spans"]
    quantum = recording.header["spans"]["quantum_s"]
    at = 0
    for thread, count in zip(recording.table("threads"), recording.column("threads", "spans")):
        end = thread["start_s"]
        for span, wanted_span in zip(spans[at : at + count], exact[at : at + count]):
            end += span["gap"] + span["length"]
            check(span["length"] >= 0, "no span ends before it starts")
            check(abs(span["length"] - (wanted_span["end_s"] - wanted_span["start_s"])) <= 1.001 * quantum, "how long a span is")
            check(abs(end - wanted_span["end_s"]) <= 4 * quantum, f"where a span ends: {end}, wanted {wanted_span['end_s']}")
            equal(span["samples"], wanted_span["samples"], "samples of a span")
        at += count
        check(count == 0 or end <= wanted["session"]["elapsed_s"] + 0.01, "spans end with the session")
    about = recording.header["stacks"]
    equal(about["samples"], wanted["coverage"]["samples"], "samples of stacks")
    for name in ("stacks", "stacks_whole"):
        equal(sum(recording.column(name, "samples")), about["samples"], f"samples of {name}")
    names = {recording.column("frames", "name")[node] for node in recording.column("stacks_whole", "node")}
    check({"burn"} & set(recording.column("frames", "name")) and "inner" in names, "the hot function has its stack")
    page("small.html", "--max-stacks", "600", "r.lamella")
    small = Page("small.html").recordings[0]
    check(small.rows("frames") < recording.rows("frames"), "small branches are cut")
    equal(sum(small.column("stacks", "samples")), about["samples"], "what is cut stands above")
    told = small.header["stacks"]
    check(told["cut_samples"] > 0 and "merged into the frame above" in told["rule"], "and it says so")
    check(1 <= told["kept_depth"] < told["mean_depth"] and 1 <= told["parts_kept_depth"] < told["mean_depth"], "how deep stacks are")
    page("all.html", "--max-stacks", "0", "r.lamella")
    whole = Page("all.html").recordings[0].header["stacks"]
    equal((whole["cut_frames"], whole["cut_samples"], whole["parts_cut_samples"]), (0, 0, 0), "--max-stacks 0 cuts nothing")


def test_redacted():
    os.makedirs("very secret")
    with open("very secret/hidden.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    record("cc", "-DTOKEN=hush", "-c", "-o", "very secret/hidden.o", "very secret/hidden.c")
    said = page("p.html", "--redact", "r.lamella")
    check("are left out" in said, "it says what is not in there")
    recording = Page("p.html").recordings[0]
    text = json.dumps(recording.header) + "\n".join(recording.strings)
    for secret in ("very secret", "hush", os.getcwd(), os.uname().nodename + '"'):
        check(secret not in text, f"{secret} is not in the page")
    check("hidden.c" in text, "names of units are")
    check(recording.header["redacted"] and recording.header["session"]["command"] is None, "it is marked")


def test_little_to_show():
    burn = compile_c("burn", BURN)
    record(burn, "200000", options=("--rate", "0"), out="none.lamella")
    page("none.html", "none.lamella")
    recording = Page("none.html").recordings[0]
    check(recording.rows("spans") == 0 and "stacks" not in recording.header, "no samples, no spans and no stacks")
    equal(recording.rows("processes"), 1, "one process")
    profile = Profdata()
    profile.interval(b"typeck", 1, 0, 1000)
    profile.save("x.mm_profdata")
    page("events.html", "x.mm_profdata")
    recording = Page("events.html").recordings[0]
    check(recording.rows("activities") > 0, "a self-profile has activities")
    event = recording.table("events")[0]
    label = recording.table("labels")[event["label"]]
    equal((label["kind"], label["label"], event["thread"], event["start"], event["length"], event["depth"]), ("Query", "typeck", 0, 0.0, 0.000001, 0), "its event")
    equal(recording.header["events"]["left_out"], 0, "events that are left out")


def test_hostile_names():
    burn = compile_c("burn", BURN)
    names = ["</script><img src=x onerror=alert(1)>", "<!--<script>", "__DATA__ {{data}} \\x41", "أسماء", "\U0001f600", "x" * 200, "bell\x07esc\x1b"]
    for name in names:
        os.link(burn, name.replace("/", "|"))
    plain = ["./" + name.replace("/", "|") for name in names]
    record("sh", "-c", 'for p; do "$p" 1000; done', "sh", *plain)
    page("p.html", "r.lamella")
    os.link(burn, "plain")
    record("sh", "-c", 'for p; do "$p" 1000; done', "sh", *["./plain"] * len(names), out="plain.lamella")
    page("plain.html", "plain.lamella")
    hostile, harmless = Page("p.html"), Page("plain.html")
    equal(hostile.elements.tags, harmless.elements.tags, "the same elements as with harmless names")
    wanted = [process["exe"] for process in report("r.lamella")["processes"]]
    equal(hostile.recordings[0].column("processes", "exe"), wanted, "names, letter for letter")
    for kind, text in hostile.elements.data:
        check("<" not in text, f"no markup inside the {kind}")


def test_two_are_one_and_nothing_is_replaced():
    burn = compile_c("burn", BURN)
    record(burn, "1000000")
    page("one.html", "r.lamella")
    done = subprocess.run([LAMELLA, "page", "r.lamella"], capture_output=True, check=True, timeout=60)
    with open("one.html", "rb") as file:
        check(file.read() == done.stdout, "two pages of one recording are the same bytes, in a file and on standard output")
    check("exists" in page("one.html", "r.lamella", wanted=1), "a file that is there is kept")
    page("one.html", "--force", "r.lamella")


def test_compared():
    burn = compile_c("burn", BURN)
    for name, loops in (("a1", 200000), ("a2", 210000), ("b1", 400000), ("b2", 410000)):
        record(burn, str(loops), out=f"{name}.lamella")
    page("p.html", "--compare", "a1.lamella", "b1.lamella")
    made = Page("p.html")
    equal([r.header["set"] for r in made.recordings], [0, 1], "both recordings")
    done = subprocess.run([LAMELLA, "diff", "--format", "json", "--top", "0", "a1.lamella", "b1.lamella"], capture_output=True, check=True, timeout=60)
    equal(made.comparisons, [json.loads(done.stdout)], "what diff says")
    page("sets.html", "--compare", "a1.lamella", "a2.lamella", "--against", "b1.lamella", "b2.lamella")
    sets = Page("sets.html")
    equal(sets.comparisons[0]["repeated"], True, "sets of runs")
    lengths = {name: report(f"{name}.lamella")["session"]["elapsed_s"] for name in ("a1", "a2", "b1", "b2")}
    shorter = [min(pair, key=lengths.get) + ".lamella" for pair in (("a1", "a2"), ("b1", "b2"))]
    equal([r.header["name"] for r in sets.recordings], shorter, "of two runs the shorter one is shown")
    page("x.html", "--compare", "a1.lamella", wanted=2)
    check("not of one build" in page("x.html", "a1.lamella", "b1.lamella", wanted=1), "two builds are no page without --compare")


if __name__ == "__main__":
    main(globals())
