#!/usr/bin/env python3
# ctest: TIMEOUT 600
"""A program that the Python plug-in records prints what it prints without, tracebacks included, and ends as it would."""

import os
import zipfile

import python_lib as lib

PROGRAMS = {
    "looks_around": """
import atexit, gc, inspect, pickle, sys, threading, traceback, warnings
print(sys.argv, sys.path[0], __file__, __name__, __spec__, __package__, sorted(globals()), sys.getprofile(), sys.gettrace())
print(threading.getprofile() if hasattr(threading, "getprofile") else None)
def deep(n=1):
    try:
        return deep(n + 1)
    except RecursionError:
        return n
print(deep())
class Nested:
    def __repr__(self):
        global levels
        levels += 1
        return repr([self])
levels = 0
try:
    repr(Nested())
except RecursionError as error:
    print(levels, error)
def stack():
    traceback.print_stack()
    print(len(inspect.stack()), [f.function for f in inspect.stack()], sys._getframe(1).f_code.co_name)
    warnings.warn("seen", stacklevel=2)
stack()
class Thing: pass
print(type(pickle.loads(pickle.dumps(Thing()))))
atexit.register(lambda: traceback.print_stack())
thread = threading.Thread(target=stack)
thread.start()
thread.join()
""",
    "raises": """
def f(n):
    if not n:
        raise ValueError("x")
    f(n - 1)
try:
    f(3)
except ValueError as error:
    raise KeyError("chained") from error
""",
    "hook": "import sys\ndef hook(*what):\n    print(what[:2], what[2].tb_frame.f_code.co_name)\nsys.excepthook = hook\n1 / 0\n",
    "in_thread": "import threading\nthreading.Thread(target=lambda: 1 / 0).start()\n",
    "daemon": "import threading\ndef spin():\n    while True: len('x')\nthreading.Thread(target=spin, daemon=True).start()\nprint('done')\n",
    "exit_code": "import sys\ndef f(): sys.exit(3)\nf()\n",
    "exit_text": "import sys, atexit\natexit.register(print, 'at exit')\ntry:\n    sys.exit('a message')\nfinally:\n    print('finally')\n",
    "exit_now": "import os\ndef f(n):\n    n or os._exit(4)\n    f(n - 1)\nf(5)\n",
    "interrupt": "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGINT)\nprint('x')\nf()\n",
    "killed": "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGKILL)\nf()\n",
    "crash": "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGSEGV)\nf()\n",
    "syntax": "print('x')\ndef f(:\n",
    "null": "print('x')\n\0\n",
    "coding": "# coding: latin-1\nprint(ascii('\xe9'))\n",
    "memory": """
import resource
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
def fill(kept, n):
    while True:
        kept.append(make(n))
def make(n):
    return bytearray(n)
caught = 0
for n in (50 << 20, 1 << 20, 1 << 12):
    kept = []
    try:
        fill(kept, n)
    except MemoryError:
        kept = None
        caught += 1
print(caught)
def generator(): yield 1
print(sum(sum(generator()) for _ in range(100)))
""",
    "allocations": """
try:
    from _testcapi import remove_mem_hooks, set_nomemory
except ImportError:
    set_nomemory = remove_mem_hooks = lambda *which: None
def numbers(n):
    yield from range(n)
def f(n):
    return n and sum(numbers(n)) + f(n - 1)
for first in range(1, 80):
    set_nomemory(first, first + 1)
    try:
        f(2)
    except MemoryError:
        pass
    finally:
        remove_mem_hooks()
""",
    "names": """
import sys
code = compile("def f(g, n=0): return n and g()", "<made>", "exec")
names = ["", "\\u540d\\u524d", "nl\\nx", "esc\\x1b[31m", "nul\\0x", "semi;colon 12", "\\udcff", "\\ud800", "x" * 100000, "</script>", "\\U0001f40d"]
for name in names:
    inner = next(c for c in code.co_consts if hasattr(c, "co_name"))
    try:
        made = inner.replace(co_name=name, co_qualname=name, co_filename="/tmp/" + name[:50] + ".py")
    except UnicodeEncodeError:
        continue
    function = type(lambda: 0)(made, {})
    print(function(None, 0))
exec("def text(n): return n and text(n - 1)\\nprint(text(3))")
print(eval("(lambda x: x + 1)(2)"))
""",
    "profilers": """
import cProfile, pstats, sys, io
def f(n): return n and f(n - 1)
events = []
def hook(frame, event, arg): events.append((event, frame.f_code.co_name))
sys.setprofile(hook)
print(sys.getprofile() is hook)
f(3)
sys.setprofile(None)
print(events, sys.getprofile())
f(4)
profile = cProfile.Profile()
profile.enable()
f(5)
profile.disable()
print(sum(row.callcount for row in profile.getstats() if not isinstance(row.code, str)))
lines = []
def trace(frame, event, arg):
    lines.append(event)
    return trace
sys.settrace(trace)
f(1)
sys.settrace(None)
print(lines)
f(6)
def fails(*what):
    raise KeyError(what[1])
for setter in filter(None, (sys.setprofile, getattr(sys, "_setprofileallthreads", None))):
    events.clear()
    setter(hook)
    setter(hook)
    setter(None)
    print(events)
    try:
        setter(fails)
        f(0)
    except KeyError as error:
        print(error, sys.getprofile())
    print(list(map(setter, [hook])), setter(None), events[-3:])
""",
    "forks": """
import multiprocessing, os, sys, threading
def f(n): return n and f(n - 1)
def child(n): f(n); print("child", flush=True)
def generator():
    yield f(1)
    yield f(2)
begun = generator()
next(begun)
pid = os.fork()
if pid == 0:
    print(next(begun), flush=True)
    f(7)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
context = multiprocessing.get_context("fork")
process = context.Process(target=child, args=(8,))
process.start()
process.join()
print(process.exitcode, list(begun))
with context.Pool(2) as pool:
    print(pool.map(f, range(5)))
""",
    "monitoring": """
import sys
def f(n): return n and f(n - 1)
if hasattr(sys, "monitoring"):
    seen = []
    monitoring = sys.monitoring
    print([monitoring.get_tool(tool) for tool in range(6)], [monitoring.get_events(tool) for tool in range(6)])
    f(3)
    for tool in range(6):
        monitoring.use_tool_id(tool, "mine")
    monitoring.register_callback(2, monitoring.events.PY_START, lambda code, offset: seen.append(code.co_name))
    monitoring.set_events(2, monitoring.events.PY_START)
    f(2)
    monitoring.set_events(2, 0)
    print(seen.count("f"), [monitoring.get_tool(tool) for tool in range(6)])
    for tool in range(6):
        monitoring.free_tool_id(tool)
    f(4)
try:
    from _testcapi import CodeLike, fire_event_py_return, fire_event_py_start
except ImportError:
    pass
else:  # what C code tells need not be of a function in Python
    fire_event_py_start(CodeLike(1), 0)
    fire_event_py_return(CodeLike(1), 0, 1)
""",
    "attributes": """
import sys, threading, types
class Meta(type):
    def __getattribute__(self, name):
        print("of the class:", name)
        return super().__getattribute__(name)
class Numbers(list, metaclass=Meta):
    pass
insert = Numbers().insert
insert(0, 1)
class Thread(threading.Thread):
    def __getattribute__(self, name):
        if name == "_name":
            print("of the thread:", name)
        return super().__getattribute__(name)
    def run(self):
        print(sys.getrefcount(self))
class Named(threading.Thread):
    @property
    def _name(self):
        print("the name")
    @_name.setter
    def _name(self, name): pass
greenlet = sys.modules["greenlet"] = types.ModuleType("greenlet")
def missing(name):
    print("of the module:", name)
    raise AttributeError(name)
greenlet.__getattr__ = missing
exec(compile("x = 1", "made", "exec"))
for thread in (Thread(), Named(), threading.Thread(target=print, name="nul\\0x\\udcff")):
    thread.start()
    thread.join()
""",
    "code_extras": """
import ctypes
told = []
free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(told.append)
names = ("PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex"), ("PyUnstable_Code_SetExtra", "_PyCode_SetExtra")
request, store = (next(getattr(ctypes.pythonapi, name) for name in both if hasattr(ctypes.pythonapi, name)) for both in names)
index = request(free)
for i in range(3):
    f = eval("lambda: 0")
    if i == 1:
        store(ctypes.py_object(f.__code__), ctypes.c_ssize_t(index), ctypes.c_void_p(7))
    f()
    if i == 2:
        store(ctypes.py_object(f.__code__), ctypes.c_ssize_t(index), ctypes.c_void_p(8))
    del f
print(told)
""",
    "closed_late": """
import asyncio, sys
def generator():
    try:
        yield 1
    finally:
        print("closed")
kept = generator()
next(kept)
async def never():
    await asyncio.Event().wait()
coroutine = never()
coroutine.send(None)
async def main():
    async def numbers():
        try:
            yield 1
        finally:
            print("finalised")
    async for i in numbers():
        break
asyncio.run(main())
async def unawaited(): pass
unawaited()
""",
}


