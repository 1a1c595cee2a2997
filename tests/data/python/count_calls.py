"""Runs a program and counts its calls by their path, by a profile function in Python: count_calls.py OUT PROGRAM [ARGUMENTS...].

A generator or coroutine is one call, however often it goes on. Its path begins with it, unless the frame below waits for it by
`await` or `yield from`."""
import collections
import json
import opcode
import sys
import threading

SEND = opcode.opmap["SEND"]
GENERATOR, COROUTINE, ITERABLE, ASYNC = 0x20, 0x80, 0x100, 0x200
ANY = GENERATOR | COROUTINE | ITERABLE | ASYNC

out, program, *arguments = sys.argv[1:]
counts = collections.Counter()
is_first = {}  # of frames of generators: whether their path begins with them. Keeps them, so that none is taken for another


def waits(frame):
    code, at = frame.f_code.co_code, frame.f_lasti
    while at >= 2 and code[at] == 0:
        at -= 2
    return code[at] == SEND


def begins_path(frame):
    code, back = frame.f_code, frame.f_back
    return bool(code.co_flags & ASYNC) or not back or not back.f_code.co_flags & ANY or not waits(back)


def path_of(frame):
    path = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename == program:
            path.append(f"{code.co_qualname}:{code.co_firstlineno}")
        if code.co_flags & ANY and is_first.get(frame, True):
            break
        frame = frame.f_back
    return ";".join(reversed(path))


def hook(frame, event, _):
    if event != "call":
        return
    if frame.f_code.co_flags & ANY:
        if frame in is_first:
            return
        is_first[frame] = begins_path(frame)
    if frame.f_code.co_filename == program:
        counts[path_of(frame)] += 1


with open(program, encoding="utf-8") as file:
    code = compile(file.read(), program, "exec")
sys.argv = [program, *arguments]
module = type(sys)("__main__")
module.__file__ = program
sys.modules["__main__"] = module
threading.setprofile(hook)
sys.setprofile(hook)
try:
    exec(code, module.__dict__)
finally:
    sys.setprofile(None)
    threading.setprofile(None)
with open(out, "w", encoding="utf-8") as file:
    json.dump(counts, file)
