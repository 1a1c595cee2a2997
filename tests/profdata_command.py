#!/usr/bin/env python3
"""Self-profiles on the command line: real ones of the installed rustc, damaged ones, a folder of good and bad ones, and a
round trip through our own .mm_profdata."""
# ctest: TIMEOUT 120

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

LAMELLA = os.environ.get("LAMELLA", "build/release/lamella")
FIRST = 100000003
METADATA = 100000001
FORMATS = ("chrome", "perfetto", "firefox", "speedscope", "pprof", "folded", "flamegraph", "mm_profdata")
SOURCE = "fn main() { let v: Vec<u32> = (0..10).collect(); println!(\"{:?}\", v); }\n"
failures = []


def check(what, ok, detail=""):
    if not ok:
        failures.append(what)
        print(f"FAILED: {what}: {detail}")


def lamella(*args, limit=False, stack=False):
    """(code, stdout, stderr, seconds); with a limit, at most 100 MB may be allocated, with `stack` 256 KB be on it (not under a sanitizer)."""
    def small():
        if limit and not os.environ.get("LAMELLA_SANITIZE"):
            resource.setrlimit(resource.RLIMIT_DATA, (100 << 20, 100 << 20))
        if stack and not os.environ.get("LAMELLA_SANITIZE"):
            resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))
    begin = time.monotonic()
    run = subprocess.run([LAMELLA, *args], capture_output=True, preexec_fn=small, timeout=60)
    return run.returncode, run.stdout, run.stderr.decode(errors="replace"), time.monotonic() - begin


def page(tag, body):
    return bytes([tag]) + struct.pack("<I", len(body)) + body


def header(magic, version=9):
    return magic + struct.pack("<I", version)


def event(kind, name, tid, start, end):
    return struct.pack("<QQIIII", kind, name, tid, start & 0xffffffff, end & 0xffffffff, (start >> 32) << 16 | end >> 32)


class Profile:
    def __init__(self):
        self.strings = header(b"MMSD")
        self.index = header(b"MMSI")
        self.events = header(b"MMES")
        self.index += struct.pack("<QQ", METADATA, self.text('{ "start_time": 1000000000, "process_id": 42, '
                                                             '"cmd": "rustc --crate-name leaf x.rs " }') - FIRST)

    def text(self, text):
        at = len(self.strings) + FIRST
        self.strings += text.encode() + b"\xff"
        return at

    def add(self, kind, name, tid, start, end):
        self.events += event(kind, name, tid, start, end)

    def bytes(self):
        return header(b"MMPD") + page(1, self.strings) + page(2, self.index) + page(0, self.events)


def good():
    profile = Profile()
    kind, a, b = profile.text("Query"), profile.text("alpha"), profile.text("beta")
    profile.add(kind, b, 1, 2000, 5000)
    profile.add(kind, a, 1, 1000, 9000)
    return profile.bytes()


def bad_files():
    whole = good()
    no_metadata = Profile()
    no_metadata.index = header(b"MMSI")
    return {
        "empty": b"",
        "magic": b"MMPD",
        "header": header(b"MMPD"),
        "past-the-end": header(b"MMPD") + b"\0\xff\xff\xff\x7f",
        "unknown-tag": header(b"MMPD") + b"\x07\0\0\0\0",
        "version-7": header(b"MMPD", 7) + whole[8:],
        "version-10": header(b"MMPD", 10) + whole[8:],
        "short-events": header(b"MMPD") + page(0, header(b"MMES") + b"x" * 31),
        "no-metadata": no_metadata.bytes(),
    }


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def bad_input(where):
    whole = write(os.path.join(where, "whole.mm_profdata"), good())
    for name, data in bad_files().items():
        path = write(os.path.join(where, name + ".mm_profdata"), data)
        for args in (["report", path], ["diff", whole, path], *(["export", "--to", form, "-o", os.path.join(where, "x"), path] for form in FORMATS)):
            code, _, err, took = lamella(*args, limit=True)
            check(f"{args[:3]} of {name} fails", code == 1 and not os.path.exists(os.path.join(where, "x")), f"exit {code}: {err}")
            lines = [line for line in err.splitlines() if line]
            check(f"{args[0]} of {name} says one line that names the file", len(lines) == 1 and path in lines[0], err)
            check(f"{args[0]} of {name} is quick", took < 5, f"{took:.1f} s")
    # Whole events before a cut are used, and it is said.
    path = write(os.path.join(where, "cut.mm_profdata"), good()[:-5])
    code, out, err, _ = lamella("report", path, limit=True)
    check("a cut file is read as far as it goes", code == 0 and b"beta" in out, f"{code} {out} {err}")
    check("a cut file's loss is told", "at byte" in err + out.decode(), err + out.decode())


