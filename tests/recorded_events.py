#!/usr/bin/env python3
# ctest: TIMEOUT 180
"""What liblamella wrote is read back: by `lamella view`, by the reader made from the book, and by liblamella-reader, which all
agree; from a file and from a directory, finished, killed, overwritten (flight recorder), and beside the agent's samples."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import events_by_the_book as meaning

LAMELLA = os.environ["LAMELLA"]
AGENT = os.environ["LAMELLA_AGENT_SO"]
BUILD = os.environ["LAMELLA_BUILD"]
SOURCE = os.environ["LAMELLA_SRC"]


def compile_one(directory, name, library, *flags):
    out = os.path.join(directory, f"{name}-{'shared' if library.endswith('.so') else 'static'}")
    libraries = [os.path.join(BUILD, library)] + ([f"-Wl,-rpath,{BUILD}"] if library.endswith(".so") else [])
    subprocess.run(["cc", "-O2", "-std=gnu17", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include",
                    f"{SOURCE}/tests/data/events/{name}.c", "-o", out] + libraries + list(flags), check=True)
    return out


def run(command, **settings):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LAMELLA_O")}
    environment.update(settings)
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def view(path, *options):
    out = run([LAMELLA, "view", "--format", "json", *options, path])
    assert out.returncode == 0 and not out.stderr, out.stderr
    return [json.loads(line) for line in out.stdout.splitlines()]


def by_library(reader, order, path):
    out = run([reader, order, path])
    assert out.returncode == 0, out.stdout
    streams, damaged, lost = map(int, out.stderr.split())
    rows = [line.split() for line in out.stdout.decode().splitlines()]
    return [[int(part) for part in row[:7]] + [bytes.fromhex(part) for part in row[7:]] for row in rows], (streams, damaged, lost)


def same_as_view(rows, path):
    """The library's events are those of view: type, thread, times, active time and texts."""
    names = ["interval", "instant", "integer", "fold"]
    theirs = []
    for row in view(path, "--show", "intervals,instants"):
        start = row["start_ns"] if row["type"] == "interval" else row["at_ns"]
        theirs.append((row["type"], row["tid"], start, row.get("active_ns", 0), row.get("value", 0)))
    mine = [(names[row[0]], row[1], row[3], row[5] if row[0] == 0 else 0, row[6]) for row in rows]
    mine.sort()
    theirs.sort()
    assert len(mine) == len(theirs), (len(mine), len(theirs))
    assert mine == theirs, [pair for pair in zip(mine, theirs) if pair[0] != pair[1]][:3]


def check_file(directory, writer, readers):
    path = os.path.join(directory, "one.lam")
    assert run([writer], LAMELLA_OUT=path, LAMELLA_OPTIONS="clock=monotonic").returncode == 0
    count = meaning.compare(path, "one file")
    assert count > 15000 + 20 * 800, count
    for reader in readers:
        in_time, stats = by_library(reader, "time", path)
        assert [row[3] for row in in_time] == sorted(row[3] for row in in_time)
        as_stored, again = by_library(reader, "stream", path)
        assert sorted(map(repr, in_time)) == sorted(map(repr, as_stored))
        assert len(in_time) == count and stats == again == (1, 0, 0), (len(in_time), count, stats)
    same_as_view(in_time, path)
    assert [b"Query", b"typeck", b"crate::seven"] in [row[7:] for row in in_time]
    assert [b"Query", b"typeck", b"#8"] in [row[7:] for row in in_time]
    assert [b"Work", b"odd \x1b \xff label"] in [row[7:] for row in in_time]
    values = [row for row in in_time if row[0] == 2]
    assert len(values) == 1 and values[0][6] == 2**64 - 1, values
    return count


def check_meaning(path):
    rows = view(path)
    kinds = [row["type"] for row in rows]
    assert kinds.count("process") == 1 and kinds.count("track") == 2, [row for row in rows if row["type"] in ("process", "track")]
    intervals = [row for row in rows if row["type"] == "interval"]
    named = {}
    for row in intervals:
        named.setdefault(row["label"], []).append(row)
    assert len(named["task"]) == 20
    for task in named["task"]:
        assert task["flags"] == ["detached"] and task["end_thread"] != task["thread"], task
    for away in named["in first"] + named["in second"]:
        assert away["active_ns"] < away["end_ns"] - away["start_ns"], away
    paused = named["paused"][0]
    assert paused["active_ns"] < paused["end_ns"] - paused["start_ns"], paused
    assert named["main"][0]["depth"] == 0 and named["past"][0]["depth"] == 1
    nested = [row for row in named["nest"] if row["start_ns"] >= named["past"][0]["start_ns"] and
              row["end_ns"] <= named["past"][0]["end_ns"]]
    assert sorted(row["depth"] for row in nested) == [2, 3], nested
    end = rows[-1]
    assert end["type"] == "session_end" and end["damaged_streams"] == end["lost_records"] == end["open_intervals"] == 0, end
    text = run([LAMELLA, "view", path]).stdout
    assert b"\x1b" not in text and b"\\e" in text
    tree = run([LAMELLA, "view", "--tree", "--label", "nest", path]).stdout.splitlines()
    assert len(tree) == len(named["nest"])
    # Tracks move between threads: all events of the process in the order of time; as a tree one thread or track after the other.
    starts = [row["start_ns"] for row in intervals if "detached" not in row["flags"] and row["end_ns"] > row["start_ns"]]
    assert starts == sorted(starts), [pair for pair in zip(starts, sorted(starts)) if pair[0] != pair[1]][:3]
    shown = run([LAMELLA, "view", "--tree", "--show", "intervals,instants", path]).stdout.decode().splitlines()
    order = []
    for line in shown[1:-1]:
        where = line.split("  ")[1].split(" ")
        where = (where[0], where[where.index("track") + 1] if "track" in where else "")
        if not order or order[-1] != where:
            order.append(where)
    assert len(order) == len(set(order)) and sum(1 for where in order if where[1]) == 2, order


