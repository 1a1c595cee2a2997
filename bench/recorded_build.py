"""A workspace that is built again and again, plain and recorded, and what a recording of it says."""

import collections
import json
import os
import shutil
import struct
import subprocess
import sys

from timed_run import lamella, need, timed

BENCH = os.path.dirname(os.path.abspath(__file__))


def build_environment(**extra):
    """The caller's, without what would make builds differ."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CARGO_BUILD_", "LAMELLA_OUT", "RUSTFLAGS", "RUSTC_WRAPPER"))}
    env.update({"CARGO_NET_OFFLINE": "true", "CARGO_TERM_COLOR": "never", "CARGO_INCREMENTAL": "0"}, **extra)
    return env


class Build:
    """A directory with a Cargo project."""

    def __init__(self, name, directory, command=("cargo", "build", "--quiet"), env=None):
        self.name, self.directory, self.command = name, directory, list(command)
        self.env = env or build_environment()

    def clean(self):
        shutil.rmtree(os.path.join(self.directory, "target"), ignore_errors=True)

    def plain(self, prefix=(), timeout_s=3600):
        self.clean()
        return timed([*prefix, *self.command], cwd=self.directory, env=self.env, timeout_s=timeout_s)

    def recorded(self, out, options=(), timeout_s=3600):
        shutil.rmtree(out, ignore_errors=True)
        return self.plain([lamella(), "record", "--quiet", "-o", out, *options, "--"], timeout_s)


def make_workspace(directory, shape="bench", *options):
    if not os.path.exists(os.path.join(directory, "Cargo.toml")):
        need(timed([os.path.join(BENCH, "make-workspace"), "--shape", shape, *options, directory]), "make-workspace")
    return Build("workspace", directory)


def fetch_application(directory):
    """A well-known application, when the package registry can be reached; None otherwise."""
    script = os.path.join(BENCH, "fetch-application")
    if not os.access(script, os.X_OK):
        return None
    run = timed([script, directory], timeout_s=900)
    if run.code != 0:
        why = (run.stderr or run.stdout).decode(errors="replace").strip().splitlines()
        print("no application:", why[-1] if why else f"fetch-application ended with {run.code}", file=sys.stderr)
        return None
    projects = [e.path for e in os.scandir(directory) if os.path.exists(os.path.join(e.path, "Cargo.lock"))]
    return Build("application", projects[0], ["cargo", "build", "--quiet", "--offline", "--locked"]) if projects else None


def report(recording):
    done = need(timed([lamella(), "report", "--format", "json", recording]), f"report {recording}")
    return json.loads(done.stdout)


def session(recording):
    with open(os.path.join(recording, "session.json"), encoding="utf-8") as file:
        return json.load(file)


def size_bytes(recording, suffix=""):
    return sum(e.stat().st_size for e in os.scandir(recording) if e.is_file() and e.name.endswith(suffix))


def view(recording, *options):
    """The lines of `lamella view --format json`, one after the other, as objects."""
    child = subprocess.Popen([lamella(), "view", "--format", "json", *options, recording], stdout=subprocess.PIPE)
    try:
        yield from map(json.loads, child.stdout)
    finally:
        child.stdout.close()
        if child.wait() not in (0, -13):
            sys.exit(f"view {recording} ended with {child.returncode}")


# ---- stacks ----


def has_symbol_table(path):
    """Whether an ELF file has a .symtab."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:5] != b"\x7fELF\x02":
                return False
            (offset,) = struct.unpack_from("<Q", head, 40)
            entry_size, count = struct.unpack_from("<HH", head, 58)
            file.seek(offset)
            table = file.read(entry_size * count)
    except OSError:
        return False
    return any(struct.unpack_from("<I", table, i * entry_size + 4)[0] == 2 for i in range(len(table) // max(entry_size, 1)))


FAMILIES = ["rustc", "LLVM in rustc", "cargo", "cc1", "ld", "lld", "other"]


def family(program, module):
    if program == "rustc":
        return "LLVM in rustc" if module and "LLVM" in os.path.basename(module) else "rustc"
    if program in ("cargo", "cc1"):
        return program
    if program in ("rust-lld", "ld.lld", "lld"):
        return "lld"
    if program in ("ld", "ld.bfd", "ld.gold", "x86_64-linux-gnu-ld", "x86_64-linux-gnu-ld.bfd"):
        return "ld"
    return "other"


class Stacks:
    """Counts over the samples of a recording: how many stacks reach their root, how many frames have a name."""

    def __init__(self, recording):
        self.samples, self.rooted, self.frames = (collections.Counter() for _ in range(3))
        self.named_frames = self.frames_with_symbols = 0
        symbols = {}
        programs = {}
        for line in view(recording, "--show", "processes,samples"):
            if line["type"] == "process":
                programs[line["process"]] = os.path.basename(line["exe"] or line["comm"] or "")
            elif line["type"] == "sample":
                self.add(line, programs.get(line["process"], ""), symbols)

    def add(self, sample, program, symbols):
        frames = [f for f in sample["frames"] if not f.get("inlined")]
        kind = family(program, frames[0]["module"] if frames else None)
        self.samples[kind] += 1
        self.rooted[kind] += bool(frames) and "truncated" not in sample["flags"]
        self.frames[kind] += len(frames)
        for frame in frames:
            path = frame["module"]
            if path not in symbols:
                symbols[path] = bool(path) and has_symbol_table(path)
            if symbols[path]:
                self.frames_with_symbols += 1
                self.named_frames += frame["name"] is not None

    def rooted_share(self, kind):
        return self.rooted[kind] / self.samples[kind] if self.samples[kind] else None

    def named_share(self):
        return self.named_frames / self.frames_with_symbols if self.frames_with_symbols else None