def folder(where):
    directory = os.path.join(where, "folder")
    os.mkdir(directory)
    write(os.path.join(directory, "good-1.mm_profdata"), good())
    for name, data in bad_files().items():
        write(os.path.join(directory, name + ".mm_profdata"), data)
    write(os.path.join(directory, "notes.json"), b"{ not json")
    code, out, err, _ = lamella("report", directory, limit=True)
    text = out.decode() + err
    check("a folder with bad files is read", code == 0 and "alpha" in text, text)
    check("how many files were skipped is said", "8" in text and ".mm_profdata" in text, text)
    code, out, err, _ = lamella("aggregate", directory, limit=True)
    check("aggregate goes on with the good file", code == 0 and b"alpha" in out, err)
    check("and names each that it leaves out", f"{len(bad_files()) + 1} inputs skipped" in out.decode() and "notes.json" in err, out.decode() + err)


def activities(*args, **kwargs):
    return {row["label"]: row["count"] for row in json.loads(run_with(*args, **kwargs)[1])["activities"]}


def run_with(*args, stdin=None, path=None):
    """(code, stdout, stderr) with a pipe (bytes) or a file as standard input."""
    with open(path or os.devnull, "rb") as file:
        given = {"input": stdin} if stdin is not None else {"stdin": file}
        run = subprocess.run([LAMELLA, *args], capture_output=True, timeout=60, **given)
    return run.returncode, run.stdout, run.stderr.decode(errors="replace")


def given_twice(where):
    """One file under several names counts once, and what is no file is named."""
    directory = os.path.join(where, "links")
    os.mkdir(directory)
    path = write(os.path.join(directory, "one-1.mm_profdata"), good())
    link = os.path.join(directory, "link.mm_profdata")
    os.symlink(path, link)
    os.mkfifo(os.path.join(directory, "pipe"))
    os.mkfifo(os.path.join(directory, "pipe.mm_profdata"))
    wanted = {"alpha": 1, "beta": 1}
    for args in ((path, path), (path, link), (directory,), (directory, path)):
        check(f"{len(args)} names of one file", activities("report", "--format", "json", *args) == wanted, args)
    _, out, _ = run_with("report", path, link)
    check("it is said", b"1 file is there already" in out and b"ran 2 times" not in out, out)
    _, out, _ = run_with("report", directory)
    head = out.decode().split("\n\n", maxsplit=1)[0]
    check("pipes are named at the head", "2 of 3 files could not be read whole:" in head and head.count("a pipe, and no file") == 2, head)
    _, _, err = run_with("export", "--to", "folded", directory)
    check("an export says both", "1 file is there already" in err and "2 of 3 files could not be read whole: " in err, err)
    code, out, err = run_with("aggregate", path, link)
    check("a run is no second one", code == 0 and b"1 run, 1 input skipped" in out and "link.mm_profdata: is there already" in err, err)
    code, out, err = run_with("diff", path, link, "--against", path)
    check("on one side", code == 0 and "left out: " + link in err, err)
    copy = write(os.path.join(where, "copy-1.mm_profdata"), good())
    code, out, err = run_with("report", path, copy)
    check("rows of copies differ", code == 0 and b"leaf x.rs" not in out and b"(pid 42)" in out and b"(pid 42, no. 2)" in out, out)


def standard_input(where):
    path, broken = write(os.path.join(where, "stdin.mm_profdata"), good()), good()[:-20]
    wanted = {"alpha": 1, "beta": 1}
    _, stored, _ = run_with("report", "--format", "json", path)
    check("a file on standard input", activities("report", "--format", "json", "-", path=path) == wanted)
    check("a pipe", activities("report", "--format", "json", "-", stdin=good()) == wanted)
    check("given twice", activities("report", "--format", "json", "-", path, "-", path=path) == wanted)
    check("with faults", "standard input: at byte" in run_with("report", "-", stdin=broken)[1].decode())
    code, out, err = run_with("diff", "-", path, stdin=stored)
    check("a stored report is compared", code == 0 and b"1 run: standard input" in out and b"2 did not change" in out, out.decode() + err)
    code, out, err = run_with("export", "--to", "folded", "-", stdin=good())
    check("an export", code == 0 and b"alpha" in out, err)
    for stdin, says in ((b"", "standard input: the file is empty"), (b"hello", "standard input: neither a recording nor"),
                        (b"LAMELLA\n" * 99, "standard input: ")):
        code, out, err = run_with("report", "-", stdin=stdin)
        check(f"{stdin[:9]} is refused", code == 1 and says in err and err.count("\n") == 1, err)
    for args, says in (("probe", "-"), "a self-profile (.mm_profdata); probe takes a recording"), (("view", "--raw", "-"), "--raw takes a path"):
        code, out, err = run_with(*args, stdin=good())
        check(f"{args} is refused", code == 1 and "standard input: " + says in err and err.count("\n") == 1, err)
    code, _, err = run_with("report", "/dev/stdin", stdin=good())
    check("a pipe by its name is refused with the way", code == 1 and "a pipe, neither a file nor a directory; '-' reads standard input" in err, err)


