"""Runs a script, module or command and records its calls.

    python3 -m lamella -o DIR script.py [ARGUMENTS...]     "-": standard input
    python3 -m lamella -o DIR -m module [ARGUMENTS...]
    python3 -m lamella -o DIR -c command [ARGUMENTS...]

  -o, --output DIR     recording; else $LAMELLA_OUT, which `lamella record` sets
      --calls POLICY   what is kept: one_in:100, threshold:10us, tree, tree:8M, auto:1G; every call without
      --max-bytes N    bound of the file: 50M
      --options TEXT   more of the recorder's options: mode=flight,clock=cpu
      --c-calls        functions written in C as well
      --tracks WHAT    what gets a track of its own: all (tasks and generators; default), tasks, none
      --help

The program prints and returns what it does without."""

import os
import sys

import lamella

_VALUES = {"-o": "path", "--output": "path", "--calls": "calls", "--max-bytes": "max_bytes", "--options": "options", "--tracks": "tracks"}


def _usage(text):
    sys.stderr.write(f"lamella: {text}; python3 -m lamella --help\n")
    raise SystemExit(2)


def _arguments(words):
    """Options for lamella.start(), "-m", "-c" or "", and the program with its arguments."""
    options = {}
    while words and words[0].startswith("-") and words[0] not in ("-", "-m", "-c"):
        word, *words = words
        name, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "--":
            break
        if word in ("--help", "-h"):
            print(__doc__)
            raise SystemExit(0)
        if word == "--c-calls":
            options["c_calls"] = True
        elif name not in _VALUES:
            _usage(f"there is no option {word}")
        elif not has_value and not words:
            _usage(f"{word} needs a value")
        else:
            options[_VALUES[name]] = value if has_value else words.pop(0)
    how = words.pop(0) if words and words[0] in ("-m", "-c") else ""
    if not words:
        _usage("no script")
    return options, how, words


def _open(options):
    """The library opens $LAMELLA_OUT when it is loaded, which is now: with these options and not those of the environment."""
    text = [f"{key}={options.pop(key)}" for key in ("calls", "max_bytes") if key in options]
    text += [options.pop("options")] if "options" in options else []
    mine = {"LAMELLA_OUT": options.pop("path", None), "LAMELLA_OPTIONS": ",".join([*filter(None, [os.environ.get("LAMELLA_OPTIONS")]), *text])}
    before = {name: os.environ.get(name) for name in mine}
    try:
        os.environ.update({name: value for name, value in mine.items() if value})
        if not os.environ.get("LAMELLA_OUT"):
            _usage("no recording: -o DIR")
        lamella.start(_is_now=False, **options)
    except (OSError, ValueError, RuntimeError) as error:
        _usage(str(error).removeprefix("lamella: "))
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _names(**more):
    """The namespace of the program, as the interpreter makes it."""
    names = sys.modules["__main__"].__dict__
    names.update(__loader__=sys.__loader__, __annotations__={}, __builtins__=sys.modules["builtins"], **more)
    return names


def _command(text):
    text += "\n"
    if sys.version_info >= (3, 13):  # where tracebacks show it
        import linecache

        linecache.cache["<string>"] = (len(text), None, [line + "\n" for line in text.splitlines()], "<string>")
    return text.encode("utf-8", "surrogateescape"), _names()


def _script(path):
    """What runs a script: its file, or its code where it is compiled."""
    from importlib.machinery import SourceFileLoader, SourcelessFileLoader

    full = os.path.abspath(path)
    try:
        open(full, "rb").close()
    except OSError as error:
        sys.stderr.write(f"{sys.orig_argv[0]}: can't open file {full!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    loader = (SourcelessFileLoader if full.endswith(".pyc") else SourceFileLoader)("__main__", full)
    names = _names(__file__=full, __cached__=None)
    names["__loader__"] = loader
    return loader.get_code("__main__") if full.endswith(".pyc") else full, names


def _is_container(path):
    """A directory or an archive with a __main__.py in it."""
    for hook in sys.path_hooks:
        try:
            hook(path)
        except ImportError:
            continue
        return True
    return False


def main():
    options, how, words = _arguments(sys.argv[1:])
    try:
        part_in_c = lamella._extension()
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    path = words[0]
    is_text = how == "-c" or (not how and path == "-")
    is_container = not how and not is_text and _is_container(path)
    if is_text:
        first = ""
    elif how == "-m":
        first = os.getcwd()
    else:
        first = os.path.abspath(path) if is_container else os.path.dirname(os.path.realpath(path))
    if not sys.flags.safe_path:
        sys.path[0] = first
    elif is_container:
        sys.path.insert(0, first)
    sys.argv = [how or path, *words[1:]]
    sys.modules["__main__"] = type(sys)("__main__")
    if how == "-m" or is_container:
        import runpy

        what = (runpy._run_module_as_main, (path, True) if how else ("__main__", False))
    elif how == "-c":
        what = _command(path)
    else:
        what = ("-", _names(__file__="<stdin>", __cached__=None)) if is_text else _script(path)
    _open(options)

    import atexit

    atexit.register(part_in_c.stop)
    raise SystemExit(part_in_c.run(*what))


main()
