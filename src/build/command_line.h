/* The pieces of a command line: options by a table, positional arguments, response files. */
#ifndef LAMELLA_BUILD_COMMAND_LINE_H
#define LAMELLA_BUILD_COMMAND_LINE_H

#include "base/array.h"
#include "build/unit.h"

struct command_args LAM_ARRAY_BODY(const char *);

/* The arguments with @FILE replaced by what the file holds, when read_files says so and it can be read; else the @FILE itself.
 * is_line_style: one argument a line (rustc); else blanks separate and quotes and backslashes protect (gcc, ld, clang). */
int command_expand(const struct unit_command *command, bool is_line_style, struct arena *arena,
                   struct command_args *args);

/* One kind of option. `how` says where its value stands. */
enum command_value {
    VALUE_NONE,   /* no value: --test */
    VALUE_NEXT,   /* the next argument: -o FILE */
    VALUE_JOINED, /* in the same argument: -O2, -std=c17 */
    VALUE_EITHER, /* --name=VALUE or --name VALUE; with one dash -nVALUE or -n VALUE */
};

struct command_option {
    const char *name; /* with its dashes; for VALUE_JOINED what it begins with */
    enum command_value how;
    int field; /* handed to the callback; 0: only skipped */
};

/* Called for each option with a field, and for positional arguments (field 0). value is "" for VALUE_NONE. */
typedef int (*command_fn)(void *ctx, int field, const char *value);

/* Walks args from `first` on. The table ends with a NULL name; unknown words that begin with a dash are skipped. */
int command_walk(const struct command_args *args, size_t first, const struct command_option *table,
                 command_fn fn, void *ctx);

/* Readers of one tool each; *unit is zeroed but for its kind. As unit_from_command(). */
int unit_from_rustc(const struct unit_command *command, struct arena *arena, struct unit *unit);
int unit_from_cc(const struct unit_command *command, struct arena *arena, struct unit *unit);
int unit_from_clang(const struct unit_command *command, struct arena *arena, struct unit *unit);
int unit_from_as(const struct unit_command *command, struct arena *arena, struct unit *unit);
int unit_from_ld(const struct unit_command *command, struct arena *arena, struct unit *unit);
int unit_from_build_script(const struct unit_command *command, struct arena *arena,
                           struct unit *unit);

/* A cache's program: `sccache rustc …`, `ccache gcc -c …`, or called by the compiler's name. These set the kind. */
int unit_from_cache(const struct unit_command *command, struct arena *arena, struct unit *unit);
int unit_from_ccache(const struct unit_command *command, struct arena *arena, struct unit *unit);

/* What gcc or clang is asked for with the options from args[first] on: 1 for the compilation of one file to an object. */
int unit_from_cc_driver(const struct unit_command *command, size_t first, struct arena *arena,
                        struct unit *unit);

/* Whether the program is rustc, or stands for it. */
bool is_rust_compiler(const char *path);

/* "NAME-1.2.3-rc.1" gives the name's length and the version; false when there is none. */
bool split_version(const char *dir, size_t length, size_t *name_length);

/* Package and version from a path to a source file: a registry's or vendor's directory NAME-VERSION, else the directory that
 * holds src/, build.rs, tests/, …. */
int package_from_source(const char *source, const char *cwd, struct arena *arena, struct unit *unit);

/* "…/build/NAME-0123456789abcdef[/…]" or "…/build/NAME/0123456789abcdef/…": the NAME, or NULL. */
const char *package_from_build_dir(const char *path, struct arena *arena);

#endif
