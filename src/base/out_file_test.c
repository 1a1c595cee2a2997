#include "base/out_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "base/memory.h"

static int enter_place(void **state)
{
    static char place[] = "/tmp/lamella-out-XXXXXX";
    strcpy(place, "/tmp/lamella-out-XXXXXX");
    *state = mkdtemp(place);
    return *state && chdir(place) == 0 ? 0 : -1;
}

static int leave_place(void **state)
{
    return chdir("/") == 0 && dir_remove_all(*state, NULL) == LAM_OK ? 0 : -1;
}

static size_t files_here(void)
{
    struct dir_entries entries = {0};
    assert_int_equal(dir_list(".", &entries, NULL), LAM_OK);
    size_t count = entries.count;
    dir_entries_free(&entries);
    return count;
}

static void check_content(const char *path, const char *text)
{
    char *data;
    size_t length;
    assert_int_equal(file_read_all(path, 1 << 20, &data, &length, NULL), LAM_OK);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(data, text, length);
    mem_free(data);
}

static int write_file(const char *path, const char *text, bool replaces, struct lam_error *err)
{
    struct out_file *file;
    int rc = out_file_open(&file, path, PACKING_NONE, replaces, err);
    if (rc < 0)
        return rc;
    byteout_text(out_file_bytes(file), text);
    rc = out_file_commit(file, NULL, err);
    out_file_close(&file);
    return rc;
}

static void appears_when_it_is_whole(void **state)
{
    (void)state;
    struct out_file *file;
    assert_int_equal(out_file_open(&file, "a", PACKING_NONE, false, NULL), LAM_OK);
    byteout_text(out_file_bytes(file), "text");
    assert_false(path_exists("a"));
    assert_int_equal(out_file_commit(file, NULL, NULL), LAM_OK);
    out_file_close(&file);
    check_content("a", "text");
    assert_int_equal(out_file_open(&file, "b", PACKING_NONE, false, NULL), LAM_OK);
    out_file_close(&file); /* no commit */
    assert_int_equal(files_here(), 1);
}

static void replaces_only_when_told(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    struct out_file *late;
    struct stat st;
    assert_int_equal(out_file_open(&late, "a", PACKING_NONE, false, NULL), LAM_OK);
    assert_int_equal(write_file("a", "first", false, NULL), LAM_OK);
    assert_int_equal(out_file_commit(late, NULL, &err), LAM_E_EXISTS); /* made in the meantime */
    out_file_close(&late);
    assert_int_equal(write_file("a", "second", false, &err), LAM_E_EXISTS);
    assert_non_null(strstr(err.msg, "--force"));
    check_content("a", "first");
    assert_int_equal(chmod("a", 0640), 0);
    assert_int_equal(symlink("a", "link"), 0);
    assert_int_equal(write_file("link", "third", true, NULL), LAM_OK);
    check_content("a", "third");
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(files_here(), 2);
}

static void descriptors_are_written_in_place(void **state)
{
    (void)state;
    char name[64];
    int fd = open("log", O_RDWR | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "before ", 7), 7);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(write_file(name, "text", true, NULL), LAM_OK);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert_int_equal(write_file(name, " twice", false, NULL), LAM_OK);
    assert_int_equal(write(fd, " after", 6), 6);
    close(fd);
    check_content("log", "before text twice after");
    struct lam_error err;
    assert_int_equal(write_file(name, "text", true, &err), LAM_E_IO);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(write_file("no/such/place", "x", false, &err), LAM_E_NOTFOUND);
    assert_non_null(strstr(err.msg, "no/such/place"));
    assert_int_equal(write_file(".", "x", true, &err), LAM_E_EXISTS);
    assert_int_equal(write_file("/dev/full", "x", false, &err), LAM_E_FULL);
    assert_non_null(strstr(err.msg, "/dev/full"));
    assert_int_equal(write_file("/dev/null", "x", false, &err), LAM_OK);
}

static void write_packed(const char *path, const char *text, size_t times)
{
    struct out_file *file;
    assert_int_equal(out_file_open(&file, path, packing_of(path), false, NULL), LAM_OK);
    for (size_t i = 0; i < times; i++)
        byteout_text(out_file_bytes(file), text);
    assert_int_equal(byteout_offset(out_file_bytes(file)), times * strlen(text));
    assert_int_equal(out_file_commit(file, NULL, NULL), LAM_OK);
    out_file_close(&file);
}

static void packs(void **state)
{
    (void)state;
    enum { TIMES = 100000 };
    static char text[TIMES * 8 + 1];
    char *data;
    size_t length;
    write_packed("x.gz", "lamella\n", TIMES);
    gzFile gzip = gzopen("x.gz", "rb");
    assert_non_null(gzip);
    assert_int_equal(gzread(gzip, text, sizeof text), TIMES * 8);
    gzclose(gzip);
    assert_memory_equal(text + (TIMES - 1) * 8, "lamella\n", 8);
    write_packed("x.zst", "lamella\n", TIMES);
    assert_int_equal(file_read_all("x.zst", 1 << 20, &data, &length, NULL), LAM_OK);
    assert_int_equal(ZSTD_decompress(text, sizeof text, data, length), TIMES * 8);
    assert_memory_equal(text + (TIMES - 1) * 8, "lamella\n", 8);
    mem_free(data);
    write_packed("empty.gz", "", 1);
    gzip = gzopen("empty.gz", "rb");
    assert_int_equal(gzread(gzip, text, sizeof text), 0);
    gzclose(gzip);
}

