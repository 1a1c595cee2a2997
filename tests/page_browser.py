#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""The page in a browser: figures, pixels, keys, pointers, links, themes, hostile names, pages with little in them."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export_lib import Profdata  # noqa: E402
from record_lib import LAMELLA, Skip, check, compile_c, equal, main, record  # noqa: E402

SRC = os.environ["LAMELLA_SRC"]
WEB = os.path.join(SRC, "tests", "web")
HOSTILE = "<script>alert(1)<img src=x onerror=alert(2)>"
SHARED = {}


def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        raise Skip("no Chromium is installed: script/setup does that")
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "playwright-core")):
        raise Skip("node or the packages of tests/web are not installed: script/setup does that")
    return found


def write_page(name, *args):
    done = subprocess.run([LAMELLA, "page", "-o", name, "--force", *args], capture_output=True, timeout=60, check=False)
    if b"built without" in done.stderr:
        raise Skip("this lamella was built without its page")
    equal(done.returncode, 0, f"lamella page: {done.stderr.decode(errors='replace')[-400:]}")


def use(scenario, page, facts, allowed=("file:",)):
    """What is done with a page, by a browser that all tests share; page: a file, or an address."""
    if "browser" not in SHARED:
        command = ["node", os.path.join(WEB, "page.mjs"), browser()]
        SHARED["browser"] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process = SHARED["browser"]
    print(json.dumps({"scenario": scenario, "page": page if "://" in page else pathlib.Path(page).absolute().as_uri(), "facts": facts}), file=process.stdin, flush=True)
    said = process.stdout.readline()
    check(said, "the browser answers")
    seen = json.loads(said)
    equal(seen["failed"], [], "\n".join(seen["failed"]))
    equal(seen["errors"], [], "errors in the page")
    strange = [url for url in seen["requests"] if not url.startswith(allowed)]
    equal(strange, [], "requests")
    check(seen["passed"] > 0, "something was looked at")


def report(*args):
    return json.loads(subprocess.run([LAMELLA, "report", "--format", "json", *args], capture_output=True, check=True, timeout=60).stdout)


def a_build():
    """One small workspace, recorded once."""
    if "build" not in SHARED:
        browser()
        if not shutil.which("cargo"):
            raise Skip("cargo is not installed")
        place = os.path.join(os.path.dirname(os.getcwd()), f"lamella-page-{os.getpid()}")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        SHARED["build"] = place
        subprocess.run([os.path.join(SRC, "bench", "make-workspace"), "--shape", "small", f"{place}/ws"], check=True, stdout=subprocess.DEVNULL)
        done = record("cargo", "build", "--offline", out=f"{place}/build.lamella", options=("--rate", "2000"), cwd=f"{place}/ws", timeout=200)
        equal(done.returncode, 0, f"cargo build: {done.stderr.decode()[-400:]}")
    return SHARED["build"] + "/build.lamella"


def known_band(facts):
    """The longest span of a serial thread: what the pixel tests look for."""
    units = {(u["unit"], u["pid"]) for u in facts["units"]}
    spans = [s for s in facts["phase_spans"] if s["role"] == "serial" and (s["unit"], s["pid"]) in units]
    check(spans, "the build has spans of serial threads")
    return max(spans, key=lambda s: (s["end_s"] - s["start_s"], s["start_s"]))


def test_a_build():
    recording = a_build()
    write_page("page.html", recording)
    facts = report("--by", "span", recording)
    facts["band"] = known_band(facts)
    del facts["phase_spans"]
    use("build", "page.html", facts)


def test_two_pages_are_one():
    recording = a_build()
    write_page("one.html", recording)
    write_page("two.html", recording)
    with open("one.html", "rb") as one, open("two.html", "rb") as two:
        check(one.read() == two.read(), "two pages of one recording are byte for byte the same")


def test_compared():
    if b"--compare" not in subprocess.run([LAMELLA, "page", "--help"], capture_output=True, check=True).stdout:
        raise Skip("this lamella compares no pages")
    recording = a_build()
    shutil.copytree(recording, "again.lamella")
    write_page("page.html", "--compare", recording, "again.lamella")
    facts = json.loads(subprocess.run([LAMELLA, "diff", "--format", "json", recording, "again.lamella"], capture_output=True, check=False).stdout)
    use("compare", "page.html", facts)


