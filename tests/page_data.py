#!/usr/bin/env python3
"""`lamella page`: what is in the file, read by docs/page-data.md alone, is what `lamella report` says."""

import collections
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
BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
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


LUA_PROGRAM = """
local function text(n) return #string.rep("x", n) end
local function leaf(n) local s = 0 for i = 1, n do s = s + i % 3 end return s end
local function odd(n) if n == 0 then return leaf(2000) end return even(n - 1) + leaf(10) end
function even(n) if n == 0 then return leaf(1000) end return odd(n - 1) + leaf(10) end
local co = coroutine.wrap(function() while true do coroutine.yield(even(6)) end end)
for i = 1, 60 do text(1000000) odd(7) co() end
"""
PYTHON_PROGRAM = """
import asyncio, threading, lamella
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def numbers(n):
    for i in range(n): yield fib(i)
async def fetch(i):
    await asyncio.sleep(0)
    return sum(numbers(8))
async def main(): await asyncio.gather(*[fetch(i) for i in range(9)])
with lamella.record("r.lamella"):
    thread = threading.Thread(target=lambda: fib(12))
    thread.start()
    asyncio.run(main())
    thread.join()
"""


def a_lua_program(out, *command):
    """Calls of Lua, and below `command` samples beside them."""
    plugin = os.path.join(BUILD, "plugins", "lua")
    lua = os.environ.get("LAMELLA_TEST_LUA") or shutil.which("lua5.4")
    if not lua or not os.path.exists(os.path.join(plugin, "lamella.so")):
        raise Skip("Lua or its plug-in is not there")
    with open("program.lua", "w", encoding="utf-8") as file:
        file.write(LUA_PROGRAM)
    env = {**os.environ, "LUA_CPATH": plugin + "/?.so;;", **({} if command else {"LAMELLA_OUT": out})}
    done = subprocess.run([*command, lua, "-l", "lamella", os.path.abspath("program.lua")], env=env, capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"Lua: {done.stderr.decode(errors='replace')[-400:]}")


def a_python_program():
    try:
        with open(os.path.join(BUILD, "plugins", "python", "interpreters"), encoding="utf-8") as file:
            python = file.readline().rsplit(" ", 1)[0]
    except FileNotFoundError as missing:
        raise Skip("the Python plug-in was not built") from missing
    with open("program.py", "w", encoding="utf-8") as file:
        file.write(PYTHON_PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.path.join(BUILD, "plugins", "python")}
    done = subprocess.run([python, "program.py"], env=env, capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"Python: {done.stderr.decode(errors='replace')[-400:]}")


def same_calls(path, sources):
    """Functions, callers, callees and the tree of a page are those of --around and --by path, to the nanosecond and call."""
    page("calls.html", path)
    recording = Page("calls.html").recordings[0]
    equal([about["of"] for about in recording.header["calls"]], sources, "what calls are of")
    equal([about["functions_left"] + about["pairs_left"] + about["nodes_left"] for about in recording.header["calls"]], [0] * len(sources), "what is left out")
    done = subprocess.run([LAMELLA, "report", "--format", "json", "--top", "0", "--around", "*", path], capture_output=True, check=True, timeout=60)
    said = json.loads(done.stdout)["around"]
    functions, pairs = recording.table("call_functions"), recording.table("call_pairs")
    equal(len(functions), len(said), "functions")
    rows = {(row["of"], row.get("kind"), row["function"], row.get("module")): i for i, row in enumerate(functions)}
    callers, callees = collections.defaultdict(list), collections.defaultdict(list)
    for pair in pairs:
        counts = [pair.get("count"), pair.get("samples")]
        callers[pair["callee"]].append((pair["caller"], *counts, pair["time_s"]))
        if pair["caller"] is not None:
            callees[pair["caller"]].append((pair["callee"], counts[0], pair.get("below_samples"), pair["below_s"]))
    for wanted in said:
        def row_of(one):
            return None if one["function"] is None else rows[wanted["of"], one["kind"], one["function"], one["module"]]
        row = row_of(wanted)
        for key in ("file", "line", "count", "samples", "calls_of_itself", "self_s", "time_s"):
            equal(functions[row].get(key), wanted[key], f"{wanted['function']}: {key}")
        for key, got in (("callers", callers[row]), ("callees", callees[row])):
            neighbours = [(row_of(one), one["count"], one["samples"], float(one["time_s"])) for one in wanted[key]]
            equal(sorted(map(str, got)), sorted(map(str, neighbours)), f"{key} of {wanted['function']}")
            equal(functions[row][key], len(neighbours), f"how many {key}")
    return recording


