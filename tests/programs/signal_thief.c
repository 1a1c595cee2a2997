/* signal_thief [CASE]: does to SIGTRAP and SIGPROF whatever a program may do with a signal; `all` runs every case that survives.
 *
 * Each case burns CPU while its arrangement stands, and prints what the program sees. The lines are those of a run
 * without a sampler: a sampler that lives on such a signal must not be visible in them. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/poll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static const int thieved[] = {SIGTRAP, SIGPROF};
static const char *const thieved_names[] = {"SIGTRAP", "SIGPROF"};
static volatile sig_atomic_t hits;
static volatile sig_atomic_t code_seen;
static volatile sig_atomic_t number_seen;

static void count(int number, siginfo_t *info, void *context)
{
    (void)context;
    hits++;
    number_seen = number;
    code_seen = info->si_code;
}

static void install(int number, int flags)
{
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | flags};
    if (sigaction(number, &action, NULL))
        unprepared("sigaction");
}

static void reset(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int i = 0; i < 2; i++)
        signal(thieved[i], SIG_IGN); /* drops what is pending */
    for (int i = 0; i < 2; i++)
        signal(thieved[i], SIG_DFL);
    signal(SIGUSR1, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    hits = 0;
}

/* Every signal that a program can block and see as blocked: the C library keeps 32 and 33 to itself. */
static int missing_from(const sigset_t *set)
{
    int missing = 0;
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN))
            missing += !sigismember(set, number);
    return missing;
}

static void *mask_of_thread(void *set)
{
    spin_ms(20);
    pthread_sigmask(SIG_SETMASK, NULL, set);
    return NULL;
}

static int case_block(int argc, char **argv)
{
    (void)argc, (void)argv;
    sigset_t full, seen, before, inherited;
    pthread_t thread;
    sigfillset(&full);
    sigprocmask(SIG_SETMASK, &full, &before);
    spin_ms(60);
    sigprocmask(SIG_SETMASK, NULL, &seen);
    if (pthread_create(&thread, NULL, mask_of_thread, &inherited))
        unprepared("pthread_create");
    pthread_join(thread, NULL);
    printf("block: missing=%d in-thread=%d before=%d\n", missing_from(&seen),
           missing_from(&inherited), sigismember(&before, SIGTRAP) + sigismember(&before, SIGPROF));
    reset();
    return 0;
}

static int case_pending(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 2; i++) {
        sigset_t one, pending;
        sigemptyset(&one);
        sigaddset(&one, thieved[i]);
        install(thieved[i], 0);
        pthread_sigmask(SIG_BLOCK, &one, NULL);
        spin_ms(30);
        sigpending(&pending);
        int quiet = sigismember(&pending, thieved[i]);
        raise(thieved[i]);
        raise(thieved[i]);
        spin_ms(5);
        sigpending(&pending);
        int raised = sigismember(&pending, thieved[i]);
        int while_blocked = hits;
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
        printf("pending %s: quiet=%d raised=%d hits-blocked=%d hits-after=%d\n", thieved_names[i],
               quiet, raised, while_blocked, (int)hits);
        reset();
    }
    return 0;
}

static void *send_later(void *target)
{
    spin_ms(20);
    pthread_kill(*(pthread_t *)target, SIGUSR1);
    return NULL;
}

static pthread_t sender_to_self(void)
{
    static pthread_t self;
    pthread_t thread;
    self = pthread_self();
    if (pthread_create(&thread, NULL, send_later, &self))
        unprepared("pthread_create");
    return thread;
}

static int case_sigwait(int argc, char **argv)
{
    (void)argc, (void)argv;
    sigset_t full;
    siginfo_t info;
    int number = 0;
    sigfillset(&full);
    sigprocmask(SIG_SETMASK, &full, NULL);

    pthread_t sender = sender_to_self();
    spin_ms(10);
    int got = sigwaitinfo(&full, &info);
    pthread_join(sender, NULL);
    printf("sigwaitinfo: SIGUSR1=%d code-user=%d\n", got == SIGUSR1, info.si_code == SI_USER);

    sender = sender_to_self();
    spin_ms(10);
    int rc = sigwait(&full, &number);
    pthread_join(sender, NULL);
    printf("sigwait: rc=%d SIGUSR1=%d\n", rc, number == SIGUSR1);

    struct timespec time = {.tv_nsec = 20000000};
    spin_ms(10);
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    got = sigtimedwait(&full, &info, &time);
    int is_timeout = got < 0 && errno == EAGAIN;
    printf("sigtimedwait: timeout=%d early=%d\n", is_timeout,
           clock_ns(CLOCK_MONOTONIC) - start < 20000000u);

    raise(SIGTRAP);
    got = sigwaitinfo(&full, &info);
    printf("sigwaitinfo own: SIGTRAP=%d code-user=%d\n", got == SIGTRAP, info.si_code == SI_USER);
    reset();
    return 0;
}

