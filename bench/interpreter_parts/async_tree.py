"""A tree of tasks that wait for one another and for the loop, as in the benchmark async_tree of Python's performance suite."""
import asyncio


def work(n):
    return n * n % 7


async def leaf(n):
    if n % 2:
        await asyncio.sleep(0)
    return work(n)


async def branch(depth, n):
    if depth == 0:
        return await leaf(n) + await leaf(n + 1)
    return sum(await asyncio.gather(*[branch(depth - 1, 4 * n + i) for i in range(4)]))


def main(depth):
    return asyncio.run(branch(depth, 0))
