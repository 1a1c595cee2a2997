#include "base/out_file.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
        cmocka_unit_test_setup_teardown(says_what_is_wrong, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(packs, enter_place, leave_place),
        cmocka_unit_test_setup_teardown(never_writes_over_what_is_read, enter_place, leave_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
