#!/usr/bin/env python3
"""`lamella view`: filters, formats, messages and exit codes, on a recording with odd names; and the command line itself."""

import json
import os
import subprocess
import sys
import tempfile

LAMELLA = os.environ["LAMELLA"]
FAILED = []


def run(*args, **kwargs):
    return subprocess.run([LAMELLA, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **kwargs)


def check(condition, what):
    if not condition:
        FAILED.append(what)
        print("FAILED:", what)


def rows(*args):
    done = run("view", "--format", "json", *args)
    check(done.returncode == 0, f"view {args} exits with {done.returncode}: {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def record(directory):
    """Two programs, one of them with an escape sequence and bytes that are no UTF-8 in its arguments."""
    recording = os.path.join(directory, "r.lamella")
    script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.05"
    odd = b"odd\x1b[31m\xff"
    done = subprocess.run([LAMELLA, "record", "--rate", "2000", "-o", recording, "--", "sh", "-c", f"{script}; ls /; exit 3", odd],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    check(done.returncode == 3, f"record exits with {done.returncode}: {done.stderr.decode()}")
    return recording


def check_filters(recording):
    everything = rows(recording)
    kinds = {row["type"] for row in everything}
    for kind in ("session", "process", "thread", "sample", "wait", "thread_end", "process_end", "session_end"):
        check(kind in kinds, f"no {kind} in the whole")
    samples = [row for row in everything if row["type"] == "sample"]
    waits = [row for row in everything if row["type"] == "wait"]
    shell = next(row for row in everything if row["type"] == "process" and row["parent"] == 0)
    check(shell["argv"][-1] == "odd\x1b[31m\\xff", f"the odd argument is {shell['argv'][-1]!r}")

    only = rows("--pid", str(shell["pid"]), "--show", "samples", recording)
    check(only == [row for row in samples if row["pid"] == shell["pid"]], "--pid takes the process's samples")
    check(rows("--process", "no such program", recording)[1:-1] == [], "a process that is not there shows nothing")
    check({row["type"] for row in rows("--show", "waits", recording)} == {"wait"}, "--show waits")
    check({row["type"] for row in rows("--show", "processes,threads", recording)} ==
          {"session", "process", "thread", "thread_end", "process_end", "session_end"}, "--show processes,threads")

    middle = samples[len(samples) // 2]["at_ns"] / 1e9
    early = rows("--show", "samples", "--to", f"{middle:.9f}", recording)
    late = rows("--show", "samples", "--from", f"{middle:.9f}", recording)
    check(all(row["at_ns"] / 1e9 <= middle + 1e-9 for row in early), "--to")
    check(all(row["at_ns"] / 1e9 >= middle - 1e-9 for row in late), "--from")
    check(len(samples) <= len(early) + len(late) <= len(samples) + 2, "--from and --to split the samples")
    check(any(row["kind"] == "child" and row["call"] == "wait" and row["duration_ns"] >= 40_000_000 for row in waits),
          "the shell's wait for sleep is there")

    tid = str(samples[0]["tid"])
    check(all(row["tid"] == int(tid) for row in rows("--thread", tid, "--show", "samples", recording)), "--thread TID")
    check(rows("--thread", "sh", "--show", "samples", recording), "--thread NAME")
    check(not rows("--thread", "no such thread", "--show", "samples,waits", recording), "--thread of nobody")

    name = next((frame["name"] for row in waits for frame in row["frames"] if frame["name"]), None)
    check(name is not None, "frames have names")
    found = rows("--label", name, recording)
    check(found and all(any(frame["name"] and name in frame["name"] for frame in row["frames"]) for row in found), "--label")
    check({row["type"] for row in found} <= {"sample", "wait"}, "--label shows samples and waits only")
    check(rows("--label", "no such function", recording) == [], "a label that is not there")


def check_text(recording):
    text = run("view", recording).stdout
    check(b"\x1b" not in text and b"\xff" not in text, "text has raw control bytes")
    check(b"odd\\e[31m\\xff" in text or b"odd\\x1b[31m\\xff" in text, "the odd argument is printable")
    check(b"exits with 3" in text, "the exit code is told")
    one = run("view", "--depth", "1", "--show", "samples", recording).stdout.splitlines()
    whole = run("view", "--depth", "0", "--show", "samples", recording).stdout.splitlines()
    check(len(one) == len(whole) and sum(map(len, one)) < sum(map(len, whole)), "--depth 1 is shorter than --depth 0")
    check(any(line.endswith(b" < \xe2\x80\xa6") for line in one), "--depth 1 says that there is more")
    check(not any(line.endswith(b"\xe2\x80\xa6") for line in whole), "--depth 0 shows all")
    raw = run("view", "--raw", recording).stdout
    check(raw.count(b"header file=") >= 2 and b"record=PROCESS" in raw, "--raw of a directory")
    check(b"\x1b" not in raw, "--raw has raw control bytes")


def check_messages(directory, recording):
    wrong = [
        (2, ["view"], b"INPUT"),
        (2, ["view", "--raw", recording, "other"], b"--raw takes one input"),
        (1, ["view", recording, "other"], b"other"),
        (2, ["view", "--show", "sampels", recording], b"processes, threads, samples, waits"),
        (2, ["view", "--format", "xml", recording], b"xml"),
        (2, ["view", "--from", "soon", recording], b"--from"),
        (2, ["view", "--raw", "--pid", "1", recording], b"--raw"),
        (2, ["view", "--raw", "--phases", recording], b"--phases"),
        (2, ["view", "--raw", "--depth", "8", recording], b"--depth"),
        (2, ["view", "--raw", "--no-stacks", recording], b"--no-stacks"),
        (1, ["view", os.path.join(directory, "none")], b"none"),
        (1, ["view", directory], b"neither a recording"),
        (1, ["view", "/etc/passwd"], b"neither a recording"),
        (1, ["view", "--raw", "/dev/null"], b"/dev/null"),
        (2, ["vieww", recording], b"did you mean 'view'"),
        (2, ["no\x1bsuch"], b"no command"),
        (2, [], b"Usage: lamella"),
    ]
    for code, args, words in wrong:
        done = run(*args)
        check(done.returncode == code, f"{args} exits with {done.returncode}")
        check(words in done.stderr, f"{args} says {done.stderr!r}")
        check(done.stdout == b"", f"{args} prints {done.stdout[:80]!r}")
        check(len(done.stderr.splitlines()) == 1 or args in ([], ["view"]) or b"--help" in done.stderr,
              f"{args}: one line, not {done.stderr!r}")
        check(b"\x1b" not in done.stderr, f"{args}: raw control bytes in the message")
    nothing = (["--label", "no such function"], ["--process", "no such program"], ["--thread", "no such thread"],
               ["--from", "1e6", "--show", "samples"])
    for args in nothing:
        for kind in ("text", "json"):
            done = run("view", "--format", kind, *args, recording)
            check(done.returncode == 0 and b"matches" in done.stderr, f"{args}: {done.returncode}, {done.stderr!r}")
    check(run("view", "--label", "main", "--process", "sh", recording).stderr == b"", "nothing is said when there is something")
    for args in (["--help"], ["--version"], ["view", "--help"], ["help"]):
        done = run(*args)
        check(done.returncode == 0 and done.stdout and not done.stderr, f"{args}")
    with open("/dev/full", "wb") as full:
        for args in (["view", recording], ["--version"]):
            done = subprocess.run([LAMELLA, *args], stdout=full, stderr=subprocess.PIPE, check=False)
            check(done.returncode == 1 and b"No space left" in done.stderr, f"{args} > /dev/full: {done.stderr!r}")
    reader = subprocess.Popen([LAMELLA, "view", recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    reader.stdout.close()
    errors = reader.stderr.read()
    reader.stderr.close()
    check(reader.wait() in (0, -13) and not errors, f"a closed pipe: {reader.returncode} {errors!r}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        recording = record(directory)
        check_filters(recording)
        check_text(recording)
        check_messages(directory, recording)
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
