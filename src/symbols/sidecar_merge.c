#include <stdlib.h>

#include "base/memory.h"
#include "symbols/module_key.h"
#include "symbols/sidecar_inside.h"
#include "symbols/symbol_table.h"

/* Entries of the file that have one key are one module: two copies of a library, each with some of
 * its symbols, in any order and overlapping. */

static int module_key(struct symbols *symbols, const struct sidecar_module *module, uint32_t *key)
{
    const char *path = sidecar_get_text(symbols, module->path);
    size_t length;
    char *name =
        symbols_module_key(module->build_id, module->build_id_bytes, path, strlen(path), &length);
    if (!name)
        return LAM_E_NOMEM;
    int rc = intern_add(&symbols->keys, name, length, key);
    mem_free(name);
    return rc;
}

/* Which entries of the file belong to which module. */
struct grouping {
    LAM_ARRAY(uint32_t) module_of; /* entry to index of modules */
    LAM_ARRAY(uint32_t) order;     /* entries, those of one module together */
};

static int compare_entries(const void *left, const void *right, void *ctx)
{
    const uint32_t *module_of = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (module_of[a] != module_of[b])
        return module_of[a] < module_of[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int group_entries(struct symbols *symbols, struct grouping *grouping)
{
    for (size_t i = 0; i < symbols->file_modules.count; i++) {
        struct sidecar_module entry = sidecar_get_module(symbols, i);
        uint32_t key;
        int rc = module_key(symbols, &entry, &key);
        if (rc == LAM_OK && key > symbols->modules.count)
            rc = array_push(&symbols->modules,
                            (struct known_module){.info = {.state = SYMBOLS_MODULE_MISSING}});
        if (rc == LAM_OK)
            rc = array_push(&grouping->module_of, key - 1);
        if (rc == LAM_OK)
            rc = array_push(&grouping->order, (uint32_t)i);
        if (rc < 0)
            return rc;
    }
    if (grouping->order.count > 1)
        qsort_r(grouping->order.items, grouping->order.count, sizeof(uint32_t), compare_entries,
                grouping->module_of.items);
    return LAM_OK;
}

/* A better state of one copy hides a worse one. */
static enum symbols_module_state better_state(enum symbols_module_state a, enum symbols_module_state b)
{
    return a < b ? a : b;
}

static void add_info(struct symbols *symbols, struct known_module *module,
                     const struct sidecar_module *entry, bool is_first)
{
    struct symbols_module_info *info = &module->info;
    if (is_first) {
        info->path = sidecar_get_text(symbols, entry->path);
        info->state = entry->state;
    }
    info->state = better_state(info->state, entry->state);
    info->has_lines |= (le16toh(entry->flags) & SIDECAR_MODULE_LINES) != 0;
    info->lines_cut |= (le16toh(entry->flags) & SIDECAR_MODULE_LINES_CUT) != 0;
    info->hits += le64toh(entry->hits);
    info->resolved += le64toh(entry->resolved);
}

/* Adds an entry's ranges; false when they are not in order behind the module's others. */
static int add_ranges(struct symbols *symbols, const struct known_module *module,
                      const struct sidecar_module *entry, bool *is_sorted)
{
    size_t first = le32toh(entry->range_first), count = le32toh(entry->range_count);
    for (size_t i = first; i < first + count; i++) {
        struct sidecar_range from = sidecar_get_range(symbols, i);
        struct known_range range = {le64toh(from.start), le64toh(from.end), le32toh(from.function)};
        if (symbols->ranges.count > module->range_first &&
            range.start < array_last(&symbols->ranges).end)
            *is_sorted = false;
        if (array_push(&symbols->ranges, range) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* Makes a module's ranges sorted and free of overlaps. */
static int merge_ranges(struct symbols *symbols, const struct known_module *module)
{
    struct symbol_table table = {0};
    int rc = LAM_OK;
    for (size_t i = module->range_first; i < symbols->ranges.count && rc == LAM_OK; i++) {
        const struct known_range *range = &symbols->ranges.items[i];
        struct sidecar_function function = sidecar_get_function(symbols, range->function);
        rc = symbol_table_add(&table,
                              (struct symbol){.start = range->start,
                                              .end = range->end,
                                              .name = sidecar_get_text(symbols, function.raw_name),
                                              .tag = range->function});
    }
    if (rc == LAM_OK)
        rc = symbol_table_finish(&table);
    symbols->ranges.count = module->range_first;
    for (size_t i = 0; i < table.ranges.count && rc == LAM_OK; i++) {
        const struct symbol_range *range = &table.ranges.items[i];
        rc = array_push(
            &symbols->ranges,
            (struct known_range){range->start, range->end, table.symbols.items[range->symbol].tag});
    }
    symbol_table_free(&table);
    return rc;
}

/* By address; of two for one address the one that tells more first. */
static int compare_sites(const void *left, const void *right)
{
    const struct known_site *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->frame_count != b->frame_count)
        return a->frame_count > b->frame_count ? -1 : 1;
    return a->frame_first < b->frame_first ? -1 : a->frame_first > b->frame_first;
}

static int add_sites(struct symbols *symbols, const struct known_module *module,
                     const struct sidecar_module *entry, bool *is_sorted)
{
    size_t first = le32toh(entry->site_first), count = le32toh(entry->site_count);
    for (size_t i = first; i < first + count; i++) {
        struct sidecar_site from = sidecar_get_site(symbols, i);
        struct known_site site = {le64toh(from.address), le32toh(from.frame_first),
                                  le32toh(from.frame_count)};
        if (symbols->sites.count > module->site_first &&
            site.address <= array_last(&symbols->sites).address)
            *is_sorted = false;
        if (array_push(&symbols->sites, site) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static void merge_sites(struct symbols *symbols, const struct known_module *module)
{
    struct known_site *sites = symbols->sites.items + module->site_first;
    size_t count = symbols->sites.count - module->site_first, kept = 0;
    qsort(sites, count, sizeof *sites, compare_sites);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || sites[kept - 1].address != sites[i].address)
            sites[kept++] = sites[i];
    symbols->sites.count = module->site_first + kept;
}

/* Fills one module from its entries order[from … to). */
static int fill_module(struct symbols *symbols, struct known_module *module,
                       const uint32_t *entries, size_t count)
{
    bool ranges_sorted = true, sites_sorted = true;
    module->range_first = symbols->ranges.count;
    module->site_first = symbols->sites.count;
    int rc = LAM_OK;
    for (size_t i = 0; i < count && rc == LAM_OK; i++) {
        struct sidecar_module entry = sidecar_get_module(symbols, entries[i]);
        add_info(symbols, module, &entry, i == 0);
        rc = add_ranges(symbols, module, &entry, &ranges_sorted);
        if (rc == LAM_OK)
            rc = add_sites(symbols, module, &entry, &sites_sorted);
    }
    if (rc == LAM_OK && !ranges_sorted)
        rc = merge_ranges(symbols, module);
    if (rc == LAM_OK && !sites_sorted)
        merge_sites(symbols, module);
    module->range_count = symbols->ranges.count - module->range_first;
    module->site_count = symbols->sites.count - module->site_first;
    return rc;
}

int sidecar_merge(struct symbols *symbols)
{
    struct grouping grouping = {0};
    int rc = group_entries(symbols, &grouping);
    for (size_t from = 0, to; from < grouping.order.count && rc == LAM_OK; from = to) {
        uint32_t module = grouping.module_of.items[grouping.order.items[from]];
        to = from + 1;
        while (to < grouping.order.count &&
               grouping.module_of.items[grouping.order.items[to]] == module)
            to++;
        rc = fill_module(symbols, &symbols->modules.items[module], grouping.order.items + from,
                         to - from);
    }
    array_free(&grouping.module_of);
    array_free(&grouping.order);
    return rc;
}
