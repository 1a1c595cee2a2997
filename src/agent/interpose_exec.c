/* interpose_exec.c: functions that start programs and end processes.
 *
 * Before a program is started it is decided whether the agent goes with it (exec_env.h). Before this process is replaced
 * its engine is stopped: a trap that is still on its way when the program changes kills the new one.
 */
#include "agent/agent.h"
#include "agent/compiler_args.h"
#include "agent/exec_env.h"
#include "agent/real.h"
#include "core/bytes.h"

#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

/* The caller may be a thread with 16 KiB in all. */
enum { ENV_ON_STACK = 8 * 1024, ARGS_ON_STACK = 1024 };

struct exec_call {
    int dir_fd;
    const char *path;
    int search; /* look `path` up in PATH */
    char *const *argv;
};

static int takes_agent(enum stream_unsampled why)
{
    return why == STREAM_UNSAMPLED_NO || why == STREAM_UNSAMPLED_SKIPPED;
}

/* What a program that is about to be started gets. */
struct exec_plan {
    enum compiler_ask ask;
    unsigned env_has; /* enum exec_env_has */
};

static struct exec_plan plan_exec(enum stream_unsampled why, const char *found, char *const argv[],
                                  char *const envp[])
{
    struct exec_plan plan = {.ask = compiler_ask(found, argv, envp)};
    plan.env_has = (takes_agent(why) ? EXEC_ENV_AGENT : 0u) |
                   (plan.ask == COMPILER_ASK_BOOTSTRAP ? EXEC_ENV_BOOTSTRAP : 0u);
    return plan;
}

struct scratch {
    void *map;
    size_t size;
};

static void *map_scratch(size_t size)
{
    void *map = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return sys_is_error(map) ? NULL : map;
}

static void unmap_scratch(const struct scratch *scratch)
{
    if (scratch->map)
        sys_munmap(scratch->map, scratch->size);
}

/* Room in memory of the calling function (a macro, for alloca), or mapped where it would be too much for its stack: then
 * `mapped` is what unmap_scratch() gets when the call has come back. NULL when there is none. */
#define SCRATCH_ROOM(size, on_stack, mapped)                                       \
    ({                                                                             \
        size_t room_size = (size);                                                 \
        void *room = NULL;                                                         \
        if (room_size > (on_stack))                                                \
            (mapped) = (struct scratch){room = map_scratch(room_size), room_size}; \
        else if (room_size)                                                        \
            room = alloca(room_size);                                              \
        room;                                                                      \
    })

/* The right environment. */
#define EXEC_ENV(envp, has, mapped)                                                        \
    ({                                                                                     \
        void *env_room = SCRATCH_ROOM(exec_env_size((envp), (has)), ENV_ON_STACK, mapped); \
        env_room ? exec_env_build((envp), (has), env_room) : (char **)(uintptr_t)(envp);   \
    })

/* The right arguments. */
#define EXEC_ARGS(argv, ask, mapped)                                                      \
    ({                                                                                    \
        void *args_room =                                                                 \
            (ask) ? SCRATCH_ROOM(compiler_args_size(argv), ARGS_ON_STACK, mapped) : NULL; \
        args_room ? compiler_args_build((argv), args_room) : (char **)(uintptr_t)(argv);  \
    })

/* A program that is left alone has no stream of its own: this is where it is named. Also written by a child of vfork,
 * into the page of the parent's thread, which waits for it. */
static void write_spawn(enum stream_spawn_kind kind, uint32_t child, int rc,
                        enum stream_unsampled why, const char *path, char *const argv[])
{
    struct agent_thread *self = thread_self();
    if (!self)
        return;
    uint64_t saved;
    agent_mask_signals(&saved);
    agent_want_stream();
    enum { ARGV_MAX = 16 * 1024 };
    struct stream_rec_spawn spawn = {
        .ticks = agent_now(),
        .child_pid = child,
        .rc = rc,
        .why_not = (uint16_t)why,
        .path_bytes = (uint16_t)bytes_length(path),
        .cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID),
    };
    /* The arguments need not lie one behind the other, so each is a piece. */
    enum { PIECES_MAX = 66 };
    struct stream_piece pieces[PIECES_MAX] = {{&spawn, sizeof spawn}, {path, spawn.path_bytes}};
    size_t n = 2;
    for (int i = 0; argv && argv[i] && n < PIECES_MAX; i++) {
        size_t size = bytes_length(argv[i]) + 1;
        if (spawn.argv_bytes + size > ARGV_MAX)
            break;
        spawn.argv_bytes += (uint32_t)size;
        pieces[n++] = (struct stream_piece){argv[i], size};
    }
    stream_append(&agent.stream, &self->meta, STREAM_REC_SPAWN, kind, pieces, n, spawn.ticks);
    agent_unmask_signals(&saved);
}

