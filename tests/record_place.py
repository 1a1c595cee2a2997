"""lamella record: where the recording goes, and what happens when it cannot go there."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *


def refused(done, words):
    equal(done.returncode, 125, "exit code")
    equal(done.stdout, b"", "the command has not run")
    equal(done.stderr.count(b"\n"), 1, done.stderr)
    for word in words:
        check(word in done.stderr, (word, done.stderr))


def test_never_overwrites():
    equal(record("true").returncode, 0, "first")
    before = open("r.lamella/session.json").read()
    refused(record("echo", "ran"), [b"r.lamella: exists already", b"-o"])
    equal(open("r.lamella/session.json").read(), before, "the first recording")
    os.mkdir("empty")
    refused(record("echo", "ran", out="empty"), [b"empty: exists already"])
    equal(os.listdir("empty"), [], "the empty directory")
    open("file", "w").close()
    refused(record("echo", "ran", out="file"), [b"file: exists already"])
    os.symlink("nowhere", "link")
    refused(record("echo", "ran", out="link"), [b"link: exists already"])
    equal(scratch_left("empty"), [], "scratch")


def test_default_names_never_collide():
    running = [start("true", out=None, options=["-q"]) for _ in range(6)]
    for process in running:
        equal(process.wait(timeout=30), 0, "exit code")
    names = os.listdir(".")
    equal(len(names), 6, names)
    for name in names:
        check(re.fullmatch(r"lamella-\d{8}-\d{6}(-\d+)?\.lamella", name), name)
        complete(name)


def test_no_directory_above():
    refused(record("echo", "ran", out="no/such/r"), [b"no/such/r: there is no directory no/such"])


def test_read_only_place():
    os.mkdir("ro")
    os.chmod("ro", 0o555)
    if os.geteuid() != 0:
        refused(record("echo", "ran", out="ro/r"), [b"ro/r: cannot make", b"Permission denied"])
        return
    if not shutil.which("setpriv"):
        raise Skip("no setpriv")
    os.chmod(".", 0o755)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", LAMELLA, "record", "-o", "ro/r", "--", "echo", "ran"],
                          capture_output=True)
    refused(done, [b"ro/r: cannot make", b"Permission denied"])


def test_read_only_working_directory_is_no_matter():
    os.mkdir("cwd")
    os.chmod("cwd", 0o555)
    equal(record("pwd", out="../r", cwd="cwd").returncode, 0, "exit code")
    complete("r")


def test_directory_removed_by_the_command():
    done = record("sh", "-c", "rm -rf r.lamella; exit 4")
    equal(done.returncode, 4, "the command's exit code all the same")
    words = re.search(rb"waits in (/dev/shm/lamella-rec\.\w+); .*lamella clean --recover \1\n", done.stderr)
    check(words, done.stderr)
    done = subprocess.run([LAMELLA, "clean", "--recover", words[1]], capture_output=True)
    equal(done.returncode, 0, done.stderr)
    check(complete()["recovered"], "made anew")


def test_working_directory_removed_by_the_command():
    os.mkdir("gone")
    done = record("sh", "-c", "rmdir ../gone; exit 4", out="../r", cwd="gone")
    equal(done.returncode, 4, done.stderr)
    complete("r")


def in_small_disk(script):
    """Runs a shell script with a file system of 1 MiB mounted on ./small, which vanishes afterwards."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root to mount")
    os.mkdir("small")
    done = subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs small || exit 77\n" + script], capture_output=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 77:
        raise Skip("cannot mount")
    return done


def test_full_disk_at_the_end():
    done = in_small_disk(f"""
        {LAMELLA} record -o small/r -- sh -c 'dd if=/dev/zero of=small/fill bs=1k 2>/dev/null; head -c 300000 /dev/urandom >$LAMELLA_OUT/extra; exit 3'
        echo "code $?"
        ls small/r
        {LAMELLA} clean small/r | grep -c unfinished
        {LAMELLA} clean --recover small/r; echo "code $?"
        rm small/fill
        {LAMELLA} clean --recover small/r; echo "code $?"
        stat -c %s small/r/extra
        grep -c '"scratch"' small/r/session.json
        grep -c '"recovered":true' small/r/session.json
    """)
    lines = done.stdout.decode().split("\n")
    equal(lines[:-1], ["code 3", "session.json", "1", "code 1", "code 0", "300000", "0", "1"], (done.stdout, done.stderr))
    for words in (b"No space left", b"waits in /dev/shm/lamella-rec.", b"lamella clean --recover /dev/shm/lamella-rec."):
        check(words in done.stderr, (words, done.stderr))


