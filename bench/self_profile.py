"""Reads what rustc writes with -Z self-profile (.mm_profdata, version 9) into the innermost event of each thread over time.

The file: "MMPD", u32 version, then pages: u8 tag (0 events, 1 string data, 2 string index), u32 length, bytes. The pages of one
tag make one stream, which begins with a header of 8 bytes of its own; addresses in the string data count it. An event has 32
bytes: u64 kind, u64 id (both string ids), u32 thread, u32 low halves of start and end, u32 upper 16 bits of start, then of end;
times are nanoseconds since the profile's start. A string is bytes up to FF; FE and a u64 stand for another string. Ids up to
10^8 are virtual: the index (u64 id, u64 address) says where they are; 10^8 + 1 is the metadata; from 10^8 + 3 on the rest is
the address. What follows the byte 1E in a label are arguments."""

import bisect
import json
import struct
from collections import defaultdict

LAST_VIRTUAL, METADATA, FIRST_ADDRESS = 100000000, 100000001, 100000003
INSTANT, INTEGER = (1 << 48) - 1, (1 << 48) - 2
MAX_NESTING = 50


class SelfProfile:
    """events: {thread: [(start_ns, end_ns, kind, label)]}; started_unix_ns, pid: of the process."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:4] != b"MMPD" or len(data) < 8:
            raise ValueError(f"{path}: no .mm_profdata file")
        (version,) = struct.unpack_from("<I", data, 4)
        if version != 9:
            raise ValueError(f"{path}: version {version}; only 9 is read")
        events, self.strings, index = read_pages(path, data)
        self.addresses = {}
        for at in range(8, len(index) - 15, 16):
            string_id, address = struct.unpack_from("<QQ", index, at)
            self.addresses[string_id] = address
        self.texts = {}
        self.events = defaultdict(list)
        for at in range(8, len(events) - 31, 32):
            self.add_event(*struct.unpack_from("<QQIIII", events, at))
        self.read_metadata(path)

    def add_event(self, kind, label, thread, start_low, end_low, upper):
        start, end = start_low | (upper >> 16) << 32, end_low | (upper & 0xFFFF) << 32
        if end in (INSTANT, INTEGER) or end < start:
            return
        self.events[thread].append((start, end, self.text(kind), self.text(label).split("\x1e")[0]))

    def text(self, string_id, nesting=0):
        known = self.texts.get(string_id)
        if known is None:
            known = self.texts[string_id] = self.read_text(string_id, nesting)
        return known

    def read_text(self, string_id, nesting):
        address = string_id - FIRST_ADDRESS if string_id >= FIRST_ADDRESS else self.addresses.get(string_id)
        if address is None or nesting > MAX_NESTING or not 8 <= address < len(self.strings):
            return f"#{string_id}"
        parts, at = [], address
        while at < len(self.strings) and self.strings[at] != 0xFF:
            if self.strings[at] == 0xFE and at + 9 <= len(self.strings):
                (other,) = struct.unpack_from("<Q", self.strings, at + 1)
                parts.append(self.text(other, nesting + 1))
                at += 9
            else:
                end = min(e for e in (self.strings.find(b"\xff", at), self.strings.find(b"\xfe", at), len(self.strings)) if e >= 0)
                parts.append(self.strings[at:max(end, at + 1)].decode(errors="replace"))
                at = max(end, at + 1)
        return "".join(parts)

    def read_metadata(self, path):
        text = self.text(METADATA)
        try:
            facts = json.loads(text)
            since = facts["start_time"]
            self.started_unix_ns = since if isinstance(since, int) else since["secs_since_epoch"] * 10**9 + since["nanos_since_epoch"]
            self.pid = facts["process_id"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}: its metadata cannot be read: {text[:80]!r}") from None


def read_pages(path, data):
    streams = [bytearray(), bytearray(), bytearray()]
    at = 8
    while at < len(data):
        if at + 5 > len(data):
            raise ValueError(f"{path}: cut short at byte {at}")
        tag, length = struct.unpack_from("<BI", data, at)
        if tag > 2 or at + 5 + length > len(data):
            raise ValueError(f"{path}: no page begins at byte {at}")
        streams[tag] += data[at + 5 : at + 5 + length]
        at += 5 + length
    return map(bytes, streams)


class Timeline:
    """Which event of one thread is the innermost at a time."""

    def __init__(self, events):
        self.starts, self.labels = [], []
        stack = []
        for event in sorted(events, key=lambda e: (e[0], -e[1])):
            self.close(stack, event[0])
            stack.append(event)
            self.mark(event[0], event[3])
        self.close(stack, float("inf"))
        self.first = self.starts[0] if self.starts else 0
        self.last = max((e[1] for e in events), default=0)

    def close(self, stack, until):
        while stack and stack[-1][1] <= until:
            ended = stack.pop()
            self.mark(ended[1], stack[-1][3] if stack else None)

    def mark(self, at, label):
        if self.starts and at < self.starts[-1]:
            at = self.starts[-1]  # two that overlap without nesting
        self.starts.append(at)
        self.labels.append(label)

    def at(self, when):
        index = bisect.bisect_right(self.starts, when) - 1
        return self.labels[index] if index >= 0 else None

    def self_times(self):
        sums = defaultdict(int)
        for index, label in enumerate(self.labels[:-1]):
            sums[label] += self.starts[index + 1] - self.starts[index]
        return sums
