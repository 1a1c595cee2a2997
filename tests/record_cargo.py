"""`lamella record -- cargo …`: cargo's own record is kept with the recording, belongs to that build, and is joined to its units."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

from record_lib import LAMELLA, Skip, check, complete, equal, main, record, start, wait_for

PACKAGES = {
    # name: (manifest's rest, {file: text})
    "util": ("", {"src/lib.rs": "pub fn u() -> u32 { 1 }\n"}),
    "util2": ("", {"src/lib.rs": "pub fn u() -> u32 { 2 }\n"}),
    "core": ('[features]\nextra = []\n"x+y" = []\n[dependencies]\nutil = { path = "../util" }\n',
             {"src/lib.rs": "pub fn f() -> u32 { util::u() }\n"}),
    "mac": ('[lib]\nproc-macro = true\n[dependencies]\ncore-lib = { path = "../core", features = ["extra"] }\n',
            {"src/lib.rs": "use proc_macro::TokenStream;\n#[proc_macro] pub fn n(_: TokenStream) -> TokenStream "
                           "{ core_lib::f().to_string().parse().unwrap() }\n"}),
    "app": ('build = "build.rs"\n[dependencies]\ncore-lib = { path = "../core", features = ["x+y"] }\nmac = { path = "../mac" }\n'
            'other-util = { package = "util", path = "../util2" }\n',
            {"src/main.rs": 'fn main() { println!("{} {} {}", core_lib::f(), mac::n!(), other_util::u()); }\n',
             "build.rs": 'fn main() { println!("cargo:rerun-if-env-changed=MODE"); if let Ok(page) = std::env::var("OTHER_PAGE") {\n'
                         'std::fs::create_dir_all(std::path::Path::new(&page).parent().unwrap()).unwrap();\n'
                         'std::fs::write(page, std::env::var("OTHER_TEXT").unwrap()).unwrap(); } }\n'}),
}
WORKSPACE = """[workspace]
resolver = "2"
members = ["app", "core", "mac"]
exclude = ["util", "util2"]
[profile.quick]
inherits = "dev"
debug = false
[profile.dev.package.core-lib]
opt-level = 1
"""


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def workspace(place="ws"):
    if not shutil.which("cargo") or not shutil.which("rustc"):
        raise Skip("no cargo")
    write(f"{place}/Cargo.toml", WORKSPACE)
    for name, (rest, files) in PACKAGES.items():
        package = {"core": "core-lib", "util2": "util"}.get(name, name)
        version = "2.0.0" if name == "util2" else "1.0.0"
        extra, tables = (rest.split("\n", 1) if rest.startswith("build") else ("", rest))
        write(f"{place}/{name}/Cargo.toml", f'[package]\nname = "{package}"\nversion = "{version}"\nedition = "2021"\n{extra}\n{tables}')
        for path, text in files.items():
            write(f"{place}/{name}/{path}", text)
    return os.path.abspath(place)


def build(*words, out, cwd="ws", options=("--rate", "499"), code=0, **env):
    cargo_home = os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo")
    done = record("cargo", *words, out=os.path.abspath(out), options=options, cwd=cwd, timeout=240,
                  env={**os.environ, "CARGO_NET_OFFLINE": "true", "CARGO_HOME": cargo_home, **env})
    equal(done.returncode, code, f"cargo {' '.join(words)}: {done.stderr.decode()}")
    return done


def report(out, text=False):
    done = subprocess.run([LAMELLA, "report", *([] if text else ["--format", "json"]), out], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    return (done.stdout.decode(), done.stderr.decode()) if text else json.loads(done.stdout)


def attached(out):
    kinds = {a["kind"] for a in complete(out).get("attachments", [])}
    for attachment in complete(out).get("attachments", []):
        check(os.path.exists(os.path.join(out, attachment["file"])), attachment)
    return kinds


def rustc_units(seen):
    return [u for u in seen["units"] if u["kind"] == "rustc"]


def test_build_and_rebuild():
    workspace()
    done = build("build", out="a.lamella")
    check(b"Timing report saved" in done.stderr, "cargo says where its page is")
    equal(attached("a.lamella"), {"cargo_timings", "cargo_notes", "artifacts"}, "attachments")
    info = complete("a.lamella")
    equal((info["command"], info["added_argument"]), (["cargo", "build"], "--timings"), "the command as given, and what was added")
    seen = report("a.lamella")
    cargo = seen["cargo"]
    equal((cargo["profile"], cargo["built"], cargo["fresh"], cargo["unseen"]), ("dev", 8, 0, []), "what cargo says")
    units = rustc_units(seen)
    equal(len(units), 7, "compilations")
    check(all(u["status"] == "new" for u in units), [(u["unit"], u["status"]) for u in units])
    # Two feature sets of one crate, two versions of another, and who waits for whom.
    cores = {u["features"]: u for u in units if u["crate"] == "core_lib"}
    equal(set(cores), {"extra", "extra,x+y"} if "extra,x+y" in cores else {"extra", "x+y"}, "feature sets")
    libraries = [u for u in units if u["crate_type"] == "lib"]
    check(all(u["rmeta_s"] is not None and u["cargo_codegen_s"] is not None for u in libraries), libraries)
    check(all(u["unblocked"] is not None for u in units), "all units are joined")
    equal(sum(u["kind"] == "build_script" and u["status"] == "new" for u in seen["units"]), 1, "the script's run")
    check(cargo["before_first_s"] > 0 and cargo["concurrency"], cargo)
    # Classes, flags and files.
    classes = {u["class_id"] for u in units}
    check(None not in classes and len(classes) == len(units), "a class for each")
    check(classes <= {c["class_id"] for c in seen["classes"]}, "and they are listed")
    check(any({"flag": "opt-level", "value": "1"} in u["flags"] for u in cores.values()), "the override of a package is a flag")
    check(all({a["kind"] for a in u["artifacts"]} >= {"rlib", "rmeta"} for u in libraries), [u["artifacts"] for u in libraries])
    check("/" not in json.dumps([u["flags"] for u in units]), "no paths in flags")
    os.utime("ws/core/src/lib.rs")
    build("build", out="b.lamella", MODE="other")
    seen = report("b.lamella")
    equal((seen["cargo"]["unseen"], seen["cargo"]["fresh"]), ([], 3), "fresh units are not unseen")
    reasons = {(u["package"] or u["crate"], u["crate"], u["reason"]) for u in seen["units"] if u["status"]}
    why = {crate: reason for _, crate, reason in reasons}
    equal(why["core_lib"], "src/lib.rs changed", "the cause")
    equal(why["mac"], "its dependency core-lib was built", "what it took along")
    cores = [u for u in rustc_units(seen) if u["crate"] == "core_lib"]
    equal([(u["class_id"], u["class_missing"]) for u in cores], [(None, "util")] * 2, "no class on what was fresh, and why")
    text, _ = report("b.lamella", text=True)
    check("Why it was built" in text and text.index("src/lib.rs changed") < text.index("a dependency was built"), text)
    check("MODE in the environment changed" in text, text)

    # Nothing to do: everything is fresh, and the page before is not this build's.
    build("build", out="c.lamella", options=("--rate", "0", "--no-cargo-args"), MODE="other")
    equal(attached("c.lamella"), {"cargo_notes"}, "a page of another build is not attached")
    check("added_argument" not in complete("c.lamella"), "nothing was added")
    check("cargo" not in report("c.lamella"), "and nothing is said")

    # What cargo lists on its stdout is the user's, to the byte; where that is a file it is read.
    plain = subprocess.run(["cargo", "build", "--message-format=json"], cwd="ws", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                           env={**os.environ, "MODE": "other"}).stdout
    piped = build("build", "--message-format=json", out="pipe.lamella", options=("--rate", "0"), MODE="other")
    equal(sorted(piped.stdout.splitlines()), sorted(plain.splitlines()), "through a pipe")  # cargo looks at fresh units side by side
    check("cargo_messages" not in attached("pipe.lamella"), "a pipe is left alone")
    with open("list.json", "wb") as file:
        file.write(b'{"reason":"build-finished","success":false}\n')
        file.flush()
        done = subprocess.run([LAMELLA, "record", "--rate", "0", "-o", "../list.lamella", "--", "cargo", "build", "--message-format=json"], cwd="ws",
                              env={**os.environ, "MODE": "other"}, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 0, done.stderr.decode())
    with open("list.json", "rb") as file:
        equal(sorted(file.read().splitlines()[1:]), sorted(plain.splitlines()), "into a file")
    check("cargo_messages" in attached("list.lamella"), "a file is read, from where the command began")
    cargo = report("list.lamella")["cargo"]
    equal((cargo["messages"], cargo["success"], cargo["unseen"]), (True, True, []), "what the list says")
    equal({(f["package"], f["version"], f["features"]) for f in cargo["fresh_units"] if f["files"]},
          {("util", "1.0.0", ""), ("util", "2.0.0", ""), ("core-lib", "1.0.0", "extra"), ("core-lib", "1.0.0", "extra,x+y"), ("mac", "1.0.0", ""),
           ("app", "1.0.0", "")}, "fresh units by name")

    # The list alone, written somewhere by a script.
    os.utime("ws/core/src/lib.rs")
    done = record("sh", "-c", "cargo build --message-format=json > ../own.json", out="../own.lamella", cwd="ws", env={**os.environ, "MODE": "other"},
                  options=("--rate", "0", "--cargo-messages", "../own.json"))
    equal(done.returncode, 0, done.stderr.decode())
    seen = report("own.lamella")
    cargo = seen["cargo"]
    equal((cargo["source"], cargo["fresh"], cargo["built"], cargo["unseen"]), ("messages", 3, 4, []), "from the list alone")
    done = record("true", options=("--cargo-messages", "own.json"))
    check(done.returncode == 0 and b"older" in done.stderr, done.stderr.decode())

    # A page that is another build's after all: units do not match.
    shutil.copy("b.lamella/cargo-timings.html", "c.lamella")
    text, _ = report("c.lamella", text=True)
    check("at another time" in text or "left out" in text, text)


def damaged(change, words):
    shutil.rmtree("d.lamella", ignore_errors=True)
    shutil.copytree("a.lamella", "d.lamella")
    change("d.lamella")
    text, said = report("d.lamella", text=True)
    check("Units by CPU" in text, "the rest of the report is there")
    check(words in said, f"{words!r} is said: {said!r}")
    equal(said.count("\n"), 1, "in one line")


def test_a_cache():
    """A compilation that sccache has is a unit without a compiler: neither unseen nor fresh."""
    if not shutil.which("sccache") or not shutil.which("gcc"):
        raise Skip("no sccache, or no gcc")
    workspace()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    env = {"RUSTC_WRAPPER": "sccache", "SCCACHE_DIR": os.path.abspath("cache"), "SCCACHE_SERVER_PORT": port, "SCCACHE_IDLE_TIMEOUT": "60",
           "CARGO_INCREMENTAL": "0"}
    subprocess.run(["sccache", "--start-server"], env={**os.environ, **env}, capture_output=True, check=False)
    try:
        ids = []
        for out, capture in (("miss.lamella", "clean"), ("hit.lamella", "cached")):
            shutil.rmtree("ws/target", ignore_errors=True)
            build("build", "-p", "core-lib", out=out, options=("--rate", "0"), **env)
            seen = report(out)
            equal([(u["crate"], u["capture"], u["status"]) for u in sorted(rustc_units(seen), key=lambda u: u["start_s"])],
                  [("util", capture, "new"), ("core_lib", capture, "new")], out)
            equal((seen["cargo"]["unseen"], seen["cargo"]["fresh"], seen["cargo"]["built"]), ([], 0, 2), "none is unseen or fresh")
            check(all(u["unblocked"] is not None for u in rustc_units(seen)), "all are joined")
            equal([e["unit"] for e in seen["unit_deps"]], ["core_lib"], "one needs the other")
            ids.append({u["class_id"] for u in rustc_units(seen)})
            text, _ = report(out, text=True)
            equal("sccache had 2 of the 2 units" in text, capture == "cached", text)
            sccache_has_written(2, **env)
        check(ids[0] == ids[1] and None not in ids[0], f"the same classes: {ids}")
        # An incremental compilation is none for the cache.
        shutil.rmtree("ws/target")
        build("build", "-p", "core-lib", out="both.lamella", options=("--rate", "0"), **{**env, "CARGO_INCREMENTAL": "1"})
        equal({u["crate"]: u["capture"] for u in rustc_units(report("both.lamella"))}, {"util": "incremental", "core_lib": "incremental"},
              "compiled")
        cached_c_builds("sccache", ["gcc"], lambda: sccache_has_written(4, **env), **env)
    finally:
        subprocess.run(["sccache", "--stop-server"], env={**os.environ, **env}, capture_output=True, check=False)


def c_build(compiler, out, **env):
    """Two sources, with and without the name of the object, and a link."""
    for name in ("main.o", "other.o", "app"):
        if os.path.exists(f"c/{name}"):
            os.remove(f"c/{name}")
    write("c/Makefile", f"app: main.o other.o\n\t{compiler} -o $@ main.o other.o\nmain.o: main.c\n\t{compiler} -c $<\n"
                        f"other.o: other.c\n\t{compiler} -O1 -c -o $@ $<\n")
    done = record("make", "-s", "-C", "c", out=out, options=("--rate", "0"), env={**os.environ, **env})
    equal(done.returncode, 0, done.stderr.decode())
    seen = report(out)
    captures = {u["unit"]: u["capture"] for u in seen["units"] if u["kind"] == "compile" and u["mode"] == "build"}
    needs = {e["dep"] for e in seen["unit_deps"] if e["unit"] == "link app"}
    return captures, needs, report(out, text=True)[0]


def sccache_has_written(count, **env):
    """It answers before it has stored what it compiled."""
    def writes():
        done = subprocess.run(["sccache", "--show-stats", "--stats-format", "json"], env={**os.environ, **env}, capture_output=True, check=True)
        return json.loads(done.stdout)["stats"]["cache_writes"]
    wait_for(lambda: writes() >= count, f"{count} results in the cache", seconds=60)


def cached_c_builds(cache, compilers, stored=lambda: None, **env):
    for compiler in compilers:
        write("c/main.c", f'/* {compiler} */ int other(void); int main(void) {{ return other(); }}\n')
        write("c/other.c", f'/* {compiler} */ int other(void) {{ return 0; }}\n')
        captures, _, text = c_build(f"{cache} {compiler}", f"{cache}-{compiler}-miss.lamella", **env)
        equal(captures, {"main.c": "clean", "other.c": "clean"}, f"{cache} {compiler}: what it compiled")
        check("not compiled" not in text, text)
        stored()
        captures, needs, text = c_build(f"{cache} {compiler}", f"{cache}-{compiler}-hit.lamella", **env)
        equal(captures, {"main.c": "cached", "other.c": "cached"}, f"{cache} {compiler}: what it had")
        equal(needs, {"main.c", "other.c"}, "the link needs both")
        check(f"{cache} had 2 of the 2 units" in text and "had by a cache" in text, text)
        done = subprocess.run([LAMELLA, "report", "--format", "markdown", f"{cache}-{compiler}-hit.lamella"], capture_output=True, check=True)
        equal(done.stdout.count(b"had by a cache"), 2, "in Markdown too")
    write("c/other.c", "int other(void) { return 1; }\n")
    captures, _, text = c_build(f"{cache} {compilers[-1]}", f"{cache}-one.lamella", **env)
    equal(captures, {"main.c": "cached", "other.c": "clean"}, f"{cache}: one of each")
    check(f"{cache} had 1 of the 2 units" in text, text)


def test_ccache():
    """What ccache compiles is a unit as without it; what it has is an event, with no time of a compilation."""
    if not shutil.which("ccache") or not shutil.which("gcc"):
        raise Skip("no ccache, or no gcc")
    compilers = ["gcc"] + ["clang-14"] * bool(shutil.which("clang-14"))
    env = {"CCACHE_DIR": os.path.abspath("cache"), "CCACHE_CONFIGPATH": os.path.abspath("none.conf")}
    cached_c_builds("ccache", compilers, **env)
    # It is told not to: it becomes the compiler, and was never a unit.
    captures, _, text = c_build("ccache gcc", "off.lamella", CCACHE_DISABLE="1", **env)
    equal(captures, {"main.c": "clean", "other.c": "clean"}, "compiled")
    check("not compiled" not in text, text)


def test_damage():
    workspace()
    build("check", out="a.lamella", options=("--rate", "0"))
    page = "a.lamella/cargo-timings.html"
    with open(page, encoding="utf-8") as file:
        whole = file.read()
    middle = whole.index('"duration"', whole.index('"duration"', whole.index("const UNIT_DATA")) + 9)
    damaged(lambda d: write(f"{d}/cargo-timings.html", whole[:middle]), "cargo-timings.html")
    damaged(lambda d: write(f"{d}/cargo-timings.html", "<html>"), "no list UNIT_DATA")
    damaged(lambda d: write(f"{d}/cargo.json", '{"format":"lamella-cargo","causes":[{'), "cargo.json")
    lines = '{"run_id":"r","timestamp":"%s","reason":"build-started","profile":"dev"}\n{"run_id":"r","reason":"unit-' % (
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    damaged(lambda d: write(f"{d}/cargo-log.jsonl", lines), "line 2")
    damaged(lambda d: write(f"{d}/cargo-messages.jsonl", '{"reason":"build-finished","success":true}\n{"reason":"compiler-artifact","pack'), "line 2")


def test_places_and_profiles():
    place = workspace()
    os.mkdir("elsewhere")
    host = next(line.split()[1] for line in subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines()
                if line.startswith("host:"))
    write("wrap.sh", '#!/bin/sh\nexec "$@"\n')
    os.chmod("wrap.sh", 0o755)
    # Another build's page, which began before and is there sooner: it was written long before this one's end.
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    other = f"<td>Build start:</td><td>{began}Z</td><td>Profile:</td><td>other</td>\nconst UNIT_DATA = [];\n"
    build("check", "--manifest-path", f"{place}/app/Cargo.toml", "--profile", "quick", "--target", host, "-j1", out="a.lamella", cwd="elsewhere",
          CARGO_TARGET_DIR=os.path.abspath("t"), RUSTC_WRAPPER=os.path.abspath("wrap.sh"),
          OTHER_PAGE=os.path.abspath("t/cargo-timings/cargo-timing-0.html"), OTHER_TEXT=other)
    check(os.path.isdir("t/cargo-timings") and not os.path.exists("ws/target"), "built elsewhere")
    equal(attached("a.lamella"), {"cargo_timings", "cargo_notes", "artifacts"}, "attachments")
    seen = report("a.lamella")
    equal((seen["cargo"]["profile"], seen["cargo"]["jobs"], seen["cargo"]["unseen"]), ("quick", 1, []), "profile and jobs")
    check(all(u["status"] == "new" and u["unblocked"] is not None for u in rustc_units(seen)), "wrapped units are joined")
    # More jobs than cores; --target-dir; build.target; other settings of a crate that was built before.
    write("ws/.cargo/config.toml", f'[build]\ntarget = "{host}"\nrustflags = ["-Cdebuginfo=1"]\n')
    jobs = str((os.cpu_count() or 1) + 2)
    build("check", "-p", "core-lib", "--target-dir", os.path.abspath("t"), "--profile", "quick", "-j", jobs, out="b.lamella",
          options=("--rate", "0"))
    seen = report("b.lamella")
    equal((seen["cargo"]["jobs"], seen["cargo"]["unseen"]), (int(jobs), []), "jobs")
    equal({(u["crate"], u["target"], u["reason"]) for u in rustc_units(seen)},
          {("util", host, "RUSTFLAGS changed"), ("core_lib", host, "its features changed")}, "why, for that target")
    check(all(u["unblocked"] is not None for u in rustc_units(seen)), "its units are joined")


def test_failed_and_interrupted():
    workspace()
    write("ws/core/src/lib.rs", "pub fn f() -> u32 { \"\" }\n")
    build("check", "--keep-going", out="a.lamella", options=("--rate", "0"), code=101)
    seen = report("a.lamella")
    check(any(u["crate"] == "core_lib" and u["exit_code"] == 1 and u["status"] == "new" for u in seen["units"]), "the unit that failed")
    write("ws/core/src/lib.rs", "pub fn f() -> u32 { 7 }\n")
    build("check", "-p", "core-lib", out="b.lamella", options=("--rate", "0"))
    reasons = {u["reason"] for u in rustc_units(report("b.lamella")) if u["crate"] == "core_lib"}
    check(reasons <= {"its last build was not finished", "src/lib.rs changed", None}, reasons)

    write("ws/app/build.rs", "fn main() { std::fs::write(std::env::var(\"STARTED\").unwrap(), b\"\").unwrap(); "
                             "std::thread::sleep(std::time::Duration::from_secs(60)); }\n")
    child = start("cargo", "check", out=os.path.abspath("c.lamella"), options=("--rate", "0"), cwd="ws", start_new_session=True,
                  env={**os.environ, "STARTED": os.path.abspath("started")}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists("started"), "the build script", seconds=120)
    os.killpg(child.pid, signal.SIGINT)
    check(child.wait(timeout=60) != 0, "interrupted")
    check("cargo_timings" not in attached("c.lamella"), "cargo wrote no page, and an older one is not taken")
    check(any(u["kind"] == "build_script" for u in report("c.lamella")["units"]), "what ran is in the report")


def test_twice_at_once():
    workspace()
    target = os.path.abspath("t")
    env = {**os.environ, "CARGO_TARGET_DIR": target}
    children = [start("cargo", "check", "-p", package, "--profile", profile, out=os.path.abspath(f"{package}.lamella"), options=("--rate", "0"),
                      cwd="ws", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for package, profile in (("mac", "dev"), ("app", "quick"))]
    for child in children:
        equal(child.wait(timeout=240), 0, "a build beside another one")
    for package, profile in (("mac", "dev"), ("app", "quick")):
        seen = report(f"{package}.lamella")
        if "cargo" in seen:
            equal(seen["cargo"]["profile"], profile, "the page is of this build")
            equal(seen["cargo"]["unseen"], [], "and its units are those that ran")


def test_c_and_ninja():
    if not shutil.which("ninja") or not shutil.which("clang-14"):
        raise Skip("no ninja, or no clang")
    write("c/a.h", "static int a(void) { return 1; }\n")
    write("c/main.c", '#include "a.h"\nint main(void) { return a() - 1; }\n')
    write("c/build.ninja", "rule cc\n  command = clang-14 -ftime-trace -ftime-trace-granularity=0 -O1 -c $in -o $out\nrule ld\n  command = clang-14 $in -o $out\n"
                           "build main.o: cc main.c\nbuild prog: ld main.o\n")
    write("c/.ninja_log", "# ninja log v5\n1\t2\t3\told.o\tabc\n")
    done = record("ninja", "-C", "c", options=("--rate", "0"))
    equal(done.returncode, 0, done.stderr.decode())
    equal(attached("r.lamella"), {"artifacts", "headers", "ninja_log"}, "attachments")
    seen = report("r.lamella")
    equal({row["output"] for row in seen["ninja"]}, {"main.o", "prog"}, "what this build made")
    check(all(row["unit"] and row["end_s"] >= row["start_s"] >= 0 for row in seen["ninja"]), seen["ninja"])
    check(any(row["file"].endswith("a.h") and row["count"] == 1 for row in seen["headers"]), seen["headers"])
    compiled = next(u for u in seen["units"] if u["kind"] == "compile")
    check({"flag": "-O", "value": "1"} in compiled["flags"] and compiled["class_id"], compiled)
    equal([a["kind"] for a in compiled["artifacts"]], ["obj"], "its file")
    write("r.lamella/headers.json", '{"headers":[{"file":')
    write("r.lamella/ninja.log", "nothing")
    _, said = report("r.lamella", text=True)
    check("headers.json" in said and "ninja.log" in said, said)


if __name__ == "__main__":
    main(globals())
