#include "base/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

enum { STREAMS = 300 };

/* What byte i of a stream is. */
static unsigned char byte_of(uint32_t stream, uint64_t i)
{
    return (unsigned char)(stream * 31 + i * 7 + (i >> 11));
}

/* Pieces of growing sizes to streams in turn: some stay in memory, some are written out in many blocks. */
static void fill(struct spool *spool, uint64_t *sizes, size_t rounds)
{
    static unsigned char piece[5000];
    for (size_t round = 0; round < rounds; round++) {
        for (uint32_t stream = 0; stream < STREAMS; stream++) {
            size_t length = stream == 7 ? 0 : (round * 13 + stream) % (stream % 10 == 3 ? 5000 : 90);
            for (size_t i = 0; i < length; i++)
                piece[i] = byte_of(stream, sizes[stream] + i);
            spool_add(spool, stream, piece, length);
            sizes[stream] += length;
        }
    }
}

static void check_stream(struct spool *spool, uint32_t stream, uint64_t size)
{
    struct spool_reader reader;
    unsigned char piece[777];
    uint64_t at = 0;
    assert_int_equal(spool_bytes(spool, stream), size);
    spool_read(spool, stream, &reader);
    while (at < size) {
        size_t length = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        if (at % 3 == 1) {
            assert_int_equal(spool_skip(&reader, length), LAM_OK);
        } else {
            assert_int_equal(spool_take(&reader, piece, length), LAM_OK);
            for (size_t i = 0; i < length; i++)
                if (piece[i] != byte_of(stream, at + i))
                    fail_msg("stream %u, byte %llu", stream, (unsigned long long)(at + i));
        }
        at += length;
    }
    assert_int_equal(spool_take(&reader, piece, 1), LAM_E_TRUNCATED);
}

static void gives_back_what_it_got(void **state)
{
    (void)state;
    static const size_t rounds[] = {0, 1, 20, 700};
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        uint64_t sizes[STREAMS] = {0};
        struct spool *spool;
        assert_int_equal(spool_open(&spool, ".", NULL), LAM_OK);
        fill(spool, sizes, rounds[i]);
        assert_int_equal(spool_status(spool, NULL), LAM_OK);
        for (uint32_t stream = 0; stream < STREAMS; stream++)
            check_stream(spool, stream, sizes[stream]);
        check_stream(spool, 3, sizes[3]); /* twice */
        spool_close(&spool);
        assert_null(spool);
    }
}

static void a_place_that_is_none_is_an_error(void **state)
{
    (void)state;
    uint64_t sizes[STREAMS] = {0};
    struct spool *spool;
    struct lam_error err = LAM_ERROR_INIT;
    assert_int_equal(spool_open(&spool, "/no/such/place", &err), LAM_OK); /* not needed yet */
    fill(spool, sizes, 700);
    assert_int_equal(spool_status(spool, &err), LAM_E_NOTFOUND);
    assert_non_null(strstr(err.msg, "/no/such/place"));
    spool_close(&spool);
}

static void short_memory_is_an_error(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 2000; after += 1 + after / 8) {
        uint64_t sizes[STREAMS] = {0};
        struct spool *spool = NULL;
        mem_fail_after(after);
        int rc = spool_open(&spool, ".", NULL);
        if (rc == LAM_OK) {
            fill(spool, sizes, 3);
            rc = spool_status(spool, NULL);
        }
        uint64_t refused = mem_fail_count();
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, refused ? LAM_E_NOMEM : LAM_OK);
        spool_close(&spool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_it_got),
        cmocka_unit_test(a_place_that_is_none_is_an_error),
        cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
