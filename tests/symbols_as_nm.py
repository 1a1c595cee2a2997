#!/usr/bin/env python3
# ctest: TIMEOUT 300
"""Names of addresses against nm's, for files that other tools got wrong: segments whose offset is not their address, a
linker script, an executable at a fixed address, a prelinked base, stripped copies with and without a debug file, two copies
of one library with different symbols, a call at the very end of a function."""

import bisect
import os
import re
import shutil
import subprocess
import sys
import tempfile

DRIVER = os.path.join(os.environ["LAMELLA_BUILD"], "unit", "module_names_test")
SKIP = 77

SOURCE = """
__attribute__((noinline)) int inner(int a) { for (volatile int i = 0; i < a;) i++; return a + 1; }
static __attribute__((noinline)) int hidden(int a) { return inner(a) * 3; }
__attribute__((noinline)) int outer(int a) { return hidden(a) + inner(a + 1); }
extern int puts(const char *);
int calls_out(int a) { return a > 100 ? puts("x") + outer(a) : 0; }
"""

MAIN = "int outer(int); int main(void) { return outer(3) & 1; }\n"

NEIGHBOURS = """
__attribute__((noinline, noreturn)) void spin_forever(void) { for (;;) __asm__ volatile(""); }
__attribute__((noinline)) void last_call(void)
{
    __asm__ volatile("");
    spin_forever();
}
__attribute__((noinline)) void neighbour(void) { __asm__ volatile("nop"); }
int main(int argc, char **argv) { if (argc > 5) neighbour(); last_call(); }
"""

LINKER_SCRIPT = """
PHDRS { text PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); dynamic PT_DYNAMIC FLAGS(6); }
SECTIONS {
  .text 0xab000 : { *(.text .text.*) } :text
  .plt : { *(.plt) *(.plt.*) } :text
  .rodata : { *(.rodata .rodata.*) } :text
  .hash : { *(.hash) } :text
  .gnu.hash : { *(.gnu.hash) } :text
  .dynsym : { *(.dynsym) } :text
  .dynstr : { *(.dynstr) } :text
  .rela.dyn : { *(.rela.*) } :text
  .eh_frame : { *(.eh_frame) } :text
  . = ALIGN(0x1000) + 0x2345;
  .dynamic : { *(.dynamic) } :data :dynamic
  .got : { *(.got) *(.got.plt) } :data
  .data : { *(.data .data.*) *(.bss) } :data
}
"""

failures = []


def check(right, text):
    print(("ok    " if right else "WRONG ") + text)
    if not right:
        failures.append(text)


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **more).stdout


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def functions(path, *options):
    """[(start, size, name)] of nm's text symbols."""
    rows = []
    for line in run("nm", "-S", "--defined-only", *options, path).decode(errors="surrogateescape").splitlines():
        match = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+ )?([tTwWi]) (.+)", line)
        if match:
            rows.append((int(match[1], 16), int(match[2] or "0", 16), match[4].split("@")[0]))
    return sorted(rows)


def names(files, addresses, debug_root=None):
    """Rows of the driver for [(index of file from 1, address, is it a return address)]."""
    text = "".join(f"{file} {address:x}{' r' if is_return else ''}\n" for file, address, is_return in addresses)
    command = [DRIVER, *([f"--debug-root={debug_root}"] if debug_root else []), *files]
    rows = [line.split("\t") for line in run(*command, input=text.encode()).decode(errors="surrogateescape").splitlines()]
    assert len(rows) == len(addresses), f"{len(rows)} answers for {len(addresses)} addresses"
    return rows


def raw(row):
    return row[3].split("@")[0] if row[2] == "resolved" else "-"


def expected(rows, address):
    """The names that nm has for an address: of the last sized symbol that starts at or before it and holds it."""
    starts = [row[0] for row in rows]
    for at in range(bisect.bisect_right(starts, address) - 1, -1, -1):
        start, size, _ = rows[at]
        if start <= address < start + size:
            return {name for s, z, name in rows if s == start and z == size}
    return {"-"}


