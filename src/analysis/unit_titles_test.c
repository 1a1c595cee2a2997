/* Names of units that would be called alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analysis/made_units_test.h"

#define CRATE                                                                                    \
    "--crate-name a /r/registry/src/index-0123456789abcdef/a-1.0.0/src/lib.rs --crate-type lib " \
    "--emit=metadata,link "

static void units_are_told_apart(void **unused)
{
    (void)unused;
    static const struct {
        const char *what;
        const char *options[3]; /* of units of one crate */
        const char *titles[3];
    } rows[] = {
        {"one", {""}, {"a 1.0.0"}},
        {"for build scripts",
         {"-C debuginfo=2", ""},
         {"a 1.0.0 (debuginfo 2)", "a 1.0.0 (no debuginfo)"}},
        {"by target",
         {"--target wasm32-wasip1", "-C debuginfo=2"},
         {"a 1.0.0 (wasm32-wasip1)", "a 1.0.0 (host)"}},
        {"by optimization",
         {"-C opt-level=3", "-C opt-level=0"},
         {"a 1.0.0 (opt-level 3)", "a 1.0.0 (opt-level 0)"}},
        {"by features",
         {"--cfg feature=\"x\"", "--cfg feature=\"x\" --cfg feature=\"y\"", ""},
         {"a 1.0.0 (1 feature)", "a 1.0.0 (2 features)", "a 1.0.0 (0 features)"}},
        {"no single word does",
         {"-C debuginfo=2", "-C debuginfo=2 -C opt-level=3", "-C opt-level=3"},
         {"a 1.0.0", "a 1.0.0", "a 1.0.0"}},
        {"in nothing that is said", {"-C metadata=1", "-C metadata=2"}, {"a 1.0.0", "a 1.0.0"}},
        {"by mode, which the title has", {"--test", ""}, {"a 1.0.0 (test)", "a 1.0.0"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct made_unit units[3];
        static char lines[3][500];
        uint32_t count = 0;
        for (; count < 3 && rows[i].options[count]; count++) {
            snprintf(lines[count], sizeof lines[count], CRATE "%s", rows[i].options[count]);
            units[count] = (struct made_unit){"/x/bin/rustc", "/w", lines[count], 0, 100, 0};
        }
        struct feed feed;
        open_made(&feed, units, count);
        for (uint32_t k = 0; k < count; k++) {
            const char *title = feed.report->units.items[unit_of(&feed, k + 1)].title;
            if (strcmp(title, rows[i].titles[k]) != 0)
                fail_msg("%s: unit %u is called %s, not %s", rows[i].what, k, title,
                         rows[i].titles[k]);
            assert_string_equal(feed.report->processes.items[k].title, title);
        }
        close_feed(&feed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
