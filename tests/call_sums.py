# ctest: helper
"""Who calls whom, counted once more from the paths of a report: moment by moment, as docs/interpreters.md says it, with no tree of its own."""

import collections

from record_lib import check, equal

OUTERMOST = (None, None)


def nanoseconds(value):
    return round(value * 1e9)


def stacks(report):
    """(functions from the outermost to the innermost, calls, self time) of each path."""
    rows = {}
    for row in report["paths"]:
        rows[row["path"]] = rows.get(row["parent"], ()) + ((row["kind"], row["label"]),)
        yield rows[row["path"]], row["count"], nanoseconds(row["self_s"])


def callers_of(report):
    """Of (caller, function): calls, self time, and what of the function's total was for that caller; of (function, callee): what of
    the function's total was there; of a function: its total."""
    count, own, time, below, total = (collections.Counter() for _ in range(5))
    for stack, calls, self_ns in stacks(report):
        around = (OUTERMOST,) + stack
        count[around[-2:]] += calls
        own[around[-2:]] += self_ns
        for function in set(stack):
            first, last = around.index(function), len(around) - 1 - around[::-1].index(function)
            total[function] += self_ns
            time[around[first - 1], function] += self_ns
            if last + 1 < len(around):
                below[function, around[last + 1]] += self_ns
    return count, own, time, below, total


def check_callers(report):
    """Of a report with --by path,caller --around '*' --top 0: every figure of both, to the nanosecond."""
    count, own, time, below, total = callers_of(report)
    pairs = {}
    for row in report["calls"]:
        equal(row["of"], "events", "pairs are of events")
        pairs[(row["caller_kind"], row["caller"]), (row["kind"], row["function"])] = row
    for pair, calls in count.items():
        if calls == 0 and time[pair] == 0:
            continue
        row = pairs.pop(pair)
        equal((row["count"], nanoseconds(row["self_s"]), nanoseconds(row["time_s"])), (calls, own[pair], time[pair]), f"pair {pair}")
    equal(pairs, {}, "no pair that was not there")
    check(len(report["around"]) == len(total), "every function is told of")
    for row in report["around"]:
        function = (row["kind"], row["function"])
        equal(nanoseconds(row["time_s"]), total[function], f"total of {function}")
        equal(row["calls_of_itself"], count[function, function], f"calls of itself of {function}")
        callers = {(other["kind"], other["function"]): (other["count"], nanoseconds(other["time_s"])) for other in row["callers"]}
        callees = {(other["kind"], other["function"]): (other["count"], nanoseconds(other["time_s"])) for other in row["callees"]}
        for other, (calls, ns) in callers.items():
            equal((calls, ns), (count[other, function], time[other, function]), f"{other} calls {function}")
        for other, (calls, ns) in callees.items():
            equal((calls, ns), (count[function, other], below[function, other]), f"{function} calls {other}")
        equal(sum(ns for _, ns in callers.values()), total[function], f"callers of {function} add up")
        equal(sum(ns for _, ns in callees.values()) + nanoseconds(row["self_s"]), total[function], f"callees of {function} and itself add up")
        equal(sum(calls for calls, _ in callers.values()) + row["calls_of_itself"], row["count"], f"calls of {function} add up")
    return len(total)
