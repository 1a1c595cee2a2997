#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void pieces_do_not_overlap(void **state)
{
    struct arena arena = {0};
    enum { PIECES = 3000 };
    static unsigned char *pieces[PIECES];
    (void)state;
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = i * 7 % 900 + (i % 500 == 0 ? 400000 : 0);
        pieces[i] = arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(pieces[i][at], 0);
        memset(pieces[i], (int)(i % 251 + 1), size);
    }
    for (size_t i = 0; i < PIECES; i++) {
        size_t size = i * 7 % 900 + (i % 500 == 0 ? 400000 : 0);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(pieces[i][at], i % 251 + 1);
    }
    assert_true(arena.used_bytes > 2000000);
    arena_reset(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(arena_alloc(&arena, 10));
    arena_free(&arena);
    assert_null(arena.blocks);
}

static void texts(void **state)
{
    struct arena arena = {0};
    (void)state;
    assert_non_null(arena_alloc(&arena, 0));
    assert_string_equal(arena_strdup(&arena, "abc"), "abc");
    assert_string_equal(arena_strdup(&arena, ""), "");
    assert_memory_equal(arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(arena_printf(&arena, "%d-%s", 42, "x"), "42-x");
    arena_free(&arena);
}

static void refuses(void **state)
{
    struct arena arena = {0};
    (void)state;
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(arena_strndup(&arena, "", SIZE_MAX));
    mem_fail_after(0);
    assert_null(arena_alloc(&arena, 10));
    assert_null(arena_strdup(&arena, "abc"));
    mem_fail_after(UINT64_MAX);
    assert_string_equal(arena_strdup(&arena, "abc"), "abc");
    mem_fail_after(0);
    assert_null(arena_alloc(&arena, 1 << 20));
    assert_string_equal(arena_strdup(&arena, "fits in the block"), "fits in the block");
    mem_fail_after(UINT64_MAX);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(texts),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