def both(python, *program, options=(), **kwargs):
    plain = lib.run(python, *program, **kwargs)
    recorded = lib.record(python, "out", *program, options=options, **kwargs)
    for what in ("returncode", "stdout", "stderr"):
        got, wanted = getattr(recorded, what), getattr(plain, what)
        assert got == wanted, f"{program}: {what} {got!r}, wanted {wanted!r}"
    return recorded


def write(path, text):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="latin-1" if "latin-1" in text else "utf-8") as file:
        file.write(text)


def counts(path="out"):
    found = {}
    for row in lib.view(path, "--show", "intervals"):
        if row["type"] == "interval":
            found.setdefault(row["label"], []).append(row)
    return found


def test_programs(python, version):
    for name, text in PROGRAMS.items():
        write(f"{name}.py", text)
        both(python, f"{name}.py", "argument", options=("--c-calls",) if name in ("raises", "memory", "profilers", "forks", "attributes") else ())
        if name not in ("syntax", "null"):
            found = counts()
            assert any(label.startswith("<module> (") for label in found), f"{name}: {list(found)[:5]}"
        if name == "names":
            wanted = {"nul\0x (/tmp/nul\0x.py:1)", "nl\nx (/tmp/nl\nx.py:1)", "\u540d\u524d (/tmp/\u540d\u524d.py:1)"}
            assert wanted <= found.keys(), found.keys()
        if name == "exit_now":
            assert ["open" in row["flags"] for row in found["f (exit_now.py:2)"]] == [True] * 6, found
        if name == "profilers":  # 3.11: what the program's own hook saw is not recorded, what came after is
            calls = len(found["f (profilers.py:3)"])
            assert calls == (5 + 7 + 2 if version < (3, 12) else 4 + 5 + 6 + 2 + 7), calls
            assert len([row for row in lib.view("out") if row["type"] == "track" and row["name"] == "MainThread"]) == 1
        if name == "monitoring" and version >= (3, 12):  # not while the program has all numbers
            assert len(found["f (monitoring.py:3)"]) == 4 + 5, found
        if name == "attributes":
            assert len(found["list.insert (C)"]) == 1
        if name == "forks":
            files = [file for file in os.listdir("out") if file.endswith(".lam")]
            assert len(files) == 5, files
        os.rename("out", f"out-{name}") if os.path.exists("out") else None


