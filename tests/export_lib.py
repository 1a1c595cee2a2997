# ctest: helper
"""Readers of the export formats that share no code with lamella, strict where viewers are lenient; and a writer of small
self-profiles (version 9)."""

import collections
import gzip
import json
import re
import struct

from record_lib import check, equal

# ---- self-profiles ----

METADATA_ID = 100000001
FIRST_ID = 100000003
INSTANT_END = (1 << 48) - 1


class Profdata:
    """A .mm_profdata in the making: strings, then events in the order they are added."""

    def __init__(self, pid=77, command="rustc --crate-name demo src/lib.rs"):
        self.data = bytearray(b"MMSD" + struct.pack("<I", 9))
        self.index = bytearray(b"MMSI" + struct.pack("<I", 9))
        self.events = bytearray(b"MMES" + struct.pack("<I", 9))
        meta = {"start_time": 1700000000000000005, "process_id": pid, "cmd": command}
        self.index += struct.pack("<QQ", METADATA_ID, self._add(json.dumps(meta).encode()))
        self.known = {}

    def _add(self, text):
        address = len(self.data)
        self.data += text + b"\xff"
        return address

    def string(self, text):
        if text not in self.known:
            self.known[text] = self._add(text) + FIRST_ID
        return self.known[text]

    def interval(self, label, thread, start, end, kind=b"Query"):
        self.events += struct.pack("<QQIIII", self.string(kind), self.string(label), thread, start & 0xFFFFFFFF, end & 0xFFFFFFFF,
                                   (start >> 32) << 16 | end >> 32)

    def instant(self, label, thread, at, kind=b"Point"):
        self.interval(label, thread, at, INSTANT_END, kind)

    def integer(self, label, thread, value, kind=b"QueryCacheHitCount"):
        self.interval(label, thread, value, INSTANT_END - 1, kind)

    def save(self, path):
        with open(path, "wb") as file:
            file.write(b"MMPD" + struct.pack("<I", 9))
            for tag, stream in ((0, self.events), (1, self.data), (2, self.index)):
                for at in range(0, len(stream), 1 << 18):
                    part = bytes(stream[at:at + (1 << 18)])
                    file.write(struct.pack("<BI", tag, len(part)) + part)


# ---- JSON ----


def strict_json(raw):
    """One JSON text in valid UTF-8, without NaN, and without a key that stands twice in an object."""

    def pairs(items):
        equal(len(dict(items)), len(items), "different keys of an object")
        return dict(items)

    def constant(word):
        raise AssertionError(f"{word} is no JSON")

    text = raw.decode("utf-8", "strict")
    check(not re.search("[\x00-\x09\x0b-\x1f\x7f]", text), "no control characters in the text")
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


def unescape(text):
    """Reads back what lamella writes for bytes that a format cannot hold: see src/output/safe_text.h."""

    def one(match):
        if match[2]:
            return match[1][::2] + bytes([int(match[2], 16)])
        return match[3][::2] + b"x"

    return re.sub(rb"(?<!\\)(?:((?:\\\\)*)\\x([0-9a-f]{2})|((?:\\\\)+)x)", one, text.encode("utf-8", "surrogatepass"))


# ---- nesting ----


def check_nesting(intervals, what):
    """(start, end, name) of one row: each one ends before or with what is around it."""
    stack = []
    for start, end, name in intervals:
        check(end >= start, f"{what}: {name!r} ends before it starts")
        while stack and stack[-1] <= start and end > stack[-1]:
            stack.pop()
        check(not stack or end <= stack[-1], f"{what}: {name!r} [{start}, {end}] crosses one that ends at {stack[-1] if stack else 0}")
        stack.append(end)


# ---- Chrome ----


def ns(number):
    """Microseconds as JSON has them, in nanoseconds: exact, or it fails."""
    value = round(number * 1000)
    check(abs(number * 1000 - value) < 1e-3, f"{number} is a whole number of nanoseconds")
    return value


