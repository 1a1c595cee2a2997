#include "analysis/unit_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct unit serde = {.kind = UNIT_RUSTC,
                                  .crate = "serde",
                                  .package = "serde",
                                  .version = "1.0.1",
                                  .crate_type = "lib",
                                  .mode = "build",
                                  .opt_level = "3",
                                  .features = "derive,std"};

static void text_of(const struct unit *unit, const char *title, struct strbuf *text,
                    struct strbuf *name)
{
    const char *parts[UNIT_CLASS_PARTS];
    unit_class_of(unit, parts);
    strbuf_clear(text);
    strbuf_clear(name);
    unit_class_text(parts, title, text);
    unit_class_name(parts, title, name);
}

static void a_class_is_more_than_a_name(void **unused)
{
    (void)unused;
    struct strbuf text = {0}, name = {0}, other_text = {0}, other_name = {0}, parts = {0};
    struct unit other = serde;
    other.version = "1.0.2";
    other.opt_level = NULL;
    other.incremental = "/t/incremental";
    text_of(&serde, "serde 1.0.1", &text, &name);
    text_of(&other, "serde 1.0.2", &other_text, &other_name);
    assert_string_not_equal(strbuf_text(&text), strbuf_text(&other_text));
    assert_string_equal(strbuf_text(&name), strbuf_text(&other_name));
    unit_class_differences(strbuf_text(&text), strbuf_text(&other_text), &parts);
    assert_string_equal(strbuf_text(&parts), "version, opt_level, incremental");
    other = serde;
    other.incremental = "/t/a";
    text_of(&other, "serde 1.0.1", &text, &name);
    other.incremental = "/t/b"; /* where the cache lies is no matter */
    text_of(&other, "serde 1.0.1", &other_text, &other_name);
    assert_string_equal(strbuf_text(&text), strbuf_text(&other_text));
    other.mode = "test";
    text_of(&other, "serde 1.0.1", &other_text, &other_name);
    assert_string_not_equal(strbuf_text(&name), strbuf_text(&other_name));
    strbuf_free(&text);
    strbuf_free(&name);
    strbuf_free(&other_text);
    strbuf_free(&other_name);
    strbuf_free(&parts);
}

static void what_has_no_crate_is_named_otherwise(void **unused)
{
    (void)unused;
    struct strbuf a = {0}, a_name = {0}, b = {0}, b_name = {0};
    struct unit link = {.kind = UNIT_LINK},
                script = {.kind = UNIT_RUSTC, .crate = "build_script_build", .package = "libc"};
    text_of(&link, "link libfoo.so", &a, &a_name);
    text_of(&link, "link libbar.so", &b, &b_name);
    assert_string_not_equal(strbuf_text(&a), strbuf_text(&b));
    assert_string_not_equal(strbuf_text(&a_name), strbuf_text(&b_name));
    text_of(&script, "libc build script", &a, &a_name);
    script.package = "serde";
    text_of(&script, "serde build script", &b, &b_name);
    assert_string_not_equal(strbuf_text(&a_name), strbuf_text(&b_name));
    strbuf_free(&a);
    strbuf_free(&a_name);
    strbuf_free(&b);
    strbuf_free(&b_name);
}

/* Texts from stored reports are not of our making. */
static void differences_of_any_text(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"", "\x1f", "a",
                                        "a\x1f"
                                        "b",
                                        "\x1f\x1f\x1f\x1f\x1f\x1f\x1f\x1f\x1f\x1f"
                                        "\x1f\x1f\x1f\x1f\x1f\x1f\x1f\x1f"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) {
            struct strbuf parts = {0};
            unit_class_differences(texts[i], texts[j], &parts);
            if (i == j)
                assert_int_equal(parts.length, 0);
            strbuf_free(&parts);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_is_more_than_a_name),
        cmocka_unit_test(what_has_no_crate_is_named_otherwise),
        cmocka_unit_test(differences_of_any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
