#!/usr/bin/env python3
# ctest: TIMEOUT 120
"""What events mean, worked out from docs/format.md alone (sections 11 to 13) and compared with `lamella view`: labels, kinds,
arguments, ends, threads, tracks and pauses, in both byte orders."""

import json
import os
import struct
import subprocess
import sys
import tempfile

import format_by_the_book as book

LAMELLA = os.environ["LAMELLA"]
OPEN = None


class Meaning:
    """The events of one stream whose ticks are nanoseconds."""

    def __init__(self, rows):
        self.rows = rows
        self.strings, self.composed, self.kinds, self.names = {}, {}, {}, {}
        self.start = next(row for row in rows if row["type"] == "header")["start_ticks"]
        for row in rows:
            if row["type"] == "record":
                self.record(row)

    def record(self, row):
        kind, aux = row["record"], row["aux"]
        if kind == "STRING":
            whole = self.strings.setdefault(aux, "?" * row["total_bytes"])
            self.strings[aux] = whole[:row["offset"]] + row["piece"] + whole[row["offset"] + row["piece_bytes"]:]
        elif kind == "COMPOSED":
            if all(part < aux for part in row["parts"]):
                self.composed[aux] = (row["flags"] & 1, row["parts"])
        elif kind == "KIND":
            self.kinds[aux] = row
        elif kind == "NAMES":
            begin = 0
            for ident, end in zip(row["ids"], row["ends"]):
                self.names.setdefault((aux, ident), row["text"][begin:end])
                begin = end
        elif kind == "MAP":
            for ident, string in zip(row["pairs"][::2], row["pairs"][1::2]):
                self.names.setdefault((aux, ident), string)

    def text(self, string):
        if string == 0:
            return ""
        if string in self.strings:
            return self.strings[string]
        if string not in self.composed:
            return f"#{string}"
        has_args, parts = self.composed[string]
        texts = [self.text(part) for part in parts]
        return f"{texts[0]}({', '.join(texts[1:])})" if has_args else "".join(texts)

    def label_and_args(self, string):
        has_args, parts = self.composed.get(string, (0, []))
        if has_args:
            return self.text(parts[0]), [self.text(part) for part in parts[1:]]
        return self.text(string), []

    def called(self, number, ident):
        kind = self.kinds.get(number, {"name": 0, "label": 0, "space": 0})
        family = self.text(kind["name"]) if kind["name"] else f"#{number}"
        name = self.names.get((kind["space"], ident), f"#{ident}") if kind["space"] else ident
        label, args = (name, []) if isinstance(name, str) else self.label_and_args(name)
        if kind["label"]:
            whole = name if isinstance(name, str) else self.text(name)
            label, args = self.text(kind["label"]), [whole] if kind["space"] else []
        return family, label, args

    def more(self, rows, at):
        """The slots behind one, and what they say."""
        args, facts = [], {}
        while at < len(rows) and 16 <= rows[at]["code"] < 32:
            row = rows[at]
            at += 1
            if row["slot"] != "arg":
                facts[row["slot"]] = row["id"] if row["slot"] == "kind" else row["value"]
                continue
            what, value = row["bits"] & 0xFF, row["value"]
            if what == 2:
                value = struct.unpack("<q", struct.pack("<Q", value))[0]
            elif what == 3:
                value = f"{struct.unpack('<d', struct.pack('<Q', value))[0]:.17g}"
            elif what == 4:
                value = self.text(value)
            elif what == 5:
                size, data = value, b""
                while len(data) < size:
                    slot = rows[at]
                    at += 1
                    data += struct.pack("<I", slot["id"]) + struct.pack("<I", slot["bits"])[:3] + struct.pack("<Q", slot["value"])
                value = data[:size].decode()
            args.append(f"{self.text(row['id'])}={value}" if row["id"] else str(value))
        return args, facts

    def events(self):
        """Everything that view prints as interval, instant or integer."""
        out, by_ref, ends, pauses = [], {}, {}, {}
        lanes = {}
        for row in self.rows:
            if row["type"] == "slot":
                lanes.setdefault(row["lane"], []).append(row)
        for lane, rows in lanes.items():
            tid, track = 0, 0
            for at, row in enumerate(rows):
                code = row["code"]
                if code == 1:
                    tid, track = row["payload"], 0
                elif code == 6:
                    track = row["id"]
                elif code in (3, 4, 5):
                    key = (row["id"], row["payload"])
                    (ends if code == 3 else pauses).setdefault(key, []).append((row["time"], code))
                elif code >= 32:
                    args, facts = self.more(rows, at + 1)
                    number = facts.get("kind", 0) if code == 255 else code
                    flags = self.kinds.get(number, {"flags": 0})["flags"]
                    family, label, own = self.called(number, row["id"])
                    event = {"kind": family, "label": label, "args": own + args, "tid": tid, "start": row["time"]}
                    if flags & 2:
                        event["type"] = "instant"
                    elif flags & 4:
                        value = row["payload"]
                        event.update(type="integer", value=facts["value"] if value == 2**48 - 1 else value)
                    else:
                        end = row["time"] + row["payload"] - 1 if row["payload"] else OPEN
                        event.update(type="interval", end=end, on_track=track != 0)
                    by_ref[lane, row["ref"]] = event
                    out.append(event)
        for key, times in ends.items():
            if by_ref[key]["end"] is OPEN:
                by_ref[key]["end"] = min(time for time, _ in times)
        for key, times in pauses.items():
            by_ref[key]["paused"] = sum(time if code == 5 else -time for time, code in times)
        return out

    def lines(self):
        found = []
        for event in self.events():
            base = (event["type"], event["kind"], event["label"], tuple(event["args"]), event["tid"], event["start"] - self.start)
            if event["type"] == "interval":
                wall = None if event["end"] is OPEN else event["end"] - event["start"]
                known = None if event["end"] is OPEN or event["on_track"] else wall - event.get("paused", 0)
                base += (wall, known)
            elif event["type"] == "integer":
                base += (event["value"],)
            found.append(base)
        return found


