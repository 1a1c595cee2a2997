"""A stack of a hundred thousand frames, left by an exception half of the times."""
import sys

sys.setrecursionlimit(200_000)


def deep(n, fails):
    if n:
        return deep(n - 1, fails)
    if fails:
        raise KeyError("deep")
    return n


for fails in (False, True):
    try:
        print(deep(100_000, fails))
    except KeyError:
        print("caught")
