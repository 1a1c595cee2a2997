/* What of several inputs is of one build, and how such inputs read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "input/input_groups.h"
#include "input/input_kind.h"
#include "input/profdata_make_test.h"
#include "reader/event_make_test.h"

#define MS      1000000ull
#define AT(ms)  ((1000 * MS + (uint64_t)(ms)*MS) * MAKE_TICKS_PER_NS)
#define UNIX    1700000001000000000ull /* at 0 ms */
#define COMMAND "rustc x.rs"

static char dir[] = "/tmp/groups-test-XXXXXX";
static char paths[8][64];

static const char *place(unsigned i, const char *name)
{
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    return paths[i];
}

static void save(const char *path, const struct strbuf *bytes)
{
    assert_int_equal(file_write_all(path, bytes->data, bytes->length, NULL), LAM_OK);
}

/* A sampled process of 100 ms. */
static const char *make_recording(unsigned i, const char *name, uint32_t pid, const char *argv)
{
    static const char session[] =
        "{\"format\":\"lamella-session\",\"version\":1,\"complete\":true,\"command\":[\"make\"],"
        "\"start_ticks\":2000000000,\"start_mono_ns\":1000000000,\"started_at_unix_ns\":"
        "1700000001000000000,\"tick_rate_hz\":2000000000,\"times\":[[4000000000,2000000000,"
        "1700000002000000000]],\"launcher_pid\":50,\"elapsed_ns\":1000000000,\"exit_code\":0,"
        "\"rate_hz\":1000,\"charged_cpu_ns\":25000000}";
    const char *path = place(i, name);
    char file[96], words[64];
    int size = snprintf(words, sizeof words, "%s", argv) + 1;
    for (char *space = words; (space = strchr(space, ' '));)
        *space = '\0';
    assert_int_equal(mkdir(path, 0700), 0);
    struct make *make = make_open(pid, 50, AT(10));
    make_process(make, "rustc", "/w", "rustc", words, (size_t)size, 0, 0);
    make_config(make, STREAM_ENGINE_SIGTRAP, 1000000);
    make_module(make, 1, 0x400000, 0x500000, 0x3ff000, 1, "/bin/a", "\x01\x02", 2);
    make_thread(make, 1, STREAM_THREAD_MAIN, "");
    make_sample(make, 1, AT(20), make_node(make, 0, 0x401000, 1), 1000, 0);
    make_process_end(make, STREAM_END_EXIT, AT(110), 20 * MS, 0, 3);
    snprintf(file, sizeof file, "%s/1.lam", path);
    assert_true(make_save(make, file));
    make_close(make);
    snprintf(file, sizeof file, "%s/session.json", path);
    assert_int_equal(file_write_all(file, session, strlen(session), NULL), LAM_OK);
    return path;
}

/* One interval of 1 ms. */
static const char *make_events(unsigned i, const char *name, uint32_t pid, unsigned ms)
{
    const char *path = place(i, name);
    struct event_make em = event_make_open(pid, AT(ms));
    struct stream_rec_thread thread = {.ticks = AT(ms), .tid = pid, .origin = STREAM_THREAD_MAIN};
    event_make_record(&em, STREAM_REC_THREAD, 1, &thread, sizeof thread, "", 0);
    event_make_string(&em, 1, "Call");
    event_make_string(&em, 2, "work");
    event_make_kind(&em, 32, 1, 0, 0, 1, 0);
    event_make_owner(&em, 1, 1, AT(ms));
    event_make_interval(&em, 1, 32, 2, AT(ms), AT(ms + 1));
    assert_true(make_save(em.make, path));
    make_close(em.make);
    return path;
}

static const char *make_profile(unsigned i, const char *name, uint32_t pid, uint64_t start_unix_ns,
                                const char *command)
{
    const char *path = place(i, name);
    struct made made;
    char text[256];
    snprintf(
        text, sizeof text,
        "{ \"start_time\": %llu, \"process_id\": %u, \"cmd\": \"%s \", \"counter\": { \"name\": "
        "\"wall-time\", \"units\": [[\"ns\", 1]] } }",
        (unsigned long long)start_unix_ns, pid, command);
    made_begin(&made, 9);
    made_map(&made, PROFDATA_METADATA_ID, made_text(&made, text));
    uint64_t kind = made_text(&made, "Query"), label = made_text(&made, "typeck");
    made_event(&made, kind, label, 1, 0, 1000);
    save(path, made_file(&made, 4096));
    made_free(&made);
    return path;
}