def test_full_disk_at_the_start():
    done = in_small_disk(f"dd if=/dev/zero of=small/fill bs=1k 2>/dev/null; {LAMELLA} record -o small/r -- echo ran; echo code $?; ls small")
    equal(done.stdout, b"code 125\nfill\n", done.stderr)
    check(b"No space left" in done.stderr, done.stderr)


def test_file_size_limit():
    done = subprocess.run(["bash", "-c", f"ulimit -f 1; exec {LAMELLA} record -o r -- sh -c 'exit 3'"], capture_output=True)
    check(done.returncode in (3, 125), (done.returncode, done.stderr))
    check(done.stderr.startswith(b"lamella: "), done.stderr)
    if done.returncode == 125:
        equal(os.listdir("."), [], "nothing is left behind")


def test_without_memory_backed_storage():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root to mount")
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"""mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 77
        exec {LAMELLA} record -q -o r -- sh -c 'echo $LAMELLA_OUT; exit 3'"""], capture_output=True, env=dict(os.environ, XDG_RUNTIME_DIR="relative"))
    if done.returncode == 77:
        raise Skip("cannot mount")
    equal(done.returncode, 3, done.stderr)
    equal(done.stdout.decode().strip(), os.path.abspath("r/.scratch"), "the scratch place")
    complete("r")


def test_a_working_directory_that_is_gone():
    os.mkdir("gone")
    done = subprocess.run(["sh", "-c", f"cd gone && rmdir ../gone && exec '{LAMELLA}' record -- true"], capture_output=True)
    check(done.returncode == 125 and b"working directory is gone" in done.stderr, done.stderr)
    place = os.path.abspath("g.lamella")
    os.mkdir("gone")
    done = subprocess.run(["sh", "-c", f"cd gone && rmdir ../gone && exec '{LAMELLA}' record -q -o '{place}' -- false"], capture_output=True)
    equal((done.returncode, done.stderr), (1, b""), "elsewhere")
    complete("g.lamella")


def recorded_twice(name):
    done = record("sh", "-c", "ls / >/dev/null; ls / >/dev/null", out=name, options=["-q"])
    equal(done.returncode, 0, done.stderr)
    streams = sorted(file for file in os.listdir(name) if file.endswith(".lam"))
    equal(complete(name)["streams"], streams, "the list of streams")
    return streams


def findings(name):
    done = subprocess.run([LAMELLA, "report", "--format", "json", name], capture_output=True)
    equal(done.returncode, 0, done.stderr)
    found = json.loads(done.stdout)
    return {entry["id"]: entry["text"] for entry in found["findings"]}, found


def test_a_stream_that_was_removed_is_missed():
    streams = recorded_twice("r.lamella")
    check("damaged_streams" not in findings("r.lamella")[0], "nothing is missing")
    os.unlink(os.path.join("r.lamella", streams[1]))
    told, found = findings("r.lamella")
    check(streams[1] in told.get("damaged_streams", ""), told)
    equal(found["coverage"]["unreadable_streams"], 1, "missing streams")


def test_a_stream_that_was_copied_counts_once():
    streams = recorded_twice("r.lamella")
    before = findings("r.lamella")[1]["coverage"]
    shutil.copy(os.path.join("r.lamella", streams[0]), "r.lamella/000.lam")
    told, found = findings("r.lamella")
    equal(told.get("duplicate_streams"), "1 file is there already, under another name or given twice: it was left out.", "what is said of it")
    equal(found["coverage"], before, "the same coverage")


def test_streams_are_read_beside_a_damaged_session():
    recorded_twice("r.lamella")
    with open("r.lamella/session.json", "r+b") as file:
        file.truncate(200)
    told, found = findings("r.lamella")
    check("session.json" in told.get("session_damaged", ""), told)
    check("incomplete" not in told, told)
    check(len(found["processes"]) == 3 and found["session"]["exit_code"] is None, found["processes"])


def test_scratch_is_private():
    done = record("sh", "-c", "stat -c %a $LAMELLA_OUT; stat -c %a $LAMELLA_OUT/control; umask", options=["-q"], umask=0)
    equal(done.stdout.split(), [b"700", b"600", b"0000"], "modes, and the command's umask")


main(globals())
