"""lamella record: the command's exit code, its streams and its surroundings are as without us."""

import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record_lib import *


def test_exit_codes():
    for i, (command, code) in enumerate([(["true"], 0), (["false"], 1), (["sh", "-c", "exit 42"], 42), (["sh", "-c", "exit 255"], 255)]):
        done = record(*command, out=f"r{i}")
        equal(done.returncode, code, f"exit code of {command}")
        equal(complete(f"r{i}")["exit_code"], code, "exit code in session.json")


def test_signal_that_kills():
    for sig in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT):
        out = f"r{sig}"
        done = record("sh", "-c", f"kill -{int(sig)} $$", out=out)
        equal(done.returncode, 128 + sig, f"exit code for signal {sig}")
        info = complete(out)
        equal(info["signal"], int(sig), "signal in session.json")


def test_not_found():
    done = record("no-such-command-here")
    equal(done.returncode, 127, "exit code")
    check(b"no-such-command-here: command not found" in done.stderr, done.stderr)
    equal(done.stderr.count(b"\n"), 1, "lines of the message")
    equal(os.listdir("."), [], "nothing is left behind")
    equal(record("./nor/this").returncode, 127, "exit code for a path")


def test_cannot_execute():
    with open("data", "w") as file:
        file.write("no program")
    os.chmod("data", 0o644)
    done = record("./data")
    equal(done.returncode, 126, "exit code of a file that may not be executed")
    equal(os.listdir("."), ["data"], "nothing is left behind")
    equal(record("/").returncode, 126, "exit code of a directory")


def test_script_without_first_line():
    with open("script", "w") as file:
        file.write("exit 9\n")
    os.chmod("script", 0o755)
    equal(record("./script").returncode, 9, "the shell takes it, as execvp does")


def test_usage():
    for arguments in (["--no-such-option", "true"], ["--rate", "fast", "true"], ["--rate", "-5", "true"], ["--rate", "9999999", "true"],
                      ["--engine", "magic", "true"], []):
        done = subprocess.run([LAMELLA, "record", *arguments], capture_output=True)
        equal(done.returncode, 125, f"exit code of {arguments}")
        equal(done.stderr.count(b"\n"), 1, f"lines of the message of {arguments}")
        equal(done.stdout, b"", "stdout")
    equal(os.listdir("."), [], "nothing was made")
    done = subprocess.run([LAMELLA, "record", "--help"], capture_output=True)
    equal(done.returncode, 0, "exit code of --help")
    check(b"lamella record -- cargo build" in done.stdout, "an example in the help")


def test_streams_pass_through():
    text = bytes(range(256)) * 5000
    done = record("cat", input=text, stdin=None)
    equal(done.returncode, 0, "exit code")
    check(done.stdout == text, "stdin reaches stdout unchanged")
    done = record("sh", "-c", "printf out; printf err >&2", out="q", options=["-q"])
    equal((done.stdout, done.stderr), (b"out", b"err"), "quiet: nothing but the command's own output")


def test_closed_descriptors():
    # Our own files must not land on descriptors that the caller had closed, nor be seen by the command.
    show = "import os\nprint(sorted(int(f) for f in os.listdir('/proc/self/fd') if int(f) < 1000), file=open('fds', 'w'))"
    plain = subprocess.run(["sh", "-c", f"exec '{sys.executable}' -S -c \"{show}\" <&- 2>&-"])
    wanted = open("fds").read()
    done = subprocess.run(["sh", "-c", f"exec '{LAMELLA}' record -q -o r --engine none -- '{sys.executable}' -S -c \"{show}\" <&- 2>&-"])
    equal((done.returncode, plain.returncode), (0, 0), "exit codes")
    equal(open("fds").read(), wanted, "descriptors that the command has")
    complete("r")


