"""lamella report, diff and aggregate on self-profiles made by hand: what upstream's summary says, and what bad input gets."""
# ctest: TIMEOUT 120

import json
import os
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *

FIRST_ADDRESS, METADATA = 100000003, 100000001
INSTANT, INTEGER = 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFE


class Profile:
    """A version 9 file: events are kept in the order in which they are added."""

    def __init__(self, command="rustc --crate-name demo src/lib.rs", pid=77):
        self.events, self.strings, self.index, self.ids = bytearray(), bytearray(b"MMSD\x09\0\0\0"), bytearray(), {}
        metadata = '{"start_time": 1700000000000000000, "process_id": %d, "cmd": %s}' % (pid, json.dumps(command))
        self.index += struct.pack("<QQ", METADATA, self.string(metadata.encode()) - FIRST_ADDRESS)

    def string(self, text):
        text = text if isinstance(text, bytes) else text.encode()
        if text not in self.ids:
            self.ids[text] = len(self.strings) + FIRST_ADDRESS
            self.strings += text + b"\xff"
        return self.ids[text]

    def event(self, kind, label, start, end, thread=1):
        upper = start >> 32 << 16 | end >> 32
        self.events += struct.pack("<QQIIII", self.string(kind), self.string(label), thread, start & 0xFFFFFFFF, end & 0xFFFFFFFF, upper)
        return self

    def data(self):
        parts = [b"MMPD\x09\0\0\0"]
        for tag, stream in ((0, b"MMES\x09\0\0\0" + bytes(self.events)), (1, self.strings), (2, b"MMSI\x09\0\0\0" + bytes(self.index))):
            parts.append(struct.pack("<BI", tag, len(stream)) + bytes(stream))
        return b"".join(parts)

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.data())
        return path


def lamella(*arguments, limit_bytes=None):
    def limit():
        if limit_bytes and not os.environ.get("LAMELLA_SANITIZE"):
            resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

    return subprocess.run([LAMELLA, *arguments], capture_output=True, timeout=60, preexec_fn=limit)


def good(*arguments, code=0):
    done = lamella(*arguments)
    equal(done.returncode, code, f"exit code of {arguments}: {done.stderr}")
    return done.stdout.decode()


def report(*arguments):
    return json.loads(good("report", "--format", "json", *arguments))


def ns(seconds):
    return round(seconds * 1e9)


def sample(slow=0, extra=0):
    """Nesting, recursion, parts of queries, artifacts, on two threads; `slow` ns more in one label."""
    profile = Profile()
    for i in range(extra):
        profile.event("GenericActivity", "extra", 1000 + i, 1000 + i)
    profile.event("Query", "inner", 10, 40)
    profile.event("IncrementalResultHashing", "outer", 80, 95)
    profile.event("QueryCacheHit", "inner", 50, INSTANT)
    profile.event("Query", "outer", 0, 100)
    profile.event("Query", "self", 2020, 2040)
    profile.event("Query", "self", 2000, 2100)
    profile.event("QueryBlocked", "outer", 200, 250, thread=2)
    profile.event("IncrementalLoadResult", "outer", 300, 340, thread=2)
    profile.event("GenericActivity", "LLVM_passes", 1000, 1500 + slow, thread=2)
    profile.event("ArtifactSize", "rlib", 123, INTEGER)
    profile.event("QueryCacheHitCount", "outer", 9, INTEGER)
    return profile


def test_report():
    path = sample().save("a.mm_profdata")
    text = good("report", path)
    for wanted in ("by label", "outer", "LLVM_passes", "cache hits", "blocked", "loading", "hashing", "Artifact sizes", "rlib"):
        check(wanted in text, f"'{wanted}' is in\n{text}")
    for unwanted in ("Processes by CPU", "coverage", "command's end is not", "By unit"):
        check(unwanted not in text, f"'{unwanted}' is in\n{text}")
    data = report(path)
    rows = {row["label"]: row for row in data["activities"]}
    outer = rows["outer"]
    equal([ns(outer[key]) for key in ("self_s", "wall_s", "time_s", "blocked_s", "load_s", "hashing_s")],
          [55 + 15 + 50 + 40, 190, 190, 50, 40, 15], "times of outer")
    equal((outer["count"], outer["cache_hits"], rows["inner"]["cache_hits"]), (1, 9, 1), "counts")
    equal((ns(rows["self"]["time_s"]), ns(rows["self"]["wall_s"]), ns(rows["self"]["self_s"])), (100, 120, 100), "recursion")
    equal(data["artifact_sizes"][0]["bytes"], 123, "artifact")
    equal(ns(data["intervals"]["thread_s"]), 2100 + 1300, "time of threads")
    equal(outer["unit"], "demo", "unit")
    check("# Lamella report" in good("report", "--format", "markdown", path), "Markdown")


