/* Which commands are compilations that cargo asked for, and what is added to them. */
#include "agent/agent.h"
#include "agent/compiler_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CRATE "CARGO_CRATE_NAME=a"
#define NAMED "--crate-name", "a"

static struct control_page control = {
    .profile_args = "-Zself-profile=/r/p\0-Zself-profile-events=default,args",
    .profile_args_bytes = sizeof "-Zself-profile=/r/p\0-Zself-profile-events=default,args",
    .profile_plain_root = "/tools/nightly",
    .profile_plain_root_bytes = sizeof "/tools/nightly",
};

struct row {
    enum compiler_ask ask;
    const char *path, *argv[8], *envp[4];
};

static const struct row rows[] = {
    {COMPILER_ASK_BOOTSTRAP, "/bin/rustc", {"rustc", NAMED, "src/lib.rs"}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "rustc", {"rustc", "--crate-name=a", "-"}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "rustc", {"rustc", "@/tmp/args"}, {"A=1", CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "/x/clippy-driver", {"clippy-driver", "rustc", NAMED}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "rustc", {"rustc", NAMED, "--print", "link-args"}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "rustc", {"rustc", NAMED, "--print=native-static-libs"}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "rustc", {"rustc", NAMED}, {CRATE, "RUSTC_BOOTSTRAP=b"}},
    {COMPILER_ASK_PLAIN, "/tools/nightly/bin/rustc", {"rustc", NAMED}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "/tools/nightly2/bin/rustc", {"rustc", NAMED}, {CRATE}},
    /* Not for cargo: a build script's own look at the compiler. */
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED, "-"}, {"CARGO_PKG_NAME=a"}},
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED}, {NULL}},
    /* Not a compiler: a wrapper, which starts one itself; a linker. */
    {COMPILER_ASK_NO, "/bin/sccache", {"sccache", "rustc", NAMED}, {CRATE}},
    {COMPILER_ASK_NO, "/bin/rustc-wrapper", {"rustc-wrapper", "rustc", NAMED}, {CRATE}},
    {COMPILER_ASK_NO, "/bin/cc", {"cc", "-o", "x"}, {CRATE}},
    {COMPILER_ASK_NO, "rustdoc", {"rustdoc", NAMED}, {CRATE}},
    /* Not a compilation. */
    {COMPILER_ASK_NO, "rustc", {"rustc", "-vV"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", "--version"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", "-", "--crate-name", "___", "--print=cfg"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", "-", "--crate-name", "___"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED, "--print", "cfg"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED, "--print"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", "x.rs"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", "--crate-name"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {NULL}, {CRATE}},
    /* Somebody asks already. */
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED, "-Zself-profile"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED, "-Z", "self-profile=x"}, {CRATE}},
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED, "-Zself-profile=/r/p"}, {CRATE}},
    {COMPILER_ASK_BOOTSTRAP, "rustc", {"rustc", NAMED, "-Z", "time-passes"}, {CRATE}},
    /* The user wants such options refused. */
    {COMPILER_ASK_NO, "rustc", {"rustc", NAMED}, {CRATE, "RUSTC_BOOTSTRAP=-1"}},
};

static char **words(const char *const *list)
{
    return (char **)(uintptr_t)list;
}

static void asked_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        enum compiler_ask ask = compiler_ask(row->path, words(row->argv), words(row->envp));
        if (ask != row->ask)
            fail_msg("row %zu (%s %s): %d, wanted %d", i, row->path, row->argv[1], ask, row->ask);
    }
    assert_int_equal(compiler_ask("rustc", words(rows[0].argv), NULL), COMPILER_ASK_NO);
    assert_int_equal(compiler_ask("rustc", NULL, words(rows[0].envp)), COMPILER_ASK_NO);
}

static void cargo_itself_is_enough(void **state)
{
    (void)state;
    const char *none[] = {NULL};
    strcpy(agent.exe, "/x/bin/cargo");
    assert_int_equal(compiler_ask("rustc", words(rows[0].argv), words(none)), COMPILER_ASK_BOOTSTRAP);
    strcpy(agent.exe, "/x/bin/cargo-fmt");
    assert_int_equal(compiler_ask("rustc", words(rows[0].argv), words(none)), COMPILER_ASK_NO);
    agent.exe[0] = 0;
}

static void nobody_is_asked_without_words(void **state)
{
    (void)state;
    uint32_t bytes = control.profile_args_bytes;
    control.profile_args_bytes = 0;
    assert_int_equal(compiler_ask("rustc", words(rows[0].argv), words(rows[0].envp)),
                     COMPILER_ASK_NO);
    control.profile_args_bytes = bytes;
}

static void words_behind_the_others(void **state)
{
    (void)state;
    const char *argv[] = {"rustc", "--crate-name", "a", NULL};
    const char *wanted[] = {"rustc", "--crate-name", "a", "-Zself-profile=/r/p",
                            "-Zself-profile-events=default,args"};
    void *room = malloc(compiler_args_size(words(argv))); /* a sanitizer sees a byte too many */
    char **got = compiler_args_build(words(argv), room);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(got[i], wanted[i]);
    assert_null(got[5]);
    free(room);
}

static int setup(void **state)
{
    (void)state;
    agent.control = &control;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_or_not),
        cmocka_unit_test(cargo_itself_is_enough),
        cmocka_unit_test(nobody_is_asked_without_words),
        cmocka_unit_test(words_behind_the_others),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
