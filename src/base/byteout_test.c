#include "base/byteout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

/* Writes 200,000 bytes in pieces of many sizes. */
static void write_pieces(struct byteout *out, struct strbuf *expected)
{
    static char piece[40000];
    for (size_t i = 0; i < sizeof piece; i++)
        piece[i] = (char)('a' + i % 26);
    for (size_t total = 0, length = 1; total < 200000; total += length, length = length * 3 % 39997) {
        byteout_write(out, piece, length);
        strbuf_add_bytes(expected, piece, length);
        byteout_char(out, '\n');
        strbuf_add_char(expected, '\n');
        byteout_printf(out, "%zu%%", length);
        strbuf_addf(expected, "%zu%%", length);
        byteout_text(out, "");
        if (out->failed == LAM_OK)
            assert_int_equal(byteout_offset(out), expected->length);
    }
}

static void to_a_string(void **state)
{
    static struct byteout out;
    struct strbuf buf = {0}, expected = {0};
    (void)state;
    byteout_init_strbuf(&out, &buf);
    write_pieces(&out, &expected);
    assert_int_equal(byteout_flush(&out, "string", NULL), LAM_OK);
    assert_int_equal(buf.length, expected.length);
    assert_memory_equal(buf.data, expected.data, buf.length);
    strbuf_free(&buf);
    strbuf_free(&expected);
}

static void to_a_file(void **state)
{
    static struct byteout out;
    struct strbuf expected = {0};
    FILE *file = tmpfile();
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        strbuf_clear(&expected);
        rewind(file);
        if (kind == 0)
            byteout_init_file(&out, file);
        else
            byteout_init_fd(&out, fileno(file));
        write_pieces(&out, &expected);
        assert_int_equal(byteout_flush(&out, "file", NULL), LAM_OK);
        char *back = malloc(expected.length + 1);
        assert_int_equal(pread(fileno(file), back, expected.length + 1, 0), expected.length);
        assert_memory_equal(back, expected.data, expected.length);
        free(back);
    }
    strbuf_free(&expected);
    fclose(file);
}

static void full_disk(void **state)
{
    static struct byteout out;
    struct lam_error err = LAM_ERROR_INIT;
    struct strbuf expected = {0};
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip();
    byteout_init_fd(&out, fd);
    write_pieces(&out, &expected);
    assert_int_equal(byteout_flush(&out, "out.json", &err), LAM_E_FULL);
    assert_string_equal(err.msg, "out.json: No space left on device");
    assert_int_equal(out.total_bytes, 0);
    close(fd);
    FILE *file = fopen("/dev/full", "w");
    byteout_init_file(&out, file);
    byteout_text(&out, "small: seen at the flush");
    assert_int_equal(byteout_flush(&out, "out.json", &err), LAM_E_FULL);
    fclose(file);
    strbuf_free(&expected);
}

static int refuse(void *ctx, const void *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)ctx += length;
    return LAM_E_CANCELLED;
}

static void callback_fails(void **state)
{
    static struct byteout out;
    struct lam_error err = LAM_ERROR_INIT;
    struct strbuf expected = {0};
    size_t asked = 0;
    (void)state;
    byteout_init(&out, refuse, &asked);
    write_pieces(&out, &expected);
    assert_true(asked > 0 && asked <= sizeof out.buffer + 40000); /* it is called once */
    assert_int_equal(byteout_flush(&out, "there", &err), LAM_E_CANCELLED);
    assert_string_equal(err.msg, "there: cancelled");
    strbuf_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_a_string),
        cmocka_unit_test(to_a_file),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(callback_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
