# ctest: helper
"""Lua programs made by chance, the same for the same seed: functions that call one another in every way that Lua has, with errors,
coroutines that are resumed, closed, left suspended and yield across each other, metamethods, and variables to be closed."""

import random

START = """local budget = 0
local F, cos, mt = {}, {}, {}
local obj = setmetatable({}, mt)
local function spend() budget = budget - 1 return budget > 0 end
local function num(x) return type(x) == 'number' and x or 1 end
mt.__add = function(x, y) spend() return 1 end
mt.__tostring = function() spend() return 'obj' end
local function step(i, f, a)
  if not spend() then return 0 end
  local co = cos[i]
  if not co or coroutine.status(co) == 'dead' then co = coroutine.create(F[f]) cos[i] = co end
  if coroutine.status(co) ~= 'suspended' then return 1 end
  return coroutine.resume(co, a) and 1 or 2
end
local function wrapped(f, a)
  if not spend() then return 0 end
  local w = coroutine.wrap(F[f])
  if pcall(w, a) then pcall(w, a) end
  return 1
end
local function closing(f, a)
  if not spend() then return 0 end
  local c <close> = setmetatable({}, { __close = function(_, e) spend() if a == 3 then error('in close', 0) end end })
  return num(F[f](a))
end
local function sorted() local t = { 3, 1, 2, 5, 4 } table.sort(t, function(x, y) spend() return x < y end) return t[1] end
local function killed(f, a)
  if not spend() then return 0 end
  local co = coroutine.create(function(x) local c <close> = setmetatable({}, { __close = function() spend() spend() end }) return F[f](x) end)
  coroutine.resume(co, a)
  return coroutine.close(co) and 1 or 2
end
local function dead(f, a)
  if not spend() then return 0 end
  local co = coroutine.create(F[f])
  for i = 1, 3 do coroutine.resume(co, a) end
  return 1
end
local function items(k)
  if not spend() then return 0 end
  local s = 0
  for x in coroutine.wrap(function() for i = 1, k do spend() coroutine.yield(i) end end) do s = s + x end
  return s
end
"""

EXPRESSIONS = ["F[{f}](a)"] * 5 + [
    "select('#', pcall(F[{f}], a))",
    "(select(2, xpcall(F[{f}], function(e) return #tostring(type(e)) end, a)))",
    "#tostring(obj)",
    "(obj + 1)",
    "#string.gsub('abc', '%w', function(c) spend() return c end)",
    "(function(...) return select('#', ...) end)(a, 1)",
    "step({k}, {f}, a)",
    "wrapped({f}, a)",
    "closing({f}, a)",
    "(coroutine.isyieldable() and coroutine.yield(a) or 0)",
    "sorted()",
    "killed({f}, a)",
    "dead({f}, a)",
    "items({k})",
]


def program(seed):
    draw = random.Random(seed)
    functions = draw.randint(4, 9)

    def some(text):
        return text.format(f=draw.randint(1, functions), k=draw.randint(1, 4))

    def expression():
        return some(draw.choice(EXPRESSIONS))

    def statement():
        kind = draw.randint(0, 9)
        if kind < 6:
            return f"a = num({expression()})"
        if kind == 6:
            return some("if a % {k} == 1 then error({{}}) end")
        if kind == 7:
            return some("for i = 1, {k} do a = a + num(") + expression() + ") end"
        if kind == 8:
            return some("if a % {k} == 1 then return F[{f}](a + 1) end")
        return draw.choice(["local x = nil + a", "collectgarbage('step')", "collectgarbage('step')"])

    lines = [START]
    for f in range(1, functions + 1):
        body = ["if not spend() then " + draw.choice(["return 0", "return 0", "error('out', 0)"]) + " end"]
        body += [statement() for _ in range(draw.randint(1, 3))]
        body.append("do return " + draw.choice(["a", "tostring(a)", some("F[{f}](a)"), expression()]) + " end")
        lines.append(f"F[{f}] = function(a)\n  a = num(a)\n  " + "\n  ".join(body) + "\nend")
    lines.append("local log = {}")
    for f in range(1, functions + 1):
        lines.append(f"budget = {draw.choice([30, 60, 60])} log[#log + 1] = tostring((pcall(F[{f}], {draw.randint(1, 5)})))")
    return "\n".join([*lines, "print(table.concat(log, ' '))", ""])