def probes(rows):
    found = []
    for start, size, _ in rows:
        found += [start + at for at in {0, size // 2, size - 1} if size]
    return found


def compare(title, path, asked=None, debug_root=None, nm_of=None, *options):
    """Each probe of nm's symbols gets nm's name."""
    rows = functions(nm_of or path, *options)
    addresses = probes(rows)
    answers = names([asked or path], [(1, address, False) for address in addresses], debug_root)
    wrong = [
        f"{address:x} {raw(answer)}" for address, answer in zip(addresses, answers) if raw(answer) not in expected(rows, address)
    ]
    check(bool(addresses) and not wrong, f"{title}: {len(addresses)} addresses as nm has them {wrong[:5]}")


def build_libraries():
    """{title: path} of the shapes of row 14."""
    found = {}
    gcc = ["gcc", "-O2", "-g", "-fPIC", "-shared", "-nostdlib"]
    run(*gcc, "lib.c", "-o", "plain.so", "-Wl,--build-id")
    found["ld"] = "plain.so"
    run(*gcc, "lib.c", "-o", "prelinked.so", "-Wl,-Ttext-segment=0x4000000")
    found["base other than 0"] = "prelinked.so"
    run(*gcc, "lib.c", "-o", "script.so", "-Wl,-T,script.ld")
    found["linker script, .text at 0xab000"] = "script.so"
    run("gcc", "-O2", "-g", "-no-pie", "lib.c", "main.c", "-o", "fixed")
    found["executable at a fixed address"] = "fixed"
    run("gcc", "-O2", "-fPIE", "-pie", "-fcf-protection", "lib.c", "main.c", "-o", "pie")
    found["position-independent executable with branch tracking"] = "pie"
    if shutil.which("ld.lld") or shutil.which("ld.lld-14"):
        clang = shutil.which("clang") or shutil.which("clang-14")
        if clang and subprocess.run([clang, "-O2", "-fPIC", "-shared", "-fuse-ld=lld", "-nostdlib", "lib.c", "-o", "lld.so"]).returncode == 0:
            found["lld"] = "lld.so"
    return found


def test_shapes():
    for title, path in build_libraries().items():
        compare(title, path)
    segments = run("readelf", "-lW", "script.so").decode()
    text = re.search(r"LOAD\s+0x([0-9a-f]+) 0x([0-9a-f]+).*R E", segments)
    check(text and text[1] != text[2], "the linker script does put .text at another address than its file offset")


def test_stubs():
    for path in ("plain.so", "fixed", "pie"):
        text = run("objdump", "-d", path).decode()
        stubs = re.findall(r"^([0-9a-f]+) <(\w+)@plt>:", text, re.MULTILINE)
        answers = names([path], [(1, int(address, 16) + 1, False) for address, _ in stubs])
        wrong = [(stub, answer[3]) for stub, answer in zip(stubs, answers) if answer[2] != "resolved" or answer[3] != stub[1] + "@plt"]
        check(bool(stubs) and not wrong, f"{path}: {len(stubs)} stubs as objdump has them {wrong[:3]}")


def test_stripped():
    """A stripped copy: the debug file's names, or nothing but what it exports; never a neighbour's."""
    os.makedirs("copy", exist_ok=True)
    all_rows = functions("plain.so")
    hidden = [row for row in all_rows if row[2].startswith("hidden")]
    assert hidden, "the compiler kept no local function"
    run("objcopy", "--only-keep-debug", "plain.so", "plain.debug")
    run("objcopy", "--strip-all", "plain.so", "copy/stripped.so")
    compare("stripped: what it exports", "plain.so", "copy/stripped.so", None, "copy/stripped.so", "-D")
    answers = names(["copy/stripped.so"], [(1, start + at, False) for start, size, _ in hidden for at in (0, size - 1)])
    check(all(answer[2] == "without_symbols" for answer in answers), f"stripped: a local function has no name {answers[:1]}")

    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", "plain.so").decode())[1]
    os.makedirs(f"root/.build-id/{build_id[:2]}", exist_ok=True)
    by_id = f"root/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    shutil.copy("plain.debug", by_id)
    compare("stripped, debug file by build id", "plain.so", "copy/stripped.so", "root", "plain.so")
    answer = names(["copy/stripped.so"], [(1, hidden[0][0], False)], "root")[0]
    check(re.search(r"lib\.c:\d+", answer[5]) is not None, f"its lines are found as well {answer}")
    shutil.move("copy/stripped.so", "copy/gone.so")
    shutil.copy("plain.so", "copy/stripped.so")

    # the link: no build id, so the checksum decides
    run("gcc", "-O2", "-g", "-fPIC", "-shared", "-nostdlib", "lib.c", "-o", "noid.so", "-Wl,--build-id=none")
    run("objcopy", "--only-keep-debug", "noid.so", "copy/noid.debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=copy/noid.debug", "noid.so", "copy/noid.so")
    compare("stripped, debug file by link", "noid.so", "copy/noid.so", None, "noid.so")
    os.makedirs("copy/.debug", exist_ok=True)
    shutil.move("copy/noid.debug", "copy/.debug/noid.debug")
    compare("stripped, debug file in .debug", "noid.so", "copy/noid.so", None, "noid.so")
    with open("copy/.debug/noid.debug", "ab") as file:
        file.write(b"x")
    answer = names(["copy/noid.so"], [(1, hidden[0][0], False)])[0]
    check(answer[2] == "without_symbols", f"a debug file with another checksum is not used {answer}")

    # the table that some distributions embed
    if shutil.which("xz"):
        run("objcopy", "--strip-debug", "noid.so", "mini")
        write("mini.xz", "")
        with open("mini.xz", "wb") as file:
            file.write(run("xz", "-c", "mini"))
        run("objcopy", "--strip-all", "--remove-section=.gnu_debuglink", "--add-section", ".gnu_debugdata=mini.xz", "noid.so", "copy/mini.so")
        compare("stripped, embedded table", "noid.so", "copy/mini.so", None, "noid.so")


def test_two_copies():
    """One library (one build id) under two paths, each copy with other symbols, in either order."""
    os.makedirs("two", exist_ok=True)
    run("gcc", "-O2", "-fPIC", "-shared", "-nostdlib", "-fvisibility=hidden", "lib.c", "-o", "two/whole.so", "-Wl,--build-id=0x" + "a5" * 20)
    rows = {name: (start, size) for start, size, name in functions("two/whole.so")}
    halves = (["inner", "calls_out"], ["outer"])
    for path, kept in zip(("two/a.so", "two/b.so"), halves):
        keep = [word for name in kept for word in ("-K", name)]
        run("objcopy", "--strip-all", *keep, "two/whole.so", path)
    for path, kept in zip(("two/a.so", "two/b.so"), halves):
        check(sorted(name for _, _, name in functions(path) if name in rows) == sorted(kept), f"{path} has {kept} alone")
    for order in (["two/a.so", "two/b.so"], ["two/b.so", "two/a.so"]):
        for module in (1, 2):
            wanted = [name for half in halves for name in half]
            answers = names(order, [(module, rows[name][0] + rows[name][1] // 2, False) for name in wanted])
            check([raw(answer) for answer in answers] == wanted, f"{order}, asked as {module}: both halves survive {[raw(a) for a in answers]}")


def test_last_call():
    write("neighbours.c", NEIGHBOURS)
    run("gcc", "-O2", "-g", "-falign-functions=1", "-fno-reorder-functions", "-fno-toplevel-reorder", "neighbours.c", "-o", "neighbours")
    rows = {name: (start, size) for start, size, name in functions("neighbours")}
    end = rows["last_call"][0] + rows["last_call"][1]
    if rows["neighbour"][0] != end:
        print(f"skip  last call: the compiler put something behind it")
        return
    leaf, after = names(["neighbours"], [(1, end, False), (1, end, True)])
    check(raw(leaf) == "neighbour", f"an interrupted address is looked up as it is {leaf}")
    check(raw(after) == "last_call", f"a return address belongs to the call before it {after}")
    line = NEIGHBOURS.split("\n").index("    spin_forever();") + 1
    check(after[5].endswith(f"neighbours.c:{line}"), f"and so does its line {after}")


def test_paths():
    name = b"with space \xff\xfe.so"
    shutil.copy("noid.so", os.fsdecode(name))
    compare("a path with spaces and bytes that are no text", "noid.so", os.fsdecode(name), None, "noid.so")


def main():
    for tool in ("gcc", "nm", "objcopy", "objdump", "readelf"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return SKIP
    if not os.path.exists(DRIVER):
        print(f"{DRIVER} was not built")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        write("lib.c", SOURCE)
        write("main.c", MAIN)
        write("script.ld", LINKER_SCRIPT)
        test_shapes()
        test_stubs()
        test_stripped()
        test_two_copies()
        test_last_call()
        test_paths()
        os.chdir("/")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
