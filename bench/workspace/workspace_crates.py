"""The files of each crate, and of the workspace as a whole."""

import os
import random

from workspace_kinds import HERE, KINDS, native_files, template, types_text
from workspace_plan import FOUNDATION
from workspace_text import camel, distinct_nouns, snake

_UNUSUAL_LINTS = "#![allow(clippy::all)]\n"


def manifest(crate, edges):
    is_macro = crate.kind == "foundation" and FOUNDATION[crate.name][0]
    lines = ["[package]", 'name = "%s"' % crate.name, 'version = "0.%d.0"' % (1 + len(crate.name) % 7), 'edition = "2021"', "publish = false"]
    if crate.kind == "native":
        lines += ['build = "build.rs"', 'links = "%s_native"' % snake(crate.name)]
    if is_macro:
        lines += ["", "[lib]", "proc-macro = true"]
    if crate.kind == "plugin":
        lines += ["", "[lib]", 'crate-type = ["cdylib"]']
    lines += ["", "[dependencies]"]
    lines += ['%s = { path = "../%s" }' % (dep, dep) for dep in edges]
    return "\n".join(lines) + "\n"


def edges(crate):
    if crate.kind == "foundation":
        return sorted(FOUNDATION[crate.name][1])
    if crate.kind in ("app", "tool", "plugin"):
        return sorted(set(crate.deps + crate.macros + ["wire"]) - {"table-macro", "traced-attr"})
    macros = [name for name in crate.macros if name != "table-macro" or crate.kind == "text"]
    return sorted(set(crate.deps + macros + ["wire"]))


def _items(rng, crate):
    names = [camel(noun) for noun in distinct_nouns(rng, max(crate.items, 1))]
    text = "//! Types that this crate hands to the generic code of others.\n#[allow(unused_imports)]\nuse std::collections::BTreeMap;\n#[allow(unused_imports)]\nuse wire::next;\n\n"
    return names, text + types_text(rng, crate, names)


def _uses(crate, items, own):
    rows = []
    for path in ([own] if own else []) + [snake(dep) for dep in crate.deps]:
        for item in items:
            rows.append("    total = total.rotate_left(13) ^ %s::drive(total, crate::items::%s::sample);" % (path, item))
    if crate.kind == "model":
        rows.append("    total ^= crate::kind::round_trips(total);")
    return "pub fn total(seed: u64) -> u64 {\n    let mut total = seed;\n%s\n    total\n}\n" % "\n".join(rows)


def library(crate, seed):
    rng = random.Random("%s/%s" % (seed, crate.name))
    names, items = _items(rng, crate)
    traced = "#[traced_attr::traced]\n" if "traced-attr" in crate.macros else ""
    files = {
        "src/lib.rs": "//! %s: a crate of kind %s.\n%spub mod items;\nmod kind;\nmod uses;\n\npub use kind::*;\n\n"
                      "/// What this crate and its direct dependencies make of `seed`.\n%spub fn own_sum(seed: u64) -> u64 {\n    uses::total(seed)\n}\n\n"
                      "#[cfg(test)]\nmod tests {\n    #[test]\n    fn sums_are_stable() {\n        assert_eq!(super::own_sum(7), super::own_sum(7));\n        assert_ne!(super::own_sum(7), super::own_sum(8));\n    }\n}\n"
                      % (crate.name, crate.kind, _UNUSUAL_LINTS, traced),
        "src/items.rs": items,
        "src/kind.rs": KINDS[crate.kind](rng, crate.size, crate),
        "src/uses.rs": _uses(crate, names, "crate::kind"),
    }
    if crate.kind == "native":
        files.update(native_files(rng, crate.size, crate.name))
    return files


def foundation(crate):
    return {"src/lib.rs": template(snake(crate.name) + ".rs")}


def app(crate, seed):
    rng = random.Random("%s/%s" % (seed, crate.name))
    names, items = _items(rng, crate)
    sums = "\n".join('        ("%s", %s::own_sum as fn(u64) -> u64),' % (dep, snake(dep)) for dep in crate.deps)
    return {
        "src/items.rs": items,
        "src/lib.rs": "//! Runs everything.\npub mod items;\nmod uses;\n\npub fn rows(seed: u64) -> Vec<(&'static str, u64)> {\n    let parts = [\n%s\n    ];\n"
                      "    let mut list: Vec<_> = parts.iter().map(|(name, sum)| (*name, sum(seed))).collect();\n    list.push((\"%s\", uses::total(seed)));\n    list\n}\n" % (sums, crate.name),
        "src/uses.rs": _uses(crate, names, None),
        "src/main.rs": "use std::env;\nuse std::process::ExitCode;\n\nfn main() -> ExitCode {\n    let seed = match env::args().nth(1).map(|text| text.parse()) {\n        None => 1,\n        Some(Ok(seed)) => seed,\n"
                       "        Some(Err(error)) => {\n            eprintln!(\"%s: the seed is not a number: {}\", error);\n            return ExitCode::from(2);\n        }\n    };\n    for (name, sum) in %s::rows(seed) {\n"
                       "        println!(\"{:<24} {:016x}\", name, sum);\n    }\n    ExitCode::SUCCESS\n}\n" % (crate.name, snake(crate.name)),
        "tests/%s_rows.rs" % snake(crate.name): "#[test]\nfn rows_repeat() {\n    assert_eq!(%s::rows(3), %s::rows(3));\n}\n" % (snake(crate.name), snake(crate.name)),
    }


def plugin(crate, seed):
    rng = random.Random("%s/%s" % (seed, crate.name))
    names, items = _items(rng, crate)
    sums = "".join("    total ^= %s::own_sum(total);\n" % snake(dep) for dep in crate.deps)
    return {
        "src/items.rs": items,
        "src/uses.rs": _uses(crate, names, None),
        "src/lib.rs": "//! What a host program loads.\npub mod items;\nmod uses;\n\n#[no_mangle]\npub extern \"C\" fn plugin_sum(seed: u64) -> u64 {\n    let mut total = uses::total(seed);\n%s    total\n}\n" % sums,
    }


def crate_files(crate, seed):
    if crate.kind == "foundation":
        files = foundation(crate)
    elif crate.kind == "plugin":
        files = plugin(crate, seed)
    elif crate.kind in ("app", "tool"):
        files = app(crate, seed)
    else:
        files = library(crate, seed)
    files["Cargo.toml"] = manifest(crate, edges(crate))
    return files


def lock_file(crates):
    """Version 3 is the newest that the oldest cargo we build with reads."""
    parts = ["# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 3\n"]
    for crate in sorted(crates, key=lambda one: one.name):
        text = '[[package]]\nname = "%s"\nversion = "0.%d.0"\n' % (crate.name, 1 + len(crate.name) % 7)
        deps = edges(crate)
        if deps:
            text += "dependencies = [\n%s]\n" % "".join(' "%s",\n' % dep for dep in deps)
        parts.append(text)
    return "\n".join(parts)


# rustc puts a random part into the names of object files of an incremental build: without it two builds agree to the byte.
_REPRODUCIBLE = "\n[profile.dev]\nincremental = false\n"


def workspace_files(crates, seed, incremental):
    manifest_text = '[workspace]\nmembers = ["crates/*"]\nresolver = "2"\n' + ("" if incremental else _REPRODUCIBLE)
    files = {"Cargo.toml": manifest_text, "Cargo.lock": lock_file(crates), ".gitignore": "/target\n"}
    for crate in crates:
        for path, text in crate_files(crate, seed).items():
            files[os.path.join("crates", crate.name, path)] = text
    return files
