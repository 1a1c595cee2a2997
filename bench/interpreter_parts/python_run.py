"""Runs main(SIZE) of a program under one profiler: python_run.py HOW PROGRAM SIZE OUT. Prints result, CPU seconds, calls, and the CPU
seconds of the whole process."""
import importlib
import sys
import time

how, program, size, out = sys.argv[1:]
main, size, calls = importlib.import_module(program).main, int(size), 0
main(1)


def timed():
    start = time.process_time()
    return main(size), time.process_time() - start


if how == "plain":
    result, seconds = timed()
elif how == "empty profile":
    import empty_hook

    empty_hook.profile(True)
    result, seconds = timed()
    empty_hook.profile(False)
    calls = empty_hook.count()
elif how == "empty monitoring":
    import empty_hook

    monitoring, tool = sys.monitoring, 4
    monitoring.use_tool_id(tool, "empty")
    events = [getattr(monitoring.events, name) for name in ("PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND")]
    for event in events:
        monitoring.register_callback(tool, event, empty_hook.callback())
    monitoring.set_events(tool, sum(events))
    result, seconds = timed()
    monitoring.set_events(tool, 0)
elif how == "cProfile":
    import cProfile

    profile = cProfile.Profile()
    profile.enable()
    result, seconds = timed()
    profile.disable()
elif how == "pyinstrument":
    import pyinstrument

    with pyinstrument.Profiler():
        result, seconds = timed()
else:
    import lamella

    _, policy, *more = how.split()
    options = dict(word.split("=") for word in more)
    with lamella.record(out, calls=None if policy == "all" else policy, max_bytes="4G", **options):
        result, seconds = timed()
print(result, seconds, calls, time.process_time())
