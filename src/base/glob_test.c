#include "base/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void matches(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool is_match;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "anything", true},
        {"a", "a", true},
        {"a", "b", false},
        {"a*", "abc", true},
        {"*c", "abc", true},
        {"*b*", "abc", true},
        {"a*c", "abc", true},
        {"a*c", "abcd", false},
        {"a*b*c", "a1b2c", true},
        {"a*b*c", "a1c2b", false},
        {"?", "a", true},
        {"?", "", false},
        {"?", "ab", false},
        {"?", "\xc3\xa9", true},
        {"??", "\xc3\xa9", false},
        {"?", "\xff", true},
        {"*?", "", false},
        {"*?", "x", true},
        {"llvm::*Pass::run", "llvm::InstCombinePass::run", true},
        {"llvm::*Pass::run", "llvm::InstCombinePass::runImpl", false},
        {"a\\*b", "a*b", true},
        {"a\\*b", "axb", false},
        {"a\\?b", "a?b", true},
        {"a\\\\b", "a\\b", true},
        {"a\\", "a\\", true},
        {"**a**", "bab", true},
        {"*aab", "aaaaab", true},
        {"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false},
        {"operator[]", "operator[]", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (glob_match_str(rows[i].pattern, rows[i].text) != rows[i].is_match)
            fail_msg("'%s' on '%s'", rows[i].pattern, rows[i].text);
    }
}

static void literals(void **state)
{
    static const struct {
        const char *pattern;
        size_t literal;
        const char *prefix;
        bool has_wildcard;
    } rows[] = {
        {"", 0, "", false},       {"abc", 3, "abc", false},   {"*", 0, "", true},
        {"?", 0, "", true},       {"a*b?c", 3, "a", true},    {"abc*", 3, "abc", true},
        {"*abc", 3, "", true},    {"a\\*b*", 3, "a*b", true}, {"a\\*b", 3, "a*b", false},
        {"a\\", 2, "a\\", false}, {"**", 0, "", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].pattern);
        char prefix[16] = {0};
        assert_int_equal(glob_literal_length(rows[i].pattern, length), rows[i].literal);
        assert_int_equal(glob_prefix(rows[i].pattern, length, prefix, 15), strlen(rows[i].prefix));
        assert_string_equal(prefix, rows[i].prefix);
        assert_int_equal(glob_has_wildcard(rows[i].pattern, length), rows[i].has_wildcard);
    }
    char one[2] = {0};
    assert_int_equal(glob_prefix("abc", 3, one, 1), 3);
    assert_string_equal(one, "a");
}

/* The definition, spelled out: slow and plainly right. */
static bool plain_match(const char *p, size_t p_length, const char *t, size_t t_length)
{
    if (!p_length)
        return !t_length;
    if (*p == '*') {
        for (size_t skip = 0; skip <= t_length; skip++) {
            if (plain_match(p + 1, p_length - 1, t + skip, t_length - skip))
                return true;
        }
        return false;
    }
    return t_length && (*p == '?' || *p == *t) &&
           plain_match(p + 1, p_length - 1, t + 1, t_length - 1);
}

static void agrees_with_the_definition(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (int i = 0; i < 100000; i++) {
        char pattern[8], text[8];
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t p_length = random >> 32 & 7, t_length = random >> 35 & 7;
        for (size_t at = 0; at < 7; at++) {
            pattern[at] = "ab*?"[random >> (38 + 2 * at) & 3];
            text[at] = "ab"[random >> (17 + at) & 1];
        }
        if (glob_match(pattern, p_length, text, t_length) !=
            plain_match(pattern, p_length, text, t_length))
            fail_msg("'%.*s' on '%.*s'", (int)p_length, pattern, (int)t_length, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches),
        cmocka_unit_test(literals),
        cmocka_unit_test(agrees_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
