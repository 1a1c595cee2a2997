-- Fannkuch: the most flips that any stack of n pancakes takes until the first one lies on top. The stacks come from a generator, one
-- coroutine inside of another for each position.
local yield, wrap = coroutine.yield, coroutine.wrap

local function permute(stack, n)
    if n == 0 then return yield(stack) end
    for i = 1, n do
        stack[i], stack[n] = stack[n], stack[i]
        permute(stack, n - 1)
        stack[i], stack[n] = stack[n], stack[i]
    end
end

local function reverse(stack, n)
    for i = 1, n // 2 do stack[i], stack[n + 1 - i] = stack[n + 1 - i], stack[i] end
end

local function flips(stack)
    local copy, count = table.move(stack, 1, #stack, 1, {}), 0
    while copy[1] ~= 1 do
        reverse(copy, copy[1])
        count = count + 1
    end
    return count
end

return function(n)
    local stack, most = {}, 0
    for i = 1, n do stack[i] = i end
    for one in wrap(function() permute(stack, n) end) do most = math.max(most, flips(one)) end
    return most
end
