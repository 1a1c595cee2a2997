-- Planets around a sun, pair by pair, by symplectic steps. Returns the change of the system's energy, which should be near zero.
local sqrt = math.sqrt

local function body(x, y, z, vx, vy, vz, mass)
    return { x = x, y = y, z = z, vx = vx, vy = vy, vz = vz, mass = mass }
end

local function attract(a, b, dt)
    local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
    local square = dx * dx + dy * dy + dz * dz
    local pull = dt / (square * sqrt(square))
    a.vx, a.vy, a.vz = a.vx - dx * b.mass * pull, a.vy - dy * b.mass * pull, a.vz - dz * b.mass * pull
    b.vx, b.vy, b.vz = b.vx + dx * a.mass * pull, b.vy + dy * a.mass * pull, b.vz + dz * a.mass * pull
end

local function step(bodies, dt)
    for i = 1, #bodies do
        for j = i + 1, #bodies do attract(bodies[i], bodies[j], dt) end
    end
    for _, one in ipairs(bodies) do
        one.x, one.y, one.z = one.x + dt * one.vx, one.y + dt * one.vy, one.z + dt * one.vz
    end
end

local function energy(bodies)
    local sum = 0
    for i, a in ipairs(bodies) do
        sum = sum + a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz) / 2
        for j = i + 1, #bodies do
            local b = bodies[j]
            sum = sum - a.mass * b.mass / sqrt((a.x - b.x) ^ 2 + (a.y - b.y) ^ 2 + (a.z - b.z) ^ 2)
        end
    end
    return sum
end

return function(steps)
    local bodies = { body(0, 0, 0, 0, 0, 0, 1000) }
    for i = 1, 4 do -- circular orbits at distances 10, 20, ...
        local distance = 10 * i
        bodies[i + 1] = body(distance, 0, i / 10, 0, sqrt(1000 / distance), 0, i / 100)
    end
    local before = energy(bodies)
    for _ = 1, steps do step(bodies, 0.001) end
    return string.format("%.6f", energy(bodies) - before)
end
