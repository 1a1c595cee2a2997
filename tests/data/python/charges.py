"""Burns known amounts of CPU time on different lines of execution, which take turns. Writes what each used to argv[1]."""
import asyncio
import json
import sys
import threading
import time

used = {}


def burn(name, seconds):
    start = now = time.thread_time()
    while now - start < seconds:
        now = time.thread_time()
    used[name] = used.get(name, 0) + now - start


def generator_a():
    for _ in range(10):
        burn("generator_a", 0.004)
        yield


def generator_b():
    for _ in range(10):
        burn("generator_b", 0.001)
        yield


def consumer():
    for _ in zip(generator_a(), generator_b()):
        burn("consumer", 0.002)


async def task_a():
    for _ in range(10):
        burn("task_a", 0.003)
        await asyncio.sleep(0)


async def task_b():
    for _ in range(10):
        burn("task_b", 0.001)
        await asyncio.sleep(0)


async def tasks():
    await asyncio.gather(task_a(), task_b())


def thread_a():
    start = time.thread_time()
    burn("thread_a", 0.03)
    asyncio.run(task_c())
    used["all of thread_a"] = time.thread_time() - start


async def task_c():
    burn("task_c", 0.03)
    await asyncio.sleep(0.001)


def main():
    start = time.thread_time()
    consumer()
    asyncio.run(tasks())
    thread = threading.Thread(target=thread_a)
    thread.start()
    burn("main", 0.02)
    thread.join()
    used["all of main"] = time.thread_time() - start


main()
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump(used, out)
