# ctest: TIMEOUT 3600
"""Processes of every kind: each is in the recording, sampled or with the reason why not, and none is changed."""

import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_lib import *


def why(found, exe):
    entries = process(found, exe)
    check(entries, f"{exe} is in the recording: {[entry['exe'] for entry in found['processes']]}")
    return [entry["why_not"] for entry in entries]


def test_programs_that_cannot_be_sampled():
    shell = []
    wanted = {}
    for name, reason in (("burn_static", "static"), ("burn_static_pie", "static"), ("burn_musl", "glibc")):
        if os.path.exists(os.path.join(PROGRAMS, name)):
            shell.append(f"'{program(name)}' 20; echo {name} $?")
            wanted[name] = reason
    same(["sh", "-c", "; ".join(shell)])
    found = report()
    for name, reason in wanted.items():
        check(all(reason in text for text in why(found, name)), f"{name}: {why(found, name)}")
        check(all(not entry["sampled"] and entry["cpu_s"] > 0.01 for entry in process(found, name)), f"{name} and what it used")
    adds_up(found)


def test_setuid_copy():
    before = ordinary_user()
    if not before:
        raise Skip("needs root to make a setuid copy and an ordinary user to run it")
    shutil.copy(program("setuid_noop"), "suid_copy")
    os.chmod("suid_copy", 0o4755)
    shutil.copy(program("burn"), "burn")
    command = ["sh", "-c", "./burn 20; ./suid_copy; ./burn 20; echo $?"]
    first = subprocess.run([*before, *command], capture_output=True)
    done = subprocess.run([*before, LAMELLA, "record", "-q", "-o", "r.lamella", "--", *command], capture_output=True)
    equal((done.returncode, done.stdout, done.stderr), (first.returncode, first.stdout, first.stderr), "the same")
    found = report()
    check(all("set-user-id" in text for text in why(found, "suid_copy")), why(found, "suid_copy"))
    check(all(entry["sampled"] and entry["samples"] for entry in process(found, "burn")), "the others are sampled")


def test_address_sanitizer():
    for compiler in ("gcc", "clang"):
        shutil.rmtree("r.lamella", ignore_errors=True)
        asan = optional("asan_empty.c", compiler, "-g", "-fsanitize=address", "SOURCE", "-o", "OUTPUT")
        same(["sh", "-c", f"'{asan}'; echo $?; exec '{program('burn')}' 30"])
        found = report()
        # Its leak check looks at it from a child that it clones by itself.
        check("sanitizer" in why(found, "asan_empty")[0], why(found, "asan_empty"))
        check(process(found, "burn")[0]["samples"] > 0, "the next program is sampled again")


def test_thread_sanitizer():
    tsan = optional("tsan_threads.c", "gcc", "-g", "-fsanitize=thread", "SOURCE", "-o", "OUTPUT")
    same([tsan])


def test_exceptions():
    throw = optional("throw_loop.cc", "g++", "-O2", "-g", "SOURCE", "-o", "OUTPUT")
    first = plain(throw)
    for engine in ENGINES:
        shutil.rmtree("r.lamella", ignore_errors=True)
        same([throw], options=["--engine", engine, "--rate", "4999"], first=first)
        check(process(report(), "throw_loop")[0]["samples"] > 20, "samples")


def test_go_with_c():
    go = shutil.which("go") or "/usr/local/go/bin/go"
    cgo = optional("cgo_burn.go", go, "build", "-o", "OUTPUT", "SOURCE")
    same(["sh", "-c", f"'{cgo}'; echo $?"], options=["--rate", "4999"])
    found = report()
    check(all("Go" in text for text in why(found, "cgo_burn")), why(found, "cgo_burn"))
    check(process(found, "cgo_burn")[0]["cpu_s"] > 0.01, "what it used is known")


def test_go_alone():
    go = shutil.which("go") or "/usr/local/go/bin/go"
    alone = optional("go_burn.go", "env", "CGO_ENABLED=0", go, "build", "-o", "OUTPUT", "SOURCE")
    same([alone])
    check(all("static" in text for text in why(report(), "go_burn")), "why")


