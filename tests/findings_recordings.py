#!/usr/bin/env python3
"""Findings about cores, and about what a recording shows: each has a small real build in which it must appear, and others in which it
must not. Verdicts are exact, or hold however busy the machine is: shares of CPU time, programs that sleep, a machine that is
larger in the recording's words than the one at hand."""

import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from phases_builds import need, write_package  # noqa: E402
from record_lib import LAMELLA, check, compile_c, equal, main, record  # noqa: E402

OF_RECORDINGS = {"low_coverage", "short_span", "no_symbols", "no_names", "unknown", "unsampled"}

GENERATOR = """#include <stdio.h>
#include <time.h>
int main(void)
{
    unsigned long sum = 0;
    while (clock() < CLOCKS_PER_SEC * 2 / 5)
        for (int i = 0; i < 10000; i++)
            sum = sum * 31 + (unsigned long)i;
    return printf("%lu\\n", sum) < 0;
}
"""
# Linked statically, and so never sampled: it works, and sleeps for most of the time.
STILL = """#include <time.h>
#include <unistd.h>
int main(void)
{
    while (clock() < CLOCKS_PER_SEC * 3 / 4)
        ;
    return usleep(2500000);
}
"""


def findings(recording, **changes):
    """By id. changes: what the recording says of its machine, a real build on another one."""
    if changes:
        path = os.path.join(recording, "session.json")
        with open(path, encoding="utf-8") as file:
            session = json.load(file)
        session["machine"].update(changes)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(session, file)
    done = subprocess.run([LAMELLA, "report", "--format", "json", recording], capture_output=True, check=False)
    equal(done.returncode, 0, f"report: {done.stderr.decode()}")
    seen = json.loads(done.stdout)
    seen["found"] = {finding["id"]: finding["text"] for finding in seen["findings"]}
    return seen


def finds(seen, among, *wanted):
    equal(set(seen["found"]) & among, set(wanted), f"findings, of {seen['found']}")


def finds_if(seen, name, value, bound):
    """A finding that asks for a second of something: there is less of it on a faster machine. True when it is there."""
    if abs(value - bound) > 0.02 * bound:
        equal(name in seen["found"], value > bound, f"{name} for {value} of {bound}, in {seen['found']}")
    return name in seen["found"]


def says(seen, name, *words):
    for word in words:
        check(word in seen["found"].get(name, ""), f"{word!r} is in {name} of {seen['found']}")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_a_generator_and_a_program_that_waits():
    need("cc", "make", "strip")
    compile_c("gen", GENERATOR)
    compile_c("still", STILL, "-static")
    write("Makefile", "all:\n\t./gen > made.h\n")
    done = record("sh", "-c", "make -s && exec ./still", options=("--rate", "999"))
    equal(done.returncode, 0, done.stderr.decode())
    seen = findings("r.lamella", cores=2)
    finds(seen, OF_RECORDINGS, "unknown", "short_span", "unsampled")
    says(seen, "unknown", "above all in gen", "--markers")
    says(seen, "short_span", "in its last")
    says(seen, "unsampled", "still", "statically linked")
    busy_checked(seen)
    if seen["session"]["elapsed_s"] < 7:  # three quarters of a second without samples are a twentieth of two cores for so long
        says(seen, "cpu_busy", "in parts of it without samples")

    # The same without its symbols: the names are in files that are here, and the recording has no copy of them.
    shutil.copytree("r.lamella", "bare.lamella")
    os.remove("bare.lamella/symbols.lamsym")
    bare = findings("bare.lamella")
    finds(bare, OF_RECORDINGS, "no_names", "short_span", "unsampled")
    says(bare, "no_names", "symbols.lamsym")

    # And a program that never had any.
    subprocess.run(["strip", "gen"], check=True)
    done = record("make", "-s", out="stripped.lamella", options=("--rate", "999"))
    equal(done.returncode, 0, done.stderr.decode())
    stripped = findings("stripped.lamella")
    finds(stripped, OF_RECORDINGS - {"short_span"}, "no_symbols")
    says(stripped, "no_symbols", "most of them in gen", "phases are mostly missing", "-dbgsym")
    busy_checked(stripped)


def busy_checked(seen):
    """Where it depends on what else the machine does: said exactly when the figures ask for it."""
    session, coverage = seen["session"], seen["coverage"]
    if session["cpu_busy_mean"] is None or session["elapsed_s"] < 2:
        check("cpu_busy" not in seen["found"], "nothing to say")
        return
    seen_s = coverage["sampled_cpu_s"] + coverage["late_cpu_s"]
    finds_if(seen, "cpu_busy", abs(session["cpu_busy_mean"] - seen_s / session["elapsed_s"]), 0.05 * session["cores"])


