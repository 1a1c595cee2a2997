"""The reader of self-profiles that the accuracy benchmark uses, on files made by hand."""

import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["LAMELLA_SRC"], "bench"))
from record_lib import check, equal, main
from self_profile import FIRST_ADDRESS, INSTANT, INTEGER, METADATA, SelfProfile, Timeline


class Maker:
    def __init__(self):
        self.events, self.strings, self.index = bytearray(b"MMES\x09\0\0\0"), bytearray(b"MMSD\x09\0\0\0"), bytearray(b"MMSI\x09\0\0\0")

    def string(self, *parts):
        address = len(self.strings)
        for part in parts:
            self.strings += part if isinstance(part, bytes) else b"\xfe" + struct.pack("<Q", part)
        self.strings += b"\xff"
        return address + FIRST_ADDRESS

    def name(self, virtual, string_id):
        self.index += struct.pack("<QQ", virtual, string_id - FIRST_ADDRESS)

    def event(self, label, start, end, thread=1, kind=0):
        upper = start >> 32 << 16 | end >> 32
        self.events += struct.pack("<QQIIII", kind, label, thread, start & 0xFFFFFFFF, end & 0xFFFFFFFF, upper)

    def metadata(self, text=b'{"start_time": 1700000000000000005, "process_id": 77, "cmd": "rustc"}'):
        self.name(METADATA, self.string(text))

    def data(self):
        parts = [b"MMPD\x09\0\0\0"]
        for tag, stream in ((0, self.events), (1, self.strings), (2, self.index)):
            # A stream in two pages, as rustc's threads leave it.
            half = len(stream) // 2
            parts += [struct.pack("<BI", tag, len(piece)) + bytes(piece) for piece in (stream[:half], stream[half:])]
        return b"".join(parts)


def load(data):
    with open("made.mm_profdata", "wb") as file:
        file.write(data)
    return SelfProfile("made.mm_profdata")


def whole():
    maker = Maker()
    maker.metadata()
    query = maker.string(b"typeck")
    maker.name(5, maker.string(query, b"\x1eargument"))
    maker.event(5, 1 << 33, (1 << 33) + 100, kind=query)
    maker.event(query, (1 << 33) + 10, (1 << 33) + 20)
    maker.event(query, 30, INSTANT)
    maker.event(query, 30, INTEGER)
    maker.event(query, 40, 30)
    return maker


def test_events_and_strings():
    profile = load(whole().data())
    equal((profile.pid, profile.started_unix_ns), (77, 1700000000000000005), "metadata")
    equal(dict(profile.events), {1: [(1 << 33, (1 << 33) + 100, "typeck", "typeck"), ((1 << 33) + 10, (1 << 33) + 20, "#0", "typeck")]}, "events")


def test_older_metadata():
    maker = Maker()
    maker.metadata(b'{"start_time": {"secs_since_epoch": 3, "nanos_since_epoch": 4}, "process_id": 9}')
    equal(load(maker.data()).started_unix_ns, 3000000004, "start")


def test_strings_in_a_circle_end():
    maker = whole()
    at = len(maker.strings) + FIRST_ADDRESS
    maker.event(maker.string(at), 200, 300)
    load(maker.data())


def test_every_cut_is_an_error_or_read():
    data = whole().data()
    refused = 0
    for length in range(len(data)):
        try:
            load(data[:length])
        except ValueError as error:
            refused += 1
            check("made.mm_profdata" in str(error), f"names the file: {error}")
    check(refused > len(data) // 2, f"{refused} of {len(data)} cuts refused")


def test_foreign_files_are_refused():
    for data in (b"", b"MMPD", b"MMPD\x07\0\0\0", b"MMPD\x09\0\0\0\x07\0\0\0\0", b"MMPD\x09\0\0\0\0\xff\xff\xff\x7f", b"x" * 100):
        try:
            load(data)
        except ValueError:
            continue
        raise AssertionError(f"{data!r} was read")


def test_innermost():
    line = Timeline([(0, 100, "", "a"), (10, 50, "", "b"), (10, 20, "", "c"), (60, 60, "", "d")])
    for at, wanted in ((0, "a"), (10, "c"), (19, "c"), (20, "b"), (49, "b"), (50, "a"), (60, "a"), (99, "a"), (100, None), (-1, None)):
        equal(line.at(at), wanted, f"at {at}")
    sums = line.self_times()
    equal((sums["a"], sums["b"], sums["c"]), (60, 30, 10), "self times")


main(globals())
