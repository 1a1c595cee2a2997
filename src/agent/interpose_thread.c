/* interpose_thread.c: threads as libc makes and names them, and libraries that go. */
#include "agent/agent.h"
#include "agent/real.h"
#include "core/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/prctl.h>

/* With signals blocked. */
static void write_thread(struct agent_thread *self)
{
    char name[17] = "";
    sys_call2(SYS_prctl, PR_GET_NAME, name);
    struct stream_rec_thread rec = {
        .ticks = agent_now(),
        .cpu_ns = self->seen_cpu_ns,
        .tid = self->tid,
        .origin = (uint8_t)self->origin,
        .name_bytes = (uint8_t)bytes_length(name),
    };
    struct stream_piece pieces[] = {{&rec, sizeof rec}, {name, rec.name_bytes}};
    stream_append(&agent.stream, &self->meta, STREAM_REC_THREAD, self->index, pieces, 2, rec.ticks);
}

/* In the new thread. The state that its creator prepared is used, unless the thread was interrupted before it came here
 * and has one already. */
static void enter_thread(struct agent_thread *prepared)
{
    uint64_t saved;
    agent_mask_signals(&saved);
    struct agent_thread *self = agent_self;
    size_t stack_bytes = prepared->stack_bytes;
    if (self) {
        self->blocks_signal = prepared->blocks_signal;
        thread_give_back(prepared);
    } else {
        self = thread_attach(prepared, STREAM_THREAD_CREATED);
    }
    if (self && self != AGENT_THREAD_GONE) {
        agent_want_stream();
        write_thread(self);
        thread_know_stack(self, (uintptr_t)__builtin_frame_address(0), stack_bytes);
        virtual_altstack_install(self, stack_bytes);
    }
    /* The mask was inherited; if it holds ours blocked (a handler made this thread) it is opened. */
    if (agent.signal_ready)
        saved &= ~((uint64_t)1 << (AGENT_SIGNAL - 1));
    agent_unmask_signals(&saved);
}

static void *thread_main(void *prepared)
{
    void *(*start)(void *) = ((struct agent_thread *)prepared)->start;
    void *arg = ((struct agent_thread *)prepared)->start_arg;
    enter_thread(prepared);
    return start(arg);
}

static int thread_main_c11(void *prepared)
{
    int (*start)(void *) = ((struct agent_thread *)prepared)->start_c11;
    void *arg = ((struct agent_thread *)prepared)->start_arg;
    enter_thread(prepared);
    return start(arg);
}

static struct agent_thread *prepare(void *arg, const pthread_attr_t *attr)
{
    struct agent_thread *child = thread_alloc();
    if (!child)
        return NULL;
    child->start_arg = arg;
    child->blocks_signal = (uint32_t)virtual_mask_blocks();
    child->stack_bytes = SIZE_MAX;
    if (attr)
        pthread_attr_getstacksize(attr, &child->stack_bytes);
    return child;
}

/* An engine that the program has silenced by closing its event is noticed here and opened again. */
static void check_engine(struct agent_thread *self)
{
    if (!self || !agent.engine || sys_getpid() != agent.pid)
        return;
    int rc = agent.engine->check(self);
    if (!rc)
        return;
    uint64_t saved;
    agent_mask_signals(&saved);
    agent_want_stream();
    account_notice(rc > 0 ? STREAM_NOTICE_REOPENED : STREAM_NOTICE_SILENT,
                   rc < 0 ? (uint64_t)-rc : 0);
    agent_unmask_signals(&saved);
}

AGENT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                                void *(*start)(void *), void *arg)
{
    struct agent_thread *child = agent_enter() ? prepare(arg, attr) : NULL;
    if (!child)
        return REAL(pthread_create)(thread, attr, start, arg);
    check_engine(thread_self());
    child->start = start;
    int rc = REAL(pthread_create)(thread, attr, thread_main, child);
    if (rc)
        thread_give_back(child);
    return rc;
}

AGENT_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *arg)
{
    struct agent_thread *child = agent_enter() ? prepare(arg, NULL) : NULL;
    if (!child)
        return REAL(thrd_create)(thread, start, arg);
    child->start_c11 = start;
    int rc = REAL(thrd_create)(thread, thread_main_c11, child);
    if (rc != thrd_success)
        thread_give_back(child);
    return rc;
}

/* ---- names ---- */

static void note_name(const char *name)
{
    struct agent_thread *self = agent_enter() && sys_getpid() == agent.pid ? thread_self() : NULL;
    if (!self)
        return;
    uint64_t saved;
    size_t length = bytes_length(name);
    struct stream_rec_name rec = {
        .ticks = agent_now(), .tid = self->tid, .name_bytes = (uint32_t)(length < 15 ? length : 15)};
    struct stream_piece pieces[] = {{&rec, sizeof rec}, {name, rec.name_bytes}};
    agent_mask_signals(&saved);
    agent_want_stream();
    stream_append(&agent.stream, &self->meta, STREAM_REC_THREAD_NAME, self->index, pieces, 2,
                  rec.ticks);
    agent_unmask_signals(&saved);
}

AGENT_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    int rc = REAL(pthread_setname_np)(thread, name);
    if (rc == 0 && pthread_equal(thread, pthread_self()))
        note_name(name);
    return rc;
}

AGENT_EXPORT int prctl(int option, ...)
{
    va_list list;
    va_start(list, option);
    unsigned long args[4];
    for (int i = 0; i < 4; i++)
        // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above
        args[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP)
        agent_withdraw();
    int rc = REAL(prctl)(option, args[0], args[1], args[2], args[3]);
    if (rc == 0 && option == PR_SET_NAME) {
        int error = errno;
        note_name((const char *)args[0]);
        errno = error;
    }
    return rc;
}

/* ---- libraries ---- */

AGENT_EXPORT int dlclose(void *handle)
{
    int rc = REAL(dlclose)(handle);
    if (agent_enter() && sys_getpid() == agent.pid) {
        uint64_t saved;
        agent_mask_signals(&saved);
        modules_after_dlclose();
        agent_unmask_signals(&saved);
    }
    return rc;
}
