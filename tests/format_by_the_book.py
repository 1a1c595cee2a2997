#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""A second reader of stream files, made from docs/format.md alone, and a writer. What it reads must be what `lamella view --raw`
prints, record by record: of real recordings, packed and still growing, and of files that it wrote itself in both byte orders.
Needs the standard library and the zstd command."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

LAMELLA = os.environ["LAMELLA"]
AGENT = os.environ["LAMELLA_AGENT_SO"]

# ---- section 2 and 3: headers. (offset, format, name); a format with a number in front is a list ----

HEADER = [
    (8, "I", "byte_order"), (12, "H", "version_major"), (14, "H", "version_minor"), (16, "H", "arch"), (18, "B", "producer"),
    (19, "B", "clock"), (20, "I", "flags"), (24, "Q", "tick_rate_hz"), (32, "Q", "start_ticks"), (40, "Q", "start_mono_ns"),
    (48, "Q", "start_wall_ns"), (56, "I", "pid"), (60, "I", "ppid"), (64, "Q", "kernel_start"), (72, "Q", "session_id"),
    (80, "6Q", "counts"), (128, "Q", "next_offset"), (136, "B", "measure"), (192, "8Q", "lost"), (256, "8Q", "damage"),
]
PAGE = [
    (0, "I", "magic"), (4, "B", "kind"), (8, "I", "size_bytes"), (12, "I", "thread"), (16, "Q", "self_offset"),
    (24, "Q", "base_ticks"), (32, "I", "sequence"), (36, "I", "tid"), (40, "I", "packed_bytes"), (44, "I", "used_bytes"),
]
MAGIC = bytes([0x89, 0x4C, 0x41, 0x4D, 0x0D, 0x0A, 0x1A, 0x0A])
RAW, PACKED = 0x3147504C, 0x3150504C
META, SAMPLES, STACKS, MODULES, VOID = 1, 2, 3, 4, 5
EVENTS, RECORD_PAGES, TREE = 16, 17, 18
WIDTHS = {SAMPLES: 16, STACKS: 12, EVENTS: 16, TREE: 64}

# ---- section 4: records: name, aux in words, fields (offsets in the record), size of head and fixed part, texts ----

USAGE = ["user_ns", "sys_ns", "max_rss_bytes", "minor_faults", "major_faults", "switches_voluntary", "switches_forced",
         "blocks_in", "blocks_out"]


def usage(offset, name):
    return [(offset + 8 * i, "Q", f"{name}.{part}") for i, part in enumerate(USAGE)]


