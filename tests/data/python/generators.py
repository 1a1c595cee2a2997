import asyncio
import contextlib
import gc
import sys
import types


def numbers(n):
    try:
        for i in range(n):
            yield i
    except ValueError as error:
        yield f"caught {error}"
        raise KeyError(1) from error
    finally:
        yield "late"


def around(n):
    try:
        yield from numbers(n)
    except KeyError:
        yield "around"
        return


def drive(generator, *thrown):
    told = []
    try:
        told += [generator.throw(what) if what else next(generator) for what in thrown]
    except BaseException as error:
        told.append(type(error).__name__)
    print(told)


drive(numbers(3), None, None, ValueError("x"), None, None, None)
drive(numbers(3), ValueError("not begun"))
drive(around(3), None, ValueError("a"), None, None, None, None)
refuses = around(4)  # one that is closed and yields all the same
next(refuses)
try:
    refuses.close()
except RuntimeError as error:
    print(error)
del refuses


def asks_itself():
    yield next(me)


me = asks_itself()
drive(me, None)


def shows_its_frame():
    yield sys._getframe()


kept = shows_its_frame()
frame = next(kept)
del kept
gc.collect()
print(frame.f_code.co_name)
for i in range(300):  # the memory of one is the next one's

    def one():
        yield i

    some = one()
    next(some)
    if i % 2:
        del some


@types.coroutine
def bare():
    return (yield "bare")


async def waits():
    return await bare()


coroutine = waits()
print(coroutine.send(None))
try:
    coroutine.throw(KeyError)
except KeyError:
    print("thrown")
coroutine = waits()
coroutine.send(None)
coroutine.close()


async def worker(n, log):
    try:
        await asyncio.sleep(0 if n % 3 else 10)
        if n % 5 == 0:
            raise ValueError(n)
        return n
    except asyncio.CancelledError:
        log.append(n)
        if n % 2:
            raise
        await asyncio.sleep(0)
        return -n
    finally:
        await asyncio.sleep(0)


async def endless():
    try:
        while True:
            yield 1
            await asyncio.sleep(0)
    finally:
        print("closed")


@contextlib.asynccontextmanager
async def swallows():
    try:
        yield
    except ZeroDivisionError:
        print("swallowed")


async def main():
    log = []
    tasks = [asyncio.create_task(worker(i, log)) for i in range(1, 30)]
    together = asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.01)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.sleep(0.01)
    together.cancel()
    try:
        await together
    except asyncio.CancelledError:
        print("cancelled", sorted(log))
    try:
        async with asyncio.timeout(0.01):
            await asyncio.gather(*(worker(3, log) for _ in range(5)))
    except TimeoutError:
        print("timeout")
    try:
        async with asyncio.TaskGroup() as group:
            for i in range(1, 8):
                group.create_task(worker(i, log))
    except* ValueError as error:
        print("group", len(error.exceptions))
    left = endless()
    async for _ in left:
        break
    try:
        await left.athrow(KeyError("k"))
    except KeyError:
        print("thrown")
    async with swallows():
        1 / 0
    print(await asyncio.to_thread(lambda: sum(i for i in range(10))))


asyncio.run(main())
