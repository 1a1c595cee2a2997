/* What a process compiles, links or runs, told from its command line: a unit, or no unit.
 *
 *     struct unit unit;
 *     rc = unit_from_command(&command, &arena, &unit);   1: it is one; 0: it is none (a driver, a probe, any other program)
 */
#ifndef LAMELLA_BUILD_UNIT_H
#define LAMELLA_BUILD_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

enum unit_kind {
    UNIT_NONE,
    UNIT_RUSTC, /* one rustc, also clippy */
    UNIT_RUSTDOC,
    UNIT_COMPILE, /* one cc1, cc1plus, lto1 or clang -cc1 */
    UNIT_ASSEMBLE,
    UNIT_LINK,
    UNIT_BUILD_SCRIPT, /* a run of a compiled build script */
    UNIT_KIND_COUNT,
};

const char *unit_kind_name(
    enum unit_kind kind); /* "rustc", "rustdoc", "compile", "assemble", "link", "build_script" */

/* Texts are NUL-ended and live in the caller's arena; NULL is "not said". */
struct unit {
    enum unit_kind kind;
    const char *crate;      /* --crate-name */
    const char *package;    /* from the source's or the program's path */
    const char *version;    /* from the path, of crates out of a registry */
    const char *crate_type; /* "lib", "proc-macro", "bin", …; several with commas */
    const char *mode; /* "build", "check", "clippy", "test", "build-script", "preprocess", "probe", … */
    const char *language; /* "rust", "c", "c++", "objective-c", "fortran", "asm" */
    const char *edition;
    const char *target;    /* triple, when one was given */
    const char *opt_level; /* "0", "1", "2", "3", "s", "z", "fast", "g" */
    const char *codegen_units;
    const char *lto;         /* "thin", "fat", "off", … */
    const char *debug_info;  /* as given to -C debuginfo or -g */
    const char *incremental; /* the cache's directory */
    const char *metadata;    /* -C metadata: cargo's hash of the unit */
    const char *extra_filename;
    const char *features; /* sorted as given, with commas */
    const char *source;   /* the file compiled */
    const char *output;   /* file or directory written */
    const char *program;  /* argv[0], or the executable's path: absolute where one of them is */
    const char *cwd;      /* paths are relative to it */
    const char *const *inputs; /* rustc: what --extern names (a path, or a bare crate name); linkers: files in order */
    size_t input_count;
    bool is_cache; /* the program is a cache (sccache, ccache) that was asked for this compilation */
    bool runs_compiler; /* such a one, and a compiler that it needs is its own child: it has no server */
    bool emits_metadata; /* --emit has metadata: what depends on it may start before it ends */
    bool emits_link;     /* --emit has link, or there is no --emit */
};

struct unit_command {
    const char *exe; /* path of the program, NULL when not known: argv[0] is taken */
    const char *cwd; /* NULL when not known */
    const char *const *argv;
    size_t argc;
    bool read_files; /* @FILE arguments may be read from this machine */
};

/* 1 and *unit, 0, or LAM_E_NOMEM. Whatever the arguments hold, it is text: nothing is run, and only @FILEs are read. */
int unit_from_command(const struct unit_command *command, struct arena *arena, struct unit *unit);

/* A file of a compiler driver's own between its steps: its name is made up anew each time. */
bool unit_is_temporary(const char *path);

/* A short name for people: "serde 1.0.229", "serde build script", "run serde build script", "main.c", "link libfoo.so". */
void unit_title(const struct unit *unit, struct strbuf *title);

#endif
