"""The eight queens by generators that call one another, as in the benchmark nqueens of Python's performance suite."""


def permutations(items):
    if not items:
        yield ()
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1 :]):
            yield (item, *rest)


def is_solution(columns):
    return len(set(up(columns))) == len(columns) == len(set(down(columns)))


def up(columns):
    return [row + column for row, column in enumerate(columns)]


def down(columns):
    return [row - column for row, column in enumerate(columns)]


def main(size):
    return sum(1 for columns in permutations(tuple(range(size))) if is_solution(columns))
