#include "input/input_kind.h"

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

static char dir[] = "/tmp/lamella-kind-XXXXXX";

static const char *put(const char *name, const char *bytes, size_t size)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out) != 0)
        abort();
    return path;
}

/* Names say nothing: the content does. */
static void content_says_what_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int rc;
        enum input_kind kind;
        const char *says;
    } rows[] = {
        {"MMPD\x09\0\0\0", 8, LAM_OK, INPUT_PROFDATA, NULL},
        {"MMPD", 4, LAM_OK, INPUT_PROFDATA, NULL}, /* cut; reading it says so */
        {"{\n  \"format\": \"lamella-report\", \"version\": 1}", 44, LAM_OK, INPUT_REPORT_JSON, NULL},
        {"{\"format\":\"lamella-report\"}", 27, LAM_OK, INPUT_REPORT_JSON, NULL},
        {"{\"format\":\"other\"}", 18, LAM_E_UNSUPPORTED, INPUT_KINDS, NULL},
        {"MMP", 3, LAM_E_UNSUPPORTED, INPUT_KINDS, NULL},
        {"", 0, LAM_E_TRUNCATED, INPUT_KINDS, NULL},
        {"\x1b[31m", 5, LAM_E_UNSUPPORTED, INPUT_KINDS, "begins with"},
        {"\x1f\x8b\x08\0", 4, LAM_E_UNSUPPORTED, INPUT_KINDS, "compressed by gzip"},
        {"\x28\xb5\x2f\xfd\x24", 5, LAM_E_UNSUPPORTED, INPUT_KINDS, "compressed by zstd"},
        {"\x28\xb5\x2f", 3, LAM_E_UNSUPPORTED, INPUT_KINDS, "begins with"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lam_error err = LAM_ERROR_INIT;
        enum input_kind kind = INPUT_KINDS;
        const char *path = put("anything.json", rows[i].bytes, rows[i].size);
        assert_int_equal(input_kind_of(path, &kind, &err), rows[i].rc);
        assert_int_equal(kind, rows[i].kind);
        if (rows[i].rc < 0) {
            assert_non_null(strstr(err.msg, path));
            assert_null(strchr(err.msg, '\x1b'));
            if (rows[i].says)
                assert_non_null(strstr(err.msg, rows[i].says));
        }
        unlink(path);
    }
}

static void directories(void **state)
{
    (void)state;
    struct lam_error err = LAM_ERROR_INIT;
    enum input_kind kind = INPUT_KINDS;
    assert_int_equal(input_kind_of(dir, &kind, &err), LAM_E_UNSUPPORTED); /* empty */
    put("odd", "MMPD\x09\0\0\0", 8);
    assert_int_equal(input_kind_of(dir, &kind, &err), LAM_OK);
    assert_int_equal(kind, INPUT_PROFDATA_DIR);
    put("session.json", "{}", 2);
    assert_int_equal(input_kind_of(dir, &kind, &err), LAM_OK);
    assert_int_equal(kind, INPUT_RECORDING);
    unlink(put("session.json", "", 0));
    unlink(put("odd", "", 0));
    unlink(put("x.mm_profdata", "", 0)); /* only its name is left of it */
    put("x.mm_profdata", "", 0);
    assert_int_equal(input_kind_of(dir, &kind, &err), LAM_OK);
    assert_int_equal(kind, INPUT_PROFDATA_DIR);
    unlink(put("x.mm_profdata", "", 0));
    assert_int_equal(input_kind_of("/nowhere/at/all", &kind, &err), LAM_E_NOTFOUND);
}

static void what_cannot_be_read_together(void **state)
{
    (void)state;
    static const struct profile_sink_ops ops = {.session = NULL};
    const struct profile_sink sink = {.ops = &ops};
    struct lam_error err = LAM_ERROR_INIT;
    const char *path = put("r.json", "{\"format\":\"lamella-report\"}", 27);
    assert_int_equal(input_read(&path, 1, &sink, &err), LAM_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "holds no events"));
    assert_int_equal(input_read(NULL, 0, &sink, &err), LAM_E_INVAL);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_says_what_it_is),
        cmocka_unit_test(directories),
        cmocka_unit_test(what_cannot_be_read_together),
    };
    if (!mkdtemp(dir))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return failed;
}