def test_views():
    path = sample().save("b.mm_profdata")
    text = good("report", "--by", "kind,path,thread,argument", path)
    for wanted in ("By kind", "By path", " inner", "By thread", "By argument", "QueryBlocked"):
        check(wanted in text, f"'{wanted}' is in\n{text}")
    data = report("--by", "label,argument,path", path)
    check(data["arguments"] and data["paths"], "arguments and paths")
    check(data["activities"][0]["unit"] is None, "without unit")
    text = good("report", "--top", "1", path)
    check("more labels" in text, text)
    text = good("report", "--by", "path", "--top", "0", path)
    check("more path" not in text, text)
    check(not any(line.endswith(" ") for line in text.splitlines()), f"blanks end a line of\n{text}")
    equal(lamella("report", "--by", "labels", path).returncode, 2, "unknown table")
    done = lamella("report", "--unit", "nobody", path)
    equal(done.returncode, 1, "no such unit")


def test_many_as_one():
    os.makedirs("build")
    for i, crate in enumerate(("one", "two", "three")):
        profile = Profile(f"rustc --crate-name {crate} src/lib.rs", pid=100 + i)
        profile.event("Query", "typeck", 0, 10 * (i + 1)).save(f"build/{crate}-{i}.mm_profdata")
    text = good("report", "build")
    for wanted in ("By unit", "one", "two", "three", "3 profiles"):
        check(wanted in text, f"'{wanted}' is in\n{text}")
    data = report("build")
    equal({row["unit"]: ns(row["self_s"]) for row in data["activities"]}, {"one": 10, "two": 20, "three": 30}, "by unit")
    equal([ns(row["self_s"]) for row in report("--by", "label", "build")["activities"]], [60], "all together")
    equal([ns(row["self_s"]) for row in report("--unit", "t*", "--by", "label", "build")["activities"]], [50], "some")


def test_diff():
    old, new = sample().save("old.mm_profdata"), sample(slow=500).save("new.mm_profdata")
    text = good("diff", old, new)
    for wanted in ("nobody can know", "LLVM_passes", "+100", "all labels"):
        check(wanted in text, f"'{wanted}' is in\n{text}")
    with open("old.json", "w") as file:
        json.dump(report(old), file)
    data, stored = json.loads(good("diff", "--format", "json", old, new)), json.loads(good("diff", "--format", "json", "old.json", new))
    equal(data["labels"], stored["labels"], "a stored report serves as well")
    row = data["labels"][0]
    equal((row["name"], ns(row["change"]), row["share"], row["verdict"]), ("LLVM_passes", 500, 1, "unknown"), "largest change")
    equal(data["totals"][0]["name"], "all labels", "total")
    good("diff", "--fail-above", "5%", old, new, code=1)
    good("diff", "--fail-above", "500%", old, new)
    good("diff", "--fail-above", "5%", "--exclude", "LLVM*", old, new)
    good("diff", "--fail-above", "5%", new, old)
    check("# Lamella diff" in good("diff", "--format", "markdown", old, new), "Markdown")


