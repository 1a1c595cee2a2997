/* The environment of programs to be started, the choice of who is sampled, the jobserver's place, and libc's own functions. */
#include "agent/agent.h"
#include "agent/exec_env.h"
#include "agent/real.h"
#include "agent/waits.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define AGENT     "/usr/bin/env" /* any file that exists: it is looked at before exec */
#define PRELOAD   "LD_PRELOAD="
#define OUT       "LAMELLA_OUT=/tmp/r"
#define BOOTSTRAP "RUSTC_BOOTSTRAP="

static struct control_page control = {.agent_path = AGENT};

struct row {
    const char *const before[5];
    unsigned has; /* enum exec_env_has */
    const char *const after[6];
};

static const struct row rows[] = {
    {{NULL}, 1, {PRELOAD AGENT, OUT, NULL}},
    {{"A=1", NULL}, 1, {"A=1", PRELOAD AGENT, OUT, NULL}},
    {{PRELOAD "own.so", "A=1", NULL}, 1, {"A=1", PRELOAD AGENT ":own.so", OUT, NULL}},
    {{PRELOAD, NULL}, 1, {PRELOAD AGENT, OUT, NULL}},
    {{PRELOAD "a.so b.so", OUT "x", NULL}, 1, {PRELOAD AGENT ":a.so b.so", OUT, NULL}},
    /* Already there, at any place: nothing changes. */
    {{PRELOAD AGENT, OUT, NULL}, 1, {PRELOAD AGENT, OUT, NULL}},
    {{PRELOAD "a.so:" AGENT, OUT, NULL}, 1, {PRELOAD "a.so:" AGENT, OUT, NULL}},
    {{PRELOAD "a.so " AGENT ":b.so", OUT, NULL}, 1, {PRELOAD "a.so " AGENT ":b.so", OUT, NULL}},
    /* A longer name that holds ours is another's. */
    {{PRELOAD AGENT ".old", OUT, NULL}, 1, {PRELOAD AGENT ":" AGENT ".old", OUT, NULL}},
    {{PRELOAD "/y" AGENT, OUT, NULL}, 1, {PRELOAD AGENT ":/y" AGENT, OUT, NULL}},
    /* In another recording's hands. */
    {{PRELOAD AGENT, "LAMELLA_OUT=/other", NULL}, 1, {PRELOAD AGENT, OUT, NULL}},
    /* Without: ours goes, the user's stays, and a variable with nothing in it goes too. */
    {{PRELOAD AGENT, OUT, "A=1", NULL}, 0, {OUT, "A=1", NULL}},
    {{PRELOAD AGENT ":own.so", OUT, NULL}, 0, {OUT, PRELOAD "own.so", NULL}},
    {{PRELOAD "own.so:" AGENT, NULL}, 0, {PRELOAD "own.so", NULL}},
    {{PRELOAD "a.so:" AGENT ":b.so", NULL}, 0, {PRELOAD "a.so:b.so", NULL}},
    {{PRELOAD "own.so", NULL}, 0, {PRELOAD "own.so", NULL}},
    {{"A=1", NULL}, 0, {"A=1", NULL}},
    {{NULL}, 0, {NULL}},
    /* Unstable options for a compiler. */
    {{"A=1", NULL}, EXEC_ENV_BOOTSTRAP, {"A=1", BOOTSTRAP "1", NULL}},
    {{BOOTSTRAP "1", NULL}, EXEC_ENV_BOOTSTRAP, {BOOTSTRAP "1", NULL}},
    {{BOOTSTRAP "some_crate", "A=1", NULL}, EXEC_ENV_BOOTSTRAP, {"A=1", BOOTSTRAP "1", NULL}},
    {{BOOTSTRAP "0", NULL}, 1, {BOOTSTRAP "0", PRELOAD AGENT, OUT, NULL}},
    {{PRELOAD AGENT, OUT, NULL}, 3, {PRELOAD AGENT, OUT, BOOTSTRAP "1", NULL}},
    {{PRELOAD AGENT ":x.so", OUT, NULL}, 2, {OUT, PRELOAD "x.so", BOOTSTRAP "1", NULL}},
};

static void environments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char **envp = (char **)(uintptr_t)rows[i].before, **got = envp;
        size_t size = exec_env_size(envp, rows[i].has);
        unsigned char *room = size ? malloc(size) : NULL; /* a sanitizer sees a byte too many */
        if (size)
            got = exec_env_build(envp, rows[i].has, room);
        size_t n = 0;
        for (; rows[i].after[n]; n++) {
            if (!got[n] || strcmp(got[n], rows[i].after[n]) != 0)
                fail_msg("row %zu, word %zu: %s, wanted %s", i, n, got[n] ? got[n] : "(end)",
                         rows[i].after[n]);
        }
        if (got[n])
            fail_msg("row %zu: one word more: %s", i, got[n]);
        free(room);
    }
    size_t size = exec_env_size(NULL, 1);
    char *room = malloc(size);
    char **got = exec_env_build(NULL, 1, room);
    assert_string_equal(got[0], PRELOAD AGENT);
    assert_string_equal(got[1], OUT);
    assert_null(got[2]);
    free(room);
}