/* Everything around the real call; `vforked`: on the parent's memory. */
static void before_exec(const struct exec_call *call, enum stream_unsampled why, const char *found,
                        int vforked)
{
    if (!takes_agent(why))
        write_spawn(vforked ? STREAM_SPAWN_VFORK_EXEC : STREAM_SPAWN_EXEC,
                    vforked ? (uint32_t)sys_getpid() : 0, 0, why, found, call->argv);
    /* Its signal actions are the child's own, its mask too. */
    if (vforked) {
        virtual_signal_before_vfork_exec();
        return;
    }
    if (agent.engine)
        agent.engine->pause();
    agent_process_end(STREAM_END_EXEC, -1);
    virtual_signal_before_exec();
}

static void after_failed_exec(int vforked)
{
    if (vforked)
        return;
    virtual_signal_after_exec();
    if (agent.engine)
        agent.engine->resume();
}

#define EXEC_THROUGH(call, envp, real_call)                                             \
    do {                                                                                \
        char found[AGENT_PATH_MAX];                                                     \
        int vforked = sys_getpid() != agent.pid;                                        \
        enum stream_unsampled why =                                                     \
            exec_judge((call).dir_fd, (call).path, (call).search, found, sizeof found); \
        struct exec_plan plan = plan_exec(why, found, (call).argv, (envp));             \
        struct scratch env_map = {0}, args_map = {0};                                   \
        char **env = EXEC_ENV((envp), plan.env_has, env_map);                           \
        char **args = EXEC_ARGS((call).argv, plan.ask, args_map);                       \
        before_exec(&(call), why, found, vforked);                                      \
        int exec_rc = (real_call);                                                      \
        int exec_errno = errno;                                                         \
        after_failed_exec(vforked);                                                     \
        unmap_scratch(&env_map);                                                        \
        unmap_scratch(&args_map);                                                       \
        errno = exec_errno;                                                             \
        return exec_rc;                                                                 \
    } while (0)

AGENT_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    /* Shells try one directory of PATH after the other in this way: what cannot start costs them one call more. */
    if (!agent_enter() || !exec_can_start(AT_FDCWD, path))
        return REAL(execve)(path, argv, envp);
    struct exec_call call = {.dir_fd = AT_FDCWD, .path = path, .argv = argv};
    EXEC_THROUGH(call, envp, REAL(execve)(path, args, env));
}

AGENT_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    if (!agent_enter())
        return REAL(execvpe)(file, argv, envp);
    struct exec_call call = {.dir_fd = AT_FDCWD, .path = file, .search = 1, .argv = argv};
    EXEC_THROUGH(call, envp, REAL(execvpe)(file, args, env));
}

AGENT_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    if (!agent_enter())
        return REAL(fexecve)(fd, argv, envp);
    char path[32] = "/proc/self/fd/";
    text_from_u64(path + bytes_length(path), (uint64_t)(unsigned)fd);
    struct exec_call call = {.dir_fd = AT_FDCWD, .path = path, .argv = argv};
    EXEC_THROUGH(call, envp, REAL(fexecve)(fd, args, env));
}

AGENT_EXPORT int execveat(int dir_fd, const char *path, char *const argv[], char *const envp[],
                          int flags)
{
    if (!agent_enter())
        return REAL(execveat)(dir_fd, path, argv, envp, flags);
    char by_number[32] = "/proc/self/fd/";
    text_from_u64(by_number + bytes_length(by_number), (uint64_t)(unsigned)dir_fd);
    struct exec_call call = {.dir_fd = dir_fd, .path = path, .argv = argv};
    if (flags & AT_EMPTY_PATH && !path[0])
        call = (struct exec_call){.dir_fd = AT_FDCWD, .path = by_number, .argv = argv};
    EXEC_THROUGH(call, envp, REAL(execveat)(dir_fd, path, args, env, flags));
}

AGENT_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

AGENT_EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* The list forms: the arguments, the first of which stands before the list, as a vector on the stack. */
#define ARGUMENT_VECTOR(argv, first, list)                     \
    size_t argument_count = 1;                                 \
    va_list counting;                                          \
    va_copy(counting, list);                                   \
    while (va_arg(counting, const char *))                     \
        argument_count++;                                      \
    va_end(counting);                                          \
    char **argv = alloca((argument_count + 1) * sizeof *argv); \
    argv[0] = (char *)(uintptr_t)(first);                      \
    for (size_t i = 1; i <= argument_count; i++)               \
    argv[i] = va_arg(list, char *)