/* ---- what comes out ---- */

struct heard {
    unsigned sessions, processes, modules, samples, intervals, last_recording;
    uint32_t interval_process[8];
    int64_t interval_ns[8];
    bool has_samples;
    uint64_t charged_ns, duplicates;
};

static int on_session(void *ctx, const struct profile_session *it)
{
    struct heard *heard = ctx;
    heard->sessions++;
    heard->has_samples = it->has_samples;
    heard->charged_ns = it->charged_cpu_ns;
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *it)
{
    struct heard *heard = ctx;
    assert_int_equal(it->process, ++heard->processes);
    return LAM_OK;
}

static int on_module(void *ctx, const struct profile_module *it)
{
    struct heard *heard = ctx;
    assert_int_equal(it->module, ++heard->modules);
    heard->last_recording = it->recording;
    return LAM_OK;
}

static int on_sample(void *ctx, const struct profile_sample *it)
{
    struct heard *heard = ctx;
    assert_int_equal(it->process, heard->processes);
    assert_int_equal(it->stack, heard->modules); /* each has a module, a frame and a stack */
    heard->samples++;
    return LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *it)
{
    struct heard *heard = ctx;
    heard->interval_process[heard->intervals] = it->process;
    heard->interval_ns[heard->intervals++] = it->start_ns;
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *it)
{
    ((struct heard *)ctx)->duplicates = it->duplicate_streams;
    return LAM_OK;
}

static int hear(const char *const *inputs, size_t count, struct heard *heard, struct lam_error *err)
{
    static const struct profile_sink_ops ops = {.session = on_session,
                                                .process = on_process,
                                                .module = on_module,
                                                .sample = on_sample,
                                                .interval = on_interval,
                                                .session_end = on_session_end};
    const struct profile_sink sink = {.ctx = heard, .ops = &ops};
    *heard = (struct heard){0};
    *err = (struct lam_error)LAM_ERROR_INIT;
    return input_read(inputs, count, &sink, err);
}

static void clean(void)
{
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (path_is_dir(paths[i]))
            assert_int_equal(dir_remove_all(paths[i], NULL), LAM_OK);
        else
            (void)unlink(paths[i]);
        paths[i][0] = '\0';
    }
}

static void groups_are(const char *const *inputs, size_t count, const char *expected)
{
    struct input_groups groups = {0};
    struct strbuf text = {0};
    struct lam_error err = LAM_ERROR_INIT;
    if (input_groups_find(&groups, inputs, count, &err) < 0)
        fail_msg("%s", err.msg);
    array_each(&groups.items, group)
    {
        strbuf_add(&text, group->recording ? "led" : "others");
        array_each(&group->paths, path) strbuf_addf(&text, " %s", path_name(*path));
        strbuf_add(&text, "\n");
    }
    assert_string_equal(strbuf_text(&text), expected);
    strbuf_free(&text);
    input_groups_free(&groups);
}

/* ---- tests ---- */

static void what_belongs_to_a_recording(void **state)
{
    (void)state;
    struct heard heard;
    struct lam_error err;
    const char *inputs[] = {
        make_profile(0, "before", 100, UNIX - 1000 * MS, COMMAND), /* by then it did not run */
        make_recording(1, "a.lamella", 100, COMMAND),
        make_profile(2, "own", 100, UNIX + 30 * MS, COMMAND),
        make_profile(3, "other-command", 100, UNIX + 30 * MS, "rustc y.rs"),
        make_profile(4, "other-pid", 101, UNIX + 30 * MS, COMMAND),
        make_events(5, "own.lam", 100, 40),
        make_events(6, "other.lam", 102, 50),
    };
    groups_are(inputs, 7,
               "led a.lamella own own.lam\nothers before other-command other-pid other.lam\n");
    assert_int_equal(hear(inputs + 1, 1, &heard, &err), LAM_OK);
    assert_int_equal(heard.intervals, 0);
    const char *build[] = {inputs[5], inputs[2], inputs[1], inputs[2]};
    assert_int_equal(hear(build, 4, &heard, &err), LAM_OK);
    assert_int_equal(heard.processes, 1);
    assert_int_equal(heard.samples, 1);
    assert_int_equal(heard.charged_ns, 25 * MS);
    assert_int_equal(heard.intervals, 2); /* the same profile twice is once */
    assert_int_equal(heard.duplicates, 1);
    assert_int_equal(heard.interval_ns[0] + heard.interval_ns[1], 70 * MS);
    assert_int_equal(heard.interval_process[1], 1);
    clean();
}

