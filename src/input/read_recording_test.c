#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "input/read_recording.h"
#include "reader/stream_file.h"
#include "reader/stream_make_test.h"

/* ---- a sink that writes down everything, and checks the order of the calls ---- */

struct note {
    struct strbuf text;
    uint32_t process, threads, frames, stacks, modules;
    bool in_process;
    int64_t thread_now;
    struct {
        uint32_t parent, frame;
    } stack[4096];
    struct {
        uint32_t module;
        uint64_t offset;
    } frame[4096];
    char module[64][64];
    uint32_t thread_now_id;
};

static void put_text(struct note *note, const char *name, struct profile_text text)
{
    strbuf_addf(&note->text, " %s=", name);
    strbuf_add_printable(&note->text, text.bytes, text.size);
}

static void put_known(struct note *note, const char *name, uint64_t value)
{
    if (value == PROFILE_UNKNOWN)
        strbuf_addf(&note->text, " %s=?", name);
    else
        strbuf_addf(&note->text, " %s=%llu", name, (unsigned long long)value);
}

static int on_session(void *ctx, const struct profile_session *session)
{
    struct note *note = ctx;
    strbuf_addf(&note->text, "session %s exit %d complete %d engine %u rate %u", session->command,
                session->exit_code, session->complete, session->engine, session->rate_hz);
    put_known(note, "elapsed", session->elapsed_ns);
    put_known(note, "charged", session->charged_cpu_ns);
    strbuf_add(&note->text, "\n");
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *process)
{
    struct note *note = ctx;
    assert_false(note->in_process);
    assert_int_equal(process->process, note->process + 1);
    assert_true(process->parent <= note->process);
    note->process = process->process;
    note->in_process = true;
    strbuf_addf(&note->text,
                "process %u pid %u parent %u previous %u start %lld sampled %d why %u forked %d",
                process->process, process->pid, process->parent, process->previous,
                (long long)process->start_ns, (int)process->sampled, process->why_not,
                process->forked);
    put_text(note, "exe", process->exe);
    put_text(note, "comm", process->comm);
    strbuf_add(&note->text, " argv=");
    for (size_t i = 0; i < process->argc; i++) {
        strbuf_add(&note->text, i ? "," : "");
        strbuf_add_printable(&note->text, process->argv[i].bytes, process->argv[i].size);
    }
    put_known(note, "startup", process->startup_cpu_ns);
    strbuf_add(&note->text, process->argv_cut ? " cut\n" : "\n");
    return LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *module)
{
    struct note *note = ctx;
    assert_int_equal(module->module, note->modules + 1);
    assert_true(module->path.size < sizeof note->module[0]);
    memcpy(note->module[module->module], module->path.bytes, module->path.size);
    note->modules++;
    return LAM_OK;
}

static int on_frame(void *ctx, const struct profile_frame *frame)
{
    struct note *note = ctx;
    assert_int_equal(frame->frame, note->frames + 1);
    assert_true(frame->module <= note->modules);
    note->frames++;
    note->frame[frame->frame].module = frame->module;
    note->frame[frame->frame].offset = frame->offset;
    return LAM_OK;
}

static int on_stack(void *ctx, const struct profile_stack *stack)
{
    struct note *note = ctx;
    assert_int_equal(stack->stack, note->stacks + 1);
    assert_true(stack->parent < stack->stack);
    assert_true(stack->frame > 0 && stack->frame <= note->frames);
    note->stacks++;
    note->stack[stack->stack].parent = stack->parent;
    note->stack[stack->stack].frame = stack->frame;
    return LAM_OK;
}

static void put_stack(struct note *note, uint32_t stack)
{
    assert_true(stack <= note->stacks);
    strbuf_add(&note->text, " [");
    for (uint32_t id = stack; id; id = note->stack[id].parent) {
        uint32_t frame = note->stack[id].frame;
        strbuf_addf(&note->text, "%s%s+%llx", id == stack ? "" : " ",
                    note->module[note->frame[frame].module],
                    (unsigned long long)note->frame[frame].offset);
    }
    strbuf_add(&note->text, "]\n");
}

static int on_thread(void *ctx, const struct profile_thread *thread)
{
    struct note *note = ctx;
    assert_true(note->in_process);
    assert_int_equal(thread->thread, note->threads + 1);
    assert_int_equal(thread->process, note->process);
    note->threads++;
    note->thread_now_id = thread->thread;
    note->thread_now = thread->start_ns;
    strbuf_addf(&note->text, "thread %u tid %u start %lld origin %u", thread->thread, thread->tid,
                (long long)thread->start_ns, thread->origin);
    put_text(note, "name", thread->name);
    strbuf_add(&note->text, "\n");
    return LAM_OK;
}

static void check_time(struct note *note, uint32_t thread, int64_t at_ns)
{
    assert_true(thread > 0 && thread <= note->threads);
    assert_int_equal(thread, note->thread_now_id);
    assert_true(at_ns >= note->thread_now);
    note->thread_now = at_ns;
}

static int on_name(void *ctx, const struct profile_thread_name *name)
{
    struct note *note = ctx;
    check_time(note, name->thread, name->at_ns);
    strbuf_addf(&note->text, "name %u at %lld", name->thread, (long long)name->at_ns);
    put_text(note, "name", name->name);
    strbuf_add(&note->text, "\n");
    return LAM_OK;
}

static int on_sample(void *ctx, const struct profile_sample *sample)
{
    struct note *note = ctx;
    check_time(note, sample->thread, sample->at_ns);
    strbuf_addf(&note->text, "sample %u at %lld cpu %llu late %llu period %u merged %u",
                sample->thread, (long long)sample->at_ns, (unsigned long long)sample->cpu_ns,
                (unsigned long long)sample->late_ns, sample->period_ns, sample->merged);
    put_stack(note, sample->stack);
    return LAM_OK;
}

