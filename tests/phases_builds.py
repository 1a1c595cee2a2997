#!/usr/bin/env python3
"""Real builds, one of each kind, and what their breakdown must show: docs/phases.md explains the figures. Loose on purpose: they
hold on any machine, and fail when a phase is lost."""

import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from record_lib import LAMELLA, Skip, check, equal, main, record  # noqa: E402

RATE = ("--rate", "4999")

RUST_HEAD = "use std::collections::HashMap;\n"
RUST_MODULE = """
pub mod part%(i)d {
    use std::collections::{BTreeMap, HashMap};
    use std::fmt;
    #[derive(Clone, Debug, PartialEq, PartialOrd, Hash, Eq, Ord)]
    pub enum Kind { Number(u32), Name(String), Pair { x: u64, bytes: Vec<u8> }, None }
    impl fmt::Display for Kind {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Kind::Number(n) => write!(f, "number {}", n),
                Kind::Name(s) => write!(f, "name {}", s),
                Kind::Pair { x, bytes } => write!(f, "{} {:?}", x, bytes),
                Kind::None => f.write_str("none"),
            }
        }
    }
    pub fn fold(v: &[u64]) -> u64 {
        v.iter().enumerate().map(|(i, x)| x.rotate_left(i as u32 %% 63)).filter(|x| x %% 3 != 0).fold(%(i)d, |a, b| a.wrapping_mul(31) ^ b)
    }
    pub fn table(kinds: &[Kind]) -> BTreeMap<String, usize> {
        let mut counts = HashMap::new();
        for kind in kinds { *counts.entry(kind.to_string()).or_insert(0usize) += 1; }
        counts.into_iter().collect()
    }
    pub fn multiply(a: &mut [f64], b: &[f64], n: usize) {
        for i in 0..n { for j in 0..n { let mut s = 0.0; for k in 0..n { s += a[i * n + k] * b[k * n + j]; } a[i * n + j] = s; } }
    }
}
"""
RUST_USE = """    let _ = part%(i)d::table(&[part%(i)d::Kind::Number(1), part%(i)d::Kind::None]);
    part%(i)d::multiply(&mut grid, &[1.0; 16], 4);
    total ^= part%(i)d::fold(v);
"""


def rust_program(path, parts=5):
    ids = [{"i": i} for i in range(parts)]
    text = RUST_HEAD + "".join(RUST_MODULE % i for i in ids)
    text += "pub fn all(v: &[u64]) -> u64 {\n    let mut grid = [0.5; 16];\n    let mut total = 0;\n"
    text += "".join(RUST_USE % i for i in ids) + "    total\n}\n"
    text += "fn main() {\n    let lengths: HashMap<String, u64> = std::env::args().map(|a| (a.clone(), a.len() as u64)).collect();\n"
    text += '    println!("{}", all(&lengths.values().copied().collect::<Vec<_>>()));\n}\n'
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Breakdown:
    """What `lamella probe` prints, as sums."""

    def __init__(self, recording, *options):
        done = subprocess.run([LAMELLA, "probe", "--format", "json", *options, recording], capture_output=True, check=False)
        equal(done.returncode, 0, f"probe: {done.stderr.decode()}")
        self.data = json.loads(done.stdout)
        self.rows = self.data["breakdown"]
        self.quality = self.data["quality"]
        self.roles = {row["role"]: row for row in self.data["roles"]}

    def samples(self, segment, phase=None, detail=None):
        return sum(row["samples"] for row in self.rows if row["segment"] == segment and (phase is None or row["phase"] == phase)
                   and (detail is None or row["detail"] == detail))

    def share(self, segment, phase=None, detail=None):
        whole = sum(row["samples"] for row in self.rows)
        return self.samples(segment, phase, detail) / max(1, whole)

    def has(self, *places):
        for place in places:
            check(self.samples(*place.split("/")) > 0, f"{place} has samples, in {self.short()}")

    def has_not(self, *places):
        for place in places:
            equal(self.samples(*place.split("/")), 0, f"samples of {place}")

    def short(self):
        return ", ".join(f"{row['segment']}/{row['phase']}/{row['detail']} {row['samples']}" for row in self.rows)

    def is_well_known(self, unknown=0.02, codegen=0.06, machine=0.06, named=0.8):
        """The promised quality, with room for the few samples of a small build: of the milliseconds that each rustc takes to set
        itself up, some are nobody's, which is a share of nothing but a process that does little else."""
        quality, backend = self.quality, self.quality["backend_s"]
        check(quality["unknown_s"] <= unknown * quality["cpu_s"] + 0.01, f"unknown: {quality}")
        if backend < 0.2:  # too little of it for shares
            return
        check(quality["codegen_s"] <= codegen * backend, f"bare codegen: {quality}")
        check(quality["bare_machine_code_s"] <= machine * backend, f"bare machine_code: {quality}")
        check(quality["backend_named_s"] >= named * (backend - quality["backend_unresolved_s"]), f"details: {quality}")


