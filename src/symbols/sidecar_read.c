#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/memory.h"
#include "symbols/sidecar.h"
#include "symbols/sidecar_layout.h"
#include "symbols/symbol_table.h"

struct section {
    const uint8_t *items;
    size_t item_bytes;
    size_t count;
};

/* A module as looked up: entries of the file that have one key are one module here. */
struct module {
    struct symbols_module_info info;
    size_t range_first, range_count; /* of symbols->ranges */
    size_t site_first, site_count;   /* of symbols->sites */
};

struct range {
    uint64_t start;
    uint64_t end;
    uint32_t function;
};

struct site {
    uint64_t address;
    uint32_t frame_first;
    uint32_t frame_count;
};

struct symbols {
    uint8_t *content;
    size_t content_bytes;
    struct section text, modules_section, functions, ranges_section, sites_section, frames;
    struct intern keys; /* id - 1 is the index of modules */
    LAM_ARRAY(struct module) modules;
    LAM_ARRAY(struct range) ranges; /* per module sorted, not overlapping */
    LAM_ARRAY(struct site) sites;   /* per module sorted, each address once */
};

/* ---- items of the file; all were checked by check_references() -------------------------------------------------- */

static struct sidecar_module get_module(const struct symbols *symbols, size_t index)
{
    struct sidecar_module module;
    memcpy(&module, symbols->modules_section.items + index * symbols->modules_section.item_bytes,
           sizeof module);
    return module;
}

static struct sidecar_function get_function(const struct symbols *symbols, size_t index)
{
    struct sidecar_function function;
    memcpy(&function, symbols->functions.items + index * symbols->functions.item_bytes,
           sizeof function);
    return function;
}

static struct sidecar_range get_range(const struct symbols *symbols, size_t index)
{
    struct sidecar_range range;
    memcpy(&range, symbols->ranges_section.items + index * symbols->ranges_section.item_bytes,
           sizeof range);
    return range;
}

static struct sidecar_site get_site(const struct symbols *symbols, size_t index)
{
    struct sidecar_site site;
    memcpy(&site, symbols->sites_section.items + index * symbols->sites_section.item_bytes,
           sizeof site);
    return site;
}

static struct sidecar_frame get_frame(const struct symbols *symbols, size_t index)
{
    struct sidecar_frame frame;
    memcpy(&frame, symbols->frames.items + index * symbols->frames.item_bytes, sizeof frame);
    return frame;
}

static const char *get_text(const struct symbols *symbols, uint32_t offset)
{
    return (const char *)symbols->text.items + le32toh(offset);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static int unpack(struct symbols *symbols, const uint8_t *bytes, size_t size_bytes,
                  const char *name, struct lam_error *err)
{
    struct sidecar_header header;
    if (size_bytes < sizeof header)
        return lam_error_at(err, LAM_E_TRUNCATED, size_bytes, "%s: ends inside its header", name);
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, SIDECAR_MAGIC, sizeof header.magic) != 0)
        return lam_error_at(err, LAM_E_CORRUPT, 0, "%s: not a symbol sidecar", name);
    if (le16toh(header.version_major) != SIDECAR_VERSION_MAJOR)
        return lam_error_at(err, LAM_E_UNSUPPORTED, 8, "%s: version %u, this program reads %d",
                            name, le16toh(header.version_major), SIDECAR_VERSION_MAJOR);
    uint64_t packed = le64toh(header.packed_bytes), unpacked = le64toh(header.unpacked_bytes);
    if (packed > size_bytes - sizeof header)
        return lam_error_at(err, LAM_E_TRUNCATED, size_bytes, "%s: ends inside its content", name);
    if (unpacked > SIDECAR_MAX_BYTES || unpacked < sizeof(struct sidecar_table))
        return lam_error_at(err, LAM_E_CORRUPT, 24, "%s: its content cannot have %llu bytes", name,
                            (unsigned long long)unpacked);
    if (ZSTD_getFrameContentSize(bytes + sizeof header, packed) != unpacked)
        return lam_error_at(err, LAM_E_CORRUPT, sizeof header, "%s: sizes of its content differ",
                            name);
    symbols->content = mem_alloc(unpacked);
    if (!symbols->content)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    symbols->content_bytes = unpacked;
    size_t got = ZSTD_decompress(symbols->content, unpacked, bytes + sizeof header, packed);
    if (ZSTD_isError(got) || got != unpacked)
        return lam_error_at(err, LAM_E_CORRUPT, sizeof header, "%s: its content is damaged", name);
    return LAM_OK;
}