static int on_wait(void *ctx, const struct profile_wait *wait)
{
    struct note *note = ctx;
    check_time(note, wait->thread, wait->start_ns);
    strbuf_addf(&note->text, "wait %u at %lld for %llu kind %u", wait->thread,
                (long long)wait->start_ns, (unsigned long long)wait->duration_ns, wait->kind);
    put_stack(note, wait->stack);
    return LAM_OK;
}

static int on_thread_end(void *ctx, const struct profile_thread_end *end)
{
    struct note *note = ctx;
    check_time(note, end->thread, end->end_ns);
    strbuf_addf(&note->text, "thread_end %u at %lld samples %u", end->thread,
                (long long)end->end_ns, end->samples);
    put_known(note, "cpu", end->cpu_ns);
    put_known(note, "run", end->run_ns);
    strbuf_add(&note->text, "\n");
    return LAM_OK;
}

static int on_process_end(void *ctx, const struct profile_process_end *end)
{
    struct note *note = ctx;
    assert_true(note->in_process);
    assert_int_equal(end->process, note->process);
    note->in_process = false;
    strbuf_addf(&note->text, "process_end %u at %lld code %d signal %d how %u running %d",
                end->process, (long long)end->end_ns, end->exit_code, end->signal, end->how,
                end->running);
    put_known(note, "cpu", end->cpu_ns);
    put_known(note, "tail", end->tail_cpu_ns);
    put_known(note, "rss", end->own.max_rss_bytes);
    if (end->clamped_times)
        put_known(note, "clamped", end->clamped_times);
    strbuf_add(&note->text, end->is_damaged ? " damaged\n" : "\n");
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *end)
{
    struct note *note = ctx;
    assert_false(note->in_process);
    strbuf_addf(&note->text, "session_end streams %llu damaged %llu unreadable %llu lost %llu",
                (unsigned long long)end->streams, (unsigned long long)end->damaged_streams,
                (unsigned long long)end->unreadable_streams, (unsigned long long)end->lost_records);
    put_known(note, "unidentified", end->unidentified_cpu_ns);
    if (end->duplicate_streams)
        put_known(note, "duplicates", end->duplicate_streams);
    strbuf_addf(&note->text, " %s%s\n", end->faults.texts[0], end->session_damage);
    return LAM_OK;
}

static const struct profile_sink_ops note_ops = {
    .session = on_session,
    .process = on_process,
    .module = on_module,
    .frame = on_frame,
    .stack = on_stack,
    .thread = on_thread,
    .thread_name = on_name,
    .sample = on_sample,
    .wait = on_wait,
    .thread_end = on_thread_end,
    .process_end = on_process_end,
    .session_end = on_session_end,
};

/* ---- a recording to be made and read ---- */

struct place {
    char dir[64];
    struct note *note;
    struct lam_error err;
    char *text;
    unsigned files;
};

static void place_open(struct place *place)
{
    *place = (struct place){.err = LAM_ERROR_INIT};
    strcpy(place->dir, "/tmp/recording-test-XXXXXX");
    assert_non_null(mkdtemp(place->dir));
}

static void place_close(struct place *place)
{
    free(place->text);
    assert_int_equal(dir_remove_all(place->dir, NULL), LAM_OK);
}

/* Saves the stream and gives it back. */
static void place_add(struct place *place, struct make *make)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%06u.lam", place->dir, ++place->files);
    assert_true(make_save(make, path));
    make_close(make);
}

static void place_session(const struct place *place, const char *json)
{
    char path[128];
    snprintf(path, sizeof path, "%s/session.json", place->dir);
    assert_int_equal(file_write_all(path, json, strlen(json), NULL), LAM_OK);
}

/* Reads it into text; the code of read_recording(). */
static int place_read(struct place *place, const char *path)
{
    struct note *note = calloc(1, sizeof *note);
    assert_non_null(note);
    struct profile_sink sink = {.ctx = note, .ops = &note_ops};
    int rc = read_recording(path ? path : place->dir, &sink, &place->err);
    free(place->text);
    place->text = strbuf_take(&note->text, NULL);
    free(note);
    return rc;
}

static void has(const struct place *place, const char *line)
{
    if (!strstr(place->text, line)) {
        fputs(place->text, stderr); /* cmocka cuts long messages */
        fail_msg("no '%s'", line);
    }
}

static void has_not(const struct place *place, const char *line)
{
    if (strstr(place->text, line))
        fail_msg("there is '%s'", line);
}

/* Times in the tests: milliseconds since the session's start, at 1 s of the ticks' clock. */
#define MS     1000000ull
#define AT(ms) ((1000 * MS + (uint64_t)(ms)*MS) * MAKE_TICKS_PER_NS)
#define SESSION_HEAD                                                                               \
    "{\"format\":\"lamella-session\",\"version\":1,\"complete\":true,\"command\":[\"make\",\"all " \
    "it\"],"                                                                                       \
    "\"start_ticks\":2000000000,\"start_mono_ns\":1000000000,\"started_at_unix_ns\":"              \
    "1700000000000000000,"                                                                         \
    "\"tick_rate_hz\":2000000000,\"times\":[[4000000000,2000000000,1700000001000000000]],"         \
    "\"launcher_pid\":50,\"elapsed_ns\":1000000000,\"exit_code\":0,\"rate_hz\":1000,"

static struct make *begin(uint32_t pid, uint32_t ppid, unsigned ms, const char *name)
{
    struct make *make = make_open(pid, ppid, AT(ms));
    char argv[64];
    int size = snprintf(argv, sizeof argv, "%s%c-c", name, 0);
    make_process(make, name, "/w", name, argv, (size_t)size + 1, 0, 0);
    make_config(make, STREAM_ENGINE_SIGTRAP, 1000000);
    make_thread(make, 1, STREAM_THREAD_MAIN, "");
    return make;
}