/* Bytes that hardly compress, and some that do. */
static char *make_mixed(size_t size)
{
    char *made = mem_alloc(size);
    uint32_t seed = 7;
    assert_non_null(made);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        made[i] = i / 50000 % 2 ? (char)(seed >> 24) : (char)('a' + i % 7);
    }
    return made;
}

/* One member, one after the other as zlib's inflate() sees it, and the same with any number of threads. */
static void check_gzip_of(const char *text, size_t size, size_t step)
{
    static const char *const threads[] = {"1", "2", "5"};
    char *first = NULL, *data;
    size_t first_length = 0, length;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct out_file *file;
        setenv("LAMELLA_THREADS", threads[i], 1);
        assert_int_equal(out_file_open(&file, "m.gz", PACKING_GZIP, true, NULL), LAM_OK);
        for (size_t at = 0; at < size; at += step)
            byteout_write(out_file_bytes(file), text + at, size - at < step ? size - at : step);
        assert_int_equal(out_file_commit(file, NULL, NULL), LAM_OK);
        out_file_close(&file);
        assert_int_equal(file_read_all("m.gz", 1 << 24, &data, &length, NULL), LAM_OK);
        if (first) {
            assert_int_equal(length, first_length);
            assert_memory_equal(data, first, length);
            mem_free(data);
            continue;
        }
        first = data;
        first_length = length;
    }
    unsetenv("LAMELLA_THREADS");
    char *back = mem_alloc(size + 1);
    z_stream z = {.next_in = (unsigned char *)first,
                  .avail_in = (unsigned)first_length,
                  .next_out = (unsigned char *)back,
                  .avail_out = (unsigned)size + 1};
    assert_non_null(back);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, size);
    assert_memory_equal(back, text, size);
    inflateEnd(&z);
    mem_free(back);
    mem_free(first);
}

static void gzip_is_one_member_of_blocks(void **state)
{
    (void)state;
    enum { BLOCK = 1 << 18, LARGE = 3000001 };
    char *text = make_mixed(LARGE);
    static const struct {
        size_t size, step;
    } rows[] = {{0, 1},
                {1, 1},
                {BLOCK - 1, 1000},
                {BLOCK, 4096},
                {BLOCK + 1, BLOCK + 1},
                {4 * BLOCK, 7777},
                {LARGE, LARGE},
                {LARGE, 50001}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_gzip_of(text, rows[i].size, rows[i].step);
    mem_free(text);
}

static void gzip_of_what_nobody_takes(void **state)
{
    (void)state;
    enum { LARGE = 3000001 };
    char *text = make_mixed(LARGE);
    struct out_file *file;
    setenv("LAMELLA_THREADS", "3", 1);
    assert_int_equal(out_file_open(&file, "/dev/full", PACKING_GZIP, false, NULL), LAM_OK);
    byteout_write(out_file_bytes(file), text, LARGE);
    byteout_write(out_file_bytes(file), text, LARGE);
    assert_int_equal(out_file_commit(file, NULL, NULL), LAM_E_FULL);
    out_file_close(&file);
    assert_int_equal(out_file_open(&file, "never.gz", PACKING_GZIP, false, NULL), LAM_OK);
    byteout_write(out_file_bytes(file), text, LARGE);
    out_file_close(&file); /* some blocks are being compressed */
    unsetenv("LAMELLA_THREADS");
    mem_free(text);
}

static void never_writes_over_what_is_read(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(mkdir("recording", 0700), 0);
    assert_int_equal(file_write_all("recording/part", "x", 1, &err), LAM_OK);
    assert_int_equal(file_write_all("alone", "x", 1, &err), LAM_OK);
    assert_int_equal(symlink("recording", "link"), 0);
    assert_int_equal(link("alone", "other-name"), 0);
    const char *const inputs[] = {"link", "alone", "not there"};
    assert_int_equal(out_file_spares("recording/part", inputs, 3, &err), LAM_E_EXISTS);
    assert_int_equal(out_file_spares("alone", inputs, 3, &err), LAM_E_EXISTS);
    assert_int_equal(out_file_spares("other-name", inputs, 3, &err), LAM_E_EXISTS);
    assert_int_equal(out_file_spares("recording/new", inputs, 3, &err), LAM_OK);
    assert_int_equal(out_file_spares("recording/part", inputs + 1, 2, &err), LAM_OK);
    assert_int_equal(out_file_spares("-", inputs, 3, &err), LAM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appears_when_it_is_whole, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(replaces_only_when_told, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(descriptors_are_written_in_place, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(says_what_is_wrong, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(gzip_is_one_member_of_blocks, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(gzip_of_what_nobody_takes, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(packs, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(never_writes_over_what_is_read, enter_place, leave_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