def same_tree(recording):
    """Self times and calls of the tree's nodes add up to those of their functions, totals hold what is below."""
    functions, sums, above = recording.table("call_functions"), collections.Counter(), [None]
    for node in recording.table("call_tree"):
        check(1 <= node["depth"] <= len(above), "preorder")
        del above[node["depth"] :]
        above.append([node["time_s"] - node["self_s"]])
        if node["depth"] > 1:
            above[-2][0] -= node["time_s"]
        check(above[-1][0] > -1e-9, "no node has less than what is in it")
        sums[node["function"], "self"] += node["self_s"]
        sums[node["function"], "count"] += node.get("count") or 0
    for row, function in enumerate(functions):
        if (row, "self") in sums or function["of"] == "events":
            check(abs(sums[row, "self"] - function["self_s"]) < 1e-9, f"the tree has all of {function['function']}")
            check(sums[row, "count"] <= (function.get("count") or 0), "and no call too many")


def test_calls_of_lua():
    a_lua_program("r.lamella")
    recording = same_calls("r.lamella", ["events"])
    same_tree(recording)
    names = {row["function"].split(" (")[0] for row in recording.table("call_functions")}
    check({"even", "odd", "leaf", "text", "string.rep"} <= names, names)
    on = collections.defaultdict(set)
    for track, label in zip(recording.column("events", "track"), recording.column("events", "label")):
        on[recording.column("event_tracks", "name")[track]].add(recording.column("labels", "label")[label].split(" (")[0])
    coroutine, = (name for name in on if name != "main")
    check(on[coroutine] == {"even", "odd", "leaf", "coroutine.yield", coroutine.split(" (")[0]}, f"calls of the coroutine: {on}")
    check({"main chunk", "text", "odd"} <= on["main"], f"calls of the main one: {on}")
    page("redacted.html", "--redact", "r.lamella")
    redacted = Page("redacted.html").recordings[0]
    check(os.getcwd() in "".join(recording.strings), "the script was called by its whole path")
    check(os.getcwd() not in "".join(redacted.strings) and any("(program.lua:" in text for text in redacted.strings), "a shared page does not say where it lay")


def test_calls_of_python():
    a_python_program()
    same_tree(same_calls("r.lamella", ["events"]))


def test_calls_with_samples():
    a_lua_program("r.lamella", LAMELLA, "record", "--rate", "2000", "-o", "r.lamella", "--")
    recording = same_calls("r.lamella", ["events", "samples"])
    same_tree(recording)
    below = [row["module"] for row in recording.table("call_functions") if row["of"] == "samples"]
    check(None in below and any(below), "functions of the script and of C in one table")


def test_calls_of_samples_alone():
    record(compile_c("burn", BURN), "2000000", options=("--rate", "2000"))
    recording = same_calls("r.lamella", ["samples"])
    equal(recording.rows("call_tree"), 0, "its stacks are those with threads and times")


def test_many_functions():
    """50,000: a page keeps those with most time, of each its largest callers, and says what is left out."""
    profile = Profdata()
    at = 0
    for i in range(50000):
        profile.interval(b"inner %d" % (i // 2), 1, at + 10, at + 90 + i % 7)
        profile.interval(b"outer %d" % i, 1, at, at + 100 + i % 1000)
        at += 2000
    profile.save("x.mm_profdata")
    page("p.html", "x.mm_profdata")
    recording = Page("p.html").recordings[0]
    about, = recording.header["calls"]
    equal((about["functions"], about["functions_left"]), (2000, 73000), "functions")
    check(about["pairs"] <= 6000 and recording.rows("call_pairs") == about["pairs"], "pairs are bounded")
    check(0 < about["nodes"] <= 4000, "and so is the tree")
    equal((recording.rows("activities"), recording.header["activities_left"]["rows"]), (3000, 72000), "activities")
    kept = sum(recording.column("activities", "self_s")) + recording.header["activities_left"]["self_s"]
    check(abs(kept - recording.header["intervals"]["self_s"]) < 1e-9, "what is left out is counted")
    check(os.path.getsize("p.html") < 1500000, f"the page has {os.path.getsize('p.html')} bytes")


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
