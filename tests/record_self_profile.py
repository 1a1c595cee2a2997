#!/usr/bin/env python3
"""lamella record --self-profile: who is asked for a profile, what a build sees of it, and how profiles join the report."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from record_lib import LAMELLA, Skip, check, equal, main, record, session  # noqa: E402

BUILD = """
use std::process::Command;
fn main() {
    let rustc = std::env::var("RUSTC").unwrap();
    // As crates do that look at what the compiler can: without an answer, they must see a stable one.
    let probe = |args: &[&str]| Command::new(&rustc).args(args).output().unwrap().status.success();
    assert!(probe(&["--crate-name", "probe", "--crate-type", "lib", "--emit=metadata", "--out-dir", &std::env::var("OUT_DIR").unwrap(), "probe.rs"]));
    let seen = std::env::var("RUSTC_BOOTSTRAP").is_ok();
    println!("cargo:rustc-env=BUILD_SCRIPT_SAW={}", seen);
}
"""
MAIN = """
use std::collections::BTreeMap;
fn main() {
    let counts: BTreeMap<String, usize> = std::env::args().map(|a| { let n = a.len(); (a, n) }).collect();
    println!("{} {}", env!("BUILD_SCRIPT_SAW"), counts.len() + part::part());
}
"""
OWN = "target/self-profile"


PLACE = tempfile.mkdtemp(prefix="lamella-test-")
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


def project():
    """One project and one recording of it for all tests."""
    if not shutil.which("cargo"):
        raise Skip("there is no cargo here")
    os.chdir(PLACE)
    if os.path.exists("src"):
        return
    os.makedirs("src")
    os.makedirs("part/src")
    for name, text in {
            "Cargo.toml": '[package]\nname = "whole"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\npart = { path = "part" }\n[workspace]\n',
            "part/Cargo.toml": '[package]\nname = "part"\nversion = "0.2.0"\nedition = "2021"\n',
            "part/src/lib.rs": "pub fn part() -> usize { vec![1usize, 2].iter().sum() }\n",
            "build.rs": BUILD, "probe.rs": "pub fn probe() {}\n", "src/main.rs": MAIN,
            "wrapper": '#!/bin/sh\nexec "$@"\n'}.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod("wrapper", 0o755)


def build(*options, out="r.lamella", env=None, command=("cargo", "build", "--offline")):
    done = record(*command, out=out, options=options, env={**os.environ, **(env or {})}, timeout=300)
    equal(done.returncode, 0, f"the build: {done.stderr.decode()[-600:]}")
    return done.stderr.decode()


def report(path="r.lamella", *more):
    done = subprocess.run([LAMELLA, "report", "--format", "json", path, *more], capture_output=True, timeout=120)
    equal(done.returncode, 0, done.stderr.decode())
    return json.loads(done.stdout)


def profiles(path="r.lamella"):
    return sorted(os.listdir(os.path.join(path, "self-profile")))


def is_stable():
    version = subprocess.run(["rustc", "--version"], capture_output=True, check=True, text=True).stdout
    return "-nightly" not in version and "-dev" not in version


def finding(found, name):
    return next((row["text"] for row in found["findings"] if row["id"] == name), None)


def test_each_compilation_of_cargo_leaves_one():
    project()
    said = build("--self-profile")
    stored = profiles()
    equal([name.rsplit("-", 1)[0] for name in stored], ["build_script_build", "part", "whole"], "what compilers wrote")
    asked = session()["self_profile"]
    equal(sorted(asked["profiles"]), stored, "session.json lists them")
    check("3 self-profiles, " in said and "events, which took about" in said, said)
    if is_stable():
        check(asked["bootstrap"] and "RUSTC_BOOTSTRAP=1 is set for each compilation" in said, said)
        equal(asked["target_dir"], os.path.abspath(OWN), "a target directory of its own")
        check(OWN in said and os.listdir("target") == ["self-profile"], "cargo's usual target directory is left alone")
        seen = subprocess.run([OWN + "/debug/whole"], capture_output=True, check=True, text=True).stdout.split()
        equal(seen[0], "false", "a build script sees no RUSTC_BOOTSTRAP")


def test_they_join_their_units():
    project()
    found = report("r.lamella", "--by", "label,unit")
    equal((found["session"]["self_profile"], found["session"]["self_profiles"]), ("default", 3), "session")
    equal(found["session"]["rustc_bootstrap"], is_stable(), "how it was asked for")
    equal(finding(found, "rustc_bootstrap") is not None, is_stable(), "and said so")
    told = finding(found, "units_without_profile")
    check(told and told.startswith("1 of 4 compilations"), f"the build script's own compilation has none, and that is told: {told}")
    pids = {unit["pid"]: unit for unit in found["units"]}
    rows = [row for row in found["activities"] if row["label"] == "typeck"]
    equal(len({row["pid"] for row in rows}), 3, "typeck of each compilation")
    for row in found["activities"]:
        check(row["pid"] in pids, f"{row['label']} of {row['pid']} belongs to a unit")
    # A profile's times are of the session: inside its process.
    lines = subprocess.run([LAMELLA, "export", "--to", "chrome", "-o", "-", "r.lamella"], capture_output=True, check=True, timeout=60).stdout
    events = [event for event in json.loads(lines)["traceEvents"] if event["ph"] == "X" and event.get("cat") == "Query"]
    check(events, "queries in the trace")
    for process in found["processes"]:
        own = [event for event in events if event["pid"] == process["pid"]]
        if own and process["end_s"]:
            check(min(event["ts"] for event in own) >= process["start_s"] * 1e6 - 20000, "begins in its process")
            check(max(event["ts"] + event["dur"] for event in own) <= process["end_s"] * 1e6 + 20000, "ends in its process")
    account = {thread["name"] for thread in found["threads"]}
    check(not any(name.startswith("self-profile") for name in account), "numbers of threads in profiles are no threads of the account")
    text = subprocess.run([LAMELLA, "report", "r.lamella"], capture_output=True, check=True, text=True).stdout
    check("self-profiles of 3 of " in text and "by label" in text, text)


def test_removed_damaged_and_foreign_ones_are_told():
    project()
    shutil.copytree("r.lamella", "broken.lamella")
    names = [os.path.join("broken.lamella", "self-profile", name) for name in profiles()]
    os.remove(names[0])
    with open(names[1], "r+b") as file:
        file.truncate(os.path.getsize(names[1]) // 2)
    shutil.copy(names[2], os.path.join("broken.lamella", "self-profile", "copy-of-another.mm_profdata"))
    with open(os.path.join("broken.lamella", "self-profile", "noise.mm_profdata"), "wb") as file:
        file.write(b"no profile")
    found = report("broken.lamella")
    told = finding(found, "damaged_streams")
    check(told and told.startswith("3 of "), told)
    check(names[0].rsplit("/", 1)[1] in told or "noise" in told, told)
    equal(found["coverage"]["unreadable_streams"], 2, "missing and noise")
    check(found["activities"], "the others are read")
    removed = subprocess.run([LAMELLA, "clean", "--remove", "broken.lamella"], capture_output=True, timeout=60)
    check(removed.returncode == 0 and not os.path.exists("broken.lamella"), f"profiles are part of a recording: {removed.stderr}")


def without_profiles(path):
    """The recording as it would be had the profiles been written elsewhere."""
    shutil.copytree("r.lamella", path, ignore=shutil.ignore_patterns("self-profile"))
    kept = session(path)
    del kept["self_profile"]
    with open(os.path.join(path, "session.json"), "w", encoding="utf-8") as file:
        json.dump(kept, file)


def run(*command):
    done = subprocess.run([LAMELLA, *command], capture_output=True, timeout=120)
    equal(done.returncode, 0, done.stderr.decode())
    return done.stdout.decode()


def test_profiles_that_lie_elsewhere():
    project()
    without_profiles("bare.lamella")
    shutil.copytree("r.lamella/self-profile", "elsewhere")
    equal(report("bare.lamella")["activities"], [], "nothing is in it")
    inside, outside = report("r.lamella"), report("bare.lamella", "elsewhere")
    for table in ("activities", "units", "phases", "coverage"):
        equal(outside[table], inside[table], f"{table}, with the profiles beside it")
    twice = report("r.lamella", "elsewhere")
    equal(twice["coverage"], inside["coverage"], "what is known is not counted twice")
    check("3 files are there already" in finding(twice, "duplicate_streams"), "and told")
    stacks = run("export", "--to", "folded", "--of", "samples", "-o", "-", "r.lamella")
    both = run("export", "--to", "folded", "--of", "samples", "-o", "-", "r.lamella", "bare.lamella")
    samples = [sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()) for text in (stacks, both)]
    equal(samples[1], 2 * samples[0], "samples of two recordings")
    names = [{line.rsplit(" ", 1)[0] for line in text.splitlines()} for text in (stacks, both)]
    equal(names[1], names[0], "with the names of both")
    equal(run("view", "--show", "samples", "r.lamella", "bare.lamella").count(" sample "),
          2 * run("view", "--show", "samples", "bare.lamella").count(" sample "), "samples that are seen")
    several = json.loads(run("report", "--format", "json", "r.lamella", "bare.lamella", "elsewhere"))
    equal((several["format"], len(several["reports"])), ("lamella-reports", 2), "two builds")
    equal([len(each["units"]) for each in several["reports"]], [len(inside["units"])] * 2, "each with its units")
    text = run("report", "r.lamella", "bare.lamella")
    check("1 of 2: r.lamella\n" in text and "\n2 of 2: bare.lamella\n" in text, text[:400])


def test_a_wrapper_and_events():
    project()
    build("--self-profile=generic-activity,args", out="w.lamella", env={"RUSTC_WRAPPER": os.path.abspath("wrapper"), "CARGO_TARGET_DIR": "other"})
    equal(len(profiles("w.lamella")), 3, "behind a wrapper")
    equal(session("w.lamella")["self_profile"]["events"], "generic-activity,args", "events")
    kinds = {row["kind"] for row in report("w.lamella")["activities"]}
    check("GenericActivity" in kinds and "Query" not in kinds, kinds)
    if is_stable():
        check(os.path.isdir("other/self-profile/debug"), "below the directory that the user chose")


def test_nobody_is_asked_for_nothing():
    project()
    build(out="plain.lamella")
    check(not os.path.exists("plain.lamella/self-profile") and "self_profile" not in session("plain.lamella"), "not asked for")
    equal(report("plain.lamella")["session"]["self_profile"], None, "absent, not zero")
    usual = sorted(os.listdir("target"))
    check("debug" in usual, usual)
    said = build("--self-profile", "--same-target-dir", out="same.lamella", env={"CARGO_PROFILE_DEV_OPT_LEVEL": "1"})
    equal(sorted(os.listdir("target")), usual, "in the usual target directory")
    if is_stable():
        check("cargo does not know" in said, said)
    equal(len(profiles("same.lamella")), 2, "profiles of what is built again, which the build script is not")


if __name__ == "__main__":
    main(globals())