def test_32_bit():
    try:
        small = optional("dyn32.c", "gcc", "-m32", "-O2", "-g", "SOURCE", "-o", "OUTPUT")
    except Skip:
        small = optional("dyn32_bare.S", "gcc", "-m32", "-nostdlib", "-static", "SOURCE", "-o", "OUTPUT")
    if plain(small).returncode < 0:
        raise Skip("this kernel runs no 32-bit programs")
    same(["sh", "-c", f"'{small}'; echo $?"])
    name = os.path.basename(small)
    check(all("word size" in text for text in why(report(), name)), "why")


def test_under_gdb():
    if not shutil.which("gdb"):
        raise Skip("gdb is not installed")
    command = ["gdb", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "break main", "-ex", "run", "-ex", "bt 1",
               "-ex", "continue", "--args", program("burn"), "50", "2"]
    first = plain(*command)
    done = record(*command, options=["-q", "--rate", "4999"], timeout=120)
    equal(done.returncode, first.returncode, done.stderr)

    def told(text):
        # The thread names and addresses differ from run to run.
        return [line for line in text.split(b"\n") if not line.startswith((b"Breakpoint 1, main", b"#0 ", b"[New Thread", b"[Thread", b"[Inferior", b"[Using", b"Using host"))]
    equal(told(done.stdout), told(first.stdout), "what gdb shows")
    check(b"SIGTRAP" not in done.stdout, done.stdout)
    check(all(text and "debugger" in text for text in why(report(), "burn")), why(report(), "burn"))


def preloading(library):
    """The environment of a user who preloads a library. A sanitizer's build of lamella would refuse to start behind it."""
    options = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0")))
    return dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS=options)


def test_a_preload_of_the_users():
    preload = program("user_preload.so")
    env = preloading(preload)
    first = plain(program("preload_seen"), env=env)
    done = record(program("preload_seen"), options=["-q"], env=env)
    equal((done.returncode, done.stdout), (first.returncode, first.stdout), "chained")
    check(b"user_preload: here" in done.stderr, done.stderr)
    check(process(report(), "preload_seen")[0]["samples"] > 0, "samples")
    # ... and for a program that is left alone it is still there, without ours.
    shutil.rmtree("r.lamella")
    done = record("sh", "-c", f"'{program('burn_static')}' 10; '{program('preload_seen')}'", options=["-q"], env=env)
    equal((done.returncode, done.stdout), (first.returncode, first.stdout), "chained behind a static program")


def test_a_clock_that_steps_back():
    for seen in ("clock_back.so", "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"):
        shutil.rmtree("r.lamella", ignore_errors=True)
        preload = seen if seen.startswith("/") else program(seen)
        if not os.path.exists(preload):
            continue
        env = dict(preloading(preload), FAKETIME="-40d")
        done = record(program("burn"), "300", "2", options=["-q"], env=env)
        equal(done.returncode, 0, done.stderr)
        found = report()
        adds_up(found)
        elapsed = found["session"]["elapsed_s"]
        for entry in found["processes"]:
            check(0 <= entry["start_s"] <= entry["end_s"] <= elapsed + 1, entry)
        for sample in of_type(view(), "sample"):
            check(0 <= sample["at_ns"] <= (elapsed + 1) * 1e9, sample)


def test_three_programs_of_one_pid():
    done = record("sh", "-c", f"exec sh -c \"exec '{program('burn')}' 60\"", options=["-q", "--rate", "999"])
    equal(done.returncode, 0, done.stderr)
    found = report()
    pids = {entry["pid"] for entry in found["processes"]}
    equal((len(found["processes"]), len(pids)), (3, 1), found["processes"])
    equal(sorted(os.path.basename(entry["exe"]) for entry in found["processes"])[0], "burn", "the last program")
    stacks = shares(of_type(view("r.lamella", "-p", "burn"), "sample"))
    check(stacks.get("burn", 0) > 0.5, f"its own names: {stacks}")


