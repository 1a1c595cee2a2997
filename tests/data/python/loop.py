"""Calls a known number of times: argv[1] rounds."""
import sys


def leaf(n):
    return n


def middle(n):
    for i in range(3):
        leaf(n)
    return sum(numbers(2))


def numbers(n):
    for i in range(n):
        yield leaf(i)


def outer(rounds):
    for i in range(rounds):
        middle(i)


outer(int(sys.argv[1]))