def test_diff_with_repeats():
    old = [sample(slow=i % 3).save(f"o{i}.mm_profdata") for i in range(5)]
    new = [sample(slow=400 + i % 3).save(f"n{i}.mm_profdata") for i in range(5)]
    data = json.loads(good("diff", "--format", "json", *old, "--against", *new))
    rows = {row["name"]: row for row in data["labels"]}
    equal((len(data["before"]), len(data["after"]), data["repeated"]), (5, 5, True), "runs")
    equal((rows["LLVM_passes"]["verdict"], rows["outer"]["verdict"]), ("increase", "same"), "verdicts")
    check(rows["LLVM_passes"]["low"] > 300e-9 and rows["LLVM_passes"]["high"] < 500e-9, "interval")
    again = good("diff", "--format", "json", *old, f"--against={new[0]}", *new[1:])
    equal(json.loads(again), data, "the same once more")
    good("diff", "--fail-above", "1%", *old, "--against", *new, code=1)
    text = good("diff", "--fail-above", "0", *old, "--against", *old)
    check("slower" not in text, text)
    data = json.loads(good("diff", "--format", "json", *old[:3], "--against", *new[:3]))
    equal({row["name"]: row["verdict"] for row in data["labels"]}["LLVM_passes"], "likely_increase", "few runs")


def test_sampled_recordings():
    """Phases and units of sampled builds are compared as labels are."""
    compile_c("burn", "int main(void) { volatile long n = 0; for (long i = 0; i < 60000000; i++) n += i; return 0; }")
    for name in ("x.lamella", "y.lamella"):
        equal(record("./burn", out=name).returncode, 0, "recorded")
    with open("x.json", "w") as file:
        json.dump(report("x.lamella"), file)
    data = json.loads(good("diff", "--format", "json", "x.json", "x.lamella"))
    equal([row["verdict"] for row in data["totals"] + data["phases"]], ["same"] * (len(data["totals"]) + len(data["phases"])), "the same run")
    check({"CPU", "wall"} <= {row["name"] for row in data["totals"]} and data["judged"] == "CPU", f"totals {data['totals']}")
    check("Phases by what changed" in good("diff", "x.lamella", "y.lamella"), "text")
    data = json.loads(good("aggregate", "--format", "json", "x.lamella", "y.lamella"))
    equal((len(data["runs"]), data["sequence"]), (2, None), "no events, no order")


def test_wrong_use():
    path = sample().save("w.mm_profdata")
    for arguments in (["diff", path], ["diff", path, path, path], ["diff", "--against", path], ["diff", "--fail-above", "x", path, path],
                      ["diff", "--metric", "cpu", path, path], ["aggregate"], ["aggregate", "--sort", "name", path]):
        done = lamella(*arguments)
        equal((done.returncode, done.stdout), (2, b""), f"{arguments}: {done.stderr}")
    for command in ("diff", "aggregate"):
        text = good(command, "--help")
        check(f"Usage: lamella {command}" in text and "Example" in text, text)


def bad_files():
    """cases.md, row 1: small files that stopped other readers."""
    whole = sample().data()
    header = b"MMPD\x09\0\0\0"
    files = {
        "empty": b"", "magic": b"MMPD", "header": header, "long-page": header + b"\0" + struct.pack("<I", 0x7FFFFFFF),
        "tag": header + b"\x07\0\0\0\0", "v7": b"MMPD\x07\0\0\0" + whole[8:], "v10": b"MMPD\x0a\0\0\0" + whole[8:],
        "odd": header + struct.pack("<BI", 0, 39) + b"MMES\x09\0\0\0" + b"\1" * 31,
    }
    files.update({f"cut{size}": whole[:size] for size in range(9, len(whole), 29)})
    return files


def test_bad_files():
    for name, data in bad_files().items():
        with open("bad", "wb") as file:
            file.write(data)
        for command in (["report", "bad"], ["diff", "bad", "bad"], ["aggregate", "bad"]):
            done = lamella(*command, limit_bytes=400 << 20)
            # Of a file that was cut whole events may be told; what was lost is said then.
            if done.returncode == 0:
                said = done.stdout + done.stderr
                check(b"damage" in said or b"could not be read" in said or b"at byte" in said, f"{name}: {command}: {said}")
                continue
            equal(done.returncode, 1, f"{name}: {command}: {done.stderr}")
            lines = done.stderr.decode().splitlines()
            check(lines and "bad" in lines[0] and len(lines) <= 2, f"{name}: {command}: {lines}")


