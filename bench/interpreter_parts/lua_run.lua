-- lua lua_run.lua HOW PROGRAM SIZE: runs a program with nothing, with an empty hook of C or of Lua, or with lamella where LAMELLA_OUT says
-- so. Prints its result, the CPU seconds it took, and with `count` how many calls it made.
local how, program, size = arg[1], dofile(arg[0]:gsub("lua_run.lua$", arg[2] .. ".lua") .. ""), tonumber(arg[3])
local calls = 0
if how == "lamella" then
    require "lamella"
elseif how == "hook of C" then
    require("empty_lua_hook").set()
elseif how == "hook of Lua" then
    debug.sethook(function() end, "cr")
elseif how == "count" then
    calls = require("empty_lua_hook").count
end
local begun = os.clock()
local result = program(size)
local seconds = os.clock() - begun
if how == "count" then calls = calls() else debug.sethook() end
print(result, seconds, how == "count" and calls or 0)