def need(*programs):
    if os.environ.get("LAMELLA_SANITIZE"):
        raise Skip("compilers take too long beside a sanitizer")
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"no {program} on PATH")
        if subprocess.run([program, "--version"], capture_output=True, check=False).returncode != 0:
            raise Skip(f"{program} does not run")


def rustc(*options, source="program.rs", out="r.lamella"):
    need("rustc")
    if not os.path.exists(source):
        rust_program(source)
        with open(source, "a", encoding="utf-8") as file:  # parsed, and thrown away: else parsing gets a handful of samples, or none
            file.write("#[cfg(any())]\nmod unused {" + RUST_MODULE % {"i": 0} * 150 + "}\n")
    done = record("rustc", "--edition", "2021", *options, source, "-o", "program", out=out, options=RATE, timeout=240)
    equal(done.returncode, 0, f"rustc: {done.stderr.decode()}")
    return Breakdown(out, "--process", "*/rustc")


FRONTEND = ("frontend/parse", "frontend/macro_expand", "frontend/resolve", "frontend/lower", "frontend/type_check",
            "frontend/mir_build", "frontend/borrowck")


def test_debug():
    seen = rustc("-g")
    seen.has(*FRONTEND, "backend/monomorphize", "backend/ir_build/debug_info", "backend/machine_code/isel", "backend/optimize",
             "backend/machine_code/debug_info", "link", "process/startup")
    seen.has_not("backend/lto")
    check(seen.share("backend", "machine_code") > seen.share("backend", "optimize"), f"without optimization code is made: {seen.short()}")
    for role in ("serial", "opt", "coordinator", "process"):
        check(role in seen.roles, f"role {role} is in {sorted(seen.roles)}")
    equal(seen.roles["serial"]["rootless"], 0, "stacks of the serial thread without a root")
    seen.is_well_known()


def test_release_one_unit():
    seen = rustc("-O", "-C", "codegen-units=1")
    seen.has(*FRONTEND, "backend/optimize/inlining", "backend/optimize/memory", "backend/optimize/loops", "backend/optimize/instcombine",
             "backend/optimize/scalar", "backend/optimize/ipo", "backend/optimize/cfg", "backend/optimize/analysis",
             "backend/machine_code/isel", "backend/machine_code/regalloc", "backend/machine_code/assembler")
    seen.has_not("backend/lto")
    check(seen.share("backend", "optimize") > 0.2, f"optimization is the most of it: {seen.short()}")
    check(seen.samples("backend", "machine_code", "debug_info") <= 5, f"no debug information: {seen.short()}")
    seen.is_well_known()


def test_release_sixteen_units():
    seen = rustc("-O", "-C", "codegen-units=16")
    # Units of one crate are joined by a local thin LTO.
    seen.has(*FRONTEND, "backend/optimize", "backend/lto/import", "backend/monomorphize/partition")
    check("lto" in seen.roles, f"units go through thin LTO: {sorted(seen.roles)}")
    seen.is_well_known()


def test_thin_lto():
    seen = rustc("-C", "opt-level=1", "-C", "lto=thin", "-C", "codegen-units=4")
    check(seen.samples("backend", "lto", "import") >= 100, f"thin LTO imports: {seen.short()}")
    role = seen.roles["lto"]
    check(role["rootless"] + role["truncated"] <= 0.001 * role["samples"], f"stacks of thin LTO threads are whole: {role}")
    check(seen.share("backend", "optimize") > seen.share("backend", "lto"), f"optimizing imported code is optimize: {seen.short()}")
    seen.is_well_known()


def test_fat_lto():
    seen = rustc("-C", "opt-level=1", "-C", "lto=fat")
    check(seen.samples("backend", "lto", "merge") >= 100, f"the merge of the modules: {seen.short()}")
    check(seen.share("backend", "optimize") > seen.share("backend", "lto"), f"optimizing the merged module is optimize: {seen.short()}")
    seen.is_well_known()


