"""lamella selftest: what it prints, and that it finds what is wrong."""
# ctest: TIMEOUT 900 RUN_SERIAL ON

import json
import os
import shutil
import stat
import subprocess
import tempfile

from record_lib import LAMELLA, check, equal, main


def selftest(*options, **kwargs):
    return subprocess.run([LAMELLA, "selftest", *options], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, **kwargs)


def test_cpu_timer_works_everywhere():
    run = selftest("--engine", "cpu-timer", "--format", "json")
    check(run.returncode in (0, 1), f"exit code {run.returncode}: {run.stderr}")
    got = json.loads(run.stdout)
    equal(got["format"], "lamella-selftest", "format")
    (engine,) = got["engines"]
    equal(engine["engine"], "cpu_timer", "engine")
    check(engine["samples"] > 1000, f"{engine['samples']} samples")
    outside = [row for row in engine["rows"] if not row["good"]]
    equal(engine["failures"], len(outside), "failures")
    equal(run.returncode, 1 if outside else 0, f"exit code with {outside}")
    check(engine["cost"]["warm_sample_s"] > 0 and engine["cost"]["cold_sample_s"] > 0, f"costs: {engine['cost']}")
    rows = {(row["program"], row["what"]): row for row in engine["rows"]}
    for program, what in (("thief", "signals not its own"), ("short-processes", "processes"), ("forks", "processes not sampled"),
                          ("recursion", "st_depth_500 cut short")):
        check(rows[program, what]["good"], f"{program}: {rows[program, what]}")
    # Whether these are inside their narrow bounds depends on what else runs: where threads queue for a core, the ends of their
    # turns fall on the tick that this engine lives on.
    for program, what in (("shares", "st_share_40"), ("system-calls", "st_in_system_calls")):
        row = rows[program, what]
        check(abs(row["seen"] - row["known"]) < 0.25, f"{program}: {row}")


def test_unknown_engine_is_refused():
    run = selftest("--engine", "guess")
    equal(run.returncode, 2, "exit code")
    check("sigtrap, thread-perf or cpu-timer" in run.stderr, run.stderr)


def test_a_program_that_lies_is_found():
    """The helper claims twice the time for one of its functions: the share must be outside what is allowed."""
    place = tempfile.mkdtemp()
    try:
        build = os.path.dirname(LAMELLA)
        for name in ("lamella", "liblamella-agent.so"):
            shutil.copy(os.path.join(build, name), place)
        helper = os.path.join(place, "lamella-selftest")
        with open(helper, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n{build}/lamella-selftest "$@" || exit\n'
                       "sed -i 's/^function st_share_10 /&9/' \"$2\"\n")
        os.chmod(helper, 0o755 | stat.S_IXUSR)
        env = {**os.environ, "LAMELLA_AGENT_SO": os.path.join(place, "liblamella-agent.so")}
        run = subprocess.run([os.path.join(place, "lamella"), "selftest", "--engine", "cpu-timer"], env=env, capture_output=True, text=True,
                             timeout=600, stdin=subprocess.DEVNULL, check=False)
        equal(run.returncode, 1, f"exit code; {run.stdout}{run.stderr}")
        line = next((x for x in run.stdout.splitlines() if "st_share_10" in x), "")
        check("OUTSIDE" in line, f"the row of st_share_10: {line!r} {run.stderr}")
    finally:
        shutil.rmtree(place)


main(globals())
