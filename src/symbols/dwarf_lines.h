/* Source lines and inlined calls of addresses, from DWARF. */
#ifndef LAMELLA_SYMBOLS_DWARF_LINES_H
#define LAMELLA_SYMBOLS_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbols/elf_file.h"

/* One address to be resolved. `address` is set by the caller, the rest by dwarf_lines_resolve(). */
struct dwarf_site {
    uint64_t address;
    uint32_t node;    /* the innermost call that holds it, for dwarf_lines_call(); 0: none known */
    uint32_t line;    /* 0: not known */
    const char *file; /* NULL: not known; may be relative to `directory` */
    const char *directory; /* where the compiler ran; NULL: not known */
};

/* A call that was compiled into another function, or a function itself (parent 0). */
struct dwarf_call {
    uint32_t parent;       /* the call around it */
    uint32_t call_line;    /* where it stands in its parent; 0: not known */
    const char *call_file; /* NULL: not known; may be relative to the site's `directory` */
    const char *name; /* the linker's where the compiler gives it, else the bare one; or NULL */
};

struct dwarf_lines;

/* Opens the DWARF of a file, which must stay open. shift is added to its addresses (see
 * elf_symbols_add).
 * Returns LAM_OK; LAM_E_NOTFOUND when it has none that can be read; LAM_E_NOMEM. */
int dwarf_lines_open(struct dwarf_lines **lines, struct elf_file *file, uint64_t shift);

/* Resolves sites, which are sorted by address. Stops when the monotonic clock passes deadline_ns,
 * or when more than a bounded number of entries was read: *was_cut is then true, and the sites not
 * reached keep node, line and file 0. Strings live until dwarf_lines_close(). Returns LAM_OK or
 * LAM_E_NOMEM. */
int dwarf_lines_resolve(struct dwarf_lines *lines, struct dwarf_site *sites, size_t count,
                        uint64_t deadline_ns, bool *was_cut);

/* The call of a site's node or of a call's parent; NULL for 0. */
const struct dwarf_call *dwarf_lines_call(const struct dwarf_lines *lines, uint32_t node);

void dwarf_lines_close(struct dwarf_lines **lines); /* NULL and *lines NULL are fine */

#endif