RECORDS = {
    1: ("PROCESS", [(8, "Q", "ticks"), (16, "Q", "exec_cpu_ns"), (24, "Q", "image_cpu_ns"), (32, "I", "uid"),
                    (36, "H", "exe_bytes"), (38, "H", "cwd_bytes"), (40, "H", "comm_bytes")], 48,
        [("exe", "exe_bytes"), ("cwd", "cwd_bytes"), ("comm", "comm_bytes")]),
    2: ("ARGV", [(8, "I", "index"), (12, "I", "total_bytes")], 16, [("argv", "aux")]),
    3: ("CONFIG", [(8, "Q", "ticks"), (16, "4I", "period_ns"), (32, "B", "kernel_mode"), (33, "B", "level"),
                   (34, "H", "signal"), (36, "I", "wanted_engine"), (40, "i", "open_errno"),
                   (44, "I", "why_not")], 48, []),
    4: ("TIME", [(8, "Q", "ticks"), (16, "Q", "mono_ns"), (24, "Q", "wall_ns")], 32, []),
    5: ("THREAD", [(8, "Q", "ticks"), (16, "Q", "cpu_ns"), (24, "I", "tid"), (28, "B", "origin"), (29, "B", "name_bytes")],
        32, [("name", "name_bytes")]),
    6: ("THREAD_NAME", [(8, "Q", "ticks"), (16, "I", "tid"), (20, "I", "name_bytes")], 24, [("name", "name_bytes")]),
    7: ("THREAD_END", [(8, "Q", "ticks"), (16, "Q", "cpu_ns"), (24, "Q", "sampled_cpu_ns"), (32, "Q", "run_ns"),
                       (40, "Q", "core_wait_ns"), (48, "Q", "handler_ticks"), (56, "I", "samples"), (60, "I", "interrupts"),
                       (64, "I", "tid"), (68, "B", "at_process_end")], 72, []),
    8: ("WAIT", [(8, "Q", "start_ticks"), (16, "Q", "duration_ticks"), (24, "I", "stack"), (28, "H", "kind"), (30, "H", "call"),
                 (32, "Q", "cpu_ns")], 40, []),
    9: ("SPAWN", [(8, "Q", "ticks"), (16, "I", "child_pid"), (20, "i", "rc"), (24, "H", "why_not"), (26, "H", "path_bytes"),
                  (28, "I", "argv_bytes"), (32, "Q", "cpu_ns")], 40, [("path", "path_bytes"), ("argv", "argv_bytes")]),
    10: ("CHILD_EXIT", [(8, "Q", "ticks"), (16, "i", "status")] + usage(24, "usage"), 96, []),
    11: ("PROCESS_END", [(8, "Q", "ticks"), (16, "Q", "cpu_ns")] + usage(24, "self") + usage(96, "children") +
         [(168, "I", "live_threads"), (172, "i", "code")], 176, []),
    12: ("MODULE", [(8, "Q", "ticks"), (16, "Q", "start"), (24, "Q", "end"), (32, "Q", "bias"), (40, "Q", "inode"),
                    (48, "Q", "device"), (56, "H", "epoch"), (58, "H", "path_bytes"), (60, "H", "build_id_bytes"),
                    (62, "H", "flags")], 64, [("path", "path_bytes"), ("build_id", "build_id_bytes")]),
    13: ("EPOCH", [(8, "Q", "ticks")], 16, []),
    14: ("NOTICE", [(8, "Q", "ticks"), (16, "Q", "value")], 24, []),
    32: ("STRING", [(8, "I", "total_bytes"), (12, "I", "offset"), (16, "I", "piece_bytes")], 24, [("piece", "piece_bytes")]),
    33: ("COMPOSED", [(8, "I", "count"), (12, "I", "flags")], 16, []),
    34: ("KIND", [(8, "I", "name"), (12, "I", "label"), (16, "I", "space"), (20, "I", "weight"), (24, "I", "flags")], 32, []),
    35: ("NAMES", [(8, "I", "count"), (12, "I", "text_bytes")], 16, []),
    36: ("MAP", [(8, "I", "count")], 16, []),
    37: ("TRACK", [(8, "Q", "ticks"), (16, "I", "name")], 24, []),
    38: ("COUNTER", [(8, "I", "name"), (12, "I", "measure")], 16, []),
    39: ("POLICY", [(8, "Q", "ticks"), (16, "Q", "threshold"), (24, "Q", "auto_bytes"), (32, "Q", "tree_bytes"),
                    (40, "I", "one_in"), (44, "I", "thread")], 48, []),
    40: ("SETTINGS", [(8, "I", "text_bytes")], 16, [("text", "text_bytes")]),
}
# Section 13: lists behind the fixed part: (name, how many u32 a count).
LISTS = {33: [("parts", 1)], 35: [("ids", 1), ("ends", 1)], 36: [("pairs", 2)]}


def unpack(order, fields, data, at=0):
    out = {}
    for offset, fmt, name in fields:
        values = struct.unpack_from(order + fmt, data, at + offset)
        out[name] = list(values) if fmt[0].isdigit() else values[0]
    return out


def as_text(data):
    """How view prints bytes: UTF-8 as it is, another byte as \\xNN, and backslashes before an x or such a byte doubled."""
    out, at = [], 0
    while at < len(data):
        if data[at] == 0x5C:
            run = at
            while run < len(data) and data[run] == 0x5C:
                run += 1
            double = run < len(data) and (data[run] == ord("x") or character(data, run) is None)
            out.append("\\" * ((run - at) * (2 if double else 1)))
            at = run
            continue
        char = character(data, at)
        if char is None:
            out.append(f"\\x{data[at]:02x}")
            at += 1
        else:
            out.append(char)
            at += len(char.encode())
    return "".join(out)


def character(data, at):
    for size in (1, 2, 3, 4):
        try:
            return data[at:at + size].decode() or None
        except UnicodeDecodeError:
            continue
    return None


# ---- the reader ----


def zstd(frames):
    return subprocess.run(["zstd", "-dcq"], input=frames, stdout=subprocess.PIPE, check=True).stdout


