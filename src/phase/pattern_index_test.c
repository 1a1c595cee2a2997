#include "phase/pattern_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/glob.h"

enum { GLOBS = 200, NAMES = 4000, TEXT_MAX = 12 };

struct matches {
    uint8_t found[GLOBS];
};

static void note(void *ctx, uint32_t value)
{
    struct matches *matches = ctx;
    assert_true(value < GLOBS);
    matches->found[value]++;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* A few letters only, so that many names share beginnings and many globs match. */
static size_t random_text(uint32_t *state, const char *alphabet, char *text)
{
    size_t length = next_random(state) % TEXT_MAX;
    for (size_t i = 0; i < length; i++)
        text[i] = alphabet[next_random(state) % strlen(alphabet)];
    text[length] = 0;
    return length;
}

static void finds_what_a_plain_loop_finds(void **unused)
{
    (void)unused;
    static char globs[GLOBS][TEXT_MAX + 1];
    struct pattern_index index = {0};
    uint32_t state = 1;
    for (uint32_t i = 0; i < GLOBS; i++) {
        size_t length = random_text(&state, "ab:*?\\", globs[i]);
        assert_int_equal(pattern_index_add(&index, globs[i], length, i), LAM_OK);
    }
    size_t matched = 0;
    for (uint32_t n = 0; n < NAMES; n++) {
        char name[TEXT_MAX + 1];
        size_t length = random_text(&state, "ab:*", name);
        struct matches matches = {{0}};
        pattern_index_find(&index, name, length, note, &matches);
        for (uint32_t i = 0; i < GLOBS; i++) {
            int expected = glob_match_str(globs[i], name);
            matched += (size_t)expected;
            if (matches.found[i] != expected)
                fail_msg("glob '%s' and name '%s': found %d times", globs[i], name, matches.found[i]);
        }
    }
    assert_true(matched > NAMES); /* the test would prove nothing without matches */
    pattern_index_free(&index);
}

static void an_empty_index_finds_nothing(void **unused)
{
    (void)unused;
    struct pattern_index index = {0};
    struct matches matches = {{0}};
    pattern_index_find(&index, "main", 4, note, &matches);
    pattern_index_free(&index);
    assert_int_equal(matches.found[0], 0);
}

static void a_long_literal_beginning_is_whole(void **unused)
{
    (void)unused;
    char glob[401], name[401];
    memset(glob, 'x', 400);
    memset(name, 'x', 400);
    glob[400] = name[400] = 0;
    struct pattern_index index = {0};
    assert_int_equal(pattern_index_add(&index, glob, 400, 0), LAM_OK);
    struct matches matches = {{0}};
    pattern_index_find(&index, name, 400, note, &matches);
    assert_int_equal(matches.found[0], 1);
    name[399] = 'y';
    pattern_index_find(&index, name, 400, note, &matches);
    assert_int_equal(matches.found[0], 1);
    pattern_index_free(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_plain_loop_finds),
        cmocka_unit_test(an_empty_index_finds_nothing),
        cmocka_unit_test(a_long_literal_beginning_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