def by_view(path):
    out = subprocess.run([LAMELLA, "view", "--format", "json", "--show", "intervals,instants", path], stdout=subprocess.PIPE,
                         check=True).stdout
    found = []
    for row in map(json.loads, out.splitlines()):
        start = row["start_ns"] if row["type"] == "interval" else row["at_ns"]
        base = (row["type"], row["kind"], row["label"], tuple(row["args"]), row["tid"], start)
        if row["type"] == "interval":
            is_open = "open" in row["flags"]
            wall = None if is_open else row["end_ns"] - row["start_ns"]
            base += (wall, None if is_open or "track" in row else row["active_ns"])
        elif row["type"] == "integer":
            base += (row["value"],)
        found.append(base)
    return found


def add_refs(path, rows):
    """A slot's ref: its page's sequence and its place in it."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[8:12] == bytes([4, 3, 2, 1]) else ">"
    header = book.unpack(order, book.HEADER, data)
    places = {}
    for page, body in book.pages_of(data, order, header):
        if page["kind"] == book.EVENTS:
            for at in range(0, len(body) - 15, 16):
                places[page["self_offset"] + 64 + at] = page["sequence"] << 16 | (64 + at) // 16
    for row in rows:
        if row["type"] == "slot":
            row["ref"] = places[row["offset"]]
    return rows


def compare(path, what):
    rows, _ = book.compare(path, what)
    mine, theirs = sorted(map(repr, Meaning(add_refs(path, rows)).lines())), sorted(map(repr, by_view(path)))
    for one, other in zip(mine, theirs):
        if one != other:
            sys.exit(f"{what}:\nby the book: {one}\nview:        {other}")
    if len(mine) != len(theirs):
        sys.exit(f"{what}: {len(mine)} events by the book, {len(theirs)} by view")
    return len(mine)


# ---- a stream with everything in it ----


def write_everything(path, order):
    writer = book.Writer(order)
    start = 2**62 + 5
    writer.put(0, book.HEADER, {"byte_order": 0x01020304, "version_major": 1, "version_minor": 1, "arch": 62, "producer": 2,
                                "clock": 2, "tick_rate_hz": 10**9, "start_ticks": start, "start_mono_ns": start,
                                "start_wall_ns": 1700000000 * 10**9, "pid": 400, "kernel_start": 5, "next_offset": 4096,
                                "counts": [0] * 6, "lost": [0] * 8, "damage": [0] * 8})
    pack = lambda fmt, *values: struct.pack(order + fmt, *values)
    texts = ["Fn", "Query", "main", "typeck", "a", "b", "long " * 100, "file"]
    records = b""
    for number, text in enumerate(texts, 1):
        half = len(text) // 2
        for offset, piece in ((0, text[:half]), (half, text[half:])):
            records += writer.record(32, number, {"total_bytes": len(text), "offset": offset, "piece_bytes": len(piece)},
                                     [piece.encode()])
    records += writer.record(33, 9, {"count": 3, "flags": 1}, [pack("3I", 4, 5, 6)])
    records += writer.record(33, 10, {"count": 2, "flags": 0}, [pack("2I", 9, 7)])
    records += writer.record(35, 3, {"count": 2, "text_bytes": 5}, [pack("4I", 77, 78, 2, 5) + b"xyzzy"])
    records += writer.record(36, 3, {"count": 1}, [pack("2I", 79, 9)])
    for number, (name, label, space, flags) in {32: (1, 0, 0, 0), 33: (2, 4, 3, 0), 34: (2, 0, 3, 0), 35: (1, 0, 0, 2),
                                                36: (1, 0, 0, 4), 37: (1, 0, 0, 8), 1000: (2, 0, 0, 1)}.items():
        records += writer.record(34, number, {"name": name, "label": label, "space": space, "weight": 1, "flags": flags})
    writer.page(book.RECORD_PAGES, 1, 0, 4096, records)

    base = start + 1000

    def slot(code, ident, time, payload=0):
        return pack("QQ", ident | code << 32 | (time & 0xFFFFFF) << 40, time >> 24 | payload << 16)

    def more(code, ident, bits, value):
        return pack("QQ", ident | code << 32 | bits << 40, value)

    text = b"a text of thirty-one bytes, yes"
    body = slot(1, 1, 0, 401) + slot(32, 3, 10) + slot(32, 9, 20, 11) + more(17, 8, 5, len(text))
    for at in range(0, len(text), 15):
        piece = text[at:at + 15].ljust(15, b"\0")
        word = int.from_bytes(piece[:4], "little") | int.from_bytes(piece[4:7], "little") << 40
        body += pack("QQ", word | 18 << 32, int.from_bytes(piece[7:], "little"))
    body += more(17, 0, 2, 2**64 - 9) + more(17, 0, 3, 0x3FB999999999999A) + more(17, 0, 4, 10)
    for ident in (77, 78, 79, 80):
        body += slot(33, ident, 20 * ident, 2) + slot(34, ident, 20 * ident + 10, 2)
    body += pack("QQ", 0, 0) + slot(32, 10, 2**33 + 5, 2**35) + slot(32, 55, 2**34 + 5, 1)
    body += slot(35, 3, 2**34 + 6) + slot(36, 3, 2**34 + 7, 1234) + slot(36, 3, 2**34 + 8, 2**48 - 1) + more(19, 0, 0, 2**64 - 1)
    body += slot(37, 5, 2**34 + 20, 5) + slot(37, 6, 2**34 + 10, 31)
    body += slot(255, 5, 2**34 + 50) + more(16, 1000, 0, 0)
    body += slot(4, 1, 2**34 + 60, 5) + slot(5, 1, 2**34 + 90, 5)
    body += pack("QQ", 2 << 32, base + 2**40) + slot(32, 4, 5, 6) + slot(32, 4, 7, 0)
    body += slot(6, 1, 20) + slot(32, 5, 30, 11) + slot(6, 0, 50)
    writer.page(book.EVENTS, 1, 0, 4096, body)
    struct.pack_into(order + "Q", writer.data, len(writer.data) - 4096 + 24, base)
    detached = 64 // 16 + body.index(more(16, 1000, 0, 0)) // 16 - 1
    second = slot(1, 1, 0, 401) + slot(3, 1, 2**36, 5) + slot(3, 1, 2**36 + 5, 5)
    writer.page(book.EVENTS, 1, 1, 4096, second)
    struct.pack_into(order + "Q", writer.data, len(writer.data) - 4096 + 24, base + 2**40)
    writer.page(book.EVENTS, 2, 0, 4096, slot(1, 2, 0, 402) + slot(3, 1, 2**35, detached) + slot(32, 3, 2**35, 1))
    struct.pack_into(order + "Q", writer.data, len(writer.data) - 4096 + 24, base)
    with open(path, "wb") as file:
        file.write(writer.data)


def main():
    with tempfile.TemporaryDirectory() as directory:
        for order in "<>":
            path = os.path.join(directory, "little.lam" if order == "<" else "big.lam")
            write_everything(path, order)
            count = compare(path, path)
            assert count >= 20, count
            print(f"{count} events agree ({'little' if order == '<' else 'big'}-endian)")


if __name__ == "__main__":
    main()