static void threads_and_times(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *make = begin(100, 50, 10, "a");
    make_module(make, 1, 0x400000, 0x500000, 0x3ff000, 1, "/bin/a", "\x01\x02", 2);
    uint32_t root = make_node(make, 0, 0x401000, 1), leaf = make_node(make, root, 0x402000, 1);
    uint32_t nowhere = make_node(make, leaf, 0x900000, 1);
    make_thread(make, 2, STREAM_THREAD_CREATED, "worker");
    struct stream_rec_name name = {.ticks = AT(30), .tid = 101, .name_bytes = 3};
    make_record(make, 1, STREAM_REC_THREAD_NAME, 2, &name, sizeof name, "opt", 3);
    name.ticks = AT(32); /* told by another thread, which knows the tid only */
    make_record(make, 1, STREAM_REC_THREAD_NAME, 0, &name, sizeof name, "cgu", 3);
    make_wait(make, 2, AT(35), 4 * MS * MAKE_TICKS_PER_NS, root, STREAM_WAIT_LOCK);
    make_wait(make, 2, AT(20), 5 * MS * MAKE_TICKS_PER_NS, 0, STREAM_WAIT_IO);
    make_sample(make, 2, AT(29), leaf, 1000, 0);
    make_sample(make, 2, AT(31), root, 3500000,
                STREAM_SAMPLE_LATE | 1 << STREAM_SAMPLE_LEVEL_SHIFT | 2 << 8);
    make_sample(make, 2, AT(40), nowhere, 5ull << 32, 0);
    make_sample(make, 2, AT(41), STREAM_STACK_UNKNOWN, 7, 0);
    make_sample(make, 3, AT(15), leaf, 8, 0); /* a thread that never said what it is */
    make_thread_end(make, 2, AT(50), 9000, 4);
    make_process_end(make, STREAM_END_EXIT, AT(60), 20 * MS, 0, 3);
    place_add(&place, make);
    place_session(&place, SESSION_HEAD "\"charged_cpu_ns\":25000000}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "session make 'all it' exit 0 complete 1 engine 1 rate 1000 elapsed=1000000000 "
                "charged=25000000\n");
    has(&place, "process 1 pid 100 parent 0 previous 0 start 10000000 sampled 0 why 0 forked 0 "
                "exe=a comm=a argv=a,-c startup=0\n");
    has(&place, "thread 1 tid 100 start 10000000 origin 1 name=a\nthread_end 1");
    has(&place,
        "thread 2 tid 101 start 10000000 origin 2 name=worker\n"
        "wait 2 at 20000000 for 5000000 kind 4 []\n"
        "sample 2 at 29000000 cpu 1000 late 0 period 1000000 merged 0 [/bin/a+3000 /bin/a+2000]\n"
        "name 2 at 30000000 name=opt\n"
        "sample 2 at 31000000 cpu 3500000 late 1500000 period 2000000 merged 2 [/bin/a+2000]\n"
        "name 2 at 32000000 name=cgu\n"
        "wait 2 at 35000000 for 4000000 kind 1 [/bin/a+2000]\n"
        "sample 2 at 40000000 cpu 21474836480 late 0 period 1000000 merged 0 [+900000 /bin/a+3000 "
        "/bin/a+2000]\n"
        "sample 2 at 41000000 cpu 7 late 0 period 1000000 merged 0 []\n"
        "thread_end 2 at 50000000 samples 4 cpu=9000 run=9000\n");
    has(&place, "thread 3 tid 102 start 10000000 origin 3 name=a\nsample 3 at 15000000 cpu 8");
    has(&place, "process_end 1 at 60000000 code 3 signal 0 how 1 running 0 cpu=20000000 tail=0 "
                "rss=3145728\n");
    has(&place, "session_end streams 1 damaged 0 unreadable 0 lost 0 unidentified=5000000 \n");
    place_close(&place);
}

/* sh forks and execs cc, which execs as; cc's and as's CPU time is split at the exec. */
static void exec_chain_and_usage(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *sh = begin(100, 50, 0, "sh");
    make_child_exit(sh, 1, AT(90), 101, 7 << 8, 50 * MS); /* all of pid 101: 50 ms */
    make_process_end(sh, STREAM_END_EXIT, AT(100), 4 * MS, 50 * MS, 0);
    place_add(&place, sh);
    struct make *cc = begin(101, 100, 10, "cc");
    make_thread_end(cc, 1, AT(40), 20 * MS, 0);
    make_process_end(cc, STREAM_END_EXEC, AT(40), 20 * MS, 0, -1);
    place_add(&place, cc);
    struct make *as = make_open(101, 100, AT(42));
    make_process(as, "as", "/w", "as", "as", 3, 21 * MS, 0);
    make_config(as, STREAM_ENGINE_SIGTRAP, 1000000);
    make_thread(as, 1, STREAM_THREAD_MAIN, "");
    make_thread_end(as, 1, AT(80), 47 * MS, 0);
    make_process_end(as, STREAM_END_EXIT, AT(80), 47 * MS, 0, 7);
    place_add(&place, as);
    place_session(&place, SESSION_HEAD "\"charged_cpu_ns\":55000000,\"reaped\":[{\"pid\":100,"
                                       "\"kernel_start\":1100,\"status\":0,\"at_ns\":101000000,"
                                       "\"usage\":{\"user_ns\":50000000,\"sys_ns\":5000000}}],"
                                       "\"seen\":[{\"pid\":101,\"ppid\":100,\"kernel_start\":1101,"
                                       "\"peak_rss_bytes\":99,\"first_ns\":11,\"last_ns\":12}]}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place,
        "process_end 1 at 100000000 code 0 signal 0 how 1 running 0 cpu=5000000 tail=1000000");
    has(&place, "process 2 pid 101 parent 1 previous 0 start 10000000");
    has(&place, "process_end 2 at 40000000 code -1 signal 0 how 3 running 0 cpu=20000000 tail=0");
    has(&place, "process 3 pid 101 parent 1 previous 2 start 40000000");
    has(&place, "argv=as startup=1000000");
    has(&place, "thread_end 3 at 80000000 samples 0 cpu=27000000 run=27000000");
    has(&place,
        "process_end 3 at 80000000 code 7 signal 0 how 1 running 0 cpu=30000000 tail=3000000");
    has(&place, "unidentified=0");
    place_close(&place);
}

