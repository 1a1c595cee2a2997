# ctest: TIMEOUT 900
"""Where the recording cannot be written as it should: full disks, limits, truncation, files that are gone or cannot be read."""

import os
import signal
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_lib import *


def private_mounts(script, *arguments, **kwargs):
    """Runs a shell script in a mount namespace of its own; skips where there is none."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise Skip("no mount namespaces here")
    return subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *arguments], capture_output=True,
                          timeout=120, stdin=subprocess.DEVNULL, **kwargs)


def test_full_disk():
    # /dev/shm has no room for a scratch place, so the streams grow in the recording itself, until its disk is full.
    script = """mkdir small && mount -t tmpfs -o size=320k tmpfs small && mount -t tmpfs -o size=64k tmpfs /dev/shm || exit 77
        "$1" record -o small/r.lamella --rate 9999 -- "$2" 600 4
        echo "code $?"
        mount -o remount,size=16m small
        [ -d small/r.lamella/.scratch ] && "$1" clean --recover small/r.lamella >&2
        cp -r small/r.lamella r.lamella"""
    done = private_mounts(script, LAMELLA, program("burn"), cwd=os.getcwd())
    if done.returncode == 77:
        raise Skip("no tmpfs here")
    equal(done.stdout, b"code 0\n", (done.stdout, done.stderr))
    check(b"lost" in done.stderr or b"No space left" in done.stderr, done.stderr)
    found = report()
    coverage = found["coverage"]
    check(sum(entry["lost"] or 0 for entry in found["processes"]) > 0, f"what was lost is counted: {coverage}")
    check(coverage["samples"] > 0, f"what was written before is read: {coverage}")


def test_file_size_limit():
    # 128 KiB: about 8,000 samples; the program must meet neither SIGXFSZ nor SIGBUS.
    same(["sh", "-c", "ulimit -f 128; exec \"$0\" 800 3", program("burn")], options=["--rate", "9999"])
    found = report()
    burn = process(found, "burn")
    equal(len(burn), 1, "processes")
    check(burn[0]["samples"] > 0 and burn[0]["lost"] > 0, burn)
    equal((burn[0]["exit_code"], burn[0]["signal"]), (0, None), "exit")


def test_a_size_for_each_stream():
    done = record(program("burn"), "500", "2", options=["-q", "--rate", "9999", "--max-size", "64K"])
    equal(done.returncode, 0, done.stderr)
    burn = process(report(), "burn")[0]
    check(burn["samples"] > 0 and burn["lost"] > 0, burn)


def test_read_only_directory():
    os.mkdir("closed")
    os.chmod("closed", 0o555)
    before = ordinary_user()
    done = subprocess.run([*before, LAMELLA, "record", "-o", "closed/r.lamella", "--", "true"], capture_output=True)
    equal(done.returncode, 125, done.stderr)
    check(b"closed/r.lamella" in done.stderr and b"Permission denied" in done.stderr, done.stderr)


def test_directory_that_exists():
    os.mkdir("r.lamella")
    done = record("touch", "ran")
    equal(done.returncode, 125, done.stderr)
    check(b"r.lamella" in done.stderr and not os.path.exists("ran"), done.stderr)


TRUNCATES = """"$@" & sleep 0.5
for i in 1 2 3; do for f in "$LAMELLA_OUT"/*.lam; do : >"$f"; done; sleep 0.1; done
wait $!; code=$?; echo "code $code"; exit $code"""


def truncated(*command, options=()):
    shutil.rmtree("r.lamella", ignore_errors=True)
    first = plain("sh", "-c", 'exec "$@"', "sh", *command)
    done = record("sh", "-c", TRUNCATES, "sh", *command, options=["-q", "--rate", "4999", *options])
    what = " ".join(map(str, command))
    equal(done.returncode, shell_code(first.returncode), f"{what}: {done.stderr.decode(errors='replace')}")
    check(done.stdout.startswith(first.stdout) or first.stdout in done.stdout, f"{what}: {done.stdout}, wanted {first.stdout}")
    return report()


def test_somebody_truncates_the_streams():
    for engine in ENGINES:
        found = truncated(program("burn"), "1000", "3", options=["--engine", engine])
        burn = process(found, "burn")[0]
        check(burn["lost"] > 0, burn)
        check(burn["samples"] > 20, f"what came after it is there: {burn}")
        check(found["coverage"]["damaged_streams"] >= 1, found["coverage"])
        stacks = shares(of_type(view("r.lamella", "-p", "burn"), "sample"))
        check(stacks.get("burn", 0) > 0.5, f"and has names: {stacks}")


def test_the_program_keeps_its_own_bus_error():
    truncated(program("segfault"), "bus")
    truncated("sh", "-c", '"$0" 600; exec "$1" default_bus', program("burn"), program("segfault"))


def test_threads_while_the_stream_is_truncated():
    truncated(program("thread_storm"), "400")
    truncated(program("fork_storm"), "200")


def test_unreadable_binary():
    shutil.copy(program("burn"), "secret")
    os.chmod("secret", 0o111)
    before = ordinary_user()
    done = subprocess.run([*before, LAMELLA, "record", "-q", "-o", "r.lamella", "--", "sh", "-c", "./secret 50; ./secret 50; exit 3"], capture_output=True)
    equal((done.returncode, done.stdout), (3, b""), done.stderr)
    secret = process(report(), "secret")
    if before or os.geteuid():
        equal(len(secret), 2, f"both are named: {secret}")
        check(all(not entry["sampled"] and "read" in entry["why_not"] for entry in secret), secret)
    else:
        check(secret[0]["sampled"], secret)


def test_deleted_binary():
    shutil.copy(program("three_shares"), "gone")
    done = record("sh", "-c", "./gone 600 & sleep 0.3; rm gone; wait; echo ok", options=["-q"])
    equal((done.returncode, done.stdout), (0, b"ok\n"), done.stderr)
    found = report()
    gone = [entry for entry in found["processes"] if entry["exe"] and "gone" in entry["exe"]]
    check(len(gone) == 1 and gone[0]["sampled"] and gone[0]["samples"] > 50, gone)


def test_binary_replaced_while_it_runs():
    shutil.copy(program("three_shares"), "mine")
    done = record("sh", "-c", "./mine 500 & sleep 0.2; cp \"$0\" other && mv other mine; wait; ./mine 100; echo ok", program("burn"), options=["-q"])
    equal((done.returncode, done.stdout), (0, b"ok\n"), done.stderr)
    # The names of one file must not be given to addresses of the other.
    for sample in of_type(view("r.lamella", "-p", "mine"), "sample"):
        if len(sample["frames"]) and sample["process"] == 2:
            check("spin_six" not in names(sample) or "burn" not in names(sample), names(sample))


def test_paths_with_spaces_and_bytes():
    for name in (b"a b", b"tab\there", b"quote'\"", b"umlaut-\xc3\xa4", b"bytes-\xff\xfe", b"new\nline", b"esc-\x1b[31m"):
        directory = os.path.join(os.fsencode(os.getcwd()), name)
        os.mkdir(directory)
        shutil.copy(os.fsencode(program("burn")), os.path.join(directory, b"burn"))
        out = os.path.join(directory, b"r.lamella")
        done = subprocess.run([os.fsencode(LAMELLA), b"record", b"-q", b"-o", out, b"--", os.path.join(directory, b"burn"), b"60"],
                              capture_output=True, cwd=directory)
        equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), name)
        done = subprocess.run([os.fsencode(LAMELLA), b"report", b"--format", b"json", out], capture_output=True)
        equal(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout.decode("utf-8"))
        check(any(entry["sampled"] and entry["samples"] > 0 for entry in found["processes"]), (name, found["processes"]))
        text = subprocess.run([os.fsencode(LAMELLA), b"report", out], capture_output=True)
        check(b"\x1b[31m" not in text.stdout, "no raw escape")


def test_a_library_path_with_spaces():
    # LD_PRELOAD is split at blanks and colons: an agent in such a place must still be found.
    for name in ("with blank", "with:colon"):
        shutil.rmtree("r.lamella", ignore_errors=True)
        os.mkdir(name)
        agent = os.environ.get("LAMELLA_AGENT_SO", os.path.join(BUILD, "liblamella-agent.so"))
        shutil.copy(agent, os.path.join(name, "liblamella-agent.so"))
        env = dict(os.environ, LAMELLA_AGENT_SO=os.path.join(os.getcwd(), name, "liblamella-agent.so"))
        done = record(program("burn"), "60", options=["-q"], env=env)
        equal((done.returncode, done.stderr), (0, b""), name)
        check(process(report(), "burn")[0]["samples"] > 0, name)


def test_recorder_killed_in_the_middle():
    process_ = start("sh", "-c", '"$0" 1500; echo "code $?" >result', program("burn"), options=["-q"])
    wait_for(lambda: any(name.startswith("lamella-rec.") for name in os.listdir("/dev/shm")) or os.path.exists("r.lamella/.scratch"), "the recording")
    time.sleep(0.6)
    process_.kill()
    process_.wait()
    wait_for(lambda: os.path.exists("result") and os.path.getsize("result"), "the command goes on", seconds=60)
    equal(open("result").read(), "code 0\n", "its exit code")
    done = subprocess.run([LAMELLA, "clean", "--recover", "r.lamella"], capture_output=True)
    equal(done.returncode, 0, done.stderr)
    burn = process(report(), "burn")
    check(burn and burn[0]["samples"] > 20, burn)


main(globals())
