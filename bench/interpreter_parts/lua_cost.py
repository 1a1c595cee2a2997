#!/usr/bin/env python3
"""The Lua part of bench/interpreters: nanoseconds and bytes a call, by program and policy, beside an empty hook of C (the floor of all
recorders) and an empty hook of Lua (what debug.sethook costs); with --budget SECONDS, a loop of that length under 50 MB in each
bounded policy; with --instructions, instructions a call by callgrind."""

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
LUA = shutil.which("lua5.4") or shutil.which("lua")
PROGRAMS = {"nbody": 100_000, "binary_trees": 16, "pancakes": 9}
SMALL = {"nbody": (1000, 4000), "binary_trees": (6, 10), "pancakes": (5, 7)}  # for counting instructions
POLICIES = ["all", "one_in:100", "threshold:10us", "tree"]
BOUNDED = ["threshold:10us", "tree", "auto:20M", "one_in:1000"]
FLIGHT = "mode=flight"


def recorded_bytes(out):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(out) for name in names if name.endswith(".lam"))


def environment(directory, policy=None, options=""):
    env = {**os.environ, "LUA_CPATH": f"{os.path.abspath(BUILD)}/plugins/lua/?.so;{directory}/?.so;;"}
    env.pop("LAMELLA_OUT", None)
    if policy:
        calls = "" if policy in ("all", FLIGHT) else f"calls={policy}"
        env["LAMELLA_OUT"] = os.path.join(directory, "out")
        env["LAMELLA_OPTIONS"] = ",".join(part for part in (calls, FLIGHT if policy == FLIGHT else "", options) if part)
    return env


def run(how, program, size, directory, prefix=()):
    """(result, CPU seconds, calls, bytes)"""
    policy = how.removeprefix("lamella ") if how.startswith("lamella ") else None
    out = os.path.join(directory, "out")
    shutil.rmtree(out, ignore_errors=True)
    command = [*prefix, LUA, os.path.join(HERE, "lua_run.lua"), "lamella" if policy else how, program, str(size)]
    done = subprocess.run(command, env=environment(directory, policy), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    result, seconds, calls = done.stdout.rstrip("\n").split("\t")
    return result, float(seconds), int(calls), recorded_bytes(out) if policy else 0


def compare(program, size, runs, directory):
    ways = ["plain", "hook of C", "hook of Lua", *(f"lamella {policy}" for policy in POLICIES)]
    calls = run("count", program, size, directory)[2]
    taken = {how: [] for how in ways}
    for _ in range(runs):
        for how in ways:
            taken[how].append(run(how, program, size, directory))
    results = {one[0] for rows in taken.values() for one in rows}
    if len(results) != 1:
        sys.exit(f"{program}: results differ: {results}")
    middle = {how: statistics.median(one[1] for one in rows) for how, rows in taken.items()}
    plain, hook, of_lua = (middle[how] for how in ways[:3])
    print(f"\n{program}, Lua 5.4: {calls:,} calls, {plain:.2f} s")
    print(f"  {'':24} {'ns a call':>9} {'÷ C hook':>9} {'÷ Lua hook':>10} {'÷ plain':>8} {'bytes a call':>12}")
    for how in ways[1:]:
        more = middle[how] - plain
        bytes_a_call = f"{taken[how][0][3] / calls:.2f}" if how.startswith("lamella") else ""
        print(f"  {how:24} {more / calls * 1e9:9.1f} {more / (hook - plain):9.2f} {more / (of_lua - plain):10.2f} {middle[how] / plain:8.2f} {bytes_a_call:>12}")


def instructions(program, directory):
    """Instructions a call beyond those of the plain run, from two lengths of the program, so that starting and the first calls of each
    function do not count. By counting: other work on the machine does not matter."""
    sizes = SMALL[program]
    calls = [run("count", program, size, directory)[2] for size in sizes]
    costs = {}
    for how in ["plain", "hook of C", "hook of Lua", *(f"lamella {policy}" for policy in POLICIES)]:
        found = []
        for size in sizes:
            file = os.path.join(directory, "callgrind.out")
            run(how, program, size, directory, ("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={file}"))
            with open(file, encoding="utf-8", errors="replace") as text:
                found.append(int(re.search(r"^(?:summary|totals): (\d+)", text.read(), re.MULTILINE)[1]))
        costs[how] = (found[1] - found[0]) / (calls[1] - calls[0])
    print(f"\n{program}: instructions a call ({calls[1] - calls[0]:,} calls), {costs['plain']:.0f} of the program itself")
    floor = costs["hook of C"] - costs["plain"]
    for how, cost in costs.items():
        if how != "plain":
            print(f"  {how:24} {cost - costs['plain']:6.0f} {(cost - costs['plain']) / floor:6.2f} times the hook of C")


LOOP = """
local function leaf(n) return n end
local function numbers(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local function middle(n) local x = 0 for i = 1, n % 5 do x = x + leaf(i) end for i in numbers(3) do x = x + i end return x end
local finish = os.time() + tonumber(arg[1])
while os.time() < finish do for i = 1, 1000 do middle(i) end end
"""


def budget(seconds, directory):
    print(f"\na loop of {seconds:g} s with max_bytes=50M")
    script = os.path.join(directory, "loop.lua")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LOOP)
    for policy in [*BOUNDED, FLIGHT]:
        out = os.path.join(directory, "out")
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([LUA, "-l", "lamella", script, str(int(seconds))], env=environment(directory, policy, "max_bytes=50M"), check=True)
        report = subprocess.run([LAMELLA, "report", "--top", "4", out], stdout=subprocess.PIPE, check=True, text=True).stdout
        size = recorded_bytes(out)
        print(f"  {policy:15} {size / 1e6:5.1f} MB{'' if size < 50 << 20 else '  MORE THAN THE BUDGET'}")
        print(re.sub("^", "      ", report, flags=re.MULTILINE))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="the bounded loop, and nothing else")
    parser.add_argument("--instructions", action="store_true", help="count instructions, and nothing else")
    args, _ = parser.parse_known_args()
    if not LUA or not os.path.exists(os.path.join(BUILD, "plugins", "lua", "lamella.so")):
        sys.exit("Lua 5.4 is not installed, or the Lua plug-in was not built")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        if args.budget:
            budget(args.budget, directory)
            return
        flags = subprocess.run(["pkg-config", "--cflags", "lua5.4"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", *flags, os.path.join(HERE, "empty_lua_hook.c"), "-o", f"{directory}/empty_lua_hook.so"], check=True)
        for program, size in PROGRAMS.items():
            if args.program not in (None, program):
                continue
            if args.instructions:
                instructions(program, directory)
            else:
                compare(program, size, args.runs, directory)


if __name__ == "__main__":
    main()
