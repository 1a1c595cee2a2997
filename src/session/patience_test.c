#include "session/patience.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Runs on a terminal of its own: something that takes longer than its delay, and something that does not. */
static _Noreturn void on_the_terminal(void)
{
    pid_t waiter = patience_begin(1, "slow\n");
    while (waiter > 0 && waitid(P_PID, (id_t)waiter, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0) {
    }
    patience_end(waiter);
    waiter = patience_begin(3600 * 1000, "never\n");
    patience_end(waiter);
    _exit(waiter > 0 && waitpid(-1, NULL, WNOHANG) < 0 ? 0 : 1); /* none is left */
}

static void speaks_once_it_takes_long(void **state)
{
    char text[64];
    size_t used = 0;
    int terminal, status;
    ssize_t got;
    (void)state;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (child == 0)
        on_the_terminal();
    /* The terminal's end shows as an error. */
    while (used < sizeof text - 1 && (got = read(terminal, text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(terminal);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(text, "slow\r\n");
}

static void says_nothing_to_a_file(void **state)
{
    int kept = dup(STDERR_FILENO), ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    pid_t waiter = patience_begin(0, "no\n");
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waiter, -1);
    patience_end(waiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speaks_once_it_takes_long),
        cmocka_unit_test(says_nothing_to_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
