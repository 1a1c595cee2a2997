#include "cli/selftest_case.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/selftest_seen.h"
#include "session/engine_probe.h"

struct run {
    struct selftest_engine *engine;
    const struct selftest_program *program;
    struct selftest_facts facts;
    struct selftest_seen seen;
    double period_ns; /* between samples, really */
};

struct selftest_program {
    const char *name;
    int (*compare)(struct run *run);
    uint64_t slice_us;  /* at least; and six periods where the engine is slow */
    uint64_t amount_ms; /* for fast engines; slow ones get more */
    uint32_t rate_hz;
    uint32_t slow_factor;
};

/* ---- rows ---- */

static struct selftest_row *row_add(struct run *run, enum selftest_unit unit, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static struct selftest_row *row_add(struct run *run, enum selftest_unit unit, const char *fmt, ...)
{
    static struct selftest_row spare; /* written to and forgotten when memory is short; the caller sees rows.failed */
    struct selftest_row *row = array_add(&run->engine->rows);
    if (!row)
        row = &spare;
    va_list args;
    va_start(args, fmt);
    vsnprintf(row->what, sizeof row->what, fmt, args);
    va_end(args);
    row->program = run->program->name;
    row->unit = unit;
    return row;
}

/* Judges a row: the difference of what was seen from what is known must lie between low and high. */
static int row_judge(struct run *run, struct selftest_row *row, double known, double seen,
                     double low, double high)
{
    double difference = seen - known;
    row->known = known;
    row->seen = seen;
    row->low = low;
    row->high = high;
    row->is_good = isnan(low) || (difference >= low && difference <= high);
    run->engine->failures += !row->is_good;
    return run->engine->rows.count ? LAM_OK : LAM_E_NOMEM;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* How far a share may be off by chance. Work comes in slices: a sample can be wrong only at their edges, each of which
 * counts one twelfth of a squared period. Four standard deviations, and never less than a point. */
static double share_bound(const struct run *run, double slice_ns, double total_ns)
{
    if (isnan(slice_ns))
        return slice_ns;
    double edges =
        slice_ns > run->period_ns ? total_ns / slice_ns * 2 / 12 : total_ns / run->period_ns / 4;
    double points = 4 * sqrt(edges) * run->period_ns / total_ns;
    return fmax(0.01, points);
}

/* Compares the shares of all functions that the program named; a NaN as the slice: without a judgement. */
static int compare_functions(struct run *run, double slice_ns)
{
    uint64_t known = selftest_facts_sum(&run->facts, "function", NULL, NULL), seen = 0;
    array_each(&run->seen.functions, function) seen += function->amount.cpu_ns;
    double bound = share_bound(run, slice_ns, (double)known);
    array_each(&run->facts, fact)
    {
        bool is_first = strcmp(fact->kind, "function") == 0;
        for (const struct selftest_fact *before = run->facts.items; is_first && before < fact;
             before++)
            is_first = strcmp(before->kind, "function") != 0 || strcmp(before->name, fact->name) != 0;
        if (!is_first)
            continue;
        struct selftest_row *row = row_add(run, SELFTEST_SHARE, "%s", fact->name);
        uint64_t truth = selftest_facts_sum(&run->facts, "function", fact->name, NULL);
        struct selftest_function got = selftest_seen_function(&run->seen, fact->name);
        int rc =
            row_judge(run, row, share(truth, known), share(got.amount.cpu_ns, seen), -bound, bound);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static double slice_ns_of(const struct run *run)
{
    return fmax((double)run->program->slice_us * 1000, 6 * run->period_ns);
}

/* What was seen of the kernel's charge, and that nothing else is missing. */
static int compare_coverage(struct run *run, double covered, double accounted)
{
    const struct selftest_seen *seen = &run->seen;
    struct selftest_row *row = row_add(run, SELFTEST_SHARE, "covered");
    double none = (double)NAN;
    if (!run->engine->kernel_mode)
        covered = none; /* the kernel's part is late weight: interrupts come at what runs after it */
    int rc = row_judge(run, row, 1, share(seen->total.cpu_ns, seen->charged_ns),
                       isnan(covered) ? none : covered - 1, 0.01);
    if (rc < 0)
        return rc;
    uint64_t all = seen->total.cpu_ns + seen->late_ns + seen->startup_ns + seen->tail_ns;
    row = row_add(run, SELFTEST_SHARE, "with late, startup and tail");
    return row_judge(run, row, 1, share(all, seen->charged_ns), accounted - 1, 0.01);
}

static int compare_count(struct run *run, const char *what, uint64_t known, uint64_t seen)
{
    return row_judge(run, row_add(run, SELFTEST_COUNT, "%s", what), (double)known, (double)seen, 0,
                     0);
}

/* ---- programs ---- */

static int compare_shares(struct run *run)
{
    int rc = compare_functions(run, slice_ns_of(run));
    return rc < 0 ? rc : compare_coverage(run, 0.96, 0.98);
}

static int compare_threads(struct run *run)
{
    uint64_t known = selftest_facts_sum(&run->facts, "thread", NULL, NULL), seen = 0;
    array_each(&run->facts, fact) if (strcmp(fact->kind, "thread") == 0) seen +=
        selftest_seen_thread(&run->seen, (uint32_t)strtoul(fact->name, NULL, 10)).cpu_ns;
    /* Weights are exact; what is missing is what each thread used after its last sample. */
    double bound = fmax(0.01, 4 * run->period_ns / (double)(known ? known : 1));
    unsigned number = 0;
    array_each(&run->facts, fact)
    {
        if (strcmp(fact->kind, "thread") != 0)
            continue;
        struct selftest_amount got =
            selftest_seen_thread(&run->seen, (uint32_t)strtoul(fact->name, NULL, 10));
        struct selftest_row *row = row_add(run, SELFTEST_SHARE, "thread %u", ++number);
        int rc =
            row_judge(run, row, share(fact->value, known), share(got.cpu_ns, seen), -bound, bound);
        if (rc < 0)
            return rc;
    }
    int rc = compare_count(run, "threads", 5, run->seen.threads.count);
    return rc < 0 ? rc : compare_coverage(run, 0.96, 0.98);
}

/* Without kernel mode a call is seen at its return alone, and only when it was long. */
static int compare_system_calls(struct run *run)
{
    int rc = compare_functions(run, slice_ns_of(run));
    if (rc < 0 || run->engine->kernel_mode)
        return rc;
    array_each(&run->engine->rows, row)
    {
        if (strcmp(row->program, run->program->name) != 0 || row->unit != SELFTEST_SHARE)
            continue;
        bool was_good = row->is_good;
        row->low = -0.05;
        row->high = 0.05;
        row->is_good = fabs(row->seen - row->known) <= 0.05;
        run->engine->failures = run->engine->failures - !was_good + !row->is_good;
    }
    return LAM_OK;
}

/* Processes that the program counted, and itself. */
static int compare_processes(struct run *run, double slice_ns)
{
    size_t count;
    selftest_facts_sum(&run->facts, "process", NULL, &count);
    /* A process that is over after a sample or two shows little of what it did. */
    double none = (double)NAN;
    bool is_long = slice_ns > 4 * run->period_ns;
    int rc = compare_functions(run, is_long ? slice_ns : none);
    if (rc == LAM_OK)
        rc = compare_count(run, "processes", count + 1, run->seen.processes);
    if (rc == LAM_OK)
        rc = compare_count(run, "processes not sampled", 0, run->seen.unsampled);
    return rc == LAM_OK ? compare_coverage(run, none, is_long ? 0.97 : none) : rc;
}

static int compare_short(struct run *run)
{
    return compare_processes(run, 5e6);
}

static int compare_forks(struct run *run)
{
    return compare_processes(run, 3e6);
}

static int compare_recursion(struct run *run)
{
    int rc = compare_functions(run, slice_ns_of(run));
    static const char *const whole[] = {"st_depth_50", "st_depth_500"};
    for (size_t i = 0; rc == LAM_OK && i < 2; i++) {
        char what[48];
        snprintf(what, sizeof what, "%s cut short", whole[i]);
        rc = compare_count(run, what, 0, selftest_seen_function(&run->seen, whole[i]).truncated);
    }
    return rc;
}

static int compare_thief(struct run *run)
{
    int rc = compare_functions(run, slice_ns_of(run));
    if (rc == LAM_OK)
        rc = compare_count(run, "signals not its own", 0,
                           selftest_facts_sum(&run->facts, "wrong", NULL, NULL));
    return rc == LAM_OK ? compare_coverage(run, (double)NAN, 0.97) : rc;
}

/* Both sides read clocks around the call; a thread that loses its core in between makes the difference. */
static int compare_waits(struct run *run)
{
    array_each(&run->facts, fact)
    {
        if (strcmp(fact->kind, "wait") != 0)
            continue;
        uint64_t seen_ns = 0;
        for (unsigned i = 1; i < SELFTEST_WAIT_KINDS; i++)
            if (run->seen.waits[i].kind && strcmp(run->seen.waits[i].kind, fact->name) == 0)
                seen_ns = run->seen.waits[i].ns;
        struct selftest_row *row = row_add(run, SELFTEST_SECONDS, "waiting for %s", fact->name);
        double known = (double)fact->value / 1e9;
        int rc = row_judge(run, row, known, (double)seen_ns / 1e9, -0.05 * known - 0.005, 0.005);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

struct cost_parts {
    double sample, depth, frame;
};

static struct cost_parts cost_of(const struct run *run)
{
    const struct selftest_seen *seen = &run->seen;
    struct cost_parts cost = {(double)NAN, (double)NAN, (double)NAN};
    if (seen->interrupts && seen->total.samples) {
        cost.sample = (double)seen->handler_ns / 1e9 / (double)seen->interrupts;
        cost.depth = (double)seen->frames / (double)seen->total.samples;
        cost.frame = cost.sample / fmax(cost.depth, 1);
    }
    return cost;
}

static int measure_warm(struct run *run)
{
    struct cost_parts cost = cost_of(run);
    struct selftest_cost *into = &run->engine->cost;
    into->warm = cost.sample;
    into->warm_depth = cost.depth;
    into->warm_frame = cost.frame;
    return compare_coverage(run, 0.96, 0.98);
}

static int measure_cold(struct run *run)
{
    struct cost_parts cost = cost_of(run);
    struct selftest_cost *into = &run->engine->cost;
    into->cold = cost.sample;
    into->cold_depth = cost.depth;
    into->cold_frame = cost.frame;
    return LAM_OK;
}

static const struct selftest_program programs[] = {
    {"shares", compare_shares, 1200, 1000, 4999, 4},
    {"threads", compare_threads, 1000, 1000, 1999, 2},
    {"system-calls", compare_system_calls, 3000, 1200, 1999, 4},
    {"short-processes", compare_short, 1000, 400, 1999, 2},
    {"forks", compare_forks, 1000, 400, 1999, 2},
    {"recursion", compare_recursion, 6000, 900, 999, 4},
    {"thief", compare_thief, 3000, 600, 1999, 4},
    {"waits", compare_waits, 1000, 600, 999, 1},
    {"warm", measure_warm, 1000, 600, 4999, 2},
    {"cold", measure_cold, 1000, 800, 999, 2},
};

/* ---- recording ---- */

static int run_child(const char *lamella, char *const *argv, const char *output, struct lam_error *err)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t pid;
    int status = 0, errnum = posix_spawn(&pid, lamella, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errnum)
        return lam_error_errno(err, errnum, "%s", lamella);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return lam_error_errno(err, errno, "waiting for a recording");
    if (status == 0)
        return LAM_OK;
    char *text = NULL;
    size_t size = 0;
    if (file_read_all(output, 4096, &text, &size, NULL) < 0)
        text = NULL;
    int rc = lam_error_set(err, LAM_E_IO, "the recorded program failed (status 0x%x): %.*s",
                           (unsigned)status, (int)(text ? strcspn(text, "\n") : 0), text ? text : "");
    mem_free(text);
    return rc;
}

/* Records the run's program and reads both accounts of it. */
static int record_program(const struct selftest_place *place, struct run *run, struct lam_error *err)
{
    const struct selftest_program *program = run->program;
    uint64_t amount_ms = program->amount_ms * (run->period_ns > 2e6 ? program->slow_factor : 1);
    char rate[16], slice[24], amount[24];
    snprintf(rate, sizeof rate, "%u", program->rate_hz);
    snprintf(slice, sizeof slice, "%llu", (unsigned long long)(slice_ns_of(run) / 1000));
    snprintf(amount, sizeof amount, "%llu", (unsigned long long)amount_ms);
    char *recording = path_join(place->dir, "recording.lamella"),
         *facts = path_join(place->dir, "facts"), *output = path_join(place->dir, "output");
    int rc = recording && facts && output ? LAM_OK : lam_error_set(err, LAM_E_NOMEM, "out of memory");
    if (rc == LAM_OK) {
        const char *words[20] = {place->lamella, "record",   "--quiet",
                                 "--output",     recording,  "--rate",
                                 rate,           "--engine", engine_name(run->engine->engine)};
        size_t at = 9;
        if (!run->engine->kernel_mode)
            words[at++] = "--no-kernel";
        const char *rest[] = {"--", place->helper, program->name, facts, slice, amount, NULL};
        memcpy(words + at, rest, sizeof rest);
        rc = run_child(place->lamella, (char *const *)(uintptr_t)words, output, err);
    }
    if (rc == LAM_OK)
        rc = selftest_facts_load(&run->facts, facts, err);
    if (rc == LAM_OK)
        rc = selftest_seen_load(&run->seen, recording, err);
    if (recording)
        dir_remove_all(recording, NULL);
    if (facts)
        unlink(facts);
    if (output)
        unlink(output);
    mem_free(recording);
    mem_free(facts);
    mem_free(output);
    return rc;
}

static int run_program(const struct selftest_place *place, struct selftest_engine *engine,
                       const struct selftest_program *program, struct lam_error *err)
{
    struct run run = {.engine = engine, .program = program};
    run.period_ns = fmax(1e9 / program->rate_hz, (double)engine->interval_ns);
    int rc = record_program(place, &run, err);
    if (rc == LAM_OK) {
        engine->samples += run.seen.total.samples;
        rc = program->compare(&run);
        if (rc == LAM_OK && run.seen.lost)
            rc = compare_count(&run, "lost records", 0, run.seen.lost);
        if (rc < 0)
            lam_error_set(err, rc, "out of memory");
    }
    array_free(&run.facts);
    selftest_seen_free(&run.seen);
    return rc;
}

int selftest_run_engine(const struct selftest_place *place, struct selftest_engine *engine,
                        struct lam_error *err)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (place->progress)
            place->progress(engine_name(engine->engine), programs[i].name);
        struct lam_error cause = LAM_ERROR_INIT;
        int rc = run_program(place, engine, &programs[i], &cause);
        if (rc < 0)
            return lam_error_set(err, rc, "%s, %s: %s", engine_name(engine->engine),
                                 programs[i].name, cause.msg);
    }
    return LAM_OK;
}