def test_incremental():
    need("rustc")
    rust_program("program.rs")
    first = rustc("-C", "incremental=cache", out="first.lamella")
    first.has("frontend/incr_cache/save")
    second = rustc("-C", "incremental=cache", out="second.lamella")
    second.has("frontend/incr_cache")
    check(second.samples("backend", "machine_code") < first.samples("backend", "machine_code"), "code was taken from the cache")
    second.is_well_known()


def test_const_evaluation():
    text = """const fn collatz(mut n: u64) -> u64 { let mut c = 0; while n != 1 { n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 }; c += 1; } c }
const fn sum(n: u64) -> u64 { let mut s = 0; let mut i = 1; while i < n { s += collatz(i); i += 1; } s }
pub static TOTAL: u64 = sum(6000);
fn main() { println!("{}", TOTAL); }
"""
    with open("program.rs", "w", encoding="utf-8") as file:
        file.write(text)
    seen = rustc("-A", "long_running_const_eval")
    check(seen.share("frontend", "queries", "const_eval") > 0.2, f"constants are computed by the compiler: {seen.short()}")
    seen.is_well_known()


MACRO = """extern crate proc_macro;
use proc_macro::TokenStream;
#[proc_macro]
pub fn heavy(input: TokenStream) -> TokenStream {
    let mut text = String::new();
    for i in 0..2000 { text = format!("{}{}", &text[..text.len().min(400)], i * 7 % 13); }
    let mut sum = 0u64;
    for i in 0..60_000_000u64 { sum = sum.wrapping_mul(31).wrapping_add(i ^ text.len() as u64); }
    let _ = input;
    format!("pub const HEAVY: u64 = {};", sum).parse().unwrap()
}
"""
BUILD_SCRIPT = """fn main() {
    let mut sum = 0u64;
    for i in 0..120_000_000u64 { sum = sum.wrapping_mul(31).wrapping_add(std::hint::black_box(i)); }
    println!("cargo:rustc-env=SUM={}", sum);
}
"""


