"""A page of a build that nobody has: the data of docs/page-data.md made up, in the page that `lamella page` writes.

    big_page.py LAMELLA OUT.html --units 5000 --threads 20000 --spans 1000000 [--one-thread]"""

import argparse
import base64
import json
import os
import random
import re
import struct
import subprocess
import tempfile
import zlib

PHASES = [("frontend", p) for p in ("parse", "macro_expand", "resolve", "type_check", "borrowck", "mir_build", "metadata")] + [
    ("backend", p) for p in ("monomorphize", "ir_build", "optimize", "machine_code", "lto")] + [("link", "link"), ("process", "startup")]
SEGMENTS = ["frontend", "backend", "link", "process", "wait", "unknown"]
ROLES = ["serial", "opt", "codegen", "coordinator"]
QUANTUM = 10000  # nanoseconds
AT_ONCE = 16


class Sections:
    def __init__(self):
        self.data = bytearray()
        self.strings, self.known = [], {}

    def put(self, raw):
        at = len(self.data)
        self.data += raw
        return {"at": at, "bytes": len(raw)}

    def column(self, kind, values, width, **more):
        """Whole numbers of at most `width` bytes, in planes."""
        planes = b"".join(bytes((v >> (8 * k)) & 255 for v in values) for k in range(width))
        return {"type": kind, "code": "planes", "width": width, **self.put(planes), **more}

    def text(self, value):
        if value not in self.known:
            self.known[value] = len(self.strings)
            self.strings.append(value)
        return self.known[value]

    def finish(self, header):
        header["strings"] = {
            "count": len(self.strings),
            "lengths": self.column("int", [len(s) for s in self.strings], 2),
            "bytes": self.put("".join(self.strings).encode()),
        }
        head = json.dumps(header).encode()
        return struct.pack("<I", len(head)) + head + bytes(self.data)


