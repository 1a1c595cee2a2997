"""lamella record: processes that outlive the command, orphans, nested recordings, and a launcher that is killed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *


def kill_daemons(info):
    names = []
    for seen in info["seen"]:
        if seen.get("running"):
            names.append(seen["comm"][-1])
            os.kill(seen["pid"], signal.SIGKILL)
    return names


def test_returns_when_the_command_does():
    with open("Makefile", "w") as file:
        file.write("all:\n\tsetsid sh -c 'sleep 300' >/dev/null 2>&1 & echo x\n")
    begun = time.monotonic()
    done = record("make", "-s", "-j2", timeout=60)
    check(time.monotonic() - begun < 60, "it returned")
    equal((done.returncode, done.stdout), (0, b"x\n"), done.stderr)
    names = kill_daemons(complete())
    check("sleep" in names, names)
    check(b"still run" in done.stderr, done.stderr)


def test_no_pipe_is_held_open():
    # The daemon keeps nothing open itself; so the reader must see the end of file as soon as the command is gone.
    script = f"'{LAMELLA}' record -q -o r.lamella -- sh -c 'setsid sleep 300 </dev/null >/dev/null 2>&1 & echo x' | cat; echo end"
    done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60)
    equal(done.stdout, b"x\nend\n", "what the reader saw")
    kill_daemons(complete())
    # ... and no descriptor of ours is in the command or its children.
    done = record("sh", "-c", "ls /proc/self/fd; ls -l /proc/$$/fd | grep -v '/dev/null\\|pipe\\|total\\|/proc/'; true", out="s", options=["-q", "--engine", "none"])
    plain = subprocess.run(["sh", "-c", "ls /proc/self/fd"], capture_output=True, stdin=subprocess.DEVNULL)
    low = [line for line in done.stdout.split(b"\n") if line.isdigit() and int(line) < 100]
    equal(low, plain.stdout.split(), "descriptors of the command's children")


def test_orphans_are_reaped_and_counted():
    # The middle shell ends at once; its child burns CPU and is waited for by nobody but us.
    with open("burn", "w") as file:
        file.write("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; touch burnt; exit 9")
    done = record("sh", "-c", "sh -c 'sh ./burn & exit 0'; while ! [ -e burnt ]; do sleep 0.05; done; sleep 0.3", options=["-q"])
    equal(done.returncode, 0, done.stderr)
    info = complete()
    codes = [entry["status"] >> 8 for entry in info["reaped"]]
    check(9 in codes, f"the orphan's status is known: {info['reaped']}")
    cpu = sum(entry["usage"]["user_ns"] + entry["usage"]["sys_ns"] for entry in info["reaped"])
    check(info["charged_cpu_ns"] >= 0.9 * cpu, "the orphan's CPU is in the charge")


def test_what_ends_just_behind_the_command_is_no_daemon():
    done = record("sh", "-c", "sleep 0.1 & exit 3")
    equal(done.returncode, 3, done.stderr)
    check(b"still run" not in done.stderr, done.stderr)
    info = complete()
    equal([entry for entry in info["seen"] if entry.get("running")], [], "daemons")
    equal(len(info["reaped"]), 2, "both were waited for")


def test_poll_sees_the_tree():
    done = record("sh", "-c", "cp /bin/sleep './a b) 12 [003]'; './a b) 12 [003]' 1 & sleep 1; wait", options=["-q"])
    equal(done.returncode, 0, done.stderr)
    info = complete()
    names = {name for seen in info["seen"] for name in seen["comm"]}
    check({"sleep", "a b) 12 [003]"} <= names, names)
    columns = info["timeline"]["columns"]
    rows = info["timeline"]["rows"]
    check(len(rows) >= 2, f"{len(rows)} rows in a second")
    check(all(len(row) == len(columns) for row in rows), "every row is whole")
    t = [row[columns.index("t_ns")] for row in rows]
    equal(t, sorted(t), "rows in order of time")
    check(max(row[columns.index("processes")] for row in rows) >= 3, "processes alive")
    check(max(row[columns.index("rss_bytes")] for row in rows) > 100000, "memory")
    anon = [row[columns.index("anon_bytes")] for row in rows]
    peak = info["memory_peak"]
    equal(peak["anon_bytes"], max(anon), "the peak is that of the rows")
    held = [entry for entry in peak["holders"] if info["seen"][entry[0]]["memory"]]
    check(peak["holders"] and len(held) == len(peak["holders"]), "who held it is in seen, with readings")
    equal(sum(entry[2] for entry in peak["holders"]), peak["anon_bytes"], "the holders are all of the peak")
    check(all(row[columns.index("mem_available_bytes")] > 0 for row in rows), "memory of the machine")
    check(info["poll"]["passes"] >= len(rows) and info["poll"]["cpu_ns"] > 0, "what the poll cost is told")


WAITERS = """#include <pthread.h>
#include <unistd.h>
#include <semaphore.h>
static int pipes[2]; static sem_t never;
static void *reads(void *x) { char c; (void)!read(pipes[0], &c, 1); return x; }
static void *sleeps(void *x) { sem_wait(&never); return x; }
int main(void) { pthread_t a, b; (void)!pipe(pipes); sem_init(&never, 0, 0);
  pthread_create(&a, 0, reads, 0); pthread_create(&b, 0, sleeps, 0); usleep(400000); return 0; }
