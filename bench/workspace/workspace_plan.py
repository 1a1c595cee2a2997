"""Which crates a workspace has, and who depends on whom."""

import random

from workspace_text import distinct_nouns

# Order of the kinds as libraries are handed out; native ones early, since others wait for their build scripts.
_ROTATION = ("model", "native", "store", "grammar", "flow", "text", "tables", "events", "logic", "model", "store", "flow")

FOUNDATION = {  # name -> (is it a proc-macro, its dependencies)
    "derive-kit": (False, []),
    "encode-derive": (True, ["derive-kit"]),
    "builder-derive": (True, ["derive-kit"]),
    "visit-derive": (True, ["derive-kit"]),
    "names-derive": (True, ["derive-kit"]),
    "traced-attr": (True, []),
    "table-macro": (True, []),
    "wire": (False, []),
}

SHAPES = {  # name -> crates, size of each, proc-macro crates, items a library passes to its dependencies
    "small": (6, 1, ["encode-derive"], 1),
    "demo": (10, 2, ["encode-derive", "table-macro"], 2),
    "bench": (56, 1, [name for name, (is_macro, _) in FOUNDATION.items() if is_macro], 2),
}
_APPS = {"small": ["app"], "demo": ["app"], "bench": ["app", "tool", "plugin"]}


class Crate:
    def __init__(self, name, kind, deps, size, macros, items):
        self.name, self.kind, self.deps, self.size, self.macros, self.items = name, kind, deps, size, macros, items


def plan(shape, count, seed):
    default_count, size, macros, items = SHAPES[shape]
    count = count or default_count
    rng = random.Random("%s/%s/%s" % (shape, count, seed))
    base = [Crate(name, "foundation", deps, size, macros, 0) for name, (_, deps) in FOUNDATION.items()
            if name in macros or name in ("derive-kit", "wire")]
    apps = _APPS[shape]
    wanted = count - len(base) - len(apps)
    if wanted < 2:
        raise ValueError("a workspace of this shape has at least %d crates" % (len(base) + len(apps) + 2))
    chain = max(1, wanted // 6)
    nouns = distinct_nouns(rng, wanted)
    libraries = []
    for at in range(wanted):
        kind = _ROTATION[at % len(_ROTATION)]
        earlier = [crate.name for crate in libraries]
        if at < max(2, wanted // 4):
            deps = []
        elif at >= wanted - chain:
            deps = [earlier[-1]] + rng.sample(earlier[:-1], min(1, len(earlier) - 1))
        else:
            window = earlier[-12:]
            deps = rng.sample(window, min(len(window), rng.randint(1, 2)))
        libraries.append(Crate("%s-%s" % (nouns[at], kind), kind, sorted(deps), size, macros, items))
    used = {dep for crate in libraries for dep in crate.deps}
    loose = [crate.name for crate in libraries if crate.name not in used]
    natives = [crate.name for crate in libraries if crate.kind == "native"]
    programs = []
    for name in apps:
        deps = loose if name == "app" else rng.sample([crate.name for crate in libraries], 3)
        # A cdylib that links C through a library shows more of the linker's work.
        if name == "plugin" and natives:
            deps = deps + natives[:1]
        programs.append(Crate(name, name, sorted(set(deps)), size, macros, items))
    return base + libraries + programs
