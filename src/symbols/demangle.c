#include "symbols/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <demangle.h>

#include "base/error.h"
#include "base/memory.h"

/* libiberty's demanglers bound the depth of what they print, but not the stack of what they parse
 * (arrays of the name's length, and one of templates × references), nor their output, nor their
 * time. So they run here:
 *   - on a thread whose stack is large enough for the longest name we accept (demangle_stacks);
 *   - with output going to a buffer of fixed size, which is left by a jump when it is full: they
 *     hold no resource, since their callback forms allocate on the stack alone;
 *   - under a timer on the thread's CPU clock, whose second tick within one name leaves it in the
 *     same way: some names are read twice on each level before anything is printed. */
enum {
    RUST_OPTIONS = DMGL_PARAMS | DMGL_ANSI, /* at most 1,024 levels */
    /* For C++ the limit would refuse names of more than 1,024 bytes. */
    CPP_OPTIONS = RUST_OPTIONS | DMGL_NO_RECURSE_LIMIT,
    UNTIMED_MAX_INPUT = 128, /* too short to take long, where the system has no timer for us */
    DEMANGLE_TICK_NS = 3000000,
    DEMANGLE_TICKS = 2, /* the first may have been nearly due when the name was begun */
};

/* Parsing takes at most about 1.5 KB of stack a byte (several frames a level of nesting), printing
 * 1 MB in all (it stops at 1,024 levels), the arrays 80 bytes a byte of the name and 16 bytes ×
 * templates × references: at most 16 × length² / 60. Stacks are only touched as far as they are
 * used. */
static const struct {
    size_t stack_bytes;
    size_t max_input;
} demangle_stacks[] = {
    {(size_t)256 << 20, DEMANGLE_MAX_INPUT},
    {(size_t)32 << 20, 4096},
    {(size_t)4 << 20, 512},
};

struct demangle_room {
    sigjmp_buf leave;
    volatile sig_atomic_t busy;
    volatile sig_atomic_t ticks;
    size_t max_input;
    bool has_timer;
    timer_t timer;
    size_t used;
    char name[DEMANGLE_MAX_INPUT + 1];
    char text[DEMANGLE_MAX_OUTPUT];
};

/* Of this thread, inside demangle_threads(). */
static _Thread_local struct demangle_room *demangle_room;

/* Runs in a signal handler: touches the room of its own thread and nothing else. The jump leaves
 * either libiberty or demangle_collect(), neither of which holds a lock or memory. */
static void on_tick(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    struct demangle_room *room = demangle_room;
    if (!room || info->si_code != SI_TIMER || !room->busy)
        return;
    room->ticks = room->ticks + 1;
    if (room->ticks < DEMANGLE_TICKS)
        return;
    room->busy = 0;
    siglongjmp(room->leave, 1);
}

static int tick_signal(void)
{
    return SIGRTMAX - 5;
}

static void install_handler(void)
{
    /* SA_NODEFER: the jump out of the handler needs no signal mask put back. */
    struct sigaction action = {.sa_sigaction = on_tick,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(tick_signal(), &action, NULL);
}

static void room_start_timer(struct demangle_room *room)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_handler);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = tick_signal()};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &room->timer) < 0)
        return;
    struct itimerspec every = {{0, DEMANGLE_TICK_NS}, {0, DEMANGLE_TICK_NS}};
    room->has_timer = timer_settime(room->timer, 0, &every, NULL) == 0;
    if (!room->has_timer)
        timer_delete(room->timer);
}

static void room_close(struct demangle_room *room)
{
    if (room && room->has_timer)
        timer_delete(room->timer);
    mem_free(room);
}

static void demangle_collect(const char *text, size_t length, void *opaque)
{
    struct demangle_room *room = opaque;
    if (length == 0)
        return;
    if (length > sizeof room->text - room->used) {
        room->busy = 0;
        siglongjmp(room->leave, 1);
    }
    memcpy(room->text + room->used, text, length);
    room->used += length;
}