def read_chrome(raw):
    """{"intervals": [(pid, tid, name, start, end, args)], "instants", "counters", "names": {(pid, tid): name}}"""
    trace = strict_json(raw)
    found = {"intervals": [], "instants": [], "counters": [], "names": {}, "processes": {}, "other": trace["otherData"]}
    for event in trace["traceEvents"]:
        place = (event["pid"], event["tid"])
        if event["ph"] == "X":
            start = ns(event["ts"])
            found["intervals"].append((*place, event["name"], start, start + ns(event["dur"]), event.get("args", {})))
        elif event["ph"] == "i":
            equal(event["s"], "t", "scope of an instant")
            found["instants"].append((*place, event["name"], ns(event["ts"])))
        elif event["ph"] == "C":
            found["counters"].append((*place, event["name"], ns(event["ts"]), event["args"]["value"]))
        elif event["ph"] == "M":
            if event["name"] == "thread_name":
                check(place not in found["names"], f"row {place} is named once")
                found["names"][place] = event["args"]["name"]
            elif event["name"] == "process_name":
                check(event["pid"] not in found["processes"], "one process a pid")
                found["processes"][event["pid"]] = event["args"]["name"]
        else:
            raise AssertionError(f"phase {event['ph']}")
    rows = {}
    for order, (pid, tid, name, start, end, _) in enumerate(found["intervals"]):
        rows.setdefault((pid, tid), []).append((start, -end, order, end, name))
    for place, row in rows.items():
        check(place in found["names"], f"row {place} has a name")
        check_nesting([(start, end, name) for start, _, _, end, name in sorted(row)], f"row {place}")
    return found


# ---- protocol buffers ----


def varint(raw, at):
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        check(shift <= 70, "a varint has at most ten bytes")
        if byte < 128:
            return value, at


def fields(raw):
    """{field: [values]} of one message: numbers, or bytes."""
    found, at = {}, 0
    while at < len(raw):
        tag, at = varint(raw, at)
        if tag & 7 == 0:
            value, at = varint(raw, at)
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<Q", raw, at)[0], at + 8
        elif tag & 7 == 2:
            size, at = varint(raw, at)
            check(at + size <= len(raw), "a field ends within its message")
            value, at = raw[at:at + size], at + size
        else:
            raise AssertionError(f"wire type {tag & 7}")
        found.setdefault(tag >> 3, []).append(value)
    return found


def text_of(raw):
    return raw.decode("utf-8", "strict")


def packed(raw):
    values, at = [], 0
    while at < len(raw):
        value, at = varint(raw, at)
        values.append(value)
    return values


# ---- Perfetto ----


def read_perfetto(raw):
    """Intervals by begins and ends that match on each track, instants, counters, samples."""
    kinds = (1, 2, 3, 5, 6, 7, 16, 17, 19)
    sequences = collections.defaultdict(lambda: {kind: {} for kind in kinds})  # what each has interned since it was cleared
    tracks, events = {}, []
    found = {"intervals": [], "instants": [], "counters": [], "samples": []}
    top = fields(raw)
    equal(list(top), [1], "fields of a trace")
    for order, packet in enumerate(map(fields, top[1])):
        sequence, = packet[10]
        check(sequence in (1, 2), "its own packets, and those of stretches")
        flags = packet.get(13, [0])[0]
        if flags & 1:
            sequences.pop(sequence, None)
        check(not flags & 2 or sequence in sequences, "a sequence begins with a cleared state")
        interned = sequences[sequence]
        for data in packet.get(12, []):
            for kind, items in fields(data).items():
                for item in map(fields, items):
                    interned[kind][item[1][0]] = item
        for data in packet.get(60, []):
            track = fields(data)
            check(track[1][0] not in tracks, "a track is described once")
            check(5 not in track or track[5][0] in tracks, "a track's parent comes before it")
            tracks[track[1][0]] = track
        for data in packet.get(11, []):
            event = fields(data)
            check(event[11][0] in tracks, "an event's track is known")
            check(3 not in event or event[3][0] in interned[1], "an event's category is known")
            events.append((packet[8][0], order, event, interned))
        for data in packet.get(66, []):
            sample = fields(data)
            stack = interned[7][sample[4][0]] if 4 in sample else {2: []}
            names = []
            for frame in stack[2]:
                check(interned[6][frame][3][0] in interned[19], "a frame's mapping is known")
                names.append(text_of(interned[5][interned[6][frame][2][0]][2][0]))
            found["samples"].append((sample[2][0], sample[3][0], names))
    open_ = {}
    for at, _, event, interned in sorted(events, key=lambda e: e[:2]):
        track = event[11][0]
        name = text_of(interned[2][event[10][0]][2][0]) if 10 in event else text_of(event[23][0]) if 23 in event else None
        args = {}
        for annotation in map(fields, event.get(4, [])):
            key = text_of(interned[3][annotation[1][0]][2][0]) if 1 in annotation else text_of(annotation[10][0])
            args[key] = text_of(annotation[6][0]) if 6 in annotation else annotation.get(3, annotation.get(2))[0]
        kind = event[9][0]
        if kind == 1:
            open_.setdefault(track, []).append((name, at, args))
        elif kind == 2:
            check(open_.get(track), "an end has its begin")
            name, start, args = open_[track].pop()
            found["intervals"].append((track, name, start, at, args))
        elif kind == 3:
            found["instants"].append((track, name, at))
        else:
            equal(kind, 4, "type of an event")
            check(8 in tracks[track], "a counter is on a counter's track")
            found["counters"].append((track, text_of(tracks[track][2][0]), at, event[30][0]))
    for track, left in open_.items():
        equal(left, [], f"intervals left open on track {track}")
    found["tracks"] = tracks
    return found


