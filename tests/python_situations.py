#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""Where the Python plug-in is started, stopped and loaded: each call is closed once and none crosses another line of execution."""

import collections
import json
import os
import subprocess

import python_lib as lib

PROGRAM = os.path.join(lib.DATA, "situations.py")


def names(path):
    """{(path of short names): count}, and the rows."""
    rows = lib.view(path)
    counts = collections.Counter(tuple(label.split(" (")[0].split(".")[-1] for label in stack) for _, stack in lib.calls(rows))
    return counts, rows


def is_whole(rows):
    still_open = [row for row in rows if row["type"] == "interval" and "open" in row["flags"]]
    assert not still_open, still_open


def situations(python, tracks, *which):
    done = lib.run(python, PROGRAM, tracks, *which)
    assert done.returncode == 0 and done.stdout.endswith(b"done\n") and not done.stderr, done
    return done


def test_start_and_stop(python, version):
    for tracks in ("all", "none"):
        situations(python, tracks, "start_deep", "stop_inside", "twice")
        counts, rows = names("deep")
        below = ("generator",) if tracks == "all" else ("<module>", "start_deep", "generator")
        wanted = {below + ("down",) * 21: 1, below + ("down",) * 21 + ("f",) * 4: 1}
        assert {path: counts[path] for path in wanted} == wanted, counts
        assert counts[below + ("f", "f", "f")] == 1 and sum(path[-1] == "f" for path in counts) == 7, counts
        assert not any(name in path for path in counts for name in ("start", "_start", "stop")), counts
        is_whole(rows)
        counts, rows = names("inside")
        assert sum(count for path, count in counts.items() if path[-1] == "inside") == 6, counts
        assert sum(count for path, count in counts.items() if path[-1] == "f") == 2, counts
        is_whole(rows)
        called = [sum(n for path, n in names(out)[0].items() if path[-1] == "f") for out in ("first", "third", "fourth")]
        assert called == [5, 11, 7], called
        report = lib.lamella("report", "second")
        assert b"f (situations.py:" in report, report
        for name in os.listdir("."):
            subprocess.run(["rm", "-rf", name], check=True)


def test_threads(python, version):
    situations(python, "all", "threads_before")
    counts, rows = names("threads")
    calls = collections.Counter()
    threads = {row["thread"]: row["name"] for row in rows if row["type"] == "thread_name"}
    for row, stack in lib.calls(rows):
        if row["label"].startswith("f ("):
            calls[threads.get(row["thread"], "")] += 1
    assert calls == {"early 1": 13, "early 2": 23, "early 3": 33, "late": 6, "": 8}, calls
    assert counts[("_bootstrap", "_bootstrap_inner", "run", "body", "inner")] == 3, counts
    is_whole(rows)


def test_fork_hooks(python, version):
    for tracks in ("all", "none"):
        situations(python, tracks, "fork_hooks")
        counts, rows = names("hooks")
        around = ("<module>", "fork_hooks") + ("forks",) * 4
        wanted = {(): 2, ("<lambda>",): 2, ("<lambda>", "f"): 2, ("in_child",): 1, ("in_child", "f"): 1, ("in_child", "f", "f", "f", "f"): 1}
        assert {path: counts[around + path] for path in wanted} == wanted, counts
        is_whole(rows)
        subprocess.run(["rm", "-rf", "hooks"], check=True)


def test_another_interpreter(python, version):
    done = lib.run(python, "-W", "ignore", PROGRAM, "all", "another_interpreter")
    assert done.returncode == 0 and done.stdout == b"True\ndone\n" and not done.stderr and not os.path.exists("never"), done
    counts, rows = names("beside")
    assert sum(count for path, count in counts.items() if path[-1] == "f") == 2 + 3, counts
    is_whole(rows)


