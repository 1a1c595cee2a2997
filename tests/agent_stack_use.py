"""What the sampling handler may reach, by the calls in the machine code and the stack that the compiler noted for each
function: at most 2 KiB, and nothing that takes the loader's lock."""

import glob
import os
import re
import subprocess
import sys

LIMIT = 2048
SO, BUILD = os.environ["LAMELLA_AGENT_SO"], os.environ["LAMELLA_BUILD"]

frames = {}
for path in glob.glob(os.path.join(BUILD, "CMakeFiles/lamella-agent.dir/**/*.su"), recursive=True):
    with open(path, encoding="utf-8") as file:
        for line in file:
            place, size, kind = line.rstrip("\n").split("\t")
            name = place.rsplit(":", 1)[1].split(".")[0]
            # alloca in what the handler reaches would be a finding: such a frame has no bound.
            bytes_used = int(size) if kind == "static" or "bounded" in kind else 1 << 20
            frames[name] = max(frames.get(name, 0), bytes_used)
if not frames or not subprocess.run(["which", "objdump"], capture_output=True).stdout:
    print("the agent was compiled without notes on its stack use, or objdump is missing")
    sys.exit(77)

calls, now = {}, None
code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", SO], capture_output=True, text=True, check=True).stdout
for line in code.splitlines():
    start = re.match(r"[0-9a-f]+ <([^>]+)>:", line)
    if start:
        now = start.group(1).split(".")[0]
        calls.setdefault(now, set())
        continue
    target = re.search(r"\b(?:call|jmp|bl?)\s+[0-9a-f]+ <([^>+]+)>", line)
    through = re.search(r"\b(?:call|jmp) .*# [0-9a-f]+ <([A-Za-z_0-9]+)@", line)
    for found in (target, through):
        if found and now:
            calls[now].add(re.split(r"[.@]", found.group(1))[0])

# A signal that is the program's own runs the program's handler, which needs what it needs.
ENDS = {"virtual_signal_deliver"}
known = {}


def deepest(name, above=frozenset()):
    """(bytes, way, functions reached) from this function down."""
    if name in known:
        return known[name]
    if name in above or name in ENDS:
        return 0, [], {name}
    best, way, seen = 0, [], {name}
    for callee in calls.get(name, set()) - {name}:
        size, below, reached = deepest(callee, above | {name})
        seen |= reached
        if size > best:
            best, way = size, below
    # .su counts a function's frame without the return address that the call pushed.
    known[name] = frames.get(name, 0) + 8 + best, [name, *way], seen
    return known[name]


# The engine's functions are called through pointers, so the walk does not see them from the handler.
engine = max(deepest(name)[0] for name in ("thread_start", "set_level", "owns"))
size, way, seen = deepest("sampling_handler")
print(f"the handler needs {size} bytes of stack: {' > '.join(way)}; the most an engine's function needs is {engine}")
failed = []
if "unwind_stack" not in seen or "stream_append_sample" not in seen and "stacks_intern" not in seen:
    failed.append(f"the walk did not find what the handler does: {sorted(seen)}")
if size > LIMIT:
    failed.append(f"that is more than {LIMIT}")
if "dl_iterate_phdr" in seen:
    failed.append("it reaches dl_iterate_phdr, which takes the loader's lock")
for why in failed:
    print(why, file=sys.stderr)
sys.exit(1 if failed else 0)
