#!/usr/bin/env python3
# ctest: TIMEOUT 400
"""The calls that the Python plug-in records are those that a profile function written in Python counts: by path, with generators,
tasks, threads. Nothing stays open, and times are charged to whose they are."""

import collections
import json
import os

import python_lib as lib


def test_paths_and_counts(python, _):
    program = os.path.join(lib.DATA, "calls.py")
    counted = lib.run(python, os.path.join(lib.DATA, "count_calls.py"), "counts", program, "300")
    assert counted.returncode == 0, counted.stderr
    recorded = lib.record(python, "out", program, "300")
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (0, counted.stdout, counted.stderr), recorded
    with open("counts", encoding="utf-8") as file:
        wanted = json.load(file)
    rows = lib.view("out")
    got = lib.paths(rows, "calls.py")
    for path in sorted({*wanted, *got}):
        assert wanted.get(path, 0) == got.get(path, 0), f"{path}: {got.get(path, 0)} times, wanted {wanted.get(path, 0)}"
    assert len(wanted) > 150 and sum(wanted.values()) > 8000
    still_open = [row["label"] for row in rows if row["type"] == "interval" and "open" in row["flags"]]
    assert not still_open, still_open
    check_one_in(python, program, wanted)


def check_one_in(python, program, wanted):
    """The first three calls of a function, then one of each three: never three off, whatever is suspended, resumed or thrown into."""
    done = lib.record(python, "some", program, "300", options=["--calls", "one_in:3"])
    assert done.returncode == 0 and not done.stderr, done
    exact, told = collections.Counter(), collections.Counter()
    for path, count in wanted.items():
        exact[path.split(";")[-1]] += count
    report = json.loads(lib.lamella("report", "--format", "json", "some"))
    for row in report["activities"]:
        if row["label"].endswith(")") and "(calls.py:" in row["label"]:
            told[row["label"].replace(" (calls.py", "")[:-1]] += row["count"]
    off = {name: (told[name], count) for name, count in exact.items() if abs(told[name] - count) >= 3}
    assert not off and report["coverage"]["unbalanced_exits"] == 0, (off, report["coverage"])


def test_ten_thousand_tasks(python, _):
    done = lib.record(python, "out", os.path.join(lib.DATA, "tasks.py"))
    assert done.returncode == 0 and not done.stderr, done
    rows = lib.view("out", "--label", "(tasks.py:")
    got = collections.Counter(row["label"].split(" ")[0] for row in rows if row["type"] == "interval")
    assert {name: got[name] for name in ("main", "task", "step", "work")} == json.loads(done.stdout), got
    tracks = {row["track"] for row in rows if row["type"] == "interval" and row["label"].startswith("task ")}
    assert len(tracks) == 10000, len(tracks)
    # Steps lie inside of the task that waits for them, and stood still while others ran.
    step = next(row for row in rows if row["type"] == "interval" and row["label"].startswith("step "))
    assert step["depth"] == 1 and step["active_ns"] * 10 < step["end_ns"] - step["start_ns"], step


def rows_by_track(out):
    """[(label without its place, name of the track it is on)] of its intervals"""
    rows = lib.view(out)
    names = {row["track"]: row["name"].split(" ")[0] for row in rows if row["type"] == "track"}
    return [(row["label"].split(" ")[0], names.get(row.get("track"))) for row in rows if row["type"] == "interval"]