def made_up(units, threads, spans, seed=1):
    """Units one after the other in AT_ONCE lanes; the first thread of each is the serial one, the others are work items."""
    rand = random.Random(seed)
    s = Sections()
    per_unit, per_thread = max(1, threads // units), max(1, spans // threads)
    lanes = [0] * AT_ONCE
    out = {"start": [], "end": [], "thread_start": [], "thread_end": [], "thread_unit": [], "role": [], "name": [], "cpu": []}
    gap, length, phase, samples = [], [], [], []
    for _ in range(units):
        lane = min(range(AT_ONCE), key=lanes.__getitem__)
        begin = lanes[lane]
        last = begin
        cpu = 0
        for k in range(per_unit):
            t = begin + k * 500
            out["thread_unit"].append(len(out["start"]))
            out["role"].append(0 if k == 0 else 1 + k % 2)
            out["name"].append(s.text("rustc" if k == 0 else f"opt cgu.{k}"))
            out["thread_start"].append(t)
            low, high = (0, 6) if k == 0 else (8, 11)
            for i in range(per_thread):
                wide = int(rand.expovariate(1 / 150)) + 1
                hole = 0 if i == 0 or rand.random() < 0.7 else int(rand.expovariate(1 / 60))
                gap.append(2 * hole)
                length.append(wide)
                phase.append(rand.randint(low, high))
                samples.append(1 + wide // 20)
                t += hole + wide
                cpu += wide
            out["thread_end"].append(t)
            last = max(last, t)
        out["start"].append(begin)
        out["end"].append(last)
        out["cpu"].append(cpu)
        lanes[lane] = last + 20
    ns = {"per": 1e9}
    times = lambda values: s.column("int", [v * QUANTUM for v in values], 6, **ns)  # noqa: E731
    rows = len(out["thread_unit"])
    quanta = {"per": 1e9 / QUANTUM}
    tables = {
        "units": {"rows": units, "columns": {
            "unit": s.column("text", [s.text(f"crate-{i} 1.{i % 40}.0") for i in range(units)], 3),
            "kind": s.column("text", [s.text("rustc")] * units, 3),
            "start_s": times(out["start"]), "end_s": times(out["end"]),
            "wall_s": times([b - a for a, b in zip(out["start"], out["end"])]), "cpu_s": times(out["cpu"]),
            "process": s.column("row", range(units), 3, of="processes")}},
        "processes": {"rows": units, "columns": {
            "exe": s.column("text", [s.text("/usr/bin/rustc")] * units, 3), "start_s": times(out["start"]), "end_s": times(out["end"]),
            "unit_row": s.column("row", range(units), 3, of="units"), "sampled": {"type": "bool", "code": "const", "value": 1}}},
        "threads": {"rows": rows, "columns": {
            "process": s.column("row", out["thread_unit"], 3, of="processes"), "tid": s.column("int", range(rows), 3),
            "name": s.column("text", out["name"], 3), "role": s.column("role", out["role"], 1), "main": {"type": "bool", "code": "const", "value": 0},
            "start_s": times(out["thread_start"]), "end_s": times(out["thread_end"]),
            "spans": {"type": "int", "code": "const", "value": per_thread}}},
        "spans": {"rows": len(gap), "columns": {
            "gap": s.column("int", gap, 3, signed=True, **quanta), "length": s.column("int", length, 3, **quanta), "phase": s.column("phase", phase, 1),
            "role": {"type": "role", "code": "const", "value": 0}, "cgu": {"type": "text", "code": "const", "value": 0, "null": True},
            "samples": s.column("int", samples, 3), "cpu": s.column("int", length, 3, **quanta)}},
    }
    elapsed = max(out["end"]) * QUANTUM / 1e9
    cpu_s = sum(out["cpu"]) * QUANTUM / 1e9
    totals = [0] * len(PHASES)
    for p, wide in zip(phase, length):
        totals[p] += wide
    tables["phases"] = {"rows": len(PHASES), "columns": {
        "segment": s.column("segment", [SEGMENTS.index(a) for a, _ in PHASES], 1), "phase": s.column("phase", range(len(PHASES)), 1),
        "detail": {"type": "text", "code": "const", "value": 0, "null": True}, "samples": s.column("int", totals, 5), "cpu_s": times(totals)}}
    return s.finish({
        "format": "lamella-page", "version": 1, "name": "made-up.lamella", "set": 0, "segments": SEGMENTS, "roles": ROLES, "wait_kinds": [],
        "phases": [{"segment": SEGMENTS.index(a), "name": b} for a, b in PHASES], "findings": [],
        "session": {"command": "make everything", "elapsed_s": elapsed, "cores": AT_ONCE, "cores_used": cpu_s / elapsed, "complete": True, "exit_code": 0},
        "coverage": {"process_cpu_s": cpu_s, "sampled_cpu_s": cpu_s, "ratio": 1, "elapsed_s": elapsed, "sampled_span_s": elapsed},
        "spans": {"quantum_s": QUANTUM / 1e9, "spans": len(gap), "samples": sum(samples)}, "tables": tables})


def empty_page(lamella):
    """What `lamella page` writes around its data."""
    with tempfile.TemporaryDirectory() as place:
        recording, page = os.path.join(place, "r.lamella"), os.path.join(place, "p.html")
        subprocess.run([lamella, "record", "--rate", "0", "-o", recording, "--", "true"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([lamella, "page", "-o", page, recording], check=True, stderr=subprocess.DEVNULL)
        with open(page, encoding="utf-8") as file:
            return file.read()


def write(lamella, path, units, threads, spans):
    packed = base64.b64encode(zlib.compress(made_up(units, threads, spans), 9)).decode()
    pattern = r'(<script type="application/octet-stream" data-lamella="recording">)[^<]*'
    page, found = re.subn(pattern, lambda m: m[1] + packed, empty_page(lamella), count=1)
    assert found == 1, "the page holds one recording"
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("lamella")
    parser.add_argument("out")
    for name, value in (("--units", 5000), ("--threads", 20000), ("--spans", 1000000)):
        parser.add_argument(name, type=int, default=value)
    args = parser.parse_args()
    write(args.lamella, args.out, args.units, args.threads, args.spans)
