#include "symbols/sidecar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/file.h"
#include "base/memory.h"
#include "symbols/sidecar_layout.h"

/* ---- sidecars made by hand ------------------------------------------------------------------- */

static const char text[] = "\0lib.so\0foo\0foo(int)\0_Z3fooi\0bar\0baz\0file.c\0other.so\0inl";
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
static struct parts make_parts(void)
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

static size_t put(uint8_t *content, size_t at, struct sidecar_section *section, uint32_t id,
                  const void *items, size_t item_bytes, size_t count)
{
    *section = (struct sidecar_section){id, (uint32_t)item_bytes, at, count};
    memcpy(content + at, items, item_bytes * count);
    return (at + item_bytes * count + 7) & ~(size_t)7;
}

/* The content of a sidecar; at most 4,096 bytes. */
static size_t make_content(const struct parts *parts, uint8_t *content)
{
    struct sidecar_table table = {.section_count = 6};
    struct sidecar_section sections[6];
    size_t at = sizeof table + sizeof sections;
    at = put(content, at, &sections[0], SIDECAR_TEXT, text, 1, sizeof text);
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

static size_t make_file(const uint8_t *content, size_t content_bytes, uint8_t *file, size_t room)
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

static struct symbols *open_parts(const struct parts *parts)
{
    uint8_t content[4096] = {0}, file[8192];
    size_t bytes = make_file(content, make_content(parts, content), file, sizeof file);
    struct symbols *symbols = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    if (symbols_open_memory(&symbols, file, bytes, "test", &err) < 0)
        fail_msg("%s", err.msg);
    return symbols;
}

static uint32_t lib_of(const struct symbols *symbols)
{
    return symbols_module(symbols, (const uint8_t[]){1, 2, 3, 4}, 4, "anything", 8);
}

static const char *name_at(const struct symbols *symbols, uint32_t module, uint64_t offset)
{
    struct symbol_place place = symbols_lookup(symbols, module, offset, false);
    return place.state == SYMBOL_RESOLVED ? symbols_frame(symbols, &place, place.count - 1).name
                                          : "-";
}

static void check_merged(const struct symbols *symbols)
{
    uint32_t lib = lib_of(symbols);
    assert_int_not_equal(lib, 0);
    assert_int_equal(symbols_module_count(symbols), 2);
    struct symbols_module_info info = symbols_module_info(symbols, lib);
    assert_string_equal(info.path, "lib.so");
    assert_int_equal(info.state, SYMBOLS_MODULE_COMPLETE);
    assert_int_equal(info.hits, 5);
    assert_true(info.has_lines);
    assert_false(info.lines_cut);
    /* both halves survive, and what lies between the symbols of one is found in the other's */
    assert_string_equal(name_at(symbols, lib, 0x10f), "foo");
    assert_string_equal(name_at(symbols, lib, 0x150), "bar");
    assert_string_equal(name_at(symbols, lib, 0x15f), "bar");
    assert_string_equal(name_at(symbols, lib, 0x21f), "baz");
    assert_string_equal(name_at(symbols, lib, 0x110), "-");
    assert_string_equal(name_at(symbols, lib, 0x14f), "-");
    assert_string_equal(name_at(symbols, lib, 0x220), "-");
    assert_int_equal(symbols_lookup(symbols, lib, 0x110, false).state, SYMBOL_BETWEEN);
    /* of two sites for one address the one that tells more */
    struct symbol_place place = symbols_lookup(symbols, lib, 0x105, true);
    assert_int_equal(place.count, 2);
    struct symbol_frame frame = symbols_frame(symbols, &place, 0);
    assert_string_equal(frame.name, "inl");
    assert_true(frame.is_inlined);
    assert_int_equal(frame.line, 7);
    frame = symbols_frame(symbols, &place, 1);
    assert_string_equal(frame.name, "foo");
    assert_string_equal(frame.full, "foo(int)");
    assert_string_equal(frame.raw, "_Z3fooi");
    assert_string_equal(frame.file, "file.c");
    assert_int_equal(frame.line, 9);
    assert_int_equal(frame.language, SYMBOL_LANGUAGE_CPP);
    assert_false(frame.is_inlined);
    /* the other library is another */
    uint32_t other = symbols_module(symbols, NULL, 0, "other.so", 8);
    assert_int_not_equal(other, 0);
    assert_int_not_equal(other, lib);
    assert_string_equal(name_at(symbols, other, 0x110), "bar");
    assert_int_equal(symbols_module(symbols, NULL, 0, "lib.so", 6), 0);
    assert_int_equal(symbols_module(symbols, (const uint8_t[]){1, 2, 3}, 3, "lib.so", 6), 0);
    assert_int_equal(symbols_lookup(symbols, 0, 0x110, false).state, SYMBOL_NO_MODULE);
    assert_int_equal(symbols_lookup(symbols, 99, 0x110, false).state, SYMBOL_NO_MODULE);
}

static void copies_are_merged_in_either_order(void **state)
{
    (void)state;
    struct parts parts = make_parts();
    struct symbols *symbols = open_parts(&parts);
    check_merged(symbols);
    symbols_close(&symbols);
    struct sidecar_module first = parts.modules[0];
    parts.modules[0] = parts.modules[1];
    parts.modules[1] = first;
    symbols = open_parts(&parts);
    check_merged(symbols);
    symbols_close(&symbols);
    /* and with the other library between them, so that the entries of one lie apart */
    struct sidecar_module second = parts.modules[1];
    parts.modules[1] = parts.modules[2];
    parts.modules[2] = second;
    symbols = open_parts(&parts);
    check_merged(symbols);
    symbols_close(&symbols);
}

static void ranges_in_disorder_are_sorted(void **state)
{
    (void)state;
    struct parts parts = make_parts();
    struct sidecar_range first = parts.ranges[0];
    parts.ranges[0] = parts.ranges[1];
    parts.ranges[1] = first;
    struct symbols *symbols = open_parts(&parts);
    check_merged(symbols);
    symbols_close(&symbols);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Uses everything that a sidecar says. */
static void use_all(const struct symbols *symbols)
{
    size_t length = 0;
    for (uint32_t module = 0; module <= symbols_module_count(symbols) + 1; module++) {
        length += strlen(symbols_module_info(symbols, module).path);
        for (uint64_t offset = 0xf0; offset < 0x230; offset++) {
            struct symbol_place place = symbols_lookup(symbols, module, offset, offset & 1);
            for (uint32_t i = 0; i < place.count && i < 8; i++) {
                struct symbol_frame frame = symbols_frame(symbols, &place, i);
                length +=
                    strlen(frame.name) + strlen(frame.full) + strlen(frame.raw) + strlen(frame.file);
            }
        }
    }
    assert_true(length < 1u << 24);
}

static void try_file(const uint8_t *bytes, size_t length)
{
    struct symbols *symbols = NULL;
    struct lam_error err = LAM_ERROR_INIT;
    uint8_t *exact = malloc(length + 1); /* so that a sanitizer sees a byte too many */
    memcpy(exact, bytes, length);
    int rc = symbols_open_memory(&symbols, exact, length, "test", &err);
    free(exact);
    if (rc == LAM_OK)
        use_all(symbols);
    else
        assert_true(err.msg[0] != 0 && symbols == NULL);
    symbols_close(&symbols);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    struct parts parts = make_parts();
    uint8_t content[4096] = {0}, file[8192];
    size_t bytes = make_file(content, make_content(&parts, content), file, sizeof file);
    for (size_t length = 0; length < bytes; length++) {
        struct symbols *symbols = NULL;
        assert_true(symbols_open_memory(&symbols, file, length, "test", NULL) < 0);
    }
    for (size_t i = 0; i < bytes; i++) {
        file[i] ^= 0x55;
        try_file(file, bytes);
        file[i] ^= 0x55;
    }
}

static void damaged_contents_are_harmless(void **state)
{
    (void)state;
    struct parts parts = make_parts();
    uint8_t content[4096] = {0}, file[8192];
    size_t content_bytes = make_content(&parts, content);
    static const uint32_t values[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i + 4 <= content_bytes; i += 4) {
        uint32_t before;
        memcpy(&before, content + i, sizeof before);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(content + i, &values[v], sizeof values[v]);
            try_file(file, make_file(content, content_bytes, file, sizeof file));
        }
        memcpy(content + i, &before, sizeof before);
    }
}

static void versions(void **state)
{
    (void)state;
    struct parts parts = make_parts();
    uint8_t content[4096] = {0}, file[8192];
    size_t bytes = make_file(content, make_content(&parts, content), file, sizeof file);
    struct symbols *symbols = NULL;
    file[10] = 9; /* a later minor version */
    assert_int_equal(symbols_open_memory(&symbols, file, bytes, "test", NULL), LAM_OK);
    symbols_close(&symbols);
    file[8] = 2;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(symbols_open_memory(&symbols, file, bytes, "a.lamsym", &err), LAM_E_UNSUPPORTED);
    assert_string_equal(err.msg, "a.lamsym: version 2, this program reads 1");
    /* a file that claims to unpack to more than it may */
    file[8] = 1;
    memset(file + 24, 0xff, 8);
    assert_int_equal(symbols_open_memory(&symbols, file, bytes, "test", NULL), LAM_E_CORRUPT);
}

/* ---- written and read back ------------------------------------------------------------------- */

static struct symbols_collector *collect_self(const char *path)
{
    struct symbols_collector *hits = NULL;
    assert_int_equal(symbols_collector_open(&hits, NULL), LAM_OK);
    struct profile_sink sink = symbols_collector_sink(hits);
    struct profile_module self = {.module = 7, .path = {path, strlen(path)}};
    assert_int_equal(sink.ops->module(sink.ctx, &self), LAM_OK);
    return hits;
}

static void no_hits_are_a_sidecar_too(void **state)
{
    (void)state;
    char dir[] = "/tmp/lamella-sidecar-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct symbols_collector *hits = NULL;
    struct symbols *symbols = NULL;
    assert_int_equal(symbols_open(&symbols, dir, NULL), LAM_E_NOTFOUND);
    assert_int_equal(symbols_collector_open(&hits, NULL), LAM_OK);
    assert_int_equal(symbols_write_sidecar(dir, hits, NULL), LAM_OK);
    assert_int_equal(symbols_open(&symbols, dir, NULL), LAM_OK);
    assert_int_equal(symbols_module_count(symbols), 0);
    symbols_close(&symbols);
    symbols_collector_close(&hits);
    dir_remove_all(dir, NULL);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    char dir[] = "/tmp/lamella-sidecar-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct symbols_collector *hits = collect_self("/no/such/file");
    struct profile_sink sink = symbols_collector_sink(hits);
    struct profile_module script = {.module = 2, .path = {"/etc/passwd", 11}};
    assert_int_equal(sink.ops->module(sink.ctx, &script), LAM_OK);
    for (uint32_t module = 0; module < 9; module++) {
        struct profile_frame frame = {.frame = module + 1, .module = module, .offset = 0x1234};
        assert_int_equal(sink.ops->frame(sink.ctx, &frame), LAM_OK);
    }
    assert_int_equal(symbols_write_sidecar(dir, hits, NULL), LAM_OK);
    struct symbols *symbols = NULL;
    assert_int_equal(symbols_open(&symbols, dir, NULL), LAM_OK);
    uint32_t missing = symbols_module(symbols, NULL, 0, "/no/such/file", 13);
    uint32_t damaged = symbols_module(symbols, NULL, 0, "/etc/passwd", 11);
    assert_int_equal(symbols_module_info(symbols, missing).state, SYMBOLS_MODULE_MISSING);
    assert_int_equal(symbols_module_info(symbols, missing).hits, 1);
    assert_int_equal(symbols_module_info(symbols, damaged).state, SYMBOLS_MODULE_DAMAGED);
    assert_int_equal(symbols_lookup(symbols, missing, 0x1234, false).state,
                     SYMBOL_MODULE_WITHOUT_SYMBOLS);
    symbols_close(&symbols);
    symbols_collector_close(&hits);
    struct lam_error err = LAM_ERROR_INIT;
    hits = collect_self("/no/such/file");
    assert_true(symbols_write_sidecar("/no/such/dir", hits, &err) < 0);
    assert_true(err.msg[0] != 0);
    symbols_collector_close(&hits);
    dir_remove_all(dir, NULL);
}

/* Each allocation refused in turn: a code and no leak. */
static void survives_refusals(void **state)
{
    (void)state;
    char dir[] = "/tmp/lamella-sidecar-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct parts parts = make_parts();
    uint8_t content[4096] = {0}, file[8192];
    size_t bytes = make_file(content, make_content(&parts, content), file, sizeof file);
    for (uint64_t after = 0;; after++) {
        struct symbols *symbols = NULL;
        mem_fail_after(after);
        int rc = symbols_open_memory(&symbols, file, bytes, "test", NULL);
        bool refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, refused ? LAM_E_NOMEM : LAM_OK);
        symbols_close(&symbols);
        if (!refused)
            break;
    }
    for (uint64_t after = 0;; after++) {
        struct symbols_collector *hits = collect_self("/proc/self/exe");
        struct profile_sink sink = symbols_collector_sink(hits);
        struct profile_frame frame = {.frame = 1, .module = 7, .offset = 0x1234};
        mem_fail_after(after);
        int rc = sink.ops->frame(sink.ctx, &frame);
        if (rc == LAM_OK)
            rc = symbols_write_sidecar_with(dir, hits, &(struct symbols_options){.threads = 1}, NULL);
        bool refused = mem_fail_count() > 0;
        mem_fail_after(UINT64_MAX);
        if (!refused)
            assert_int_equal(rc, LAM_OK);
        symbols_collector_close(&hits);
        if (!refused || after > 500)
            break;
        after += after / 8;
    }
    dir_remove_all(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_merged_in_either_order),
        cmocka_unit_test(ranges_in_disorder_are_sorted),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(damaged_contents_are_harmless),
        cmocka_unit_test(versions),
        cmocka_unit_test(no_hits_are_a_sidecar_too),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(survives_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
