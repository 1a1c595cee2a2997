"""lamella report: what it says of a recording of C compilations, in every format, and how it fails."""
# ctest: TIMEOUT 300

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
#define F(n) int f##n(int *v, int k) { int s = 0; for (int i = 0; i < k; i++) { s += v[i] * n; if (s % 3 == n) s ^= i; \
    qsort(v, (size_t)k, sizeof *v, compare); printf("%d %s\n", s, strerror(i)); } return s; }
#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
T(1) T(2) T(3) T(4) T(5) T(6) T(7) T(8) T(9) T(10) T(11) T(12)
"""


def recorded():
    """One recording for all tests: two compilations by gcc, one of them optimized."""
    path = os.path.join(os.environ["REPORT_DIR"], "r.lamella")
    if not os.path.exists(path):
        directory = os.path.dirname(path)
        with open(os.path.join(directory, "a file.c"), "w") as file:
            file.write(SOURCE)
        done = record("sh", "-c", "gcc -O2 -c 'a file.c' -o a.o && gcc -g -c 'a file.c' -o b.o && true", out=path,
                      options=["--rate", "2000"], cwd=directory)
        equal(done.returncode, 0, f"recording {done.stderr}")
    return path


def report(*arguments, **kwargs):
    return subprocess.run([LAMELLA, "report", *arguments], capture_output=True, **kwargs)


def good(*arguments, **kwargs):
    done = report(*arguments, **kwargs)
    equal(done.returncode, 0, f"exit code of report {arguments}: {done.stderr}")
    equal(done.stderr, b"", "stderr")
    return done.stdout.decode()


def test_text():
    text = good(recorded())
    for wanted in ("wall ", "CPU ", "coverage ", "Where the CPU time went", "frontend", "Units by CPU", "a file.c", "assemble a.o"):
        check(wanted in text, f"'{wanted}' is in\n{text}")
    check("\x1b" not in text, "no colour into a pipe")


def test_lines_of_functions():
    """Where debug information is, a function is told with its source and the line where most of its time was."""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "spin.c"), "w") as file:
            file.write("__attribute__((noinline)) long spin(long n)\n{\n    volatile long sum = 0;\n    while (n-- > 0) sum += n;\n    return sum;\n}\n"
                       "int main(void)\n{\n    return spin(300000000) == 1;\n}\n")
        subprocess.run(["gcc", "-g", "-O0", "spin.c", "-o", "spin"], cwd=directory, check=True)
        path = os.path.join(directory, "s.lamella")
        equal(record("./spin", out=path, cwd=directory).returncode, 0, "recorded")
        for function, line in ("spin", 4), ("main", 9):
            row, = json.loads(good("--format", "json", "--around", function, path))["around"]
            equal((os.path.basename(row["file"]), row["line"]), ("spin.c", line), function)
            check(f"spin.c, most of it at line {line}" in good("--around", function, path), "text")


def test_json():
    data = json.loads(good("--format", "json", recorded()))
    for key in ("session", "segments", "phases", "units", "activities", "threads", "processes", "timeline", "coverage", "findings"):
        check(key in data, f"key {key}")
    coverage = data["coverage"]
    parts = sum(coverage[name] for name in ("sampled_cpu_s", "late_cpu_s", "startup_cpu_s", "tail_cpu_s", "unsampled_cpu_s",
                                            "unaccounted_cpu_s"))
    check(abs(parts - coverage["process_cpu_s"]) < 0.01 * coverage["process_cpu_s"], f"parts of the charge: {coverage}")
    total = sum(segment["cpu_s"] for segment in data["segments"])
    check(abs(total - coverage["sampled_cpu_s"]) < 1e-6, "segments add up")
    check(abs(sum(phase["cpu_s"] for phase in data["phases"]) - total) < 1e-6, "phases add up")
    check(abs(sum(role["cpu_s"] for role in data["roles"]) - total) < 1e-6, "roles add up")
    samples = sum(process["samples"] for process in data["processes"])
    equal(samples, coverage["samples"], "samples of the processes")
    equal(sum(thread["samples"] for thread in data["threads"]), samples, "samples of the threads")
    equal(data["session"]["exit_code"], 0, "exit code")
    compilations = [unit for unit in data["units"] if unit["kind"] == "compile"]
    equal(len(compilations), 2, "compilations")
    for unit in compilations:
        equal(unit["unit"], "a file.c", "name")
        equal(unit["language"], "c", "language")
        check(unit["cpu_s"] > 0 and unit["wall_s"] > 0 and unit["max_rss_bytes"] > 1000000, f"measured: {unit}")
        check(abs(sum(row["cpu_s"] for row in unit["phases"]) - unit["sampled_cpu_s"]) < 1e-6, "phases of a unit add up")
    equal(sorted(unit["opt_level"] for unit in compilations), ["0", "2"], "levels of optimization")
    equal(sum(unit["kind"] == "assemble" for unit in data["units"]), 2, "assemblers")
    for process in data["processes"]:
        check(process["sampled"] or process["why_not"], f"a reason for {process}")


def test_markdown():
    text = good("--format=markdown", recorded())
    check(text.startswith("# Lamella report\n"), text)
    check("| a file.c" in text, text)


def test_choice():
    text = good("--by", "role", recorded())
    check("By thread role" in text and "Units by CPU" not in text, text)
    text = good("--unit", "a file.c", recorded())
    check("assemble a.o" not in text and "threads' time" in text, text)
    text = good("--top", "1", recorded())
    check(" more, " in text, text)
    data = json.loads(good("--format", "json", "--unit", "assemble*", recorded()))
    check(data["units"] and all(unit["kind"] == "assemble" for unit in data["units"]), "units chosen")


def test_tables_of_events_are_missed():
    for table in ("path", "label", "kind", "argument", "thread"):
        for form in ("text", "markdown"):
            done = report("--by", table, "--format", form, recorded())
            equal(done.returncode, 0, f"exit code: {done.stderr}")
            equal(done.stderr.count(b"\n"), 1, f"lines of {done.stderr}")
            check(f"no table by {table}".encode() in done.stderr, f"{form}: {done.stderr}")
    good("--by", "function", recorded())


def test_spans_and_memory():
    data = json.loads(good("--format", "json", "--by", "unit,span,memory", recorded()))
    spans, totals = {}, {}
    for span in data["phase_spans"]:
        check(span["start_s"] <= span["end_s"] and span["gap_s"] >= 0.01, span)
        key = (span["pid"], span["unit"], span["role"], span["cgu"], span["segment"], span["phase"])
        held = spans.setdefault(key, [0, 0])
        held[0] += span["samples"]
        held[1] += span["cpu_s"]
    for unit in data["units"]:
        for row in unit["phases"]:
            held = totals.setdefault((unit["pid"], unit["unit"], row["role"], row["cgu"], row["segment"], row["phase"]), [0, 0])
            held[0] += row["samples"]
            held[1] += row["cpu_s"]
    check(totals and data["phase_spans"], "there are units and spans")
    for key, (samples, cpu_s) in totals.items():
        equal(spans[key][0], samples, f"samples over the spans of {key}")
        check(abs(spans[key][1] - cpu_s) < 1e-6, f"CPU time over the spans of {key}")
    equal(sum(held[0] for held in spans.values()), data["coverage"]["samples"], "all samples are in spans")
    peak = data["memory_peak"]
    check(peak["holders"] and peak["anon_bytes"] > 0, f"somebody held memory: {peak}")
    check(all(reading["rss_bytes"] >= reading["anon_bytes"] for reading in data["memory"]), "own memory is a part of the whole")
    text = good("--by", "unit,span,memory", "--top", "2", recorded())
    check("Longest stretches" in text and "Memory at its most" in text and " more (--top 0" in text, text)
    text = good("--by", "span,memory", "--format", "markdown", recorded())
    check("## Longest stretches" in text and "## Memory at its most" in text, text)


def test_markers_of_the_user():
    with open("my.markers", "w") as file:
        file.write("# all of the compiler\nrole process frontend everything - module=*/cc1\n"
                   "innermost toplev::main frontend everything -\n")
    text = good("--markers", "my.markers", "--by", "phase", recorded())
    check("everything" in text, text)
    with open("bad.markers", "w") as file:
        file.write("\ninnermost a nowhere b -\n")
    done = report("--markers", "bad.markers", recorded())
    equal(done.returncode, 1, "exit code")
    check(b"bad.markers:2: no such segment" in done.stderr and done.stderr.count(b"\n") == 1, done.stderr)


def test_failures():
    for arguments, code, message in (
            (["/nonexistent"], 1, b"/nonexistent"),
            (["--unit", "nobody", recorded()], 1, b"no unit is called 'nobody'"),
            (["--markers", "/nonexistent.markers", recorded()], 1, b"/nonexistent.markers"),
            (["--format", "yaml", recorded()], 2, b"--format"),
            (["--by", "colour", recorded()], 2, b"--by"),
            (["--top", "-1", recorded()], 2, b"--top"),
            ([], 2, b"INPUT")):
        done = report(*arguments)
        equal(done.returncode, code, f"exit code of {arguments}: {done.stderr}")
        check(message in done.stderr, f"{arguments}: {done.stderr}")
        equal(done.stderr.count(b"\n"), 1, f"lines of {done.stderr}")
        equal(done.stdout, b"", "stdout")


def test_a_full_output_is_a_failure():
    with open("/dev/full", "w") as full:
        for options in ([], ["--format", "json"]):
            done = subprocess.run([LAMELLA, "report", *options, recorded()], stdout=full, stderr=subprocess.PIPE)
            equal(done.returncode, 1, "exit code")
            check(done.stderr.startswith(b"lamella: "), done.stderr)


def test_without_the_sidecar():
    import shutil
    shutil.copytree(recorded(), "bare.lamella")
    for name in os.listdir("bare.lamella"):
        if name.endswith(".lamsym"):
            os.unlink(os.path.join("bare.lamella", name))
    data = json.loads(good("--format", "json", "bare.lamella"))
    equal(len([unit for unit in data["units"] if unit["kind"] == "compile"]), 2, "units")
    check(data["coverage"]["unresolved_frames"] == data["coverage"]["frames"], "no frame has a name")


def test_help():
    text = good("--help")
    check("lamella report" in text and "--markers" in text, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        os.environ["REPORT_DIR"] = directory
        main(globals())
