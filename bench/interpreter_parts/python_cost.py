#!/usr/bin/env python3
"""The Python part of bench/interpreters: bytes and nanoseconds a call, by interpreter, program and policy; with --budget SECONDS, a
loop of that length under 50 MB in each bounded policy."""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
LAMELLA = os.environ.get("LAMELLA", "build/release/lamella")
PACKAGE = os.path.join(os.path.abspath(BUILD), "plugins", "python")
PROGRAMS = {"raytrace": 120, "queens": 8, "async_tree": 6}
POLICIES = ["all", "one_in:100", "threshold:10us", "tree", "all tracks=none", "one_in:100 tracks=none"]
BOUNDED = ["threshold:10us", "tree", "auto:20M", "one_in:1000", "mode=flight"]


def build_empty_hook(python, directory):
    query = "import sysconfig as s; print(s.get_config_var('INCLUDEPY'), s.get_config_var('EXT_SUFFIX'))"
    include, suffix = subprocess.run([python, "-c", query], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{include}", os.path.join(HERE, "empty_hook.c"), "-o", f"{directory}/empty_hook{suffix}"], check=True)


def peers(version):
    """Where other profilers for that version are, if not among its own modules: LAMELLA_PEERS/3.13, say."""
    root = os.environ.get("LAMELLA_PEERS")
    return [os.path.join(root, "{}.{}".format(*version))] if root else []


def recorded_bytes(out):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(out) for name in names if name.endswith(".lam"))


def run(python, version, how, program, size, directory):
    """(result, CPU seconds, calls, bytes)"""
    out = os.path.join(directory, "out")
    shutil.rmtree(out, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, directory, HERE, *peers(version)]), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, os.path.join(HERE, "python_run.py"), "plain" if how == "py-spy" else how, program, str(size), out]
    if how == "py-spy":
        command = ["py-spy", "record", "-o", os.path.join(directory, "spy.txt"), "--format", "raw", "--", *command]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    result, seconds, calls, whole = next(line for line in done.stdout.splitlines() if line and not line.startswith("py-spy")).split()
    seconds = float(seconds)
    if how == "py-spy":  # it works in a process of its own, which also waited for the program
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - float(whole)
    return result, seconds, int(calls), recorded_bytes(out) if os.path.exists(out) else 0


def compare(python, version, program, size, runs, directory):
    ways = ["plain", "empty profile", *(["empty monitoring"] if version >= (3, 12) else []), *(f"lamella {policy}" for policy in POLICIES), "cProfile"]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(peers(version))}
    found = {
        "pyinstrument": subprocess.run([python, "-c", "import pyinstrument"], env=path, stderr=subprocess.DEVNULL, check=False).returncode == 0,
        "py-spy": shutil.which("py-spy") is not None,
    }
    ways += [name for name, is_there in found.items() if is_there]
    taken = {how: [] for how in ways}
    for _ in range(runs):
        for how in ways:
            taken[how].append(run(python, version, how, program, size, directory))
    results = {one[0] for rows in taken.values() for one in rows}
    if len(results) != 1:
        sys.exit(f"{program}: results differ: {results}")
    calls = taken["empty profile"][0][2]
    plain = statistics.median(one[1] for one in taken["plain"])
    hook = statistics.median(one[1] for one in taken["empty profile"]) - plain
    tool = statistics.median(one[1] for one in taken["empty monitoring"]) - plain if "empty monitoring" in taken else 0
    print(f"\n{program} on CPython {'.'.join(map(str, version))}: {calls:,} calls, {plain:.2f} s")
    print(f"  {'':30} {'ns a call':>9} {'÷ empty hook':>12} {'÷ empty tool' if tool else '':>12} {'÷ plain':>8} {'bytes a call':>12}")
    for how in ways[1:]:
        seconds = statistics.median(one[1] for one in taken[how])
        bytes_a_call = f"{taken[how][0][3] / calls:.1f}" if how.startswith("lamella") else ""
        print(f"  {how:30} {(seconds - plain) / calls * 1e9:9.0f} {(seconds - plain) / hook:12.2f} {f'{(seconds - plain) / tool:.2f}' if tool else '':>12} {seconds / plain:8.2f} {bytes_a_call:>12}")
    for name, is_there in found.items():
        if not is_there:
            print(f"  {name:30} is not installed: skipped")


def budget(python, seconds, pause, directory):
    """All policies at the same time, each in a process that records python_loop.py."""
    print(f"\na loop of {seconds:g} s under max_bytes=50M, a pause of {pause:g} s behind each burst", flush=True)
    begun = {}
    for policy in BOUNDED:
        out = os.path.join(directory, policy)
        how = ["--options", policy] if "mode=" in policy else ["--calls", policy]
        command = [python, "-m", "lamella", "-o", out, "--max-bytes", "50M", *how, os.path.join(HERE, "python_loop.py"), str(seconds), str(pause)]
        begun[policy] = out, subprocess.Popen(command, env={**os.environ, "PYTHONPATH": PACKAGE}, stdout=subprocess.PIPE, text=True)
    for policy, (out, process) in begun.items():
        made = json.loads(process.communicate()[0])
        report = json.loads(subprocess.run([LAMELLA, "report", "--format", "json", out], stdout=subprocess.PIPE, check=True, text=True).stdout)
        told = {row["label"].split(" ")[0]: row for row in report["activities"] if "(python_loop.py:" in row["label"]}
        size = recorded_bytes(out)
        print(f"  {policy}: {size / 1e6:.1f} MB{'' if size < 50 << 20 else ', MORE THAN THE BUDGET'}")
        for name, calls in made.items():
            row = told.get(name, {"count": 0, "self_s": 0})
            print(f"      {name:10} called {calls:12,} times, told {row['count']:12,}, self time {row['self_s']:8.2f} s")
        for finding in report["findings"]:
            print(f"      {finding['text']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--python", help="only this version")
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="the bounded loop, and nothing else")
    parser.add_argument("--pause", type=float, default=0, metavar="SECONDS", help="between two bursts of that loop")
    args = parser.parse_args()
    try:
        with open(os.path.join(PACKAGE, "interpreters"), encoding="utf-8") as file:
            found = [(line.rsplit(" ", 1)[0], tuple(map(int, line.split()[-1].split(".")))) for line in file]
    except FileNotFoundError:
        sys.exit("the Python plug-in was not built")
    for python, version in found:
        if args.python and args.python != ".".join(map(str, version)):
            continue
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            if args.budget:
                budget(python, args.budget, args.pause, directory)
                continue
            build_empty_hook(python, directory)
            for program, size in PROGRAMS.items():
                if args.program in (None, program):
                    compare(python, version, program, size, args.runs, directory)


if __name__ == "__main__":
    main()