static int case_signalfd(int argc, char **argv)
{
    (void)argc, (void)argv;
    sigset_t set;
    struct signalfd_siginfo info;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGPROF);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int file = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    spin_ms(40);
    ssize_t got = read(file, &info, sizeof info);
    printf("signalfd: quiet=%d", got < 0 && errno == EAGAIN);
    for (int i = 0; i < 2; i++) {
        raise(thieved[i]);
        spin_ms(3);
        got = read(file, &info, sizeof info);
        printf(" %s=%d", thieved_names[i], got == sizeof info && (int)info.ssi_signo == thieved[i]);
    }
    got = read(file, &info, sizeof info);
    printf(" drained=%d\n", got < 0 && errno == EAGAIN);
    close(file);
    reset();
    return 0;
}

static void send_by(int way, int number)
{
    union sigval value = {.sival_int = 42};
    switch (way) {
    case 0:
        raise(number);
        break;
    case 1:
        kill(getpid(), number);
        break;
    case 2:
        pthread_kill(pthread_self(), number);
        break;
    case 3:
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
        break;
    default:
        sigqueue(getpid(), number, value);
        break;
    }
}

static int case_handlers(int argc, char **argv)
{
    (void)argc, (void)argv;
    static const char *const ways[] = {"raise", "kill", "pthread_kill", "tgkill", "sigqueue"};
    static const int codes[] = {SI_TKILL, SI_USER, SI_TKILL, SI_TKILL, SI_QUEUE};
    for (int i = 0; i < 2; i++) {
        install(thieved[i], SA_RESTART);
        spin_ms(50);
        printf("handlers %s: unasked=%d", thieved_names[i], (int)hits);
        for (int way = 0; way < 5; way++) {
            hits = 0;
            send_by(way, thieved[i]);
            spin_ms(3);
            printf(" %s=%d%s", ways[way], (int)hits,
                   code_seen == codes[way] && number_seen == thieved[i] ? "" : "?");
        }
        printf("\n");
        reset();
    }
#if defined __x86_64__ || defined __i386__
    install(SIGTRAP, 0);
    for (int i = 0; i < 5; i++) {
        spin_ms(2);
        __asm__ volatile("int3");
    }
    printf("handlers int3: hits=%d code-kernel=%d\n", (int)hits, code_seen == SI_KERNEL);
    reset();
#endif
    return 0;
}

static int case_default(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 2; i++) {
        signal(thieved[i], SIG_DFL);
        spin_ms(60);
        signal(thieved[i], SIG_IGN);
        spin_ms(30);
        raise(thieved[i]); /* ignored */
        spin_ms(5);
        printf("default %s: alive=1 was-ignored=%d\n", thieved_names[i],
               signal(thieved[i], SIG_DFL) == SIG_IGN);
    }
    reset();
    return 0;
}

static void other_handler(int number)
{
    number_seen = number;
    hits += 100;
}

static int same_action(const struct sigaction *a, const struct sigaction *b)
{
    int differing =
        a->sa_sigaction != b->sa_sigaction ||
        (a->sa_flags & ~0x04000000) != (b->sa_flags & ~0x04000000); /* SA_RESTORER is libc's */
    for (int number = 1; number < 32; number++)
        differing += sigismember(&a->sa_mask, number) != sigismember(&b->sa_mask, number);
    return !differing;
}

static int case_readback(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 2; i++) {
        struct sigaction first,
            set = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK}, seen;
        sigaction(thieved[i], NULL, &first);
        sigaddset(&set.sa_mask, SIGUSR2);
        sigaddset(&set.sa_mask, SIGTRAP);
        sigaction(thieved[i], &set, NULL);
        spin_ms(20);
        sigaction(thieved[i], NULL, &seen);
        int same = same_action(&set, &seen);
        void (*before)(int) = signal(thieved[i], other_handler);
        raise(thieved[i]);
        printf("readback %s: default-first=%d same=%d signal-returned=%d hits=%d", thieved_names[i],
               first.sa_handler == SIG_DFL, same, before == set.sa_handler, (int)hits);
        printf(" again=%d\n", signal(thieved[i], SIG_DFL) == other_handler);
        reset();
    }
    return 0;
}

static int case_once(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 2; i++) {
        struct sigaction seen;
        install(thieved[i], SA_RESETHAND);
        spin_ms(30);
        raise(thieved[i]);
        spin_ms(5);
        sigaction(thieved[i], NULL, &seen);
        printf("once %s: hits=%d default-again=%d\n", thieved_names[i], (int)hits,
               seen.sa_handler == SIG_DFL);
        reset();
    }
    return 0;
}

static void count_and_raise(int number)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    hits++;
    code_seen = sigismember(&mask, number) + 2 * sigismember(&mask, SIGUSR2);
    spin_ms(5);
    if (hits == 1)
        raise(number); /* blocked here: comes when the handler has returned */
    number_seen = hits;
}