def test_hostile_names():
    browser()
    names = [HOSTILE, "</script><!--<script>__DATA__{{data}}", "\u202eأسماء", "\U0001f600 emoji", "long " * 20, "bell\x07and\x1besc"]
    for name in names:
        os.makedirs(name)
        with open(os.path.join(name, f"{name.replace('/', '|')}.c"), "w", encoding="utf-8") as file:
            file.write("int main(void) { return 0; }\n")
    script = 'for dir; do cc -c -o "$dir/x.o" "$dir"/*.c || exit 1; done'
    done = record("sh", "-c", script, "sh", *names)
    equal(done.returncode, 0, done.stderr.decode(errors="replace")[-400:])
    write_page("page.html", "r.lamella")
    use("opens", "page.html", {"says": [f"{HOSTILE}.c", "\U0001f600 emoji.c", "\u2407and\u241besc"], "not": ["\x07"]})


def test_little_to_show():
    browser()
    done = record("true", options=("--rate", "0"))
    equal(done.returncode, 0, "true")
    write_page("none.html", "r.lamella")
    use("opens", "none.html", {"says": ["No compilation was recognised", "About these figures"]})
    compile_c("spin", "int main(void) { for (volatile long i = 0; i < 100000000; i++); return 3; }")
    done = record("./spin", out="s.lamella")
    equal(done.returncode, 3, "spin")
    write_page("one.html", "s.lamella")
    use("opens", "one.html", {"says": ["failed (exit code 3)", "Flame graph", "Callers and callees"], "not": ["Phases"]})
    with open("bad.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return x; }\n")
    done = record("cc", "-c", "bad.c", out="f.lamella")
    check(done.returncode != 0, "a build that fails")
    write_page("failed.html", "f.lamella")
    use("opens", "failed.html", {"says": ["failed (exit code", "bad.c"]})


class Foreign(http.server.BaseHTTPRequestHandler):
    """A site that knows the address of somebody's page, its token included."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>foreign</title>")

    def log_message(self, *_):
        pass


def test_served():
    browser()
    equal(record("true", options=("--rate", "0")).returncode, 0, "true")
    write_page("page.html", "r.lamella")  # or this is skipped
    foreign = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=foreign.serve_forever, daemon=True).start()
    server = subprocess.Popen([LAMELLA, "serve", "r.lamella"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        said = server.stdout.readline().decode() or server.stderr.read().decode()
        address = re.search(r"http://127\.0\.0\.1:\d+/[0-9a-f]+/", said)
        check(address, f"serve says where: {said}")
        use("served", address[0], {"foreign": f"http://127.0.0.1:{foreign.server_port}/"}, allowed=("http://127.0.0.1:",))
    finally:
        server.terminate()
        server.wait(timeout=20)
        foreign.shutdown()
        foreign.server_close()
        server.stdout.close()
        server.stderr.close()


def test_activities():
    browser()
    data = Profdata()
    for i in range(80):
        data.interval(b"inner", 1, 1000000 * i + 100000, 1000000 * i + 400000)
        data.interval(b"outer", 1, 1000000 * i, 1000000 * i + 900000)
        data.interval(HOSTILE.encode(), 2, 1000000 * i, 1000000 * i + 500000)
    data.interval(b"n" * 500, 3, 0, 70000000)
    data.interval("أسماء \U0001f600".encode(), 3, 70000000, 79000000)
    data.save("demo.mm_profdata")
    write_page("page.html", "demo.mm_profdata")
    use("activities", "page.html", report("demo.mm_profdata"))
    data = Profdata(command="interpreter x.lua")
    for i in range(30):
        at = 1000000 * i
        for label, start, end in (("leaf (x.lua:3)", 300, 380), ("walk (x.lua:2)", 250, 400), ("leaf (x.lua:3)", 420, 440), ("walk (x.lua:2)", 200, 500), (HOSTILE, 600, 650 + i),
                                  ("main chunk (/some/where/x.lua:1)", 100, 800)):
            data.interval(label.encode(), 1, at + 1000 * start, at + 1000 * end, kind=b"Call")
        data.interval(b"leaf (x.lua:3)", 2, at, at + 50000, kind=b"Call")
    data.save("calls.mm_profdata")
    write_page("calls.html", "calls.mm_profdata")
    use("callers", "calls.html", report("--around", "*", "--top", "0", "calls.mm_profdata"))


if __name__ == "__main__":
    try:
        main(globals())
    finally:
        if "browser" in SHARED:
            SHARED["browser"].stdin.close()
            SHARED["browser"].wait(timeout=30)
        if "build" in SHARED:
            shutil.rmtree(SHARED["build"], ignore_errors=True)