/* Demangles room->name into room->text. */
static bool demangle_guarded(struct demangle_room *room, bool is_rust)
{
    room->used = 0;
    room->ticks = 0;
    if (sigsetjmp(room->leave, 0))
        return false;
    atomic_signal_fence(
        memory_order_seq_cst); /* the handler on this thread may jump only once `leave` is filled */
    room->busy = 1;
    int ok = is_rust ? rust_demangle_callback(room->name, RUST_OPTIONS, demangle_collect, room)
                     : cplus_demangle_v3_callback(room->name, CPP_OPTIONS, demangle_collect, room);
    room->busy = 0;
    return ok && room->used > 0;
}

/* Where the compiler's own suffixes (".cold", ".llvm.123") begin: length when there are none. */
static size_t suffix_start(const char *name, size_t length, bool is_rust)
{
    const char *dot = memchr(name, '.', length);
    if (!dot)
        return length;
    if (name[1] == 'R' || !is_rust)
        return (size_t)(dot - name);
    /* Rust's legacy names hold dots of their own and end in a hash: 17h, 16 hex digits, E. */
    for (size_t at = 0; at + 20 < length; at++) {
        if (memcmp(name + at, "17h", 3) != 0)
            continue;
        size_t digits = 0;
        while (digits < 16 && isxdigit((unsigned char)name[at + 3 + digits]))
            digits++;
        if (digits == 16 && name[at + 19] == 'E' && name[at + 20] == '.')
            return at + 20;
    }
    return length;
}

/* Length of one suffix at text ('.', a word, and the numbers that belong to it: ".part.3"). */
static size_t suffix_length(const char *text, size_t length)
{
    size_t at = 1;
    while (at < length && (isalnum((unsigned char)text[at]) || text[at] == '_'))
        at++;
    while (at + 1 < length && text[at] == '.' && isdigit((unsigned char)text[at + 1])) {
        at++;
        while (at < length && isdigit((unsigned char)text[at]))
            at++;
    }
    return at;
}

static void add_clone_suffixes(struct strbuf *full, const char *suffix, size_t length)
{
    while (length > 0) {
        size_t part = *suffix == '.' ? suffix_length(suffix, length) : length;
        if (part < 6 || memcmp(suffix, ".llvm.", 6) != 0) {
            strbuf_add(full, " [clone ");
            strbuf_add_bytes(full, suffix, part);
            strbuf_add_char(full, ']');
        }
        suffix += part;
        length -= part;
    }
}

/* name[0 … length): mangled, without version. Appends its demangled form, or returns PLAIN and
 * leaves full alone. */
static enum symbol_language demangle_mangled(struct demangle_room *room, const char *name,
                                             size_t length, struct strbuf *full)
{
    if (length > room->max_input || memchr(name, 0, length))
        return SYMBOL_LANGUAGE_PLAIN;
    enum symbol_language languages[] = {SYMBOL_LANGUAGE_RUST, SYMBOL_LANGUAGE_CPP};
    for (size_t i = 0; i < 2; i++) {
        bool is_rust = languages[i] == SYMBOL_LANGUAGE_RUST;
        size_t base = suffix_start(name, length, is_rust);
        memcpy(room->name, name, base);
        room->name[base] = 0;
        if (!demangle_guarded(room, is_rust))
            continue;
        strbuf_add_bytes(full, room->text, room->used);
        add_clone_suffixes(full, name + base, length - base);
        return languages[i];
    }
    return SYMBOL_LANGUAGE_PLAIN;
}

