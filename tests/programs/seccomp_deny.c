/* seccomp_deny CASE [COMMAND ...]: puts itself under a system-call filter, burns 100 ms, and becomes COMMAND if there is one.
 *
 * perf    perf_event_open is refused with EPERM, as container runtimes do; the rest is allowed
 * errno   what is not on a short list is refused with EPERM
 * kill    what is not on that list kills the process
 * strict  the kernel's oldest mode: read, write, exit and sigreturn alone
 *
 * For `kill` and `strict` the work is counted in steps: the CPU clock is a system call that the filter forbids. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

#define LOAD_NUMBER   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ANSWER(what)  BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ANSWER(SECCOMP_RET_ALLOW)

static void filter(struct sock_filter *steps, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        unprepared("seccomp");
}

__attribute__((noinline)) void burn_by_steps(void)
{
    for (long i = 0; i < 300000000; i++)
        __asm__ volatile("");
}

static void say(const char *text)
{
    ssize_t put = write(1, text, strlen(text));
    (void)put;
}

static int case_perf(int argc, char **argv)
{
    struct sock_filter steps[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    filter(steps, sizeof steps / sizeof *steps);
    spin_ms(100);
    if (argc > 2) {
        execvp(argv[2], argv + 2);
        unprepared(argv[2]);
    }
    say("perf: alive\n");
    return 0;
}

static void short_list(unsigned answer)
{
    struct sock_filter steps[] = {
        LOAD_NUMBER,           ALLOW(SYS_read),         ALLOW(SYS_write),
        ALLOW(SYS_futex),      ALLOW(SYS_rt_sigreturn), ALLOW(SYS_exit),
        ALLOW(SYS_exit_group), ANSWER(answer),
    };
    filter(steps, sizeof steps / sizeof *steps);
}

static int case_errno(int argc, char **argv)
{
    (void)argc, (void)argv;
    short_list(SECCOMP_RET_ERRNO | EPERM);
    burn_by_steps();
    say("errno: alive\n");
    _exit(0);
}

static int case_kill(int argc, char **argv)
{
    (void)argc, (void)argv;
    short_list(SECCOMP_RET_KILL_PROCESS);
    burn_by_steps();
    say("kill: alive\n");
    _exit(0);
}

static int case_strict(int argc, char **argv)
{
    (void)argc, (void)argv;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        unprepared("seccomp");
    burn_by_steps();
    say("strict: alive\n");
    syscall(SYS_exit, 0);
    return 1;
}

static const struct spin_case cases[] = {
    {"perf", case_perf},     {"errno", case_errno}, {"kill", case_kill},
    {"strict", case_strict}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv, "perf");
}
