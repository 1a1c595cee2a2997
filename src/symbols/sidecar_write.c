#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zstd.h>

#include "base/file.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/memory.h"
#include "symbols/collector.h"
#include "symbols/module_resolve.h"
#include "symbols/sidecar.h"
#include "symbols/sidecar_layout.h"

enum { COMPRESSION_LEVEL = 3, DEFAULT_LINES_BUDGET_MS = 3000 };

/* ---- resolving: each module on one of the threads ------------------------------------------- */

struct resolve_job {
    struct symbols_collector *hits;
    struct resolved_module *resolved; /* one a module */
    size_t *order;                    /* modules with many addresses first: they take longest */
    const char *debug_root;
    uint64_t lines_deadline_ns;
};

static int resolve_one(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    struct resolve_job *job = ctx;
    size_t index = job->order[item];
    return module_resolve(&job->resolved[index], &job->hits->modules.items[index], job->debug_root,
                          job->lines_deadline_ns);
}

static int compare_by_hits(const void *left, const void *right, void *ctx)
{
    const struct symbols_collector *hits = ctx;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    size_t a_count = hits->modules.items[a].addresses.count,
           b_count = hits->modules.items[b].addresses.count;
    if (a_count != b_count)
        return a_count > b_count ? -1 : 1;
    return a < b ? -1 : a > b;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int resolve_all(struct resolve_job *job, const struct symbols_options *options)
{
    size_t count = job->hits->modules.count;
    uint64_t budget_ms =
        options->lines_budget_ms ? options->lines_budget_ms : DEFAULT_LINES_BUDGET_MS;
    job->debug_root = options->debug_root;
    job->lines_deadline_ns = now_ns() + budget_ms * 1000000u;
    for (size_t i = 0; i < count; i++)
        job->order[i] = i;
    qsort_r(job->order, count, sizeof *job->order, compare_by_hits, job->hits);
    return demangle_threads(options->threads, count, resolve_one, job);
}

/* ---- the content ---------------------------------------------------------------------------- */

struct content {
    struct intern texts;
    LAM_ARRAY(uint32_t) text_offsets; /* by id of texts */
    LAM_ARRAY(char) text;
    struct map function_ids; /* id of the raw name to function */
    LAM_ARRAY(struct sidecar_module) modules;
    LAM_ARRAY(struct sidecar_function) functions;
    LAM_ARRAY(struct sidecar_range) ranges;
    LAM_ARRAY(struct sidecar_site) sites;
    LAM_ARRAY(struct sidecar_frame) frames;
};

static void content_free(struct content *content)
{
    intern_free(&content->texts);
    map_free(&content->function_ids);
    array_free(&content->text_offsets);
    array_free(&content->text);
    array_free(&content->modules);
    array_free(&content->functions);
    array_free(&content->ranges);
    array_free(&content->sites);
    array_free(&content->frames);
}

/* The offset of a text, which is added when it is new. */
static int add_text(struct content *content, const char *text, uint32_t *id, uint32_t *offset)
{
    int rc = intern_add_str(&content->texts, text, id);
    if (rc < 0)
        return rc;
    while (content->text_offsets.count <= *id) {
        uint32_t next = (uint32_t)content->text_offsets.count;
        size_t length;
        const char *bytes = intern_text(&content->texts, next, &length);
        if (content->text.count + length + 1 > SIDECAR_MAX_BYTES / 2)
            return LAM_E_TOOBIG;
        rc = array_push(&content->text_offsets, (uint32_t)content->text.count);
        if (rc == LAM_OK)
            rc = array_append(&content->text, bytes, length + 1);
        if (rc < 0)
            return rc;
    }
    *offset = content->text_offsets.items[*id];
    return LAM_OK;
}

/* The function of that raw name: one for all modules. */
static int add_function(struct content *content, const struct resolved_function *from,
                        uint32_t *function)
{
    struct sidecar_function to = {.language = htole32((uint32_t)from->language)};
    uint32_t id = 0, raw = 0, full = 0, short_name = 0, unused;
    int rc = add_text(content, from->raw, &id, &raw);
    bool is_new = false;
    uint64_t *slot = rc == LAM_OK
                         ? map_slot(&content->function_ids, id, content->functions.count, &is_new)
                         : NULL;
    if (!slot)
        return rc < 0 ? rc : LAM_E_NOMEM;
    *function = (uint32_t)*slot;
    if (!is_new)
        return LAM_OK;
    rc = add_text(content, from->full, &unused, &full);
    if (rc == LAM_OK)
        rc = add_text(content, from->short_name, &unused, &short_name);
    if (rc < 0)
        return rc;
    to.raw_name = htole32(raw);
    to.full_name = htole32(full);
    to.short_name = htole32(short_name);
    return array_push(&content->functions, to);
}

/* Maps a module's function ids to those of the sidecar. */
static int add_functions(struct content *content, const struct resolved_module *module, uint32_t **ids)
{
    *ids = mem_zalloc(module->functions.count + 1, sizeof **ids);
    int rc = *ids ? LAM_OK : LAM_E_NOMEM;
    for (size_t i = 0; i < module->functions.count && rc == LAM_OK; i++)
        rc = add_function(content, &module->functions.items[i], &(*ids)[i]);
    return rc;
}

static int add_frame(struct content *content, const struct resolved_frame *from, const uint32_t *ids)
{
    uint32_t id, file = 0;
    int rc = from->file ? add_text(content, from->file, &id, &file) : LAM_OK;
    if (rc < 0)
        return rc;
    uint32_t function =
        from->function == SYMBOL_NO_FUNCTION ? SYMBOL_NO_FUNCTION : ids[from->function];
    struct sidecar_frame to = {.function = htole32(function),
                               .file = htole32(file),
                               .line = htole32(from->line),
                               .flags = htole32(from->is_inlined ? SIDECAR_FRAME_INLINED : 0)};
    return array_push(&content->frames, to);
}

static int add_ranges_and_sites(struct content *content, const struct resolved_module *module,
                                const uint32_t *ids)
{
    int rc = LAM_OK;
    for (size_t i = 0; i < module->ranges.count && rc == LAM_OK; i++) {
        const struct resolved_range *from = &module->ranges.items[i];
        struct sidecar_range to = {.start = htole64(from->start),
                                   .end = htole64(from->end),
                                   .function = htole32(ids[from->function])};
        rc = array_push(&content->ranges, to);
    }
    uint32_t first = (uint32_t)content->frames.count;
    for (size_t i = 0; i < module->frames.count && rc == LAM_OK; i++)
        rc = add_frame(content, &module->frames.items[i], ids);
    for (size_t i = 0; i < module->sites.count && rc == LAM_OK; i++) {
        const struct resolved_site *from = &module->sites.items[i];
        struct sidecar_site to = {.address = htole64(from->address),
                                  .frame_first = htole32(first + from->frame_first),
                                  .frame_count = htole32(from->frame_count)};
        rc = array_push(&content->sites, to);
    }
    return rc;
}

static int add_module(struct content *content, const struct resolved_module *module)
{
    const struct hit_module *hit = module->module;
    struct sidecar_module to = {.hits = htole64(module->hits),
                                .resolved = htole64(module->resolved),
                                .range_first = htole32((uint32_t)content->ranges.count),
                                .site_first = htole32((uint32_t)content->sites.count),
                                .state = (uint8_t)module->state,
                                .build_id_bytes = hit->build_id.size};
    uint32_t id, path = 0;
    memcpy(to.build_id, hit->build_id.bytes, hit->build_id.size);
    to.flags = htole16((uint16_t)((module->has_lines ? SIDECAR_MODULE_LINES : 0) |
                                  (module->lines_cut ? SIDECAR_MODULE_LINES_CUT : 0)));
    int rc = add_text(content, hit->paths.count ? hit->paths.items[0].path : "", &id, &path);
    uint32_t *ids = NULL;
    if (rc == LAM_OK)
        rc = add_functions(content, module, &ids);
    if (rc == LAM_OK)
        rc = add_ranges_and_sites(content, module, ids);
    mem_free(ids);
    to.path = htole32(path);
    to.range_count = htole32((uint32_t)content->ranges.count - le32toh(to.range_first));
    to.site_count = htole32((uint32_t)content->sites.count - le32toh(to.site_first));
    return rc < 0 ? rc : array_push(&content->modules, to);
}

/* ---- the file ------------------------------------------------------------------------------- */

struct section_source {
    uint32_t id;
    uint32_t item_bytes;
    const void *items;
    size_t count;
};

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* Puts the sections one behind the other; memory for mem_free(), NULL when it is short. */
static char *lay_out(const struct section_source *sources, size_t count, size_t *total)
{
    size_t table_bytes = sizeof(struct sidecar_table) + count * sizeof(struct sidecar_section);
    *total = table_bytes;
    for (size_t i = 0; i < count; i++)
        *total += padded(sources[i].count * sources[i].item_bytes);
    char *bytes = mem_zalloc(1, *total);
    if (!bytes)
        return NULL;
    struct sidecar_table table = {.section_count = htole32((uint32_t)count)};
    memcpy(bytes, &table, sizeof table);
    size_t offset = table_bytes;
    for (size_t i = 0; i < count; i++) {
        struct sidecar_section section = {.id = htole32(sources[i].id),
                                          .item_bytes = htole32(sources[i].item_bytes),
                                          .offset = htole64(offset),
                                          .count = htole64(sources[i].count)};
        memcpy(bytes + sizeof table + i * sizeof section, &section, sizeof section);
        size_t length = sources[i].count * sources[i].item_bytes;
        if (length > 0)
            memcpy(bytes + offset, sources[i].items, length);
        offset += padded(length);
    }
    return bytes;
}

/* The whole file; memory for mem_free(). The frame carries a checksum of its content. */
static int pack(const char *content, size_t content_bytes, char **file, size_t *file_bytes)
{
    size_t bound = ZSTD_compressBound(content_bytes);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    char *bytes = mem_alloc(sizeof(struct sidecar_header) + bound);
    size_t packed = 0;
    int rc = zstd && bytes ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK) {
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
        packed = ZSTD_compress2(zstd, bytes + sizeof(struct sidecar_header), bound, content,
                                content_bytes);
        rc = ZSTD_isError(packed) ? LAM_E_NOMEM : LAM_OK;
    }
    ZSTD_freeCCtx(zstd);
    if (rc < 0) {
        mem_free(bytes);
        return rc;
    }
    struct sidecar_header header = {.version_major = htole16(SIDECAR_VERSION_MAJOR),
                                    .version_minor = htole16(SIDECAR_VERSION_MINOR),
                                    .packed_bytes = htole64(packed),
                                    .unpacked_bytes = htole64(content_bytes)};
    memcpy(header.magic, SIDECAR_MAGIC, sizeof header.magic);
    memcpy(bytes, &header, sizeof header);
    *file = bytes;
    *file_bytes = sizeof header + packed;
    return LAM_OK;
}

