#include "input/profdata_container.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file_input.h"
#include "base/strbuf.h"
#include "input/read_profdata.h"

static const struct {
    const char *magic, *name;
} streams[PROFDATA_STREAMS] = {
    [PROFDATA_EVENTS] = {"MMES", "event"},
    [PROFDATA_STRINGS] = {"MMSD", "string"},
    [PROFDATA_INDEX] = {"MMSI", "string index"},
};

void profdata_fault(struct profdata_file *file, int code, uint64_t offset, const char *fmt, ...)
{
    struct profdata_faults *faults = file->faults_of ? file->faults_of : &file->faults;
    if (faults->all.kept == PROFILE_FAULTS_KEPT) {
        faults->all.count++;
        return;
    }
    struct lam_error text = LAM_ERROR_INIT;
    va_list args;
    va_start(args, fmt);
    lam_error_vset(&text, code, offset, fmt, args);
    va_end(args);
    lam_error_at(&text, code, offset, "%s: at byte %llu: %s", file->name,
                 (unsigned long long)offset, text.msg);
    if (!faults->all.count) {
        faults->code = code;
        faults->offset = offset;
    }
    profile_faults_add(&faults->all, text.msg);
}

void profdata_check_length(struct profdata_file *file)
{
    if (file_map_lost_pages(&file->map) > 0)
        profdata_fault(file, LAM_E_TRUNCATED, file->size, "somebody cut the file while it was read");
}

uint64_t profdata_offset_of(const struct profdata_file *file, enum profdata_stream stream,
                            uint64_t address)
{
    uint64_t left;
    const uint8_t *at = profdata_at(file, stream, address, &left);
    return left ? (uint64_t)(at - file->bytes) : file->size;
}

bool profdata_copy(const struct profdata_file *file, enum profdata_stream stream, uint64_t address,
                   void *to, size_t size)
{
    uint64_t total = file->streams[stream].size;
    if (address > total || total - address < size)
        return false;
    uint8_t *out = to;
    while (size > 0) {
        uint64_t left;
        const uint8_t *at = profdata_at(file, stream, address, &left);
        size_t take = left < size ? (size_t)left : size;
        memcpy(out, at, take);
        out += take;
        size -= take;
        address += take;
    }
    return true;
}

/* ---- opening ---- */

static int check_version(const struct profdata_file *file, struct lam_error *err)
{
    if (file->version == 8 || file->version == 9)
        return LAM_OK;
    const char *era = file->version < 8 ? ", which rustc up to 1.57 (2021) wrote"
                                        : ", which is later than this lamella";
    return lam_error_at(err, LAM_E_UNSUPPORTED, 4,
                        "%s: a self-profile of version %u%s; versions 8 and 9 are read (rustc 1.58 "
                        "and later)",
                        file->name, file->version, era);
}

static int check_header(struct profdata_file *file, struct lam_error *err)
{
    if (file->size > 0 && !profdata_is_magic(file->bytes, file->size) &&
        (file->size >= 4 || memcmp(file->bytes, "MMPD", file->size) != 0))
        return lam_error_at(err, LAM_E_CORRUPT, 0,
                            "%s: at byte 0: no self-profile: it does not begin with MMPD",
                            file->name);
    if (file->size < PROFDATA_HEADER_BYTES)
        return lam_error_at(err, LAM_E_TRUNCATED, file->size,
                            "%s: at byte %llu: the file ends inside its header of %d bytes",
                            file->name, (unsigned long long)file->size, PROFDATA_HEADER_BYTES);
    file->version = profdata_u32(file->bytes + 4);
    file->is_wide = file->version >= 9;
    file->event_bytes = file->is_wide ? 32 : 24;
    file->entry_bytes = file->is_wide ? 16 : 8;
    return check_version(file, err);
}

static int add_page(struct profdata_file *file, uint8_t tag, uint64_t offset, uint64_t size)
{
    struct profdata_extents *stream = &file->streams[tag];
    if (size == 0)
        return LAM_OK;
    struct profdata_extent extent = {.address = stream->size, .offset = offset};
    stream->size += size;
    return array_push(&stream->extents, extent);
}

/* The extents in which blocks begin; behind the last block, the last extent. */
static int fill_blocks(struct profdata_extents *stream)
{
    size_t count = (size_t)(stream->size >> PROFDATA_BLOCK_BITS) + 2, at = 0;
    if (stream->size == 0)
        return LAM_OK;
    if (array_resize(&stream->blocks, count) < 0)
        return LAM_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = (uint64_t)i << PROFDATA_BLOCK_BITS;
        while (at + 1 < stream->extents.count && stream->extents.items[at + 1].address <= address)
            at++;
        stream->blocks.items[i] = (uint32_t)at;
    }
    return LAM_OK;
}