"""


def test_waits_that_never_return():
    program = compile_c("waiters", WAITERS, "-pthread")
    done = record(program, options=["-q"])
    equal(done.returncode, 0, done.stderr)
    told = json.loads(subprocess.run([LAMELLA, "report", "--format", "json", "r.lamella"], capture_output=True).stdout)
    helpers = [thread for thread in told["threads"] if not thread["main"]]
    equal(len(helpers), 2, "threads beside the main one")
    equal(sorted(wait["kind"] for thread in helpers for wait in thread["waits"]), ["io", "lock"], "what they waited for until the end")
    for thread in helpers:
        parts = thread["run_s"] + thread["core_wait_s"] + thread["residual_s"] + sum(wait["seconds"] for wait in thread["waits"])
        check(abs(parts - thread["lifetime_s"]) < 1e-6, f"the ledger closes: {thread}")
        check(0 <= thread["residual_s"] < 0.05 and thread["lifetime_s"] > 0.35, f"nothing is left over: {thread}")


def test_pid_namespace():
    # Inside, every process has another number than the launcher and its parents outside know: it is one process all the same.
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    if os.geteuid() or subprocess.run([*inside, "true"], capture_output=True).returncode:
        raise Skip("no pid namespaces here")
    done = record(*inside, "sh", "-c", "sh -c 'sleep 0.3; exit 4' & sleep 0.4; wait; exit 5", options=["-q"])
    equal(done.returncode, 5, done.stderr)
    inner = {entry["inner_pid"] for entry in complete()["seen"] if "inner_pid" in entry}
    check(1 in inner, f"the poll knows the inner numbers: {inner}")
    found = json.loads(subprocess.run([LAMELLA, "report", "--format", "json", "r.lamella"], capture_output=True).stdout)
    told = [(os.path.basename(entry["exe"]), entry["sampled"]) for entry in found["processes"]]
    check(all(sampled for _, sampled in told), told)
    equal(sorted(name for name, _ in told if name != "dash"), ["sleep", "sleep", "unshare"], "each process once")


def test_nested():
    if os.environ.get("LAMELLA_SANITIZE"):
        raise Skip("a sanitized lamella is left alone by the agent")
    done = record("sh", "-c", f"'{LAMELLA}' record -o inner.lamella -- sh -c 'echo deep; exit 6'; echo code $?")
    equal(done.returncode, 0, done.stderr)
    equal(done.stdout, b"deep\ncode 6\n", "the inner command")
    check(b"inside the recording" in done.stderr, done.stderr)
    check(not os.path.exists("inner.lamella"), "no recording of its own")
    complete()
    # Not when the outer one has ended: a shell that was left with its variables.
    env = dict(os.environ, LAMELLA_OUT="/dev/shm/lamella-rec.gone00", LD_PRELOAD="")
    equal(record("true", out="s", env=env).returncode, 0, "a stale LAMELLA_OUT")
    complete("s")


def killed_launcher(out, command):
    process = start(*command, out=out, options=["-q"])
    wait_for(lambda: os.path.exists("ready"), "the command")
    time.sleep(0.3)
    process.kill()
    process.wait()
    return process


def recover(path):
    """Until the command's last process has ended it is not to be recovered."""
    wait_for(lambda: subprocess.run([LAMELLA, "clean", "--recover", path], capture_output=True).returncode == 0, f"recovery of {path}")


def test_killed_launcher_leaves_the_command_alone():
    killed_launcher("r.lamella", ["sh", "-c", "head -c 5000 /dev/zero >$LAMELLA_OUT/extra; touch ready; sleep 1; echo done >result"])
    info = session()
    check(not info["complete"] and info["scratch"], "the recording says where it lies")
    wait_for(lambda: os.path.exists("result"), "the command went on")
    scratch = info["scratch"]
    listed = subprocess.run([LAMELLA, "clean", "."], capture_output=True)
    check(b"unfinished" in listed.stdout and b"r.lamella" in listed.stdout, listed)
    recover("r.lamella")
    info = session()
    check(info["recovered"] and not info["complete"] and "scratch" not in info, "recovered")
    equal(os.path.getsize("r.lamella/extra"), 5000, "what lay in the scratch place")
    check(not os.path.exists(scratch), "the scratch place is gone")
    again = subprocess.run([LAMELLA, "clean", "--recover", "r.lamella"], capture_output=True)
    equal(again.returncode, 0, again.stderr)