def test_environment():
    env = dict(os.environ, MARK="a b=c", LD_PRELOAD="/nonexistent/theirs.so")
    env.pop("LAMELLA_OUT", None)
    done = record("sh", "-c", "env", options=["-q"], env=env)
    got = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)
    for name in ("LAMELLA_OUT", "LD_PRELOAD"):
        check(name in got, f"{name} is set")
    preload = got.pop("LD_PRELOAD").split(":")
    check(preload[0].endswith("liblamella-agent.so"), "the agent comes first")
    equal(preload[1:], ["/nonexistent/theirs.so"], "the user's own library is kept")
    got.pop("LAMELLA_OUT")
    changed = {k for k in set(got) ^ set(env) if k not in ("LD_PRELOAD", "_", "SHLVL", "PWD", "OLDPWD", "LAMELLA_OUT")}
    equal(changed, set(), "variables that came or went")
    equal(got["MARK"], "a b=c", "a variable of the user's")


def test_dispositions_and_mask():
    # Ignored and blocked signals are inherited through exec: they must arrive as they were given.
    show = "import re; t = open('/proc/self/status').read(); print(re.findall('Sig(?:Blk|Ign):.*', t))"
    script = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
os.execvp(sys.argv[1], sys.argv[1:])
"""
    plain = subprocess.run([sys.executable, "-c", script, sys.executable, "-c", show], capture_output=True)
    ours = subprocess.run([sys.executable, "-c", script, LAMELLA, "record", "-q", "-o", "r", "--engine", "none", "--", sys.executable, "-c", show],
                          capture_output=True)
    equal(ours.returncode, 0, ours.stderr)
    equal(ours.stdout, plain.stdout, "blocked and ignored signals")
    complete("r")


def test_paths_with_anything_in_them():
    for name in (b"a b:c;d$e", b"\xff\xfe \xe9", b"new\nline", b"-dash", "größe".encode()):
        os.makedirs(b"./" + name)
        program = os.path.join(b"./", name, b"tool")
        with open(program, "w") as file:
            file.write("#!/bin/sh\necho \"$0\"\n")
        os.chmod(program, 0o755)
        out = os.path.join(b"./", name, b"r.lamella")
        done = subprocess.run([LAMELLA.encode(), b"record", b"-q", b"-o", out, b"--", program], capture_output=True)
        equal(done.returncode, 0, (name, done.stderr))
        equal(done.stdout, program + b"\n", "the command's output")
        complete(os.fsdecode(out))


def test_session_json_is_always_json():
    done = record("sh", "-c", "exit 3", "\xff\udcff\x1b[31m\"\\\n", out="r")
    equal(done.returncode, 3, "exit code")
    info = complete("r")
    equal(len(info["command"]), 4, "arguments")
    check("\\xff" in info["command"][3], "invalid bytes are kept as escapes")


def test_agent_in_a_path_the_loader_would_split():
    agent = os.environ.get("LAMELLA_AGENT_SO") or os.path.join(os.path.dirname(os.path.abspath(LAMELLA)), "liblamella-agent.so")
    if not os.path.exists(agent):
        raise Skip("no agent built")
    os.makedirs("a b:c")
    odd = os.path.abspath("a b:c/liblamella-agent.so")
    import shutil
    shutil.copy(agent, odd)
    done = record("sh", "-c", "printf %s \"$LD_PRELOAD\"; grep -c liblamella-agent /proc/self/maps >&2; true", options=["-q"],
                  env=dict(os.environ, LAMELLA_AGENT_SO=odd))
    equal(done.returncode, 0, done.stderr)
    first = done.stdout.split(b":")[0]
    check(b" " not in first and first.endswith(b"/liblamella-agent.so"), first)
    check(b"preload" not in done.stderr, done.stderr)
    check(not os.path.exists(os.path.dirname(first)), "the link is removed afterwards")
    complete()


def test_programs_that_cannot_be_preloaded():
    program = compile_c("prog", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 5; }\n", "-static")
    done = record(program)
    equal((done.returncode, done.stdout), (5, b"hello\n"), "static")
    equal(complete()["command_note"], "statically linked", "why")
    check(b"was not sampled: statically linked" in done.stderr, done.stderr)
    shown = subprocess.run([LAMELLA, "report", "r.lamella"], capture_output=True).stdout
    check(b"samples 0 (nothing was sampled)" in shown, shown)
    program = compile_c("asan", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 6; }\n", "-fsanitize=address")
    done = record(program, out="s")
    equal((done.returncode, done.stdout), (6, b"hello\n"), (done.stderr, "address sanitizer"))
    check("sanitized" in complete("s")["command_note"], "why")


def test_few_descriptors():
    # A soft limit is the command's; the launcher takes what the hard one allows. Below what it needs it says so.
    command = f"ulimit -Sn 10; exec '{LAMELLA}' record -q -o r.lamella -- sh -c 'ulimit -Sn; exit 3'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    equal((done.returncode, done.stdout, done.stderr), (3, b"10\n", b""), "a small soft limit")
    complete()
    for limit in (4, 6, 12, 20):
        command = f"ulimit -n {limit}; exec '{LAMELLA}' record -o s.lamella -- true"
        done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
        check(done.returncode == 125 and b"files may be open" in done.stderr, f"{limit}: {done.returncode} {done.stderr}")
        check(not os.path.exists("s.lamella"), "nothing is left")


def test_quiet_says_nothing():
    # A static program is a notice, a daemon a warning; both stay in the recording.
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", "static"], input=b"int main(void) { return 3; }", check=True)
    done = record("./static", options=["-q"])
    equal((done.returncode, done.stdout, done.stderr), (3, b"", b""), "static")
    check(any("not sampled" in text for text in complete()["warnings"]), "it is kept")
    done = record("sh", "-c", "sleep 5 & exit 4", out="d.lamella", options=["-q"])
    equal((done.returncode, done.stderr), (4, b""), "daemon")
    for entry in complete("d.lamella")["seen"]:
        if entry.get("running"):
            os.kill(entry["pid"], 9)
    done = record("sh", "-c", f"'{LAMELLA}' record -q -- sh -c 'exit 6'", out="n.lamella", options=["-q"])
    equal((done.returncode, done.stderr), (6, b""), "nested")
    done = record("true", options=["-q"]) # the directory is there
    check(done.returncode == 125 and b"exists already" in done.stderr, done.stderr)


def test_cargo():
    # Options before the cargo command are ours, what follows is cargo's.
    os.mkdir("bin")
    with open("bin/cargo", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho cargo \"$@\"\nexit 7\n")
    os.chmod("bin/cargo", 0o755)
    os.symlink(os.path.abspath(LAMELLA), "bin/cargo-lamella")
    env = dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])
    rows = (
        (["-q", "-o", "a.lamella", "build", "--release", "-o", "x"], b"cargo build --release -o x\n", "a.lamella"),
        (["--rate=999", "-qo", "b.lamella", "--", "--offline", "build"], b"cargo --offline build\n", "b.lamella"),
        (["-qo", "c.lamella", "+nightly", "test", "--", "--nocapture"], b"cargo +nightly test -- --nocapture\n", "c.lamella"),
    )
    for words, shown, out in rows:
        for first in (["lamella"], []):
            shutil.rmtree(out, ignore_errors=True)
            done = subprocess.run(["cargo-lamella", *first, *words], env=env, capture_output=True, timeout=60)
            equal((done.returncode, done.stdout, done.stderr), (7, shown, b""), f"{words}")
            equal(complete(out)["command"][0], "cargo", "command")
    done = subprocess.run(["cargo-lamella", "lamella", "--offline", "build"], env=env, capture_output=True, timeout=60)
    check(done.returncode == 125 and b"--offline" in done.stderr and b"cargo lamella" in done.stderr, done.stderr)
    done = subprocess.run(["cargo-lamella", "lamella", "--help"], env=env, capture_output=True, timeout=60)
    check(done.returncode == 0 and b"cargo lamella" in done.stdout and b"--rate" in done.stdout, done.stdout)


def test_account_without_samples():
    done = record("true", options=["--rate", "0"])
    equal(done.returncode, 0, done.stderr)
    info = complete()
    equal((info["engine"], info["rate_hz"]), ("none", 0), "engine and rate")


def test_rate_and_engine_are_kept():
    done = record("true", options=["--rate", "997", "--engine", "cpu-timer", "--no-kernel", "--only", "cc*", "--skip", "as", "--skip", "ld"])
    equal(done.returncode, 0, done.stderr)
    info = complete()
    equal(info["period_ns"][0], 1003009, "period")
    equal((info["rate_auto"], info["engine"], info["only"], info["skip"]), (False, "cpu_timer", ["cc*"], ["as", "ld"]), "what was asked for")


main(globals())
