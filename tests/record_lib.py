# ctest: helper
"""What the tests of `lamella record` share. Each test is a script: functions named test_* run in order in a fresh directory."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

LAMELLA = os.environ.get("LAMELLA", "lamella")


class Skip(Exception):
    pass


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(got, wanted, what):
    check(got == wanted, f"{what}: {got!r}, wanted {wanted!r}")


def record(*command, out="r.lamella", options=(), **kwargs):
    """Runs lamella record; returns the finished process with stdout and stderr as bytes."""
    where = ["-o", out] if out else []
    kwargs.setdefault("timeout", 60)
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([LAMELLA, "record", *options, *where, "--", *command], capture_output=True, **kwargs)


def start(*command, out="r.lamella", options=(), **kwargs):
    where = ["-o", out] if out else []
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([LAMELLA, "record", *options, *where, "--", *command], **kwargs)


def session(path="r.lamella"):
    with open(os.path.join(path, "session.json"), encoding="utf-8") as file:
        return json.load(file)


def scratch_left(of=None):
    """Scratch directories below /dev/shm that name the recording `of` (all when None)."""
    left = []
    for name in os.listdir("/dev/shm"):
        if not name.startswith("lamella-rec."):
            continue
        try:
            with open(os.path.join("/dev/shm", name, "session.json"), encoding="utf-8") as file:
                directory = json.load(file)["directory"]
        except (OSError, ValueError, KeyError):
            continue
        if of is None or directory == os.path.abspath(of):
            left.append(os.path.join("/dev/shm", name))
    return left


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s for: {what}")


def complete(path="r.lamella"):
    """Checks what every recording that was not disturbed has."""
    info = session(path)
    check(info["complete"], f"{path} is complete")
    check("scratch" not in info, f"{path} names no scratch place any more")
    check(not os.path.exists(os.path.join(path, ".scratch")), f"{path} holds no scratch directory")
    equal(scratch_left(path), [], "scratch directories left")
    return info


def compile_c(name, text, *flags):
    with open(name + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", name, name + ".c", *flags], check=True)
    return os.path.abspath(name)


def main(names):
    """Runs the test_* functions among `names` (globals()); the exit code is for ctest: 77 when all were skipped."""
    failed = ran = 0
    for name, function in list(names.items()):
        if not name.startswith("test_"):
            continue
        here, place = os.getcwd(), tempfile.mkdtemp(prefix="lamella-test-")
        os.chdir(place)
        try:
            function()
            ran += 1
            print(f"ok    {name}")
        except Skip as why:
            print(f"skip  {name}: {why}")
        except Exception:
            failed += 1
            print(f"FAIL  {name}: {traceback.format_exc(limit=-2)}")
        finally:
            os.chdir(here)
            subprocess.run(["chmod", "-fR", "u+w", place], check=False)
            shutil.rmtree(place, ignore_errors=True)
    sys.exit(1 if failed else 0 if ran else 77)