static void two_recordings_and_others(void **state)
{
    (void)state;
    struct heard heard;
    struct lam_error err;
    const char *inputs[] = {
        make_recording(0, "a.lamella", 100, COMMAND),
        make_profile(1, "of-b", 200, UNIX + 30 * MS, COMMAND),
        make_profile(2, "of-none", 300, UNIX - 1000 * MS, COMMAND),
        make_recording(3, "b.lamella", 200, COMMAND),
    };
    groups_are(inputs, 4, "led a.lamella\nled b.lamella of-b\nothers of-none\n");
    assert_int_equal(hear(inputs, 4, &heard, &err), LAM_OK);
    assert_int_equal(heard.sessions, 1);
    assert_true(heard.has_samples);
    assert_int_equal(heard.charged_ns,
                     PROFILE_UNKNOWN); /* the CPU time of both is an account of neither */
    assert_int_equal(heard.processes, 3);
    assert_int_equal(heard.samples, 2);
    assert_int_equal(heard.last_recording, 1);
    assert_int_equal(heard.intervals, 2);
    assert_int_equal(heard.interval_process[0], 2);    /* in its process */
    assert_int_equal(heard.interval_ns[0], 1030 * MS); /* since the earliest of all */
    assert_int_equal(heard.interval_process[1], 3);
    clean();
}

static void files_of_a_directory_go_where_they_belong(void **state)
{
    (void)state;
    const char *all = place(0, "all");
    assert_int_equal(mkdir(all, 0700), 0);
    const char *inputs[] = {all, make_recording(1, "a.lamella", 100, COMMAND)};
    make_profile(2, "all/x-1.mm_profdata", 300, UNIX + 30 * MS, COMMAND);
    groups_are(inputs, 2, "led a.lamella\nothers all\n");
    make_profile(3, "all/y-2.mm_profdata", 100, UNIX + 30 * MS, COMMAND);
    make_profile(4, "all/z.mm_profdata", 100, UNIX + 30 * MS, COMMAND);
    assert_int_equal(truncate(paths[4], 10), 0); /* it does not say who wrote it */
    groups_are(inputs, 2, "led a.lamella y-2.mm_profdata\nothers x-1.mm_profdata z.mm_profdata\n");
    paths[2][0] = paths[3][0] = paths[4][0] = '\0';
    clean();
}

static void recordings_given_twice(void **state)
{
    (void)state;
    struct input_groups groups = {0};
    const char *recording = make_recording(0, "a.lamella", 100, COMMAND),
               *events = make_events(1, "own.lam", 100, 40), *link = place(2, "link.lamella");
    assert_int_equal(symlink(recording, link), 0);
    const char *inputs[] = {recording, events, link, events};
    groups_are(inputs, 4, "led a.lamella own.lam\n");
    assert_int_equal(input_groups_find(&groups, inputs, 4, NULL), LAM_OK);
    assert_int_equal(groups.repeated.count, 2);
    assert_ptr_equal(groups.repeated.items[0], link);
    input_groups_free(&groups);
    assert_int_equal(unlink(link), 0);
    clean();
}

static void without_memory(void **state)
{
    (void)state;
    const char *inputs[] = {
        make_recording(0, "a.lamella", 100, COMMAND),
        make_profile(1, "own", 100, UNIX + 30 * MS, COMMAND),
        make_recording(2, "b.lamella", 200, COMMAND),
    };
    for (uint64_t after = 0;; after++) {
        struct heard heard;
        struct lam_error err;
        mem_fail_after(after);
        int rc = hear(inputs, 3, &heard, &err);
        uint64_t refused = mem_fail_count();
        mem_fail_after(UINT64_MAX);
        if (refused == 0) {
            assert_int_equal(rc, LAM_OK);
            break;
        }
        if (rc != LAM_E_NOMEM)
            fail_msg("allocation %llu: %d %s", (unsigned long long)after, rc, err.msg);
    }
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_belongs_to_a_recording),
        cmocka_unit_test(two_recordings_and_others),
        cmocka_unit_test(files_of_a_directory_go_where_they_belong),
        cmocka_unit_test(recordings_given_twice),
        cmocka_unit_test(without_memory),
    };
    if (!mkdtemp(dir))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return failed;
}
