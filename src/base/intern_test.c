#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"

static void ids_are_dense(void **state)
{
    struct intern names = {0};
    uint32_t id = 99;
    size_t length = 99;
    (void)state;
    assert_int_equal(intern_count(&names), 1);
    assert_int_equal(intern_find(&names, "", 0), INTERN_EMPTY);
    assert_int_equal(intern_find_str(&names, "a"), INTERN_NONE);
    assert_string_equal(intern_text(&names, 0, &length), "");
    assert_int_equal(length, 0);
    assert_int_equal(intern_add(&names, "a", 1, &id), LAM_OK);
    assert_int_equal(id, 1);
    assert_int_equal(intern_add(&names, "", 0, &id), LAM_OK);
    assert_int_equal(id, INTERN_EMPTY);
    assert_int_equal(intern_add(&names, "a\0b", 3, &id), LAM_OK);
    assert_int_equal(id, 2);
    assert_int_equal(intern_add_str(&names, "a", &id), LAM_OK);
    assert_int_equal(id, 1);
    assert_int_equal(intern_count(&names), 3);
    assert_memory_equal(intern_text(&names, 2, &length), "a\0b", 4);
    assert_int_equal(length, 3);
    assert_int_equal(intern_find(&names, "a\0b", 3), 2);
    assert_int_equal(intern_find(&names, "a\0c", 3), INTERN_NONE);
    assert_string_equal(intern_text(&names, 3, NULL), "");
    assert_string_equal(intern_text(&names, INTERN_NONE, NULL), "");
    intern_free(&names);
}

static void many(void **state)
{
    enum { NAMES = 100000 };
    struct intern names = {0};
    char text[32];
    uint32_t id;
    const char *first = NULL;
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= NAMES; i++) {
            int length = snprintf(text, sizeof text, "name %u", i);
            assert_int_equal(intern_add(&names, text, (size_t)length, &id), LAM_OK);
            assert_int_equal(id, i);
            assert_string_equal(intern_text(&names, id, NULL), text);
        }
        if (!first)
            first = intern_text(&names, 1, NULL);
    }
    assert_ptr_equal(intern_text(&names, 1, NULL), first);
    assert_int_equal(intern_count(&names), NAMES + 1);
    assert_true(intern_bytes(&names) > NAMES * 10);
    intern_free(&names);
}

/* Refuses each allocation in turn; what was added before stays. */
static void refusals(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 12; after++) {
        struct intern names = {0};
        char text[32];
        uint32_t id, added = 0;
        int rc = LAM_OK;
        mem_fail_after(after);
        while (added < 10000) {
            int length = snprintf(text, sizeof text, "%u", added + 1);
            rc = intern_add(&names, text, (size_t)length, &id);
            if (rc < 0)
                break;
            assert_int_equal(id, ++added);
        }
        mem_fail_after(UINT64_MAX);
        assert_int_equal(rc, LAM_E_NOMEM);
        for (uint32_t i = 1; i <= added; i++) {
            snprintf(text, sizeof text, "%u", i);
            assert_int_equal(intern_find_str(&names, text), i);
        }
        assert_int_equal(intern_add_str(&names, "later", &id), LAM_OK);
        assert_int_equal(id, added + 1);
        intern_free(&names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_dense),
        cmocka_unit_test(many),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
