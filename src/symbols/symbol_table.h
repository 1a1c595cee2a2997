/* Which function an address belongs to: symbols of any origin, in any order and overlapping, made
 * into ranges that do not overlap. */
#ifndef LAMELLA_SYMBOLS_SYMBOL_TABLE_H
#define LAMELLA_SYMBOLS_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"

struct symbol {
    uint64_t start;
    uint64_t end;
    const char *name; /* as the linker has it */
    uint32_t tag;     /* the caller's */
    uint8_t rank;     /* among names of one place the lowest is taken */
    bool is_open;     /* has no size: ends where the next symbol starts, at `end` at the latest */
    bool is_label;    /* open and no function: counts only where no sized symbol is */
};

struct symbol_range {
    uint64_t start;
    uint64_t end;
    uint32_t symbol; /* index into symbols */
};

/* All-zero is empty and valid. */
struct symbol_table {
    LAM_ARRAY(struct symbol) symbols;
    LAM_ARRAY(struct symbol_range)
    ranges;            /* sorted, not overlapping; after symbol_table_finish() */
    struct arena text; /* names that were made */
};

/* Adds a symbol. The name must live as long as the table. One with end at or before its start is
 * ignored. LAM_OK or LAM_E_NOMEM. */
int symbol_table_add(struct symbol_table *table, struct symbol symbol);

/* Sorts and cuts into ranges: each address belongs to the innermost symbol that holds it (the one
 * that starts last; of several with the same place the one of the lowest rank, then the shortest
 * name, then the first in byte order). Symbols may be added afterwards; then it is called again.
 * LAM_OK or LAM_E_NOMEM. */
int symbol_table_finish(struct symbol_table *table);

/* The range that holds the address; NULL when it lies between symbols. */
const struct symbol_range *symbol_table_find(const struct symbol_table *table, uint64_t address);

void symbol_table_free(struct symbol_table *table);

#endif
