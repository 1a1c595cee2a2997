"""Calls of all sorts, the same in each run."""
import asyncio
import collections
import gc
import sys
import threading
import types


def recursive(n):
    return n if n < 2 else recursive(n - 1) + recursive(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def adders():
    def adder(n):
        def add(x):
            return x + n

        return add

    return sum(adder(i)(i) for i in range(20))


def throws(n):
    if n == 0:
        raise KeyError("thrown")
    throws(n - 1)


def catches():
    caught = 0
    for i in range(20):
        try:
            throws(10)
        except KeyError:
            caught += 1
        try:
            [throws(i) for _ in "x"]
        finally:
            continue
    return caught


class Thing:
    def __init__(self):
        self.value = 0

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.value += recursive(2)
        return True

    @property
    def half(self):
        return self.value // 2

    @classmethod
    def make(cls):
        return cls()

    def __del__(self):
        recursive(1)


def things():
    for _ in range(5):
        with Thing.make() as thing:
            thing.half
            throws(1)
    return list(map(lambda x: x + recursive(2), sorted([3, 1, 2], key=lambda x: -x)))


def count_to(n):
    for i in range(n):
        recursive(3)
        yield i


def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)


def echo():
    got = None
    while True:
        try:
            got = yield recursive(2) + (got or 0)
        except KeyError:
            got = 100
        except ValueError:
            return


def outer_echo():
    yield from echo()
    yield -1


def generators():
    total = 0
    for a, b in zip(count_to(20), count_to(30)):  # the first is exhausted, the second abandoned
        total += a * b
    total += sum(tree(5)) + next(i for i in range(10))
    gc.collect()
    one, two = echo(), outer_echo()
    for generator in (one, two):
        total += next(generator) + generator.send(5)
        total += generator.throw(KeyError)
    one.close()
    total += two.throw(ValueError)
    two.close()
    unstarted = echo()
    try:
        unstarted.throw(IndexError)
    except IndexError:
        total += 1
    count_to(5)  # never begun
    return total + sum(a + b for a in count_to(3) for b in count_to(2))


def round_robin():
    """A scheduler of the program's own."""
    done = []

    def task(name, n):
        for i in range(n):
            recursive(2)
            yield
        done.append(name)

    queue = collections.deque(task(i, i % 7) for i in range(30))
    while queue:
        running = queue.popleft()
        try:
            next(running)
            queue.append(running)
        except StopIteration:
            pass
    return sum(done)


@types.coroutine
def bare_yield():
    yield


class Awaitable:
    def __await__(self):
        recursive(2)
        yield
        return 3


async def leaf(n):
    await asyncio.sleep(0)
    return recursive(n)


async def branch(n):
    total = await leaf(n)
    total += await leaf(n + 1)
    await bare_yield()
    return total + await Awaitable()


async def numbers(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


async def reads(n):
    async for i in numbers(n):
        recursive(i)
    return [i async for i in numbers(2)]


async def cancelled():
    try:
        await branch(1)
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        recursive(3)
        raise


async def fails():
    await leaf(1)
    raise KeyError("no")


async def many(tasks):
    results = await asyncio.gather(*(branch(i % 4) for i in range(tasks)))
    await asyncio.gather(*(reads(i % 3) for i in range(20)))
    stuck = [asyncio.ensure_future(cancelled()) for _ in range(5)]
    failing = asyncio.ensure_future(fails())
    for _ in range(10):
        await asyncio.sleep(0)
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, failing, return_exceptions=True)
    return sum(results)


def by_hand():
    """A coroutine driven without a loop, and one that is closed half-way."""
    coroutine = branch(2)
    sent = 0
    while True:
        try:
            coroutine.send(None)
            sent += 1
        except StopIteration as stop:
            sent += stop.value
            break
    other = branch(2)
    other.send(None)
    other.close()
    return sent


def thread_body(out, i):
    out[i] = recursive(8) + asyncio.run(many(10)) + sum(count_to(4))


def threads():
    out = [0] * 4
    all_threads = [threading.Thread(target=thread_body, args=(out, i)) for i in range(4)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    return out


def shared_generator():
    """One that is begun here and goes on in another thread."""
    generator = count_to(4)
    next(generator)
    thread = threading.Thread(target=lambda: [next(generator), next(generator)])
    thread.start()
    thread.join()
    return list(generator)


def from_text():
    names = {}
    exec("def made(n):\n    return n and made(n - 1)\nmade(3)", names)
    return eval("[made(i) for i in range(3)]", names)


for part in (lambda: recursive(12), lambda: even(50), adders, catches, things, generators, round_robin, by_hand, threads, shared_generator, from_text):
    print(part())
print(asyncio.run(many(int(sys.argv[1]))))
