/* What the addresses of real files are called, all the way: collected, written, read back, looked up. With arguments it
 * does that for a script: module_names_test OPTION... FILE... < lines "index-of-file address [r]". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "symbols/dwarf_lines.h"
#include "symbols/elf_symbols.h"
#include "symbols/sidecar.h"
#include "symbols/vdso_image.h"

/* A collector, then the sidecar that came of it, in a directory of its own. */
struct trip {
    char dir[64];
    struct symbols_collector *hits;
    struct profile_sink sink;
    struct symbols *symbols;
    uint32_t frames;
};

static void trip_begin(struct trip *trip)
{
    *trip = (struct trip){.dir = "/tmp/lamella-names-XXXXXX"};
    if (!mkdtemp(trip->dir) || symbols_collector_open(&trip->hits, NULL) < 0)
        abort();
    trip->sink = symbols_collector_sink(trip->hits);
}

static void trip_session(struct trip *trip, int64_t started_at_unix_ns)
{
    struct profile_session session = {.started_at_unix_ns = started_at_unix_ns};
    if (trip->sink.ops->session(trip->sink.ctx, &session) < 0)
        abort();
}

static void trip_module(struct trip *trip, struct profile_module module)
{
    if (trip->sink.ops->module(trip->sink.ctx, &module) < 0)
        abort();
}

static void trip_frame(struct trip *trip, uint32_t module, uint64_t offset, bool is_return)
{
    struct profile_frame frame = {
        .frame = ++trip->frames, .module = module, .offset = offset, .is_return = is_return};
    if (trip->sink.ops->frame(trip->sink.ctx, &frame) < 0)
        abort();
}

static void trip_write(struct trip *trip, const char *debug_root)
{
    struct lam_error err = LAM_ERROR_INIT;
    struct symbols_options options = {.debug_root = debug_root};
    if (symbols_write_sidecar_with(trip->dir, trip->hits, &options, &err) < 0 ||
        symbols_open(&trip->symbols, trip->dir, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
}

static void trip_end(struct trip *trip)
{
    symbols_close(&trip->symbols);
    symbols_collector_close(&trip->hits);
    dir_remove_all(trip->dir, NULL);
}

static struct profile_module module_of_file(uint32_t id, const char *path)
{
    struct profile_module module = {.module = id, .path = {path, strlen(path)}};
    struct elf_file *file = NULL;
    if (elf_file_open(&file, path, NULL) == LAM_OK) {
        module.build_id_bytes = file->build_id.size;
        memcpy(module.build_id, file->build_id.bytes, file->build_id.size);
    }
    elf_file_close(&file);
    return module;
}

/* ---- for scripts ----------------------------------------------------------------------------- */

struct query {
    uint32_t module;
    uint64_t address;
    bool is_return;
};

static void print_place(const struct symbols *symbols, const struct query *query, uint32_t module)
{
    static const char *const states[] = {"resolved", "between", "without_symbols", "no_module"};
    struct symbol_place place = symbols_lookup(symbols, module, query->address, query->is_return);
    printf("%u\t%llx\t%s", query->module, (unsigned long long)query->address, states[place.state]);
    for (uint32_t i = place.count; i-- > 0;) {
        struct symbol_frame frame = symbols_frame(symbols, &place, i);
        printf("\t%s\t%s\t%s:%u", frame.raw, frame.name, frame.file, frame.line);
    }
    printf("\n");
}

static int names_of_files(int argc, char **argv)
{
    const char *debug_root = "/nowhere";
    struct trip trip;
    LAM_ARRAY(struct profile_module) modules = {0};
    LAM_ARRAY(struct query) queries = {0};
    trip_begin(&trip);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--debug-root=", 13) == 0) {
            debug_root = argv[i] + 13;
            continue;
        }
        struct profile_module module = module_of_file((uint32_t)modules.count + 1, argv[i]);
        if (array_push(&modules, module) < 0)
            abort();
    }
    array_each(&modules, module)
    {
        trip_module(&trip, *module);
    }
    for (char line[128]; fgets(line, sizeof line, stdin);) {
        char *at = line;
        struct query query = {.module = (uint32_t)strtoul(line, &at, 10)};
        query.address = strtoull(at, &at, 16);
        query.is_return = strchr(at, 'r') != NULL;
        if (query.module == 0 || query.module > modules.count)
            continue;
        trip_frame(&trip, query.module, query.address, query.is_return);
        if (array_push(&queries, query) < 0)
            abort();
    }
    trip_write(&trip, debug_root);
    array_each(&queries, each)
    {
        const struct profile_module *module = &modules.items[each->module - 1];
        uint32_t id = symbols_module(trip.symbols, module->build_id, module->build_id_bytes,
                                     module->path.bytes, module->path.size);
        print_place(trip.symbols, each, id);
    }
    array_free(&modules);
    array_free(&queries);
    trip_end(&trip);
    return 0;
}

