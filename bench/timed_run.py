"""Runs commands and says what they took; medians; what machine this is."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time


class Run:
    """A finished command. cpu_s is user + system of it and of all descendants that were waited for."""

    def __init__(self, code, wall_s, usage, stdout, stderr):
        self.code, self.wall_s = code, wall_s
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_bytes = usage.ru_maxrss * 1024
        self.stdout, self.stderr = stdout, stderr


def timed(command, cwd=None, env=None, timeout_s=3600):
    """Runs a command with its output in files; kills its whole session when it takes longer than timeout_s (code None)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            code, usage = wait(child, start + timeout_s)
        except BaseException:
            kill(child)
            raise
        wall_s = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        return Run(code, wall_s, usage, out.read(), err.read())


def wait(child, deadline):
    pause = 0.001
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage
        if time.monotonic() > deadline:
            return None, kill(child)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)


def kill(child):
    os.killpg(child.pid, 9)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def need(run, what):
    """The run, when it ended well; otherwise says what it printed and ends."""
    if run.code != 0:
        tail = (run.stdout + run.stderr).decode(errors="replace").strip().splitlines()[-12:]
        sys.exit(f"{what} {'did not end in time' if run.code is None else f'ended with {run.code}'}:\n  " + "\n  ".join(tail))
    return run


def median(values):
    values = sorted(v for v in values if v is not None)
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def spread(values):
    """Half the distance between the quartiles, as a share of the median."""
    values = sorted(values)
    if len(values) < 3 or not median(values):
        return None
    return (values[(3 * len(values)) // 4] - values[len(values) // 4]) / 2 / median(values)


def lamella():
    path = os.environ.get("LAMELLA") or shutil.which("lamella")
    if not path:
        sys.exit("set LAMELLA to the lamella program, or run this through script/bench")
    return path


def bench_program(name):
    """A program made from bench/programs."""
    build = os.environ.get("LAMELLA_BUILD") or os.path.dirname(lamella())
    path = os.path.join(build, "bench", "programs", name)
    return path if os.access(path, os.X_OK) else None


def find_tool(name):
    """A peer: in $LAMELLA_PEERS (a directory, or its bin), or on PATH."""
    peers = os.environ.get("LAMELLA_PEERS")
    for directory in ([peers, os.path.join(peers, "bin")] if peers else []):
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK):
            return path
    return shutil.which(name)


def read_first(path, pattern):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
        return found[1].strip() if found else None
    except OSError:
        return None


def version_of(*command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        return (done.stdout or done.stderr).strip().splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return None


def machine():
    """One line."""
    cpu = read_first("/proc/cpuinfo", r"^model name\s*:\s*(.+)$") or platform.machine()
    memory = read_first("/proc/meminfo", r"^MemTotal:\s*(\d+)")
    parts = [
        f"{os.cpu_count()} cores of {cpu}",
        f"{int(memory) / 1e6:.0f} GB" if memory else None,
        "virtual" if read_first("/proc/cpuinfo", r"^flags\s*:.*\b(hypervisor)\b") else None,
        f"kernel {platform.release()}",
        read_first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]+)'),
        f"perf_event_paranoid {read_first('/proc/sys/kernel/perf_event_paranoid', '(.+)')}",
        version_of("rustc", "--version"),
        f"load {os.getloadavg()[0]:.1f} at the start",
    ]
    return ", ".join(p for p in parts if p)


def markdown(header, rows):
    """A table; cells are texts."""
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" if i == 0 else "---:" for i in range(len(header))) + " |"]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows])


def number(value, digits=1, unit="", none="-"):
    return none if value is None else f"{value:,.{digits}f}{unit}"


def percent(value, digits=1, none="-"):
    return none if value is None else f"{value * 100:.{digits}f}%"


def percent_added(value, base, digits=1):
    return "-" if value is None or not base else f"{(value / base - 1) * 100:+.{digits}f}%"