def test_by_hand(python, version):
    done = situations(python, "all", "by_hand", "c_calls")
    wrong = b"tracks is one of none, tasks, all, not 'some'\nlamella: options: calls: `x` should be all, one_in, threshold, tree or auto\n"
    assert done.stdout == wrong + b"lamella: /proc/never: not found\nlamella: no path and no LAMELLA_OUT\ndone\n", done.stdout
    rows = lib.view("hand")
    told = [(row["type"], row["kind"], row["label"], row.get("value")) for row in rows if row["type"] in ("interval", "instant", "integer") and row["kind"] != "Call"]
    assert told == [("interval", "Work", "mine", None), ("instant", "GenericActivity", "moment", None), ("integer", "GenericActivity", "how many", 42)], told
    counts, rows = names("c")
    labels = collections.Counter(row["label"] for row in rows if row["type"] == "interval")
    for label in ("sorted (C)", "list.append (C)", "len (C)"):
        assert labels[label] >= 1, labels
    assert counts[("<module>", "c_calls", "part", "loads")] == 1, counts
    assert not any("overlaps" in row["flags"] for row in rows if row["type"] == "interval"), rows
    is_whole(rows)


def test_intervals_in_a_tree(python, version):
    """Self times are no more than the threads' time from first to last, which the tree's calls belong to."""
    with open("threads.py", "w", encoding="utf-8") as file:
        file.write("import threading, time, lamella\ndef f():\n  with lamella.interval('mine'): time.sleep(0.02)\n"
                   "def main():\n  for _ in range(3): f()\n"
                   "threads = [threading.Thread(target=main) for _ in range(2)]\nf()\n"
                   "for thread in threads: thread.start()\nfor thread in threads: thread.join()\n")
    done = lib.record(python, "tree", "threads.py", options=["--calls", "tree"])
    assert done.returncode == 0 and not done.stderr, done
    report = json.loads(lib.lamella("report", "--format", "json", "tree"))
    mine, = (row for row in report["activities"] if row["label"] == "mine")
    assert mine["count"] == 7 and mine["self_s"] >= 0.14, mine
    used = sum(row["self_s"] for row in report["activities"])
    spans = sum(row["end_s"] - row["start_s"] for row in report["activity_threads"])
    assert used <= 1.005 * spans and b"more than" not in lib.lamella("report", "tree"), (used, spans)


def test_greenlets(python, version):
    if lib.run(python, "-c", "import greenlet").returncode:
        return
    situations(python, "all", "greenlets")
    counts, rows = names("greenlets")
    assert counts[("ping",)] == counts[("pong",)] == 1, counts
    assert counts[("pong", "inner")] == 3, counts
    assert not any("ping" in path and "pong" in path for path in counts), counts
    assert not any("inner" in path and "ping" in path for path in counts), counts
    is_whole(rows)


def test_host(python, version):
    """An interpreter inside of a program with threads of its own, which call into it while another one records."""
    config = lib.run(python, "-c", "import sysconfig as s; print(s.get_config_var('INCLUDEPY'), s.get_config_var('LIBDIR'), s.get_config_var('LDVERSION'))")
    include, libraries, suffix = config.stdout.decode().split()
    made = subprocess.run(["cc", "-O1", "-std=gnu17", f"-I{include}", os.path.join(lib.DATA, "host.c"), "-o", "host", f"-L{libraries}", f"-Wl,-rpath,{libraries}",
                           f"-lpython{suffix}", "-pthread"], capture_output=True, check=False)
    if made.returncode:
        assert b"cannot find -lpython" in made.stderr, made.stderr
        return
    for kept in ("", "keep"):
        done = lib.run("./host", *[kept] * bool(kept), env=lib.environment(PYTHONHOME=os.path.dirname(os.path.dirname(python))))
        assert done.returncode == 0 and done.stdout == b"8000\n" and not done.stderr, done
        counts, rows = names("host.out")
        per_thread = collections.Counter(row["thread"] for row in rows if row["type"] == "interval" and row["label"].startswith("work ("))
        if version >= (3, 12):
            assert len(per_thread) == 5 and list(per_thread.values()).count(2000) >= 4, per_thread
        elif kept:  # a new thread is met before another one has made 256 calls
            assert len(per_thread) == 5, per_thread
        else:  # thread states that live for one call are not met
            assert len(per_thread) >= 1, per_thread
        is_whole(rows)
        subprocess.run(["rm", "-rf", "host.out"], check=True)


if __name__ == "__main__":
    lib.main([test_start_and_stop, test_threads, test_fork_hooks, test_another_interpreter, test_by_hand, test_intervals_in_a_tree, test_greenlets, test_host])
