"""Records the calls that a Python program makes. `docs/interpreters.md` is the tutorial.

    python3 -m lamella -o DIR script.py

    with lamella.record("DIR", calls="tree"):
        work()
"""

import os
import sys

# Beside the extension, also when this package is a link to another place.
__path__ = [os.path.realpath(path) for path in __path__]

_TRACKS = {"none": 0, "tasks": 1, "all": 2}


def _extension():
    """The part in C, which is built for each version by itself."""
    try:
        import lamella._lamella as part_in_c
    except ModuleNotFoundError as error:
        if error.name != "lamella._lamella":
            raise
        what = " ".join(sys.version.split("(")[0].split())
        raise ImportError(f"lamella: it is not built for this Python, {what} ({sys.implementation.cache_tag}{sys.abiflags})") from None
    return part_in_c


def _prefixes():
    """Directories that modules are found in, as file names of code objects begin with them."""
    return [os.path.join(os.path.abspath(path), "") for path in sys.path if isinstance(path, str)]


def start(path=None, *, calls=None, max_bytes=None, options=None, c_calls=False, tracks="all", _is_now=True):
    """Starts recording every thread, what each has open included. Where LAMELLA_OUT is set, as by `lamella record`, the recording
    is part of that one, and else at the path. Returns whether it started: False when the interpreter is recorded already. Raises OSError when there is no place to record to, ValueError for options.

    calls      what is kept of them: "one_in:100", "threshold:10us", "tree:8M", "auto:1G"; None: every one
    max_bytes  bound of the file
    options    more of the recorder's options: "mode=flight,clock=cpu"
    c_calls    functions written in C as well
    tracks     what gets a track of its own: "all" (tasks and generators), "tasks", "none"
    """
    if tracks not in _TRACKS:
        raise ValueError(f"tracks is one of {', '.join(_TRACKS)}, not {tracks!r}")
    text = [f"calls={calls}"] if calls else []
    text += [f"max_bytes={max_bytes}"] if max_bytes else []
    text += [options] if options else []
    path = os.fspath(path) if path else None
    return _extension().start(path, ",".join(text) or None, _TRACKS[tracks], c_calls, _prefixes(), _is_now)


def stop():
    """Ends the recording. Calls that are open end with it. Does nothing when none is on."""
    _extension().stop()


class record:
    """The same as a context manager. Inside of another recording it does nothing."""

    def __init__(self, path=None, **options):
        self.path, self.options, self.is_ours = path, options, False

    def __enter__(self):
        self.is_ours = start(self.path, **self.options)
        return self

    def __exit__(self, *exception):
        if self.is_ours:
            stop()


class interval:
    """An interval of a name of one's own, while the block runs. Nothing when nothing is recorded."""

    def __init__(self, label, kind="GenericActivity"):
        self.label, self.kind = label, kind

    def __enter__(self):
        self.handle = _extension().begin(self.label, self.kind)

    def __exit__(self, *exception):
        _extension().end(*self.handle)


def instant(label, value=None, kind="GenericActivity"):
    """A point in time, or an integer at one."""
    _extension().instant(label, kind, value)
