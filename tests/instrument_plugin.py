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
__attribute__((noinline)) int fact(int n) { __asm__ volatile("" : "+r"(n)); return n < 2 ? 1 : n * fact(n - 1); }
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


def build(name, compiler, *flags):
    if not shutil.which(compiler):
        raise Skip(f"{compiler} is not installed")
    with open("program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    done = subprocess.run([compiler, "-g", "-O1", *flags, "program.c", "-o", name, "-lpthread"], capture_output=True, timeout=60, check=False)
    if done.returncode != 0:
        raise Skip(f"{compiler} {flags}: {done.stderr.decode(errors='replace')[:200]}")
    return os.path.abspath(name)


def run(program, *args, expect=7, preload=PLUGIN, options=""):
    shutil.rmtree("r.lamella", ignore_errors=True)
    env = {**os.environ, "LAMELLA_OUT": "r.lamella", "LAMELLA_OPTIONS": options, "LD_PRELOAD": preload}
    done = subprocess.run([program, *args], env=env, capture_output=True, timeout=60, check=False)
    equal((done.returncode, done.stdout, done.stderr), (expect, b"3628800 1\n", b""), "the program")


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


if __name__ == "__main__":
    if not os.path.exists(PLUGIN):
        print("the plug-in was not built")
        sys.exit(77)
    main(globals())
