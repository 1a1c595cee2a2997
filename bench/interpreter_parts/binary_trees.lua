-- Many short-lived trees beside a long-lived one: calls, allocation and the collector. Returns how many nodes were counted.
local function grow(depth)
    if depth == 0 then return {} end
    return { grow(depth - 1), grow(depth - 1) }
end

local function count(tree)
    if not tree[1] then return 1 end
    return 1 + count(tree[1]) + count(tree[2])
end

return function(depth)
    local kept, nodes = grow(depth), 0
    for d = 4, depth, 2 do
        for _ = 1, 1 << (depth - d) do nodes = nodes + count(grow(d)) end
    end
    return nodes + count(kept)
end
