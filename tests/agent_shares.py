# ctest: TIMEOUT 900 RUN_SERIAL ON
"""Programs whose shares are known: the samples, weighed, must say the same; weights add up to what the kernel charged."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_lib import *


def recorded(options, *command):
    shutil.rmtree("r.lamella", ignore_errors=True)
    done = record(*command, options=["-q", *options], timeout=120)
    equal(done.returncode, 0, done.stderr)
    return of_type(view(), "sample")


def near(value, wanted, within, what):
    check(abs(value - wanted) <= within, f"{what}: {value:.4f}, wanted {wanted} within {within}")


SETTINGS = [(engine, *rate, *kernel) for engine in ENGINES for rate in (("--rate", "999"), ("--rate", "4999"), ())
            for kernel in ((), ("--no-kernel",)) if not (engine == "cpu-timer" and kernel)]


def test_three_shares():
    for engine, *options in SETTINGS:
        what = " ".join([engine, *options])
        samples = recorded(["--engine", engine, *options], program("three_shares"), "1000")
        by_name = shares(samples)
        # At a period of 4 ms (the kernel's tick), or of up to 8 (the default's steps), a second has some 200 samples, which weigh
        # differently: a standard deviation is 3 to 4 hundredths.
        within = 0.05 if "--rate" in options and engine != "cpu-timer" else 0.15
        near(by_name.get("spin_six", 0), 0.6, within, what + " spin_six")
        near(by_name.get("spin_three", 0), 0.3, within, what + " spin_three")
        near(by_name.get("spin_one", 0), 0.1, within, what + " spin_one")
        found = report()
        adds_up(found)
        part = found["coverage"]
        check(part["sampled_cpu_s"] + part["late_cpu_s"] >= 0.96 * part["process_cpu_s"], f"{what}: {part}")
        equal(found["session"]["engine"], engine.replace("-", "_"), "engine")


def test_half_in_system_calls():
    for engine in ENGINES:
        for kernel in ((), ("--no-kernel",)):
            # At a tick of 4 ms 500 rounds have some 750 samples: 0.5 within 0.018 (one standard deviation).
            rounds = "500" if engine == "cpu-timer" else "80"
            by_name = shares(recorded(["--engine", engine, "--rate", "4999", *kernel], program("syscall_half"), rounds))
            both = by_name["in_read"] + by_name["own_work"]
            check(both >= 0.3, f"{engine} {kernel}: {by_name}") # the rest fills the memory that is read
            share = by_name["in_read"] / both
            if engine == "cpu-timer":
                # Where threads queue for a core, a call of a tick's length is caught too often (docs/rates.md has how much): how
                # busy the machine is says how far from a half it may be. Never too seldom: that would be time lost.
                check(0.4 <= share <= 0.95, f"{engine}: {share}")
            elif kernel:
                check(share >= 0.45, f"{engine} without kernel mode: {share}")
            else:
                near(share, 0.5, 0.03, f"{engine}: half")


def test_late_weight_is_told():
    recorded(["--engine", "sigtrap", "--rate", "4999", "--no-kernel"], program("fork_big"), "400", "4")
    check(report()["coverage"]["late_cpu_s"] is not None, "late weight")


def test_a_call_that_does_not_return():
    for engine in ENGINES:
        samples = recorded(["--engine", engine, "--rate", "999"], program("last_call"), "300")
        deep = [names(sample) for sample in samples if "spin_forever" in names(sample)]
        check(len(deep) > len(samples) * 0.8, f"{engine}: {len(deep)} of {len(samples)}")
        for stack in deep:
            check("neighbour" not in stack, stack)
            check("last_call" in stack and stack.index("last_call") > stack.index("spin_forever"), stack)
            equal(stack[stack.index("last_call") + 1], "main", "the caller")
        lines = {frame.get("line") for sample in samples for frame in sample["frames"] if frame.get("name") == "last_call"}
        equal(len(lines), 1, "one line calls")


def test_a_fault_in_the_first_instruction():
    for engine in ENGINES:
        samples = recorded(["--engine", engine, "--rate", "999"], program("first_instruction"), "300")
        stacks = [names(sample) for sample in samples if "calls_k" in names(sample)]
        check(len(stacks) > len(samples) * 0.8, f"{engine}: {len(stacks)} of {len(samples)}: {samples[-1:]}")
        for stack in stacks:
            at = stack.index("k")
            equal(stack[at + 1:at + 3], ["calls_k", "main"], "callers of k")


def test_libraries():
    for kind in ("", "_base", "_lld", "_text"):
        library = program("spin_library" + kind + ".so")
        by_name = shares(recorded(["--rate", "999"], program("load_library"), library, "300"))
        check(by_name.get("inner", 0) > 0.2, f"{library}: {by_name}")
        check(by_name.get("outer", 0) > 0.8 and by_name.get("main", 0) > 0.95, f"{library}: {by_name}")
    # Without symbols a neighbour's name must not be shown; what is exported has one.
    samples = recorded(["--rate", "999"], program("load_library"), program("spin_library_bare.so"), "300")
    check("inner" not in shares(samples), "a name from nowhere")
    check(any(frame["module"].endswith("spin_library_bare.so") and "offset" in frame
              for sample in samples for frame in sample["frames"] if frame.get("module")), "module and offset")


def test_deep_recursion():
    samples = recorded(["--rate", "999"], program("recursion_deep"), "100000", "200")
    deepest = [sample for sample in samples if len(sample["frames"]) > 1000 and "closing" not in sample["flags"]]
    check(len(deepest) > len(samples) / 2, f"{len(deepest)} of {len(samples)} samples are deep")
    found = report()
    adds_up(found)
    check(found["coverage"]["truncated_stacks"] >= len(deepest), found["coverage"])


def test_stacks_of_other_stacks():
    by_name = shares(recorded(["--rate", "4999"], program("stack_switch")))
    for name in ("on_first_stack", "on_second_stack", "on_bare_stack"):
        check(by_name.get(name, 0) > 0.05, f"{name}: {by_name}")


def test_waits_by_kind():
    done = record(program("long_waits"), options=["-q"])
    equal(done.returncode, 0, done.stderr)
    waits = of_type(view(), "wait")
    kinds = {wait["kind"] for wait in waits}
    check({"lock", "child", "io", "sleep"} <= kinds, f"kinds: {kinds}")


def test_a_fork_of_a_large_process():
    # The CPU time inside each fork is many periods long and comes as few signals: the weights must hold it.
    for engine in ENGINES:
        recorded(["--engine", engine, "--rate", "999"], program("fork_big"), "1500", "5")
        found = report()
        adds_up(found)
        # The children's end, which frees what they share, lies behind the agent's.
        part = found["coverage"]
        check(part["sampled_cpu_s"] + part["tail_cpu_s"] >= 0.95 * part["process_cpu_s"], f"{engine}: {part}")


def test_a_hundred_days_of_uptime():
    # The stream's clock is the time stamp counter; where it is CLOCK_MONOTONIC a time namespace can fake the uptime.
    days = str(100 * 24 * 3600)
    before = ["unshare", "--time", "--fork", "--monotonic", days, "--boottime", days]
    if os.geteuid() or subprocess.run([*before, "true"], capture_output=True).returncode:
        raise Skip("no time namespaces here")
    done = subprocess.run([*before, LAMELLA, "record", "-q", "-o", "r.lamella", "--", program("three_shares"), "300"], capture_output=True)
    equal((done.returncode, done.stderr), (0, b""), "record")
    found = report()
    adds_up(found)
    check(found["coverage"]["ratio"] >= 0.95 and 0.2 < found["session"]["elapsed_s"] < 60, found["session"])
    for entry in found["processes"]:
        check(0 <= entry["start_s"] <= entry["end_s"] <= found["session"]["elapsed_s"] + 0.1, entry)


main(globals())