#define SECTION(id_, list)                                                                            \
    {                                                                                                 \
        .id = (id_), .item_bytes = sizeof *(list).items, .items = (list).items, .count = (list).count \
    }

static int write_content(const char *path, const struct content *content, struct lam_error *err)
{
    struct section_source sources[] = {
        SECTION(SIDECAR_TEXT, content->text),           SECTION(SIDECAR_MODULES, content->modules),
        SECTION(SIDECAR_FUNCTIONS, content->functions), SECTION(SIDECAR_RANGES, content->ranges),
        SECTION(SIDECAR_SITES, content->sites),         SECTION(SIDECAR_FRAMES, content->frames),
    };
    size_t total, file_bytes = 0;
    char *bytes = lay_out(sources, sizeof sources / sizeof *sources, &total);
    char *file = NULL;
    int rc = bytes ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK && total > SIDECAR_MAX_BYTES)
        rc = LAM_E_TOOBIG;
    if (rc == LAM_OK)
        rc = pack(bytes, total, &file, &file_bytes);
    mem_free(bytes);
    if (rc < 0)
        lam_error_set(err, rc, "%s: %s", path, lam_code_text(rc));
    else
        rc = file_write_all(path, file, file_bytes, err);
    mem_free(file);
    return rc;
}

static int gather(struct content *content, const struct resolved_module *resolved, size_t count)
{
    uint32_t id, offset;
    int rc = add_text(content, "", &id, &offset);
    for (size_t i = 0; i < count && rc == LAM_OK; i++)
        rc = add_module(content, &resolved[i]);
    return rc;
}

