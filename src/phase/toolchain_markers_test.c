/* The compiler's markers against the compilers that are installed: a marker for a function that rustc or LLVM have given up
 * matches nothing any more, and its share silently moves elsewhere. Fails when a marker matches in none of the toolchains,
 * and names those that match in some only. Skipped without a toolchain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "phase/marker_file.h"
#include "phase/pattern_index.h"
#include "symbols/demangle.h"
#include "symbols/elf_symbols.h"

enum { MAX_TOOLCHAINS = 8, WORKERS = 2 };

struct toolchain {
    char *path;    /* its lib folder */
    bool *matched; /* by marker */
    size_t symbols;
};

/* Drivers beside rustc, each with markers of its own; a toolchain may lack them. */
static const char *const drivers[] = {"rustdoc", "clippy-driver"};
enum { DRIVERS = sizeof drivers / sizeof drivers[0] };
static bool has_driver[DRIVERS]; /* in one of the toolchains */

static struct toolchain toolchains[MAX_TOOLCHAINS];
static size_t toolchain_count;
static struct marker_set set;
static struct pattern_index patterns;

static bool is_checked(const struct marker *marker)
{
    const char *file = set.files.items[marker->file];
    bool is_frame_rule = marker->rule != MARKER_MODULE && marker->rule != MARKER_ROLE &&
                         marker->rule != MARKER_THREAD;
    return is_frame_rule && marker->segment != SEGMENT_NONE &&
           (strcmp(file, "rustc.markers") == 0 || strcmp(file, "llvm.markers") == 0 ||
            strcmp(file, "rustdoc.markers") == 0);
}

static void found(void *ctx, uint32_t marker)
{
    ((struct toolchain *)ctx)->matched[marker] = true;
}

struct naming {
    struct toolchain *toolchain;
    const struct symbol_table *table;
    struct strbuf full[WORKERS], name[WORKERS];
};

static int match_symbol(void *ctx, size_t item, unsigned worker)
{
    struct naming *naming = ctx;
    struct strbuf *full = &naming->full[worker], *name = &naming->name[worker];
    const char *raw = naming->table->symbols.items[item].name;
    strbuf_clear(full);
    strbuf_clear(name);
    enum symbol_language language = demangle_name(raw, strlen(raw), full);
    symbol_short_name(language, strbuf_text(full), full->length, name);
    /* Only ever sets flags to true: two workers that do so at once agree. */
    pattern_index_find(&patterns, strbuf_text(name), name->length, found, naming->toolchain);
    return strbuf_ok(full) && strbuf_ok(name) ? LAM_OK : LAM_E_NOMEM;
}

static void match_library(struct toolchain *toolchain, const char *path)
{
    struct elf_file *file = NULL;
    struct symbol_table table = {0};
    struct lam_error err = LAM_ERROR_INIT;
    if (elf_file_open(&file, path, &err) < 0)
        return; /* a linker script by that name */
    assert_int_equal(elf_symbols_add(&table, file, 0), LAM_OK);
    struct naming naming = {.toolchain = toolchain, .table = &table};
    assert_int_equal(demangle_threads(WORKERS, table.symbols.count, match_symbol, &naming), LAM_OK);
    toolchain->symbols += table.symbols.count;
    for (size_t i = 0; i < WORKERS; i++) {
        strbuf_free(&naming.full[i]);
        strbuf_free(&naming.name[i]);
    }
    symbol_table_free(&table);
    elf_file_close(&file);
}

static void match_drivers(struct toolchain *toolchain)
{
    for (size_t i = 0; i < DRIVERS; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/../bin/%s", toolchain->path, drivers[i]);
        if (!path_exists(path))
            continue;
        has_driver[i] = true;
        match_library(toolchain, path);
    }
}

/* Without a toolchain that has both, nothing can be said of their markers. */
static bool is_judged(const struct marker *marker)
{
    bool is_of_driver = strcmp(set.files.items[marker->file], "rustdoc.markers") == 0;
    return is_checked(marker) && (!is_of_driver || (has_driver[0] && has_driver[1]));
}