def test_killed_launcher_moved_recording():
    killed_launcher("r.lamella", ["sh", "-c", "touch ready; sleep 0.6"])
    os.rename("r.lamella", "moved")
    busy = subprocess.run([LAMELLA, "clean", "--recover", "moved"], capture_output=True)
    check(busy.returncode == 0 or b"still run" in busy.stderr, busy.stderr)
    recover("moved")
    check(session("moved")["recovered"], "recovered where it is now")


def test_scratch_that_is_gone():
    killed_launcher("r.lamella", ["sh", "-c", "touch ready; sleep 0.4"])
    shutil.rmtree(session()["scratch"])
    done = subprocess.run([LAMELLA, "clean", "--recover", "r.lamella"], capture_output=True)
    equal(done.returncode, 1, done.stderr)
    check(b"are gone" in done.stderr, done.stderr)


def test_killed_launcher_is_recovered_by_report():
    killed_launcher("r.lamella", ["sh", "-c", "touch ready; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done >result"])
    wait_for(lambda: os.path.exists("result"), "the command went on")
    wait_for(lambda: b"had died" in subprocess.run([LAMELLA, "report", "r.lamella"], capture_output=True).stderr, "report finishes it")
    done = subprocess.run([LAMELLA, "report", "--format", "json", "r.lamella"], capture_output=True)
    equal((done.returncode, done.stderr), (0, b""), "the second time there is nothing to do")
    check(session()["recovered"], "recovered")


def test_recovery_by_force():
    killed_launcher("r.lamella", ["sh", "-c", "touch ready; exec sleep 300"])
    done = subprocess.run([LAMELLA, "clean", "--recover", "r.lamella"], capture_output=True)
    if os.environ.get("LAMELLA_AGENT_SO") or b"still run" in done.stderr:
        equal(done.returncode, 1, done.stderr)
        check(b"lamella clean --recover --force r.lamella" in done.stderr, done.stderr)
    done = subprocess.run([LAMELLA, "clean", "--recover", "--force", "r.lamella"], capture_output=True)
    equal(done.returncode, 0, done.stderr)
    info = session()
    check(info["recovered"], "recovered")
    for pid in [info["command_pid"]] if "command_pid" in info else []:
        os.kill(pid, signal.SIGKILL)


def test_recording_in_progress_is_left_alone():
    process = start("sh", "-c", "touch ready; sleep 1; exit 8", options=["-q"])
    wait_for(lambda: os.path.exists("ready"), "the command")
    for option in ("--recover", "--remove"):
        done = subprocess.run([LAMELLA, "clean", option, "r.lamella"], capture_output=True)
        equal(done.returncode, 1, (option, done.stderr))
        check(b"being recorded" in done.stderr, done.stderr)
    equal(process.wait(timeout=20), 8, "exit code")
    complete()


def test_orphaned_scratch_is_found():
    killed_launcher("r.lamella", ["sh", "-c", "touch ready; sleep 0.4"])
    scratch = session()["scratch"]
    time.sleep(0.5)
    shutil.rmtree("r.lamella")
    listed = subprocess.run([LAMELLA, "clean"], capture_output=True)
    check(scratch.encode() in listed.stdout, listed)
    done = subprocess.run([LAMELLA, "clean", "--remove", scratch], capture_output=True)
    equal(done.returncode, 0, done.stderr)
    check(not os.path.exists(scratch), "removed")


def test_clean_removes_only_recordings():
    equal(record("true").returncode, 0, "a recording")
    os.makedirs("precious/session.json")
    open("precious/file", "w").close()
    os.mkdir("other")
    with open("other/session.json", "w") as file:
        file.write("{\"format\": \"something else\"}")
    for path in ("precious", "other", "."):
        done = subprocess.run([LAMELLA, "clean", "--remove", path], capture_output=True)
        check(os.path.exists("precious/file") and os.path.exists("other/session.json"), (path, done.stdout, done.stderr))
    check(not os.path.exists("r.lamella"), "the recording below . is removed")


def test_ten_thousand_short_processes():
    done = record("sh", "-c", "i=0; while [ $i -lt 2000 ]; do (exit 0) & i=$((i+1)); [ $((i%50)) = 0 ] && wait; done; wait; exit 3", options=["-q", "--engine", "none"], timeout=120)
    equal(done.returncode, 3, done.stderr)
    complete()


main(globals())