/* A page of a kind that we do not know is passed over: its length is where the next one begins. */
static int walk_pages(struct profdata_file *file)
{
    uint64_t at = PROFDATA_HEADER_BYTES;
    enum { PAGE_HEADER_BYTES = 5 };
    for (uint64_t pages = 0; at < file->size; pages++) {
        if (pages == PROFDATA_PAGES_MAX) {
            profdata_fault(file, LAM_E_TOOBIG, at, "more than %d pages; the rest is not read",
                           PROFDATA_PAGES_MAX);
            return LAM_OK;
        }
        if (file->size - at < PAGE_HEADER_BYTES) {
            profdata_fault(file, LAM_E_TRUNCATED, at, "the file ends inside a page's header");
            return LAM_OK;
        }
        uint8_t tag = file->bytes[at];
        uint64_t size = profdata_u32(file->bytes + at + 1);
        uint64_t left = file->size - at - PAGE_HEADER_BYTES;
        if (size > left)
            profdata_fault(file, LAM_E_TRUNCATED, at,
                           "a page of %llu bytes, of which the file has %llu",
                           (unsigned long long)size, (unsigned long long)left);
        size = size < left ? size : left;
        if (tag >= PROFDATA_STREAMS)
            profdata_fault(file, LAM_E_CORRUPT, at, "a page of an unknown kind, %u", tag);
        else if (add_page(file, tag, at + PAGE_HEADER_BYTES, size) < 0)
            return LAM_E_NOMEM;
        at += PAGE_HEADER_BYTES + size;
    }
    return LAM_OK;
}

/* Every stream begins with its magic and the version again. A wrong one is told and read past: addresses count it anyway. */
static void check_streams(struct profdata_file *file)
{
    for (unsigned i = 0; i < PROFDATA_STREAMS; i++) {
        uint8_t header[PROFDATA_HEADER_BYTES];
        if (file->streams[i].size == 0)
            profdata_fault(file, LAM_E_TRUNCATED, file->size, "there is no %s data in the file",
                           streams[i].name);
        else if (!profdata_copy(file, (enum profdata_stream)i, 0, header, sizeof header))
            profdata_fault(file, LAM_E_TRUNCATED,
                           profdata_offset_of(file, (enum profdata_stream)i, 0),
                           "the %s data ends inside its header", streams[i].name);
        else if (memcmp(header, streams[i].magic, 4) != 0 || profdata_u32(header + 4) != file->version)
            profdata_fault(file, LAM_E_CORRUPT, profdata_offset_of(file, (enum profdata_stream)i, 0),
                           "the %s data does not begin with %s and version %u", streams[i].name,
                           streams[i].magic, file->version);
    }
}

static int open_bytes(struct profdata_file *file, struct lam_error *err)
{
    file->faults.offset = LAM_NO_OFFSET;
    int rc = check_header(file, err);
    if (rc < 0)
        return rc;
    rc = walk_pages(file);
    for (unsigned i = 0; rc >= 0 && i < PROFDATA_STREAMS; i++)
        rc = fill_blocks(&file->streams[i]);
    if (rc < 0)
        return lam_error_set(err, rc, "%s: out of memory", file->name);
    check_streams(file);
    return LAM_OK;
}

int profdata_open_memory(struct profdata_file *file, const void *bytes, size_t size,
                         const char *name, struct lam_error *err)
{
    static const uint8_t nothing[1];
    *file = (struct profdata_file){.name = name, .bytes = size ? bytes : nothing, .size = size};
    int rc = open_bytes(file, err);
    if (rc < 0)
        profdata_close(file);
    return rc;
}

int profdata_open(struct profdata_file *file, const char *path, struct lam_error *err)
{
    const char *special = file_special_kind(path); /* to open a pipe may take for ever */
    *file = (struct profdata_file){.name = file_input_name(path)};
    if (special)
        return lam_error_set(err, LAM_E_UNSUPPORTED, "%s: %s, and no file: it is not read", path,
                             special);
    int rc = file_input_map(path, &file->map, err);
    if (rc < 0)
        return rc;
    file->bytes = file->map.data;
    file->size = file->map.size_bytes;
    rc = open_bytes(file, err);
    if (rc < 0)
        profdata_close(file);
    return rc;
}

void profdata_close(struct profdata_file *file)
{
    for (unsigned i = 0; i < PROFDATA_STREAMS; i++) {
        array_free(&file->streams[i].extents);
        array_free(&file->streams[i].blocks);
    }
    file_unmap(&file->map);
    *file = (struct profdata_file){.name = NULL};
}
