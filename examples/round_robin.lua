-- Two workers and a scheduler that gives each its turn. Recorded, each worker is a row of its own:
--   LAMELLA_OUT=out.lamella lua5.4 -l lamella round_robin.lua
local function prime(n)
    for d = 2, math.floor(math.sqrt(n)) do
        if n % d == 0 then return false end
    end
    return true
end

local function primes(limit)
    local count = 0
    for n = 2, limit do
        if prime(n) then count = count + 1 end
        if n % 1000 == 0 then coroutine.yield() end
    end
    return count
end

local function words(limit)
    local all = {}
    for n = 1, limit do
        all[#all + 1] = string.format("%05d", n * 7919 % limit)
        if n % 1000 == 0 then coroutine.yield() end
    end
    table.sort(all)
    return #all
end

local function run(tasks)
    local results = {}
    while #tasks > 0 do
        local task = table.remove(tasks, 1)
        local ok, result = coroutine.resume(task)
        if coroutine.status(task) == "dead" then
            results[#results + 1] = tostring(ok and result)
        else
            tasks[#tasks + 1] = task
        end
    end
    return results
end

local tasks = { coroutine.create(function() return primes(20000) end), coroutine.create(function() return words(30000) end) }
print(table.concat(run(tasks), " "))