def faults_at_the_head(where):
    """Where nobody can miss them, some of each file, and how many more."""
    profile = Profile()
    kind = profile.text("Query")
    for i in range(20):
        profile.add(kind, FIRST + 1000000 + i, 1, 10 * i, 10 * i + 5)
    noisy, cut = write(os.path.join(where, "noisy.mm_profdata"), profile.bytes()), write(os.path.join(where, "short.mm_profdata"), good()[:-20])
    _, out, _ = run_with("report", noisy)
    lines = out.decode().splitlines()
    check("one file's faults", lines[1] == "  ! The file could not be read whole:" and "lies past the end" in lines[2] and lines[10].startswith("    - and 1"), lines[:12])
    for form in "text", "markdown":
        _, out, _ = run_with("report", "--format", form, noisy, cut)
        head = out.decode().split("beta", maxsplit=1)[0].replace("\\", "")
        check(f"{form}: those of two", "None of the 2 files could be read whole:" in head and head.count("noisy.mm_profdata: ") == 3 and
              "short.mm_profdata: " in head and "Findings" not in head, head)
    _, out, _ = run_with("report", "--around", "alpha", good_and(where, cut))
    check("with --around, too", b"could not be read whole" in out, out)
    found = [row for row in json.loads(run_with("report", "--format", "json", noisy)[1])["findings"] if row["id"] == "damaged_streams"]
    check("the finding has them all", found[0]["text"].count("noisy.mm_profdata: ") == 8 and "; and 1" in found[0]["text"], found)
    for args in (("diff", noisy, cut), ("aggregate", noisy)):
        _, _, err = run_with(*args)
        check(f"{args[0]} names the file once", err.splitlines()[0].count("noisy.mm_profdata") == 1 and "damaged: at byte" in err, err)


def added_up_by_all(where):
    """So many events that all cores add them up by path; and where two overlap, one must."""
    count = 1100000
    for crossing in False, True:
        profile = Profile()
        kind, outer, empty = profile.text("Query"), profile.text("outer"), profile.text("empty")
        profile.add(kind, profile.text("inner"), 1, 10, 30)
        profile.events += count * event(kind, empty, 1, 50, 50)
        profile.add(kind, outer, 1, 0, 100)
        if crossing:
            profile.add(kind, profile.text("across"), 1, 60, 150)
        path = write(os.path.join(where, "many.mm_profdata"), profile.bytes())
        outputs = set()
        for threads in "1", "2", "5":
            os.environ["LAMELLA_THREADS"] = threads
            outputs.add(lamella("export", "--to", "folded", path, limit=True)[1])
        del os.environ["LAMELLA_THREADS"]
        lines = [b"rustc;across 90"] * crossing + [b"rustc;outer 80", b"rustc;outer;empty 0", b"rustc;outer;inner 20"]
        check("folded by any number of threads", outputs == {b"".join(line + b"\n" for line in lines)}, outputs)
        os.remove(path)


def good_and(where, path):
    directory = os.path.join(where, "good-and-cut")
    os.mkdir(directory)
    write(os.path.join(directory, "good.mm_profdata"), good())
    os.rename(path, os.path.join(directory, "cut.mm_profdata"))
    return directory


