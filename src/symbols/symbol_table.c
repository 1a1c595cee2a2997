#include "symbols/symbol_table.h"

#include <string.h>

int symbol_table_add(struct symbol_table *table, struct symbol symbol)
{
    if (symbol.end <= symbol.start || table->symbols.count >= UINT32_MAX)
        return LAM_OK;
    return array_push(&table->symbols, symbol);
}

static int compare_names(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length != b_length)
        return a_length < b_length ? -1 : 1;
    return memcmp(a, b, a_length);
}

/* By start; at one start outer before inner, those without a size last; then the better name
 * first. */
static int compare_symbols(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->is_open != b->is_open)
        return a->is_open ? 1 : -1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->name == b->name ? 0 : compare_names(a->name, b->name);
}

/* Keeps one symbol a place, and gives those without a size their end. */
static void close_symbols(struct symbol_table *table)
{
    struct symbol *symbols = table->symbols.items;
    size_t count = table->symbols.count, kept = 0;
    uint64_t covered = 0; /* by sized symbols so far, their furthest end */
    for (size_t i = 0; i < count; i++) {
        struct symbol symbol = symbols[i];
        if (kept > 0 && symbols[kept - 1].start == symbol.start &&
            (symbol.is_open || symbols[kept - 1].end == symbol.end))
            continue; /* another name, or a name without a size, for what is there */
        if (!symbol.is_open) {
            covered = symbol.end > covered ? symbol.end : covered;
            symbols[kept++] = symbol;
            continue;
        }
        if (symbol.is_label && symbol.start < covered)
            continue; /* a label inside a function */
        size_t next = i + 1;
        while (next < count && symbols[next].start == symbol.start)
            next++;
        if (next < count && symbols[next].start < symbol.end)
            symbol.end = symbols[next].start;
        if (symbol.start < covered && covered < symbol.end)
            symbol.end = covered;
        symbols[kept++] = symbol;
    }
    table->symbols.count = kept;
}

struct sweep {
    struct symbol_table *table;
    uint64_t position; /* everything before has its ranges */
    LAM_ARRAY(uint32_t)
    open; /* symbols that hold the position, the innermost last; some may have ended */
    int rc;
};

static void emit(struct sweep *sweep, uint32_t symbol, uint64_t end)
{
    struct symbol_table *table = sweep->table;
    if (end <= sweep->position)
        return;
    struct symbol_range *ranges = table->ranges.items;
    struct symbol_range *last = ranges && table->ranges.count ? &array_last(&table->ranges) : NULL;
    if (last && last->symbol == symbol && last->end == sweep->position) {
        last->end = end;
    } else {
        struct symbol_range *range = array_add(&table->ranges);
        if (range)
            *range = (struct symbol_range){sweep->position, end, symbol};
        else
            sweep->rc = LAM_E_NOMEM;
    }
    sweep->position = end;
}

/* Closes the symbols that end at or before `until`, and covers the way there. */
static void advance(struct sweep *sweep, uint64_t until)
{
    while (sweep->open.count > 0) {
        uint32_t top = array_last(&sweep->open);
        uint64_t end = sweep->table->symbols.items[top].end;
        if (end > until) {
            emit(sweep, top, until);
            break;
        }
        emit(sweep, top, end);
        (void)array_pop(&sweep->open);
    }
    sweep->position = until;
}

int symbol_table_finish(struct symbol_table *table)
{
    array_sort(&table->symbols, compare_symbols);
    close_symbols(table);
    array_clear(&table->ranges);
    if (array_reserve(&table->ranges, table->symbols.count) < 0)
        return LAM_E_NOMEM;
    struct sweep sweep = {.table = table};
    for (size_t i = 0; i < table->symbols.count && sweep.rc == LAM_OK; i++) {
        advance(&sweep, table->symbols.items[i].start);
        if (array_push(&sweep.open, (uint32_t)i) < 0)
            sweep.rc = LAM_E_NOMEM;
    }
    advance(&sweep, UINT64_MAX);
    array_free(&sweep.open);
    return sweep.rc;
}

const struct symbol_range *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
    size_t low = 0, high = table->ranges.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->ranges.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= table->ranges.items[low - 1].end)
        return NULL;
    return &table->ranges.items[low - 1];
}

void symbol_table_free(struct symbol_table *table)
{
    array_free(&table->symbols);
    array_free(&table->ranges);
    arena_free(&table->text);
}
