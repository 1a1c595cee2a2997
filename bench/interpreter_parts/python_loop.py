"""A loop of threads, generators and tasks: python_loop.py SECONDS PAUSE. It works in short bursts with a pause behind each, and prints how
often each of its functions was called, as JSON."""

import asyncio
import collections
import json
import sys
import threading
import time

counts = collections.Counter()
end = time.monotonic() + float(sys.argv[1])
pause = float(sys.argv[2])


def is_prime(n):
    for divisor in range(2, n):
        if divisor * divisor > n:
            break
        if not n % divisor:
            return False
    return n > 1


def primes(first, last):
    for n in range(first, last):
        if is_prime(n):
            yield n


def leaf(n):
    return n


def middle(n):
    return sum(leaf(i) for i in range(n))


def numbers_burst():
    found = sum(1 for _ in primes(1000, 2000))
    total = sum(middle(10) for _ in range(200))
    counts.update(is_prime=1000, middle=200, leaf=2000, primes=1)
    assert found == 135 and total == 9000, (found, total)


def numbers_thread():
    while time.monotonic() < end:
        numbers_burst()
        time.sleep(pause)


async def parse(word):
    await asyncio.sleep(0)
    return len(word)


async def handle(number):
    sizes = [await parse("x" * i) for i in range(5)]
    return number + sum(sizes)


async def tasks_burst():
    answers = await asyncio.gather(*(handle(number) for number in range(100)))
    counts.update(handle=100, parse=500)
    assert sum(answers) == 5950, answers


async def serve():
    while time.monotonic() < end:
        await tasks_burst()
        await asyncio.sleep(pause)


threads = [threading.Thread(target=numbers_thread, name=f"numbers {i}") for i in range(2)]
for thread in threads:
    thread.start()
asyncio.run(serve())
for thread in threads:
    thread.join()
print(json.dumps(counts))
