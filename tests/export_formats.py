#!/usr/bin/env python3
"""`lamella export`: each format read back by readers of another hand, on cases that broke other tools and on a recording."""

import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from random import Random

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export_lib import (Profdata, check_schema, read_chrome, read_firefox, read_folded, read_perfetto, read_pprof,  # noqa: E402
                        read_speedscope, strict_json, unescape)
from record_lib import LAMELLA, Skip, check, compile_c, equal, main, record  # noqa: E402

UNIT = os.path.join(os.environ["LAMELLA_BUILD"], "unit", "export_test")
SVG = "{http://www.w3.org/2000/svg}"
READERS = {"chrome": read_chrome, "perfetto": read_perfetto, "firefox": read_firefox, "speedscope": read_speedscope, "pprof": read_pprof,
           "folded": read_folded}
START_NS = 1700000000000000005


OUTPUTS = []  # the directory with what the unit test wrote, once somebody asked


def export(*args, code=0, **kwargs):
    done = subprocess.run([LAMELLA, "export", *args], capture_output=True, timeout=120, check=False, **kwargs)
    equal(done.returncode, code, f"export {args}: {done.stderr.decode(errors='replace')[-400:]}")
    return done


def load(form, *args):
    """Exports to standard output and reads back."""
    raw = export("--to", form, *args).stdout
    return READERS[form](raw)


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def unit_outputs():
    if not os.path.exists(UNIT):
        raise Skip("the unit tests are not built")
    if not OUTPUTS:
        OUTPUTS.append(tempfile.TemporaryDirectory(prefix="lamella-export-"))
        subprocess.run([UNIT], env={**os.environ, "LAMELLA_EXPORT_DIR": OUTPUTS[0].name}, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    os.chdir(OUTPUTS[0].name)


# ---- what the unit test pushed ----

HOSTILE = [b"a\x1bb", b"a\\x1bb", b"q\"\\'&<>", b"semi;colon 12", b"nl\nx", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbf\xbe", b"\xe2\x80\xa8",
           b"nul\0here", b"", b"</script><img src=x onerror=alert(1)>", b"<!--<script>", b"]]>", b"__DATA__", b"${name}%s%n\\", "é".encode() * (1 << 19)]


def check_names(names, what):
    equal(len(names), len(HOSTILE), f"{what}: different names stay different")
    equal(sorted(map(unescape, names)), sorted(HOSTILE), f"{what}: names read back")


def test_names_of_any_bytes():
    unit_outputs()
    chrome = read_chrome(bytes_of("names.chrome"))
    check_names({name for _, _, name, *_ in chrome["intervals"]}, "chrome")
    equal(unescape(chrome["intervals"][0][5]["arg0"]), b"arg\x1e\xff\"</script>", "an argument")
    perfetto = read_perfetto(bytes_of("names.perfetto"))
    check_names({name for _, name, *_ in perfetto["intervals"]}, "perfetto")
    firefox = read_firefox(bytes_of("names.firefox"))
    check_names({name for _, name, *_ in firefox["markers"]}, "firefox")
    speedscope = read_speedscope(bytes_of("names.speedscope"))
    check_names(set(speedscope["frames"]), "speedscope")
    pprof = read_pprof(bytes_of("names.pprof"))
    check_names({name for names, *_ in pprof for name in names}, "pprof")
    folded = read_folded(bytes_of("names.folded"))
    check_names({name for names, _ in folded for name in names[1:]}, "folded")
    equal(len({tuple(names) for names, _ in folded}), len(folded), "folded lines are different stacks")
    equal(sum(value for _, value in folded), sum(900 + i for i in range(len(HOSTILE))), "folded total")


def test_svg_shows_names_letter_for_letter():
    unit_outputs()
    root = ElementTree.fromstring(bytes_of("names.flamegraph"))
    titles = [g.find(SVG + "title").text.rsplit("\n", 1)[0] for g in root.iter(SVG + "g")]
    names = {unescape(title) for title in titles}
    for name in HOSTILE:
        check(name in names, f"{name[:40]!r} is in the picture")
    kinds = {element.tag for element in root.iter()}
    equal(kinds, {SVG + tag for tag in ("svg", "style", "rect", "text", "g", "title", "script")}, "elements")
    equal(len(list(root.iter(SVG + "script"))), 1, "scripts")
    for element in root.iter():
        for attribute in element.attrib:
            check("href" not in attribute and not attribute.startswith("on"), f"attribute {attribute}")
    if not shutil.which("xmllint"):
        raise Skip("xmllint is not installed")
    for case in ("names", "equal", "overlap", "deep"):
        subprocess.run(["xmllint", "--huge", "--noout", f"{case}.flamegraph"], check=True)


def test_equal_times():
    unit_outputs()
    chrome = read_chrome(bytes_of("equal.chrome"))
    rows = {}
    for _, tid, name, start, end, _ in chrome["intervals"]:
        rows.setdefault(tid, []).append((name, start, end))
    equal(sorted(rows[77]), [("A", 0, 20), ("B", 0, 20), ("C", 20, 20), ("D", 20, 30), ("E", 25, 25)], "chrome, thread 1")
    check(rows[77].index(("A", 0, 20)) < rows[77].index(("B", 0, 20)), "the outer one of two with the same times comes first")
    equal(rows[78], [("A", 0, 20)], "chrome, thread 2")
    equal(sorted((tid, at) for _, tid, _, at in chrome["instants"]), [(t, at) for t in (77, 78) for at in (0, 20, 30)], "chrome, instants")
    perfetto = read_perfetto(bytes_of("equal.perfetto"))
    equal(sorted((name, end - start) for _, name, start, end, _ in perfetto["intervals"]),
          [("A", 20), ("A", 20), ("B", 20), ("C", 0), ("D", 10), ("E", 0)], "perfetto")
    equal(len(perfetto["instants"]), 6, "perfetto, instants")
    equal(len({track for track, *_ in perfetto["instants"]}), 2, "perfetto, tracks of instants")
    firefox = read_firefox(bytes_of("equal.firefox"))
    equal(sum(end is None for _, _, _, end, _ in firefox["markers"]), 6, "firefox, instants")
    speedscope = read_speedscope(bytes_of("equal.speedscope"))
    stacks = {path for path, *_ in speedscope["evented"][0][1] if not path.endswith("I")}
    equal(stacks, {"A", "A;B", "C", "D", "D;E"}, "speedscope, stacks of thread 1")
    equal([len([1 for path, *_ in events if path.endswith("I")]) for _, events in speedscope["evented"]], [3, 3], "speedscope, instants")
    totals = {";".join(names): value for names, value in read_folded(bytes_of("equal.folded"))}
    equal(totals, {"prog;A": 20, "prog;A;B": 20, "prog;C": 0, "prog;D": 10, "prog;D;E": 0}, "folded")


def test_overlap_keeps_its_length():
    unit_outputs()
    wanted = [("A", 0), ("A", 100), ("B", 100), ("B", 499), ("C", 100), ("D", 10), ("E", 10)]
    chrome = read_chrome(bytes_of("overlap.chrome"))
    equal(sorted((name, end - start) for _, _, name, start, end, _ in chrome["intervals"]), wanted, "chrome")
    perfetto = read_perfetto(bytes_of("overlap.perfetto"))
    equal(sorted((name, end - start) for _, name, start, end, _ in perfetto["intervals"]), wanted, "perfetto")
    speedscope = read_speedscope(bytes_of("overlap.speedscope"))
    equal(sorted((path.split(";")[-1], end - start) for _, events in speedscope["evented"] for path, start, end in events), wanted, "speedscope")
    firefox = read_firefox(bytes_of("overlap.firefox"))
    equal(sorted((name, end - start) for _, name, start, end, _ in firefox["markers"]), wanted, "firefox")


def test_what_lies_in_an_overlap():
    """Whatever crosses whatever: the readers check that intervals of a row nest. One that overlaps takes what it holds with it."""
    for seed in range(4):
        random, data, wanted = Random(seed), Profdata(), []
        for i in range(60):
            start = random.randrange(40)
            end = start + int(random.random() ** 3 * (40 - start))
            name = "ABCDE"[i % 5]
            data.interval(name.encode(), 1, start, end)
            data.instant(b"point", 1, random.randrange(40))
            wanted.append((name, start, end))
        data.save("crossing.mm_profdata")
        chrome = load("chrome", "crossing.mm_profdata")
        equal(sorted((name, start, end) for _, _, name, start, end, _ in chrome["intervals"]), sorted(wanted), "chrome")
        perfetto = load("perfetto", "crossing.mm_profdata")
        equal(sorted((name, start - START_NS, end - START_NS) for _, name, start, end, _ in perfetto["intervals"]), sorted(wanted), "perfetto")
        speedscope = load("speedscope", "crossing.mm_profdata")
        equal(sorted((path.split(";")[-1], start, end) for _, events in speedscope["evented"] for path, start, end in events if "point" not in path),
              sorted(wanted), "speedscope")
        for limit in "3ns", "20ns":
            merged = load("chrome", "--minimum-duration", limit, "crossing.mm_profdata")
            equal(sum(args.get("weight", 1) for *_, args in merged["intervals"]), 60, "intervals, those merged counted")


def test_depth():
    unit_outputs()
    deep = 20000
    for form, count in (("chrome", lambda x: len(x["intervals"])), ("perfetto", lambda x: len(x["intervals"])),
                        ("firefox", lambda x: len(x["markers"]))):
        equal(count(READERS[form](bytes_of("deep." + form))), deep, form)
    equal(sum(value for _, value in read_folded(bytes_of("deep.folded"))), 2 * deep, "folded")
    equal(sum(value for _, _, value, _ in read_pprof(bytes_of("deep.pprof"))), 2 * deep, "pprof")
    equal(sum(count for _, count, *_ in read_pprof(bytes_of("deep.pprof"))), deep, "pprof, count")
    check(b"beyond 1000 rows" in bytes_of("deep.flamegraph"), "the picture says what it leaves out")


# ---- self-profiles ----


def small(path="demo.mm_profdata", pid=77, events=300):
    data = Profdata(pid)
    for i in range(events):
        data.interval(b"inner\x1ekey %d" % (i % 7), 1, 1000 * i + 100, 1000 * i + 100 + (i % 9) * 50)
        data.interval(b"outer", 1, 1000 * i, 1000 * i + 900)
        data.interval(b"worker", 2 + i % 3, 1000 * i, 1000 * i + 250, b"Work")
        data.instant(b"hit", 1, 1000 * i + 950)
    data.save(path)
    return path


def test_self_profile_in_every_format():
    small()
    chrome = load("chrome", "demo.mm_profdata")
    equal(len(chrome["intervals"]), 900, "intervals")
    equal(len(chrome["instants"]), 300, "instants")
    equal(chrome["processes"], {77: "rustc demo"}, "processes")
    equal({args.get("arg0") for *_, args in chrome["intervals"]}, {None, *(f"key {i}" for i in range(7))}, "arguments")
    spans = sorted((name, start, end) for _, _, name, start, end, _ in chrome["intervals"])
    perfetto = load("perfetto", "demo.mm_profdata")
    equal(sorted((name, start - START_NS, end - START_NS) for _, name, start, end, _ in perfetto["intervals"]), spans, "perfetto's intervals")
    firefox = load("firefox", "demo.mm_profdata")
    equal(sorted((name, start, end) for _, name, start, end, _ in firefox["markers"] if end is not None), spans, "firefox's intervals")
    speedscope = load("speedscope", "demo.mm_profdata")
    equal(sorted((path.split(";")[-1], start, end) for _, events in speedscope["evented"] for path, start, end in events if "hit" not in path),
          spans, "speedscope's intervals")
    folded = {";".join(names): value for names, value in load("folded", "demo.mm_profdata")}
    inner = sum(i % 9 * 50 for i in range(300))
    equal(folded, {"rustc;outer;inner": inner, "rustc;outer": 300 * 900 - inner, "rustc;worker": 300 * 250}, "folded")
    pprof = {";".join(["rustc", *names]): value for names, _, value, _ in load("pprof", "demo.mm_profdata")}
    equal(pprof, folded, "pprof")


def large(path, events=12000):
    """Of several parts: intervals as long as all of it, deep ones, equal ones, counts at its end."""
    data = Profdata()
    for i in range(events):
        at = 1000 * i
        data.interval(b"inner\x1ekey \"%d\"" % (i % 7), 1, at + 100, at + 100 + (i % 9) * 50)
        data.interval(b"same", 1, at, at + 900)
        data.interval(b"outer", 1, at, at + 900)
        data.interval(b"worker", 2 + i % 3, at, at + 250, b"Work")
        if i % 1000 == 999:
            data.interval(b"thousand", 1, at - 999000, at + 950)
        if i % 100 == 0:
            data.integer(b"size", 1, i, b"ArtifactSize")
    data.interval(b"whole", 1, 0, 1000 * events)
    for i in range(3000):
        data.integer(b"inner" if i % 3 else b"outer", 1, i)
    data.save(path)
    return path


def with_any_threads(form, *inputs):
    outputs = []
    for threads in "1", "2", "5":
        os.environ["LAMELLA_THREADS"] = threads
        outputs.append(export("--to", form, *inputs).stdout)
    del os.environ["LAMELLA_THREADS"]
    check(outputs[0] == outputs[1] == outputs[2], f"{form}: any number of threads writes the same bytes")
    return outputs[0]


def test_parts_are_put_together():
    large("large.mm_profdata")
    chrome = read_chrome(with_any_threads("chrome", "large.mm_profdata"))
    equal(len(chrome["intervals"]), 4 * 12000 + 12 + 1, "intervals")
    equal({args["arg0"] for _, _, name, _, _, args in chrome["intervals"] if name == "inner"}, {f'key "{i}"' for i in range(7)}, "arguments")
    order = [(start, end, name) for _, _, name, start, end, _ in chrome["intervals"] if name in ("same", "outer")]
    check(all(order[i][2] == "outer" and order[i + 1] == (*order[i][:2], "same") for i in range(0, len(order), 2)), "the outer one comes first")
    sums = collections.defaultdict(int)
    for *_, name, at, value in chrome["counters"]:
        sums[name, at if name != "size" else 0] += value
    wanted = {("inner", 12000000): sum(i for i in range(3000) if i % 3), ("outer", 12000000): sum(range(0, 3000, 3)), ("size", 0): sum(range(0, 12000, 100))}
    equal({key: value for key, value in sums.items()}, wanted, "counts at one time are added up")
    check(len(chrome["counters"]) < 200, "and few")
    perfetto = read_perfetto(with_any_threads("perfetto", "large.mm_profdata"))
    equal(sorted((name, start - START_NS, end - START_NS, sorted(args.items())) for _, name, start, end, args in perfetto["intervals"]),
          sorted((name, start, end, sorted(args.items())) for _, _, name, start, end, args in chrome["intervals"]), "perfetto's intervals")
    equal(len(perfetto["counters"]), 3000 + 120, "its counters")
    equal(len({track for track, *_ in perfetto["counters"]}), 3, "and their tracks")


def test_many_files_with_any_threads():
    os.mkdir("many")
    for i in range(20):
        small(f"many/{i}.mm_profdata", 100 + i)
    large("many/large.mm_profdata", 4000)
    for form in (*READERS, "flamegraph"):
        raw = with_any_threads(form, "many")
        if form in ("chrome", "perfetto"):
            equal(len(READERS[form](raw)["intervals"]), 20 * 900 + 4 * 4000 + 4 + 1, f"{form}: intervals")


def test_twice_the_same_bytes():
    small()
    for form in (*READERS, "flamegraph"):
        equal(export("--to", form, "demo.mm_profdata").stdout, export("--to", form, "demo.mm_profdata").stdout, form)


def test_several_profiles_are_several_processes():
    small("one.mm_profdata", 77)
    small("two.mm_profdata", 77)
    small("three.mm_profdata", 78)
    chrome = load("chrome", "one.mm_profdata", "two.mm_profdata", "three.mm_profdata")
    equal(len(chrome["processes"]), 3, "processes, though two have one pid")
    check({77, 78} <= set(chrome["processes"]), "real pids are kept where they can be")
    equal(len({pid for pid, *_ in chrome["intervals"]}), 3, "processes with intervals")
    equal(len({t["pid"] for t in load("firefox", "one.mm_profdata", "two.mm_profdata")["threads"]}), 2, "firefox's processes")


def test_compressed():
    small()
    plain = export("--to", "chrome", "demo.mm_profdata").stdout
    export("--to", "chrome", "-o", "t.json.gz", "demo.mm_profdata")
    equal(gzip.decompress(bytes_of("t.json.gz")), plain, "gzip")
    export("--to", "pprof", "-o", "p.pb.gz", "demo.mm_profdata")
    check(read_pprof(bytes_of("p.pb.gz")), "pprof is compressed once")
    export("--to", "chrome", "-o", "t.json.zst", "demo.mm_profdata")
    equal(bytes_of("t.json.zst")[:4], b"\x28\xb5\x2f\xfd", "zstd's magic number")
    if not shutil.which("zstd"):
        raise Skip("zstd is not installed: its output was not unpacked")
    equal(subprocess.run(["zstd", "-dc", "t.json.zst"], stdout=subprocess.PIPE, check=True).stdout, plain, "zstd")


def test_files_are_not_overwritten():
    small()
    with open("there", "w", encoding="utf-8") as file:
        file.write("mine")
    said = export("--to", "folded", "-o", "there", "demo.mm_profdata", code=1).stderr
    check(b"--force" in said, "the message says how")
    equal(bytes_of("there"), b"mine", "the file")
    export("--to", "folded", "--force", "-o", "there", "demo.mm_profdata")
    check(read_folded(bytes_of("there")), "--force replaces it")
    os.symlink("there", "link")
    export("--to", "folded", "--force", "-o", "link", "demo.mm_profdata")
    check(os.path.islink("link"), "a link stays one")
    export("--to", "chrome", "-o", "broken.json", "missing.mm_profdata", code=1)
    export("--to", "folded", "-o", "nowhere/x", "demo.mm_profdata", code=1)
    equal(sorted(os.listdir(".")), ["demo.mm_profdata", "link", "there"], "nothing is left of what failed")


def test_a_full_disk_is_an_error():
    small(events=3000)
    said = export("--to", "chrome", "-o", "/dev/full", "demo.mm_profdata", code=1).stderr
    check(b"No space left" in said, "the message says why")


def test_a_closed_pipe_is_enough():
    small(events=20000)
    done = subprocess.run(f'"{LAMELLA}" export --to chrome demo.mm_profdata | head -c 100; exit "${{PIPESTATUS[0]}}"', shell=True,
                          executable="/bin/bash", capture_output=True, check=False)
    # Like any filter: killed by SIGPIPE, or content where that is ignored.
    check(done.returncode in (0, 128 + 13), f"exit code {done.returncode}: {done.stderr.decode()}")
    equal(done.stderr, b"", "what it says")


def test_maximum_size():
    small(events=2000)
    for form in ("chrome", "perfetto", "firefox", "speedscope"):
        whole = len(export("--to", form, "demo.mm_profdata").stdout)
        done = export("--to", form, "--max-size", str(whole // 4), "demo.mm_profdata")
        check(len(done.stdout) <= whole // 4, f"{form}: {len(done.stdout)} of {whole // 4}")
        check(b"are merged into" in done.stderr, f"{form} says so")
        READERS[form](done.stdout)
        equal(export("--to", form, "--max-size", str(whole), "demo.mm_profdata").stdout, export("--to", form, "demo.mm_profdata").stdout,
              f"{form}: what fits is not touched")
    chrome = read_chrome(export("--to", "chrome", "--max-size", "100000", "demo.mm_profdata").stdout)
    counted = sum(args.get("weight", 1) for *_, args in chrome["intervals"]) + len(chrome["instants"])
    equal(counted, 8000, "everything is counted")
    export("--to", "chrome", "--max-size", "100", "demo.mm_profdata", code=1)
    for form in ("folded", "pprof", "flamegraph"):
        data = Profdata()
        for i in range(3000):
            data.interval(b"label %d" % i, 1, 1000 * i, 1000 * i + 1 + i % 800)
        data.save("many.mm_profdata")
        total = sum(1 + i % 800 for i in range(3000))
        done = export("--to", form, "--max-size", "30000", "many.mm_profdata")
        raw = gzip.decompress(done.stdout) if form == "pprof" else done.stdout
        check(len(raw) <= 30000, f"{form}: {len(raw)} bytes")
        check(b"merged" in done.stderr, f"{form} says so")
        if form != "flamegraph":
            equal(sum(row[-1] if form == "folded" else row[2] for row in READERS[form](raw)), total, f"{form}: total")


def test_minimum_duration():
    small()
    done = export("--to", "chrome", "--minimum-duration", "2us", "demo.mm_profdata")
    chrome = read_chrome(done.stdout)
    check(b"merged" in done.stderr, "it says so")
    equal(len(chrome["instants"]), 300, "instants stay")
    equal(sum(args.get("weight", 1) for *_, args in chrome["intervals"]), 900, "everything is counted")
    check(len(chrome["intervals"]) == 600, f"there are fewer: {len(chrome['intervals'])}")
    data = Profdata()
    data.interval(b"short\x1ekey", 1, 100, 150)
    data.interval(b"long", 1, 0, 9000)
    data.save("alone.mm_profdata")
    equal(export("--to", "chrome", "--minimum-duration", "2us", "alone.mm_profdata").stdout.count(b'"arg0":"key"'), 1,
          "a short one without a neighbour stays as it is")


def test_collapsed_threads():
    data = Profdata()
    for i in range(40):
        data.interval(b"job", 1 + i, 1000 * i, 1000 * i + 500 + (i % 4 == 3) * 1000)
    data.save("threads.mm_profdata")
    chrome = load("chrome", "--collapse-threads", "threads.mm_profdata")
    equal(len(chrome["intervals"]), 40, "intervals")
    equal(len({tid for _, tid, *_ in chrome["intervals"]}), 2, "rows: never more than two threads at a time")


def test_redacted():
    data = Profdata(command="rustc --crate-name demo /home/secret/src/lib.rs")
    data.interval(b"query\x1esecret key", 1, 0, 100)
    data.save("demo.mm_profdata")
    for form in (*READERS, "flamegraph"):
        raw = export("--to", form, "--redact", "demo.mm_profdata").stdout
        raw = gzip.decompress(raw) if form == "pprof" else raw
        check(b"secret" not in raw, f"{form}: nothing secret is in it")
        check(b"query" in raw, f"{form}: labels stay")
    said = export("--to", "chrome", "demo.mm_profdata").stderr.decode()
    equal(said.count("--redact"), 1, "what the file holds is said once")


def test_losses_are_said():
    whole = bytes_of(small())
    with open("cut.mm_profdata", "wb") as file:
        file.write(whole[:len(whole) - 60])
    data = Profdata()
    data.interval(b"backward", 1, 2000, 1000)
    data.save("backward.mm_profdata")
    for form in (*READERS, "flamegraph"):
        check(b"could not be read whole: cut.mm_profdata" in export("--to", form, "cut.mm_profdata").stderr, f"{form}: a cut file")
        check(b"1 interval stored with an end before" in export("--to", form, "backward.mm_profdata").stderr, f"{form}: backward")
    chrome = load("chrome", "backward.mm_profdata")
    equal([end - start for _, _, _, start, end, _ in chrome["intervals"]], [0], "a backward interval is empty")


def test_usage():
    small()
    for args in (["demo.mm_profdata"], ["--to", "xml", "demo.mm_profdata"], ["--to", "chrome"], ["--to", "chrome", "--inverted", "demo.mm_profdata"],
                 ["--to", "folded", "--collapse-threads", "demo.mm_profdata"], ["--to", "folded", "--minimum-duration", "1ms", "demo.mm_profdata"],
                 ["--to", "chrome", "--of", "samples", "demo.mm_profdata"]):
        check(export(*args, code=2).stderr.startswith(b"lamella: "), f"{args}: one line says why")


def test_differential_flamegraph():
    for name, long in (("old", 100), ("new", 300)):
        data = Profdata()
        data.interval(b"same", 1, 0, 400)
        data.interval(b"grows", 1, 1000, 1000 + long)
        data.interval(b"only in " + name.encode(), 1, 5000, 5050)
        data.save(name + ".mm_profdata")
    done = export("--to", "flamegraph", "--against", "old.mm_profdata", "new.mm_profdata")
    root = ElementTree.fromstring(done.stdout)
    fills = {g.find(SVG + "title").text.split("\n")[0]: g.find(SVG + "rect").get("fill") for g in root.iter(SVG + "g")}
    check(fills["same"] == "#f5f5f5", f"what stayed is white: {fills['same']}")
    check(fills["grows"].startswith("#f5") and fills["grows"] != "#f5f5f5", f"what grew is red: {fills['grows']}")
    check(b"only the input compared with" in done.stderr, "what vanished is said")


# ---- recordings ----

BURN = """
static volatile unsigned long x;
__attribute__((noinline)) void inner(void) { for (int i = 0; i < 60000000; i++) x += i; }
__attribute__((noinline)) void outer(void) { inner(); x++; }
int main(void) { outer(); return 0; }
"""


def test_recording_in_every_format():
    burn = compile_c("burn", BURN, "-g")
    done = record("sh", "-c", f"sleep 0.01; {burn}")
    if done.returncode:
        raise Skip("this lamella cannot record here")
    folded = load("folded", "r.lamella")
    stack = next((names for names, _ in folded if names[-1] == "inner"), None)
    check(stack and stack[0] == "burn" and stack[-2:] == ["outer", "inner"], f"the stack of the work: {stack}")
    total = sum(value for _, value in folded)
    pprof = load("pprof", "r.lamella")
    equal(sum(value for _, _, value, _ in pprof), total, "pprof's total")
    firefox = load("firefox", "r.lamella")
    check(abs(sum(weight for *_, weight in firefox["samples"]) * 1e6 - total) < 1, "firefox's total")
    check(any(names[-2:] == ["outer", "inner"] for _, names, _ in firefox["samples"]), "firefox's stacks")
    check(any(data["type"] == "wait" for *_, data in firefox["markers"]), "firefox's waits")
    speedscope = load("speedscope", "r.lamella")
    check(any(stack[-2:] == ["outer", "inner"] for _, stacks in speedscope["sampled"] for stack in stacks), "speedscope's stacks")
    perfetto = load("perfetto", "r.lamella")
    check(any(names[-2:] == ["outer", "inner"] for *_, names in perfetto["samples"]), "perfetto's stacks")
    check(any(name == "burn" for _, name, *_ in perfetto["intervals"]), "perfetto's processes")
    chrome = export("--to", "chrome", "r.lamella")
    check(any(name == "burn" for _, _, name, *_ in read_chrome(chrome.stdout)["intervals"]), "chrome's processes")
    check(b"without a place" in chrome.stderr, "what Chrome's format has no place for is said")
    small("beside.mm_profdata")
    both = export("--to", "mm_profdata", "-o", "both.mm", "r.lamella", "beside.mm_profdata").stderr.decode()
    check(re.search(r"\d samples? left out", both), f"what a self-profile has no place for is said: {both}")
    for form in ("folded", "flamegraph", "pprof"):
        both = export("--to", form, "-o", "both." + form, "r.lamella", "beside.mm_profdata").stderr.decode()
        check(re.search(r"\d samples? left out: this export is of intervals \(--of samples takes", both), f"{form}: {both}")
    root = ElementTree.fromstring(export("--to", "flamegraph", "--inverted", "r.lamella").stdout)
    depths = [int(g.get("data-d")) for g in root.iter(SVG + "g") if g.find(SVG + "title").text.split("\n")[0] == "inner"]
    check(1 in depths, f"inverted: the innermost function stands first, not at {depths}")
    check(b"/" not in gzip.decompress(export("--to", "pprof", "--redact", "r.lamella").stdout), "no path is left after --redact")


INSTRUMENTED = r"""
#include <lamella/lamella.h>
#include <string.h>

static struct lam_kind kind;
static struct lam_label label(const char *text, size_t size) { return lam_label_intern(LAM_DEFAULT, text, size); }

int main(int argc, char **argv)
{
    struct lam_options options;
    lam_options_init(&options);
    options.path = argv[1];
    options.calls = argc > 2 ? LAM_CALLS_TREE : 0;
    if (lam_open(&options) != LAM_OK)
        return 1;
    kind = lam_kind_intern(LAM_DEFAULT, "Work");
    struct lam_handle outer = lam_begin(LAM_DEFAULT, kind, label("outer", 5));
    struct lam_arg arg = {.type = LAM_ARG_TEXT, .value.text_bytes = 5, .text = "k\x1b\xff\"<"};
    struct lam_handle inner = lam_begin_args(LAM_DEFAULT, kind, label("\xff\xfe;\n\0</title>", 12), &arg, 1);
    lam_instant(LAM_DEFAULT, kind, label("point", 5));
    lam_integer(LAM_DEFAULT, kind, label("size", 4), 12345);
    lam_end(LAM_DEFAULT, inner);
    struct lam_handle apart = lam_begin_detached(LAM_DEFAULT, kind, label("apart", 5));
    lam_end(LAM_DEFAULT, outer);
    lam_end(LAM_DEFAULT, apart);
    struct lam_track one = lam_track_create(LAM_DEFAULT, label("track one", 9)), two = lam_track_create(LAM_DEFAULT, label("track two", 9));
    lam_track_switch(LAM_DEFAULT, one);
    struct lam_handle first = lam_begin(LAM_DEFAULT, kind, label("first", 5));
    lam_track_switch(LAM_DEFAULT, two);
    struct lam_handle second = lam_begin(LAM_DEFAULT, kind, label("second", 6));
    lam_track_switch(LAM_DEFAULT, one);
    lam_end(LAM_DEFAULT, first);
    lam_track_switch(LAM_DEFAULT, two);
    lam_end(LAM_DEFAULT, second);
    lam_track_switch(LAM_DEFAULT, (struct lam_track){0});
    for (int i = 0; i < 100; i++) {
        lam_call_enter(LAM_DEFAULT, label("caller", 6));
        lam_call_enter(LAM_DEFAULT, label("callee", 6));
        lam_call_exit(LAM_DEFAULT, label("callee", 6));
        lam_call_exit(LAM_DEFAULT, label("caller", 6));
    }
    lam_begin(LAM_DEFAULT, kind, label("never ended", 11));
    return 0;
}
"""
ODD = b"\xff\xfe;\n\0</title>"


def instrumented(*args):
    archive = os.path.join(os.environ["LAMELLA_BUILD"], "liblamella.a")
    if not os.path.exists(archive):
        raise Skip("liblamella is not built")
    program = compile_c("instrumented", INSTRUMENTED, "-I" + os.path.join(os.environ["LAMELLA_SRC"], "include"), archive, "-pthread")
    # On one processor: the clocks of two may differ by more than these calls take, and one of a hundred would stand beside its caller.
    core = min(os.sched_getaffinity(0))
    subprocess.run([program, "i.lamella", *args], check=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    return "i.lamella"


def test_instrumented_program_in_every_format():
    recording = instrumented()
    names = {b"outer", ODD[:12], b"apart", b"first", b"second", b"caller", b"callee", b"never ended"}
    chrome = load("chrome", recording)
    equal({unescape(name) for _, _, name, *_ in chrome["intervals"]}, names, "chrome's intervals")
    equal([name for _, _, name, _ in chrome["instants"]], ["point"], "chrome's instants")
    equal([(name, value) for _, _, name, _, value in chrome["counters"]], [("size", 12345)], "chrome's counters")
    rows = {unescape(name): chrome["names"][pid, tid] for pid, tid, name, *_ in chrome["intervals"]}
    equal((rows[b"first"], rows[b"second"]), ("track one", "track two"), "tracks have rows of their own")
    check("beside" in rows[b"apart"], "a detached interval stands beside its thread")
    args = {unescape(name): args for _, _, name, _, _, args in chrome["intervals"]}
    check(args[b"never ended"].get("open") is True, "what never ended says so")
    check(any(b"k\x1b\xff\"<" in unescape(value) for value in args[ODD[:12]].values() if isinstance(value, str)), f"an argument of any bytes: {args[ODD[:12]]}")
    perfetto = load("perfetto", recording)
    equal({unescape(name) for _, name, *_ in perfetto["intervals"]}, names, "perfetto's intervals")
    equal([(name, value) for _, name, _, value in perfetto["counters"]], [("size", 12345)], "perfetto's counters")
    equal(sum(name == "callee" for _, name, *_ in perfetto["intervals"]), 100, "perfetto's calls")
    firefox = load("firefox", recording)
    equal({unescape(name) for _, name, _, end, _ in firefox["markers"] if end is not None}, names, "firefox's intervals")
    speedscope = load("speedscope", recording)
    paths = {path for _, events in speedscope["evented"] for path, *_ in events}
    check("caller;callee" in paths and "first" in paths and "second" in paths, f"speedscope's stacks: {paths}")
    folded = {tuple(map(unescape, names)) for names, _ in load("folded", recording)}
    check((b"instrumented", b"outer", ODD[:12]) in folded and (b"instrumented", b"caller", b"callee") in folded, f"folded stacks: {folded}")
    ElementTree.fromstring(export("--to", "flamegraph", recording).stdout)
    stacks = {";".join(names): count for names, count, *_ in load("pprof", recording)}
    equal(stacks["caller;callee"], 100, "pprof's counts")


def test_folded_calls_are_counted():
    recording = instrumented("tree")
    folded = {";".join(names) for names, _ in load("folded", recording)}
    check("instrumented;caller;callee" in folded, f"folded stacks: {folded}")
    equal({";".join(names): count for names, count, *_ in load("pprof", recording)}["caller;callee"], 100, "pprof's counts")
    done = export("--to", "chrome", recording)
    check(b"counted and not stored" in done.stderr, "chrome says so")
    read_chrome(done.stdout)


def test_speedscope_schema():
    path = os.path.join(os.environ["LAMELLA_SRC"], "tests", "web", "node_modules", "speedscope", "dist", "release", "file-format-schema.json")
    if not os.path.exists(path):
        raise Skip("the npm package speedscope is not installed: script/setup does that")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    small()
    check_schema(schema, strict_json(export("--to", "speedscope", "demo.mm_profdata").stdout))
    burn = compile_c("burn", BURN, "-g")
    if record(burn).returncode == 0:
        check_schema(schema, strict_json(export("--to", "speedscope", "r.lamella").stdout))


if __name__ == "__main__":
    main(globals())