def test_one_in(python, _):
    """A task has a track once something on it is recorded, and that is where it lies."""
    done = lib.record(python, "out", os.path.join(lib.DATA, "tasks.py"), options=["--calls", "one_in:50"])
    assert done.returncode == 0 and not done.stderr, done
    got = collections.Counter((label, track) for label, track in rows_by_track("out") if label in ("task", "step", "work"))
    assert {track for _, track in got} == {"task"}, got
    assert len([row for row in lib.view("out") if row["type"] == "track"]) < 5000  # of 10,000; some 1,400
    with open("hand.py", "w", encoding="utf-8") as file:
        file.write("import asyncio, lamella\nasync def task(n):\n  await asyncio.sleep(0)\n  if n % 2:\n    with lamella.interval('mine'):\n      await asyncio.sleep(0)\n"
                   "  lamella.instant('at')\nasync def main(): await asyncio.gather(*map(task, range(500)))\nasyncio.run(main())\n")
    done = lib.record(python, "hand", "hand.py", options=["--calls", "one_in:50"])
    assert done.returncode == 0 and not done.stderr, done
    mine = [track for label, track in rows_by_track("hand") if label == "mine"]
    assert mine == ["task"] * 250, mine
    tracks = [row.get("track") for row in lib.view("hand") if row["type"] == "instant" and row["label"] == "at"]
    named = {row["track"] for row in lib.view("hand") if row["type"] == "track" and row["name"].startswith("task ")}
    assert len(tracks) == 500 and set(tracks) <= named and len(set(tracks)) >= 250, collections.Counter(tracks)


def test_one_in_n_inside_of_its_like(python, _):
    """A call that is recorded for others too says that it is made inside of one of its function, which is not recorded itself."""
    with open("keep.py", "w", encoding="utf-8") as file:
        file.write("def back(): keep(0)\ndef keep(n):\n  for _ in range(5000 * n): back()\nfor _ in range(100): keep(0)\nkeep(1)\n")
    done = lib.record(python, "out", "keep.py", options=["--calls", "one_in:20"])
    assert done.returncode == 0 and not done.stderr, done
    rows = [row for row in lib.view("out", "--label", "keep (") if row["type"] == "interval" and row["weight"] == 20]
    alone = sum("recursive" not in row["flags"] for row in rows)
    assert 4 <= alone <= 5 and len(rows) - alone >= 248, (alone, len(rows))  # four blocks of 20 behind the first, perhaps the last one


def test_deep_stacks(python, _):
    done = lib.record(python, "out", os.path.join(lib.DATA, "deep.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\ncaught\n", b""), done
    report = json.loads(lib.lamella("report", "--format", "json", "out"))
    counts = {row["label"]: (row["count"], row["open"]) for row in report["activities"]}
    assert counts["deep (deep.py:7)"] == (200002, 0), counts
    assert report["coverage"]["unbalanced_exits"] == 0, report["coverage"]
    assert lib.lamella("view", "--format", "json", "--label", "deep (", "out").count(b'"depth":100001,') == 2


def test_charges(python, _):
    """In the clock of the threads' CPU time: what each line of execution used itself is its functions' self time."""
    done = lib.record(python, "out", os.path.join(lib.DATA, "charges.py"), "used", options=["--options", "clock=cpu"])
    assert done.returncode == 0 and not done.stderr, done
    with open("used", encoding="utf-8") as file:
        used = json.load(file)
    active = collections.Counter()
    whole = collections.Counter()
    inside = None
    threads = {}
    for row, stack in lib.calls(lib.view("out")):
        if row["label"].startswith("burn ") and len(stack) > 1:
            active[stack[-2].split(" ")[0]] += row["active_ns"] / 1e9
        if row["label"].startswith(("main (charges", "thread_a (charges")):
            threads[row["thread"]] = (row["label"].split(" ")[0], row["start_ns"], row["end_ns"])
    for row, stack in lib.calls(lib.view("out")):  # all lines of a thread together, without the frames around main
        if row["thread"] in threads:
            name, start, end = threads[row["thread"]]
            inside = start <= row["start_ns"] <= end
            if inside and (len(stack) == 1 or row["label"].startswith(name + " (charges")):
                whole[name] += row["active_ns"] / 1e9
    for name, seconds in used.items():
        got = whole[name.split(" ")[-1]] if name.startswith("all of ") else active[name]
        assert abs(got - seconds) < 0.02 * seconds + 0.0005, f"{name}: {got:.4f} s, used {seconds:.4f} s"


if __name__ == "__main__":
    lib.main([test_paths_and_counts, test_ten_thousand_tasks, test_one_in, test_one_in_n_inside_of_its_like, test_deep_stacks, test_charges])
