"""The plug-in for programs whose functions call back: gcc's and clang's -finstrument-functions, clang's XRay. Names and lines come from the
program's file when the recording is read."""

import collections
import json
import os
import shutil
import subprocess
import sys

from record_lib import LAMELLA, Skip, check, equal, main

BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
PLUGIN = os.path.join(BUILD, "liblamella-instrument.so")

PROGRAM = """
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static jmp_buf back;
__attribute__((noinline)) int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x * 3; }
__attribute__((noinline)) int fact(int n) {
    __asm__ volatile("" : "+r"(n));
    return n < 2 ? 1 : n * fact(n - 1);
}
__attribute__((noinline)) void jump(int n) { if (n) jump(n - 1); else longjmp(back, 1); __asm__ volatile(""); }
__attribute__((noinline)) int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) void *worker(void *p) { for (int i = 0; i < 1000; i++) leaf(i); return p; }
__attribute__((noinline)) void child(void) { leaf(1); }
int main(int argc, char **argv)
{
    int v[] = {4, 3, 2, 1};
    qsort(v, 4, sizeof *v, compare);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (!setjmp(back)) jump(5);
    printf("%d %d\\n", fact(10), v[0]);
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "fork")) {
        if (!fork()) { child(); _exit(0); }
        wait(NULL);
    }
    if (argc > 1 && !strcmp(argv[1], "abort")) abort();
    return 7;
}
"""