static struct section *section_slot(struct symbols *symbols, uint32_t id, size_t *min_bytes)
{
    static const size_t sizes[] = {
        [SIDECAR_TEXT] = 1,
        [SIDECAR_MODULES] = sizeof(struct sidecar_module),
        [SIDECAR_FUNCTIONS] = sizeof(struct sidecar_function),
        [SIDECAR_RANGES] = sizeof(struct sidecar_range),
        [SIDECAR_SITES] = sizeof(struct sidecar_site),
        [SIDECAR_FRAMES] = sizeof(struct sidecar_frame),
    };
    struct section *slots[] = {NULL,
                               &symbols->text,
                               &symbols->modules_section,
                               &symbols->functions,
                               &symbols->ranges_section,
                               &symbols->sites_section,
                               &symbols->frames};
    if (id == 0 || id >= sizeof slots / sizeof *slots)
        return NULL;
    *min_bytes = sizes[id];
    return slots[id];
}

static int find_sections(struct symbols *symbols, const char *name, struct lam_error *err)
{
    struct sidecar_table table;
    memcpy(&table, symbols->content, sizeof table);
    uint32_t count = le32toh(table.section_count);
    if (count > SIDECAR_SECTIONS_MAX ||
        sizeof table + count * sizeof(struct sidecar_section) > symbols->content_bytes)
        return lam_error_set(err, LAM_E_CORRUPT, "%s: %u sections do not fit", name, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sidecar_section from;
        memcpy(&from, symbols->content + sizeof table + i * sizeof from, sizeof from);
        uint64_t offset = le64toh(from.offset), items = le64toh(from.count), bytes;
        uint32_t item_bytes = le32toh(from.item_bytes);
        size_t min_bytes = 0;
        struct section *slot = section_slot(symbols, le32toh(from.id), &min_bytes);
        if (!slot)
            continue;
        if (item_bytes < min_bytes || __builtin_mul_overflow(items, (uint64_t)item_bytes, &bytes) ||
            offset > symbols->content_bytes || bytes > symbols->content_bytes - offset ||
            items > UINT32_MAX || (min_bytes == 1 && item_bytes != 1))
            return lam_error_set(err, LAM_E_CORRUPT, "%s: section %u lies outside", name,
                                 le32toh(from.id));
        *slot = (struct section){symbols->content + offset, item_bytes, items};
    }
    return LAM_OK;
}

/* ---- checking: every reference, once ---------------------------------------------------------------------------- */

static bool is_run(uint32_t first, uint32_t count, size_t limit)
{
    return le32toh(first) <= limit && le32toh(count) <= limit - le32toh(first);
}

static bool is_text(const struct symbols *symbols, uint32_t offset)
{
    return le32toh(offset) < symbols->text.count;
}

static bool is_function_or_none(const struct symbols *symbols, uint32_t function)
{
    return le32toh(function) == SYMBOL_NO_FUNCTION || le32toh(function) < symbols->functions.count;
}

/* The runs of all modules together cannot be longer than the sections: else a small file could make a large one. */
static bool check_modules(const struct symbols *symbols)
{
    uint64_t ranges = 0, sites = 0;
    for (size_t i = 0; i < symbols->modules_section.count; i++) {
        struct sidecar_module module = get_module(symbols, i);
        if (!is_text(symbols, module.path) || module.state > SYMBOLS_MODULE_DAMAGED ||
            module.build_id_bytes > SIDECAR_BUILD_ID_MAX ||
            !is_run(module.range_first, module.range_count, symbols->ranges_section.count) ||
            !is_run(module.site_first, module.site_count, symbols->sites_section.count))
            return false;
        ranges += le32toh(module.range_count);
        sites += le32toh(module.site_count);
    }
    return ranges <= symbols->ranges_section.count && sites <= symbols->sites_section.count;
}

static bool check_functions(const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->functions.count; i++) {
        struct sidecar_function function = get_function(symbols, i);
        if (!is_text(symbols, function.short_name) || !is_text(symbols, function.full_name) ||
            !is_text(symbols, function.raw_name) || le32toh(function.language) > SYMBOL_LANGUAGE_RUST)
            return false;
    }
    return true;
}

