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

# By address: functions of one file may have the name of another's.
calls, names, now = {}, {}, None
code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", SO], capture_output=True, text=True, check=True).stdout
for line in code.splitlines():
    start = re.match(r"([0-9a-f]+) <([^>]+)>:", line)
    if start:
        now = start.group(1).lstrip("0")
        names[now] = start.group(2).split(".")[0]
        calls[now] = set()
        continue
    target = re.search(r"\b(?:call|j[a-z]+|bl?)\s+([0-9a-f]+) <([^>+]+)>", line)
    through = re.search(r"\b(?:call|jmp) .*# [0-9a-f]+ <([A-Za-z_0-9]+)@", line)
    if target and now and target.group(1).lstrip("0") != now:
        calls[now].add(target.group(1).lstrip("0"))
    if through and now:
        names.setdefault(through.group(1), through.group(1))
        calls[now].add(through.group(1))

# A signal that is the program's own runs the program's handler, which needs what it needs.
ENDS = {"virtual_signal_deliver"}
known = {}


def deepest(at, above=frozenset()):
    """(bytes, way, functions reached) from the function at this address down."""
    name = names.get(at, at)
    if at in known:
        return known[at]
    if at in above or name in ENDS:
        return 0, [], {name}
    best, way, seen = 0, [], {name}
    for callee in calls.get(at, ()):
        size, below, reached = deepest(callee, above | {at})
        seen |= reached
        if size > best:
            best, way = size, below
    # .su counts a function's frame without the return address that the call pushed.
    known[at] = frames.get(name, 0) + 8 + best, [name, *way], seen
    return known[at]


def by_name(name):
    return [at for at, has in names.items() if has == name]


# The engine's functions are called through pointers, so the walk does not see them from the handler.
engine = max(deepest(at)[0] for name in ("thread_start", "set_level", "owns") for at in by_name(name))
size, way, seen = deepest(by_name("sampling_handler")[0])
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