def test_many_short_compilations():
    """Programs of some milliseconds at a low rate: hardly any of it is seen, and none of them stands out."""
    need("cc", "make")
    for i in range(8):
        write(f"t{i}.c", f"int t{i}(void) {{ return {i}; }}\n")
    write("Makefile", "all: " + " ".join(f"t{i}.o" for i in range(8)) + "\n%.o: %.c\n\tcc -c $<\n")
    done = record("make", "-s", options=("--rate", "29"))
    equal(done.returncode, 0, done.stderr.decode())
    seen = findings("r.lamella")
    finds(seen, (OF_RECORDINGS | {"dominant_unit", "jobserver", "feeder_limit"}) - {"short_span"}, "low_coverage")
    says(seen, "low_coverage", "Not seen: ", "--rate 4999" if "startup" not in seen["found"]["low_coverage"] else ".")


# A front end of 50 lines, and work for code generation without end: one generic function, many times.
WIDE = "pub fn work<const N: usize>(x: u64, v: &[u64], s: &mut Vec<u64>) {\n" + "".join(
    f"    let a{i} = (x.wrapping_mul({i} + N as u64) ^ v[{i} % v.len()]).rotate_left({i % 63}); if a{i} % 7 == 3 {{ s.push(a{i}); }}\n"
    for i in range(40)) + "}\n"


def wide(instances):
    return WIDE + "pub fn all(x: u64, v: &[u64], s: &mut Vec<u64>) {\n" + "".join(f"    work::<{i}>(x, v, s);\n" for i in range(instances)) + "}\n"


def test_one_job_on_a_large_machine():
    need("cargo", "rustc")
    write_package("wide", "wide", "", {"src/lib.rs": wide(1100)})
    for name in "abc":
        write_package(name, name, "", {"src/lib.rs": "pub fn f() -> u32 { 1 }\n"})
    write("Cargo.toml", '[workspace]\nresolver = "2"\nmembers = ["wide", "a", "b", "c"]\n[profile.dev]\ndebug = false\nincremental = false\n'
                        "codegen-units = 16\n")
    done = record("cargo", "build", "--offline", "-q", "-j1", timeout=240)
    equal(done.returncode, 0, done.stderr.decode())
    # On the one core that it uses there is nothing to be said of others.
    seen = findings("r.lamella", cores=1)
    finds(seen, {"feeder_limit", "idle_cores", "unknown", "no_symbols", "no_names", "short_span"})
    if finds_if(seen, "dominant_unit", seen["units"][0]["cpu_s"], 1):
        says(seen, "dominant_unit", "wide takes", "machine_code")
    # On 64 a thread with a job for each codegen unit would have had one.
    seen = findings("r.lamella", cores=64)
    elapsed_s = seen["session"]["elapsed_s"]
    waited_s = sum(wait["seconds"] for unit in seen["units"] for wait in unit["waits"] if wait["kind"] == "jobserver")
    check(waited_s > 0.3 * elapsed_s, f"threads waited for a job: {waited_s} of {elapsed_s}")
    finds(seen, {"feeder_limit"})
    if finds_if(seen, "jobserver", waited_s, 1):
        says(seen, "jobserver", "of 64 cores", "a larger -j")
    if finds_if(seen, "idle_cores", elapsed_s, 2):
        says(seen, "idle_cores", "of 64 cores", "cargo ran no more than 1 job at a time")


def test_one_thread_that_feeds_the_others():
    """rustc with more codegen units than its one thread of IR can feed. It takes more than two cores to be a limit, and workers that
    wait for none of them: it runs before all other programs where that is permitted."""
    need("rustc")
    write("wide.rs", wide(1100))
    first = ["chrt", "-f", "1"] if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True, check=False).returncode == 0 else []
    done = record(*first, "rustc", "--crate-type=lib", "--edition=2021", "--emit=llvm-bc", "--out-dir=out", "-Ccodegen-units=16", "-Cdebuginfo=2",
                  "-Cno-prepopulate-passes", "wide.rs", timeout=240)
    equal(done.returncode, 0, done.stderr.decode())
    about = {"jobserver", "feeder_limit", "dominant_unit", "unknown", "no_names", "short_span"}
    finds(findings("r.lamella", cores=2), about)  # one feeds and one works, which is all there is
    seen = findings("r.lamella", cores=64)
    unit = seen["units"][0]
    feed_s = sum(row["cpu_s"] for row in unit["phases"] if row["role"] == "serial" and row["phase"] == "ir_build")
    if unit["core_wait_s"] > 0.4 * feed_s or feed_s < 0.22 * unit["wall_s"]:
        print("      (other programs have the machine)")
    elif finds_if(seen, "feeder_limit", feed_s, 1):
        says(seen, "feeder_limit", "wide builds the IR", "of 64 cores")
    finds(seen, about - {"feeder_limit"})


if __name__ == "__main__":
    main(globals())
