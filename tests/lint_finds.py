"""Each check of script/lint finds what it is there for: a small tree that is clean passes, and one fault at a time fails."""

import os
import shutil
import subprocess
import sys
import tempfile

SRC = os.environ["LAMELLA_SRC"]
WORD = "TO" + "DO"
CLEAN = {
    "src/core/one.h": "int one_value(void);\n",
    "src/core/one.c": '#include "core/one.h"\n\nint one_value(void)\n{\n    return 1;\n}\n',
    "src/reader/decode.c": '#include "base/error.h"\n#include "stream/layout.h"\n',
    "src/reader/decode_test.c": '#include "stream/writer.h"\n',
    "script/nothing": "#!/bin/sh\nexit 0\n",
    "tests/nothing.py": "pass\n",
    "page/src/one.ts": "export const one: number = 1;\n",
}
# check, file, its content
FAULTS = [
    ("format", "src/core/two.c", "int two( void );\n"),
    ("arrows", "src/core/two.c", '#include "base/error.h"\n'),
    ("arrows", "src/core/two.c", '#include "one.h"\n'),
    ("arrows", "src/reader/two.c", '#include "stream/writer.h"\n'),
    ("arrows", "src/unheard/two.c", ""),
    ("length", "src/core/two.c", "\n" * 1501),
    ("length", "docs/picture.svg", "<" * (2 << 20)),
    ("scratch", "src/core/two.o", "x"),
    ("scratch", "x.lamella/session.json", "{}"),
    ("scratch", "page/node_modules/a/index.js", ""),
    ("names", "src/reader/one.c", ""),
    ("words", "docs/two.md", f"{WORD}: write this\n"),
    ("python", "tests/two.py", "def (:\n"),
    ("shell", "script/two", "#!/bin/sh\ncd $1\n"),
    ("typescript", "page/src/two.ts", 'export const two: number = "2";\n'),
]


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def lint(root, *checks):
    done = subprocess.run([sys.executable, f"{root}/script/lint", *checks], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    for tool in ("git", "clang-format-14", "shellcheck"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return 77
    packages = os.path.join(SRC, "page", "node_modules")
    if not os.path.isdir(packages):
        print("the packages of page are not installed")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as root:
        for path in ("script/lint", "cmake/lamella.cmake", ".clang-format", ".shellcheckrc", "page/tsconfig.json"):
            with open(os.path.join(SRC, path), encoding="utf-8") as file:
                write(root, path, file.read())
        for path, text in CLEAN.items():
            write(root, path, text)
        # A link: a fault that is written below it would end up in the project.
        link = os.path.join(root, "page", "node_modules")
        os.symlink(packages, link)
        subprocess.run(["git", "init", "-q", root], check=True)
        checks = sorted({check for check, _, _ in FAULTS})
        code, out = lint(root, *checks)
        if code != 0:
            wrong.append(f"the clean tree fails:\n{out}")
        for check, path, text in FAULTS:
            if "node_modules" in path:
                os.remove(link)
            write(root, path, text)
            code, out = lint(root, check)
            if code != 1 or path not in out:
                wrong.append(f"{check} did not find {path} (ended with {code}):\n{out}")
            os.remove(os.path.join(root, path))
            if "node_modules" in path:
                shutil.rmtree(link)
                os.symlink(packages, link)
        if lint(root, "nonsense")[0] != 2:
            wrong.append("an unknown check is accepted")
    print("\n".join(wrong) or "each check found its fault")
    return 1 if wrong else 0


sys.exit(main())
