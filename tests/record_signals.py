"""lamella record and signals: they reach the command, and the recording is complete."""

import os
import pty
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *

# Says when it is ready, counts what it gets, and ends when told to.
COUNTER = """
import os, signal, sys, time
seen = []
def got(sig, frame):
    seen.append(sig)
    open('seen', 'w').write(' '.join(str(int(s)) for s in seen))
for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(sig, got)
open('ready', 'w').close()
end = time.monotonic() + 30
while not os.path.exists('stop') and time.monotonic() < end:
    time.sleep(0.01)
sys.exit(23)
"""


def counted():
    try:
        return [int(word) for word in open("seen").read().split()]
    except (OSError, ValueError):
        return []


def start_counter(**kwargs):
    process = start(sys.executable, "-c", COUNTER, options=["-q"], start_new_session=True, **kwargs)
    wait_for(lambda: os.path.exists("ready"), "the command")
    return process


def stop_counter(process):
    open("stop", "w").close()
    equal(process.wait(timeout=20), 23, "the command's exit code")
    return complete()


def test_interrupt_to_the_group_once():
    process = start("sleep", "60", options=["-q"], start_new_session=True)
    wait_for(lambda: os.path.exists("r.lamella/session.json"), "the recording")
    wait_for(lambda: session().get("launcher_pid"), "session.json")
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    equal(process.wait(timeout=20), 130, "exit code")
    equal(complete()["signal"], 2, "signal")


def test_interrupt_twice_with_a_command_that_goes_on():
    process = start_counter()
    for n in (1, 2):
        os.killpg(process.pid, signal.SIGINT)
        wait_for(lambda: len(counted()) == n, f"interrupt {n}")
    os.killpg(process.pid, signal.SIGQUIT)
    wait_for(lambda: len(counted()) == 3, "quit")
    check(process.poll() is None, "the launcher waits")
    stop_counter(process)
    equal(counted(), [2, 2, 3], "signals, each once")


def test_terminate_to_the_launcher_is_passed_on():
    process = start_counter()
    process.terminate()
    wait_for(lambda: counted() == [15], "SIGTERM")
    process.send_signal(signal.SIGHUP)
    wait_for(lambda: counted() == [15, 1], "SIGHUP")
    stop_counter(process)
    process = None


def test_interrupt_to_the_launcher_alone_is_not():
    process = start_counter()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGQUIT)
    time.sleep(0.3)
    equal(counted(), [], "signals")
    stop_counter(process)


def test_terminated_command():
    process = start("sleep", "60", options=["-q"])
    wait_for(lambda: os.path.exists("r.lamella/session.json"), "the recording")
    time.sleep(0.3)
    process.terminate()
    equal(process.wait(timeout=20), 143, "exit code")
    complete()


def test_children_that_die_with_it_are_no_daemons():
    process = start("sh", "-c", "sleep 60 & sleep 60 & touch ready; wait", options=["-q"], start_new_session=True)
    wait_for(lambda: os.path.exists("ready"), "the command")
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=20)
    info = complete()
    # A shell without job control lets its background children ignore SIGINT: those may live, and are told.
    for seen in info["seen"]:
        if seen.get("running"):
            os.kill(seen["pid"], signal.SIGKILL)
    process = start("sh", "-c", "rm ready; sleep 60 & sleep 60 & touch ready; wait", out="s", options=["-q"], start_new_session=True)
    wait_for(lambda: os.path.exists("ready"), "the command")
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=20)
    equal([s for s in complete("s")["seen"] if s.get("running")], [], "daemons")


def on_terminal(command, keys, until):
    """Runs a command with a terminal of its own, types keys when until() holds, returns (status, all that it showed)."""
    pid, fd = pty.fork()
    if pid == 0:
        try:
            os.execv(command[0], command)
        finally:
            os._exit(99)
    shown = b""
    os.set_blocking(fd, False)
    typed = not keys
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            piece = os.read(fd, 65536)
            if not piece:
                break
            shown += piece
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            break
        if not typed and until(shown):
            os.write(fd, keys)
            typed = True
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), shown


def test_ctrl_c_on_a_terminal():
    code, shown = on_terminal([LAMELLA, "record", "-o", "r.lamella", "--", "sleep", "60"], b"\x03", lambda text: b"resident" in text)
    equal(code, 130, shown)
    complete()
    check(b"lamella report r.lamella" in shown, shown)


def test_status_line():
    code, shown = on_terminal([LAMELLA, "record", "-o", "r.lamella", "--", "sleep", "0.8"], b"", None)
    equal(code, 0, shown)
    check(b"\rlamella: " in shown and b"resident" in shown, shown)
    check(b"\r\x1b[K" in shown.split(b"resident")[-1], "the line is cleared at the end")
    code, shown = on_terminal([LAMELLA, "record", "-q", "-o", "q", "--", "sleep", "0.5"], b"", None)
    equal((code, shown), (0, b""), "quiet")
    done = record("sleep", "0.5", out="p")
    check(b"\r" not in done.stderr, "no status line without a terminal")


def test_stop_and_go_on():
    process = start_counter()
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGCONT)
    stop_counter(process)


def test_stderr_closed_by_its_reader():
    read_end, write_end = os.pipe()
    process = start("sh", "-c", "sleep 0.2; exit 5", stderr=write_end)
    os.close(read_end)
    os.close(write_end)
    equal(process.wait(timeout=20), 5, "exit code")
    complete()


main(globals())