def write_package(path, name, extra, files):
    for file, text in files.items():
        full = os.path.join(path, file)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)
    with open(os.path.join(path, "Cargo.toml"), "w", encoding="utf-8") as out:
        out.write(f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n{extra}')


def test_macros_and_build_scripts():
    need("cargo", "rustc")
    write_package("heavy_macro", "heavy_macro", "[lib]\nproc-macro = true\n", {"src/lib.rs": MACRO})
    write_package(".", "user", '[dependencies]\nheavy_macro = { path = "heavy_macro" }\n[workspace]\n',
                  {"src/main.rs": 'heavy_macro::heavy!(x);\nfn main() { println!("{} {}", HEAVY, env!("SUM")); }\n', "build.rs": BUILD_SCRIPT})
    done = record("cargo", "build", "--offline", options=RATE, timeout=240)
    equal(done.returncode, 0, f"cargo: {done.stderr.decode()}")
    seen = Breakdown("r.lamella")
    check(seen.samples("frontend", "proc_macro", "heavy_macro") >= 50, f"the macro's crate is named: {seen.short()}")
    check(seen.samples("process", "program") >= 50, f"the build script is a program: {seen.short()}")
    check("backend" in {row["segment"] for row in seen.rows}, "and the rest is compiled")


def driver(name, *options):
    need(name)
    rust_program("program.rs")
    done = record(name, "--edition", "2021", *options, "program.rs", options=RATE, timeout=240)
    equal(done.returncode, 0, f"{name}: {done.stderr.decode()}")
    return Breakdown("r.lamella", "--process", f"*/{name}")


def test_rustdoc():
    seen = driver("rustdoc", "-o", "doc")
    seen.has("frontend/doc/impls", "frontend/doc/render", "frontend/doc/passes", "frontend/type_check")
    check(seen.share("frontend", "doc") > 0.3, f"documenting is the most of it: {seen.short()}")
    check(seen.roles["serial"]["samples"] > 0.5 * sum(role["samples"] for role in seen.roles.values()), f"its working thread: {seen.roles}")
    seen.is_well_known()


def test_clippy():
    seen = driver("clippy-driver", "--emit=metadata", "-W", "clippy::pedantic")
    seen.has("frontend/lint/clippy", "frontend/type_check", "frontend/borrowck")
    seen.has_not("backend/optimize")
    check("serial" in seen.roles, f"its working thread is known: {sorted(seen.roles)}")
    seen.is_well_known()


CPP = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
template <int N> struct F { static constexpr long v = F<N - 1>::v + F<N - 2>::v; };
template <> struct F<0> { static constexpr long v = 0; };
template <> struct F<1> { static constexpr long v = 1; };
constexpr long collatz(long n) { long c = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; c++; } return c; }
constexpr long sum(long n) { long s = 0; for (long i = 1; i < n; i++) s += collatz(i); return s; }
static_assert(sum(1500) > 0, "");
"""
CPP_PART = """struct S%(i)d { int a; std::string b; std::vector<double> c; bool operator<(const S%(i)d &o) const { return a < o.a; } };
long f%(i)d(std::vector<S%(i)d> v) {
    std::sort(v.begin(), v.end());
    std::map<std::string, std::shared_ptr<S%(i)d>> m;
    for (auto &x : v) m[x.b] = std::make_shared<S%(i)d>(x);
    std::function<long(long)> g = [&](long z) { return z + F<%(i)d + 20>::v; };
    return g(m.size());
}
"""


def cpp_program(path, parts=2):
    with open(path, "w", encoding="utf-8") as file:
        file.write(CPP + "".join(CPP_PART % {"i": i} for i in range(parts)))
        file.write("int main() { return (" + " + ".join(f"f{i}({{}})" for i in range(parts)) + ") != 0; }\n")


def clang():
    for name in ("clang++", "clang++-14", "clang++-15", "clang++-16", "clang++-19"):
        if shutil.which(name):
            return name
    raise Skip("no clang++ on PATH")


def test_clang():
    compiler = clang()
    need(compiler)
    cpp_program("a.cc")
    done = record(compiler, "-std=c++17", "-O2", "-g", "-c", "a.cc", "-o", "a.o", options=RATE, timeout=240)
    equal(done.returncode, 0, f"{compiler}: {done.stderr.decode()}")
    seen = Breakdown("r.lamella")
    seen.has("frontend/parse/preprocess", "frontend/parse/parse", "frontend/parse/sema", "frontend/templates", "frontend/const_eval",
             "backend/ir_build/body", "backend/ir_build/debug_info", "backend/optimize/inlining", "backend/machine_code/isel")
    seen.is_well_known(machine=0.1)


def link_with(option, name, programs):
    compiler = clang()
    need(compiler)
    # clang has its linker beside itself
    found = subprocess.run([compiler, f"-print-prog-name={name}"], capture_output=True, check=True).stdout.decode().strip()
    if not os.path.exists(found) and not shutil.which(found):
        raise Skip(f"no {name}")
    with open("a.c", "w", encoding="utf-8") as file:
        file.write("".join(f"int f{i}(int n) {{ return n + {i}; }}\n" for i in range(3000)) + "int main(void) { return f0(0) + f2999(1); }\n")
    subprocess.run([compiler, "-x", "c", "-g", "-ffunction-sections", "-c", "a.c", "-o", "a.o"], check=True)
    done = record(compiler, option, "a.o", "-o", "a", options=RATE, timeout=120)
    equal(done.returncode, 0, f"{option}: {done.stderr.decode()}")
    seen = Breakdown("r.lamella", "--process", programs)
    if seen.data["quality"]["cpu_s"] == 0:
        raise Skip(f"{name} ran under another name")
    whole = sum(row["samples"] for row in seen.rows)
    check(seen.samples("link") + seen.samples("process", "startup") + seen.samples("process", "teardown") == whole,
          f"all of a linker is link, but its start and end: {seen.short()}")
    return seen


def test_gnu_ld():
    seen = link_with("-fuse-ld=bfd", "ld.bfd", "*ld.bfd")
    named = sum(row["samples"] for row in seen.rows if row["segment"] == "link" and row["detail"] not in (None, "unresolved"))
    check(named > 0, f"functions that its library exports are known: {seen.short()}")


def test_gold():
    link_with("-fuse-ld=gold", "ld.gold", "*gold")


def test_lld():
    seen = link_with("-fuse-ld=lld", "ld.lld", "*lld")
    seen.has("link/link")


def test_mold():
    link_with("-fuse-ld=mold", "ld.mold", "*mold")


if __name__ == "__main__":
    main(globals())
