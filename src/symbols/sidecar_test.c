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

#include "base/file.h"
#include "base/memory.h"
#include "symbols/sidecar_make_test.h"

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

/* Each recording's modules are looked up in its own sidecar, also where others have one of the same build id. */
static void several_recordings(void **state)
{
    (void)state;
    struct parts parts = make_parts();
    struct profile_module module = {.recording = 1, .path = {"other.so", 8}};
    struct symbols *symbols = NULL;
    assert_int_equal(symbols_append(&symbols, NULL), LAM_OK); /* a recording without one */
    assert_int_equal(symbols_module_of(symbols, &module), 0);
    assert_int_equal(symbols_append(&symbols, open_parts(&parts)), LAM_OK);
    parts.modules[2].range_count = 0; /* it was not hit there */
    assert_int_equal(symbols_append(&symbols, open_parts(&parts)), LAM_OK);
    uint32_t ids[4];
    for (module.recording = 0; module.recording < 4; module.recording++)
        ids[module.recording] = symbols_module_of(symbols, &module);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[3], 0);
    assert_int_not_equal(ids[1], ids[2]);
    assert_string_equal(name_at(symbols, ids[1], 0x110), "bar");
    assert_string_equal(name_at(symbols, ids[2], 0x110), "-");
    symbols_close(&symbols);
    assert_null(symbols);
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
        cmocka_unit_test(several_recordings),
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
