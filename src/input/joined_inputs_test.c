#include "input/joined_inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

/* A made-up input: a process with a thread, two labels and an interval. */
struct made_input {
    int64_t started_at_unix_ns;
    enum profile_measure measure;
    int ends_with;
};

static struct made_input inputs[3];

static struct profile_text text(const char *bytes)
{
    return (struct profile_text){bytes, strlen(bytes)};
}

static int made_read(const struct joined_part *part, const struct profile_sink *sink,
                     struct lam_error *err)
{
    const struct made_input *in = &inputs[part->name[0] - '0'];
    const struct profile_sink_ops *ops = sink->ops;
    struct profile_session session = {
        .started_at_unix_ns = in->started_at_unix_ns, .measure = in->measure, .complete = true};
    int rc = ops->session ? ops->session(sink->ctx, &session) : LAM_OK;
    if (rc < 0)
        return rc;
    if (in->ends_with < 0)
        return lam_error_set(err, in->ends_with, "%s: broken", part->name);
    struct profile_process process = {.process = 1, .pid = 7, .start_ns = 1};
    struct profile_thread thread = {.thread = 1, .process = 1, .tid = 7};
    struct profile_label kind = {.label = 1, .text = text("Kind")};
    struct profile_label own = {.label = 2, .kind = 1, .text = text(part->name)};
    struct profile_label shared = {.label = 3, .kind = 1, .text = text("shared")};
    struct profile_path path = {.path = 1, .label = 3};
    struct profile_interval interval = {.process = 1,
                                        .thread = 1,
                                        .end_thread = 1,
                                        .label = 3,
                                        .path = 1,
                                        .start_ns = 10,
                                        .end_ns = 20,
                                        .active_ns = 10,
                                        .self_ns = 10,
                                        .weight = 1};
    struct profile_sum sum = {.process = 1, .label = 2, .instants = 5};
    struct profile_session_end end = {.streams = 1, .intervals = 1, .lost_records = 2};
    rc = ops->process(sink->ctx, &process);
    rc = rc < 0 ? rc : ops->label(sink->ctx, &kind);
    rc = rc < 0 ? rc : ops->label(sink->ctx, &own);
    rc = rc < 0 ? rc : ops->label(sink->ctx, &shared);
    rc = rc < 0 ? rc : ops->thread(sink->ctx, &thread);
    rc = rc < 0 ? rc : ops->path(sink->ctx, &path);
    rc = rc < 0 ? rc : ops->interval(sink->ctx, &interval);
    rc = rc < 0 ? rc : ops->sum(sink->ctx, &sum);
    return rc < 0 ? rc : ops->session_end(sink->ctx, &end);
}

/* What comes out, as lines. */
static char told[4096];

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
    size_t used = strlen(told);
    va_list args;
    va_start(args, fmt);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above
    vsnprintf(told + used, sizeof told - used, fmt, args);
    va_end(args);
}

static int on_session(void *ctx, const struct profile_session *it)
{
    (void)ctx;
    tell("session %lld\n", (long long)it->started_at_unix_ns);
    return LAM_OK;
}

static int on_process(void *ctx, const struct profile_process *it)
{
    (void)ctx;
    tell("process %u at %lld\n", it->process, (long long)it->start_ns);
    return LAM_OK;
}

static int on_label(void *ctx, const struct profile_label *it)
{
    (void)ctx;
    tell("label %u of %u %.*s\n", it->label, it->kind, (int)it->text.size, it->text.bytes);
    return LAM_OK;
}

static int on_path(void *ctx, const struct profile_path *it)
{
    (void)ctx;
    tell("path %u label %u\n", it->path, it->label);
    return LAM_OK;
}

static int on_interval(void *ctx, const struct profile_interval *it)
{
    (void)ctx;
    tell("interval of %u thread %u label %u path %u from %lld\n", it->process, it->thread,
         it->label, it->path, (long long)it->start_ns);
    return LAM_OK;
}

static int on_sum(void *ctx, const struct profile_sum *it)
{
    (void)ctx;
    tell("sum of %u label %u\n", it->process, it->label);
    return LAM_OK;
}

static int on_session_end(void *ctx, const struct profile_session_end *it)
{
    (void)ctx;
    tell("end of %llu, %llu, %llu\n", (unsigned long long)it->streams,
         (unsigned long long)it->intervals, (unsigned long long)it->lost_records);
    return LAM_OK;
}

static const struct joined_part parts[] = {
    {made_read, NULL, "0", 0},
    {made_read, NULL, "1", 1},
    {made_read, NULL, "2", 2},
};

static int join(size_t count, struct lam_error *err)
{
    static const struct profile_sink_ops ops = {.session = on_session,
                                                .process = on_process,
                                                .label = on_label,
                                                .path = on_path,
                                                .interval = on_interval,
                                                .sum = on_sum,
                                                .session_end = on_session_end};
    struct profile_sink sink = {.ops = &ops, .wants = {.paths = true}};
    told[0] = '\0';
    *err = (struct lam_error)LAM_ERROR_INIT;
    return joined_inputs_read(parts, count, &sink, err);
}

static void one_behind_the_other(void **state)
{
    (void)state;
    struct lam_error err;
    memset(inputs, 0, sizeof inputs);
    inputs[0].started_at_unix_ns = 1500;
    inputs[1].started_at_unix_ns = 1000;
    assert_int_equal(join(2, &err), LAM_OK);
    assert_string_equal(told, "session 1000\n"
                              "process 1 at 501\n"
                              "label 1 of 0 Kind\n"
                              "label 2 of 1 0\n"
                              "label 3 of 1 shared\n"
                              "path 1 label 3\n"
                              "interval of 1 thread 1 label 3 path 1 from 510\n"
                              "sum of 1 label 2\n"
                              "process 2 at 1\n"
                              "label 4 of 1 1\n"
                              "interval of 2 thread 2 label 3 path 1 from 10\n"
                              "sum of 2 label 4\n"
                              "end of 2, 2, 4\n");
}

static void what_is_not_joined(void **state)
{
    (void)state;
    struct lam_error err;
    memset(inputs, 0, sizeof inputs);
    inputs[1].measure = PROFILE_MEASURE_INSTRUCTIONS;
    assert_int_equal(join(3, &err), LAM_E_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "different things"));
    assert_string_equal(told, "");
    inputs[1].measure = PROFILE_MEASURE_TIME;
    inputs[1].ends_with = LAM_E_CORRUPT;
    assert_int_equal(join(3, &err), LAM_E_CORRUPT);
    assert_string_equal(err.msg, "1: broken");
}

static void without_memory(void **state)
{
    (void)state;
    struct lam_error err;
    memset(inputs, 0, sizeof inputs);
    for (uint64_t after = 0;; after++) {
        mem_fail_after(after);
        int rc = join(3, &err);
        uint64_t refused = mem_fail_count();
        mem_fail_after(UINT64_MAX);
        if (refused == 0) {
            assert_int_equal(rc, LAM_OK);
            return;
        }
        assert_int_equal(rc, LAM_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_behind_the_other),
        cmocka_unit_test(what_is_not_joined),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