def test_all_ways_to_exec_are_one_pid():
    done = record(program("exec_chain"), options=["-q", "--rate", "999"])
    equal(done.returncode, 0, done.stderr)
    found = report()
    equal(len({entry["pid"] for entry in found["processes"]}), 1, "one pid")
    check(len(found["processes"]) >= 9 and all(entry["sampled"] for entry in found["processes"]), found["processes"])
    check(all(entry["samples"] > 0 for entry in found["processes"]), [entry["samples"] for entry in found["processes"]])


def test_children_that_never_exec():
    done = record(program("fork_variants"), options=["-q", "--rate", "999"])
    equal(done.returncode, 0, done.stderr)
    found = report()
    forked = [entry for entry in found["processes"] if entry["forked"]]
    check(len(forked) >= 2 and all(os.path.basename(entry["exe"]) == "fork_variants" for entry in forked), found["processes"])
    samples = [sample for sample in of_type(view(), "sample") if sample["pid"] in {entry["pid"] for entry in forked}]
    named = sum("main" in names(sample) or "fork_in_thread" in names(sample) for sample in samples)
    check(samples and named >= 0.9 * len(samples), f"{named} of {len(samples)} frames named by the parent's maps")


def test_names_that_split_lines():
    done = record(program("ctx_names"), options=["-q", "--rate", "999"])
    equal(done.returncode, 0, done.stderr)
    events = view()
    check(any("a b) 12 [003]" in json.dumps(event) for event in events), "a thread's name of its time")
    check(any(event.get("name") == "line\nfeed" for event in events), "a line feed in one")
    adds_up(report())


def test_ways_to_end():
    for case, code, number in (("return", 3, None), ("exit", 4, None), ("_exit", 5, None), ("quick_exit", 6, None), ("syscall", 7, None),
                               ("thread", 8, None), ("thread_syscall", 9, None), ("pthread_exit", 0, None), ("abort", None, signal.SIGABRT),
                               ("kill", None, signal.SIGKILL), ("term", None, signal.SIGTERM), ("hang_up", None, signal.SIGHUP)):
        shutil.rmtree("r.lamella", ignore_errors=True)
        done = record("sh", "-c", f"'{program('exits')}' {case}; exit 0", options=["-q", "--rate", "999"])
        equal(done.returncode, 0, done.stderr)
        found = report()
        entry = process(found, "exits")[0]
        equal((entry["exit_code"], entry["signal"]), (code, number), f"{case}: {entry}")
        check(entry["samples"] > 0 and entry["sampled_cpu_s"] > 0.02, f"{case}: {entry}")
        adds_up(found)


def test_a_large_parent_of_small_children():
    done = record(program("big_spawner"), "600", options=["-q"], timeout=120)
    equal(done.returncode, 0, done.stderr)
    small = process(report(), "true")
    check(len(small) >= 6, [entry["exe"] for entry in report()["processes"]])
    for entry in small:
        check(entry["sampled"] and 0 < entry["max_rss_bytes"] < 100e6, f"their own peak, not the parent's: {entry}")


def count_children(found, name):
    return sum(1 for entry in found["processes"] if entry["exe"] and os.path.basename(entry["exe"]) == name)


def test_ten_thousand_processes():
    # A sanitized launcher goes no other ways behind two thousand.
    count = 2000 if os.environ.get("LAMELLA_SANITIZE") else 10000
    done = record(program("fork_storm"), str(count), options=["-q"], timeout=2400)
    equal(done.returncode, plain(program("fork_storm"), "100").returncode, done.stderr)
    found = report()
    equal(count_children(found, "fork_storm"), count + 1, "processes in the recording")
    equal(found["coverage"]["lost_samples"], 0, "lost")
    codes = [entry["exit_code"] for entry in found["processes"] if entry["forked"]]
    equal(sorted(codes), sorted(n % 7 for n in range(count)), "exit codes")