def pages_of(data, order, header):
    """(page, body) of each page of a known kind."""
    found, frames = [], []
    packed = header["flags"] & 1
    at = 320 if packed else 4096
    while at + 64 <= len(data):
        page = unpack(order, PAGE, data, at)
        if packed:
            assert page["magic"] == PACKED, f"no page at {at}"
            frames.append(data[at + 64:at + 64 + page["packed_bytes"]])
            found.append(page)
            at += 64 + (page["packed_bytes"] + 7) // 8 * 8
            continue
        size = page["size_bytes"]
        if page["magic"] != RAW or page["self_offset"] != at or size % 4096 or not 4096 <= size <= 262144:
            at += 4096
            continue
        if page["kind"] in (META, SAMPLES, STACKS, MODULES, EVENTS, RECORD_PAGES, TREE):
            found.append((page, data[at + 64:at + size]))
        at += size
    if not packed:
        return found
    whole, start, out = zstd(b"".join(frames)), 0, []
    for page in found:
        body = whole[start:start + page["used_bytes"]]
        start += page["used_bytes"]
        width = WIDTHS.get(page["kind"])
        if width and header["flags"] & 8:
            count = len(body) // width
            body = bytes(body[k * count + i] for i in range(count) for k in range(width)) + body[count * width:]
        out.append((page, body))
    assert start == len(whole)
    return out


def records(order, page, body):
    at = 0
    while at + 8 <= len(body):
        head, aux = struct.unpack_from(order + "II", body, at)
        if head == 0:
            return
        kind, size = head & 0xFFFF, (head >> 16) * 8
        assert 8 <= size <= len(body) - at, "damaged record"
        row = {"type": "record", "offset": page["self_offset"] + 64 + at, "thread": page["thread"], "tid": page["tid"],
               "record_type": kind, "record": RECORDS[kind][0] if kind in RECORDS else "?", "aux": aux}
        if kind in RECORDS:
            _, fields, start, texts = RECORDS[kind]
            row.update(unpack(order, fields, body, at))
            start += at
            for name, words in LISTS.get(kind, []):
                count = row["count"] * words
                row[name] = list(struct.unpack_from(f"{order}{count}I", body, start))
                start += 4 * count
            if kind == 35:
                row["text"] = as_text(body[start:start + row["text_bytes"]])
            for name, length in texts:
                length = row[length]
                text = body[start:start + length]
                start += length
                row[name] = text.hex() if name == "build_id" else as_text(text)
            assert start <= at + size, "texts beyond the record"
        yield row
        at += size


def samples(order, writer_pages):
    carry = 0
    for page, body in writer_pages:
        for at in range(0, len(body) - 15, 16):
            stack, cpu, low, high, flags = struct.unpack_from(order + "IIIHH", body, at)
            if stack == 0:
                break
            if stack == 0xFFFFFFFF:
                carry = cpu
                continue
            yield {"type": "sample", "offset": page["self_offset"] + 64 + at, "thread": page["thread"], "tid": page["tid"],
                   "ticks": page["base_ticks"] + (high << 32 | low), "cpu_ns": carry << 32 | cpu, "stack": stack,
                   "flags": flags}
            carry = 0


def chunk_nodes(chunk):
    return (min(4096 << chunk, 262144) - 64) // 12 if chunk < 6 else (262144 - 64) // 12


