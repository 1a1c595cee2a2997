# ctest: helper
"""What the tests of the Python plug-in share. Each runs with every interpreter that the plug-in was built for."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

LAMELLA = os.environ["LAMELLA"]
BUILD = os.environ["LAMELLA_BUILD"]
DATA = os.path.join(os.environ["LAMELLA_SRC"], "tests", "data", "python")
PACKAGE = os.path.join(BUILD, "plugins", "python")


def interpreters():
    """[(path, version)]"""
    try:
        with open(os.path.join(PACKAGE, "interpreters"), encoding="utf-8") as file:
            return [(line.rsplit(" ", 1)[0], tuple(map(int, line.split()[-1].split(".")))) for line in file]
    except FileNotFoundError:
        print("the Python plug-in was not built")
        sys.exit(77)


def environment(**more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LAMELLA_O", "PYTHON"))}
    return {**kept, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", **more}


def run(*command, **options):
    options.setdefault("env", environment())
    options.setdefault("timeout", 120)
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)


def record(python, out, *program, options=(), **kwargs):
    return run(python, "-m", "lamella", "-o", out, *options, *program, **kwargs)


def lamella(*arguments):
    done = subprocess.run([LAMELLA, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def view(path, *options):
    return [json.loads(line) for line in lamella("view", "--format", "json", *options, path).decode("utf-8", "surrogateescape").splitlines()]


def calls(rows):
    """(row, its path of labels, outermost first) of each call; parents come before their children in the output of a track."""
    stacks = collections.defaultdict(list)
    intervals = [row for row in rows if row["type"] == "interval" and row["kind"] == "Call"]
    for row in sorted(intervals, key=lambda row: (row["process"], row["start_ns"], row["depth"])):
        stack = stacks[row["process"], row.get("track") or -row["thread"]]
        del stack[row["depth"]:]
        assert len(stack) == row["depth"], f"{row} lies in nothing"
        stack.append(row["label"])
        yield row, stack


def paths(rows, file):
    """How often each path of functions of `file` was called, labels in count_calls.py's form."""
    pattern = re.compile(r"(.*) \((?:.*/)?" + re.escape(file) + r":(\d+)\)$")
    counts = collections.Counter()
    for row, stack in calls(rows):
        if pattern.match(row["label"]):
            counts[";".join(pattern.sub(r"\1:\2", label) for label in stack if pattern.match(label))] += 1
    return counts


def main(tests, each=True):
    """Runs the functions with each interpreter, each in a directory of its own."""
    failed = 0
    only = sys.argv[1:]  # versions and tests, when run by hand
    for python, version in interpreters() if each else interpreters()[:1]:
        for test in tests:
            if any(word not in (test.__name__, ".".join(map(str, version))) for word in only):
                continue
            with tempfile.TemporaryDirectory() as directory:
                os.chdir(directory)
                try:
                    test(python, version)
                except AssertionError as error:
                    failed += 1
                    print(f"{'.'.join(map(str, version))} {test.__name__}: {error}")
                os.chdir("/")
    sys.exit(1 if failed else 0)
