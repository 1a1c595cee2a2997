"""Ten thousand coroutines at once, which count their calls themselves."""
import asyncio
import collections
import json

called = collections.Counter()


def work(n):
    called["work"] += 1
    return n + 1


async def step(n):
    called["step"] += 1
    await asyncio.sleep(0)
    return work(n)


async def task(n):
    called["task"] += 1
    return await step(n) + await step(n + 1)


async def main():
    called["main"] += 1
    return sum(await asyncio.gather(*[task(i) for i in range(10000)]))


asyncio.run(main())
print(json.dumps(called))