static void match_toolchain(struct toolchain *toolchain)
{
    struct dir_entries entries = {0};
    assert_true(dir_list(toolchain->path, &entries, NULL) >= 0);
    toolchain->matched = mem_zalloc(set.markers.count, sizeof *toolchain->matched);
    assert_non_null(toolchain->matched);
    for (size_t i = 0; i < entries.count; i++) {
        const char *name = entries.items[i].name;
        if (strncmp(name, "librustc_driver", 15) != 0 && strncmp(name, "libLLVM", 7) != 0 &&
            strncmp(name, "libstd", 6) != 0)
            continue;
        char *path = path_join(toolchain->path, name);
        assert_non_null(path);
        match_library(toolchain, path);
        mem_free(path);
    }
    dir_entries_free(&entries);
}

/* Names under which one compiler is installed twice ("stable" and "1.95.0") are one: told by the driver's name. */
static bool is_known(const char *driver)
{
    for (size_t i = 0; i < toolchain_count; i++) {
        char *path = path_join(toolchains[i].path, driver);
        bool exists = path && path_exists(path);
        mem_free(path);
        if (exists)
            return true;
    }
    return false;
}

static void add_toolchain(const char *lib)
{
    struct dir_entries entries = {0};
    if (toolchain_count == MAX_TOOLCHAINS || dir_list(lib, &entries, NULL) < 0)
        return;
    for (size_t i = 0; i < entries.count; i++) {
        if (strncmp(entries.items[i].name, "librustc_driver", 15) != 0 ||
            is_known(entries.items[i].name))
            continue;
        toolchains[toolchain_count].path = mem_strdup(lib);
        assert_non_null(toolchains[toolchain_count].path);
        toolchain_count++;
        break;
    }
    dir_entries_free(&entries);
}

static void find_toolchains(void)
{
    char folder[300];
    const char *home = getenv("RUSTUP_HOME");
    snprintf(folder, sizeof folder, "%s%s/toolchains", home ? home : getenv("HOME"),
             home ? "" : "/.rustup");
    struct dir_entries entries = {0};
    if (dir_list(folder, &entries, NULL) < 0)
        return;
    for (size_t i = 0; i < entries.count; i++) {
        char *toolchain = path_join(folder, entries.items[i].name);
        char *lib = toolchain ? path_join(toolchain, "lib") : NULL;
        assert_non_null(lib);
        add_toolchain(lib);
        mem_free(toolchain);
        mem_free(lib);
    }
    dir_entries_free(&entries);
}

static void compiler_markers_match_the_installed_compilers(void **unused)
{
    (void)unused;
    struct lam_error err = LAM_ERROR_INIT;
    const char *sanitize = getenv("LAMELLA_SANITIZE");
    if (!getenv("HOME") || (sanitize && *sanitize))
        skip();
    find_toolchains();
    if (toolchain_count == 0)
        skip();
    assert_int_equal(marker_set_add_builtin(&set, &err), LAM_OK);
    for (uint32_t i = 0; i < set.markers.count; i++) {
        const struct marker *marker = &set.markers.items[i];
        if (is_checked(marker))
            assert_int_equal(
                pattern_index_add(&patterns, marker->pattern, marker->pattern_length, i), LAM_OK);
    }
    for (size_t i = 0; i < toolchain_count; i++) {
        match_toolchain(&toolchains[i]);
        match_drivers(&toolchains[i]);
        print_message("%s: %zu functions\n", toolchains[i].path, toolchains[i].symbols);
    }
    size_t dead = 0;
    for (size_t i = 0; i < set.markers.count; i++) {
        const struct marker *marker = &set.markers.items[i];
        size_t in = 0;
        for (size_t t = 0; t < toolchain_count; t++)
            in += toolchains[t].matched[i];
        if (!is_judged(marker) || in == toolchain_count)
            continue;
        print_message("%s:%u: %s matches in %zu of %zu toolchains\n", set.files.items[marker->file],
                      marker->line, marker->pattern, in, toolchain_count);
        dead += in == 0;
    }
    for (size_t i = 0; i < toolchain_count; i++) {
        mem_free(toolchains[i].matched);
        mem_free(toolchains[i].path);
    }
    pattern_index_free(&patterns);
    marker_set_free(&set);
    assert_int_equal(dead, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiler_markers_match_the_installed_compilers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
