"""Profiles that an interpreter makes of the program it runs, as rustc's MIR interpreter does (-Zmiri-measureme): each function is a kind of
its own, stacks are deep, and several threads of the program run in turns on one thread of the interpreter's."""

import collections
import json
import shutil
import subprocess

from export_lib import Profdata, strict_json
from record_lib import LAMELLA, Skip, check, equal, main

PROGRAM = """
use std::thread;
fn text(n: u32) -> usize { n.to_string().len() }
fn loops(n: u32) -> usize { (0..n).map(text).sum() }
fn main() {
    let other = thread::spawn(|| loops(20));
    let mine = loops(10);
    println!("{}", mine + other.join().unwrap());
}
"""

DEPTH = 300
COMMAND = "/toolchain/bin/miri --sysroot /cache/miri --crate-name main main.rs -Zmiri-measureme=out "


def file_of_that_shape(path):
    """A loop of to_string with deep stacks in the main thread; another thread's work in between, while the main one waits in join."""
    profile = Profdata(pid=4242, command=COMMAND)

    def call(name, thread, start, end):
        profile.interval(name.encode(), thread, start, end, kind=name.encode())

    for turn in range(10):
        start = 1000 + 2000 * turn
        for depth in reversed(range(DEPTH)):
            call(f"core::fmt::level_{depth}", 0, start + depth, start + 1500 - depth)
        call("<u32 as ToString>::to_string", 0, start - 10, start + 1510)
    for turn in range(20):
        call("<u32 as ToString>::to_string", 1, 30000 + 500 * turn, 30000 + 500 * turn + 400)
    call("loops", 1, 29000, 45000)
    call("std::thread::JoinHandle::join", 0, 25000, 50000)
    call("main", 0, 0, 60000)
    profile.save(path)


def report(path):
    done = subprocess.run([LAMELLA, "report", "--format", "json", "--top", "0", path], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"report: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def rows_of(path):
    """{row: names of its intervals} of a Chrome trace."""
    done = subprocess.run([LAMELLA, "export", "--to", "chrome", path], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"export: {done.stderr.decode(errors='replace')}")
    trace = strict_json(done.stdout)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    rows = collections.defaultdict(collections.Counter)
    for event in events:
        if event["ph"] in "XB":
            rows[event["tid"]][event["name"]] += 1
    return rows


def check_profile(path, threads):
    data = report(path)
    equal([one["id"] for one in data["findings"] if one["id"] == "virtual_threads"], ["virtual_threads"], "the note on virtual threads")
    rows = rows_of(path)
    check(len(rows) >= threads, f"a row for each thread of the program: {list(rows)}")
    return data, rows


def test_a_file_of_that_shape():
    file_of_that_shape("main-0004242.mm_profdata")
    data, rows = check_profile("main-0004242.mm_profdata", 2)
    equal(len(rows), 2, "rows")
    counts = {row["label"]: row["count"] for row in data["activities"]}
    equal((counts["<u32 as ToString>::to_string"], counts[f"core::fmt::level_{DEPTH - 1}"], counts["main"]), (30, 10, 1), "calls")
    check(sorted(row["loops"] for row in rows.values()) == [0, 1], "the other thread's calls in its own row")
    text = subprocess.run([LAMELLA, "report", "main-0004242.mm_profdata"], capture_output=True, timeout=60, check=True).stdout.decode()
    check("other threads of the program did meanwhile" in text, f"the report says so: {text}")


def test_miri_itself():
    """Where a nightly toolchain has it."""
    if not shutil.which("cargo"):
        raise Skip("no cargo")
    known = subprocess.run(["cargo", "+nightly", "miri", "--version"], capture_output=True, timeout=60, check=False)
    if known.returncode != 0:
        raise Skip("no nightly toolchain with Miri")
    with open("main.rs", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    where = subprocess.run(["rustup", "which", "--toolchain", "nightly", "miri"], capture_output=True, text=True, timeout=60, check=False)
    sysroot = subprocess.run(["cargo", "+nightly", "miri", "setup", "--print-sysroot"], capture_output=True, text=True, timeout=200, check=False)
    if where.returncode != 0 or sysroot.returncode != 0:
        raise Skip("Miri has no sysroot")
    command = [where.stdout.strip(), "--sysroot", sysroot.stdout.strip(), "-Zmiri-measureme=out", "main.rs"]
    done = subprocess.run(command, capture_output=True, timeout=200, check=False)
    equal(done.returncode, 0, f"miri: {done.stderr.decode(errors='replace')}")
    check_profile("out", 2)


if __name__ == "__main__":
    main(globals())
