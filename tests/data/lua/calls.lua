-- Every way that Lua has of calling something and of leaving it again. Prints what it computes.
local function fact(n) if n < 2 then return 1 end return n * fact(n - 1) end
local even
local function odd(n) if n == 0 then return false end local r = even(n - 1) return r end
function even(n) if n == 0 then return true end local r = odd(n - 1) return r end
local function counter() local n = 0 return function() n = n + 1 return n end end
local one, two = counter(), counter()
print(fact(12), even(25), one(), one(), two(), fact(3))

local function tail(n) if n == 0 then return "tail" end return tail(n - 1) end
local function into_c(x) return tostring(x) end
print(tail(500), into_c(12), select("#", tail(3), into_c(5)) > 1)

-- Errors through ten frames, caught in Lua and in C, with handlers and with variables to be closed.
local function fall(n) if n == 0 then error({ depth = 10 }) end fall(n - 1) return nil end
for i = 1, 50 do assert(not pcall(fall, 10)) end
print(select(2, xpcall(fall, function(e) return fact(e.depth) end, 10)))
local function closing(n)
    local guard <close> = setmetatable({}, { __close = function() fact(n) end })
    if n % 2 == 0 then error("even") end
    return n
end
for i = 1, 10 do pcall(closing, i) end
for i = 1, 100 do pcall(error, "x") end
print(pcall(string.rep), pcall(nil))

-- Metamethods, callbacks from C, varargs, methods, iterators.
local vector = {}
vector.__index = function(_, key) return #key end
vector.__add = function(a, b) return fact(2) end
vector.__call = function(self, ...) return select("#", ...) end
local v = setmetatable({}, vector)
print(v + v, v.four, v(1, nil, 3))
local words = {}
string.gsub("the quick brown fox", "%a+", function(word) words[#words + 1] = word end)
table.sort(words, function(a, b) return a < b end)
print(table.concat(words, " "))
local account = { total = 0 }
function account:add(n) self.total = self.total + n return self end
account:add(1):add(2):add(3)
local function range(n) return function(last, i) if i < last then return i + 1 end end, n, 0 end
for i in range(5) do account:add(i) end
for _, value in ipairs({ 1, 2, 3 }) do account:add(value) end
print(account.total)

-- Generators, interleaved; one inside of another; abandoned ones; errors inside; a scheduler that goes around.
local function numbers(from, to) return coroutine.wrap(function() for i = from, to do coroutine.yield(i) end end) end
local a, b = numbers(1, 10), numbers(11, 15)
local sum = 0
for _ = 1, 5 do sum = sum + a() + b() end
local function walk(tree) if tree then walk(tree[1]) coroutine.yield(tree[2]) walk(tree[3]) end end
for value in coroutine.wrap(function() walk({ { nil, 1 }, 2, { { nil, 3 }, 4 } }) end) do sum = sum + value end
local function outer() for x in numbers(1, 3) do for y in numbers(x, 3) do coroutine.yield(x * y) end end end
for value in coroutine.wrap(outer) do sum = sum + value end
for i = 1, 200 do numbers(1, 2)() end
collectgarbage()
for i = 1, 200 do numbers(1, 2)() end
local failing = coroutine.create(function() fact(3) coroutine.yield(1) fall(5) end)
print(coroutine.resume(failing))
print((coroutine.resume(failing)))
print(coroutine.resume(failing))
print((pcall(coroutine.wrap(function() fact(3) fall(3) end))))
local protected = coroutine.wrap(function() print(pcall(function() coroutine.yield(1) fact(2) error("later") end)) return "end" end)
print(protected(), protected())
print(coroutine.close(coroutine.create(fact)), pcall(coroutine.yield, 1))
local queue = {}
for i = 1, 20 do
    queue[i] = coroutine.create(function() for step = 1, i do fact(step) coroutine.yield() end end)
end
local turns = 0
while #queue > 0 do
    local co = table.remove(queue, 1)
    coroutine.resume(co)
    turns = turns + 1
    if coroutine.status(co) ~= "dead" then queue[#queue + 1] = co end
end
print(sum, turns)

-- Sources from strings, names that are none, functions without debug information.
local made = load("local function inner() return 1 end\nreturn inner() + inner()")
print(made(), load("return 1", "=named")(), load("return (...)", "@x y \27\"<é>.lua")(7))
print(load(string.dump(function(n) return n end, true))(5))
for i = 1, 300 do load("local function f() return " .. i .. " end return f()", "=chunk" .. i % 7)() end
collectgarbage()