def check_directory(directory, writer, readers):
    path = os.path.join(directory, "run.lamella")
    assert run([writer], LAMELLA_OUT=path).returncode == 0
    assert sorted(name.rpartition(".")[2] for name in os.listdir(path)) == ["json", "lam"]
    check_meaning(path)
    rows, _ = by_library(readers[0], "time", path)
    same_as_view(rows, path)
    report = run([LAMELLA, "report", path])
    assert report.returncode == 0 and not report.stderr, report.stderr
    assert b"nest" in report.stdout


def check_flight(directory, writer):
    path = os.path.join(directory, "flight.lam")
    options = "max_bytes=256K,mode=flight,clock=monotonic"
    assert run([writer], LAMELLA_OUT=path, LAMELLA_OPTIONS=options).returncode == 0
    assert os.path.getsize(path) <= 256 * 1024, os.path.getsize(path)
    meaning.book.compare(path, "flight recorder")
    rows = view(path)
    end = rows[-1]
    assert end["damaged_streams"] == 0 and 0 < end["intervals"] < 30000, end
    header = json.loads(run([LAMELLA, "view", "--raw", "--format", "json", path]).stdout.splitlines()[0])
    pages = header["counts"][4]
    assert pages > 0 and end["overwritten_pages"] == pages, (header, end)
    stored = os.path.join(directory, "flight.json")
    told = json.loads(run([LAMELLA, "report", "--format", "json", path]).stdout)
    with open(stored, "w", encoding="utf-8") as out:
        json.dump(told, out)
    assert told["coverage"]["overwritten_pages"] == pages, told["coverage"]
    assert "overwritten_events" in [finding["id"] for finding in told["findings"]], told["findings"]
    whole = os.path.join(directory, "one.lam")
    for new in (path, stored):  # what is gone must not pass for a change
        assert json.loads(run([LAMELLA, "diff", "--format", "json", whole, new]).stdout)["lossy"] == [new]
        assert f"{new}: {pages} pages of events overwritten".encode() in run([LAMELLA, "diff", whole, new]).stdout
    told = run([LAMELLA, "aggregate", whole, path])
    assert b"flight.lam: " in told.stdout and b"overwritten" in told.stdout, told
    assert json.loads(run([LAMELLA, "aggregate", "--format", "json", whole, path]).stdout)["lossy"] == [path]


def check_killed(directory, writer):
    path = os.path.join(directory, "killed.lam")
    environment = dict(os.environ, LAMELLA_OUT=path, LAMELLA_OPTIONS="clock=monotonic")
    with subprocess.Popen([writer, "wait"], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        meaning.compare(path, "while it is written")
        process.send_signal(signal.SIGKILL)
    meaning.compare(path, "killed")
    rows = view(path)
    still = [row for row in rows if row["type"] == "interval" and "open" in row["flags"]]
    assert [row["label"] for row in still] == ["main"], still
    own = [row for row in rows if row["type"] == "interval" and row["tid"] == still[0]["tid"] and "detached" not in row["flags"]]
    assert still[0]["end_ns"] >= max(row["end_ns"] for row in own)
    assert rows[-1]["damaged_streams"] == 0, rows[-1]


def check_beside_samples(directory, writer):
    path = os.path.join(directory, "both.lamella")
    out = run([LAMELLA, "record", "--rate", "999", "-o", path, "--", writer])
    assert out.returncode == 0, out.stderr
    rows = view(path, "--no-stacks")
    processes = {row["process"] for row in rows if row["type"] in ("sample", "interval") or
                 (row["type"] == "process" and "record_all" in row["exe"])}
    assert len(processes) == 1, [row for row in rows if row["type"] == "process"]
    assert rows[-1]["intervals"] > 30000 and rows[-1]["damaged_streams"] == 0, rows[-1]
    threads = [row for row in rows if row["type"] == "thread"]
    assert len(threads) == len({row["thread"] for row in threads}) == 21, len(threads)
    packed = [name for name in os.listdir(path) if name.endswith(".lam")]
    assert len(packed) == 2 and sum(os.path.getsize(os.path.join(path, name)) for name in packed) < 400000
    shutil.rmtree(path)


def main():
    library = os.path.join(BUILD, "liblamella.a")
    if not os.path.exists(library) or not os.path.exists(os.path.join(BUILD, "liblamella-reader.so")):
        print("liblamella is not built")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        writer = compile_one(directory, "record_all", "liblamella.a", "-lpthread")
        readers = [compile_one(directory, "read_all", "liblamella-reader.so"),
                   compile_one(directory, "read_all", "liblamella-reader.a", "-lzstd", "-lz", "-lm")]
        print(check_file(directory, writer, readers), "events agree")
        check_directory(directory, writer, readers)
        check_flight(directory, writer)
        check_killed(directory, writer)
        bad = run([readers[0], "time", os.path.join(directory, "nothing")])
        assert bad.returncode == 1 and b"nothing" in bad.stdout, bad.stdout
        if os.path.exists(AGENT) and not os.environ.get("LAMELLA_SANITIZE"):
            check_beside_samples(directory, writer)


if __name__ == "__main__":
    main()
