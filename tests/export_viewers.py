#!/usr/bin/env python3
# ctest: TIMEOUT 180
"""Exports in the viewers they are for: a flame graph in a browser, with search, zoom and keys, and a profile in speedscope."""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export_lib import Profdata  # noqa: E402
from record_lib import LAMELLA, Skip, check, equal, main  # noqa: E402

WEB = os.path.join(os.environ["LAMELLA_SRC"], "tests", "web")
HOSTILE = b"</script><img src=x onerror=alert(1)>"


def view(kind, *args):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        raise Skip("no Chromium is installed: script/setup does that")
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "playwright-core")):
        raise Skip("node or the packages of tests/web are not installed: script/setup does that")
    done = subprocess.run(["node", os.path.join(WEB, "viewers.mjs"), browser, kind, *args], capture_output=True, timeout=100, check=False)
    equal(done.returncode, 0, f"the browser: {done.stderr.decode()[-500:]}")
    seen = json.loads(done.stdout)
    equal(seen["errors"], [], "errors in the page")
    check(all(url.startswith("file:") for url in seen["requests"]), f"nothing is fetched: {seen['requests']}")
    return seen


def export(form, path, labels=(b"inner", b"other"), program=b"outer"):
    data = Profdata()
    for i in range(50):
        data.interval(labels[i % len(labels)], 1, 1000 * i + 100, 1000 * i + 400)
        data.interval(program, 1, 1000 * i, 1000 * i + 900)
        data.interval(b"beside", 1, 1000 * i + 900, 1000 * i + 1000)
    data.save("demo.mm_profdata")
    subprocess.run([LAMELLA, "export", "--to", form, "-o", path, "demo.mm_profdata"], check=True, stderr=subprocess.DEVNULL)


def by_name(frames):
    return {frame["name"]: frame for frame in frames}


def test_flamegraph_searches_and_zooms():
    export("flamegraph", "f.svg")
    seen = view("flamegraph", "f.svg", "inner")
    before = by_name(seen["before"])
    equal(set(before), {"all", "rustc", "outer", "inner", "other", "beside"}, "frames")
    for frame in before.values():
        check(frame["textWidth"] <= frame["width"], f"the caption of {frame['name']} fits")
    equal([name for name, frame in by_name(seen["searched"]).items() if frame["found"]], ["inner"], "what a search finds")
    check(seen["matched"].startswith("1 frames, 15.0%"), f"how much it is: {seen['matched']}")
    equal([f for f in seen["cleared"] if f["found"]], [], "an ended search marks nothing")
    equal([f["name"] for f in seen["focused"] if f["focused"]], ["outer"], "three steps up: all, rustc, the widest one")
    check(seen["details"].startswith("outer"), "the details are those of the frame in focus")
    zoomed = by_name(seen["zoomed"])
    check(zoomed["outer"]["width"] > before["outer"]["width"] and "beside" not in zoomed, "the frame fills the width, its neighbour is gone")
    check(zoomed["rustc"]["faded"] and not zoomed["inner"]["faded"], "what is below it is faded, what is above is not")
    check(abs(zoomed["inner"]["width"] / zoomed["outer"]["width"] - before["inner"]["width"] / before["outer"]["width"]) < 0.01, "shares stay")
    after = by_name(seen["after"])
    check(all(abs(after[n]["width"] - before[n]["width"]) < 0.01 and abs(after[n]["left"] - before[n]["left"]) < 0.01 for n in before),
          "Escape brings all back")
    check(by_name(seen["clicked"])["inner"]["width"] > before["inner"]["width"] * 2, "a click zooms")


def test_flamegraph_with_hostile_names():
    export("flamegraph", "good.svg", (b"harmless words one", b"harmless words two"))
    good = view("flamegraph", "good.svg", "outer")
    export("flamegraph", "bad.svg", (HOSTILE, b"<!--<script>"))
    bad = view("flamegraph", "bad.svg", "outer")
    equal(bad["elements"], good["elements"], "elements")
    check(HOSTILE.decode() in by_name(bad["before"]), "the name is shown letter for letter")


def test_speedscope_opens_it():
    export("speedscope", "s.json")
    seen = view("speedscope", "s.json")
    check(seen["title"].startswith("demo.mm_profdata"), f"its title: {seen['title']}")
    for name in ("inner", "other", "outer", "beside"):
        check(name in seen["sandwich"], f"{name} is in its table")
    check("30.00µs (60%)" in seen["sandwich"], f"self time of outer: {seen['sandwich'][:400]}")


if __name__ == "__main__":
    main(globals())
