"""The details of backend/optimize against LLVM's own word: rustc writes each pass and analysis as an event
(-Z self-profile-events=llvm), in the same run that is recorded; sample by sample, weighted by CPU time."""

import collections
import fnmatch
import glob
import os
import re
import sys

import recorded_build as rb
from self_profile import SelfProfile, Timeline
from timed_run import lamella, need, timed

BENCH = os.path.dirname(os.path.abspath(__file__))
LARGEST_LAG_NS, COARSE_LAG_NS, FINE_LAG_NS = 30_000_000, 100_000, 10_000
# What the profiler itself does before and after each pass belongs to none. Results of analyses that are thrown away are `analysis`
# here; LLVM books them on the pass after which they no longer held.
BESIDE = re.compile("selfprofile_|UniqueFunctionBase::CallImpl|AnalysisResultModel::|::invalidate")
EVENTS = ["-Z", "self-profile-events=default,llvm"]
OPTIONS = ["--edition", "2021", "-O", "-C", "codegen-units=1", *EVENTS]


def read_table():
    with open(os.path.join(BENCH, "self_profile.details"), encoding="utf-8") as file:
        return [line.split() for line in file if line.strip() and not line.startswith("#")]


class PassTimeline(Timeline):
    """The detail of the innermost pass at a time; None outside of passes, and in what only runs others."""

    def __init__(self, events, offset_ns, table, known):
        named = []
        for start, end, kind, label in events:
            if "LLVM" in kind:
                if label not in known:
                    known[label] = next((detail for pattern, detail in table if fnmatch.fnmatchcase(label, pattern)), "-")
                named.append((start + offset_ns, end + offset_ns, kind, known[label]))
        super().__init__(named)


def overlap(timeline, samples):
    return sum(1 for at, *_ in samples if timeline.first <= at <= timeline.last)


class Details:
    """CPU time by LLVM's detail and by lamella's, of samples of backend/optimize that lie in a pass."""

    def __init__(self):
        self.matrix = collections.defaultdict(collections.Counter)
        self.samples = 0

    def add(self, profile_path, recording, table):
        """The compilation that wrote this self-profile while it was recorded."""
        profile, known = SelfProfile(profile_path), {}
        offset_ns = profile.started_unix_ns - rb.session(recording)["started_at_unix_ns"]
        samples = collections.defaultdict(list)
        for line in rb.view(recording, "--process", str(profile.pid), "--show", "samples", "--phases"):
            if line["type"] == "sample" and (line["segment"], line["phase"]) == ("backend", "optimize") and not BESIDE.search(str(line)):
                samples[line["tid"]].append((line["at_ns"], line["cpu_ns"], line.get("detail") or "-"))
        timelines = [PassTimeline(thread_events, offset_ns, table, known) for thread_events in profile.events.values()]
        timelines = [line for line in timelines if line.starts]
        if not timelines:
            return
        pairs = [(max(timelines, key=lambda line: overlap(line, taken)), taken) for taken in samples.values()]  # pylint: disable=cell-var-from-loop
        lag_ns = best_lag(lambda lag: sum(cpu for truth, ours, cpu in judged(pairs, lag) if truth == ours))
        for truth, ours, cpu_ns in judged(pairs, lag_ns):
            self.matrix[truth][ours] += cpu_ns
            self.samples += 1

    def whole(self):
        return sum(sum(row.values()) for row in self.matrix.values()) or 1

    def agreed(self):
        return sum(row[detail] for detail, row in self.matrix.items()) / self.whole()

    def shares(self):
        """[(detail, LLVM's share, lamella's share)], largest first."""
        shares = collections.defaultdict(lambda: [0, 0])
        for truth, row in self.matrix.items():
            for ours, cpu_ns in row.items():
                shares[truth][0] += cpu_ns / self.whole()
                shares[ours][1] += cpu_ns / self.whole()
        return sorted(((detail, *both) for detail, both in shares.items()), key=lambda row: -row[1])


def best_lag(agreement):
    """The lag of the profile's clock at which most agrees: to the nearest tenth of a millisecond first, then around that."""
    coarse = max(range(0, LARGEST_LAG_NS, COARSE_LAG_NS), key=agreement)
    return max(range(max(0, coarse - COARSE_LAG_NS), coarse + COARSE_LAG_NS, FINE_LAG_NS), key=agreement)


def judged(pairs, lag_ns):
    for timeline, taken in pairs:
        for at, cpu_ns, ours in taken:
            truth = timeline.at(at + lag_ns)
            if truth not in (None, "-"):
                yield truth, ours, cpu_ns


def detail_accuracy(directory, rust_program):
    """The Details of one program; None where rustc writes no such events."""
    source, events, recording = (os.path.join(directory, name) for name in ("program.rs", "events", "details.lamella"))
    rust_program(source, 12)
    command = ["rustc", *OPTIONS, "-Z", f"self-profile={events}", source, "-o", os.path.join(directory, "program")]
    need(timed([lamella(), "record", "--quiet", "--rate", "4999", "-o", recording, "--", *command], env=rb.build_environment(RUSTC_BOOTSTRAP="1"),
               cwd=directory), "rustc")
    found = glob.glob(os.path.join(events, "*.mm_profdata"))
    if len(found) != 1:
        return None
    details = Details()
    details.add(found[0], recording, read_table())
    return details


if __name__ == "__main__":
    sys.exit("a part of bench/phases and bench/accuracy")