int symbols_write_sidecar_with(const char *recording_dir, struct symbols_collector *hits,
                               const struct symbols_options *options, struct lam_error *err)
{
    size_t count = hits->modules.count;
    struct resolve_job job = {.hits = hits,
                              .resolved = mem_zalloc(count + 1, sizeof *job.resolved),
                              .order = mem_zalloc(count + 1, sizeof *job.order)};
    struct content content = {0};
    char *path = path_join(recording_dir, SYMBOLS_FILE_NAME);
    int rc = job.resolved && job.order && path ? resolve_all(&job, options) : LAM_E_NOMEM;
    if (rc == LAM_OK)
        rc = gather(&content, job.resolved, count);
    for (size_t i = 0; job.resolved && i < count; i++)
        resolved_module_free(&job.resolved[i]);
    if (rc == LAM_OK)
        rc = write_content(path, &content, err);
    else
        lam_error_set(err, rc, "%s/%s: %s", recording_dir, SYMBOLS_FILE_NAME, lam_code_text(rc));
    content_free(&content);
    mem_free(job.resolved);
    mem_free(job.order);
    mem_free(path);
    return rc;
}

int symbols_write_sidecar(const char *recording_dir, struct symbols_collector *hits,
                          struct lam_error *err)
{
    return symbols_write_sidecar_with(recording_dir, hits, &(struct symbols_options){0}, err);
}
