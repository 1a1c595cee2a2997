# ctest: TIMEOUT 300
"""liblamella as others meet it: the header alone, C and C++, the symbols, what it does when off, before and after main, in a
plug-in that is unloaded, on a full disk, and under `lamella record`."""

import glob
import json
import os
import shutil
import subprocess

from record_lib import LAMELLA, Skip, check, equal, main

BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
SRC = os.environ.get("LAMELLA_SRC", os.getcwd())
INCLUDE = os.path.join(SRC, "include")
ARCHIVE = os.path.join(BUILD, "liblamella.a")
SHARED = os.path.join(BUILD, "liblamella.so")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def run(*command, env=None, **kwargs):
    whole = {k: v for k, v in os.environ.items() if not k.startswith("LAMELLA_O")} | (env or {})
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=whole, **kwargs)


def compile_c(name, text, *flags, compiler="cc", standard="-std=c17", library=ARCHIVE):
    source = name + (".cc" if "++" in compiler else ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    libs = [library, "-lpthread"] if library else []
    done = run(compiler, standard, "-O2", *WARNINGS, "-I", INCLUDE, "-o", name, source, *flags, *libs)
    equal(done.returncode, 0, f"compiling {name}: {done.stderr}")
    return os.path.abspath(name)


def labels(recording):
    """Labels of a recording with their counts, as `lamella report` has them."""
    done = run(LAMELLA, "report", "--format", "json", recording)
    equal(done.returncode, 0, f"report {recording}: {done.stderr}")
    report = json.loads(done.stdout)
    counts = {}
    for row in report["activities"]:  # one for each unit that has the label
        counts[row["label"]] = counts.get(row["label"], 0) + row["count"]
    return counts


SCOPE = """
#include <lamella/lamella.h>
#include <stdio.h>
static int f(int n)
{
    LAM_SCOPE("f");
    LAM_INSTANT("here");
    return n ? f(n - 1) + 1 : 0;
}
int main(void)
{
    LAM_FUNCTION();
    printf("%d\\n", f(9));
    return 3;
}
"""


def test_header_alone():
    for compiler, standard in (("cc", "-std=c17"), ("c++", "-std=c++17"), ("clang-14", "-std=c17")):
        if not shutil.which(compiler):
            continue
        program = compile_c("scope", SCOPE, "-Wconversion" if compiler == "cc" else "-Wshadow", compiler=compiler, standard=standard)
        plain = run(program)
        equal((plain.stdout, plain.stderr, plain.returncode), ("9\n", "", 3), f"{compiler}: off")
        recorded = run(program, env={"LAMELLA_OUT": f"{compiler}.lam"})
        equal((recorded.stdout, recorded.stderr, recorded.returncode), ("9\n", "", 3), f"{compiler}: on")
        found = labels(f"{compiler}.lam")
        equal((found.get("f"), found.get("main")), (10, 1), f"{compiler}: {found}")


def test_off_leaves_nothing():
    program = compile_c("off", SCOPE)
    before = set(os.listdir("."))
    if shutil.which("strace"):
        done = run("strace", "-f", "-o", "trace", program)
        check("madvise" not in open("trace", encoding="utf-8").read(), "a system call of ours when off")
        os.remove("trace")
    else:
        done = run(program)
    equal(done.returncode, 3, "exit code")
    equal(set(os.listdir(".")), before, "files that were left")


def test_compiled_out():
    program = compile_c("out", SCOPE, "-DLAMELLA_DISABLE", library=None)
    equal(run(program, env={"LAMELLA_OUT": "x.lam"}).returncode, 3, "exit code")
    check(not os.path.exists("x.lam"), "a recording of a program without the library")


def symbols(*command):
    return {line.split()[-1].split("@")[0] for line in run(*command).stdout.splitlines() if len(line.split()) >= 3}


def test_symbols():
    shared = symbols("nm", "-D", "--defined-only", SHARED) - {"LAMELLA_0.1"}
    archive = symbols("nm", "-g", "--defined-only", ARCHIVE)
    equal(shared, archive, "the two libraries' symbols")
    check(len(shared) > 30 and all(name.startswith("lam_") for name in shared), f"foreign names: {shared}")
    with open(os.path.join(INCLUDE, "lamella", "lamella.h"), encoding="utf-8") as file:
        header = file.read()
    for name in shared:
        check(name in header, f"{name} is not in the header")


def test_shared_and_versions():
    program = compile_c("shared", SCOPE, f"-Wl,-rpath,{os.path.abspath(BUILD)}", library=SHARED)
    equal(run(program, env={"LAMELLA_OUT": "s.lamella"}).returncode, 3, "exit code")
    equal(labels("s.lamella").get("f"), 10, "events")
    done = run("objdump", "-p", program)
    check("LAMELLA_0.1" in done.stdout and "liblamella.so.0" in done.stdout, "version node and soname")


def test_before_and_after_main():
    program = compile_c("around", """
#include <lamella/lamella.h>
__attribute__((constructor)) static void early(void) { LAM_SCOPE("before main"); }
__attribute__((destructor)) static void late(void) { LAM_SCOPE("after main"); }
int main(void) { return 0; }
""")
    run(program, env={"LAMELLA_OUT": "around.lam"})
    found = labels("around.lam")
    check("before main" in found and "after main" in found, str(found))


CALLS_AT_EXIT = """
#include <lamella/lamella.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    struct lam_label tick = lam_label_intern(LAM_DEFAULT, "tick", 4), open = lam_label_intern(LAM_DEFAULT, "open", 4);
    if (argc > 1)
        lam_call_enter(LAM_DEFAULT, open);
    for (int i = 0; i < 100000; i++) {
        lam_call_enter(LAM_DEFAULT, tick);
        lam_call_exit(LAM_DEFAULT, tick);
    }
    exit(argv != NULL ? 0 : 1);
}
"""


def test_folds_at_exit():
    program = compile_c("calls_at_exit", CALLS_AT_EXIT)
    for arguments, opened in (((), None), (("open",), 1)):
        recording = f"folds{len(arguments)}.lam"
        run(program, *arguments, env={"LAMELLA_OUT": recording, "LAMELLA_OPTIONS": "calls=threshold:100ms"})
        found = labels(recording)
        equal((found.get("tick"), found.get("open")), (100000, opened), f"calls of a thread that leaves main: {found}")


PLUGIN = """
#include <lamella/lamella.h>
void work(void);
void work(void) { LAM_SCOPE("in the plug-in"); }
"""

PLUGIN_HOST = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static const char *plugin_path;
static void *thread(void *failed)
{
    void *plugin = dlopen(plugin_path, RTLD_NOW);
    if (!plugin)
        return failed;
    ((void (*)(void))dlsym(plugin, "work"))();
    dlclose(plugin);
    return NULL; /* ends after the plug-in has gone */
}
int main(int argc, char **argv)
{
    plugin_path = argc > 1 ? argv[1] : "";
    for (int i = 0; i < 20; i += 4) {
        pthread_t threads[4];
        void *failed[4];
        for (int k = 0; k < 4; k++)
            pthread_create(&threads[k], NULL, thread, "failed");
        for (int k = 0; k < 4; k++)
            pthread_join(threads[k], &failed[k]);
        for (int k = 0; k < 4; k++)
            if (failed[k])
                return 1;
    }
    return 0;
}
"""


def test_unloaded_plugin():
    host = compile_c("host", PLUGIN_HOST, "-ldl", standard="-std=gnu17", library=None)
    for name, library in (("shared", SHARED), ("archive", ARCHIVE)):
        compile_c(f"{name}.so", PLUGIN, "-shared", "-fPIC", f"-Wl,-rpath,{os.path.abspath(BUILD)}", library=library)
        equal(run(host, f"./{name}.so", env={"LAMELLA_OUT": f"{name}.lam"}).returncode, 0, f"exit code, {name}")
        equal(labels(f"{name}.lam").get("in the plug-in"), 20, f"events, {name}")


def test_static_program():
    program = compile_c("static", SCOPE, "-static", "-Wl,--fatal-warnings")
    equal(run(program, env={"LAMELLA_OUT": "static.lam"}).returncode, 3, "exit code")
    equal(labels("static.lam").get("f"), 10, "events")


REFUSED = """
#include <lamella/lamella.h>
#include <stdio.h>
int main(void)
{
    LAM_SCOPE("main");
    puts(lam_open_error());
    return 0;
}
"""


def test_refused_options():
    """The library prints nothing; the recording, the doctor and the program itself can tell."""
    program = compile_c("refused", REFUSED)
    for options, words in (("max_bytes=64q", "`64q` should be a number"), ("mode=flight", "mode=flight needs max_bytes")):
        for out in ("r.lam", "r.lamella"):
            done = run(program, env={"LAMELLA_OUT": out, "LAMELLA_OPTIONS": options})
            check(words in done.stdout and not done.stderr, f"{options}: {done.stdout}")
            told = run(LAMELLA, "report", out)
            check("1 process was to record events" in told.stdout, f"{options}: {told.stdout}")
            check(words in " ".join(told.stdout.split()), f"{options}: {told.stdout}")
            check("did not live to the end" not in told.stdout, told.stdout)
            run("rm", "-r", out)
    done = run(LAMELLA, "doctor", env={"LAMELLA_OPTIONS": "max_bytes=64q"})
    check("`64q` should be a number" in done.stdout, done.stdout)
    done = run(program, env={"LAMELLA_OUT": "/nowhere/r.lam"})
    check("/nowhere/r.lam: " in done.stdout, done.stdout)


MANY = """
#include <lamella/lamella.h>
#include <stdio.h>
int main(void)
{
    struct lam_kind kind = lam_kind_intern(LAM_DEFAULT, "A");
    struct lam_label label = lam_label_intern(LAM_DEFAULT, "x", 1);
    for (int i = 0; i < 700000; i++)
        lam_end(LAM_DEFAULT, lam_begin(LAM_DEFAULT, kind, label));
    struct lam_stats stats = {.size = sizeof stats};
    lam_recorder_stats(LAM_DEFAULT, &stats);
    printf("%llu\\n", (unsigned long long)stats.lost_events);
    return 0;
}
"""


def test_full_disk():
    if os.geteuid() != 0:
        raise Skip("needs root to mount a small disk")
    os.mkdir("small")
    if run("mount", "-t", "tmpfs", "-o", "size=1m", "none", "small").returncode != 0:
        raise Skip("mounting is not allowed here")
    try:
        program = compile_c("many", MANY)
        done = run(program, env={"LAMELLA_OUT": "small/r.lam"})
        equal(done.returncode, 0, f"exit code: {done.stderr}")
        lost = int(done.stdout)
        check(lost > 500000, f"{lost} lost")
        found = labels("small/r.lam").get("x", 0)
        equal(found + lost, 700000, f"{found} kept and {lost} lost")
    finally:
        run("umount", "small")


def test_exec_and_spawn():
    program = compile_c("again", """
#include <lamella/lamella.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    LAM_SCOPE("image");
    int left = argc > 1 ? atoi(argv[1]) : 3;
    char number[2] = {(char)('0' + left - 1), 0};
    if (left)
        execl(argv[0], argv[0], number, (char *)0);
    return 0;
}
""")
    equal(run(program, "3", env={"LAMELLA_OUT": "images.lamella"}).returncode, 0, "exit code")
    equal(len(glob.glob("images.lamella/*.lam")), 4, "streams")
    equal(labels("images.lamella").get("image"), 4, "images")
    equal(run(program, "2", env={"LAMELLA_OUT": "one.lam"}).returncode, 0, "exit code")
    equal(len(glob.glob("one*.lam")), 3, "files")


def test_under_record():
    program = compile_c("scope", SCOPE)
    done = run(LAMELLA, "record", "-o", "both.lamella", "--", program)
    equal((done.stdout, done.returncode), ("9\n", 3), f"the program: {done.stderr}")
    equal(len(glob.glob("both.lamella/*.lam")), 2, "streams of agent and library")
    equal(labels("both.lamella").get("f"), 10, "events, packed")


def test_installed():
    done = run("cmake", "--install", BUILD, "--prefix", os.path.abspath("usr"))
    equal(done.returncode, 0, done.stderr)
    if not shutil.which("pkg-config"):
        raise Skip("pkg-config is not installed")
    where = os.path.dirname(glob.glob("usr/lib/**/lamella.pc", recursive=True)[0])
    flags = run("pkg-config", "--cflags", "--libs", "lamella", env={"PKG_CONFIG_PATH": os.path.abspath(where)})
    equal(flags.returncode, 0, flags.stderr)
    library = os.path.dirname(os.path.abspath(where))
    with open("scope.c", "w", encoding="utf-8") as file:
        file.write(SCOPE)
    done = run("cc", "-std=c17", "scope.c", "-o", "scope", *flags.stdout.split(), f"-Wl,-rpath,{library}")
    equal(done.returncode, 0, done.stderr)
    equal(run("./scope", env={"LAMELLA_OUT": "i.lam"}).returncode, 3, "exit code")
    equal(labels("i.lam").get("f"), 10, "events")


def test_example():
    toy = os.path.join(BUILD, "examples", "toy_compiler")
    shapes = os.path.join(SRC, "examples", "shapes.toy")
    if not os.path.exists(toy):
        raise Skip("the example is not built")
    plain = run(toy, shapes)
    equal(plain.returncode, 0, plain.stderr)
    check("main: # cost" in plain.stdout and "call cube 1" in plain.stdout, plain.stdout)
    recorded = run(toy, shapes, env={"LAMELLA_OUT": "toy.lamella"})
    equal((recorded.stdout, recorded.returncode), (plain.stdout, 0), "recorded")
    found = labels("toy.lamella")
    for label in ("compile", "parse", "resolve", "check", "emit", "print"):
        equal(found.get(label), 1, label)
    equal((found.get("cost_of"), found.get("emit function")), (7, 14), str(found))
    few = run(toy, shapes, env={"LAMELLA_OUT": "few.lamella", "LAMELLA_OPTIONS": "kinds=Query+-keys"})
    equal((few.stdout, few.returncode), (plain.stdout, 0), "filtered")
    equal(set(labels("few.lamella")), {"cost_of"}, "filtered labels")


main(globals())
