/* The files that a build script asked cargo to look at (`cargo::rerun-if-changed`): which of them make it run again. */
#ifndef LAMELLA_BUILD_CARGO_SCRIPT_INPUTS_H
#define LAMELLA_BUILD_CARGO_SCRIPT_INPUTS_H

#include "base/strbuf.h"
#include "build/cargo_fingerprint.h"

/* local: that member of the fingerprint of the script's run, raw JSON. since_ns: when it last ran. Appends "schema.proto changed", or
 * "nosuch.txt is missing": then it runs in every build. True when there is something to say. Paths are relative to the package's
 * directory: one that is not in dirs is not looked for. */
bool script_inputs_changed(const char *local, size_t length, const char *package,
                           const struct package_dirs *dirs, int64_t since_ns, struct strbuf *text);

#endif
