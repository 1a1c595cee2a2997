/* The compilers and linkers of this machine, and whether what they run from has symbols. */
#ifndef LAMELLA_SESSION_TOOLCHAIN_INFO_H
#define LAMELLA_SESSION_TOOLCHAIN_INFO_H

#include <stdbool.h>

#include "base/array.h"
#include "base/error.h"

enum tool_symbols {
    TOOL_SYMBOLS_UNKNOWN, /* it could not be told: a wrapper, a script, unreadable */
    TOOL_SYMBOLS_FULL,    /* its own, or those of a debug file on this machine */
    TOOL_SYMBOLS_STRIPPED,
};

struct tool_info {
    const char *name; /* "rustc"; static */
    char *path;       /* as found in PATH */
    char *version;    /* first line of --version; NULL: it did not say */
    char *code; /* the file that holds most of its code (librustc_driver, cc1, the program itself); NULL: not found */
    enum tool_symbols symbols; /* of that file */
};
struct tool_list LAM_ARRAY_BODY(struct tool_info);

/* Those of the known tools that PATH holds, in a fixed order. Starts each to ask for its version. LAM_OK or LAM_E_NOMEM. */
int toolchain_find(struct tool_list *tools);
void toolchain_free(struct tool_list *tools);

#endif
