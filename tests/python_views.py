#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""Long runs under a budget in each bounded policy, with the Python plug-in; what reports and exports show of it; and samples of the
interpreter beside the calls."""

import json
import os
import re
import subprocess

import python_lib as lib
from call_sums import check_callers

LOOP = os.path.join(lib.DATA, "loop.py")
ROUNDS = 20000
BUDGET = 512 << 10


def activities(out):
    report = json.loads(lib.lamella("report", "--format", "json", out))
    return {row["label"].split(" ")[0]: row for row in report["activities"]}


def test_bounded(python, _):
    wanted = {"leaf": 5 * ROUNDS, "middle": ROUNDS, "numbers": ROUNDS, "outer": 1}
    for policy, tracks, is_exact in (("tree", "all", True), ("tree", "none", True), ("threshold:1ms", "tasks", True), ("one_in:1000", "tasks", False),
                                     ("auto:128K", "all", True)):
        counts = {**wanted, "numbers": 3 * ROUNDS} if tracks != "all" else wanted
        done = lib.record(python, "out", LOOP, str(ROUNDS), options=["--calls", policy, "--max-bytes", str(BUDGET), "--tracks", tracks])
        assert done.returncode == 0 and not done.stderr, done
        size = sum(os.path.getsize(os.path.join("out", name)) for name in os.listdir("out"))
        assert size <= BUDGET + 4096, f"{policy}: {size} bytes"
        got = activities("out")
        for name, count in counts.items():
            found = got[name]["count"]
            assert found == count if is_exact else abs(found - count) <= max(0.2 * count, 1), f"{policy}, tracks {tracks}: {name} {found} times, wanted {count}"
        # What was open when the tree began has its active time from samples of the switches.
        assert not is_exact or policy.startswith("auto") or got["outer"]["active_s"] > got["middle"]["active_s"] > 0, (policy, got)
        assert got["outer"]["open"] == 0, (policy, got)
        subprocess.run(["rm", "-rf", "out"], check=True)
    # Without a policy: the end is lost, and the report says so; or the beginning.
    for mode in ("stop", "flight"):
        done = lib.record(python, "out", LOOP, str(ROUNDS), options=["--max-bytes", str(BUDGET), "--options", f"mode={mode}"])
        assert done.returncode == 0 and not done.stderr, done
        assert sum(os.path.getsize(os.path.join("out", name)) for name in os.listdir("out")) <= BUDGET + 4096
        assert 0 < activities("out")["leaf"]["count"] < 5 * ROUNDS
        assert mode == "flight" or b"lost" in lib.lamella("report", "out"), lib.lamella("report", "out")
        subprocess.run(["rm", "-rf", "out"], check=True)


def test_views(python, _):
    done = lib.record(python, "out", LOOP, "20")
    assert done.returncode == 0, done
    assert re.search(rb"leaf \(loop.py:5\) .* 100 ", lib.lamella("report", "out"))
    paths = lib.lamella("report", "--by", "path", "--top", "0", "--percent-above", "0", "out").decode()
    assert re.search(r"^   *outer \(loop.py:20\).*\n  +middle \(loop.py:9\).*\n  +leaf \(loop.py:5\) .* 60$", paths, re.MULTILINE), paths
    called = json.loads(lib.lamella("report", "--format", "json", "--top", "0", "--by", "path,caller", "--around", "*", "out"))
    assert check_callers(called) >= 4
    middle, = (row for row in called["around"] if row["function"].startswith("middle ("))
    assert {row["function"].split(" ")[0] for row in middle["callers"]} == {"outer"} and middle["count"] == 20, middle
    assert any(row["name"].startswith("numbers (") for row in called["activity_tracks"]), called["activity_tracks"]
    folded = lib.lamella("export", "--to", "folded", "out").decode()
    assert re.search(r"outer \(.*loop.py:20\)[^\n]*;middle \(.*loop.py:9\)[^\n]*;leaf \(.*loop.py:5\)[^\n]* \d+$", folded, re.MULTILINE), folded
    assert b"middle (" in lib.lamella("export", "--to", "flamegraph", "out")
    chrome = json.loads(lib.lamella("export", "--to", "chrome", "out"))
    events = chrome["traceEvents"] if isinstance(chrome, dict) else chrome
    rows = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    on_rows = {(rows.get(event["tid"]) or "").split(" (")[0]: event["name"] for event in events if event.get("name", "").startswith(("numbers (", "outer ("))}
    assert on_rows.keys() == {"MainThread", "numbers"}, (rows, on_rows)
    assert lib.lamella("export", "--to", "perfetto", "out").count(b"numbers (") >= 1


def test_beside_samples(python, _):
    """Under `lamella record` the calls go to its recording, beside the samples of the interpreter."""
    environment = lib.environment(LAMELLA_AGENT_SO=os.environ["LAMELLA_AGENT_SO"])
    done = lib.run(lib.LAMELLA, "record", "-o", "both", "--rate", "999", "--", python, "-m", "lamella", "--calls", "tree", LOOP, "100000", env=environment)
    assert done.returncode == 0, done.stderr
    rows = lib.view("both")
    assert sum(row["type"] == "sample" for row in rows) > 20
    assert len({row["pid"] for row in rows if row["type"] in ("sample", "interval")}) == 1
    assert activities("both")["leaf"]["count"] == 500000
    assert b"leaf (loop.py:5)" in lib.lamella("report", "both")
    # A part of a program that has a place of its own when it runs alone.
    with open("part.py", "w", encoding="utf-8") as file:
        file.write("import lamella\ndef f(n): return n and f(n - 1)\nf(1)\nwith lamella.record('never', calls='tree'): f(2)\n"
                   "with lamella.record('never'): f(3)\n")
    done = lib.run(lib.LAMELLA, "record", "-o", "part", "--rate", "0", "--", python, "part.py", env=environment)
    assert done.returncode == 0 and not os.path.exists("never"), done
    assert activities("part")["f"]["count"] == 7, activities("part")


if __name__ == "__main__":
    sanitized = bool(os.environ.get("LAMELLA_SANITIZE"))
    lib.main([test_bounded, test_views] + ([] if sanitized else [test_beside_samples]))