def full_output(where):
    """One wording of it, and a reader that has had enough is no failure."""
    path = write(os.path.join(where, "full.mm_profdata"), good())
    commands = (["report", path], ["report", "--format", "json", path], ["diff", path, path], ["aggregate", path], ["view", path],
                ["export", "--to", "folded", path])
    for args in commands:
        with open("/dev/full", "wb") as full:
            run = subprocess.run([LAMELLA, *args], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        lines = run.stderr.decode().splitlines()
        check(f"{args[0]} > /dev/full", run.returncode == 1 and lines.count("lamella: standard output: No space left on device") == 1, lines)
        reader, writer = os.pipe()
        os.close(reader)
        run = subprocess.run([LAMELLA, *args], stdout=writer, stderr=subprocess.PIPE, restore_signals=False, timeout=60, check=False)
        os.close(writer)
        check(f"{args[0]} | nobody", run.returncode == 0 and b"standard output" not in run.stderr, run)


def mixed_kinds(where):
    """A report of samples alone beside events: nothing in common."""
    samples = {"format": "lamella-report", "version": 1, "coverage": {"process_cpu_s": 1.5}, "session": {"elapsed_s": 1}}
    path, stored = write(os.path.join(where, "kinds.mm_profdata"), good()), write(os.path.join(where, "samples.json"), json.dumps(samples).encode())
    code, out, err = run_with("aggregate", path, stored)
    check("kinds are not mixed", code == 1 and not out and "is a recording of samples" in err and "cannot be put together" in err, err)


def very_deep(where):
    profile = Profile()
    kind, name, depth = profile.text("Query"), profile.text("deep"), 100000
    profile.events += b"".join(event(kind, name, 1, i, 4 * depth - i) for i in reversed(range(depth)))
    path = write(os.path.join(where, "deep.mm_profdata"), profile.bytes())
    for args in (["report", "--format", "json", path], ["report", "--by", "path", path], ["export", "--to", "folded", "-o", "/dev/null", path]):
        code, out, err, _ = lamella(*args, limit=True, stack=True)
        check(f"{args[:3]} of {depth} intervals in one another, on a small stack", code == 0, f"{code} {err}")
        if "json" in args and code == 0:
            row = json.loads(out)["activities"][0]
            check("their times", (row["count"], round(row["self_s"] * 1e9), round(row["time_s"] * 1e9)) == (depth, 4 * depth, 4 * depth), row)


def stairs(where):
    """So many that overlap at once that looking at each of them for each would take minutes."""
    profile, count = Profile(), 100000
    kind, name = profile.text("Query"), profile.text("step")
    profile.events += b"".join(event(kind, name, 1, i, i + count) for i in range(count))
    path, back = write(os.path.join(where, "stairs.mm_profdata"), profile.bytes()), os.path.join(where, "back.mm_profdata")
    for args in (["report", path], ["export", "--to", "mm_profdata", "-o", back, path], ["export", "--to", "chrome", "-o", "/dev/null", path]):
        code, _, err, _ = lamella(*args)
        check(f"{args[:3]} of {count} that all overlap", code == 0, err)
    rows = [json.loads(lamella("report", "--format", "json", file)[1])["activities"] for file in (path, back)]
    check("they read back the same", rows[0] == rows[1] and rows[0][0]["count"] == count and round(rows[0][0]["self_s"] * 1e9) == count * count, rows[1])
    os.remove(back)


def reference(text_id):
    return b"\xfe" + struct.pack("<Q", text_id)


def exploding_texts(where):
    """Strings of two references to the one before: a line of text each would be terabytes. What is told of each is bounded, and says so."""
    profile, count = Profile(), 2000

    def add(raw):
        at = len(profile.strings) + FIRST
        profile.strings += raw + b"\xff"
        return at

    kind, label, huge = profile.text("Query"), profile.text("typeck"), add(b"0123456789abcdef")
    for _ in range(40):
        huge = add(2 * reference(huge))
    for i in range(count):
        profile.add(kind, add(reference(label) + b"\x1e" + reference(huge)), 1, 10 * i, 10 * i + 5)
    long, end = profile.text("l" * 9000), profile.text("k" * 9000 + "!")
    for text in (long, end):
        profile.add(kind, add(reference(label) + b"\x1e" + reference(text)), 1, 90000, 90001)
    profile.add(kind, add(b"i" + reference(huge)), 1, 90002, 90003)  # no label is that long
    path = write(os.path.join(where, "explodes.mm_profdata"), profile.bytes())
    bound = 400 * os.path.getsize(path)
    for args in (["view", path], ["report", "--format", "json", "--by", "argument,label", path], ["export", "--to", "folded", path],
                 *(["export", "--to", form, path] for form in ("chrome", "firefox"))):
        code, out, err, _ = lamella(*args, limit=True)
        check(f"{args[:3]}: bounded", code == 0 and len(out) < bound, f"{code} {len(out)} of {bound} {err}")
        if args[0] == "export" and "folded" not in args:
            check("and told", f"{count + 3} texts of events longer than 8 KiB" in err, err)
        if args[0] == "report" and code == 0:
            found = json.loads(out)
            check("and told", found["coverage"]["cut_texts"] > 0 and any(row["id"] == "cut_texts" for row in found["findings"]), found["coverage"])
            keys = {row["argument"] for row in found["arguments"]} if "arguments" in found else set()
            check("what can be told apart is", sum("(cut, 9007 bytes, " in key for key in keys) == 1 and sum("(cut, 9008 bytes, " in key for key in keys) == 1, len(keys))
            check("what has no end to be looked for", any("(cut, over " in key for key in keys), len(keys))
            check("so is a label", any(len(row["label"]) > 2048 and "(cut, over " in row["label"] for row in found["activities"]), [len(row["label"]) for row in found["activities"]])


def hostile_names(where):
    profile = Profile()
    kind = profile.text("Query")
    profile.strings += b"esc\x1bape\xff"
    profile.add(kind, len(profile.strings) - 8 + FIRST, 1, 0, 10)
    profile.add(kind, profile.text("</script>\"'&<>"), 1, 10, 20)
    path = write(os.path.join(where, "names.mm_profdata"), profile.bytes())
    code, out, err, _ = lamella("report", path)
    check("hostile names are reported", code == 0, err)
    check("no raw control byte reaches the terminal", b"\x1b" not in out, out)
    back = os.path.join(where, "names-back.mm_profdata")
    code, _, err, _ = lamella("export", "--to", "mm_profdata", "-o", back, path)
    check("hostile names are exported", code == 0, err)
    with open(back, "rb") as file:
        data = file.read()
    check("no control byte is in the file's names", b"esc\x1b" not in data and b"esc\\x1bape" in data)


# docs/profdata.md: files that the upstream tools get wrong. Events as (label, start, end), and self times as they are.
WRONG_ELSEWHERE = {
    "overlap inside a third": ([("A", 0, 8), ("B", 2, 10), ("P", 0, 10)], {"A": 8, "B": 8, "P": 2}),
    "inside two that overlap": ([("C", 6, 7), ("A", 0, 8), ("B", 5, 10)], {"A": 8, "B": 4, "C": 1}),
    "an end before its start": ([("A", 2000, 1000), ("B", 0, 5)], {"A": 0, "B": 5}),
    "not in the order of ends": ([("P", 0, 10), ("A", 2, 4)], {"P": 8, "A": 2}),
    "an empty one at an edge": ([("A", 0, 20), ("C", 20, 20), ("D", 20, 30)], {"A": 20, "C": 0, "D": 10}),
    "recursion": ([("f", 2, 4), ("f", 0, 10)], {"f": 10}),
}


def wrong_elsewhere(where):
    for name, (events, wanted) in WRONG_ELSEWHERE.items():
        profile = Profile()
        kind = profile.text("Query")
        for label, start, end in events:
            profile.add(kind, profile.text(label), 1, start, end)
        path = write(os.path.join(where, name.replace(" ", "-") + ".mm_profdata"), profile.bytes())
        code, out, err, _ = lamella("report", "--format", "json", path)
        check(f"{name} is reported", code == 0, err)
        if code == 0:
            seen = {row["label"]: round(row["self_s"] * 1e9) for row in json.loads(out)["activities"]}
            check(f"{name}: self times", seen == wanted, seen)


def made(where, name, events, counter=None):
    """A profile of (label, start, end) on one thread."""
    profile = Profile()
    if counter:
        profile.index += struct.pack("<QQ", METADATA, profile.text(json.dumps({"start_time": 1, "process_id": 1, "cmd": "rustc ", "counter": counter})) - FIRST)
        profile.index = profile.index[:8] + profile.index[24:]
    kind = profile.text("Query")
    for label, start, end in events:
        profile.add(kind, profile.text(label), 1, start, end)
    return write(os.path.join(where, name + ".mm_profdata"), profile.bytes())


def counters(where):
    counted = made(where, "counted", [("inner", 100, 290), ("outer", 0, 900)], {"name": "instructions:u", "units": "[1]"})
    code, out, err, _ = lamella("view", counted)
    check("a count is shown as one", code == 0 and b" 900  Query outer" in out and b"counts instructions" in out and b" ns" not in out, out)
    check("a self-profile says nothing of samples", b"sampled" not in out and b"peak" not in out, out)
    code, _, err, _ = lamella("report", counted, made(where, "timed", [("inner", 0, 5)]))
    check("counts and times are no one profile", code == 1 and "counts time" in err and "counts instructions:u" in err, err)
    for form in "chrome", "perfetto", "firefox":
        _, _, err, _ = lamella("export", "--to", form, counted)
        check(f"{form} says what its times are", "instructions: one of them is shown as 1 ns" in err, err)


def what_is_left_out(where):
    """Sums that differ from what they are made of by the last digit of a double, once more in the one than in the other."""
    old = made(where, "old", [("a", 0, 989), ("b", 1000, 1214), ("c", 2000, 2012)])
    new = made(where, "new", [("a", 0, 534), ("b", 1000, 1754), ("c", 2000, 2038)])
    code, out, err, _ = lamella("diff", "--exclude", "*", "--fail-above", "1%", "--format", "json", old, new)
    row = json.loads(out)["totals"][0]
    check("without all labels nothing is left of them", code == 0 and (row["before"]["amount_s"], row["after"]["amount_s"]) == (0, 0), f"{code} {row} {err}")


def several_at_once(where):
    paths = [made(where, name, [(name, 0, 10)]) for name in ("first", "second")]
    code, out, err, _ = lamella("view", *paths)
    check("several are viewed as one", code == 0 and b"Query first" in out and b"Query second" in out, err)
    code, _, err, _ = lamella("view", "--raw", *paths)
    check("but one as it is", code == 2 and "--raw takes one input" in err, err)
    code, _, err, _ = lamella("export", "--to", "flamegraph", "--force", "--against", paths[0], "-o", paths[0], paths[1])
    check("what is compared with is not written over", code == 1 and "write to another file" in err, err)


def chrome_events(where, path):
    out = os.path.join(where, "events.json")
    code, _, err, _ = lamella("export", "--to", "chrome", "-o", out, path)
    check(f"chrome export of {path}", code == 0, err)
    if code:
        return None
    with open(out, encoding="utf-8") as file:
        trace = json.load(file)
    os.remove(out)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    return sorted((e["name"], e.get("cat", ""), e["ph"], e["tid"], e["ts"], e.get("dur", 0), json.dumps(e.get("args", {}), sort_keys=True))
                  for e in events if e["ph"] != "M")


def real_profile(where):
    rustc = shutil.which("rustc")
    if not rustc:
        return print("rustc is not installed: real self-profiles are left out")
    source = write(os.path.join(where, "leaf.rs"), SOURCE.encode())
    profiles = os.path.join(where, "real")
    run = subprocess.run([rustc, "-Zself-profile=" + profiles, "-Zself-profile-events=default,args,query-keys", "--crate-name", "leaf",
                          "--emit=metadata", "--out-dir", where, source], env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True)
    if run.returncode:
        return print("rustc writes no self-profile: " + run.stderr.decode(errors="replace"))
    path = os.path.join(profiles, os.listdir(profiles)[0])
    # All labels: which are among the longest is luck on a busy machine.
    code, out, err, _ = lamella("report", "--top", "0", path)
    check("a real self-profile is reported", code == 0 and b"typeck" in out, err)
    code, out, err, _ = lamella("report", "--top", "0", profiles)
    check("so is its directory, by crate", code == 0 and b"typeck" in out, err)
    reports = set()
    for threads in "1", "2", "5":
        os.environ["LAMELLA_THREADS"] = threads
        reports.add(lamella("report", "--format", "json", path)[1])
    del os.environ["LAMELLA_THREADS"]
    check("any number of threads reports the same", len(reports) == 1 and b"typeck" in reports.pop())
    back = os.path.join(where, "back.mm_profdata")
    code, _, err, _ = lamella("export", "--to", "mm_profdata", "-o", back, path)
    check("it is written again", code == 0, err)
    check("and reads back the same", chrome_events(where, path) == chrome_events(where, back))


def main():
    with tempfile.TemporaryDirectory() as where:
        bad_input(where)
        folder(where)
        given_twice(where)
        standard_input(where)
        faults_at_the_head(where)
        full_output(where)
        mixed_kinds(where)
        added_up_by_all(where)
        hostile_names(where)
        exploding_texts(where)
        very_deep(where)
        stairs(where)
        wrong_elsewhere(where)
        counters(where)
        what_is_left_out(where)
        several_at_once(where)
        real_profile(where)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
