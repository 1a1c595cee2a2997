/* The whole agent inside a test program, so that sanitizers see what they cannot see in a preloaded library: this program runs
 * itself again with a recording in its environment, the agent's constructor starts there, threads come and go and are
 * looked at, and what the stream then holds is counted here.
 *
 * A look is a call of the handler with the caller's own registers: under the thread sanitizer real signals would strike in
 * the middle of its runtime, so the CPU timer gets the longest period there is. Elsewhere it strikes as well. */
#include "agent/agent.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_THREAD__)
#define LOOKS_ONLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOOKS_ONLY 1
#endif
#endif
#ifndef LOOKS_ONLY
#define LOOKS_ONLY 0
#endif

enum { WORKERS = 4, ROUNDS = 40, LOOKS = 25, NESTED = 6 };

/* How many looks there were, in all processes: in a file of the recording's directory. */
static _Atomic unsigned *looks;

static void map_looks(const char *directory)
{
    char path[64];
    snprintf(path, sizeof path, "%s/looks", directory);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *looks) < 0)
        abort();
    looks = mmap(NULL, sizeof *looks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (looks == MAP_FAILED)
        abort();
}

/* ---- inside: what the recorded process does ---- */

static void look(void)
{
    (*looks)++;
    siginfo_t info;
    ucontext_t context;
    memset(&info, 0, sizeof info);
    memset(&context, 0, sizeof context);
    getcontext(&context);
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr =
        (void *)(uintptr_t)0x6c616d656c6cu; /* as engine_cpu_timer.c marks its own */
    uint64_t saved;
    agent_mask_signals(&saved);
    sampling_handler(AGENT_SIGNAL, &info, &context);
    agent_unmask_signals(&saved);
}

/* The agent leaves its own object's frames out of a stack, and that is this program: what stays are those of libc, which
 * calls this from qsort(), as often nested as `depth` says. */
static _Thread_local int depth;

static int compare(const void *left, const void *right)
{
    if (depth > 0) {
        int pair[2] = {*(const int *)right, *(const int *)left};
        depth--;
        qsort(pair, 2, sizeof *pair, compare);
        depth++;
    } else {
        look();
    }
    return *(const int *)left - *(const int *)right;
}

static void *worker(void *arg)
{
    for (int i = 0; i < LOOKS; i++) {
        int pair[2] = {i, (int)(intptr_t)arg};
        depth = i % NESTED;
        qsort(pair, 2, sizeof *pair, compare);
    }
    /* Our destructor runs as late as a thread has any, when that sanitizer no longer knows it. */
    if (LOOKS_ONLY && sys_gettid() != sys_getpid())
        thread_detach();
    return NULL;
}

static void load_and_unload(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW);
    if (!library)
        return;
    modules_after_dlopen();
    look();
    dlclose(library);
    modules_after_dlclose();
}

static int forked(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (agent_enter())
            worker(NULL);
        agent_process_end(STREAM_END__EXIT, 0);
        sys_call1(SYS_exit_group, 0);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int recorded_process(void)
{
    if (!agent_is_active())
        return 3;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[WORKERS];
        for (intptr_t i = 0; i < WORKERS; i++)
            if (pthread_create(&threads[i], NULL, worker, (void *)(i + round)))
                return 4;
        load_and_unload();
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], NULL);
    }
    return forked() ? 0 : 5;
}

/* ---- outside: the recording, and what is in it ---- */

static char directory[] = "/dev/shm/lamella-inside-XXXXXX";

static void write_control(void)
{
    static struct control_page control = {
        .version = 1,
        .engine = STREAM_ENGINE_CPU_TIMER,
        .best_engine = STREAM_ENGINE_CPU_TIMER,
        .session_id = 7,
        .launcher_pid = 1,
        .wait_min_us = 1000,
        .tick_rate_hz = 1000000000,
    };
    memcpy(control.magic, CONTROL_MAGIC, sizeof control.magic);
    for (int i = 0; i < 4; i++)
        control.period_ns[i] = LOOKS_ONLY ? 4000000000u : 1000000;
    char path[64];
    snprintf(path, sizeof path, "%s/control", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(&control, sizeof control, 1, file), 1);
    fclose(file);
}

struct seen {
    unsigned files, samples, without_stack, nodes, threads, ends, process_ends;
};

static void count_page(const struct stream_page *page, const unsigned char *body, size_t size,
                       struct seen *seen)
{
    if (page->kind == STREAM_PAGE_SAMPLES) {
        struct stream_sample sample;
        for (size_t at = 0; at + sizeof sample <= size; at += sizeof sample) {
            memcpy(&sample, body + at, sizeof sample);
            if (!sample.stack)
                break;
            seen->samples += sample.stack != STREAM_STACK_CARRY;
            seen->without_stack += sample.stack == STREAM_STACK_UNKNOWN;
        }
    }
    if (page->kind == STREAM_PAGE_META)
        for (size_t at = 0; at + sizeof(struct stream_record) <= size;) {
            struct stream_record record;
            memcpy(&record, body + at, sizeof record);
            uint32_t type = record.head & 0xffff, bytes = (record.head >> 16) * 8;
            if (!record.head)
                break;
            assert_true(bytes >= sizeof record && at + bytes <= size);
            seen->threads += type == STREAM_REC_THREAD;
            seen->ends += type == STREAM_REC_THREAD_END;
            seen->process_ends += type == STREAM_REC_PROCESS_END;
            at += bytes;
        }
    seen->nodes += page->kind == STREAM_PAGE_STACKS;
}

static void count_file(const char *path, struct seen *seen)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    assert_true(size > 0);
    unsigned char *bytes = malloc((size_t)size);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    fclose(file);
    for (size_t at = STREAM_PAGE_GRAIN; at + sizeof(struct stream_page) <= (size_t)size;
         at += STREAM_PAGE_GRAIN) {
        struct stream_page page;
        memcpy(&page, bytes + at, sizeof page);
        if (page.magic != STREAM_PAGE_MAGIC || page.self_offset != at)
            continue;
        assert_true(at + page.size_bytes <= (size_t)size);
        count_page(&page, bytes + at + sizeof page, page.size_bytes - sizeof page, seen);
    }
    seen->files++;
    free(bytes);
}

static struct seen count_recording(void)
{
    struct seen seen = {0};
    char command[64], path[4096];
    snprintf(command, sizeof command, "ls -d %s/*.lam", directory);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    while (fgets(path, sizeof path, list)) {
        path[strcspn(path, "\n")] = 0;
        count_file(path, &seen);
    }
    assert_int_equal(pclose(list), 0);
    return seen;
}

static void every_look_is_in_the_stream(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(directory));
    map_looks(directory);
    write_control();
    pid_t child = fork();
    if (child == 0) {
        setenv("LAMELLA_OUT", directory, 1);
        execl("/proc/self/exe", "agent_inside_test", (char *)NULL);
        _exit(9);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct seen seen = count_recording();
    assert_int_equal(seen.files, 2); /* the process, and the child that it forked */
    assert_true(*looks >= WORKERS * ROUNDS * LOOKS + LOOKS);
    assert_true(seen.samples >= *looks);
    assert_int_equal(seen.without_stack, 0);
    assert_true(seen.nodes >= 2);
    assert_true(seen.ends >= WORKERS * ROUNDS);
    assert_int_equal(seen.process_ends, 2);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const char *inside = getenv("LAMELLA_OUT");
    if (inside) {
        map_looks(inside);
        return recorded_process();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_look_is_in_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
