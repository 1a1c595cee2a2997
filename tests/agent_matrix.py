# ctest: helper
"""Every program of tests/programs, plain and recorded: the same output, the same exit code or signal, nothing on standard error."""

import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_lib import *

RATES = ("999", "4999", "auto")


def cases(name, *arguments):
    return [(name, argument) for argument in arguments]


# A word that begins with @ is a file beside the programs.
COMMANDS = [
    *cases("altstack_small", "own", "filled", "tiny", "many"),
    ("altstack_small", "tiny", "10240"),
    ("big_spawner", "64"),
    ("burn", "60", "3"),
    ("burn_fixed", "30"),
    ("burn_musl", "30"),
    ("burn_static", "30"),
    ("burn_static_pie", "30"),
    ("burn_stripped", "30"),
    *cases("close_all", "close_range", "closefrom", "loop", "dup2", "cloexec", "all"),
    ("ctx_names",),
    ("detached_thread",),
    ("eintr_check", "5"),
    *cases("env_clear", "clearenv", "unsetenv", "custom", "empty", "none", "spawned", "through_sh", "putenv"),
    ("exec_chain",),
    *cases("exits", "return", "exit", "_exit", "quick_exit", "syscall", "thread", "thread_syscall", "pthread_exit",
           "main_exit_syscall", "abort", "kill", "term", "hang_up", "exec_fails"),
    ("first_instruction", "60"),
    ("fork_big", "200", "2"),
    *[("fork_storm", "40", way) for way in ("in-row", "at-once", "exec", "exec-at-once")],
    ("fork_variants",),
    ("fsize_limit",),
    ("hostile_mix", "300"),
    ("last_call", "60"),
    *[("load_library", "@spin_library" + kind + ".so", "30", "unload") for kind in ("", "_bare", "_base", "_lld", "_text")],
    ("load_library", "@spin_library.so", "30"),
    ("long_waits",),
    ("longjmp_out", "200"),
    ("preload_seen",),
    *cases("raw_clone_thread", "shared", "own"),
    ("recursion_deep", "5000", "30"),
    ("recursion_deep", "100000", "30"),
    *cases("seccomp_deny", "perf", "errno", "kill", "strict"),
    *cases("segfault", "handled", "repaired", "bus", "overflow", "default", "default_bus", "divide", "illegal"),
    ("setuid_noop",),
    *cases("signal_thief", "all", "die_trap", "die_ill", "die_int3", "die_prof"),
    ("spawn_actions",),
    ("stack_switch",),
    ("state_kept", "60"),
    ("syscall_half", "10"),
    ("thread_storm", "200"),
    ("thread_storm", "100", "at-once"),
    ("three_shares", "50"),
    ("timers", "100"),
    ("tracer",),
    ("vfork_actions",),
]

# What such a program says depends on how much of a core it gets.
UNSTEADY = {"timers", "hostile_mix", "eintr_check"}
PLAIN = {}  # what each of the others did when it was not recorded: the ways to record it are compared with one run


def run_all(engine, options=(), before=(), only=lambda index: True):
    """Every command once under this engine, the rates and the kernel's exclusion in turns."""
    failures = []
    for index, words in enumerate(COMMANDS):
        path = os.path.join(PROGRAMS, words[0])
        # A process that is under a filter cannot enter the strict mode.
        if not only(index) or not os.path.exists(path) or ("perf" in before and words == ("seccomp_deny", "strict")):
            continue
        command = [path, *[os.path.join(PROGRAMS, word[1:]) if word.startswith("@") else word for word in words[1:]]]
        settings = ["--rate", RATES[index % 3], *options, *(["--no-kernel"] if index % 2 else [])]
        if engine:
            settings += ["--engine", engine]
        for attempt in range(3 if words[0] in UNSTEADY else 1):
            shutil.rmtree("r.lamella", ignore_errors=True)
            try:
                if words[0] not in UNSTEADY and words not in PLAIN:
                    PLAIN[words] = plain(*command)
                same(command, options=settings, before=before, first=PLAIN.get(words))
                why = None
                break
            except (AssertionError, subprocess.TimeoutExpired) as error:
                why = str(error)
                # One that does not get through on this machine as it is, says nothing of what recording does to it.
                if words[0] in UNSTEADY and plain(*command).returncode:
                    why = None
                    break
        if why:
            failures.append(why)
    check(not failures, "\n".join(failures))
