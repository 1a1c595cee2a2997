"""A small ray tracer: spheres over a plane, with reflections. Many short method calls, as in the benchmark of that name in Python's
performance suite."""
import math


class Vector:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def plus(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def minus(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def times(self, factor):
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def unit(self):
        return self.times(1 / math.sqrt(self.dot(self)))

    def mirrored(self, normal):
        return self.minus(normal.times(2 * self.dot(normal)))


class Sphere:
    def __init__(self, centre, radius, colour):
        self.centre, self.radius, self.colour = centre, radius, colour

    def distance(self, origin, direction):
        to = self.centre.minus(origin)
        along = to.dot(direction)
        inside = self.radius**2 - to.dot(to) + along**2
        return along - math.sqrt(inside) if inside >= 0 else None

    def normal(self, point):
        return point.minus(self.centre).unit()

    def colour_at(self, _):
        return self.colour


class Floor:
    def distance(self, origin, direction):
        return -origin.y / direction.y if direction.y < 0 else None

    def normal(self, _):
        return Vector(0, 1, 0)

    def colour_at(self, point):
        return 0.9 if (math.floor(point.x) + math.floor(point.z)) % 2 else 0.2


class Scene:
    def __init__(self):
        self.things = [Sphere(Vector(2 * i - 3, 1 + i % 2, 6 + i), 1.0, 0.3 + 0.15 * i) for i in range(4)] + [Floor()]
        self.light = Vector(-5, 10, -5)

    def first(self, origin, direction):
        nearest = None
        for thing in self.things:
            distance = thing.distance(origin, direction)
            if distance is not None and distance > 1e-6 and (nearest is None or distance < nearest[0]):
                nearest = distance, thing
        return nearest

    def shade(self, origin, direction, depth):
        hit = self.first(origin, direction)
        if hit is None:
            return 0.1
        point = origin.plus(direction.times(hit[0]))
        normal = hit[1].normal(point)
        to_light = self.light.minus(point).unit()
        lit = max(0, to_light.dot(normal)) if self.first(point, to_light) is None else 0
        colour = hit[1].colour_at(point) * (0.2 + 0.8 * lit)
        return colour if depth == 0 else 0.7 * colour + 0.3 * self.shade(point, direction.mirrored(normal), depth - 1)


def main(size):
    scene, eye = Scene(), Vector(0, 2, -4)
    total = 0
    for y in range(size):
        for x in range(size):
            total += scene.shade(eye, Vector(x / size - 0.5, 0.5 - y / size, 1).unit(), 2)
    return round(total, 6)