/* A driver that waited for its child inside libc, where nobody tells of it, and was killed before it could tell its end: the
 * kernel charges it with the child's time all the same, and the child had it. Its second child, which it never waited for,
 * went to the launcher and is in nobody else's charge. */
static void a_driver_that_is_killed(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *driver = begin(100, 50, 0, "driver");
    make_child_exit(driver, 1, AT(15), 101, 0, 10 * MS);
    place_add(&place, driver);
    struct make *told = begin(101, 100, 5, "told");
    make_process_end(told, STREAM_END_EXIT, AT(14), 10 * MS, 0, 0);
    place_add(&place, told);
    struct make *child = begin(102, 100, 20, "child");
    make_process_end(child, STREAM_END_EXIT, AT(70), 40 * MS, 0, 0);
    place_add(&place, child);
    struct make *orphan = begin(103, 100, 80, "orphan");
    make_process_end(orphan, STREAM_END_EXIT, AT(120), 30 * MS, 0, 0);
    place_add(&place, orphan);
    place_session(&place, SESSION_HEAD "\"charged_cpu_ns\":82000000,\"reaped\":["
                                       "{\"pid\":100,\"kernel_start\":1100,\"status\":9,"
                                       "\"at_ns\":100000000,\"usage\":{\"user_ns\":45000000,"
                                       "\"sys_ns\":7000000}},"
                                       "{\"pid\":103,\"kernel_start\":1103,\"status\":0,"
                                       "\"at_ns\":121000000,\"usage\":{\"user_ns\":30000000,"
                                       "\"sys_ns\":0}}]}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place,
        "process_end 1 at 100000000 code -1 signal 9 how 0 running 0 cpu=2000000 tail=? rss=?");
    has(&place, "process_end 3 at 70000000 code 0 signal 0 how 1 running 0 cpu=40000000");
    has(&place, "process_end 4 at 120000000 code 0 signal 0 how 1 running 0 cpu=30000000");
    has(&place, "unidentified=0");
    place_close(&place);
}

