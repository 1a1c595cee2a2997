#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

static void every_key_is_allowed(void **state)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 42, UINT64_C(1) << 63};
    enum { KEYS = sizeof keys / sizeof *keys };
    struct map map = {0};
    uint64_t value = 77;
    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        assert_false(map_get(&map, keys[i], &value));
        assert_int_equal(value, 77);
        assert_int_equal(map_put(&map, keys[i], i), LAM_OK);
        assert_int_equal(map_put(&map, keys[i], i + 100), LAM_OK);
        assert_int_equal(map.count, i + 1);
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(map_get_or(&map, keys[i], 0), i + 100);
    size_t at = 0, seen = 0;
    uint64_t key;
    while (map_next(&map, &at, &key, &value)) {
        assert_int_equal(keys[value - 100], key);
        seen++;
    }
    assert_int_equal(seen, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        assert_true(map_remove(&map, keys[i]));
        assert_false(map_remove(&map, keys[i]));
        assert_false(map_get(&map, keys[i], NULL));
    }
    assert_int_equal(map.count, 0);
    map_free(&map);
    assert_false(map_get(&map, 0, NULL));
    assert_false(map_remove(&map, 0));
}

static void slots(void **state)
{
    struct map map = {0};
    bool added = false;
    (void)state;
    *map_slot(&map, 5, 10, &added) += 1;
    assert_true(added);
    *map_slot(&map, 5, 10, &added) += 1;
    assert_false(added);
    assert_int_equal(map_get_or(&map, 5, 0), 12);
    map_clear(&map);
    assert_int_equal(map_get_or(&map, 5, 3), 3);
    map_free(&map);
}

/* The same random calls on the map and on a plain table of all keys. */
static void agrees_with_a_plain_table(void **state)
{
    enum { KEYS = 2000, CALLS = 200000 };
    static uint64_t plain[KEYS];
    static bool is_in[KEYS];
    struct map map = {0};
    uint64_t random = 1;
    size_t count = 0;
    (void)state;
    for (int i = 0; i < CALLS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        size_t which = (size_t)(random >> 33) % KEYS;
        uint64_t key = which * UINT64_C(0x100000000) - 1; /* all alike in their low half */
        if (random >> 20 & 1) {
            assert_int_equal(map_put(&map, key, random), LAM_OK);
            count += !is_in[which];
            is_in[which] = true;
            plain[which] = random;
        } else {
            assert_int_equal(map_remove(&map, key), is_in[which]);
            count -= is_in[which];
            is_in[which] = false;
        }
        assert_int_equal(map.count, count);
    }
    for (size_t which = 0; which < KEYS; which++) {
        uint64_t value = 0;
        assert_int_equal(map_get(&map, which * UINT64_C(0x100000000) - 1, &value), is_in[which]);
        if (is_in[which])
            assert_int_equal(value, plain[which]);
    }
    assert_true(map.mask < 16 * KEYS); /* removed keys do not make it grow */
    map_free(&map);
}

static void refusals(void **state)
{
    struct map map = {0};
    (void)state;
    assert_int_equal(map_reserve(&map, SIZE_MAX / 4), LAM_E_NOMEM);
    mem_fail_after(0);
    assert_int_equal(map_put(&map, 1, 2), LAM_E_NOMEM);
    mem_fail_after(1);
    uint64_t key = 0;
    while (map_put(&map, key, key) == LAM_OK)
        key++;
    mem_fail_after(UINT64_MAX);
    assert_true(key > 0);
    assert_int_equal(map.count, key);
    for (uint64_t i = 0; i < key; i++)
        assert_int_equal(map_get_or(&map, i, 999), i);
    assert_int_equal(map_reserve(&map, 1000), LAM_OK);
    mem_fail_after(0);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(map_put(&map, i, i), LAM_OK);
    mem_fail_after(UINT64_MAX);
    map_free(&map);
}

static void hashes(void **state)
{
    char text[80];
    struct map seen = {0};
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)i;
    /* all lengths, and each with one bit changed in each byte, are different */
    for (size_t length = 0; length <= 64; length++) {
        bool added;
        assert_non_null(map_slot(&seen, hash_bytes(text, length), 0, &added));
        assert_true(added);
        for (size_t at = 0; at < length; at++) {
            text[at] ^= 0x10;
            assert_non_null(map_slot(&seen, hash_bytes(text, length), 0, &added));
            assert_true(added);
            text[at] ^= 0x10;
        }
    }
    /* does not depend on where the bytes stand */
    memmove(text + 3, text, 40);
    uint64_t moved = hash_bytes(text + 3, 40);
    memmove(text, text + 3, 40);
    assert_int_equal(hash_bytes(text, 40), moved);
    assert_true(hash_bytes_seed("a", 1, 1) != hash_bytes_seed("a", 1, 2));
    assert_true(hash_combine(1, 2) != hash_combine(2, 1));
    assert_true(hash_u64(1) != hash_u64(2));
    map_free(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_allowed),
        cmocka_unit_test(slots),
        cmocka_unit_test(agrees_with_a_plain_table),
        cmocka_unit_test(refusals),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