static bool check_addresses(const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->ranges_section.count; i++) {
        struct sidecar_range range = get_range(symbols, i);
        if (le64toh(range.start) >= le64toh(range.end) ||
            le32toh(range.function) >= symbols->functions.count)
            return false;
    }
    for (size_t i = 0; i < symbols->sites_section.count; i++) {
        struct sidecar_site site = get_site(symbols, i);
        if (!is_run(site.frame_first, site.frame_count, symbols->frames.count) ||
            site.frame_count == 0)
            return false;
    }
    for (size_t i = 0; i < symbols->frames.count; i++) {
        struct sidecar_frame frame = get_frame(symbols, i);
        if (!is_function_or_none(symbols, frame.function) || !is_text(symbols, frame.file))
            return false;
    }
    return true;
}

static int check_references(const struct symbols *symbols, const char *name, struct lam_error *err)
{
    const struct section *text = &symbols->text;
    if (text->count == 0 || text->items[0] != 0 || text->items[text->count - 1] != 0)
        return lam_error_set(err, LAM_E_CORRUPT, "%s: its texts do not end", name);
    if (!check_modules(symbols) || !check_functions(symbols) || !check_addresses(symbols))
        return lam_error_set(err, LAM_E_CORRUPT, "%s: refers to what it does not hold", name);
    return LAM_OK;
}

/* ---- modules: entries of one key are merged --------------------------------------------------------------------- */

static int module_key(struct intern *keys, const struct sidecar_module *module, const char *path,
                      uint32_t *key)
{
    char bytes[1 + SIDECAR_BUILD_ID_MAX] = {'b'};
    if (module->build_id_bytes > 0) {
        memcpy(bytes + 1, module->build_id, module->build_id_bytes);
        return intern_add(keys, bytes, 1u + module->build_id_bytes, key);
    }
    size_t length = strlen(path);
    char *named = mem_alloc(length + 1);
    if (!named)
        return LAM_E_NOMEM;
    named[0] = 'p';
    memcpy(named + 1, path, length);
    int rc = intern_add(keys, named, length + 1, key);
    mem_free(named);
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
    for (size_t i = 0; i < symbols->modules_section.count; i++) {
        struct sidecar_module entry = get_module(symbols, i);
        uint32_t key;
        int rc = module_key(&symbols->keys, &entry, get_text(symbols, entry.path), &key);
        if (rc == LAM_OK && key > symbols->modules.count)
            rc = array_push(&symbols->modules,
                            (struct module){.info = {.state = SYMBOLS_MODULE_MISSING}});
        if (rc == LAM_OK)
            rc = array_push(&grouping->module_of, key - 1);
        if (rc == LAM_OK)
            rc = array_push(&grouping->order, (uint32_t)i);
        if (rc < 0)
            return rc;
    }
    qsort_r(grouping->order.items, grouping->order.count, sizeof(uint32_t), compare_entries,
            grouping->module_of.items);
    return LAM_OK;
}

/* A better state of one copy hides a worse one. */
static enum symbols_module_state better_state(enum symbols_module_state a, enum symbols_module_state b)
{
    return a < b ? a : b;
}

static void add_info(struct symbols *symbols, struct module *module,
                     const struct sidecar_module *entry, bool is_first)
{
    struct symbols_module_info *info = &module->info;
    if (is_first) {
        info->path = get_text(symbols, entry->path);
        info->state = entry->state;
    }
    info->state = better_state(info->state, entry->state);
    info->has_lines |= (le16toh(entry->flags) & SIDECAR_MODULE_LINES) != 0;
    info->lines_cut |= (le16toh(entry->flags) & SIDECAR_MODULE_LINES_CUT) != 0;
    info->hits += le64toh(entry->hits);
    info->resolved += le64toh(entry->resolved);
}