/* The command itself without a stream: the launcher reaped it, met it in /proc, and says why it was left alone. One process. */
static void the_command_alone(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    place_session(&place, SESSION_HEAD
                  "\"command_pid\":120,\"command_why_not\":1,"
                  "\"reaped\":[{\"pid\":120,\"kernel_start\":7,\"status\":0,\"at_ns\":50000000,"
                  "\"usage\":{\"user_ns\":40000000,\"sys_ns\":0}}],"
                  "\"seen\":[{\"pid\":120,\"ppid\":90,\"kernel_start\":7,\"exe\":\"/bin/alone\","
                  "\"first_ns\":10000000,\"last_ns\":10000000}]}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "process 1 pid 120 parent 0 previous 0 start 10000000 sampled 2 why 1");
    has(&place, "exe=/bin/alone");
    has_not(&place, "process 2 ");
    place_close(&place);
}

/* unshare forks into a new pid namespace: the child calls itself 1, as does its stream, and its own child 2. The launcher and
 * unshare know other numbers, and every process is there once. */
static void another_pid_namespace(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *outer = begin(100, 50, 0, "unshare");
    make_spawn(outer, 1, STREAM_SPAWN_FORK, AT(10), 207, 0, STREAM_UNSAMPLED_NO, "", "", 0, 0);
    make_child_exit(outer, 1, AT(91), 207, 3 << 8, 60 * MS);
    make_process_end(outer, STREAM_END_EXIT, AT(92), 1 * MS, 60 * MS, 3);
    place_add(&place, outer);
    struct make *init = begin(1, 0, 11, "sh");
    make_header(init)->kernel_start = 77;
    make_child_exit(init, 1, AT(80), 2, 0, 50 * MS);
    make_process_end(init, STREAM_END_EXIT, AT(90), 10 * MS, 50 * MS, 3);
    place_add(&place, init);
    struct make *child = begin(2, 1, 20, "burn");
    make_header(child)->kernel_start = 77;
    make_process_end(child, STREAM_END_EXIT, AT(79), 50 * MS, 0, 0);
    place_add(&place, child);
    place_session(&place,
                  SESSION_HEAD "\"charged_cpu_ns\":61000000,\"seen\":["
                               "{\"pid\":207,\"ppid\":100,\"inner_pid\":1,\"kernel_start\":77,"
                               "\"first_ns\":12000000,\"last_ns\":85000000,\"cpu_ns\":10000000},"
                               "{\"pid\":208,\"ppid\":207,\"inner_pid\":2,\"kernel_start\":77,"
                               "\"first_ns\":22000000,\"last_ns\":75000000,\"cpu_ns\":40000000}]}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "process 2 pid 1 parent 1 previous 0");
    has(&place, "process_end 2 at 90000000 code 3 signal 0 how 1 running 0 cpu=10000000");
    has(&place, "process 3 pid 2 parent 2 previous 0");
    has(&place, "process_end 3 at 79000000 code 0 signal 0 how 1 running 0 cpu=50000000");
    has_not(&place, "process 4 ");
    has(&place, "unidentified=0");
    place_close(&place);
}

/* Programs without a stream: spawned, exec'ed into, seen only as an exit, seen only in /proc; the last has a child of ours. */
static void programs_without_a_stream(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *make = begin(100, 50, 0, "make");
    make_spawn(make, 1, STREAM_SPAWN_SPAWN, AT(10), 101, 0, STREAM_UNSAMPLED_STATIC, "/bin/busybox",
               "busybox\0-x", 11, 0);
    make_spawn(make, 1, STREAM_SPAWN_VFORK_EXEC, AT(11), 102, 0, STREAM_UNSAMPLED_SETUID, "/bin/su",
               "su", 3, 0);
    make_spawn(make, 1, STREAM_SPAWN_SPAWN, AT(12), 0, 2, STREAM_UNSAMPLED_STATIC, "/bin/none",
               "none", 5, 0);
    make_child_exit(make, 1, AT(30), 101, 0, 30 * MS);
    make_child_exit(make, 1, AT(31), 102, 9, 2 * MS);
    make_child_exit(make, 1, AT(32), 103, 0, 1 * MS);
    make_process_end(make, STREAM_END_EXIT, AT(200), 5 * MS, 33 * MS, 0);
    place_add(&place, make);
    struct make *grandchild = begin(110, 101, 15, "tool"); /* of busybox, which waited for it */
    make_process_end(grandchild, STREAM_END_EXIT, AT(25), 12 * MS, 0, 0);
    place_add(&place, grandchild);
    struct make *shell = begin(120, 100, 50, "sh");
    make_spawn(shell, 1, STREAM_SPAWN_EXEC, AT(60), 0, 0, STREAM_UNSAMPLED_STATIC, "/bin/true",
               "true", 5, 3 * MS);
    make_process_end(shell, STREAM_END_EXEC, AT(60), 3 * MS, 0, -1);
    place_add(&place, shell);
    struct make *failed = begin(121, 100, 70, "env"); /* its exec failed, and it went on */
    make_spawn(failed, 1, STREAM_SPAWN_EXEC, AT(71), 0, 0, STREAM_UNSAMPLED_STATIC, "/bin/broken",
               "broken", 7, 1 * MS);
    make_process_end(failed, STREAM_END_EXEC, AT(71), 1 * MS, 0, -1);
    make_process_end(failed, STREAM_END__EXIT, AT(2000), 2 * MS, 0, 126);
    place_add(&place, failed);
    place_session(&place,
                  SESSION_HEAD "\"reaped\":[{\"pid\":120,\"status\":256,\"at_ns\":90000000,"
                               "\"usage\":{\"user_ns\":8000000,\"sys_ns\":0}},"
                               "{\"pid\":130,\"comm\":\"orphan\",\"status\":15,\"at_ns\":95000000,"
                               "\"usage\":{\"user_ns\":1,\"sys_ns\":0}}],"
                               "\"seen\":[{\"pid\":101,\"ppid\":100,\"kernel_start\":7,\"comm\":["
                               "\"busybox\"],\"first_ns\":12000000,"
                               "\"last_ns\":28000000,\"cpu_ns\":10000000,\"peak_rss_bytes\":4096},"
                               "{\"pid\":140,\"ppid\":101,\"kernel_start\":8,\"comm\":[\"daemon\"],"
                               "\"argv\":[\"daemon\",\"-d\"],\"first_ns\":20000000,"
                               "\"last_ns\":900000000,\"cpu_ns\":6000000,\"running\":true}]}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "pid 101 parent 1 previous 0 start 10000000 sampled 2 why 1 forked 0 "
                "exe=/bin/busybox comm=busybox argv=busybox,-x startup=?");
    /* 30 ms with its waited child's 12; the daemon runs on and is in nobody's charge. */
    has(&place, "code 0 signal 0 how 0 running 0 cpu=18000000 tail=? rss=4096");
    has(&place, "pid 102 parent 1 previous 0 start 11000000 sampled 2 why 4 forked 0 exe=/bin/su "
                "comm= argv=su");
    has(&place, "code -1 signal 9 how 0 running 0 cpu=2000000");
    has(&place, "pid 103 parent 1 previous 0 start 32000000 sampled 2 why 0");
    has(&place, "pid 110 parent 2 previous 0 start 15000000 sampled 0");
    has(&place, "pid 120 parent 1 previous 7 start 60000000 sampled 2 why 1 forked 0 exe=/bin/true "
                "comm= argv=true");
    has(&place, "at 60000000 code -1 signal 0 how 3 running 0 cpu=3000000");
    has(&place, "code 1 signal 0 how 0 running 0 cpu=5000000 tail=?");
    has(&place,
        "pid 130 parent 0 previous 0 start 95000000 sampled 2 why 0 forked 0 exe= comm=orphan");
    has(&place, "pid 140 parent 2 previous 0 start 20000000 sampled 2 why 0 forked 0 exe= "
                "comm=daemon argv=daemon,-d");
    has(&place, "at 1000000000 code -1 signal 0 how 0 running 1 cpu=6000000");
    has(&place, "at 2000000000 code 126 signal 0 how 2");
    has_not(&place, "/bin/none");
    has_not(&place, "/bin/broken");
    has(&place, "unidentified=?");
    place_close(&place);
}

/* One pid, used three times: each exit and each spawn is that of its time. */
static void recycled_pid(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *make = begin(100, 50, 0, "make");
    make_child_exit(make, 1, AT(20), 200, 0, 11 * MS);
    make_spawn(make, 1, STREAM_SPAWN_SPAWN, AT(3000), 200, 0, STREAM_UNSAMPLED_STATIC, "/bin/s",
               "s", 2, 0);
    make_child_exit(make, 1, AT(3010), 200, 256, 12 * MS);
    make_child_exit(make, 1, AT(6020), 200, 512, 13 * MS);
    make_process_end(make, STREAM_END_EXIT, AT(7000), 1 * MS, 36 * MS, 0);
    place_add(&place, make);
    struct make *first = begin(200, 100, 10, "first");
    make_process_end(first, STREAM_END_EXIT, AT(19), 10 * MS, 0, 0);
    place_add(&place, first);
    struct make *third = begin(200, 100, 6000, "third"); /* killed: it never said its end */
    make_header(third)->kernel_start = 5555;
    place_add(&place, third);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place,
        "process 2 pid 200 parent 1 previous 0 start 10000000 sampled 0 why 0 forked 0 exe=first");
    has(&place,
        "process_end 2 at 19000000 code 0 signal 0 how 1 running 0 cpu=11000000 tail=1000000");
    has(&place, "process 3 pid 200 parent 1 previous 0 start 3000000000 sampled 2 why 1 forked 0 "
                "exe=/bin/s");
    has(&place, "code 1 signal 0 how 0 running 0 cpu=12000000");
    has(&place, "process 4 pid 200 parent 1 previous 0 start 6000000000 sampled 0 why 0 forked 0 "
                "exe=third");
    has(&place,
        "process_end 4 at 6020000000 code 2 signal 0 how 0 running 0 cpu=13000000 tail=? rss=?");

    place_close(&place);
}

/* Two libraries one after the other at one place: the epoch says which one an address was in. The same file in two processes
 * at two places is one module and one frame. */
static void epochs_and_merging(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *one = begin(100, 50, 0, "a");
    make_module(one, 1, 0x7000000, 0x7100000, 0x7000000, 1, "/l/macro1.so", "\x0a", 1);
    make_module(one, 2, 0x7000000, 0x7100000, 0x7000000, 2, "/l/macro2.so", "\x0b", 1);
    make_module(one, 3, 0x7080000, 0x7090000, 0x7080000, 4, "/l/macro3.so", NULL, 0);
    const uint16_t epochs[] = {1, 2, 3, 4, 0};
    for (unsigned i = 0; i < 5; i++)
        make_sample(one, 1, AT(1 + i), make_node(one, 0, 0x7085000, epochs[i]), 1, 0);
    place_add(&place, one);
    struct make *two = begin(101, 50, 0, "b");
    make_module(two, 1, 0x9000000, 0x9100000, 0x9000000, 1, "/l/macro1.so", "\x0a", 1);
    make_sample(two, 1, AT(7), make_node(two, 0, 0x9085000, 1), 1, 0);
    place_add(&place, two);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "at 1000000 cpu 1 late 0 period 1000000 merged 0 [/l/macro1.so+85000]\n");
    has(&place, "at 2000000 cpu 1 late 0 period 1000000 merged 0 [/l/macro2.so+85000]\n");
    has(&place, "at 3000000 cpu 1 late 0 period 1000000 merged 0 [/l/macro2.so+85000]\n");
    has(&place, "at 4000000 cpu 1 late 0 period 1000000 merged 0 [/l/macro3.so+5000]\n");
    has(&place, "at 5000000 cpu 1 late 0 period 1000000 merged 0 [/l/macro1.so+85000]\n");
    has(&place, "at 7000000 cpu 1 late 0 period 1000000 merged 0 [/l/macro1.so+85000]\n");
    place_close(&place);
}

