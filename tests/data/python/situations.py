"""Recordings of parts of a program, each told by its name; results are printed."""
import json
import os
import shutil
import sys
import threading

import lamella


def f(n):
    return n and f(n - 1)


def start_deep():
    """Started deep in a stack, and stopped in it, with generators below."""

    def down(n):
        if n:
            return down(n - 1)
        assert lamella.start("deep", tracks=tracks)
        f(3)
        return 1

    def generator():
        yield down(20)
        f(2)
        yield 2

    one = generator()
    next(one)
    next(one)
    lamella.stop()
    f(100)


def stop_inside():
    """Stopped inside of a call, while others are suspended."""

    def generator():
        yield f(1)
        yield f(2)

    def inside(n):
        if n:
            return inside(n - 1)
        lamella.stop()

    kept = generator()
    assert lamella.start("inside", tracks=tracks)
    next(kept)
    inside(5)
    next(kept)
    f(9)


def twice():
    """One inside of another; one after another; another copy of the plug-in."""
    with lamella.record("first", tracks=tracks):
        with lamella.record("never"):
            f(1)
        f(2)
    with lamella.record("second", tracks=tracks, calls="tree"):
        f(3)
    copy = os.path.join(os.getcwd(), "copy", "lamella")
    shutil.copytree(os.path.dirname(os.path.realpath(lamella.__file__)), copy)
    spare = {name: sys.modules.pop(name) for name in ("lamella", "lamella._lamella")}
    sys.path.insert(0, os.path.dirname(copy))
    import lamella as other

    assert other.__file__.startswith(copy), other
    assert other.start("third", tracks=tracks)
    sys.modules.update(spare)
    assert not lamella.start("never")
    f(4)
    lamella.stop()  # is not recording
    f(5)
    sys.modules.update({"lamella": other, "lamella._lamella": other._lamella})
    other.stop()
    sys.modules.update(spare)
    assert lamella.start("fourth", tracks=tracks) and not other.start("never")
    f(6)
    lamella.stop()
    assert not os.path.exists("never")


def threads_before():
    """Threads that began before, each with calls open."""
    begun, go, done = threading.Barrier(4), threading.Event(), threading.Barrier(4)

    def body(n):
        def inner():
            begun.wait()
            go.wait()
            f(n)
            done.wait()

        inner()
        f(1)

    threads = [threading.Thread(target=body, args=(10 * i,), name=f"early {i}") for i in range(1, 4)]
    for thread in threads:
        thread.start()
    begun.wait()
    with lamella.record("threads", tracks=tracks):
        go.set()
        done.wait()
        late = threading.Thread(target=f, args=(5,), name="late")
        late.start()
        late.join()
        for thread in threads:
            thread.join()
        import _thread

        lock = _thread.allocate_lock()
        lock.acquire()

        def bare():
            f(7)
            lock.release()

        _thread.start_new_thread(bare, ())
        lock.acquire()


def fork_hooks():
    """Hooks that run in the child before anything else does, the last event of their caller being the parent's."""

    def numbers():
        while True:
            yield f(1)

    kept = numbers()
    next(kept)

    def in_child():
        f(3)
        next(kept)
        next(numbers())

    os.register_at_fork(before=lambda: f(1), after_in_parent=lambda: f(2), after_in_child=in_child)

    def forks(n):
        if n:
            return forks(n - 1)
        child = os.fork()
        if not child:
            return True
        os.waitpid(child, 0)

    assert lamella.start("hooks", tracks=tracks)
    next(kept)
    is_child = forks(3)
    del kept
    lamella.stop()
    if is_child:
        os._exit(0)


def another_interpreter():
    """It is not recorded, and starts nothing."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    text = """
try:
    import lamella
    print(not lamella.start("never"))
    lamella.stop()
except ImportError as error:
    print("does not support" in str(error))
def f(n): return n and f(n - 1)
f(50)
"""
    with lamella.record("beside", tracks=tracks):
        f(1)
        other = interpreters.create()
        interpreters.run_string(other, text)
        f(2)
        interpreters.destroy(other)


def by_hand():
    with lamella.interval("before"):
        lamella.instant("before")
    with lamella.record("hand", tracks=tracks, options="kinds=-Unwanted"):
        with lamella.interval("mine", kind="Work"):
            f(1)
        lamella.instant("moment")
        lamella.instant("how many", 42)
        lamella.instant("no", kind="Unwanted")
    for wrong in ({"tracks": "some"}, {"calls": "x"}):
        try:
            lamella.start("never", **wrong)
            print("no error")
        except ValueError as error:
            print(error)
    for path in ("/proc/never", None):
        try:
            lamella.start(path)
            print("no error")
        except OSError as error:
            print(error)


def greenlets():
    """Two that switch inside of functions, one that is left and collected, one killed."""
    import greenlet

    def ping(n):
        f(1)
        for _ in range(n):
            other.switch()
            f(2)

    def pong():
        def inner():
            f(3)
            one.switch()

        while True:
            inner()

    with lamella.record("greenlets", tracks=tracks):
        import greenlet as again

        exec(compile("pass", "<module that is imported>", "exec"))
        one, other = greenlet.greenlet(ping), greenlet.greenlet(pong)
        one.switch(3)
        f(4)
        del one, other


def c_calls():
    with lamella.record("c", tracks=tracks, c_calls=True):
        sorted([3, 1], key=lambda x: -x)
        [].append(1)
        try:
            int("x")
        except ValueError:
            pass
        try:
            len(3)
        except TypeError:
            pass
        with lamella.interval("part", kind="Call"):
            json.loads("[]")


tracks = sys.argv[1]
for name in sys.argv[2:]:
    globals()[name]()
print("done")
