"""The Lua plug-in: the same calls as a counter in pure Lua, each on its coroutine; the program's output as without it; and what becomes
of it when a program does what recorders are not prepared for."""

import collections
import json
import os
import re
import signal
import shutil
import subprocess
import sys

from call_sums import check_callers
from lua_programs import program
from record_lib import LAMELLA, Skip, check, compile_c, equal, main

BUILD = os.environ.get("LAMELLA_BUILD", "build/release")
SRC = os.environ.get("LAMELLA_SRC", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LUA = os.environ.get("LAMELLA_TEST_LUA") or shutil.which("lua5.4") or shutil.which("lua")
DATA = os.path.join(SRC, "tests", "data", "lua")
PLUGIN = os.path.join(BUILD, "plugins", "lua", "lamella.so")


def lua(*args, out="r.lamella", options=None, expect=0, **env):
    """Runs Lua with the plug-in loaded (out None: without); returns what it printed."""
    where = {"LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;", "LAMELLA_OUT": out or "", "LAMELLA_OPTIONS": options or ""}
    if out:
        shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([LUA, "-l", "lamella", *args], env={**os.environ, **where, **env}, capture_output=True, timeout=120, check=False)
    equal(done.returncode, expect, f"exit code of {args}, {done.stderr.decode(errors='replace')}")
    return done.stdout + done.stderr


def lua_flags(*which):
    done = subprocess.run(["pkg-config", *which, "lua5.4"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skip("no pkg-config file of Lua 5.4")
    return done.stdout.split()


def compile_host(name, text, *libraries):
    """A program that hosts Lua with the plug-in linked in."""
    own = ["-I" + os.path.join(SRC, "include"), "-L" + BUILD, "-llamella-lua", "-llamella", "-Wl,-rpath," + BUILD]
    return compile_c(name, text, *own, *lua_flags("--cflags", "--libs"), *libraries)


def chrome_events():
    done = subprocess.run([LAMELLA, "export", "--to", "chrome", "-o", "rows.json", "--force", "r.lamella"], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, done.stderr)
    with open("rows.json", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def script(name, text):
    with open(name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    return name


def report(out="r.lamella", by="label,path", around=None):
    asks = ["--around", around] if around else []
    done = subprocess.run([LAMELLA, "report", "--format", "json", "--top", "0", "--by", by, *asks, out], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"report of {out}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def counts(out="r.lamella"):
    found = collections.Counter()
    for row in report(out, "label")["activities"]:
        found[row["label"]] += row["count"]
        equal(row["open"], 0, f"open calls of {row['label']}")
    return found


def place(label):
    """`name (file:line)` as the counter calls it; of a C function, `name (C)` or `name (C, file+0x12)`, `C`."""
    where = label[label.rindex(" (") + 2:-1]
    return "C" if where.startswith("C, ") else where


def paths(out, main_chunk):
    """{path: count} below a main chunk or a coroutine's body, every C function being `C`."""
    names, found = {}, collections.Counter()
    for row in report(out)["paths"]:
        above = names.get(row["parent"], [])
        names[row["path"]] = path = above + [place(row["label"])]
        if main_chunk in path:
            path = path[path.index(main_chunk):]
        elif path[0] == "C":
            continue  # lua itself
        found[";".join(path)] += row["count"]
    return found


def counted(file, main_chunk):
    found = collections.Counter()
    with open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            path, count = line.rstrip("\n").rsplit("\t", 1)
            path = path.split(";")
            if main_chunk in path:
                path = path[path.index(main_chunk):]
            elif path[0] == "C":
                continue
            found[";".join(path)] += int(count)
    return found


def compare(found, wanted):
    wrong = [(path, found[path], wanted[path]) for path in sorted({*found, *wanted}) if found[path] != wanted[path]]
    check(not wrong, f"{len(wrong)} of {len(wanted)} paths differ (path, lamella, counter): {wrong[:8]}")


def counter_of(path):
    subprocess.run([LUA, os.path.join(DATA, "counter.lua"), "counts", path], capture_output=True, timeout=60, check=True)
    return counted("counts", path + ":1")


def test_same_calls_as_a_counter_in_pure_lua():
    shutil.copy(os.path.join(DATA, "calls.lua"), "calls.lua")
    plain = lua("calls.lua", out=None)
    wanted = counter_of("calls.lua")
    check(sum(wanted.values()) > 4000, "the counter saw the program")
    equal(lua("calls.lua"), plain, "what the program prints")
    compare(paths("r.lamella", "calls.lua:1"), wanted)
    equal(report()["findings"], [], "nothing unbalanced, nothing lost")
    equal(lua("calls.lua", options="calls=one_in:20"), plain, "what the program prints")
    check_one_in(20, wanted, "calls.lua:1")
    for options in ("calls=tree", "calls=threshold:1ms", "calls=auto:64K"):
        equal(lua("calls.lua", options=options), plain, "what the program prints")
        got = collections.Counter()
        for label, count in counts().items():
            got[place(label)] += count
        each = collections.Counter()
        for path, count in wanted.items():
            each[path.rsplit(";", 1)[-1]] += count
        for name, count in each.items():
            check(name == "C" or got[name] == count, f"{options}: {name} {got[name]}, wanted {count}")


def is_within(path, whole):
    """Are the calls of `path` among those of `whole`, in that order, and its last one the last?"""
    rest = iter(whole[:-1])
    return path[-1] == whole[-1] and all(name in rest for name in path[:-1])


def check_one_in(n, wanted, main_chunk):
    """One in N: the count of each function is off by less than N (and they are told apart by their line); each call stands below calls
    that are around it; none stays open or is unbalanced."""
    found, names, whole = collections.Counter(), {}, [path.split(";") for path in wanted]
    data = report()
    equal(data["findings"], [], "nothing unbalanced, nothing lost")
    equal(sum(row["open"] for row in data["activities"]), 0, "open calls")
    for row in data["paths"]:
        above = names.get(row["parent"], [])
        names[row["path"]] = path = above + [place(row["label"])]
        if path == ["C"] * len(path):
            continue  # lua itself
        path = path[path.index(main_chunk):] if main_chunk in path else path
        found[path[-1]] += row["count"]
        check(any(is_within(path, one) for one in whole), f"no such path: {path}")
    each = collections.Counter()
    for path in whole:
        each[path[-1]] += wanted[";".join(path)]
    with open(main_chunk.rpartition(":")[0], encoding="utf-8") as file:
        lines = file.read().splitlines()
    for name, count in each.items():
        functions = 1 if name in ("C", main_chunk) else lines[int(name.rpartition(":")[2]) - 1].count("function")
        check(name == "C" or abs(found[name] - count) <= (n - 1) * functions, f"{name}: {found[name]}, wanted {count}")


def test_one_in_n_inside_of_its_like():
    """A call that is recorded for others too says that it is made inside of one of its function, which is not recorded itself: else
    its time would count once more."""
    lua(script("keep.lua", """
        local keep
        local function back() keep(0) return true end
        function keep(n) if n == 0 then return false end for _ = 1, 5000 do back() end return true end
        for _ = 1, 100 do keep(0) end
        keep(1)
    """), options="calls=one_in:20")
    listed = subprocess.run([LAMELLA, "view", "--format", "json", "--label", "keep (", "r.lamella"], capture_output=True, timeout=60, check=True).stdout
    rows = [row for row in map(json.loads, listed.splitlines()) if row["type"] == "interval" and row["weight"] == 20]
    alone = sum("recursive" not in row["flags"] for row in rows)
    check(4 <= alone <= 5, f"{alone} calls stand for 80 outside of their like, and perhaps the last one")  # four blocks of 20 behind the first
    check(len(rows) - alone >= 248, f"{len(rows) - alone} stand for 5,000 inside")


def test_programs_made_by_chance():
    ways = [*enumerate(["", "calls=tree", "calls=one_in:3", "", "calls=one_in:10", "calls=one_in:3"]), (9012, ""), *[(9018, "calls=one_in:3")] * 3]
    for seed, options in ways:  # the last ones: coroutines that end unseen, and others in their places
        plain = lua(script("chance.lua", program(seed)), out=None)
        wanted = counter_of("chance.lua")
        equal(lua("chance.lua", options=options), plain, f"what program {seed} prints")
        if "one_in" in options:
            check_one_in(int(options.rpartition(":")[2]), wanted, "chance.lua:1")
            continue
        compare(paths("r.lamella", "chance.lua:1"), wanted)
        told = report(by="label,path,caller", around="*")
        equal(told["findings"], [], f"program {seed}: nothing unbalanced, nothing lost")
        check(check_callers(told) > 5, "the program has functions")


DEEP = """
local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end
print(deep(100000), pcall(function() local function e(n) if n == 0 then error("x", 0) end return 1 + e(n - 1) end return e(20000) end))
local function f(n) if n == 0 then return end return f(n - 1) end f(1000000)
for i = 1, 100000 do pcall(error, "x") end
"""


def test_deep_stacks_and_a_million_tail_calls():
    lua(script("deep.lua", DEEP), options="calls=tree:32M")
    found = counts()
    equal(found["deep (deep.lua:2)"], 100001, "deep calls")
    equal(found["f (deep.lua:4)"], 1000001, "tail calls")
    equal(found["error (C)"], 100001, "errors")
    depths = max(row["depth"] for row in report()["paths"])
    check(100000 < depths < 100020, f"deepest path {depths}")


MANY = """
local all = {}
for i = 1, 10000 do all[i] = coroutine.create(function(n) for step = 1, 3 do n = n + coroutine.yield(step) end return n end) end
for step = 1, 4 do for i = 1, 10000 do assert(coroutine.resume(all[i], i)) end end
print(coroutine.status(all[1]))
"""


def test_ten_thousand_coroutines():
    equal(lua(script("many.lua", MANY)), lua("many.lua", out=None), "output")
    found = counts()
    equal(found["anonymous (many.lua:3)"], 10000, "bodies")
    equal(found["coroutine.yield (C)"], 30000, "yields")
    equal(found["coroutine.resume (C)"], 40000, "resumes")


# Times are CPU time here: what other programs do meanwhile must not count.
CHARGED = """
local begun = os.clock()
local function burn(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end
local function busy() while true do burn(200000) coroutine.yield() end end
local function idle() while true do coroutine.yield() end end
local a, b = coroutine.create(busy), coroutine.create(idle)
for i = 1, 100 do coroutine.resume(a) coroutine.resume(b) end
io.stdout:write(os.clock() - begun)
"""


def test_no_frame_is_charged_for_another_coroutine():
    cpu_s = float(lua(script("charged.lua", CHARGED), options="clock=cpu").decode())
    rows = {row["label"]: row for row in report()["activities"]}
    chunk = rows["main chunk (charged.lua:1)"]
    burn, idle, busy = (rows[name] for name in ("burn (charged.lua:3)", "idle (charged.lua:5)", "busy (charged.lua:4)"))
    whole = sum(row["self_s"] for row in rows.values() if row["label"] != "require (C)" and not row["label"].startswith(os.path.basename(os.path.realpath(LUA)) + "+0x"))
    check(abs(whole - cpu_s) < 0.02 * cpu_s, f"self times {whole}, the thread's CPU time {cpu_s}")
    check(burn["self_s"] > 0.8 * cpu_s, f"burn {burn}")
    check(idle["active_s"] < 0.1 * cpu_s, f"idle is charged {idle['active_s']} of {cpu_s}")
    check(busy["active_s"] < 1.01 * cpu_s and chunk["self_s"] < 0.1 * cpu_s, "busy holds burn; the chunk waits for both")


HOOKS = """
local seen = {}
local function hook(event, line) seen[event] = (seen[event] or 0) + 1 if line then seen.last = line end end
local function work(n) local x = 0 for i = 1, n do x = x + 1 end return x end
print(debug.gethook())
debug.sethook(hook, "crl", 7)
work(3)
local f, mask, count = debug.gethook()
print(f == hook, mask, count)
debug.sethook()
work(3)
print(debug.gethook())
print(pcall(debug.sethook, hook), pcall(debug.sethook, 1, 2))
local co = coroutine.create(function() work(2) coroutine.yield() work(2) end)
debug.sethook(co, hook, "l")
coroutine.resume(co) coroutine.resume(co)
print(debug.gethook(co) == hook, debug.gethook())
debug.sethook(function() debug.sethook() error("out of time") end, "", 1000)
print(pcall(work, 1e7))
local keys = {}
for key, value in pairs(seen) do keys[#keys + 1] = key .. "=" .. value end
table.sort(keys)
print(table.concat(keys, " "))
work(1)
"""


def test_hooks_of_the_script_go_on_and_so_do_ours():
    equal(lua(script("hooks.lua", HOOKS)), lua("hooks.lua", out=None), "output")
    equal(counts()["work (hooks.lua:4)"], 6, "calls")


def test_ends_of_processes():
    calls = "local function f(how) how() end\n"
    lua(script("exit.lua", calls + "f(function() os.exit(3) end)"), expect=3)
    found = counts()
    equal((found["f (exit.lua:1)"], found["os.exit (C)"]), (1, 1), "os.exit")
    lua(script("close.lua", calls + "coroutine.wrap(function() f(function() os.exit(4, true) end) end)()"), expect=4)
    equal(counts()["f (close.lua:1)"], 1, "os.exit that closes the state, in a coroutine")
    lua(script("error.lua", calls + "f(function() error('the end') end)"), expect=1)
    equal(counts()["error (C)"], 1, "an error that nobody catches")
    kill = calls + "f(function() os.execute('kill -9 ' .. io.open('/proc/self/stat'):read('n')) while true do end end)"
    lua(script("kill.lua", kill), expect=-signal.SIGKILL)
    rows = {row["label"]: row for row in report()["activities"]}
    equal((rows["f (kill.lua:1)"]["count"], rows["f (kill.lua:1)"]["open"]), (1, 1), "killed in a call")


def test_memory_runs_out():
    text = "local function grow(t) for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end end\nprint((pcall(grow, {})))\ngrow = nil\nprint(#('y'):rep(10))"
    limit = 120_000 * 1024
    command = ["prlimit", f"--as={limit}", LUA, "-l", "lamella", script("memory.lua", text)]
    env = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;", "LAMELLA_OUT": "r.lamella"}
    done = subprocess.run(command, env=env, capture_output=True, timeout=60, check=False)
    equal((done.returncode, done.stdout), (0, b"false\n10\n"), "output")
    equal(counts()["grow (memory.lua:1)"] + counts()["anonymous (memory.lua:1)"], 1, "the call that failed")


def test_off_and_globals():
    text = script("globals.lua", "for name in pairs(_G) do if name:find('lamella') then print(name) end end print(debug.gethook(), package.loaded.lamella ~= nil)")
    equal(lua(text), b"nil\ttrue\n", "with")
    equal(lua(text, out=None), b"nil\ttrue\n", "off")
    kept = script("kept.lua", "lamella = require 'lamella' local function f() end f() print(type(lamella))")
    env = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;"}
    done = subprocess.run([LUA, kept], env=env, capture_output=True, timeout=60, check=True)
    equal(done.stdout, b"table\n", "a global of the script's own")


API = """
local lamella = require "lamella"
local function inside(n) if n > 0 then inside(n - 1) return end
  assert(lamella.start{path = "api.lamella", options = "max_bytes=8M"})
  assert(lamella.start()) -- again: nothing new
end
local old = coroutine.wrap(function() inside(0) coroutine.yield() inside(-1) end)
local function f() end
local older = coroutine.create(function() while true do f() coroutine.yield() end end)
coroutine.resume(older)
inside(30)
for i = 1, 5 do f() end
coroutine.resume(older)
do local part <close> = lamella.interval("part") f() lamella.instant("mark") lamella.instant("level", 42) end
local other = lamella.interval("other", "Phase") other:finish() other:finish()
local function stops() lamella.stop() end
stops()
f()
lamella.stop()
print(lamella.start{path = "/proc/nothing"})
lamella.instant("off") lamella.interval("off"):finish()
"""


def test_started_deep_in_a_stack_and_stopped_in_a_call():
    shutil.rmtree("api.lamella", ignore_errors=True)
    env = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;"}
    env.pop("LAMELLA_OUT", None)
    done = subprocess.run([LUA, script("api.lua", API)], env=env, capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, done.stderr)
    check(done.stdout.startswith(b"nil\t/proc/nothing: "), f"start that fails: {done.stdout}")
    found = counts("api.lamella")
    equal(found["inside (api.lua:3)"] + found["anonymous (api.lua:3)"], 31, "calls that were open at the start")
    equal(found["f (api.lua:8)"], 7, "calls, one of them in a coroutine that is older than the start")
    equal(found["stops (api.lua:16)"], 1, "the call that stops")
    equal((found["part"], found["other"]), (1, 1), "intervals")
    deepest = max(row["depth"] for row in report("api.lamella")["paths"])
    check(deepest >= 31, f"depth {deepest}")


WISHES = """
local start, stop = require "lamella".start, require "lamella".stop
print(start{pth = "x"}) print(start{[1] = "x"}) print(start(7)) print(start{path = 7}) print(start{path = "a\\0b"}) print(start{options = true}) print(start{count = "x"}) print(start{count = -1})
print(start{options = "calls=bogus"})
print(start(setmetatable({path = "x.lamella"}, {__index = {options = "mode=flight"}})))
print(start{path = "x.lamella"})
print(start{path = "y.lamella"})
print(start{count = 7})
print(start{})
local function f() end
f()
stop()
print(start())
"""


def test_what_start_does_not_take():
    env = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;"}
    env.pop("LAMELLA_OUT", None)
    refused = [b"nil\t'pth' is none of path, options and count", b"nil\ta number as a key is none of path, options and count",
               b"nil\tstart takes a table, not number", b"nil\tpath should be a string, not number", b"nil\tpath should be a string, not one with zeros in it",
               b"nil\toptions should be a string, not boolean", *[b"nil\tcount should be a number of instructions, or 0 for every call"] * 2,
               b"nil\toptions: calls: `bogus` should be all, one_in, threshold, tree or auto", b"nil\toptions: mode=flight needs max_bytes"]
    count = b"true\tthe count stays as it is: recording is on already"
    shutil.rmtree("x.lamella", ignore_errors=True)
    done = subprocess.run([LUA, script("wishes.lua", WISHES)], env=env, capture_output=True, timeout=60, check=False)
    open_already = b"true\tpath and options do not count: the recorder is open already"
    equal(done.stdout.splitlines(), refused + [b"true", open_already, count, b"true", b"nil\tno path and no LAMELLA_OUT"], done.stderr)
    check(os.path.exists("x.lamella") and not os.path.exists("y.lamella"), "one recording")
    shutil.rmtree("x.lamella")
    lines = lua("wishes.lua").splitlines()
    elsewhere = [b"true\tthe path '%s.lamella' does not count: LAMELLA_OUT is set, to 'r.lamella'" % name for name in (b"x", b"y")]
    equal(lines, refused + elsewhere + [count, b"true", b"true"], "with LAMELLA_OUT")
    check(not os.path.exists("x.lamella"), "the path was said not to count")
    equal(counts()["f (wishes.lua:10)"], 1, "what is refused ends no recording")
    told = lua(script("count.lua", "local function f() end f() print(require 'lamella'.start{count = 0}) print(require 'lamella'.start())"), LAMELLA_LUA="every:100")
    equal(told, b"true\nnil\tLAMELLA_LUA should be count:NUMBER, a number of instructions\n", "start, with the variable wrong")
    equal([row["label"] for row in report().get("instants", [])], ["LAMELLA_LUA should be count:NUMBER, a number of instructions"], "what the recording says")
    equal(counts()["f (count.lua:1)"], 1, "every call then")
    done = subprocess.run([LUA, "wishes.lua"], env={**env, "LAMELLA_OPTIONS": "clock=sun"}, capture_output=True, timeout=60, check=False)
    check(b"nil\tLAMELLA_OPTIONS: clock: `sun` should be auto, tsc, " in done.stdout, done.stdout)


INTERVALS = """
local lamella = require "lamella"
local function f() local x = 0 for i = 1, 20000 do x = x + i end return x end
local function g()
  local part <close> = lamella.interval("part")
  lamella.instant("mark")
  f()
  local other = lamella.interval("other") f() other:finish()
end
g()
"""


def test_intervals_stand_among_calls():
    for options in (None, "calls=tree", "calls=threshold:1us", "calls=auto:64K"):
        lua(script("intervals.lua", INTERVALS), options=options)
        found = report()
        rows = {row["path"]: row for row in found["paths"]}
        ways = set()
        for row in rows.values():
            way = []
            while row:
                way.append(row["label"].split(" (")[0])
                row = rows.get(row["parent"])
            ways.add(tuple(way[:4]))
        for way in (("part", "g"), ("f", "part", "g"), ("f", "other", "part", "g")):
            check(any(have[: len(way)] == way for have in ways), f"{options}: no {way} in {ways}")
        equal(found["intervals"]["overlapping"], 0, f"{options}: overlapping")


C_NAMES = r"""
#include <lauxlib.h>
int exported(lua_State *L) { return lua_gettop(L); }
static int same(lua_State *L) { return lua_gettop(L); }
static int other(lua_State *L) { return lua_gettop(L); }
static int method(lua_State *L) { return lua_gettop(L); }
static int inner(lua_State *L) { return lua_gettop(L); }
static int outer(lua_State *L) { lua_pushcfunction(L, inner); lua_call(L, 0, 0); return 0; }
int luaopen_cnames(lua_State *L)
{
    luaL_newmetatable(L, "a class*");
    lua_newtable(L);
    lua_pushcfunction(L, method);
    lua_setfield(L, -2, "get");
    lua_setfield(L, -2, "__index");
    lua_newuserdatauv(L, 1, 0);
    luaL_setmetatable(L, "a class*");
    lua_pushcfunction(L, same);
    lua_pushcfunction(L, other);
    lua_pushcfunction(L, exported);
    lua_pushcfunction(L, outer);
    return 5;
}
"""


def test_c_functions_have_names():
    os.mkdir("lib")
    compile_c("lib/cnames.so", C_NAMES, "-shared", "-fPIC", "-g", *lua_flags("--cflags"))
    text = """local object, same, other, exported, outer = assert(package.loadlib('./lib/cnames.so', 'luaopen_cnames'))()
local f = same f() f() f = other f() object:get() exported() outer() io.stdout:write('')"""
    lua(script("count.lua", text))

    def names(found):
        return {label: count for label, count in found.items() if "cnames" in label or "*:" in label or "exported" in label or "luaopen" in label}

    lines = {name: number for number, line in enumerate(C_NAMES.splitlines(), 1) for name in ("same", "other", "inner", "outer") if f"int {name}(" in line}
    wanted = {f"{name} (C, cnames.so.c:{line})": 2 if name == "same" else 1 for name, line in lines.items()}
    wanted.update({"a class*:get (C)": 1, "FILE*:write (C)": 1, "exported (C)": 1, "luaopen_cnames (C)": 1})
    equal(names(counts()), wanted, "with debug information")
    subprocess.run(["strip", "lib/cnames.so"], check=True)
    lua("count.lua")
    os.remove("lib/cnames.so")  # and what is gone before the report is made
    found = counts()
    called = sorted((re.sub("0x[0-9a-f]+", "0x", label), count) for label, count in found.items() if "cnames.so+0x" in label)
    equal(called, [("cnames.so+0x (C)", 1), ("f (C, cnames.so+0x)", 1), ("f (C, cnames.so+0x)", 2), ("outer (C, cnames.so+0x)", 1)], f"without: {found}")
    equal({label: count for label, count in wanted.items() if label in found}, {label: 1 for label in wanted if ", " not in label}, f"names that do not depend on it: {found}")


NAMES = b"""
local strange = setmetatable({}, {__index = function(t, k) return function() return 1 end end})
strange["a\\27b"]() strange["semi;colon 12"]() strange["nl\\n"]() strange["\\255\\254"]() strange["nul\\0x"]() strange[("e"):rep(100000)]()
load("return 1", "@" .. ("long/"):rep(2000) .. "x.lua")()
load("return 1", ("text "):rep(5000) .. "= nil")
load(string.dump(load("local a = ... return a"), true))(1)
for i = 1, 3 do (function() end)() end
local zero = {["nul\\0x"] = function() return 1 end} zero["nul\\0x"]()
package.loaded["m\\0d"] = {["f\\0n"] = function() end}
package.loaded["m\\0d"]["f\\0n"]()
local bytes = string.dump(load("return 7", "@a source!"))
load(bytes:gsub("a source!", "a\\0source!"))()
require "lamella".interval("part\\0 2"):finish()
print(1)
"""


def test_names_of_any_bytes():
    equal(lua(script("names.lua", NAMES)), b"1\n", "output")
    found = counts()
    check(any("a\x1bb" in name or "a\\x1bb" in name for name in found), f"escape: {list(found)}")
    wanted = ("nul\0x (names.lua:8)", "m\0d.f\0n (names.lua:9)", "main chunk (a\0source!:1)", "part\0 2", "main chunk (?:1)")
    equal({name: found[name] for name in wanted}, dict.fromkeys(wanted, 1), "names with zeros")
    long = [name for name in found if "..." in name]
    check(any(name.endswith('long/x.lua:1)') for name in long) and all(name.endswith(":1)") for name in long), f"the end of a long source is told: {long}")
    done = subprocess.run([LAMELLA, "report", "--top", "0", "r.lamella"], capture_output=True, timeout=60, check=False)
    check(b"nul\\x00x (names.lua:8)" in done.stdout and b"\0" not in done.stdout, f"text: {done.stdout}")
    for to, zero in (("folded", b"\\x00"), ("flamegraph", b"\\x00"), ("chrome", b"\\u0000"), ("firefox", b"\\u0000"), ("perfetto", b"\\x00"), ("speedscope", b"\\u0000")):
        done = subprocess.run([LAMELLA, "export", "--to", to, "-o", "x." + to, "r.lamella"], capture_output=True, timeout=60, check=False)
        equal(done.returncode, 0, f"{to}: {done.stderr}")
        with open("x." + to, "rb") as file:
            text = file.read()
        is_told = b"nul%sx (names.lua:8)" % zero in text and b"part%s 2" % zero in text
        check(is_told or to == "flamegraph", f"{to}: no name with a zero")  # in a picture what is narrow is left out
        check(to == "perfetto" or b"\0" not in text, f"{to}: zeros")
    with open("x.chrome", encoding="utf-8") as file:
        json.load(file)


def test_start_and_hooks_at_odd_times():
    late = """
        local x = setmetatable({}, {__gc = function()
            print(require("lamella").start())
            local co = coroutine.create(function() for i = 1, 1000 do tostring(i) end end)
            print(debug.gethook(co), coroutine.resume(co))
        end})
        require "lamella"
    """
    env = {"LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;", "LAMELLA_OUT": "late.lamella", "LAMELLA_OPTIONS": "calls=one_in:2", "MALLOC_PERTURB_": "165"}
    done = subprocess.run([LUA, script("late.lua", late)], env={**os.environ, **env}, capture_output=True, timeout=60, check=False)
    equal((done.returncode, done.stdout), (0, b"nil\tclosed\nnil\ttrue\n"), f"start while the state is closed: {done.stderr}")
    odd = """
        local l = require "lamella"
        local co = coroutine.create(function() while true do coroutine.yield() end end)
        l.start{}
        debug.sethook(co, function() end, "c")
        l.stop()
        debug.sethook(co)
        l.start{}
        coroutine.resume(co)
        print(debug.gethook(co))
    """
    equal(lua(script("odd.lua", odd)), b"nil\n", "a hook that the script took off while nothing was recorded")


def test_sampled_by_count():
    lua(script("count.lua", "local function inner() local x = 0 for i = 1, 2000000 do x = x + i end return x end\nfor i = 1, 5 do inner() end"), LAMELLA_LUA="count:100000")
    rows = {row["label"]: row for row in report()["activities"]}
    inner = rows.get("inner (count.lua:1)") or rows.get("anonymous (count.lua:1)")
    check(inner and inner["count"] >= 1 and inner["self_s"] > 0.5 * sum(row["self_s"] for row in rows.values()), f"inner: {rows}")


def test_bounded():
    text = script("loop.lua", "local function f(x) return x end local function g() for i = 1, 1000 do f(i) end end for i = 1, 500 do g() end")
    for options in ("max_bytes=1M", "max_bytes=1M,mode=flight", "max_bytes=1M,calls=tree:256K", "max_bytes=1M,calls=auto:512K", "max_bytes=1M,calls=one_in:1000", "max_bytes=1M,calls=threshold:1ms"):
        lua(text, options=options)
        size = sum(os.path.getsize(os.path.join("r.lamella", name)) for name in os.listdir("r.lamella"))
        check(size < (1 << 20) + 8192, f"{options}: {size} bytes")
        found = {row["label"]: row["count"] for row in report()["activities"]}
        if "tree" in options or "auto" in options:
            equal(found["f (loop.lua:1)"], 500000, options)
        check(any("loop.lua" in name for name in found), f"{options}: {found}")
        done = subprocess.run([LAMELLA, "report", "r.lamella"], capture_output=True, text=True, timeout=60, check=False)
        head = done.stdout.split("time went, by label")[1].split("\n")[:2]
        check(("median" in head[1]) == ("tree" not in options), f"{options}: percentiles of what was stored as a sum: {head}")
        equal("one by one" in head[1], "stored one by one" in head[0], f"{options}: {head}")
        equal("one by one" in head[1], "auto" in options or "threshold" in options, f"{options}: {head}")


MIXED = """
local function sorts(n) local t = {} for i = 1, n do t[i] = (i * 7919) % n end table.sort(t) return t end
local function loops(n) local x = 0 for i = 1, n do x = x + i % 7 end return x end
local co = coroutine.wrap(function() while true do loops(2000000) coroutine.yield() end end)
local function leaf(x) return x end
local function calls(n) for i = 1, n do leaf(i) end end
for i = 1, 10 do sorts(20000) co() calls(300000) end
"""


def folded(values):
    done = subprocess.run([LAMELLA, "export", "--to", "folded", "--of", values, "r.lamella"], capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, f"folded: {done.stderr}")
    lines = [line.rsplit(" ", 1) for line in done.stdout.decode(errors="replace").splitlines()]
    return [(path.split(";"), int(value)) for path, value in lines]


def test_sampled_c_frames_lie_under_the_lua_function_that_called_them():
    env = {**os.environ, "LUA_CPATH": os.path.join(BUILD, "plugins", "lua", "?.so") + ";;"}
    done = subprocess.run([LAMELLA, "record", "-o", "r.lamella", "--", LUA, "-l", "lamella", script("mixed.lua", MIXED)], env=env, capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, done.stderr)
    trace = chrome_events()
    rows = {event["args"]["name"] for event in trace if event["ph"] == "M" and event["name"] == "thread_name"}
    check({"main", "anonymous (mixed.lua:4)"} <= rows, f"a row for each track: {rows}")
    mixed = folded("mixed")
    equal(sum(value for _, value in mixed), sum(value for _, value in folded("samples")), "CPU time of all samples")
    sorting = [path for path, _ in mixed if "sorts (mixed.lua:2)" in path]
    check(any(path[-1].startswith("lua_") and "table.sort (C)" in path for path in sorting), f"C frames under table.sort: {sorting}")
    check(not any("loops (mixed.lua:3)" in path for path in sorting), "another coroutine's samples")
    check(any(path[1:3] == ["anonymous (mixed.lua:4)", "loops (mixed.lua:3)"] for path, _ in mixed), f"the coroutine's own: {mixed}")
    check(not any("main chunk (mixed.lua:1)" in path and "__libc_start_main" in path for path, _ in mixed), "the interpreter's own frames are left out")
    # Functions stand in for the phases of compilers, and the Lua function is the caller of the C frames.
    done = subprocess.run([LAMELLA, "report", "r.lamella"], capture_output=True, timeout=60, check=False)
    check(b"by module" in done.stdout and b"By function" in done.stdout and b"unknown" not in done.stdout.split(b"Findings")[0], done.stdout)
    around = [row for row in report(around="table.sort (C)")["around"] if row["of"] == "samples"]
    equal([[other["function"] for other in row["callers"]] for row in around], [["sorts (mixed.lua:2)"]], "who calls table.sort")
    check(any(other["function"].startswith("lua_") and other["module"] for other in around[0]["callees"]), f"C frames are its callees: {around}")
    equal(around[0]["samples"], sum(other["samples"] for other in around[0]["callers"]), "samples of the callers add up")
    sampled = {frame for path, _ in folded("samples") for frame in path}
    check(any(frame.startswith("lam_call") for frame in sampled), f"the recorder was met at its work: {sampled}")
    check(not any(frame.startswith(("lam_call", "call_event", "lamella.so", "liblamella")) for path, _ in mixed for frame in path), "the recorder's own frames are left out")


HOST = r"""
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include "lamella/lua.h"
static const char script[] =
    "local function burn(n) local x = 0 for i = 1, n do x = x + i % 3 end return x end\n"
    "local function body(n) for i = 1, 5 do burn(n) coroutine.yield(i) end end\n"
    "function round(n) local all = {} for i = 1, 20 do all[i] = coroutine.create(body) end\n"
    "  for step = 1, 6 do for i = 1, 20 do coroutine.resume(all[i], n) end end end\n"
    "function fails() error('caught in C') end\n"
    "function steps() burn(10) coroutine.yield(1) burn(10) coroutine.yield(2) burn(10) end\n"
    "function breaks() burn(10) coroutine.yield(1) error('in a coroutine') end\n"
    "function after() burn(5) end\n";
static void drive(lua_State *L, const char *name)   /* a scheduler in C */
{
    lua_State *co = lua_newthread(L);
    int results;
    lua_getglobal(co, name);
    while (lua_resume(co, NULL, 0, &results) == LUA_YIELD) { lua_pop(co, results); lam_lua_settle(co); }
    lam_lua_settle(co);
    lua_pop(L, 1);
}
static void *run(void *arg)
{
    struct timespec from, to;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    if (arg) lam_lua_start(L);
    if (luaL_loadbuffer(L, script, sizeof script - 1, "@host.lua") || lua_pcall(L, 0, 0, 0)) return arg;
    if (!arg) lam_lua_start(L);
    for (int i = 0; i < 3; i++) {
        lua_getglobal(L, "round"); lua_pushinteger(L, 20000); lua_call(L, 1, 0);
        lua_getglobal(L, "fails"); lua_pcall(L, 0, 0, 0); lam_lua_settle(L);
        drive(L, "steps"); drive(L, "breaks"); drive(L, "after");
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    fprintf(stderr, "%.9f\n", (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    lua_close(L);
    return arg;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    lua_State *L = luaL_newstate();    /* at the same place as one before, perhaps; left open */
    luaL_openlibs(L);
    luaL_requiref(L, "lamella", luaopen_lamella, 0);
    return luaL_dostring(L, script) || luaL_dostring(L, "round(1) for _, name in ipairs{'lamella'} do print(_G[name]) end");
}
"""


def test_host_program_with_threads():
    program = compile_host("host", HOST, "-lpthread")
    done = subprocess.run([program], env={**os.environ, "LAMELLA_OUT": "cpu.lamella", "LAMELLA_OPTIONS": "clock=cpu"}, capture_output=True, timeout=60, check=True)
    cpu_s = sum(map(float, done.stderr.split()))
    told = sum(row["self_s"] for row in report("cpu.lamella")["activities"])
    check(abs(told - cpu_s) < 0.02 * cpu_s, f"self times {told}, the threads' CPU time {cpu_s}")
    done = subprocess.run([program], env={**os.environ, "LAMELLA_OUT": "r.lamella"}, capture_output=True, timeout=60, check=False)
    equal((done.returncode, done.stdout), (0, b"nil\n"), "the host")
    found = collections.Counter()
    rows = report()["activities"]
    for row in rows:
        found[row["label"]] += row["count"]
        equal(row["open"], 0, row["label"])
    wanted = {"round (host.lua:3)": 12, "burn (host.lua:1)": 12 * (100 + 3 + 1 + 1), "fails (host.lua:5)": 12, "steps (host.lua:6)": 12,
              "breaks (host.lua:7)": 12, "after (host.lua:8)": 12, "body (host.lua:2)": 12 * 20}
    got = {name: found[name] for name in wanted}
    got["body (host.lua:2)"] = found["anonymous (host.lua:2)"]
    equal(got, wanted, "calls")


TWICE = """
local a = require "lamella"
package.loaded.lamella = nil
assert(require "lamella")
local b = assert(package.loadlib(COPY, "luaopen_lamella"))("lamella", "x")
local function work() return 1 end
for i = 1, 10 do work() end
local co = coroutine.wrap(function() work() coroutine.yield() work() end)
co() co()
debug.sethook(function() end, "c") print(debug.gethook() ~= nil) debug.sethook() print(debug.gethook())
print(b.start())
work()
a.stop()
b.stop()
work()
"""


def test_loaded_twice():
    copy = os.path.abspath("copy.so")
    shutil.copy(PLUGIN, copy)
    text = script("twice.lua", f"COPY = {copy!r}" + TWICE)
    equal(lua(text, LD_LIBRARY_PATH=os.path.abspath(BUILD)), b"true\nnil\ntrue\n", "output")
    equal(counts()["work (twice.lua:6)"], 13, "calls, each told once")


REFUSED = r"""
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lamella/lua.h"
static long asked, refused;
static int is_armed;
static void *allocate(void *ud, void *block, size_t before, size_t size)
{
    if (!size) { free(block); return ud; }
    if (is_armed && (!block || size > before) && ++asked >= refused && refused) return NULL;
    return realloc(block, size);
}
static const char script[] =
    "function f(n) if n == 0 then return {} end local t = f(n - 1) t[#t + 1] = n .. 'x' return t end function g(...)\n"
    "  local c = coroutine.wrap(function(a) for i = 1, 3 do coroutine.yield(f(i)) end end) for i = 1, 3 do c() end return select('#', ...) end\n"
    "local mt = setmetatable({}, {__index = function(t, k) return #k end, __close = function() f(1) end})\n"
    "local function h() local x <close> = mt g(1, 2) return load('return ' .. mt.abc)() end\n"
    "local log = {}\n"
    "for i = 1, 3 do log[#log + 1] = tostring(h()) log[#log + 1] = tostring((pcall(error, {}))) table.sort({3, 2, i}, function(a, b) return a < b end) end\n"
    "local co = coroutine.create(function() g() error('x') end) coroutine.resume(co) coroutine.close(co)\n"
    "return table.concat(log, ',')\n";
static void nothing(lua_State *L, lua_Debug *ar) { (void)L; (void)ar; }
static long run(long refuse, int is_recorded, char *text, size_t size)
{
    lua_State *L = lua_newstate(allocate, NULL);
    luaL_openlibs(L);
    lua_gc(L, LUA_GCSTOP);
    lam_lua_start(L);   /* this may ask */
    if (!is_recorded) { lam_lua_stop(L); lua_sethook(L, nothing, LUA_MASKCALL | LUA_MASKRET, 0); }
    asked = 0, refused = refuse, is_armed = 1;
    int rc = luaL_loadbuffer(L, script, sizeof script - 1, "@refused.lua");
    if (!rc) rc = lua_pcall(L, 0, 1, 0);
    if (is_recorded) lam_lua_settle(L);
    is_armed = 0;
    snprintf(text, size, "%d %s", rc, lua_tostring(L, -1));
    lua_close(L);
    return asked;
}
int main(void)
{
    char plain[256], recorded[256];
    long all = run(0, 0, plain, sizeof plain), same = run(0, 1, recorded, sizeof recorded), wrong = all != same || strcmp(plain, recorded);
    for (long at = 1; at <= all; at++) {
        run(at, 0, plain, sizeof plain);
        run(at, 1, recorded, sizeof recorded);
        wrong += strcmp(plain, recorded) != 0;
    }
    printf("%s\n%s, %ld of %ld wrong\n", plain, recorded, wrong, all);
    return wrong != 0;
}
"""


def test_nothing_is_asked_of_luas_memory():
    """As many requests as under an empty hook, and each of them refused in turn ends the same way."""
    program = compile_host("refused", REFUSED)
    done = subprocess.run([program], env={**os.environ, "LAMELLA_OUT": "r.lamella"}, capture_output=True, timeout=60, check=False)
    equal(done.returncode, 0, done.stdout)
    found = counts()
    check(found["f (refused.lua:1)"] > 1000 and found["g (refused.lua:1)"] > 100, f"two functions of one line: {found}")


OTHER_LAYOUT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lamella/lua.h"
/* What another Lua would be like, for whoever asks for the places of calls and functions: argv[1] says how it differs. */
static char how;
static char *moved(const void *from, int by)
{
    char *copy = calloc(1, 512);
    memcpy(copy + by, from, 256);
    return copy;
}
int lua_getstack(lua_State *L, int level, lua_Debug *ar)
{
    static int (*real)(lua_State *, int, lua_Debug *);
    if (!real) real = (int (*)(lua_State *, int, lua_Debug *))dlsym(RTLD_NEXT, "lua_getstack");
    int is_there = real(L, level, ar);
    if (!is_there || level) return is_there;
    char *call = (char *)ar->i_ci;
    if (how == 'm') call = moved(call, 8);                                   /* all 8 bytes later */
    if (how == 'e') call = calloc(1, 512);                                   /* nothing where it is looked for */
    if (how == 'b') call = (char *)8;                                        /* no memory there */
    if (how == 'v') memcpy((call = moved(call, 0)), &(char *){(char *)3}, 8);    /* a value that is none */
    if (how == 'c') memcpy((call = moved(call, 0)) + 16, &call, 8);          /* a list without end */
    ar->i_ci = (struct CallInfo *)call;
    return 1;
}
const void *lua_topointer(lua_State *L, int index)
{
    static const void *(*real)(lua_State *, int);
    if (!real) real = (const void *(*)(lua_State *, int))dlsym(RTLD_NEXT, "lua_topointer");
    const void *at = real(L, index);
    return how == 'f' && lua_isfunction(L, index) ? moved(at, 8) : how == 'n' ? (const void *)16 : at;
}
lua_Number lua_version(lua_State *L) { (void)L; return how == '5' ? 505 : 504; }
int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    how = argv[argc - 1][0];
    int rc = lam_lua_start(L);
    if (how != '5') luaL_requiref(L, "lamella", luaopen_lamella, 1);
    static const char text[] = "local function f() end for i = 1, 3 do f() end if lamella then print(lamella.start()) else print(nil) end print(pcall(error, 'x'), debug.gethook())";
    if (luaL_loadbuffer(L, text, sizeof text - 1, "@other.lua") || lua_pcall(L, 0, 0, 0)) puts(lua_tostring(L, -1));
    lua_close(L);
    printf("%d\n", rc);
    return 0;
}
"""


def test_a_lua_of_another_layout_is_refused():
    program = compile_host("other", OTHER_LAYOUT, "-ldl")
    for how in "mebvcfn5 ":
        shutil.rmtree("r.lamella", ignore_errors=True)
        done = subprocess.run([program, how], env={**os.environ, "LAMELLA_OUT": "r.lamella"}, capture_output=True, text=True, timeout=60, check=False)
        why = "nil\tthis Lua keeps its calls in a way that is not known"
        started = "true" if how == " " else "nil" if how == "5" else why
        equal((done.returncode, done.stdout.splitlines()), (0, [started, "false\tnil", "0" if how == " " else "-7"]), f"another layout, {how}")
        data = report(by="label")
        calls = [row["count"] for row in data["activities"] if row["label"] == "f (other.lua:1)"]
        told = [row["label"] for row in data.get("instants", [])]
        equal((calls, told), ([3] if how == " " else [], [] if how in " 5" else [why[4:]]), f"{how}: what the recording has")


NESTED = r"""
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include "lamella/lua.h"
static lua_State *begin(void) { lua_State *L = luaL_newstate(); luaL_openlibs(L); lam_lua_start(L); return L; }
static int other(lua_State *L)  /* a universe inside of a call of another one */
{
    lua_State *inner = begin();
    if (luaL_dostring(inner, "local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end deep(3)")) return luaL_error(L, "inner");
    lua_close(inner);
    return 0;
}
int main(void)
{
    lua_State *L = begin();
    lua_register(L, "other", other);
    { LAM_SCOPE("before"); }
    int rc = luaL_dostring(L, "local function body() other() coroutine.yield() other() end\n"
                              "local function fails() other() error('x') end\n"
                              "for i = 1, 3 do local co = coroutine.wrap(body) co() other() co() pcall(coroutine.wrap(fails)) end");
    { LAM_SCOPE("open state"); }
    lua_close(L);
    { LAM_SCOPE("after"); }
    return rc;
}
"""


def test_universes_inside_of_each_other():
    program = compile_host("nested", NESTED)
    subprocess.run([program], env={**os.environ, "LAMELLA_OUT": "r.lamella"}, timeout=60, check=True)
    found = counts()
    equal((found["other (C)"], found["error (C)"]), (12, 3), "calls")
    events = chrome_events()
    rows = {event["tid"] for event in events if event["name"] in ("before", "open state", "after") and event["ph"] != "M"}
    equal(len(rows), 1, "the host's own events stay in the thread's row")
    mains = {event["tid"] for event in events if event["name"].startswith("main chunk") and event["ph"] != "M"}
    check(mains and not mains & rows, f"tracks: {rows} {mains}")


UNSEEN = r"""
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include "lamella/lua.h"
static lua_State *begin(void) { lua_State *L = luaL_newstate(); luaL_openlibs(L); lam_lua_start(L); return L; }
static int drives(lua_State *L)  /* a universe ends, and a new coroutine runs and ends by an error: nothing of the caller's tells it */
{
    lua_close(begin());
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    int results;
    lua_resume(co, L, 0, &results);
    lua_settop(L, 1);
    lua_gc(L, LUA_GCCOLLECT);
    return 0;
}
int main(void)
{
    struct lam_options options;
    lua_State *L = begin();
    lua_register(L, "drives", drives);
    { LAM_SCOPE("before"); }
    int rc = luaL_dostring(L, "local function f() end for i = 1, 3 do drives(function() f() error('x') end) f() end");
    { LAM_SCOPE("between"); }
    rc |= luaL_dostring(L, "local function g() end g() g()");
    { LAM_SCOPE("after"); }
    lam_close();
    rc |= luaL_dostring(L, "local function not_recorded() end not_recorded()");
    lam_options_init(&options);
    options.path = "again.lamella";
    unsetenv("LAMELLA_OUT");
    rc |= lam_open(&options) | lam_lua_start(L);
    rc |= luaL_dostring(L, "local function again() end again() again()");
    lua_close(L);
    return rc;
}
"""


def test_what_ends_unseen():
    program = compile_host("unseen", UNSEEN)
    for options in ("calls=all", "calls=one_in:2"):
        for out in ("r.lamella", "again.lamella"):
            shutil.rmtree(out, ignore_errors=True)
        subprocess.run([program], env={**os.environ, "LAMELLA_OUT": "r.lamella", "LAMELLA_OPTIONS": options, "MALLOC_PERTURB_": "165"}, timeout=60, check=True)
        events = chrome_events()
        rows = {event["tid"] for event in events if event["name"] in ("before", "between", "after") and event["ph"] != "M"}
        equal(len(rows), 1, f"{options}: the host's own events stay in the thread's row")
        found = str(sorted(row["label"] for row in report(by="label")["activities"]))
        check("'g ([string" in found and "not_recorded" not in found, f"{options}: {found}")
    again = counts("again.lamella")
    equal(sum(count for label, count in again.items() if label.startswith("again (")), 2, f"a recording that is opened later: {again}")


CATCHES = r"""
#include <lauxlib.h>
#include <time.h>
static void burn(void) { struct timespec from, now; clock_gettime(CLOCK_MONOTONIC, &from); do clock_gettime(CLOCK_MONOTONIC, &now); while ((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec - from.tv_nsec < 300000); }
/* catches(f, g): f ends by an error, which is caught here, as no function of Lua's catches it. */
static int catches(lua_State *L)
{
    int has_next = lua_gettop(L) == 2;
    lua_pushvalue(L, 1);
    lua_pcall(L, 0, 0, 0);
    burn();
    if (!has_next) return 0;
    luaL_checkstack(L, 50, NULL);
    lua_settop(L, 40);    /* the next call stands further inside than the one that is gone */
    lua_pushvalue(L, 2);
    lua_call(L, 0, 0);
    burn();
    return 0;
}
int luaopen_catches(lua_State *L) { lua_pushcfunction(L, catches); return 1; }
"""

CAUGHT = """
local catches = require "catches"
local function deep(n) if n == 0 then error("x") end deep(n - 1) return n end
local function fails() deep(3) return 1 end
local function after() end
local function last() end
catches(fails, after)
catches(fails)
last()
"""


def test_an_error_that_is_caught_in_c():
    """What it left ends with the next call or return of the coroutine, at the latest when the function that caught it returns."""
    compile_c("catches.so", CATCHES, "-shared", "-fPIC", *lua_flags("--cflags"))
    path = os.path.join(BUILD, "plugins", "lua", "?.so") + ";./?.so"
    for options in (None, "calls=one_in:2"):
        lua(script("caught.lua", CAUGHT), LUA_CPATH=path, options=options)
        done = subprocess.run([LAMELLA, "view", "--format", "json", "--show", "intervals", "r.lamella"], capture_output=True, timeout=60, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        calls = [(row["label"].split(" (")[0], row["start_ns"], row["end_ns"], row["flags"]) for row in rows if row["type"] == "interval"]
        check(not any("open" in flags or "overlaps" in flags for *_, flags in calls), f"{options}: {calls}")
        if options:
            continue
        caught = [call for call in calls if call[0] == "catches"]
        left = [call for call in calls if call[0] in ("fails", "deep", "error")]
        after, last = ([call for call in calls if call[0] == name][0] for name in ("after", "last"))
        equal((len(caught), len(left)), (2, 12), "calls")
        check(all(caught[0][1] < call[1] and call[2] <= after[1] for call in left[:6]), f"before the next call: {calls}")
        check(all(caught[1][1] < call[1] and call[2] <= caught[1][2] for call in left[6:]) and caught[1][2] <= last[1], f"with the function that caught it: {calls}")


FORK = """
#include <lauxlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int forks(lua_State *L) { lua_pushinteger(L, fork()); return 1; }
static int waits(lua_State *L) { (void)L; wait(NULL); return 0; }
int luaopen_forks(lua_State *L) { lua_pushcfunction(L, forks); lua_setglobal(L, "fork"); lua_pushcfunction(L, waits); lua_setglobal(L, "wait"); return 0; }
"""

FORKS = """
require "forks"
local function g() end
local co
local function f()
  local pid = fork()
  for i = 1, pid == 0 and 3 or 2 do g() end
  if pid ~= 0 then wait() end
  coroutine.yield(pid)
  g()
end
co = coroutine.wrap(f)
local pid = co()
co()
g()
"""


def test_fork_inside_of_calls():
    compile_c("forks.so", FORK, "-shared", "-fPIC", *lua_flags("--cflags"))
    equal(lua(script("forking.lua", FORKS), LUA_CPATH=os.path.join(BUILD, "plugins", "lua", "?.so") + ";./?.so"), b"", "output")
    data = report()
    found = collections.Counter()
    for row in data["activities"]:
        found[row["label"]] += row["count"]
    streams = [name for name in os.listdir("r.lamella") if name.endswith(".lam")]
    equal(len(streams), 2, "streams")
    equal((found["g (forking.lua:3)"], found["f (forking.lua:5)"]), (9, 2), "calls of parent and child, which both return from the call that forks")
    equal(data["findings"], [], "nothing unbalanced")


if __name__ == "__main__":
    if not LUA or not os.path.exists(PLUGIN):
        print("no Lua 5.4, or the plug-in was not built")
        sys.exit(77)
    main(globals())