/* Nodes in a circle, without a parent, beyond the table; times that run back. */
static void broken_stacks_and_times(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *make = begin(100, 50, 0, "a");
    uint32_t a = make_node(make, 2, 0x10, 1),
             b = make_node(make, 1, 0x20, 1); /* each other's parent */
    uint32_t self = make_node(make, 3, 0x30, 1);
    uint32_t orphan = make_node(make, 300, 0x40, 1), beyond = make_node(make, 0xfffffff0u, 0x50, 1);
    make_sample(make, 1, AT(10), a, 1, 0);
    make_sample(make, 1, AT(8), b, 1, 0);
    make_sample(make, 1, AT(11), self, 1, 0);
    make_sample(make, 1, AT(12), orphan, 1, 0);
    make_sample(make, 1, AT(13), beyond, 1, 0);
    make_sample(make, 1, AT(14), 77777, 1, 0);
    struct stream_sample *slots =
        (void *)(make->bytes + make->samples[1].page + STREAM_PAGE_HEADER_BYTES);
    slots[1].ticks_lo = slots[1].ticks_hi =
        0; /* before the first: AT(8) cannot be written relative to AT(10) */
    slots[0].ticks_lo = 2000000;
    place_add(&place, make);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "sample 1 at 11000000 cpu 1 late 0 period 1000000 merged 0 [+10 +20]\nsample 1 at "
                "11000000");
    has(&place, "[+30]\n");
    has(&place, "[+40]\n");
    has(&place, "[+50]\n");
    has(&place, "sample 1 at 14000000 cpu 1 late 0 period 1000000 merged 0 []\n");
    has(&place, "clamped=1");
    place_close(&place);
}

static void damaged_files_are_told(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    place_add(&place, begin(100, 50, 0, "a"));
    struct make *cut = begin(101, 50, 0, "b");
    for (unsigned i = 0; i < 1000; i++)
        make_sample(cut, 1, AT(1) + i * 1000, 0xfffffffe, 1, 0);
    cut->size -= 5000;
    make_header(cut)->lost[STREAM_LOSS_TRUNCATED] = 0;
    place_add(&place, cut);
    char path[128];
    snprintf(path, sizeof path, "%s/zero.lam", place.dir);
    assert_int_equal(file_write_all(path, "", 0, NULL), LAM_OK);
    snprintf(path, sizeof path, "%s/notes.lam", place.dir);
    assert_int_equal(file_write_all(path, "some notes of mine", 18, NULL), LAM_OK);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "session_end streams 2 damaged 1 unreadable 2 lost 0 unidentified=? ");
    has(&place, "not a Lamella stream");
    has(&place, "exe=b");

    /* Alone it is an error, with its name. */
    assert_int_equal(place_read(&place, path), LAM_E_CORRUPT);
    assert_non_null(strstr(place.err.msg, "notes.lam"));
    snprintf(path, sizeof path, "%s/000001.lam", place.dir);
    assert_int_equal(place_read(&place, path), LAM_OK);
    has(&place, "session a -c exit -1 complete 0");
    assert_true(read_recording_probe(path));
    assert_true(read_recording_probe(place.dir));
    snprintf(path, sizeof path, "%s/notes.lam", place.dir);
    assert_false(read_recording_probe(path));
    assert_false(read_recording_probe("/nonexistent"));
    assert_int_equal(place_read(&place, "/nonexistent"), LAM_E_NOTFOUND);
    place_close(&place);
}

