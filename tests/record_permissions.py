"""lamella record as root, as an ordinary user, and where perf_event_open is denied: each gets the best that is permitted."""

import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *

# A filter that answers perf_event_open with an errno: what a container's seccomp profile does.
DENY = """
import ctypes, os, platform, struct, sys
number = {'x86_64': 298, 'aarch64': 241}[platform.machine()]
def op(code, jt, jf, k): return struct.pack('HBBI', code, jt, jf, k)
program = op(0x20, 0, 0, 0) + op(0x15, 0, 1, number) + op(0x06, 0, 0, 0x50000 | int(sys.argv[1])) + op(0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(program)
class Prog(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Prog(4, ctypes.addressof(buffer)))) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""

# A busy loop that a sample hits.
BUSY = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"


def ordinary_user():
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    os.chmod(".", 0o777)
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def recorded(before, *options):
    done = subprocess.run([*before, LAMELLA, "record", *options, "-o", "r.lamella", "--", "sh", "-c", BUSY], capture_output=True,
                          env=dict(os.environ, HOME="/nonexistent"))
    equal(done.returncode, 0, done.stderr)
    return complete(), done.stderr


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid") as file:
        return int(file.read())


def test_the_best_is_used():
    info, text = recorded([])
    note = info.get("engine_note")
    check((note is None) == (info["engine"] == "sigtrap" and info["kernel_mode"]), info)
    check(re.search(rb"samples cover [\d.]+%", text), text)


def test_ordinary_user():
    info, text = recorded(ordinary_user())
    level = paranoid()
    if level <= 1:
        equal((info["engine"], info["kernel_mode"]), ("sigtrap", True), "engine")
    elif level == 2:
        equal((info["engine"], info["kernel_mode"]), ("sigtrap", False), "engine")
        check("perf_event_paranoid is 2" in info["engine_note"], info["engine_note"])
        check(b"without kernel mode" in text and b"lamella doctor" in text, text)
    else:
        equal(info["engine"], "cpu_timer", "engine")
    check(re.search(rb"samples cover [\d.]+%", text), text)


def denied(errnum):
    return [sys.executable, "-S", "-c", DENY, str(errnum)]


def test_a_recording_of_which_nothing_may_be_read():
    before = ordinary_user()
    recorded([])
    for name in os.listdir("r.lamella"):
        if name.endswith(".lam"):
            os.chmod(os.path.join("r.lamella", name), 0o600 if before else 0)
    os.chmod("r.lamella", 0o755)
    for command in (["export", "--to", "folded"], ["report"]):
        done = subprocess.run([*before, LAMELLA, *command, "r.lamella"], capture_output=True)
        equal(done.returncode, 1, f"exit code of {command}: {done.stderr}")
        equal(done.stdout, b"", "stdout")
        check(b"none of its " in done.stderr and b"Permission denied" in done.stderr, f"{command}: {done.stderr}")


def test_denied_by_seccomp():
    for errnum, words in ((1, "seccomp"), (38, "no perf events, or a seccomp filter")):
        info, text = recorded(denied(errnum))
        equal(info["engine"], "cpu_timer", "engine")
        check(words in info["engine_note"], info["engine_note"])
        check(b"sampled with cpu_timer" in text, text)
        check(re.search(rb"samples cover [\d.]+%", text), text)
        shutil.rmtree("r.lamella")


def test_denied_and_ordinary():
    before = ordinary_user()
    info, _ = recorded(before + denied(1) if before else denied(1))
    equal(info["engine"], "cpu_timer", "engine")


def test_what_was_asked_for_is_not_there():
    done = subprocess.run([*denied(1), LAMELLA, "record", "--engine", "sigtrap", "-o", "r", "--", "echo", "ran"], capture_output=True)
    equal((done.returncode, done.stdout), (125, b""), done.stderr)
    check(b"--engine sigtrap: not permitted" in done.stderr, done.stderr)
    equal(os.listdir("."), [], "nothing is left behind")


def test_a_rate_that_the_timer_cannot_reach():
    _, text = recorded([], "--engine", "cpu-timer", "--rate", "4999")
    check(re.search(rb"--rate 4999: the CPU timer is served every \d+\.\d ms only", text), text)


def test_every_engine_that_works_samples():
    import json
    trials = json.loads(subprocess.run([LAMELLA, "doctor", "--format", "json"], capture_output=True).stdout)["engines"]
    equal(len(trials), 5, "trials")
    for trial in trials:
        if not trial["works"]:
            continue
        options = ["--engine", trial["engine"].replace("_", "-")] + ([] if trial["kernel_mode"] else ["--no-kernel"])
        info, text = recorded([], *options)
        equal(info["engine"], trial["engine"], "engine")
        samples = re.search(rb"([\d,]+) samples cover ([\d.]+)%", text)
        check(samples and float(samples[2]) > 50, text)
        shutil.rmtree("r.lamella")


def test_doctor():
    done = subprocess.run([LAMELLA, "doctor"], capture_output=True)
    equal(done.returncode, 0, done.stdout)
    for words in (b"sigtrap", b"cpu_timer", b"trial recording", b"scratch place"):
        check(words in done.stdout, (words, done.stdout))
    done = subprocess.run([*denied(1), LAMELLA, "doctor"], capture_output=True)
    equal(done.returncode, 0, done.stdout)
    check(b"seccomp" in done.stdout and b"To sample more" in done.stdout, done.stdout)
    before = ordinary_user()
    if before and paranoid() > 1:
        done = subprocess.run([*before, LAMELLA, "doctor"], capture_output=True)
        check(b"sudo sysctl kernel.perf_event_paranoid=1" in done.stdout, done.stdout)


def test_doctor_without_agent():
    done = subprocess.run([LAMELLA, "doctor"], capture_output=True, env=dict(os.environ, LAMELLA_AGENT_SO="/nonexistent/agent.so"))
    equal(done.returncode, 1, done.stdout)
    check(b"/nonexistent/agent.so" in done.stdout, done.stdout)
    done = record("echo", "ran", env=dict(os.environ, LAMELLA_AGENT_SO="/nonexistent/agent.so"))
    equal((done.returncode, done.stdout), (125, b""), done.stderr)


def test_full_memory_is_relieved():
    """A stream whose process has ended is brought over while the command still runs, when the scratch place fills."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root to mount")
    # 600 MB free: up to an eighth of that may be held. 4096 bytes of header: docs/format.md.
    header = b"\x89LAM\r\n\x1a\n" + struct.pack("=IHHHBBI", 0x01020304, 1, 0, 62, 1, 2, 0)
    header = header.ljust(56, b"\0") + struct.pack("=II", 999999, 1)
    with open("stream", "wb") as file:
        file.write(header.ljust(4096, b"\0"))
        file.write(os.urandom(100 << 20))
    script = "cp stream $LAMELLA_OUT/1-999999.lam; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; [ -e r/1-999999.lam ] && ! [ -e $LAMELLA_OUT/1-999999.lam ] && break; done; ls r $LAMELLA_OUT"
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=620m tmpfs /dev/shm || exit 77; exec {LAMELLA} record -q -o r -- sh -c '{script}'"],
                          capture_output=True)
    if done.returncode == 77:
        raise Skip("cannot mount")
    equal(done.returncode, 0, done.stderr)
    scratch, home = done.stdout.decode().split("\n\n")
    check("1-999999.lam" in home and "1-999999.lam" not in scratch, done.stdout)


main(globals())