static int case_nested(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < 2; i++) {
        struct sigaction action = {.sa_handler = count_and_raise};
        sigaddset(&action.sa_mask, SIGUSR2);
        sigaction(thieved[i], &action, NULL);
        raise(thieved[i]);
        printf("nested %s: hits=%d mask-in-handler=%d inner-first=%d\n", thieved_names[i],
               (int)hits, (int)code_seen, number_seen != 2);
        reset();
    }
    return 0;
}

static int case_suspend(int argc, char **argv)
{
    (void)argc, (void)argv;
    sigset_t all, but_usr1;
    struct pollfd nothing = {.fd = -1};
    struct timespec time = {.tv_sec = 5};
    sigfillset(&all);
    but_usr1 = all;
    sigdelset(&but_usr1, SIGUSR1);
    sigprocmask(SIG_SETMASK, &all, NULL);
    install(SIGUSR1, 0);
    static const char *const names[] = {"sigsuspend", "ppoll", "pselect"};
    for (int way = 0; way < 3; way++) {
        hits = 0;
        pthread_t sender = sender_to_self();
        spin_ms(5);
        int rc = way == 0   ? sigsuspend(&but_usr1)
                 : way == 1 ? ppoll(&nothing, 1, &time, &but_usr1)
                            : pselect(0, NULL, NULL, NULL, &time, &but_usr1);
        int code = errno;
        pthread_join(sender, NULL);
        printf("%s: EINTR=%d hits=%d", names[way], rc < 0 && code == EINTR, (int)hits);
        sigset_t seen;
        sigprocmask(SIG_SETMASK, NULL, &seen);
        printf(" missing=%d\n", missing_from(&seen));
    }
    reset();
    return 0;
}

static int case_inherit(int argc, char **argv)
{
    if (argc > 2) { /* the program that was started */
        sigset_t seen;
        struct sigaction action;
        spin_ms(30);
        sigprocmask(SIG_SETMASK, NULL, &seen);
        sigaction(SIGPROF, NULL, &action);
        printf("inherit: trap-blocked=%d prof-ignored=%d usr1-blocked=%d\n",
               sigismember(&seen, SIGTRAP), action.sa_handler == SIG_IGN,
               sigismember(&seen, SIGUSR1));
        return 0;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_SETMASK, &set, NULL);
        signal(SIGPROF, SIG_IGN);
        spin_ms(20);
        execl("/proc/self/exe", argv[0], "inherit", "started", (char *)NULL);
        _exit(EXIT_UNPREPARED);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status != 0;
}

static sigjmp_buf jump;

static void jump_out(int number)
{
    (void)number;
    siglongjmp(jump, 1);
}

static int case_jump(int argc, char **argv)
{
    (void)argc, (void)argv;
    static volatile int rounds;
    for (int i = 0; i < 2; i++) {
        signal(thieved[i], jump_out);
        rounds = 0;
        while (rounds < 50) {
            if (sigsetjmp(jump, 1)) {
                rounds++;
                continue;
            }
            spin_ns(300000);
            raise(thieved[i]);
        }
        sigset_t seen;
        sigprocmask(SIG_SETMASK, NULL, &seen);
        printf("jump %s: rounds=%d blocked=%d\n", thieved_names[i], rounds,
               sigismember(&seen, thieved[i]));
        reset();
    }
    return 0;
}

static int case_die_trap(int argc, char **argv)
{
    (void)argc, (void)argv;
    spin_ms(20);
    raise(SIGTRAP);
    return 1;
}

static int case_die_ill(int argc, char **argv)
{
    (void)argc, (void)argv;
    spin_ms(20);
    __builtin_trap(); /* SIGILL on x86: the neighbouring fault */
}

static int case_die_int3(int argc, char **argv)
{
    (void)argc, (void)argv;
    spin_ms(20);
#if defined __x86_64__ || defined __i386__
    __asm__ volatile("int3");
#else
    raise(SIGTRAP);
#endif
    return 1;
}

static int case_die_prof(int argc, char **argv)
{
    (void)argc, (void)argv;
    spin_ms(20);
    kill(getpid(), SIGPROF);
    spin_ms(20);
    return 1;
}

static int case_all(int argc, char **argv);

static const struct spin_case cases[] = {
    {"block", case_block},
    {"pending", case_pending},
    {"sigwait", case_sigwait},
    {"signalfd", case_signalfd},
    {"handlers", case_handlers},
    {"default", case_default},
    {"readback", case_readback},
    {"once", case_once},
    {"nested", case_nested},
    {"suspend", case_suspend},
    {"jump", case_jump},
    {"inherit", case_inherit},
    {"all", case_all}, /* the cases above; those below die by a signal */
    {"die_trap", case_die_trap},
    {"die_ill", case_die_ill},
    {"die_int3", case_die_int3},
    {"die_prof", case_die_prof},
    {NULL, NULL},
};

static int case_all(int argc, char **argv)
{
    (void)argc;
    for (const struct spin_case *one = cases; one->run != case_all; one++)
        if (one->run(1, argv))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    return run_case(cases, argc, argv, "all");
}