/* A stream that session.json lists and that was removed is told; a copy of one is not counted twice, and a stream that is not
 * listed (of a daemon that went on) is read. */
static void streams_that_are_listed(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    char from[128], to[128];
    struct make *make = begin(100, 50, 0, "a");
    make_sample(make, 1, AT(1), STREAM_STACK_UNKNOWN, 1, 0);
    place_add(&place, make);
    snprintf(from, sizeof from, "%s/000001.lam", place.dir);
    snprintf(to, sizeof to, "%s/000001 (copy).lam", place.dir); /* sorts before it */
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(file_read_all(from, 1 << 20, &bytes, &size, NULL), LAM_OK);
    assert_int_equal(file_write_all(to, bytes, size / 2, NULL), LAM_OK); /* not a whole one */
    place_add(&place, begin(101, 50, 2, "unlisted"));
    place_session(&place,
                  SESSION_HEAD "\"streams\":[\"000001.lam\",\"000007.lam\",\"000007.lam\"]}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "session_end streams 2 damaged 0 unreadable 1 lost 0 unidentified=? duplicates=1 "
                "000007.lam: session.json lists it, and it is not there\n");
    has(&place, "sample 1 at 1000000 cpu 1");
    has(&place, "exe=unlisted");
    has_not(&place, "process 3 ");

    /* Without a list a copy is known by what it holds. */
    place_session(&place, SESSION_HEAD "\"streams\":[]}");
    assert_int_equal(file_write_all(to, bytes, size, NULL), LAM_OK);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "session_end streams 2 damaged 0 unreadable 0 lost 0 unidentified=? duplicates=1");
    has_not(&place, "process 3 ");
    mem_free(bytes);
    place_close(&place);
}

struct bad_session {
    const char *json;
    int code; /* of session.json: when it is bad the streams are read all the same */
};

static const struct bad_session bad_sessions[] = {
    {"", LAM_E_TRUNCATED},
    {"{", LAM_E_TRUNCATED},
    {"[]", LAM_E_CORRUPT},
    {"{\"version\":2}", LAM_E_UNSUPPORTED},
    {"{\"reaped\":{}}", LAM_E_CORRUPT},
    {"{\"reaped\":[1]}", LAM_E_CORRUPT},
    {"{\"seen\":[{\"pid\":-1}]}", LAM_E_CORRUPT},
    {"{\"seen\":[{\"pid\":4294967296}]}", LAM_E_CORRUPT},
    {"{\"times\":[[1,2]]}", LAM_E_CORRUPT},
    {"{\"times\":[[1,2,3,4]]}", LAM_E_CORRUPT},
    {"{\"timeline\":{\"rows\":[[1]]}}", LAM_E_CORRUPT},
    {"{\"timeline\":{\"columns\":[\"a\"],\"rows\":[[1,2]]}}", LAM_E_CORRUPT},
    {"{\"timeline\":{\"columns\":[\"a\",\"b\"],\"rows\":[[1]]}}", LAM_E_CORRUPT},
    {"{\"seen\":[{\"memory\":[[1,2]]}]}", LAM_E_CORRUPT},
    {"{\"seen\":[{\"memory\":[[1,2,-3]]}]}", LAM_E_CORRUPT},
    {"{\"seen\":[{\"memory\":[[1,2,3,4]]}]}", LAM_E_CORRUPT},
    {"{\"memory_peak\":[1]}", LAM_E_CORRUPT},
    {"{\"memory_peak\":{\"holders\":[1]}}", LAM_E_CORRUPT},
    {"{\"command\":\"make\"}", LAM_E_CORRUPT},
    {"{\"command\":[1]}", LAM_E_CORRUPT},
    {"{\"exit_code\":1.5}", LAM_E_CORRUPT},
    {"{} x", LAM_E_CORRUPT},
    {"{}", LAM_OK},
    {"{\"seen\":[{\"pid\":5,\"memory\":[]},{\"pid\":6,\"memory\":[[1,2,3],[4,5,6]]}],\"memory_"
     "peak\":"
     "{\"t_ns\":4,\"holders\":[[-1,5,6],[1,5,6]]}}",
     LAM_OK},
    {"{\"unknown\":{\"deep\":[1,{}]},\"exit_code\":null,\"timeline\":{\"columns\":[\"a\"],\"rows\":"
     "[[null],[2]]}}",
     LAM_OK},
};

static void bad_sessions_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_sessions / sizeof *bad_sessions; i++) {
        struct place place;
        place_open(&place);
        place_add(&place, begin(100, 50, 0, "a"));
        place_session(&place, bad_sessions[i].json);
        int rc = place_read(&place, NULL), wanted = bad_sessions[i].code;
        /* A later version may be anything; what is damaged is left out. */
        if (rc != (wanted == LAM_E_UNSUPPORTED ? wanted : LAM_OK))
            fail_msg("%s: %d (%s)", bad_sessions[i].json, rc, place.err.msg);
        if (rc < 0) {
            assert_non_null(strstr(place.err.msg, "session.json"));
        } else {
            has(&place, "pid 100 parent 0 previous 0 start 0 sampled 0");
            assert_true((wanted < 0) == (strstr(place.text, "session.json") != NULL));
        }
        place_close(&place);

        /* With nothing beside it, it is the failure. */
        place_open(&place);
        place_session(&place, bad_sessions[i].json);
        rc = place_read(&place, NULL);
        assert_true((rc < 0) == (wanted < 0));
        if (rc < 0)
            assert_non_null(strstr(place.err.msg, "session.json"));
        place_close(&place);
    }
}