static void only_and_skip(void **state)
{
    (void)state;
    static const struct {
        const char *only, *skip, *path;
        int skipped;
    } cases[] = {
        {"", "", "/usr/bin/cc", 0},
        {"cc*", "", "/usr/bin/cc1plus", 0},
        {"cc*", "", "/usr/cc/ld", 1},
        {"", "ld", "ld", 1},
        {"", "ld", "/usr/bin/ld.bfd", 0},
        {"*", "*sh", "/bin/bash", 1},
        {"r?stc", "", "/x/rustc", 0},
        {"r?stc", "", "/x/rstc", 1},
        {"*a*b*c", "", "/xaybzc", 0},
        {"*a*b*c", "", "/xaybzcd", 1},
        {"", "", "", 0},
        {"x", "", "", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t only = strlen(cases[i].only), skip = strlen(cases[i].skip);
        memset(control.patterns, 0, sizeof control.patterns);
        control.only_bytes = only ? (uint32_t)only + 1 : 0;
        control.skip_bytes = skip ? (uint32_t)skip + 1 : 0;
        memcpy(control.patterns, cases[i].only, only);
        memcpy(control.patterns + control.only_bytes, cases[i].skip, skip);
        if (exec_is_skipped(cases[i].path) != cases[i].skipped)
            fail_msg("row %zu: %s", i, cases[i].path);
    }
    control.only_bytes = control.skip_bytes = 0;
}

static void judged_where_exec_would_find_it(void **state)
{
    (void)state;
    char found[64], long_name[5000];
    assert_int_equal(exec_judge(AT_FDCWD, "sh", 1, found, sizeof found), STREAM_UNSAMPLED_NO);
    assert_true(strstr(found, "/sh"));
    assert_int_equal(exec_judge(AT_FDCWD, "/bin/sh", 1, found, sizeof found), STREAM_UNSAMPLED_NO);
    assert_string_equal(found, "/bin/sh");
    exec_judge(AT_FDCWD, "no-such-program", 1, found, sizeof found);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    exec_judge(AT_FDCWD, long_name, 1, found, sizeof found);
    exec_judge(AT_FDCWD, long_name, 0, found, sizeof found);
    assert_true(exec_can_start(AT_FDCWD, "/bin/sh"));
    assert_false(exec_can_start(AT_FDCWD, "/bin"));
    assert_false(exec_can_start(AT_FDCWD, "/etc/passwd"));
}

static void jobservers(void **state)
{
    (void)state;
    int pipes[2], copy, other[2];
    char flags[200], fifo[] = "/tmp/lamella-fifo-XXXXXX";
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(pipe(other), 0);
    copy = dup(pipes[0]);
    char *nothing[] = {(char[]){"MAKEFLAGS=-j2"}, (char[]){"XMAKEFLAGS=--jobserver-auth=1,2"}, NULL};
    waits_init(nothing);
    assert_false(wait_is_jobserver(pipes[0]));
    snprintf(flags, sizeof flags, "MAKEFLAGS= -j4 --jobserver-auth=%d,%d -- A=1", pipes[0], pipes[1]);
    char *by_number[] = {(char[]){"A=1"}, flags, NULL};
    waits_init(by_number);
    assert_true(wait_is_jobserver(pipes[0]));
    assert_true(wait_is_jobserver(copy));
    assert_true(wait_is_jobserver(pipes[1])); /* the same pipe */
    assert_false(wait_is_jobserver(other[0]));
    assert_false(wait_is_jobserver(-1));
    assert_false(wait_is_jobserver(999));
    close(mkstemp(fifo));
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int named = open(fifo, O_RDWR);
    snprintf(flags, sizeof flags, "CARGO_MAKEFLAGS=-j --jobserver-auth=fifo:%s -j3", fifo);
    char *by_name[] = {flags, NULL};
    waits_init(by_name);
    assert_true(wait_is_jobserver(named));
    assert_false(wait_is_jobserver(pipes[1]));
    close(named);
    unlink(fifo);
}

/* Those behind our own library are what the loader itself would find. */
static void functions_of_libc(void **state)
{
    (void)state;
    static const char *const names[] = {
#define NAME(ret, name, params) #name,
        REAL_FUNCTIONS(NAME)
#undef NAME
    };
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(libc);
    real_resolve();
    for (int i = 0; i < REAL_COUNT; i++) {
        void *next = dlsym(RTLD_NEXT, names[i]);
        if (real_pointers[i] != next)
            fail_msg("%s: %p, the loader finds %p (libc's is %p)", names[i], real_pointers[i], next,
                     dlsym(libc, names[i]));
        assert_non_null(next);
    }
    dlclose(libc);
}

static void wrappers_only_pass_on_when_inert(void **state)
{
    (void)state;
    assert_false(agent_is_active());
    struct sigaction action = {.sa_handler = SIG_IGN}, seen;
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    assert_int_equal(sigaction(SIGTRAP, NULL, &seen), 0);
    assert_true(seen.sa_handler == SIG_IGN);
    signal(SIGTRAP, SIG_DFL);
    errno = 0;
    assert_int_equal(read(-1, NULL, 0), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(close(-1), -1);
    sigset_t set, old;
    sigfillset(&set);
    assert_int_equal(sigprocmask(SIG_SETMASK, &set, &old), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, &set), 0);
    assert_int_equal(sigismember(&set, SIGTRAP), 1);
}

static int setup(void **state)
{
    (void)state;
    agent.control = &control;
    strcpy(agent.dir, "/tmp/r");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments),
        cmocka_unit_test(only_and_skip),
        cmocka_unit_test(judged_where_exec_would_find_it),
        cmocka_unit_test(jobservers),
        cmocka_unit_test(functions_of_libc),
        cmocka_unit_test(wrappers_only_pass_on_when_inert),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
