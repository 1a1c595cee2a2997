#!/usr/bin/env python3
"""The Python part of bench/interpreters: bytes and nanoseconds a call, by interpreter, program and policy; with --budget SECONDS, a
loop of that length under 50 MB in each bounded policy."""

import argparse
import os
import re
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
BOUNDED = ["threshold:10us", "tree", "auto:20M", "one_in:1000"]


def build_empty_hook(python, directory):
    query = "import sysconfig as s; print(s.get_config_var('INCLUDEPY'), s.get_config_var('EXT_SUFFIX'))"
    include, suffix = subprocess.run([python, "-c", query], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{include}", os.path.join(HERE, "empty_hook.c"), "-o", f"{directory}/empty_hook{suffix}"], check=True)


def recorded_bytes(out):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(out) for name in names if name.endswith(".lam"))


def run(python, how, program, size, directory):
    """(result, CPU seconds, calls, bytes)"""
    out = os.path.join(directory, "out")
    shutil.rmtree(out, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, directory, HERE]), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, os.path.join(HERE, "python_run.py"), "plain" if how == "py-spy" else how, program, str(size), out]
    if how == "py-spy":
        command = ["py-spy", "record", "--silent", "-o", os.path.join(directory, "spy.svg"), "--", *command]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    result, seconds, calls = done.stdout.split()
    return result, float(seconds), int(calls), recorded_bytes(out) if os.path.exists(out) else 0


def compare(python, version, program, size, runs, directory):
    ways = ["plain", "empty profile", *(["empty monitoring"] if version >= (3, 12) else []), *(f"lamella {policy}" for policy in POLICIES), "cProfile"]
    if subprocess.run([python, "-c", "import pyinstrument"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        ways.append("pyinstrument")
    if shutil.which("py-spy"):
        ways.append("py-spy")
    taken = {how: [] for how in ways}
    for _ in range(runs):
        for how in ways:
            taken[how].append(run(python, how, program, size, directory))
    results = {one[0] for rows in taken.values() for one in rows}
    if len(results) != 1:
        sys.exit(f"{program}: results differ: {results}")
    calls = taken["empty profile"][0][2]
    plain = statistics.median(one[1] for one in taken["plain"])
    hook = statistics.median(one[1] for one in taken["empty profile"]) - plain
    print(f"\n{program} on CPython {'.'.join(map(str, version))}: {calls:,} calls, {plain:.2f} s")
    print(f"  {'':30} {'ns a call':>9} {'÷ empty hook':>12} {'÷ plain':>8} {'bytes a call':>12}")
    for how in ways[1:]:
        seconds = statistics.median(one[1] for one in taken[how])
        bytes_a_call = f"{taken[how][0][3] / calls:.1f}" if how.startswith("lamella") else ""
        print(f"  {how:30} {(seconds - plain) / calls * 1e9:9.0f} {(seconds - plain) / hook:12.2f} {seconds / plain:8.2f} {bytes_a_call:>12}")


LOOP = """
import sys, time
def leaf(n): return n
def middle(n): return [leaf(i) for i in range(n % 5)] and sum(numbers(3))
def numbers(n):
    for i in range(n): yield i
calls, end = 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for i in range(1000): middle(i)
"""


def budget(python, seconds, directory):
    print(f"\na loop of {seconds:g} s with max_bytes=50M")
    script = os.path.join(directory, "loop.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LOOP)
    for policy in BOUNDED:
        out = os.path.join(directory, "loop.out")
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([python, "-m", "lamella", "-o", out, "--max-bytes", "50M", "--calls", policy, script, str(seconds)],
                       env={**os.environ, "PYTHONPATH": PACKAGE}, check=True)
        report = subprocess.run([LAMELLA, "report", "--top", "3", out], stdout=subprocess.PIPE, check=True, text=True).stdout
        size = recorded_bytes(out)
        print(f"  {policy:15} {size / 1e6:5.1f} MB{'' if size < 50 << 20 else '  MORE THAN THE BUDGET'}")
        print(re.sub("^", "      ", report, flags=re.MULTILINE))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--python", help="only this version")
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="the bounded loop, and nothing else")
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
                budget(python, args.budget, directory)
                continue
            build_empty_hook(python, directory)
            for program, size in PROGRAMS.items():
                if args.program in (None, program):
                    compare(python, version, program, size, args.runs, directory)


if __name__ == "__main__":
    main()