# ---- speedscope ----


def read_speedscope(raw):
    """Checks the rules of both kinds of profiles; returns them with names: [(name, intervals)], [(name, samples)]"""
    profile = strict_json(raw)
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    evented, sampled = [], []
    for item in profile["profiles"]:
        check(item["startValue"] <= item["endValue"], "a profile ends after its start")
        if item["type"] == "sampled":
            equal(len(item["samples"]), len(item["weights"]), "samples and weights")
            equal(sum(item["weights"]), item["endValue"], "the sum of the weights")
            sampled.append((item["name"], [[frames[f] for f in stack] for stack in item["samples"]]))
            continue
        stack, last, intervals = [], item["startValue"], []
        for event in item["events"]:
            check(event["at"] >= last, "times do not fall")
            last = event["at"]
            if event["type"] == "O":
                stack.append((event["frame"], event["at"], [frames[f] for f, *_ in stack] + [frames[event["frame"]]]))
            else:
                frame, start, path = stack.pop()
                equal(frame, event["frame"], "an end is that of the innermost frame")
                intervals.append((";".join(path), start, last))
        equal(stack, [], "frames left open")
        equal(last, item["endValue"], "the end")
        evented.append((item["name"], intervals))
    return {"evented": evented, "sampled": sampled, "frames": frames}


