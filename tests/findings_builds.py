#!/usr/bin/env python3
"""Findings about builds: each has a real build in which it must appear, and the others in which it must not. What would take too
long as a build has unit tests on made reports (findings_test.c)."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from phases_builds import BUILD_SCRIPT, MACRO, RUST_HEAD, RUST_MODULE, need, write_package  # noqa: E402
from record_lib import LAMELLA, Skip, check, equal, main, record  # noqa: E402

OF_BUILDS = {"gating_unit", "one_codegen_unit", "link_time", "debug_info", "macro_time", "build_script", "duplicate_versions",
             "memory_limit", "memory_peak"}
OF_IDLE_CORES = {"gating_unit", "one_codegen_unit"}


def report(*options, recording="r.lamella"):
    done = subprocess.run([LAMELLA, "report", "--format", "json", *options, recording], capture_output=True, check=False)
    equal(done.returncode, 0, f"report: {done.stderr.decode()}")
    return json.loads(done.stdout)


def cargo(*options, out="r.lamella"):
    need("cargo", "rustc")
    done = record("cargo", "build", "--offline", *options, out=out, timeout=240)
    equal(done.returncode, 0, f"cargo: {done.stderr.decode()}")
    return report(recording=out)


def finds(seen, *wanted, perhaps=()):
    """Of the findings about builds: all that are wanted, and no others. Where other programs have the machine nothing is said of
    cores that were idle."""
    found = {finding["id"]: finding for finding in seen["findings"]}
    about = {name: found[name]["text"] for name in found if name in OF_BUILDS}
    if any("other programs had the machine" in finding["text"] for finding in found.values()):
        print("      (other programs have the machine)")
        wanted = [name for name in wanted if name not in OF_IDLE_CORES]
    for name in wanted:
        check(name in found, f"{name} is found, in {about}")
    check(set(about) <= set(wanted) | set(perhaps), f"no more than {wanted}, in {about}")
    return found


def library(parts):
    return RUST_HEAD + "".join(RUST_MODULE % {"i": i} for i in range(parts)) + "pub fn one() -> u64 { part0::fold(&[1]) }\n"


def test_one_unit_that_the_rest_waits_for():
    need("cargo", "rustc")
    write_package("gate", "gate", "", {"src/lib.rs": library(60)})
    names = ["first", "second", "third"]
    for name in names:
        write_package(name, name, '[dependencies]\ngate = { path = "../gate" }\n', {"src/main.rs": "fn main() { println!(\"{}\", gate::one()); }\n"})
    with open("Cargo.toml", "w", encoding="utf-8") as file:
        file.write(f'[workspace]\nresolver = "2"\nmembers = {json.dumps(["gate", *names])}\n'
                   "[profile.dev]\ndebug = false\n[profile.dev.package.gate]\nopt-level = 3\ncodegen-units = 1\n")
    seen = cargo()
    found = finds(seen, "gating_unit", "one_codegen_unit")
    for name in OF_IDLE_CORES & set(found):
        equal(found[name]["unit"], "gate", f"the unit of {name}")
    check("gating_unit" not in found or "3 units" in found["gating_unit"]["text"], str(found))
    the_chain(seen)
    # The same with as many codegen units as there are cores.
    with open("Cargo.toml", encoding="utf-8") as file:
        text = file.read().replace("codegen-units = 1", "codegen-units = 16")
    with open("Cargo.toml", "w", encoding="utf-8") as file:
        file.write(text)
    finds(cargo(out="sixteen.lamella"), perhaps=["gating_unit"])


def the_chain(seen):
    """Graph, path, replay and shares of that build agree with what is known of it."""
    units = {unit["unit"]: unit for unit in seen["units"]}
    edges = {(edge["unit"], edge["dep"]): edge["kind"] for edge in seen["unit_deps"]}
    for name in ("first", "second", "third"):
        equal(edges.get((f"{name} (bin)", "gate")), "objects", f"{name} needs all of gate, in {edges}")
        equal(units[f"{name} (bin)"]["unblocked_by"], "gate", f"what {name} waited for")
        equal(units[f"link {name}"]["inside"], f"{name} (bin)", "a linker runs inside its compiler")
    equal([edge for edge in seen["unit_deps"] if edge["contradicted"]], [], "edges against the times")
    path = [step["unit"] for step in seen["critical_path"]]
    check(len(path) == 2 and path[0] == "gate", f"the longest chain: {path}")
    check(units["gate"]["slack_s"] == 0 and units["gate"]["on_critical_path"], "no slack on it")
    check(units["gate"]["start_s"] < units["gate"]["metadata_at_s"] < units["gate"]["end_s"], "metadata comes before the end")
    equal(sum(round(row["wall_s"] * 1e9) for row in seen["wall_shares"]), round(seen["session"]["elapsed_s"] * 1e9), "sum of shares")
    check(seen["replay"]["replayed_s"] > 0 and seen["what_if"], "a replay with answers")
    only = report("--what-if", "unit=gate", "--what-if", "split=gate,cores=8")
    equal([row["change"] for row in only["what_if"]], ["unit=gate", "split=gate,cores=8"], "answers to what was asked")
    check(only["what_if"][0]["saved_s"] > 0, f"without gate the build is shorter: {only['what_if']}")


def test_debug_information():
    """The other builds in here have none, and no finding on it."""
    need("cargo", "rustc")
    maker = os.path.join(os.environ["LAMELLA_SRC"], "bench", "make-workspace")
    made = subprocess.run([maker, "--shape", "demo", "demo"], capture_output=True, check=False)
    equal(made.returncode, 0, f"make-workspace: {made.stderr.decode()}")
    try:
        os.environ.update({"CARGO_PROFILE_DEV_DEBUG": "2", "CARGO_INCREMENTAL": "0"})
        finds(cargo("--manifest-path", "demo/Cargo.toml", out="demo.lamella"), "debug_info", perhaps=["gating_unit"])
    finally:
        for name in ("CARGO_PROFILE_DEV_DEBUG", "CARGO_INCREMENTAL"):
            os.environ.pop(name, None)


def test_macros_scripts_and_two_versions():
    need("cargo", "rustc")
    write_package("heavy_macro", "heavy_macro", "[lib]\nproc-macro = true\n", {"src/lib.rs": MACRO.replace("60_000_000", "300_000_000")})
    for version in ("1.0.0", "2.0.0"):
        write_package(f"vendor/twice-{version}", "twice", "", {"src/lib.rs": library(45)})
        manifest = f"vendor/twice-{version}/Cargo.toml"
        with open(manifest, encoding="utf-8") as file:
            text = file.read().replace("0.1.0", version)
        with open(manifest, "w", encoding="utf-8") as file:
            file.write(text)
    script = BUILD_SCRIPT.replace("120_000_000", "200_000_000")
    write_package(".", "user",
                  '[dependencies]\nheavy_macro = { path = "heavy_macro" }\ntwice = { path = "vendor/twice-1.0.0" }\n'
                  'twice2 = { path = "vendor/twice-2.0.0", package = "twice" }\n[profile.dev]\ndebug = false\n[workspace]\nexclude = ["vendor"]\n',
                  {"src/main.rs": 'heavy_macro::heavy!(x);\nfn main() { println!("{} {} {}", HEAVY, env!("SUM"), twice::one() + twice2::one()); }\n',
                   "build.rs": script})
    seen = cargo()
    found = finds(seen, "macro_time", "build_script", "duplicate_versions")
    equal(found["build_script"]["unit"], "run user build script", "the script")
    check("heavy_macro" in found["macro_time"]["text"], found["macro_time"]["text"])
    check("twice (2 versions" in found["duplicate_versions"]["text"], found["duplicate_versions"]["text"])
    edges = {(edge["unit"], edge["dep"]): edge["kind"] for edge in seen["unit_deps"]}
    equal(edges.get(("run user build script", "user build script")), "file", f"a run after its compilation, in {edges}")
    equal(edges.get(("user (bin)", "run user build script")), "run", "a package after its script's run")
    equal(edges.get(("user (bin)", "heavy_macro")), "file", "a macro's library whole")


def test_a_c_build():
    need("cc", "make")
    names = ["a", "b", "c"]
    for name in names:
        with open(f"{name}.c", "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n" + "".join(f"int {name}{i}(int x) {{ return x * {i} + 1; }}\n" for i in range(400)))
    with open("main.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    with open("Makefile", "w", encoding="utf-8") as file:
        objects = " ".join(f"{name}.o" for name in ["main", *names])
        file.write(f"app: {objects}\n\tcc -o $@ {objects}\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n")
    done = record("make", "-j2", timeout=120)
    equal(done.returncode, 0, f"make: {done.stderr.decode()}")
    seen = report()
    finds(seen)
    edges = {(edge["unit"], edge["dep"]) for edge in seen["unit_deps"]}
    for name in ["main", *names]:
        check(("link app", f"assemble {name}.o") in edges, f"the link needs {name}.o, in {edges}")
        check((f"assemble {name}.o", f"{name}.c") in edges, f"{name}.o needs its compilation, in {edges}")
    equal(seen["critical_path"][-1]["unit"], "link app", "the chain's end")


SLOW_LINKER = """#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int status = 1;
    (void)argc;
    usleep(1300000);
    if (fork() == 0) {
        execv("/usr/bin/ld", argv);
        _exit(127);
    }
    wait(&status);
    return WEXITSTATUS(status);
}
"""
# A machine that two compilers fill: each waits for a header that comes when the launcher has looked at them (every two seconds at the rarest).
SMALL_MACHINE = """mount --bind meminfo /proc/meminfo || exit 77
mkfifo a.pipe b.pipe
(exec 3>a.pipe 4>b.pipe; sleep 2.5; echo >&3; echo >&4) &
exec "$LAMELLA" record -q -o small.lamella -- make -s -j2
"""


def test_a_slow_linker_and_a_small_machine():
    need("cc", "make", "unshare")
    os.mkdir("slow")
    with open("ld.c", "w", encoding="utf-8") as file:
        file.write(SLOW_LINKER)
    subprocess.run(["cc", "-o", "slow/ld", "ld.c"], check=True)
    for name in "ab":
        with open(f"{name}.c", "w", encoding="utf-8") as file:
            file.write("".join(f"int {name}{i}(int x) {{ return x * {i} + 1; }}\n" for i in range(200)) + f'#include "{name}.pipe"\n')
            file.write("int main(void) { return 0; }\n" if name == "a" else "")
    with open("Makefile", "w", encoding="utf-8") as file:
        file.write(f"app: a.o b.o\n\tcc -B{os.path.abspath('slow')} -o $@ a.o b.o\n%.o: %.c\n\tcc -c -o $@ $<\n")
    with open("meminfo", "w", encoding="utf-8") as file:
        # Half of it is what the two compilers hold while they wait for their pipes, whenever the launcher looks.
        file.write("MemTotal: 15000 kB\nMemFree: 1000 kB\nMemAvailable: 1000 kB\n")
    done = subprocess.run(["unshare", "-m", "sh", "-c", SMALL_MACHINE], capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    if done.returncode == 77 or b"unshare failed" in done.stderr:
        raise Skip("mounts are not permitted here")
    equal(done.returncode, 0, done.stderr.decode())
    found = finds(report(recording="small.lamella"), "link_time", "memory_limit", "memory_peak")
    equal(found["link_time"]["unit"], "link app", "the linker")
    check("in 1 link," in found["link_time"]["text"] and "by ld" in found["link_time"]["text"], found["link_time"]["text"])
    check("2 units at once" in found["memory_limit"]["text"] and "-j1" in found["memory_limit"]["text"], found["memory_limit"]["text"])
    check(found["memory_peak"]["unit"] in ("a.c", "b.c"), found["memory_peak"]["text"])


if __name__ == "__main__":
    main(globals())