/* ---- this program's own names ---------------------------------------------------------------- */

/* NOLINTNEXTLINE: a name with a place */
__attribute__((noinline, used, visibility("default"))) int module_names_test_target(int a)
{
    return a * 3 + 1;
}

/* This program's function, as an address of its file: what the loader added is the difference
 * between its headers in memory and in the file. */
static uint64_t target_offset(const char *path)
{
    struct elf_file *file = NULL;
    struct symbol_table table = {0};
    uint64_t offset = 0;
    assert_int_equal(elf_file_open(&file, path, NULL), LAM_OK);
    assert_int_equal(elf_symbols_add(&table, file, 0), LAM_OK);
    for (size_t i = 0; i < table.symbols.count; i++)
        if (strcmp(table.symbols.items[i].name, "module_names_test_target") == 0)
            offset = table.symbols.items[i].start;
    symbol_table_free(&table);
    elf_file_close(&file);
    assert_true(offset > 0);
    return offset;
}

static const char *raw_at(const struct trip *trip, const struct profile_module *module,
                          uint64_t offset)
{
    uint32_t id = symbols_module(trip->symbols, module->build_id, module->build_id_bytes,
                                 module->path.bytes, module->path.size);
    struct symbol_place place = symbols_lookup(trip->symbols, id, offset, false);
    return place.state == SYMBOL_RESOLVED ? symbols_frame(trip->symbols, &place, place.count - 1).raw
                                          : "-";
}

static char *own_path(void)
{
    char *path = realpath("/proc/self/exe", NULL);
    assert_non_null(path);
    return path;
}

static void own_function_is_found(void **state)
{
    (void)state;
    struct trip trip;
    char *path = own_path();
    uint64_t offset = target_offset(path);
    struct profile_module module = module_of_file(1, path);
    trip_begin(&trip);
    trip_module(&trip, module);
    trip_frame(&trip, 1, offset, false);
    trip_write(&trip, NULL);
    assert_string_equal(raw_at(&trip, &module, offset), "module_names_test_target");
    trip_end(&trip);
    free(path);
}