def nodes(order, chunks):
    bodies = {page["sequence"]: body for page, body in chunks}
    first = 1
    for chunk in range(max(bodies, default=-1) + 1):
        body = bodies.get(chunk, b"")
        for index in range(min(chunk_nodes(chunk), len(body) // 12)):
            parent, low, high, epoch = struct.unpack_from(order + "IIHH", body, index * 12)
            if parent:
                yield {"type": "node", "id": first + index, "parent": parent - 1, "address": high << 32 | low, "epoch": epoch}
        first += chunk_nodes(chunk)


SLOTS = {1: "owner", 2: "base", 3: "end", 4: "pause", 5: "resume", 6: "track_switch", 7: "track_end", 8: "fold", 9: "calls",
         16: "kind",
         17: "arg", 18: "text", 19: "value", 20: "self", 21: "counter", 22: "count", 23: "total", 24: "active", 25: "node"}


def slots(order, writer_pages):
    for page, body in writer_pages:
        base = page["base_ticks"]
        for at in range(0, len(body) - 15, 16):
            head, rest = struct.unpack_from(order + "QQ", body, at)
            code = head >> 32 & 0xFF
            if code == 0:
                continue
            row = {"type": "slot", "offset": page["self_offset"] + 64 + at, "lane": page["thread"], "code": code,
                   "slot": "event" if code >= 32 else SLOTS.get(code, "?"), "id": head & 0xFFFFFFFF}
            if code == 2:
                base = row["base"] = rest
            elif 16 <= code < 32:
                row.update(bits=head >> 40, value=rest)
            else:
                row.update(time=base + (head >> 40 | (rest & 0xFFFF) << 24) & 0xFFFFFFFFFFFFFFFF, payload=rest >> 16)
            yield row


def tree_nodes(order, writer_pages):
    bodies = {page["sequence"]: (page, body) for page, body in writer_pages}
    first = 1
    for number in range(max(bodies, default=-1) + 1):
        size = min(4096 << number, 262144) if number < 6 else 262144
        page, body = bodies.get(number, ({}, b""))
        for index in range(len(body) // 64):
            parent, ident, kind, what, count, total, own, untold, when, lane = struct.unpack_from(order + "4I5QI", body, index * 64)
            if parent:
                yield {"type": "tree_node", "lane": page["thread"], "number": first + index, "parent": parent - 1, "id": ident,
                       "kind": kind, "node_type": what, "count": count, "total": total, "self": own, "untold": untold,
                       "when": when, "open_in_lane": lane}
        first += (size - 64) // 64


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == MAGIC
    order = "<" if data[8:12] == bytes([4, 3, 2, 1]) else ">"
    header = unpack(order, HEADER, data)
    assert header["byte_order"] == 0x01020304 and header["version_major"] == 1
    rows = [dict({"type": "header", "file": path}, **header)]
    pages = {}
    for page, body in pages_of(data, order, header):
        pages.setdefault((page["kind"], 0 if page["kind"] == STACKS else page["thread"]), []).append((page, body))
    for writer in pages.values():
        writer.sort(key=lambda item: item[0]["sequence"])
    for kind in (META, MODULES, RECORD_PAGES):
        for key in sorted(key for key in pages if key[0] == kind):
            for page, body in pages[key]:
                rows.extend(records(order, page, body))
    for key in sorted(key for key in pages if key[0] == SAMPLES):
        rows.extend(samples(order, pages[key]))
    rows.extend(nodes(order, pages.get((STACKS, 0), [])))
    for kind, reader in ((EVENTS, slots), (TREE, tree_nodes)):
        for key in sorted(key for key in pages if key[0] == kind):
            rows.extend(reader(order, pages[key]))
    return rows


# ---- a writer, for what a recording made here does not show: the other byte order, every type, rare values ----


class Writer:
    def __init__(self, order):
        self.order = order
        self.data = bytearray(4096)
        self.put(0, HEADER, {"byte_order": 0x01020304, "version_major": 1, "version_minor": 3, "arch": 183, "producer": 2,
                             "clock": 2, "flags": 2, "tick_rate_hz": 10**9, "start_ticks": 2**62 + 5, "start_mono_ns": 77,
                             "start_wall_ns": 1700000000 * 10**9, "pid": 4_000_000, "ppid": 3, "kernel_start": 123456789,
                             "session_id": 0xFEDCBA9876543210, "counts": [9, 8, 7, 6, 5, 4], "measure": 2,
                             "next_offset": 4096, "lost": [1, 2, 3, 4, 5, 0, 0, 0],
                             "damage": [0] * 8})
        self.data[0:8] = MAGIC

    def put(self, at, fields, values):
        for offset, fmt, name in fields:
            value = values.get(name, 0)
            struct.pack_into(self.order + fmt, self.data, at + offset, *(value if isinstance(value, list) else [value]))

    def page(self, kind, thread, sequence, size, body, begins=True):
        at = len(self.data)
        self.data += bytes(size)
        if begins:
            self.put(at, PAGE, {"magic": RAW, "kind": kind, "size_bytes": size, "thread": thread, "self_offset": at,
                                "base_ticks": 2**62, "sequence": sequence, "tid": 4_000_000 + thread})
            self.data[at + 64:at + 64 + len(body)] = body
        struct.pack_into(self.order + "Q", self.data, 128, len(self.data))

    def record(self, kind, aux, values, texts=()):
        _, fields, fixed, _ = RECORDS.get(kind, ("?", [], 8, []))
        body = bytearray(fixed) + b"".join(texts)
        body += bytes(-len(body) % 8)
        struct.pack_into(self.order + "II", body, 0, kind | len(body) // 8 << 16, aux)
        for offset, fmt, name in fields:
            value = values[name]
            struct.pack_into(self.order + fmt, body, offset, *(value if isinstance(value, list) else [value]))
        return bytes(body)


def distinct(fields, start):
    """Values that differ in every byte as far as the width allows, so that a swapped or shifted field shows."""
    values, seed = {}, start
    for _, fmt, name in fields:
        count = int(fmt[:-1]) if len(fmt) > 1 else 1
        items = []
        for _ in range(count):
            seed += 1
            size = struct.calcsize(fmt[-1])
            raw = int.from_bytes(bytes((seed * 37 + 11 * i) % 127 + 1 for i in range(size)), "little")
            items.append(-raw if fmt[-1] == "i" else raw)
        values[name] = items if len(fmt) > 1 else items[0]
    return values


def write_all_types(path, order):
    writer = Writer(order)
    meta, modules, recorded = b"", b"", b""
    pack = lambda fmt, *values: struct.pack(order + fmt, *values)
    strings = [b"/bin/\xff\xfe x", b"C:\\x41\\\\ \xc3\xa9\n\x1b", b"\\"]
    for kind, (name, fields, _, texts) in RECORDS.items():
        values = distinct(fields, kind * 40)
        aux = 0xA0B0C000 + kind
        chosen = []
        for index, (_, length) in enumerate(texts):
            text = strings[(kind + index) % 3]
            chosen.append(text)
            if length == "aux":
                aux = len(text)
            else:
                values[length] = len(text)
        if kind in LISTS:
            values["count"] = 2
            lists = pack("4I", 1, 2, 3, 4)
            chosen = [lists if kind > 33 else lists[:8]]
            if kind == 35:
                chosen.append(strings[1])
                values["text_bytes"] = len(strings[1])
        record = writer.record(kind, aux, values, chosen)
        if kind >= 32:
            recorded += record
        elif name in ("MODULE", "EPOCH"):
            modules += record
        else:
            meta += record
    meta += writer.record(999, 5, {})
    writer.page(META, 1, 0, 4096, meta)
    writer.page(RECORD_PAGES, 1, 0, 4096, recorded)
    writer.page(MODULES, 0, 0, 4096, modules)
    writer.page(VOID, 1, 0, 8192, b"")
    writer.page(META, 1, 1, 4096, writer.record(4, 0, {"ticks": 1, "mono_ns": 2, "wall_ns": 3}), begins=False)
    writer.page(99, 1, 0, 4096, b"of a later version")
    body = pack("QQ", 2 << 32 | 7, 0x0102030405060708)  # a base
    for code in list(range(1, 26)) + [0, 31, 32, 255]:
        body += pack("QQ", code << 32 | 0x0A0B0C00 + code | 0x050607 << 40, 0x1122334455660708)
    writer.page(EVENTS, 3, 1, 4096, pack("QQ", 1 << 32 | 5, 77 << 16))
    writer.page(EVENTS, 3, 0, 8192, body)
    root, call = pack("4I5Q2I", 1, 5, 6, 1, 7, 8, 9, 10, 0, 0, 0), pack("4I5Q2I", 2, 2**32 - 1, 40, 2, 2**63, 3, 2, 1, 2**63 + 1, 0, 0)
    writer.page(TREE, 2, 0, 4096, root + call + bytes(64) + pack("4I5Q2I", 3, 1, 40, 3, 1, 2, 3, 4, 5, 6, 0))
    writer.page(TREE, 2, 1, 8192, pack("4I5Q2I", 5, 1, 40, 2, 1, 2, 3, 4, 0x0102030405060708, 7, 0))
    writer.page(SAMPLES, 2, 1, 4096, pack("IIIHH", 4, 5, 6, 7, 0xFF32))
    writer.page(SAMPLES, 2, 0, 4096, pack("IIIHH", 0xFFFFFFFF, 3, 0, 0, 0) + pack("IIIHH", 0xFFFFFFFE, 9, 8, 65535, 1) +
                pack("IIIHH", 1, 0x01020304, 0x05060708, 0x090A, 0x0B0C))
    writer.page(STACKS, 9, 1, 8192, pack("IIHH", 2, 0x01020304, 0x0506, 0x0708))
    writer.page(STACKS, 0, 0, 4096, pack("IIHH", 1, 1, 2, 3) + bytes(12) + pack("IIHH", 338, 0xFFFFFFFF, 0x7FFF, 65535))
    with open(path, "wb") as file:
        file.write(writer.data)


# ---- comparison ----


def view(path):
    out = subprocess.run([LAMELLA, "view", "--raw", "--format", "json", path], stdout=subprocess.PIPE, check=True).stdout
    rows, ends = [], []
    for line in out.splitlines():
        row = json.loads(line)
        (ends if row["type"] in ("end", "fault") else rows).append(row)
    return rows, ends


def compare(path, what):
    ours = read(path)
    theirs, ends = view(path)
    for index, (mine, other) in enumerate(zip(ours, theirs)):
        if mine != other:
            sys.exit(f"{what}: item {index} differs\nby the book: {mine}\nview:        {other}")
    if len(ours) != len(theirs):
        sys.exit(f"{what}: {len(ours)} items by the book, {len(theirs)} by view")
    return ours, ends


def check_written(directory):
    for order in "<>":
        path = os.path.join(directory, "little.lam" if order == "<" else "big.lam")
        write_all_types(path, order)
        rows, ends = compare(path, path)
        seen = {row["record_type"] for row in rows if row["type"] == "record"}
        assert seen == set(RECORDS) | {999}, seen
        assert [row["cpu_ns"] for row in rows if row["type"] == "sample"] == [3 << 32 | 9, 0x01020304, 5]
        assert [row["id"] for row in rows if row["type"] == "node"] == [1, 3, 337]
        assert ends[-1]["unknown_pages"] == 1 and ends[-1]["unbegun_bytes"] == 4096, ends[-1]
        assert ends[-1]["damaged_pages"] == ends[-1]["damaged_records"] == ends[-1]["missing_bytes"] == 0, ends[-1]


def check_recording(directory):
    recording = os.path.join(directory, "real.lamella")
    work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; (ls /; sleep 0.01) >/dev/null; sleep 0.05"
    subprocess.run([LAMELLA, "record", "--rate", "999", "-o", recording, "--", "sh", "-c", work], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    streams = [name for name in os.listdir(recording) if name.endswith(".lam")]
    rows = []
    for name in streams:
        rows += compare(os.path.join(recording, name), f"real recording, {name}")[0]
    kinds = {row.get("record", row["type"]) for row in rows}
    for kind in ("PROCESS", "ARGV", "CONFIG", "TIME", "CHILD_EXIT", "PROCESS_END", "MODULE", "WAIT", "sample", "node"):
        if kind not in kinds:
            sys.exit(f"the real recording has no {kind}, so nothing was compared; it has {sorted(kinds)}")
    print(f"{len(streams)} streams, {len(rows)} items agree")


def check_growing(directory):
    """A file that its process still writes: a copy is taken and read by both."""
    recording = os.path.join(directory, "growing.lamella")
    launcher = subprocess.Popen([LAMELLA, "record", "--rate", "999", "-o", recording, "--", "sh", "-c",
                                 "i=0; while [ $i -lt 30000000 ]; do i=$((i+1)); done"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        copy = os.path.join(directory, "growing.lam")
        for _ in range(100):
            time.sleep(0.1)
            if not os.path.exists(os.path.join(recording, "session.json")):
                continue
            with open(os.path.join(recording, "session.json"), encoding="utf-8") as file:
                scratch = json.load(file).get("scratch") or recording
            streams = [name for name in os.listdir(scratch) if name.endswith(".lam")]
            if streams:
                shutil.copy(os.path.join(scratch, streams[0]), copy)
                if any(row["type"] == "sample" for row in read(copy)):
                    break
        else:
            sys.exit("no growing stream with samples was found in 10 s")
        rows, ends = compare(copy, "growing stream")
        assert ends[-1]["damaged_pages"] == ends[-1]["damaged_records"] == 0, ends[-1]
        print(f"growing stream: {len(rows)} items agree")
    finally:
        launcher.terminate()
        launcher.wait()


def main():
    if not shutil.which("zstd"):
        print("the zstd command is missing")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        check_written(directory)
        if not os.path.exists(AGENT):
            print("written files agree; the agent is not built, so no recording was compared")
            sys.exit(77)
        check_recording(directory)
        check_growing(directory)


if __name__ == "__main__":
    main()