AGENT_EXPORT int execl(const char *path, const char *arg, ...)
{
    va_list list;
    va_start(list, arg);
    ARGUMENT_VECTOR(argv, arg, list);
    va_end(list);
    return execve(path, argv, environ);
}

AGENT_EXPORT int execlp(const char *file, const char *arg, ...)
{
    va_list list;
    va_start(list, arg);
    ARGUMENT_VECTOR(argv, arg, list);
    va_end(list);
    return execvpe(file, argv, environ);
}

AGENT_EXPORT int execle(const char *path, const char *arg, ...)
{
    va_list list;
    va_start(list, arg);
    ARGUMENT_VECTOR(argv, arg, list);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, envp);
}

/* ---- posix_spawn ---- */

typedef real_posix_spawn_fn spawn_fn;

/* The child inherits the caller's mask, where ours is never blocked: for the moment of the call it is, if the program
 * thinks so. What the program ignores is really ignored for that moment, too. */
static void hold_signal(int how)
{
    uint64_t bit = (uint64_t)1 << (AGENT_SIGNAL - 1);
    if (agent.signal_ready && virtual_mask_blocks())
        sys_call4(SYS_rt_sigprocmask, how, &bit, NULL, 8);
    virtual_signal_ignore(how == SIG_BLOCK);
}

static int spawn_with(spawn_fn *real, int search, pid_t *pid, const char *path,
                      const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                      char *const argv[], char *const envp[])
{
    char found[AGENT_PATH_MAX];
    pid_t child = 0;
    enum stream_unsampled why = exec_judge(AT_FDCWD, path, search, found, sizeof found);
    struct exec_plan plan = plan_exec(why, found, argv, envp);
    struct scratch env_map = {0}, args_map = {0};
    char **env = EXEC_ENV(envp, plan.env_has, env_map);
    char **args = EXEC_ARGS(argv, plan.ask, args_map);
    uint64_t cpu_before =
        agent.engine && !agent.kernel_mode ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    hold_signal(SIG_BLOCK);
    int rc = real(&child, path, actions, attr, args, env);
    hold_signal(SIG_UNBLOCK);
    unmap_scratch(&env_map);
    unmap_scratch(&args_map);
    if (cpu_before)
        sampling_at_return(cpu_before);
    if (pid && rc == 0)
        *pid = child;
    if (rc == 0 && !takes_agent(why))
        write_spawn(STREAM_SPAWN_SPAWN, (uint32_t)child, 0, why, found, argv);
    return rc;
}

AGENT_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    if (!agent_enter() || sys_getpid() != agent.pid)
        return REAL(posix_spawn)(pid, path, actions, attr, argv, envp);
    return spawn_with(REAL(posix_spawn), 0, pid, path, actions, attr, argv, envp);
}

AGENT_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    if (!agent_enter() || sys_getpid() != agent.pid)
        return REAL(posix_spawnp)(pid, file, actions, attr, argv, envp);
    return spawn_with(REAL(posix_spawnp), 1, pid, file, actions, attr, argv, envp);
}

/* ---- fork ---- */

static pid_t fork_with(real_fork_fn *real)
{
    uint64_t cpu_before = agent_enter() && agent.engine && !agent.kernel_mode
                              ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID)
                              : 0;
    pid_t pid = real();
    if (pid == 0) {
        if (agent_is_active())
            agent_start_child();
    } else if (cpu_before) {
        int error = errno;
        sampling_at_return(cpu_before);
        errno = error;
    }
    return pid;
}

AGENT_EXPORT pid_t fork(void)
{
    return fork_with(REAL(fork));
}

AGENT_EXPORT pid_t __fork(void)
{
    return fork_with(REAL(fork));
}

AGENT_EXPORT pid_t _Fork(void)
{
    return fork_with(REAL(_Fork));
}

/* ---- end ---- */

AGENT_EXPORT void _exit(int code)
{
    agent_process_end(STREAM_END__EXIT, code);
    REAL(_exit)(code);
    __builtin_unreachable();
}

AGENT_EXPORT void _Exit(int code)
{
    _exit(code);
}

AGENT_EXPORT void quick_exit(int code)
{
    agent_process_end(STREAM_END__EXIT, code);
    REAL(quick_exit)(code);
    __builtin_unreachable();
}

AGENT_EXPORT void abort(void)
{
    agent_process_end(STREAM_END_ABORT, -1);
    REAL(abort)();
    __builtin_unreachable();
}