def check_schema(schema, value, root=None, path="$"):
    """The part of JSON schema that speedscope's own schema is written in."""
    root = root or schema
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].lstrip("#/").split("/"):
            target = target[step]
        return check_schema(target, value, root, path)
    if "anyOf" in schema:
        errors = []
        for option in schema["anyOf"]:
            try:
                return check_schema(option, value, root, path)
            except AssertionError as error:
                errors.append(str(error))
        raise AssertionError(f"{path} matches nothing: {'; '.join(errors)[:600]}")
    types = {"object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool, "null": type(None)}
    if "type" in schema:
        check(isinstance(value, types[schema["type"]]), f"{path}: {str(value)[:60]} is no {schema['type']}")
    if "enum" in schema:
        check(value in schema["enum"], f"{path}: {str(value)[:60]} is none of {schema['enum']}")
    for key in schema.get("required", []):
        check(key in value, f"{path}: {key} is missing")
    for key, item in schema.get("properties", {}).items():
        if isinstance(value, dict) and key in value:
            check_schema(item, value[key], root, f"{path}.{key}")
    if isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            check_schema(schema["items"], item, root, f"{path}[{index}]")
    return None


# ---- Firefox ----

THREAD_KEYS = {"name", "processName", "processType", "isMainThread", "tid", "pid", "pausedRanges", "processStartupTime", "processShutdownTime",
               "registerTime", "unregisterTime", "samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols"}
COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred", "darkgrey", "grey"}


def check_table(table, name, columns):
    equal(set(table) - {"length", "weightType"}, columns, f"columns of {name}")
    for column in columns:
        equal(len(table[column]), table["length"], f"{name}.{column}")


def in_range(values, limit, what, also=()):
    for value in values:
        check(value in also or isinstance(value, int) and 0 <= value < limit, f"{what}: {value!r} of {limit}")


def read_firefox(raw):
    """Checks each table and index of version 57; returns markers and samples by name."""
    profile = strict_json(raw)
    meta, strings = profile["meta"], profile["shared"]["stringArray"]
    equal(meta["preprocessedProfileVersion"], 57, "version")
    equal(len(set(strings)), len(strings), "different strings")
    for category in meta["categories"]:
        check(category["color"] in COLORS, f"colour {category['color']}")
        equal(category["subcategories"][0], "Other", "the first subcategory")
    check(any(c["color"] == "grey" for c in meta["categories"]), "one category is grey")
    schemas = {schema["name"]: {field["key"] for field in schema["fields"]} for schema in meta["markerSchema"]}
    found = {"markers": [], "samples": [], "meta": meta, "threads": profile["threads"]}
    for thread in profile["threads"]:
        equal(set(thread), THREAD_KEYS, "members of a thread")
        check(isinstance(thread["pid"], str), "a pid is a string")
        markers, samples, stacks, frames, funcs, resources = (
            thread[k] for k in ("markers", "samples", "stackTable", "frameTable", "funcTable", "resourceTable"))
        check_table(markers, "markers", {"name", "startTime", "endTime", "phase", "category", "data"})
        check_table(samples, "samples", {"stack", "time", "weight", "threadCPUDelta"})
        check_table(stacks, "stackTable", {"prefix", "frame"})
        check_table(frames, "frameTable", {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "line", "column"})
        check_table(funcs, "funcTable", {"name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber", "columnNumber"})
        check_table(resources, "resourceTable", {"lib", "name", "host", "type"})
        in_range(markers["name"], len(strings), "a marker's name")
        in_range(markers["category"], len(meta["categories"]), "a marker's category")
        in_range(samples["stack"], stacks["length"], "a sample's stack", (None,))
        for index, prefix in enumerate(stacks["prefix"]):
            check(prefix is None or 0 <= prefix < index, "a stack's prefix comes before it")
        in_range(stacks["frame"], frames["length"], "a stack's frame")
        in_range(frames["func"], funcs["length"], "a frame's function")
        for category, sub in zip(frames["category"], frames["subcategory"]):
            in_range([sub], len(meta["categories"][category]["subcategories"]), "a frame's subcategory")
        in_range(funcs["name"], len(strings), "a function's name")
        in_range(funcs["resource"], resources["length"], "a function's resource", (-1,))
        in_range(funcs["fileName"], len(strings), "a function's file", (None,))
        in_range(resources["lib"], len(profile["libs"]), "a resource's library")
        place = (thread["pid"], thread["tid"])
        for name, start, end, phase, data in zip(*(markers[c] for c in ("name", "startTime", "endTime", "phase", "data"))):
            check(data["type"] in schemas, f"type {data['type']} has a schema")
            equal(end is None, phase == 0, "only an instant has no end")
            found["markers"].append((place, strings[name], round(start * 1e6), None if end is None else round(end * 1e6), data))
        for stack, weight in zip(samples["stack"], samples["weight"]):
            names = []
            while stack is not None:
                names.append(strings[funcs["name"][frames["func"][stacks["frame"][stack]]]])
                stack = stacks["prefix"][stack]
            found["samples"].append((place, names[::-1], weight))
    return found


# ---- pprof, folded ----


def read_pprof(raw):
    """[(names outermost first, count, value, program)]"""
    profile = fields(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    strings = [text_of(s) for s in profile[6]]
    equal(strings[0], "", "the first string")
    functions = {f[1][0]: strings[f.get(2, [0])[0]] for f in map(fields, profile.get(5, []))}
    mappings = {m[1][0] for m in map(fields, profile.get(3, []))}
    locations = {}
    for location in map(fields, profile.get(4, [])):
        check(2 not in location or location[2][0] in mappings, "a location's mapping is known")
        locations[location[1][0]] = [functions[fields(line)[1][0]] for line in location[4]]
    samples = []
    for sample in map(fields, profile.get(2, [])):
        names = [name for location in packed(sample[1][0]) for name in locations[location]]
        count, value = packed(sample[2][0])
        samples.append((names[::-1], count, value, strings[fields(sample[3][0])[2][0]]))
    return samples


def read_folded(raw):
    """[(names, value)]"""
    lines = text_of(raw).split("\n")
    equal(lines.pop(), "", "the last line ends")
    rows = []
    for line in lines:
        names, _, value = line.rpartition(" ")
        rows.append((names.split(";"), int(value)))
    return rows
