#include <stdlib.h>

#include <zstd.h>

#include "base/file.h"
#include "base/memory.h"
#include "symbols/sidecar_inside.h"

/* ---- opening -------------------------------------------------------------------------------- */

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

static struct sidecar_items *section_slot(struct symbols *symbols, uint32_t id, size_t *min_bytes)
{
    static const size_t sizes[SIDECAR_SECTION_END] = {
        [SIDECAR_TEXT] = 1,
        [SIDECAR_MODULES] = sizeof(struct sidecar_module),
        [SIDECAR_FUNCTIONS] = sizeof(struct sidecar_function),
        [SIDECAR_RANGES] = sizeof(struct sidecar_range),
        [SIDECAR_SITES] = sizeof(struct sidecar_site),
        [SIDECAR_FRAMES] = sizeof(struct sidecar_frame),
    };
    struct sidecar_items *slots[SIDECAR_SECTION_END] = {NULL,
                                                        &symbols->text,
                                                        &symbols->file_modules,
                                                        &symbols->functions,
                                                        &symbols->file_ranges,
                                                        &symbols->file_sites,
                                                        &symbols->frames};
    if (id == 0 || id >= SIDECAR_SECTION_END)
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
        struct sidecar_items *slot = section_slot(symbols, le32toh(from.id), &min_bytes);
        if (!slot)
            continue;
        if (item_bytes < min_bytes || __builtin_mul_overflow(items, (uint64_t)item_bytes, &bytes) ||
            offset > symbols->content_bytes || bytes > symbols->content_bytes - offset ||
            items > UINT32_MAX || (min_bytes == 1 && item_bytes != 1))
            return lam_error_set(err, LAM_E_CORRUPT, "%s: section %u lies outside", name,
                                 le32toh(from.id));
        *slot = (struct sidecar_items){symbols->content + offset, item_bytes, items};
    }
    return LAM_OK;
}

/* ---- checking: every reference, once -------------------------------------------------------- */

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

/* The runs of all modules together cannot be longer than the sections: else a small file could make
 * a large one. */
static bool check_modules(const struct symbols *symbols)
{
    uint64_t ranges = 0, sites = 0;
    for (size_t i = 0; i < symbols->file_modules.count; i++) {
        struct sidecar_module module = sidecar_get_module(symbols, i);
        if (!is_text(symbols, module.path) || module.state > SYMBOLS_MODULE_DAMAGED ||
            module.build_id_bytes > SIDECAR_BUILD_ID_MAX ||
            !is_run(module.range_first, module.range_count, symbols->file_ranges.count) ||
            !is_run(module.site_first, module.site_count, symbols->file_sites.count))
            return false;
        ranges += le32toh(module.range_count);
        sites += le32toh(module.site_count);
    }
    return ranges <= symbols->file_ranges.count && sites <= symbols->file_sites.count;
}

static bool check_functions(const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->functions.count; i++) {
        struct sidecar_function function = sidecar_get_function(symbols, i);
        if (!is_text(symbols, function.short_name) || !is_text(symbols, function.full_name) ||
            !is_text(symbols, function.raw_name) || le32toh(function.language) > SYMBOL_LANGUAGE_RUST)
            return false;
    }
    return true;
}

static bool check_addresses(const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->file_ranges.count; i++) {
        struct sidecar_range range = sidecar_get_range(symbols, i);
        if (le64toh(range.start) >= le64toh(range.end) ||
            le32toh(range.function) >= symbols->functions.count)
            return false;
    }
    for (size_t i = 0; i < symbols->file_sites.count; i++) {
        struct sidecar_site site = sidecar_get_site(symbols, i);
        if (!is_run(site.frame_first, site.frame_count, symbols->frames.count) ||
            site.frame_count == 0)
            return false;
    }
    for (size_t i = 0; i < symbols->frames.count; i++) {
        struct sidecar_frame frame = sidecar_get_frame(symbols, i);
        if (!is_function_or_none(symbols, frame.function) || !is_text(symbols, frame.file))
            return false;
    }
    return true;
}

static int check_references(const struct symbols *symbols, const char *name, struct lam_error *err)
{
    const struct sidecar_items *text = &symbols->text;
    if (text->count == 0 || text->items[0] != 0 || text->items[text->count - 1] != 0)
        return lam_error_set(err, LAM_E_CORRUPT, "%s: its texts do not end", name);
    if (!check_modules(symbols) || !check_functions(symbols) || !check_addresses(symbols))
        return lam_error_set(err, LAM_E_CORRUPT, "%s: refers to what it does not hold", name);
    return LAM_OK;
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
        rc = sidecar_merge(symbols);
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

int symbols_append(struct symbols **symbols, struct symbols *next)
{
    if (!next)
        next = mem_zalloc(1, sizeof *next);
    if (!next)
        return LAM_E_NOMEM;
    while (*symbols)
        symbols = &(*symbols)->next;
    *symbols = next;
    return LAM_OK;
}

void symbols_close(struct symbols **symbols)
{
    while (symbols && *symbols) {
        struct symbols *next = (*symbols)->next;
        mem_free((*symbols)->content);
        intern_free(&(*symbols)->keys);
        array_free(&(*symbols)->modules);
        array_free(&(*symbols)->ranges);
        array_free(&(*symbols)->sites);
        mem_free(*symbols);
        *symbols = next;
    }
}