# What signals and vector registers may do to a recorder of calls.
RUDE = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#ifdef __AVX__
#include <immintrin.h>
__attribute__((noinline)) __m256d sum(__m256d a, __m256d b) { __asm__ volatile("" ::: "memory"); return _mm256_add_pd(a, b); }
#endif
static sigjmp_buf back;
static volatile int handled, jumps;
__attribute__((noinline)) int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x; }
__attribute__((noinline)) int later(int x) { __asm__ volatile("" : "+r"(x)); return x; }
__attribute__((noinline)) void on_signal(int s) { leaf(s); handled++; }
__attribute__((noinline)) void on_jump(int s) { leaf(s); siglongjmp(back, 1); }
int main(void)
{
    struct itimerval often = {{0, 1000}, {0, 1000}}, once = {{0, 0}, {0, 500}}, never = {{0, 0}, {0, 0}};
    signal(SIGPROF, on_signal);
    signal(SIGALRM, on_jump);
    setitimer(ITIMER_PROF, &often, NULL);
    while (handled < 20) leaf(1);
    setitimer(ITIMER_PROF, &never, NULL);
    for (jumps = 0; jumps < 30; jumps++)
        if (!sigsetjmp(back, 1)) { setitimer(ITIMER_REAL, &once, NULL); for (;;) leaf(jumps); }
    for (int i = 0; i < 1000; i++) later(i);
#ifdef __AVX__
    double r[4];
    _mm256_storeu_pd(r, sum(_mm256_set_pd(1, 2, 3, 4), _mm256_set_pd(10, 20, 30, 40)));
    printf("%g %g %g %g\\n", r[0], r[1], r[2], r[3]);
#endif
    puts("3628800 1");
    return 7;
}
"""

THROWS = """
#include <stdexcept>
#include <cstdio>
struct guard { __attribute__((noinline)) ~guard() { __asm__ volatile(""); } };
__attribute__((noinline)) int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x; }
__attribute__((noinline)) int falls(int n) { guard g; if (n) return falls(n - 1) + leaf(n); throw std::runtime_error("ten frames down"); }
__attribute__((noinline)) int catches() { try { return falls(9); } catch (const std::exception &) { return leaf(1); } }
int main() { for (int i = 0; i < 10; i++) catches(); puts("3628800 1"); return 7; }
"""


def build(name, compiler, *flags, text=PROGRAM, source="program.c"):
    if not shutil.which(compiler):
        raise Skip(f"{compiler} is not installed")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([compiler, "-g", "-O1", *flags, source, "-o", name, "-lpthread"], capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        raise Skip(f"{compiler} {flags}: {done.stderr.decode(errors='replace')[:200]}")
    return os.path.abspath(name)


def run(program, *args, expect=7, preload=PLUGIN, options="", prints=b"3628800 1\n"):
    shutil.rmtree("r.lamella", ignore_errors=True)
    env = {**os.environ, "LAMELLA_OUT": "r.lamella", "LAMELLA_OPTIONS": options, "LD_PRELOAD": preload}
    done = subprocess.run([program, *args], env=env, capture_output=True, timeout=60, check=False)
    equal((done.returncode, done.stdout, done.stderr), (expect, prints, b""), "the program")


def counts(path="r.lamella"):
    done = subprocess.run([LAMELLA, "report", "--format", "json", "--top", "0", path], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"report: {done.stderr.decode(errors='replace')}")
    found = collections.Counter()
    for row in json.loads(done.stdout)["activities"]:
        found[row["label"]] += row["count"]
    return found


def line_of(text):
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def place(function, text=None):
    return f"{function} (program.c:{line_of(text or f' {function}(')})"


def check_counts(found):
    wanted = {"leaf": 4000, "fact": 10, "worker": 4, "jump": 6, "main": 1}
    for name, count in wanted.items():
        where = place(name, "int main(" if name == "main" else "*worker(" if name == "worker" else None)
        if name == "main":
            equal(sum(n for label, n in found.items() if label.startswith("main (program.c:")), 1, "main")
        else:
            equal(found[where], count, where)
    check(found[place("compare")] >= 4, "called back by qsort")


def test_gcc():
    program = build("with-gcc", os.environ.get("CC", "gcc"), "-finstrument-functions")
    run(program)
    check_counts(counts())
    for options in ("calls=tree", "calls=threshold:1ms", "calls=one_in:8"):
        run(program, options=options)
        found = counts()
        check(abs(found[place("leaf")] - 4000) <= (64 if "one_in" in options else 0), f"{options}: {found}")
    run(program, "abort", expect=-6)
    check_counts(counts())
    run(program, "fork")
    equal(counts()[place("leaf")], 4001, "the forked child's call")
    equal(counts()[place("child")], 1, "the forked child's call")


LEAVES = """
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
__attribute__((noinline)) void leaf(int n) { for (volatile int i = 0; i < n; i++) ; }
__attribute__((noinline)) void deep(int n) { if (!n) longjmp(back, 1); deep(n - 1); __asm__ volatile(""); }
static inline void within(int n) { leaf(n); }
__attribute__((noinline)) void wide(int n) { char room[600]; __asm__ volatile("" : : "r"(room) : "memory"); leaf(n); }
__attribute__((noinline)) void catches(int n) {
    for (volatile int i = 0; i < n; i++) {
        if (!setjmp(back)) deep(10);
        within(1);
        wide(1);
    }
}
int main(void) { catches(2000); for (int i = 0; i < 500; i++) { if (!setjmp(back)) deep(3); leaf(1); } puts("done"); return 0; }
"""


def test_what_longjmp_leaves():
    """It is over when the next call begins, also where one function catches it in a loop: what comes then does not stand inside of it."""
    ways = [("gcc-1", os.environ.get("CC", "gcc"), "-finstrument-functions"), ("gcc-2", os.environ.get("CC", "gcc"), "-finstrument-functions", "-O2")]
    if shutil.which("clang-14"):
        ways += [("clang", "clang-14", "-finstrument-functions"), ("xray", "clang-14", "-fxray-instrument", "-fxray-instruction-threshold=1")]
    for name, *how in ways:
        program = build(name, *how, text=LEAVES, source="leaves.c")
        run(program, expect=0, prints=b"done\n")
        done = subprocess.run([LAMELLA, "report", "--format", "json", "--top", "0", "--by", "label,path", "r.lamella"], capture_output=True, timeout=60, check=True)
        data = json.loads(done.stdout)
        equal(data["findings"], [], f"{name}: nothing unbalanced")
        equal(sum(row["open"] for row in data["activities"]), 0, f"{name}: open calls")
        found, paths = collections.Counter(), {None: ()}
        for row in data["paths"]:
            paths[row["path"]] = paths.get(row["parent"], ()) + (row["label"].split(" ")[0],)
            found[paths[row["path"]]] += row["count"]
        found = {path[path.index("main"):]: count for path, count in found.items() if "main" in path}
        below = {path[1:]: count for path, count in found.items() if len(path) > 1}
        equal(below.pop(("catches",)), 1, name)
        for depth in range(11):
            equal(below.pop(("catches",) + ("deep",) * (depth + 1)), 2000, f"{name}: {depth}")
            if depth < 4:
                equal(below.pop(("deep",) * (depth + 1)), 500, f"{name}: {depth}")
        inner = [("catches", "within", "leaf") if ("catches", "within", "leaf") in below else ("catches", "leaf"), ("catches", "wide", "leaf"), ("catches", "wide")]
        equal([below.pop(path) for path in inner] + [below.pop(("leaf",))], [2000, 2000, 2000, 500], f"{name}: what comes after")
        below.pop(("catches", "within"), None)
        equal(below, {}, f"{name}: other paths")
        run(program, expect=0, prints=b"done\n", options="calls=one_in:10")
        done = subprocess.run([LAMELLA, "report", "--format", "json", "--top", "0", "r.lamella"], capture_output=True, timeout=60, check=True)
        data = json.loads(done.stdout)
        equal((sum(row["open"] for row in data["activities"]), data["findings"]), (0, []), f"{name}: one in 10")


def test_not_recorded_without_a_recording():
    program = build("off", os.environ.get("CC", "gcc"), "-finstrument-functions")
    env = {**os.environ, "LD_PRELOAD": PLUGIN}
    env.pop("LAMELLA_OUT", None)
    done = subprocess.run([program], env=env, capture_output=True, timeout=60, check=False)
    equal((done.returncode, done.stdout), (7, b"3628800 1\n"), "off")
    equal(os.listdir("."), ["program.c", "off"] if os.listdir(".")[0] == "program.c" else ["off", "program.c"], "files")


def test_program_that_is_not_there_any_more():
    program = build("gone", os.environ.get("CC", "gcc"), "-finstrument-functions")
    run(program)
    os.remove(program)
    found = counts()
    check(all(label.startswith("gone+0x") for label in found), f"labels of a file that is gone: {found}")
    equal(sorted(found.values())[-1], 4000, "counts stay")
    build("gone", os.environ.get("CC", "gcc"), "-finstrument-functions", "-DOTHER=1", "-O0")
    check(all(label.startswith("gone+0x") for label in counts()), "another file in its place gives no wrong names")


def test_clang():
    program = build("with-clang", "clang-14", "-finstrument-functions")
    run(program)
    check_counts(counts())


def test_xray():
    flags = ("-fxray-instrument", "-fxray-instruction-threshold=1")
    program = build("with-xray", "clang-14", *flags)
    run(program)
    check_counts(counts())
    linked = build("linked", "clang-14", *flags, "-Wl,--no-as-needed", "-L" + BUILD, "-llamella-instrument", "-Wl,-rpath," + BUILD)
    run(linked, preload="")
    check_counts(counts())


def rude(program, avx=False):
    run(program, prints=b"44 33 22 11\n3628800 1\n" if avx else b"3628800 1\n")
    found = counts()
    # If the last one jumped out of the recording of an exit, which gcc jumps to, the first call lies deeper than that and is not recorded.
    after = sum(count for label, count in found.items() if label.startswith("later "))
    check(999 <= after <= 1000, f"calls after handlers that came back, and that jumped: {after}, wanted 1000 or 999")


def test_signal_handlers():
    rude(build("rude-gcc", os.environ.get("CC", "gcc"), "-finstrument-functions", text=RUDE))
    flags = ("-fxray-instrument", "-fxray-instruction-threshold=1")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        avx = " avx " in file.read()
    rude(build("rude-xray", "clang-14", *flags, *(["-mavx"] if avx else []), text=RUDE), avx)


def test_exceptions_and_stripped_programs():
    compiler = "g++"
    run(build("throws", compiler, "-finstrument-functions", text=THROWS, source="throws.cc"))
    found = collections.Counter()
    for label, count in counts().items():
        found[label.split(" (")[0]] += count
    wanted = {"catches": 10, "falls": 100, "guard::~guard": 100, "leaf": 10, "main": 1}
    equal({name: found[name] for name in wanted}, wanted, "exceptions through ten frames")
    subprocess.run(["strip", "throws"], check=True)
    run("./throws")
    equal(sorted(count for label, count in counts().items() if label.startswith("throws+0x"))[-4:], [10, 10, 100, 100], "a stripped program: addresses")


if __name__ == "__main__":
    if not os.path.exists(PLUGIN):
        print("the plug-in was not built")
        sys.exit(77)
    main(globals())
