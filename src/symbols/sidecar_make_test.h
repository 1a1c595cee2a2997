/* A symbol sidecar made by hand, for tests. */
#ifndef LAMELLA_SYMBOLS_SIDECAR_MAKE_TEST_H
#define LAMELLA_SYMBOLS_SIDECAR_MAKE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "symbols/sidecar.h"
#include "symbols/sidecar_layout.h"

static const char sidecar_text[] =
    "\0lib.so\0foo\0foo(int)\0_Z3fooi\0bar\0baz\0file.c\0other.so\0inl";
enum {
    T_LIB = 1,
    T_FOO = 8,
    T_FOO_FULL = 12,
    T_FOO_RAW = 21,
    T_BAR = 29,
    T_BAZ = 33,
    T_FILE = 37,
    T_OTHER = 44,
    T_INL = 53
};

struct parts {
    struct sidecar_module modules[3];
    struct sidecar_function functions[4];
    struct sidecar_range ranges[5];
    struct sidecar_site sites[3];
    struct sidecar_frame frames[4];
};

/* One library twice, under one build id: entry 0 knows foo and baz, entry 1 knows bar, baz and a
 * line of foo; and another library without a build id. */
static inline struct parts make_parts(void)
{
    return (struct parts){
        .modules = {{.path = T_LIB,
                     .range_first = 0,
                     .range_count = 2,
                     .site_first = 0,
                     .site_count = 1,
                     .hits = 2,
                     .resolved = 2,
                     .state = SYMBOLS_MODULE_STRIPPED,
                     .build_id_bytes = 4,
                     .build_id = {1, 2, 3, 4}},
                    {.path = T_LIB,
                     .range_first = 2,
                     .range_count = 2,
                     .site_first = 1,
                     .site_count = 2,
                     .hits = 3,
                     .resolved = 3,
                     .flags = SIDECAR_MODULE_LINES,
                     .build_id_bytes = 4,
                     .build_id = {1, 2, 3, 4}},
                    {.path = T_OTHER, .range_first = 4, .range_count = 1, .site_first = 3}},
        .functions = {{T_FOO, T_FOO_FULL, T_FOO_RAW, SYMBOL_LANGUAGE_CPP},
                      {T_BAR, T_BAR, T_BAR, 0},
                      {T_BAZ, T_BAZ, T_BAZ, 0},
                      {T_INL, T_INL, T_INL, 0}},
        .ranges = {{0x100, 0x110, 0, 0},
                   {0x200, 0x220, 2, 0},
                   {0x150, 0x160, 1, 0},
                   {0x200, 0x220, 2, 0},
                   {0x100, 0x200, 1, 0}},
        .sites = {{0x104, 0, 1}, {0x104, 1, 2}, {0x105, 3, 1}},
        .frames = {{0, T_FILE, 5, 0},
                   {3, T_FILE, 7, SIDECAR_FRAME_INLINED},
                   {0, T_FILE, 9, 0},
                   {0, 0, 11, 0}},
    };
}

static inline size_t put(uint8_t *content, size_t at, struct sidecar_section *section, uint32_t id,
                         const void *items, size_t item_bytes, size_t count)
{
    *section = (struct sidecar_section){id, (uint32_t)item_bytes, at, count};
    memcpy(content + at, items, item_bytes * count);
    return (at + item_bytes * count + 7) & ~(size_t)7;
}

/* The content of a sidecar; at most 4,096 bytes. */
static inline size_t make_content(const struct parts *parts, uint8_t *content)
{
    struct sidecar_table table = {.section_count = 6};
    struct sidecar_section sections[6];
    size_t at = sizeof table + sizeof sections;
    at = put(content, at, &sections[0], SIDECAR_TEXT, sidecar_text, 1, sizeof sidecar_text);
    at = put(content, at, &sections[1], SIDECAR_MODULES, parts->modules, sizeof *parts->modules, 3);
    at = put(content, at, &sections[2], SIDECAR_FUNCTIONS, parts->functions,
             sizeof *parts->functions, 4);
    at = put(content, at, &sections[3], SIDECAR_RANGES, parts->ranges, sizeof *parts->ranges, 5);
    at = put(content, at, &sections[4], SIDECAR_SITES, parts->sites, sizeof *parts->sites, 3);
    at = put(content, at, &sections[5], SIDECAR_FRAMES, parts->frames, sizeof *parts->frames, 4);
    memcpy(content, &table, sizeof table);
    memcpy(content + sizeof table, sections, sizeof sections);
    return at;
}

static inline size_t make_file(const uint8_t *content, size_t content_bytes, uint8_t *file,
                               size_t room)
{
    struct sidecar_header header = {.version_major = SIDECAR_VERSION_MAJOR,
                                    .unpacked_bytes = content_bytes};
    memcpy(header.magic, SIDECAR_MAGIC, sizeof header.magic);
    header.packed_bytes =
        ZSTD_compress(file + sizeof header, room - sizeof header, content, content_bytes, 1);
    assert_false(ZSTD_isError(header.packed_bytes));
    memcpy(file, &header, sizeof header);
    return sizeof header + header.packed_bytes;
}

static inline struct symbols *open_parts(const struct parts *parts)
{
    uint8_t content[4096] = {0}, file[8192];
    size_t bytes = make_file(content, make_content(parts, content), file, sizeof file);
    struct symbols *symbols = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (symbols_open_memory(&symbols, file, bytes, "test", &err) < 0)
        fail_msg("%s", err.msg);
    return symbols;
}

static inline uint32_t lib_of(const struct symbols *symbols)
{
    return symbols_module(symbols, (const uint8_t[]){1, 2, 3, 4}, 4, "anything", 8);
}

#endif
