-- Counts calls by path with nothing but debug.sethook: at each call it walks the real stack. Prints PATH<tab>COUNT, the outermost call
-- first; a Lua function is called FILE:LINE, every C function C. Usage: lua counter.lua RESULTS SCRIPT
local counts = {}
local getinfo, getlocal, getupvalue, sethook, resume = debug.getinfo, debug.getlocal, debug.getupvalue, debug.sethook, coroutine.resume
local concat, insert, max = table.concat, table.insert, math.max

local function hook()
    local names, level = {}, 2
    while true do
        local info = getinfo(level, "S")
        if not info then break end
        local name = info.what == "C" and "C" or info.short_src .. ":" .. max(info.linedefined, 1)
        insert(names, 1, name)
        level = level + 1
    end
    local path = concat(names, ";")
    counts[path] = (counts[path] or 0) + 1
    local callee = getinfo(2, "Sf")
    if callee.what == "C" then -- hooks are each coroutine's own
        local _, co
        if callee.func == resume then _, co = getlocal(2, 1) else _, co = getupvalue(callee.func, 1) end
        if type(co) == "thread" and not debug.gethook(co) then sethook(co, hook, "c") end
    end
end

local out, script = arg[1], assert(loadfile(arg[2]))
sethook(hook, "c")
script()
sethook()
local file = assert(io.open(out, "w"))
for path, count in pairs(counts) do file:write(path, "\t", count, "\n") end
file:close()