static bool looks_mangled(const char *name, size_t length)
{
    return length > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

static enum symbol_language demangle_in_room(const char *name, size_t length, struct strbuf *full)
{
    const char *at = memchr(name, '@', length); /* a version or "@plt" */
    size_t base = at ? (size_t)(at - name) : length;
    enum symbol_language language = SYMBOL_LANGUAGE_PLAIN;
    if (demangle_room)
        language = demangle_mangled(demangle_room, name, base, full);
    if (language == SYMBOL_LANGUAGE_PLAIN)
        strbuf_add_bytes(full, name, length);
    else if (length - base >= 4 && memcmp(name + length - 4, "@plt", 4) == 0)
        strbuf_add(full, "@plt");
    return language;
}

struct one_name {
    const char *name;
    size_t length;
    struct strbuf *full;
    enum symbol_language language;
};

static int demangle_one(void *ctx, size_t item, unsigned worker)
{
    (void)item;
    (void)worker;
    struct one_name *one = ctx;
    one->language = demangle_in_room(one->name, one->length, one->full);
    return LAM_OK;
}

enum symbol_language demangle_name(const char *name, size_t length, struct strbuf *full)
{
    if (!looks_mangled(name, length) || length > DEMANGLE_MAX_INPUT) {
        strbuf_add_bytes(full, name, length);
        return SYMBOL_LANGUAGE_PLAIN;
    }
    if (demangle_room)
        return demangle_in_room(name, length, full);
    struct one_name one = {.name = name, .length = length, .full = full};
    demangle_threads(1, 1, demangle_one, &one);
    return one.language;
}

struct demangle_crew {
    int (*fn)(void *ctx, size_t item, unsigned worker);
    void *ctx;
    size_t count;
    size_t max_input;
    atomic_size_t next;
    atomic_int rc;
};

struct demangle_worker {
    struct demangle_crew *crew;
    pthread_t thread;
    unsigned index;
};

static void crew_work(struct demangle_crew *crew, unsigned worker)
{
    /* relaxed: the items are independent; results are handed over by pthread_join() */
    size_t item;
    while ((item = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed)) < crew->count) {
        int rc = crew->fn(crew->ctx, item, worker);
        int none = LAM_OK;
        if (rc < 0) {
            atomic_compare_exchange_strong(&crew->rc, &none, rc);
            atomic_store_explicit(&crew->next, crew->count, memory_order_relaxed);
        }
    }
}

static void *worker_main(void *arg)
{
    struct demangle_worker *worker = arg;
    struct demangle_room *room = mem_alloc(sizeof *room);
    if (room) {
        room->busy = 0;
        room->has_timer = false;
        room->max_input = worker->crew->max_input;
        demangle_room = room;
        room_start_timer(room);
        if (!room->has_timer && room->max_input > UNTIMED_MAX_INPUT)
            room->max_input = UNTIMED_MAX_INPUT;
    }
    crew_work(worker->crew, worker->index);
    demangle_room = NULL;
    room_close(room);
    return NULL;
}

/* Starts one worker with every signal but the timer's blocked, so that the program's signals keep
 * going elsewhere. */
static int worker_start(struct demangle_worker *worker, size_t stack_bytes)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return LAM_E_NOMEM;
    sigset_t blocked, old;
    sigfillset(&blocked);
    sigdelset(&blocked, tick_signal());
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    int failed = pthread_attr_setstacksize(&attr, stack_bytes);
    if (!failed)
        failed = pthread_create(&worker->thread, &attr, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return failed ? LAM_E_NOMEM : LAM_OK;
}

enum { CREW_MAX = 16 };

static unsigned crew_size(unsigned threads, size_t count)
{
    if (threads == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        threads = processors > 0 ? (unsigned)processors : 1;
    }
    if (threads > CREW_MAX)
        threads = CREW_MAX;
    return count < threads ? (unsigned)count : threads;
}

int demangle_threads(unsigned threads, size_t count,
                     int (*fn)(void *ctx, size_t item, unsigned worker), void *ctx)
{
    struct demangle_crew crew = {.fn = fn, .ctx = ctx, .count = count};
    struct demangle_worker workers[CREW_MAX];
    unsigned wanted = crew_size(threads, count);
    unsigned started = 0;
    for (size_t i = 0; i < sizeof demangle_stacks / sizeof *demangle_stacks && started == 0; i++) {
        crew.max_input = demangle_stacks[i].max_input;
        while (started < wanted) {
            workers[started] = (struct demangle_worker){.crew = &crew, .index = started};
            if (worker_start(&workers[started], demangle_stacks[i].stack_bytes) < 0)
                break;
            started++;
        }
    }
    if (started == 0)
        crew_work(&crew, 0);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    return atomic_load(&crew.rc);
}
