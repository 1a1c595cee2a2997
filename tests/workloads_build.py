# ctest: TIMEOUT 600
"""The generators of what benchmarks build: the same bytes for the same arguments, and projects that compile and run."""

import os
import shutil
import subprocess
import sys
import tempfile

SRC = os.environ.get("LAMELLA_SRC", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["PATH"] += ":" + os.path.expanduser("~/.cargo/bin")
checks = 0


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        sys.exit("FAILED: " + what)


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def bench(name, *arguments, **options):
    return run(os.path.join(SRC, "bench", name), *arguments, **options)


def contents(root, skip=()):
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in skip]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


def same_bytes_again(place, name, arguments, other):
    first, second, third = (os.path.join(place, name + suffix) for suffix in ("-1", "-2", "-3"))
    for target in (first, second):
        check(bench(name, target, *arguments).returncode == 0, "%s %s" % (name, arguments))
    check(contents(first) == contents(second), "%s %s twice gives the same files" % (name, arguments))
    check(bench(name, third, *arguments, *other).returncode == 0, "%s %s" % (name, other))
    check(contents(first) != contents(third), "%s: another seed gives other files" % name)
    refused = bench(name, first, *arguments)
    check(refused.returncode == 1 and "not empty" in refused.stderr, "%s refuses a directory with files in it" % name)
    return first


def workspace_sizes(place):
    root = os.path.join(place, "whole")
    check(bench("make-workspace", root).returncode == 0, "the standard workspace")
    crates = os.listdir(os.path.join(root, "crates"))
    check(len(crates) >= 40, "the standard workspace has at least 40 crates, not %d" % len(crates))
    check(bench("make-workspace", os.path.join(place, "tiny"), "--crates", "3").returncode == 2, "too few crates are a usage error")


def cargo_builds(root):
    if not shutil.which("cargo"):
        print("skipped: no cargo on PATH")
        return
    artifacts = []
    for _ in range(2):
        shutil.rmtree(os.path.join(root, "target"), ignore_errors=True)
        built = run("cargo", "build", "--offline", "--locked", "--quiet", cwd=root)
        check(built.returncode == 0 and not built.stderr, "cargo build without a word: %s" % built.stderr)
        artifacts.append(contents(os.path.join(root, "target", "debug"), skip=(".fingerprint",)))
    differing = [path for path in artifacts[0] if artifacts[0][path] != artifacts[1].get(path)]
    check(not differing and len(artifacts[0]) == len(artifacts[1]), "two builds agree to the byte: %s" % differing)
    program = os.path.join(root, "target", "debug", "app")
    check(run(program, "7").stdout == run(program, "7").stdout != run(program, "8").stdout, "the program's sums follow its seed")
    check(run(program, "x").returncode == 2, "the program refuses a seed that is no number")


def c_builds(root):
    ways = {
        "make": (("make", "-s"), "out/app"),
        "ninja": (("ninja", "--quiet"), "out/app"),
        "cmake": (("sh", "-c", "cmake -S . -B build >/dev/null && cmake --build build >/dev/null"), "build/app"),
    }
    outputs = {}
    for name, (command, program) in ways.items():
        if not shutil.which(name):
            print("skipped: no %s on PATH" % name)
            continue
        shutil.rmtree(os.path.join(root, "out"), ignore_errors=True)
        built = run(*command, cwd=root)
        check(built.returncode == 0 and not built.stderr, "%s without a word: %s" % (name, built.stderr))
        outputs[name] = run(os.path.join(root, program), "7").stdout
    check(len(set(outputs.values())) <= 1 and all(outputs.values()), "all build systems make the same program")


def application_is_skipped(place):
    away = dict(os.environ, CARGO_HOME=os.path.join(place, "cargo"), CARGO_NET_OFFLINE="true")
    answer = bench("fetch-application", os.path.join(place, "application"), env=away)
    check(answer.returncode == 77 and answer.stdout.startswith("skipped: "), "fetch-application skips without a registry")
    check(bench("fetch-application").returncode == 2, "fetch-application without arguments is a usage error")


def main():
    with tempfile.TemporaryDirectory() as place:
        workspace_sizes(place)
        cargo_builds(same_bytes_again(place, "make-workspace", ["--shape", "small"], ["--seed", "2"]))
        c_builds(same_bytes_again(place, "make-cproject", ["--c", "4", "--cxx", "2"], ["--seed", "2"]))
        application_is_skipped(place)
    print("%d checks passed" % checks)


if __name__ == "__main__":
    main()
