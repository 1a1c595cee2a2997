/* A command line of cargo's: what it builds, and whether it can be asked for a record of the build. */
#ifndef LAMELLA_BUILD_CARGO_COMMAND_H
#define LAMELLA_BUILD_CARGO_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"

struct cargo_command {
    bool takes_timings;        /* one of cargo's own commands that build, and not asked for help */
    bool has_timings;          /* --timings is there already */
    bool runs_programs;        /* when it has built: run, test, bench */
    bool is_listed_json;       /* --message-format=json: its stdout is a list of what was built */
    size_t subcommand;         /* index of it; meaningful with takes_timings */
    const char *toolchain;     /* "+nightly"; NULL. Texts are those of argv */
    const char *target_dir;    /* --target-dir */
    const char *manifest_path; /* --manifest-path */
    LAM_ARRAY(const char *)
    place; /* arguments before any subcommand: -C, --config, -Z, with their values */
};

/* False when it is no cargo command. Aliases, plug-ins and programs of other names are left alone: takes_timings is unset.
 * argv is NULL-ended, and must outlive the result; cargo_command_free() it in any case. LAM_E_NOMEM is treated as no command. */
bool cargo_command_parse(char *const *argv, struct cargo_command *command);
void cargo_command_free(struct cargo_command *command);

#endif