def test_five_hundred_at_once():
    done = record(program("fork_storm"), "500", "at-once", options=["-q"], timeout=300)
    equal(done.returncode, 0, done.stderr)
    equal(count_children(report(), "fork_storm"), 501, "processes in the recording")
    shutil.rmtree("r.lamella")
    done = record(program("fork_storm"), "500", "exec-at-once", options=["-q"], timeout=300)
    equal(done.returncode, 0, done.stderr)
    equal(count_children(report(), "true"), 500, "programs in the recording")


def test_what_libc_starts_itself():
    # system(), popen() and wordexp() start /bin/sh inside libc, past the wrappers: the shell has the program's environment.
    caller = compile_c("caller", """
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <wordexp.h>
        int main(int argc, char **argv)
        {
            (void)argc;
            if (strcmp(argv[1], "cleared") == 0)
                clearenv();
            int code = system(argv[2]);
            FILE *pipe = popen(argv[2], "r");
            char line[64];
            while (fgets(line, sizeof line, pipe))
                fputs(line, stdout);
            pclose(pipe);
            wordexp_t words;
            if (wordexp("$(echo a b)", &words, 0) == 0)
                printf("%zu\\n", words.we_wordc);
            return code >> 8;
        }""")
    done = same([caller, "kept", f"'{program('burn')}' 60; exit 9"])
    equal(done.returncode, 9, "exit code")
    equal(len(process(report(), "burn", sampled=True)), 2, "both shells' programs are sampled")
    adds_up(report())
    # A static program is named, with its reason, by the shell that started it.
    same([caller, "kept", f"'{program('burn_static')}' 60"], out="s.lamella")
    equal([entry["why_not"] for entry in process(report("s.lamella"), "burn_static")], ["statically linked"] * 2, "why")
    # Without its environment nothing of ours is in the shell: what it used is counted, and not in the program that called it.
    same([caller, "cleared", f"'{program('burn')}' 100"], out="t.lamella")
    found = report("t.lamella")
    check(not process(found, "burn", sampled=True), "nothing of ours is in there")
    part = found["coverage"] # what the poll met is unsampled, what it missed in no known process
    check(part["unsampled_cpu_s"] + part["unaccounted_cpu_s"] >= 0.9 * part["process_cpu_s"], part)
    own = process(found, "caller")[0]["cpu_s"]
    check(own < 0.1, f"the caller used {own} s itself")


def test_two_thousand_threads():
    for how in ("in-turn", "at-once"):
        shutil.rmtree("r.lamella", ignore_errors=True)
        done = record(program("thread_storm"), "2000", how, options=["-q", "--rate", "4999"], timeout=300)
        if how == "at-once" and plain(program("thread_storm"), "2000", how).returncode:
            continue
        equal(done.returncode, 0, done.stderr)
        found = report()
        adds_up(found, within=0.03)
        threads = of_type(view(), "thread")
        check(len(threads) >= 2001, f"{how}: {len(threads)} threads")


def test_jemalloc_with_profiling():
    library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not os.path.exists(library):
        raise Skip("jemalloc is not installed")
    # Set behind lamella, which under a sanitizer does not live with another allocator.
    command = ["env", f"LD_PRELOAD={library}", "MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:10", program("hostile_mix"), "2000"]
    first = plain(*command)
    for engine in ENGINES:
        shutil.rmtree("r.lamella", ignore_errors=True)
        done = record(*command, options=["-q", "--engine", engine, "--rate", "4000"], timeout=120)
        equal(done.returncode, first.returncode, f"{engine}: {done.stderr}")
        check(process(report(), "hostile_mix")[0]["samples"] > 50, "samples")


def test_no_futex_and_no_allocation_in_the_handler():
    # What the agent calls is in its own code; agent_shape says that it has neither malloc nor locks. Here: it runs.
    done = record(program("hostile_mix"), "1500", options=["-q", "--rate", "4000"], timeout=60)
    equal(done.returncode, plain(program("hostile_mix"), "1500").returncode, done.stderr)
    samples = of_type(view(), "sample")
    busy = {}
    for sample in samples:
        busy[sample["tid"]] = busy.get(sample["tid"], 0) + 1
    check(len(busy) >= 5, f"every busy thread has samples: {busy}")


main(globals())