def test_aggregate_folder():
    os.makedirs("folder/build")
    for name, data in bad_files().items():
        with open(f"folder/{name}", "wb") as file:
            file.write(data)
    with open("folder/notes.json", "w") as file:
        file.write('{"not": "ours"}')
    good_files = [sample(slow=i).save(f"folder/good{i}") for i in range(2)]
    sample().save("folder/build/one.mm_profdata")
    done = lamella("aggregate", "--format", "json", "folder")
    equal(done.returncode, 0, f"aggregate: {done.stderr}")
    data = json.loads(done.stdout)
    equal(data["runs"], ["folder/build", *good_files], "runs")
    equal(len(data["skipped"]), len(bad_files()) + 1, "skipped")
    for skipped in data["skipped"]:
        check(skipped["input"] in done.stderr.decode() and skipped["why"], f"{skipped} is named")
    rows = {row["name"]: row for row in data["labels"]}
    equal([ns(rows["LLVM_passes"][key]) for key in ("min", "median", "max")], [500, 500, 501], "values")
    equal(data["sequence"], {"labels": [], "first": []}, "the same events")
    check("inputs skipped" in good("aggregate", "folder"), "text counts them")
    done = lamella("aggregate", "folder/notes.json")
    check(done.returncode == 1 and b"1 was skipped" in done.stderr, f"nothing to use: {done.stderr}")


def test_aggregate_sequences():
    paths = [sample().save("s0.mm_profdata"), sample(extra=2).save("s1.mm_profdata")]
    data = json.loads(good("aggregate", "--format", "json", *paths))
    labels = {row["name"]: row for row in data["sequence"]["labels"]}
    equal((labels["extra"]["differs"], labels["extra"]["least"], labels["extra"]["most"]), ("number", 0, 2), "number")
    equal(data["sequence"]["first"][0]["here"], "extra", "where they part")
    check("differ in number or order" in good("aggregate", *paths), "text")
    equal(json.loads(good("aggregate", "--no-sequence", "--format", "json", *paths))["sequence"], None, "not asked for")


def test_bad_times():
    """cases.md, rows 2 and 3: ends before starts, overlaps, equal times; in any order of the file."""
    path = Profile().event("Query", "backward", 2000, 1000).save("t.mm_profdata")
    row = report(path)["activities"][0]
    equal((row["count"], ns(row["self_s"]), ns(row["wall_s"])), (1, 0, 0), "counted as empty")
    check("end before they start" in good("report", path), "and told")
    path = Profile().event("Query", "A", 0, 100).event("Query", "B", 50, 150).save("t.mm_profdata")
    equal({row["label"]: ns(row["self_s"]) for row in report(path)["activities"]}, {"A": 100, "B": 100}, "overlap")
    check("nobody" in good("report", path) or "their own" in good("report", path), "told")
    events = [("B", 0, 20), ("A", 0, 20), ("C", 20, 20), ("E", 25, 25), ("D", 20, 30)]
    for order in (events, events[::-1]):
        profile = Profile()
        for label, start, end in order:
            profile.event("Query", label, start, end)
        data = report(profile.save("t.mm_profdata"))
        equal(sum(ns(row["self_s"]) for row in data["activities"]), 30, "self times add up to the thread's")
        equal(ns(data["intervals"]["thread_s"]), 30, "time of the thread")


def test_names():
    """cases.md, rows 4 and 5: names break nothing."""
    names = ["a\x1bb", 'q"\\\'&<>', "semi;colon 12", "nl\nx", b"\xc3\x28", b"\xed\xa0\x80", "\ufffe", "\u2028", "", "</script>", "|pipe`"]
    profile = Profile("rustc --crate-name x</script>\x1b src/lib.rs")
    for i, name in enumerate(names):
        profile.event("Query", name, i * 10, i * 10 + i + 1)
    path = profile.save("names.mm_profdata")
    rows = report(path)["activities"]
    equal(len({row["label"] for row in rows}), len(names), "different labels stay different")
    for arguments in (["report", path], ["report", "--format", "markdown", path], ["report", "--by", "argument,path,thread,kind,unit", path],
                      ["diff", path, path], ["aggregate", path, path]):
        check("\x1b" not in good(*arguments), f"{arguments} sends no escape")


if __name__ == "__main__":
    main(globals())