/* Adds an entry's ranges; false when they are not in order behind the module's others. */
static int add_ranges(struct symbols *symbols, const struct module *module,
                      const struct sidecar_module *entry, bool *is_sorted)
{
    size_t first = le32toh(entry->range_first), count = le32toh(entry->range_count);
    for (size_t i = first; i < first + count; i++) {
        struct sidecar_range from = get_range(symbols, i);
        struct range range = {le64toh(from.start), le64toh(from.end), le32toh(from.function)};
        if (symbols->ranges.count > module->range_first &&
            range.start < array_last(&symbols->ranges).end)
            *is_sorted = false;
        if (array_push(&symbols->ranges, range) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

/* Makes a module's ranges sorted and free of overlaps. */
static int merge_ranges(struct symbols *symbols, const struct module *module)
{
    struct symbol_table table = {0};
    int rc = LAM_OK;
    for (size_t i = module->range_first; i < symbols->ranges.count && rc == LAM_OK; i++) {
        const struct range *range = &symbols->ranges.items[i];
        struct sidecar_function function = get_function(symbols, range->function);
        rc = symbol_table_add(&table, (struct symbol){.start = range->start,
                                                      .end = range->end,
                                                      .name = get_text(symbols, function.raw_name),
                                                      .tag = range->function});
    }
    if (rc == LAM_OK)
        rc = symbol_table_finish(&table);
    symbols->ranges.count = module->range_first;
    for (size_t i = 0; i < table.ranges.count && rc == LAM_OK; i++) {
        const struct symbol_range *range = &table.ranges.items[i];
        rc = array_push(&symbols->ranges, (struct range){range->start, range->end,
                                                         table.symbols.items[range->symbol].tag});
    }
    symbol_table_free(&table);
    return rc;
}

/* By address; of two for one address the one that tells more first. */
static int compare_sites(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->frame_count != b->frame_count)
        return a->frame_count > b->frame_count ? -1 : 1;
    return a->frame_first < b->frame_first ? -1 : a->frame_first > b->frame_first;
}

static int add_sites(struct symbols *symbols, const struct module *module,
                     const struct sidecar_module *entry, bool *is_sorted)
{
    size_t first = le32toh(entry->site_first), count = le32toh(entry->site_count);
    for (size_t i = first; i < first + count; i++) {
        struct sidecar_site from = get_site(symbols, i);
        struct site site = {le64toh(from.address), le32toh(from.frame_first),
                            le32toh(from.frame_count)};
        if (symbols->sites.count > module->site_first &&
            site.address <= array_last(&symbols->sites).address)
            *is_sorted = false;
        if (array_push(&symbols->sites, site) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static void merge_sites(struct symbols *symbols, const struct module *module)
{
    struct site *sites = symbols->sites.items + module->site_first;
    size_t count = symbols->sites.count - module->site_first, kept = 0;
    qsort(sites, count, sizeof *sites, compare_sites);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || sites[kept - 1].address != sites[i].address)
            sites[kept++] = sites[i];
    symbols->sites.count = module->site_first + kept;
}

/* Fills one module from its entries order[from … to). */
static int fill_module(struct symbols *symbols, struct module *module, const uint32_t *entries,
                       size_t count)
{
    bool ranges_sorted = true, sites_sorted = true;
    module->range_first = symbols->ranges.count;
    module->site_first = symbols->sites.count;
    int rc = LAM_OK;
    for (size_t i = 0; i < count && rc == LAM_OK; i++) {
        struct sidecar_module entry = get_module(symbols, entries[i]);
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

static int build_modules(struct symbols *symbols)
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

int symbols_open_memory(struct symbols **out, const void *bytes, size_t size_bytes,
                        const char *name, struct lam_error *err)
{
    struct symbols *symbols = mem_zalloc(1, sizeof *symbols);
    if (!symbols)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", name);
    int rc = unpack(symbols, bytes, size_bytes, name, err);
    if (rc == LAM_OK)
        rc = find_sections(symbols, name, err);
    if (rc == LAM_OK)
        rc = check_references(symbols, name, err);
    if (rc == LAM_OK) {
        rc = build_modules(symbols);
        if (rc < 0)
            lam_error_set(err, rc, "%s: %s", name, lam_code_text(rc));
    }
    if (rc < 0) {
        symbols_close(&symbols);
        return rc;
    }
    *out = symbols;
    return LAM_OK;
}

int symbols_open(struct symbols **symbols, const char *recording_dir, struct lam_error *err)
{
    char *path = path_join(recording_dir, SYMBOLS_FILE_NAME);
    if (!path)
        return lam_error_set(err, LAM_E_NOMEM, "%s: out of memory", recording_dir);
    struct file_map map = {0};
    int rc = file_map(path, &map, err);
    if (rc == LAM_OK)
        rc = symbols_open_memory(symbols, map.data, map.size_bytes, path, err);
    file_unmap(&map);
    mem_free(path);
    return rc;
}

void symbols_close(struct symbols **symbols)
{
    if (!symbols || !*symbols)
        return;
    mem_free((*symbols)->content);
    intern_free(&(*symbols)->keys);
    array_free(&(*symbols)->modules);
    array_free(&(*symbols)->ranges);
    array_free(&(*symbols)->sites);
    mem_free(*symbols);
    *symbols = NULL;
}

/* ---- looking up ------------------------------------------------------------------------------------------------- */

uint32_t symbols_module(const struct symbols *symbols, const uint8_t *build_id,
                        size_t build_id_bytes, const char *path, size_t path_length)
{
    uint32_t key = INTERN_NONE;
    char bytes[1 + SIDECAR_BUILD_ID_MAX] = {'b'};
    if (build_id_bytes > SIDECAR_BUILD_ID_MAX)
        build_id_bytes = SIDECAR_BUILD_ID_MAX; /* as the writer cut it */
    if (build_id_bytes > 0) {
        memcpy(bytes + 1, build_id, build_id_bytes);
        key = intern_find(&symbols->keys, bytes, 1 + build_id_bytes);
    } else {
        char *named = mem_alloc(path_length + 1);
        if (!named)
            return 0;
        named[0] = 'p';
        if (path_length > 0)
            memcpy(named + 1, path, path_length);
        key = intern_find(&symbols->keys, named, path_length + 1);
        mem_free(named);
    }
    return key == INTERN_NONE || key == INTERN_EMPTY ? 0 : key;
}

uint32_t symbols_module_count(const struct symbols *symbols)
{
    return (uint32_t)symbols->modules.count;
}

struct symbols_module_info symbols_module_info(const struct symbols *symbols, uint32_t module)
{
    if (module == 0 || module > symbols->modules.count)
        return (struct symbols_module_info){.path = "", .state = SYMBOLS_MODULE_MISSING};
    return symbols->modules.items[module - 1].info;
}

static const struct range *find_range(const struct symbols *symbols, const struct module *module,
                                      uint64_t address)
{
    const struct range *ranges = symbols->ranges.items + module->range_first;
    size_t low = 0, high = module->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

static const struct site *find_site(const struct symbols *symbols, const struct module *module,
                                    uint64_t address)
{
    const struct site *sites = symbols->sites.items + module->site_first;
    size_t low = 0, high = module->site_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sites[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < module->site_count && sites[low].address == address ? &sites[low] : NULL;
}

#define NO_FRAMES UINT32_MAX /* of symbol_place.first: the function is the only frame */

struct symbol_place symbols_lookup(const struct symbols *symbols, uint32_t module_id,
                                   uint64_t offset, bool is_return)
{
    struct symbol_place place = {
        .state = SYMBOL_NO_MODULE, .function = SYMBOL_NO_FUNCTION, .first = NO_FRAMES};
    if (module_id == 0 || module_id > symbols->modules.count)
        return place;
    const struct module *module = &symbols->modules.items[module_id - 1];
    uint64_t address = is_return ? offset - 1 : offset;
    const struct range *range = find_range(symbols, module, address);
    const struct site *site = find_site(symbols, module, address);
    if (range)
        place.function = range->function;
    if (site) {
        struct sidecar_frame outermost =
            get_frame(symbols, site->frame_first + site->frame_count - 1);
        if (!range)
            place.function = le32toh(outermost.function);
        place.first = site->frame_first;
        place.count = site->frame_count;
    } else if (range) {
        place.count = 1;
    }
    if (place.function != SYMBOL_NO_FUNCTION)
        place.state = SYMBOL_RESOLVED;
    else
        place.state = module->info.state == SYMBOLS_MODULE_COMPLETE ? SYMBOL_BETWEEN
                                                                    : SYMBOL_MODULE_WITHOUT_SYMBOLS;
    if (place.state != SYMBOL_RESOLVED)
        place.count = 0;
    return place;
}

uint32_t symbols_function_count(const struct symbols *symbols)
{
    return (uint32_t)symbols->functions.count;
}

struct symbol_frame symbols_function(const struct symbols *symbols, uint32_t function)
{
    struct symbol_frame frame = {
        .function = SYMBOL_NO_FUNCTION, .name = "", .full = "", .raw = "", .file = ""};
    if (function >= symbols->functions.count)
        return frame;
    struct sidecar_function from = get_function(symbols, function);
    frame.function = function;
    frame.name = get_text(symbols, from.short_name);
    frame.full = get_text(symbols, from.full_name);
    frame.raw = get_text(symbols, from.raw_name);
    frame.language = le32toh(from.language);
    return frame;
}

struct symbol_frame symbols_frame(const struct symbols *symbols, const struct symbol_place *place,
                                  uint32_t index)
{
    if (index >= place->count || place->first == NO_FRAMES)
        return symbols_function(symbols, place->function);
    struct sidecar_frame from = get_frame(symbols, place->first + index);
    struct symbol_frame frame = symbols_function(symbols, le32toh(from.function));
    if (!(le32toh(from.flags) & SIDECAR_FRAME_INLINED))
        frame = symbols_function(symbols, place->function);
    frame.file = get_text(symbols, from.file);
    frame.line = le32toh(from.line);
    frame.is_inlined = le32toh(from.flags) & SIDECAR_FRAME_INLINED;
    return frame;
}
