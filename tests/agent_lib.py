# ctest: helper
"""What the tests of the sampling agent share: programs to run plain and recorded, as several users, and what a recording says."""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *

BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
SRC = os.environ.get("LAMELLA_SRC", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(BUILD, "tests", "programs")
ENGINES = ("sigtrap", "thread-perf", "cpu-timer")


def program(name):
    """The path of a built program of tests/programs; skips the test where it could not be built."""
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise Skip(f"{name} was not built (its compiler is not installed)")
    return path


def optional(name, *command):
    """Builds a program of tests/programs/optional into the test's directory; skips where the compiler cannot."""
    source = os.path.join(SRC, "tests", "programs", "optional", name)
    output = os.path.abspath(name.split(".")[0])
    words = [word.replace("SOURCE", source).replace("OUTPUT", output) for word in command]
    if not shutil.which(words[0]):
        raise Skip(f"{words[0]} is not installed")
    env = dict(os.environ, HOME=os.environ.get("HOME", os.getcwd()), CGO_ENABLED=os.environ.get("CGO_ENABLED", "1"))
    # Go's own library is compiled once, for all tests and presets.
    env.setdefault("GOCACHE", os.path.join(os.path.abspath(SRC), "build", "gocache"))
    env.setdefault("GOFLAGS", "-mod=mod")
    done = subprocess.run(words, capture_output=True, env=env)
    if done.returncode:
        raise Skip(f"{name} cannot be built here: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return output


def plain(*command, **kwargs):
    kwargs.setdefault("timeout", 120)
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, capture_output=True, **kwargs)


def shell_code(returncode):
    """What `lamella record` ends with when its command ended so."""
    return 128 - returncode if returncode < 0 else returncode


def same(command, out="r.lamella", options=(), before=(), first=None, **kwargs):
    """Runs the command plain (or takes what it did so before, `first`) and recorded and wants the same stdout, stderr and exit code.
    Returns the recorded run."""
    kwargs.setdefault("timeout", 120)
    first = first or plain(*command, **kwargs)
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([*before, LAMELLA, "record", "-q", *options, "-o", out, "--", *command], capture_output=True, **kwargs)
    what = " ".join([*before, *options, *map(str, command)])
    equal(done.returncode, shell_code(first.returncode), f"exit code of {what}\n{done.stderr.decode(errors='replace')}")
    equal(done.stdout, first.stdout, f"stdout of {what}")
    # What lamella has to say itself (a program that could not be sampled) begins with its name.
    told = [line for line in done.stderr.splitlines(keepends=True) if line.startswith(b"lamella: ")]
    rest = b"".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith(b"lamella: "))
    equal(rest, first.stderr, f"stderr of {what}")
    done.told = b"".join(told)
    return done


def report(path="r.lamella"):
    done = subprocess.run([LAMELLA, "report", "--format", "json", path], capture_output=True, timeout=120)
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def view(path="r.lamella", *options):
    """All objects of `lamella view --format json`."""
    done = subprocess.run([LAMELLA, "view", "--format", "json", *options, path], capture_output=True, timeout=300)
    equal(done.returncode, 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(events, kind):
    return [event for event in events if event["type"] == kind]


def names(sample):
    return [frame.get("name") for frame in sample["frames"]]


def shares(samples):
    """Share of the CPU time by the function that is not inlined and stands innermost among those of the program itself."""
    total = sum(sample["cpu_ns"] for sample in samples)
    by_name = {}
    for sample in samples:
        for name in set(names(sample)):
            by_name[name] = by_name.get(name, 0) + sample["cpu_ns"]
    return {name: ns / total for name, ns in by_name.items()}


def process(found, exe, **wanted):
    """The processes of a report whose program has this base name, and these values."""
    return [entry for entry in found["processes"] if entry["exe"] and os.path.basename(entry["exe"]) == exe
            and all(entry[key] == value for key, value in wanted.items())]


def adds_up(found, within=0.01):
    """Interrupted, late, startup, tail, unsampled and running CPU time account for the charge."""
    coverage = found["coverage"]
    parts = sum(coverage[key] or 0 for key in ("sampled_cpu_s", "late_cpu_s", "startup_cpu_s", "tail_cpu_s", "unsampled_cpu_s", "unaccounted_cpu_s", "running_cpu_s"))
    total = coverage["process_cpu_s"]
    check(abs(parts - total) <= within * total + 0.02, f"the parts are {parts}, the charge {total}: {coverage}")
    check(abs(coverage["unaccounted_cpu_s"] or 0) <= within * total + 0.02, f"unaccounted: {coverage}")
    equal(coverage["lost_samples"], 0, "lost samples")


def ordinary_user():
    """Words before a command that make it run as nobody; skips where that cannot be done."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    os.chmod(".", 0o777)
    words = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if subprocess.run([*words, "test", "-x", os.path.abspath(LAMELLA)]).returncode:
        raise Skip("the build lies where an ordinary user cannot look")
    return words


def without_perf():
    return [program("seccomp_deny"), "perf"]
