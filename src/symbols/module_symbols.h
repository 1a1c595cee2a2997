/* All symbols of one recorded module: of its file or files, their debug files and linkage stubs. */
#ifndef LAMELLA_SYMBOLS_MODULE_SYMBOLS_H
#define LAMELLA_SYMBOLS_MODULE_SYMBOLS_H

#include "base/array.h"
#include "base/error.h"
#include "symbols/collector.h"
#include "symbols/elf_file.h"
#include "symbols/symbol_table.h"

struct opened_file {
    struct elf_file *file;
};

/* All-zero is empty and may be freed. */
struct module_symbols {
    enum symbols_module_state state;
    struct symbol_table functions;
    struct symbol_table stubs;
    LAM_ARRAY(struct opened_file) files;
    struct elf_file *lines; /* one of files: it has DWARF; NULL: none has */
    uint64_t lines_shift;
};

/* Opens what there is of a module. A file is used when it is the one that was mapped: by its build
 * id, or without one by the time it was changed. What is not there is a state, no failure. Returns
 * LAM_OK or LAM_E_NOMEM. */
int module_symbols_load(struct module_symbols *symbols, const struct hit_module *module,
                        const char *debug_root);

/* The symbol of an address: a function, else a stub; *range says where it lies. NULL: none. */
const struct symbol *module_symbols_find(const struct module_symbols *symbols, uint64_t address,
                                         const struct symbol_range **range);

void module_symbols_free(struct module_symbols *symbols);

#endif