def test_generators(python, _):
    both(python, os.path.join(lib.DATA, "generators.py"))
    rows = lib.view("out", "--show", "intervals")
    still_open = [row["label"] for row in rows if row["type"] == "interval" and "open" in row["flags"]]
    assert not still_open and b"without an exit" not in lib.lamella("report", "out"), still_open


def test_modules(python, _):
    write("package/__init__.py", "print('package', __name__)\n")
    write("package/__main__.py", "import sys\nprint(sys.argv, sys.path[0], __spec__.name, __file__)\ndef f(): 1 / 0\nf()\n")
    write("package/part.py", "import sys\nprint(sys.argv, __name__)\nsys.exit(5)\n")
    write("folder/__main__.py", "import sys, beside\nprint(sys.argv, sys.path[0])\n")
    write("folder/beside.py", "print(__name__)\nimport os, signal\n")
    with zipfile.ZipFile("program.zip", "w") as file:
        file.writestr("__main__.py", "import sys\nprint(sys.argv, sys.path[0], __file__)\n1 / 0\n")
    os.symlink("folder/beside.py", "link.py")
    assert lib.run(python, "-c", "import py_compile; py_compile.compile('folder/beside.py', 'made.pyc')").returncode == 0
    for program in (["-m", "package", "a"], ["-m", "package.part"], ["-m", "missing"], ["-m", "package.missing"], ["folder", "b"], ["program.zip"],
                    ["./folder/beside.py"], ["link.py"], ["absent.py"], ["made.pyc"], ["-m", "timeit", "-n", "1", "-r", "1", "1 / 0"]):
        both(python, *program)
        if os.path.exists("out"):
            os.rename("out", "out-" + "-".join(program).replace("/", "_"))