/* An empty directory is no recording; one with a session and no stream is (everything was static). */
static void recordings_without_streams(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    assert_int_equal(place_read(&place, NULL), LAM_E_NOTFOUND);
    place_session(&place, SESSION_HEAD
                  "\"reaped\":[{\"pid\":60,\"comm\":\"true\",\"status\":0,\"at_ns\":5,\"usage\":"
                  "{\"user_ns\":1000,\"sys_ns\":0}}],\"charged_cpu_ns\":1000}");
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "pid 60 parent 0 previous 0 start 5 sampled 2");
    has(&place, "session_end streams 0 damaged 0 unreadable 0 lost 0 unidentified=0");
    place_close(&place);
}

/* A recording whose launcher was killed: the streams lie where session.json says, raw. */
static void streams_in_the_scratch_place(void **state)
{
    (void)state;
    struct place place, scratch;
    place_open(&place);
    place_open(&scratch);
    place_add(&scratch, begin(100, 50, 0, "a"));
    char json[256];
    snprintf(json, sizeof json, "{\"complete\":false,\"scratch\":\"%s\"}", scratch.dir);
    place_session(&place, json);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "pid 100");
    has(&place, "running 0 cpu=? tail=?");
    place_close(&scratch);
    place_close(&place);
}

/* 100 days after boot, with the wall clock set back by an hour in the middle, and no launcher to ask: times are those of the
 * monotonic clock, to the nanosecond. */
static void long_uptime_and_a_wall_clock_set_back(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    const uint64_t days = 100 * 86400ull * 1000; /* in ms */
    struct make *make = make_open(100, 50, AT(days));
    make_config(make, STREAM_ENGINE_SIGTRAP, 1000000);
    uint64_t wall = 1700000000000 * MS;
    for (unsigned second = 0; second <= 10; second++) {
        struct stream_rec_time time = {
            .ticks = AT(days + second * 1000ull),
            .mono_ns = (1000 + days + second * 1000ull) * MS,
            .wall_ns = wall + second * 1000 * MS - (second > 5 ? 3600000 * MS : 0),
        };
        make_record(make, 1, STREAM_REC_TIME, 0, &time, sizeof time, NULL, 0);
    }
    make_sample(make, 1, AT(days + 1), STREAM_STACK_UNKNOWN, 1, 0);
    make_sample(make, 1, AT(days + 9876), STREAM_STACK_UNKNOWN, 1, 0);
    place_add(&place, make);
    assert_int_equal(place_read(&place, NULL), LAM_OK);
    has(&place, "sample 1 at 1000000 cpu 1");
    has(&place, "sample 1 at 9876000000 cpu 1");
    has_not(&place, "clamped");
    place_close(&place);
}

static int stop_at_third(void *ctx, const struct profile_sample *sample)
{
    (void)sample;
    return ++*(int *)ctx == 3 ? LAM_E_CANCELLED : LAM_OK;
}

static void a_sink_may_stop_and_may_be_empty(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *make = begin(100, 50, 0, "a");
    for (unsigned i = 0; i < 10; i++)
        make_sample(make, 1, AT(i), make_node(make, 0, 0x1000 + i, 1), 1, 0);
    place_add(&place, make);
    int count = 0;
    const struct profile_sink_ops ops = {.sample = stop_at_third};
    struct profile_sink sink = {.ctx = &count, .ops = &ops};
    assert_int_equal(read_recording(place.dir, &sink, &place.err), LAM_E_CANCELLED);
    assert_int_equal(count, 3);
    const struct profile_sink_ops none = {0};
    sink = (struct profile_sink){.ctx = NULL, .ops = &none};
    assert_int_equal(read_recording(place.dir, &sink, &place.err), LAM_OK);
    place_close(&place);
}

static void allocations_may_fail(void **state)
{
    (void)state;
    struct place place;
    place_open(&place);
    struct make *make = begin(100, 50, 0, "a");
    make_module(make, 1, 0x1000, 0x2000, 0, 1, "/bin/a", NULL, 0);
    make_sample(make, 1, AT(1), make_node(make, 0, 0x1000, 1), 1, 0);
    make_child_exit(make, 1, AT(5), 101, 0, 5);
    make_spawn(make, 1, STREAM_SPAWN_SPAWN, AT(2), 102, 0, 1, "/bin/s", "s", 2, 0);
    place_add(&place, make);
    place_session(&place, SESSION_HEAD "\"seen\":[{\"pid\":7,\"argv\":[\"x\"]}]}");
    const struct profile_sink_ops none = {0};
    struct profile_sink sink = {.ctx = NULL, .ops = &none};
    int rc = LAM_E_NOMEM;
    uint64_t after = 0;
    for (; rc < 0 && after < 10000; after++) {
        mem_fail_after(after);
        rc = read_recording(place.dir, &sink, NULL);
        uint64_t refused = mem_fail_count();
        mem_fail_after(UINT64_MAX);
        assert_true(rc == LAM_OK || rc == LAM_E_NOMEM);
        assert_true(rc < 0 || refused == 0);
    }
    assert_int_equal(rc, LAM_OK);
    assert_true(after > 10);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_times),
        cmocka_unit_test(exec_chain_and_usage),
        cmocka_unit_test(programs_without_a_stream),
        cmocka_unit_test(a_driver_that_is_killed),
        cmocka_unit_test(another_pid_namespace),
        cmocka_unit_test(the_command_alone),
        cmocka_unit_test(recycled_pid),
        cmocka_unit_test(epochs_and_merging),
        cmocka_unit_test(broken_stacks_and_times),
        cmocka_unit_test(damaged_files_are_told),
        cmocka_unit_test(streams_that_are_listed),
        cmocka_unit_test(bad_sessions_are_told),
        cmocka_unit_test(recordings_without_streams),
        cmocka_unit_test(streams_in_the_scratch_place),
        cmocka_unit_test(long_uptime_and_a_wall_clock_set_back),
        cmocka_unit_test(a_sink_may_stop_and_may_be_empty),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
