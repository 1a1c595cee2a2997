#include "build/unit_flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_flags(void **state)
{
    (void)state;
    static const struct {
        enum unit_kind kind;
        const char *line, *expected; /* one blank between */
    } rows[] = {
        {UNIT_RUSTC,
         "rustc --crate-name a --edition=2021 src/lib.rs -C opt-level=3 -Ccodegen-units=16 -C "
         "metadata=ab -C incremental=/home/u/t/incremental -C linker=/opt/u/bin/clang -Z threads=8 "
         "-Zself-profile=/home/u/x --cfg feature=\"x\" -L dependency=/home/u",
         "-Z self-profile=(path) -Z threads=8 codegen-units=16 edition=2021 incremental=(path) "
         "linker=clang opt-level=3"},
        {UNIT_RUSTC, "rustc -g -O a.rs -O", "debuginfo=2 opt-level=3"},
        {UNIT_RUSTC, "rustc -C prefer-dynamic -C link-arg=-L/home/u --crate-name -O a.rs",
         "prefer-dynamic=yes"},
        {UNIT_COMPILE,
         "cc1 -quiet -I /home/u -DTOKEN=secret x.c -O2 -g -std=c17 -fPIC -march=native -Wall "
         "-fdebug-prefix-map=/home/u=x -flto=auto -o /tmp/x.s",
         "-O=2 -fPIC=yes -flto=auto -g=yes -march=native -std=c17"},
        {UNIT_LINK, "ld -O2 a.o", ""},
        {UNIT_RUSTC, "rustc", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512], *argv[64], *save = NULL;
        size_t argc = 0;
        snprintf(text, sizeof text, "%s", rows[i].line);
        for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
            argv[argc++] = word;
        struct unit_command command = {.argv = (const char *const *)argv, .argc = argc};
        struct arena arena = {0};
        struct unit_flags flags;
        struct strbuf found = {0};
        assert_int_equal(unit_flags_of(&command, rows[i].kind, &arena, &flags), LAM_OK);
        unit_flags_text(&flags, &found);
        if (strcmp(strbuf_text(&found), rows[i].expected) != 0)
            fail_msg("%s:\n%s\n%s", rows[i].line, strbuf_text(&found), rows[i].expected);
        strbuf_free(&found);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flags)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