def test_no_file(python, _):
    text = "import linecache, sys\nprint(sys.argv, sys.path[0], sorted(globals()), __loader__, __spec__, linecache.cache)\ndef f(n): return n and f(n - 1) or 1 / n\n"
    for command in (text + "f(2)\n", text + "exec('f(1)')", "if 1:\n  sys.exit(3", "# coding: latin-1\nprint(ascii('\xe9'))", "import sys; sys.exit(4)", "\x00"[1:]):
        both(python, "-c", command, "a", "-b")
        with open("program", "w", encoding="utf-8") as file:
            file.write(command)
        for program in (["-"], ["-", "-a", "b"]):
            plain, recorded = (lib.run(python, *words, *program, stdin=open("program", "rb")) for words in ((), ("-m", "lamella", "-o", "out")))
            assert (recorded.returncode, recorded.stdout, recorded.stderr) == (plain.returncode, plain.stdout, plain.stderr), (recorded, plain)
        if command.startswith(text):
            assert {"f (<string>:3)", "f (<stdin>:3)"} <= counts().keys(), counts().keys()
        os.system("rm -rf out")


def test_safe_path(python, _):
    write("x/script.py", "import sys\nprint(sys.path)\n")
    plain = lib.run(python, "-P", "x/script.py")
    recorded = lib.run(python, "-P", "-m", "lamella", "-o", "out", "x/script.py")
    assert recorded.stdout == plain.stdout and not recorded.returncode, recorded


def test_usage(python, _):
    write("fine.py", "print('ran')\n")
    for arguments, words in ((["fine.py"], b"no recording"), (["-o", "out"], b"no script"), (["--what"], b"no option --what"), (["-o"], b"needs a value"),
                             (["-o", "out", "--tracks", "some", "fine.py"], b"tracks is one of"), (["-o", "out", "--calls", "x", "fine.py"], b"calls: `x` should be all, one_in"),
                             (["-o", "/proc/no/out", "fine.py"], b"lamella: ")):
        done = lib.run(python, "-m", "lamella", *arguments)
        assert done.returncode == 2 and words in done.stderr and not done.stdout and done.stderr.count(b"\n") == 1, (arguments, done)
    done = lib.run(python, "-m", "lamella", "-o", "out", "fine.py", env=lib.environment(PYTHONPATH=os.path.join(os.environ["LAMELLA_SRC"], "plugins", "python")))
    assert done.returncode == 2 and b"not built for this Python, 3." in done.stderr and done.stderr.count(b"\n") == 1, done
    done = lib.run(python, "-m", "lamella", "-o", "out", "--", "fine.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b""), done
    done = lib.run(python, "-m", "lamella", "--help")
    assert done.returncode == 0 and b"--calls" in done.stdout


if __name__ == "__main__":
    lib.main([test_programs, test_generators, test_modules, test_no_file, test_safe_path, test_usage])
