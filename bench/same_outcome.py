"""Whether a recorded build had the outcome of a plain one: exit code, output, every file below target."""

import hashlib
import os
import re
import sys


# Cargo's own notes, with times in them or in the order of a hash table; no compiler's work.
NOT_COMPARED = re.compile(r"(^|/)(\.cargo-lock|\.rustc_info\.json|invoked\.timestamp)$|(^|/)cargo-timings/|/\.fingerprint/[^/]*/dep-")


def digest(path):
    if os.path.islink(path):
        return "link " + os.readlink(path)
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def artifacts(target):
    found = {}
    for where, _, names in os.walk(target):
        for name in names:
            path = os.path.join(where, name)
            relative = os.path.relpath(path, target)
            if not NOT_COMPARED.search(relative):
                found[relative] = digest(path)
    return found


def output(run, place):
    """What the command said, without the times that cargo prints and what lamella says for itself."""
    # One line of cargo's is there because record asks it for its timings.
    text = run.stdout + b"\0\n" + b"".join(
        x for x in run.stderr.splitlines(True) if not x.startswith(b"lamella: ") and not x.lstrip().startswith(b"Timing report saved to "))
    return re.sub(rb"in (\d+h )?(\d+m )?\d+(\.\d+)?s\b", b"in N s", text).replace(place.encode(), b"PLACE")


class Case:
    """A build with its outcome when nothing records it."""

    def __init__(self, name, build, code):
        self.name, self.build = name, build
        self.first, self.unstable = None, set()
        self.wanted_code, self.plain_s = code, None

    def outcome(self, run):
        return run.code, output(run, self.build.directory), artifacts(os.path.join(self.build.directory, "target"))

    def learn(self, times):
        run = self.build.plain()
        self.plain_s = run.wall_s
        self.first = self.outcome(run)
        if self.first[0] != self.wanted_code:
            sys.exit(f"{self.name}: the plain build ended with {self.first[0]}:\n{self.first[1].decode(errors='replace')}")
        for _ in range(times):
            other = self.outcome(self.build.plain())
            self.unstable |= {n for n in self.first[2].keys() | other[2].keys() if self.first[2].get(n) != other[2].get(n)}

    def differences(self, run):
        code, said, files = self.outcome(run)
        found = []
        if code != self.first[0]:
            found.append(f"exit code {code}, not {self.first[0]}")
        if sorted(said.splitlines()) != sorted(self.first[1].splitlines()):
            found.append("other output: " + first_difference(self.first[1], said))
        names = self.first[2].keys() | files.keys()
        changed = sorted(n for n in names - self.unstable if self.first[2].get(n) != files.get(n))
        return found + [f"{n}: " + ("missing" if n not in files else "new" if n not in self.first[2] else "other bytes") for n in changed]


def first_difference(wanted, got):
    """Units are built in parallel: lines are compared without their order."""
    missing = set(wanted.splitlines()) - set(got.splitlines())
    added = set(got.splitlines()) - set(wanted.splitlines())
    return f"without {sorted(missing)[:2]}, with {sorted(added)[:2]}"


def break_crate(directory):
    """A type error at the end of the crate that is built last."""
    with open(os.path.join(directory, "Cargo.toml"), encoding="utf-8") as file:
        crates = re.findall(r'"(crates/[^"]+|[^"*]+)"', file.read())
    for path in ["crates/app/src/main.rs", *[f"{c}/src/main.rs" for c in crates], *[f"{c}/src/lib.rs" for c in reversed(crates)]]:
        full = os.path.join(directory, path)
        if os.path.exists(full):
            with open(full, "a", encoding="utf-8") as file:
                file.write('\nfn not_a_number() -> u32 { "text" }\n')
            return
    sys.exit(f"{directory}: found no crate to break")
