/* Names and lines of the addresses that were hit in one module, without anything of its file: what
 * the sidecar stores. */
#ifndef LAMELLA_SYMBOLS_MODULE_RESOLVE_H
#define LAMELLA_SYMBOLS_MODULE_RESOLVE_H

#include "base/arena.h"
#include "base/array.h"
#include "symbols/collector.h"

/* Ids of functions and files are indexes into the lists here. */
struct resolved_function {
    const char *raw;
    const char *full;
    const char *short_name;
    enum symbol_language language;
};

struct resolved_range {
    uint64_t start;
    uint64_t end;
    uint32_t function;
};

struct resolved_site {
    uint64_t address;
    uint32_t frame_first;
    uint32_t frame_count;
};

struct resolved_frame {
    uint32_t function; /* SYMBOL_NO_FUNCTION: has no name */
    uint32_t line;
    const char *file; /* NULL: not known */
    bool is_inlined;
};

/* All-zero is empty and may be freed. Texts live in it. */
struct resolved_module {
    const struct hit_module *module;
    enum symbols_module_state state;
    bool has_lines;
    bool lines_cut;
    uint64_t hits; /* different addresses */
    uint64_t resolved;
    LAM_ARRAY(struct resolved_function) functions;
    LAM_ARRAY(struct resolved_range) ranges; /* sorted, of functions that were hit */
    LAM_ARRAY(struct resolved_site) sites; /* sorted, only those about which DWARF knew something */
    LAM_ARRAY(struct resolved_frame) frames;
    struct arena text;
};

/* Sorts the module's addresses in place. Belongs inside demangle_threads(). Returns LAM_OK or
 * LAM_E_NOMEM. */
int module_resolve(struct resolved_module *resolved, struct hit_module *module,
                   const char *debug_root, uint64_t lines_deadline_ns);

void resolved_module_free(struct resolved_module *resolved);

#endif