/* Another build id, or a file that was changed after it was mapped: no names at all. */
static void another_file_names_nothing(void **state)
{
    (void)state;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char copy[] = "/tmp/lamella-copy-XXXXXX";
    int fd = mkstemp(copy);
    assert_true(fd >= 0);
    char *path = own_path(), *bytes = NULL;
    size_t length = 0;
    assert_int_equal(file_read_all(path, SIZE_MAX, &bytes, &length, NULL), LAM_OK);
    assert_int_equal(file_write_fd(fd, bytes, length, copy, NULL), LAM_OK);
    close(fd);
    uint64_t offset = target_offset(copy);
    int64_t started_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    struct {
        bool has_build_id, is_right, is_mapped_before;
        enum symbols_module_state state;
    } rows[] = {
        {true, true, true, SYMBOLS_MODULE_COMPLETE}, /* the build id is enough */
        {true, false, false, SYMBOLS_MODULE_CHANGED},
        {false, false, false, SYMBOLS_MODULE_COMPLETE},
        {false, false, true, SYMBOLS_MODULE_CHANGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trip trip;
        struct profile_module module = module_of_file(1, copy);
        if (rows[i].has_build_id && module.build_id_bytes == 0)
            continue; /* this linker gives none */
        if (!rows[i].has_build_id)
            module.build_id_bytes = 0;
        else if (!rows[i].is_right)
            module.build_id[0] ^= 1;
        module.has_mapped_at = true;
        module.mapped_at_ns = rows[i].is_mapped_before ? -3600000000000 : 3600000000000;
        trip_begin(&trip);
        trip_session(&trip, started_ns);
        trip_module(&trip, module);
        trip_frame(&trip, 1, offset, false);
        trip_write(&trip, "/nowhere");
        struct symbols_module_info info = symbols_module_info(trip.symbols, 1);
        assert_int_equal(info.state, rows[i].state);
        assert_string_equal(raw_at(&trip, &module, offset), rows[i].state == SYMBOLS_MODULE_COMPLETE
                                                                ? "module_names_test_target"
                                                                : "-");
        trip_end(&trip);
    }
    /* Without a build id, the file that was mapped: one that took its place names nothing, and when
     * both were mapped an address may be of either. */
    struct stat status;
    assert_int_equal(stat(copy, &status), 0);
    for (unsigned which = 0; which < 3; which++) {
        struct trip trip;
        struct profile_module module = module_of_file(1, copy);
        module.build_id_bytes = 0;
        module.device = status.st_dev;
        module.inode = status.st_ino + (which == 1);
        trip_begin(&trip);
        trip_module(&trip, module);
        trip_frame(&trip, 1, offset, false);
        module.module = 2;
        module.inode = status.st_ino + 1;
        if (which == 2)
            trip_module(&trip, module);
        trip_write(&trip, "/nowhere");
        assert_string_equal(raw_at(&trip, &module, offset),
                            which == 0 ? "module_names_test_target" : "-");
        trip_end(&trip);
    }
    unlink(copy);
    mem_free(bytes);
    free(path);
}

static void the_vdso_is_found(void **state)
{
    (void)state;
    struct elf_file *file = NULL;
    if (vdso_image_open(&file) < 0)
        skip();
    struct symbol_table table = {0};
    assert_int_equal(elf_symbols_add(&table, file, 0), LAM_OK);
    assert_int_equal(symbol_table_finish(&table), LAM_OK);
    assert_true(table.ranges.count > 0);
    uint64_t offset = table.ranges.items[0].start;
    struct profile_module module = {.module = 3, .path = {"[vdso]", 6}, .is_vdso = true};
    module.build_id_bytes = file->build_id.size;
    memcpy(module.build_id, file->build_id.bytes, file->build_id.size);
    for (int other_kernel = 0; other_kernel < 2; other_kernel++) {
        struct trip trip;
        module.build_id[0] ^= (uint8_t)other_kernel;
        trip_begin(&trip);
        trip_module(&trip, module);
        trip_frame(&trip, 3, offset, false);
        trip_write(&trip, NULL);
        assert_int_equal(symbols_module_info(trip.symbols, 1).state,
                         other_kernel ? SYMBOLS_MODULE_CHANGED : SYMBOLS_MODULE_COMPLETE);
        assert_int_equal(strcmp(raw_at(&trip, &module, offset), "-") == 0, other_kernel);
        trip_end(&trip);
    }
    symbol_table_free(&table);
    elf_file_close(&file);
}

/* A module that is met under two ids, as two processes have it, is one. */
static void one_library_of_two_processes(void **state)
{
    (void)state;
    struct trip trip;
    char *path = own_path();
    uint64_t offset = target_offset(path);
    trip_begin(&trip);
    trip_module(&trip, module_of_file(1, path));
    trip_module(&trip, module_of_file(2, path));
    trip_frame(&trip, 1, offset, false);
    trip_frame(&trip, 2, offset + 1, true);
    trip_frame(&trip, 2, offset, false);
    trip_write(&trip, NULL);
    assert_int_equal(symbols_module_count(trip.symbols), 1);
    assert_int_equal(symbols_module_info(trip.symbols, 1).hits, 1);
    assert_int_equal(symbols_module_info(trip.symbols, 1).resolved, 1);
    trip_end(&trip);
    free(path);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return names_of_files(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_function_is_found),
        cmocka_unit_test(another_file_names_nothing),
        cmocka_unit_test(the_vdso_is_found),
        cmocka_unit_test(one_library_of_two_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
