/* lamella export: what other tools can open. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "base/out_file.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/launcher_talk.h"
#include "cli/recording_ready.h"
#include "cli/recording_symbols.h"
#include "input/input_groups.h"
#include "output/collapse_threads.h"
#include "output/exporter.h"
#include "output/merge_small.h"
#include "output/stack_totals.h"

enum { PASSES_MAX = 96 };

static const double ROOM_LEFT =
    0.9; /* of the room: a guess that is a little too small costs less than another reading */

struct export_settings {
    int format;
    const struct export_format *to;
    const char *output;
    bool replaces, redacts, collapses, is_inverted;
    int of;
    uint64_t max_bytes;
    double minimum_s;
    const char *against;
    const char *title;
    const char *const *inputs;
    size_t count;
    /* of this run */
    struct export_options options;
    struct input_groups groups;
    struct symbols *symbols;
    struct classifier *cls;
    struct collapse_threads threads;
    struct stack_totals *other;
    struct symbols *other_symbols;
};

static void say_note(void *ctx, const char *text)
{
    (void)ctx;
    launcher_say("%s", text);
}

/* ---- inputs ---- */

/* Which builds they are, and the names of their frames. */
static int open_inputs(const char *const *paths, size_t count, struct input_groups *groups,
                       struct symbols **symbols, struct lam_error *err)
{
    int rc = recording_groups_find(groups, paths, count, err);
    return rc == LAM_OK ? recording_symbols_open(groups, symbols, err) : rc;
}

static int read_other(struct export_settings *set, struct lam_error *err)
{
    struct input_groups groups = {0};
    int rc = open_inputs(&set->against, 1, &groups, &set->other_symbols, err);
    struct export_options options = set->options;
    options.symbols = set->other_symbols;
    if (rc == LAM_OK)
        rc = stack_totals_open(&set->other, &options, err);
    if (rc == LAM_OK) {
        struct profile_sink sink = stack_totals_sink(set->other);
        rc = input_groups_read(&groups, &sink, err);
        set->options.against = set->other;
    }
    input_groups_free(&groups);
    return rc;
}

static int prepare(struct export_settings *set, struct lam_error *err)
{
    int rc = open_inputs(set->inputs, set->count, &set->groups, &set->symbols, err);
    set->options.symbols = set->symbols;
    bool has_recording = set->groups.items.count && set->groups.items.items[0].recording;
    if (rc == LAM_OK && has_recording && strcmp(set->to->name, "firefox") == 0)
        rc = classifier_open(&set->cls, NULL, err);
    set->options.cls = set->cls;
    if (rc == LAM_OK && set->against)
        rc = read_other(set, err);
    if (rc == LAM_OK && set->collapses) {
        struct profile_sink sink = collapse_threads_sink(&set->threads);
        rc = input_groups_read(&set->groups, &sink, err);
        if (rc == LAM_OK && collapse_threads_finish(&set->threads) < 0)
            rc = lam_error_set(err, LAM_E_NOMEM, "export: out of memory");
        set->options.thread_rows = set->threads.rows.items;
        set->options.thread_row_count = set->threads.rows.count;
    }
    return rc;
}

/* ---- one pass over the input ---- */

struct export_pass {
    uint64_t min_ns;               /* merge what is shorter; 0: nothing */
    bool merges_all;               /* instants and samples too */
    bool is_measured;              /* durations are counted */
    const struct byteout *limited; /* NULL, or where no more than --max-size matters */
    struct duration_counts durations;
    struct merge_counts merged;
    struct merge_progress progress;
    bool has_modules; /* came with the input */
};

static int read_into(struct export_settings *set, struct export_pass *pass, void *state,
                     struct lam_error *err)
{
    struct profile_sink sink = set->to->sink(state);
    struct merge_small *merge = NULL;
    int rc = LAM_OK;
    if (pass->min_ns || pass->is_measured) {
        rc = merge_small_open(&merge, &sink, pass->min_ns, pass->merges_all, err);
        if (rc == LAM_OK && pass->is_measured)
            merge_small_count(merge, &pass->durations);
        if (rc == LAM_OK && pass->limited)
            merge_small_limit(merge, pass->limited, set->max_bytes);
        if (rc == LAM_OK)
            sink = merge_small_sink(merge);
    }
    if (rc == LAM_OK)
        rc = input_groups_read(&set->groups, &sink, err);
    if (merge) {
        pass->merged = merge_small_counts(merge);
        pass->progress = merge_small_progress(merge);
    }
    merge_small_close(&merge);
    return rc;
}

static int run_pass(struct export_settings *set, struct export_pass *pass, struct out_file *file,
                    bool is_final, struct lam_error *err)
{
    struct export_options options = set->options;
    void *state = NULL;
    options.note = is_final ? say_note : NULL;
    options.scratch_dir = out_file_dir(file);
    options.saw_modules = &pass->has_modules;
    int rc = set->to->open(&state, &options, out_file_bytes(file), err);
    if (rc == LAM_OK)
        rc = read_into(set, pass, state, err);
    if (rc == LAM_OK)
        rc = set->to->finish(state, err);
    set->to->close(&state);
    return rc;
}

/* How many bytes a pass would write; more than --max-size are an estimate. */
static int measure_pass(struct export_settings *set, struct export_pass *pass, uint64_t *bytes,
                        struct lam_error *err)
{
    struct out_file *file;
    struct lam_error own = LAM_ERROR_INIT;
    int rc = out_file_open_nowhere(&file, err);
    if (rc < 0)
        return rc;
    pass->limited = out_file_bytes(file);
    rc = run_pass(set, pass, file, false, &own);
    pass->limited = NULL;
    *bytes = byteout_offset(out_file_bytes(file));
    out_file_close(&file);
    uint64_t before_full = pass->progress.before_full;
    if (before_full) {
        double whole = (double)pass->durations.events / (double)before_full;
        *bytes = (uint64_t)((double)set->max_bytes * (whole > 1 ? whole : 1)) + 1;
        return rc == LAM_E_TOOBIG ? LAM_OK : rc;
    }
    if (rc < 0)
        *err = own;
    return rc;
}

/* Finds the shortest duration from which on everything fits into --max-size, by trying. */
static int find_duration(struct export_settings *set, struct export_pass *pass, struct lam_error *err)
{
    uint64_t bytes = 0;
    pass->is_measured = true;
    int rc = measure_pass(set, pass, &bytes, err);
    pass->is_measured = false;
    if (rc < 0 || bytes <= set->max_bytes)
        return rc;
    double fitting = (double)pass->durations.events / 2;
    pass->merges_all = true;
    for (unsigned i = 0; i < PASSES_MAX; i++) {
        /* As many as there is room for, as far as one is like another; and a step on, whatever was guessed. */
        fitting *= (double)set->max_bytes / (double)bytes * ROOM_LEFT;
        uint64_t bound = duration_counts_bound(&pass->durations, (uint64_t)fitting);
        uint64_t least = pass->min_ns + pass->min_ns / 8 + 1;
        pass->min_ns = bound > least ? bound : least;
        rc = measure_pass(set, pass, &bytes, err);
        if (rc < 0 || bytes <= set->max_bytes)
            return rc;
    }
    return lam_error_set(err, LAM_E_TOOBIG,
                         "--max-size: even with all events merged the output takes %llu bytes",
                         (unsigned long long)bytes);
}

static void say_merged(const struct export_pass *pass)
{
    const struct merge_counts *merged = &pass->merged;
    if (!merged->intervals && !merged->instants && !merged->samples)
        return;
    struct strbuf text = {0};
    const struct {
        uint64_t count;
        const char *what;
    } parts[] = {
        {merged->intervals, "interval"}, {merged->instants, "instant"}, {merged->samples, "sample"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].count)
            continue;
        strbuf_addf(&text, "%s%s %s%s", text.length ? ", " : "", unit_count(parts[i].count).text,
                    parts[i].what, unit_plural(parts[i].count));
        if (i == 0)
            strbuf_addf(&text, " shorter than %s", unit_seconds((double)pass->min_ns / 1e9).text);
    }
    launcher_say("%s are merged into %s that %s so", strbuf_text(&text),
                 unit_count(merged->into).text, unit_either(merged->into, "says", "say"));
    strbuf_free(&text);
}

static void say_what_it_holds(const struct export_settings *set, const struct export_pass *pass)
{
    const char *name = strcmp(set->output, "-") == 0 ? "the output" : set->output;
    struct strbuf holds = {0};
    bool is_redacted = export_holds(set->to, set->redacts, pass->has_modules, &holds);
    const char *more = set->redacts  ? "; arguments, paths, command lines and the host are left out"
                       : is_redacted ? "; --redact leaves out arguments, paths and command lines"
                                     : "";
    launcher_say("%s holds %s%s", name, strbuf_text(&holds), more);
    strbuf_free(&holds);
}

static int write_output(struct export_settings *set, struct lam_error *err)
{
    struct export_pass pass = {.min_ns = (uint64_t)(set->minimum_s * 1e9 + 0.5)};
    struct out_file *file = NULL;
    enum packing packing = packing_of(set->output);
    bool is_pipe_closed = false;
    if (set->to->is_gzipped && packing == PACKING_NONE)
        packing = PACKING_GZIP;
    /* Before anything is read: a long read must not end in "exists". */
    int rc = out_file_spares(set->output, set->inputs, set->count, err);
    if (rc == LAM_OK && set->against)
        rc = out_file_spares(set->output, &set->against, 1, err);
    if (rc == LAM_OK)
        rc = out_file_open(&file, set->output, packing, set->replaces, err);
    if (rc == LAM_OK)
        rc = prepare(set, err);
    if (rc == LAM_OK && set->max_bytes && !set->to->adds_up)
        rc = find_duration(set, &pass, err);
    if (rc == LAM_OK)
        rc = run_pass(set, &pass, file, true, err);
    bool is_read = rc == LAM_OK;
    if (file && (rc == LAM_OK || byteout_failed(out_file_bytes(file))))
        rc = out_file_commit(file, &is_pipe_closed, err);
    out_file_close(&file);
    if (is_pipe_closed)
        return LAM_OK; /* `lamella export … | head` has seen enough */
    if (rc == LAM_OK && is_read) {
        say_merged(&pass);
        if (set->threads.shared)
            launcher_say("%u thread%s %s in the rows of earlier ones", set->threads.shared,
                         unit_plural(set->threads.shared),
                         unit_either(set->threads.shared, "is", "are"));
        say_what_it_holds(set, &pass);
    }
    return rc;
}

static void forget(struct export_settings *set)
{
    input_groups_free(&set->groups);
    stack_totals_close(&set->other);
    symbols_close(&set->other_symbols);
    symbols_close(&set->symbols);
    classifier_close(&set->cls);
    collapse_threads_free(&set->threads);
}

/* ---- the command line ---- */

static int check(struct export_settings *set, struct lam_error *err)
{
    bool is_flamegraph;
    if (set->format < 0)
        return lam_error_set(
            err,
            LAM_E_USAGE, "--to is missing: chrome, perfetto, firefox, speedscope, pprof, folded, flamegraph or mm_profdata");
    set->to = &export_formats[set->format];
    is_flamegraph = strcmp(set->to->name, "flamegraph") == 0;
    if (!is_flamegraph && (set->against || set->is_inverted))
        return lam_error_set(err, LAM_E_USAGE, "%s goes with --to flamegraph alone",
                             set->against ? "--against" : "--inverted");
    if (set->collapses && !set->to->has_threads_to_collapse)
        return lam_error_set(err, LAM_E_USAGE, "--collapse-threads goes with --to chrome alone");
    if (set->to->adds_up && set->minimum_s > 0)
        return lam_error_set(
            err, LAM_E_USAGE,
            "--minimum-duration does not go with --to %s, which adds up all events", set->to->name);
    if (!set->to->adds_up && set->of)
        return lam_error_set(err, LAM_E_USAGE, "--of does not go with --to %s, which shows both",
                             set->to->name);
    if (set->of == EXPORT_VALUES_MIXED && strcmp(set->to->name, "pprof") == 0)
        return lam_error_set(err, LAM_E_USAGE, "--of mixed goes with --to folded and flamegraph");
    if (set->minimum_s < 0 || set->minimum_s > 1e9)
        return lam_error_set(err, LAM_E_USAGE, "--minimum-duration is out of range");
    if (set->to->is_binary && strcmp(set->output, "-") == 0 && isatty(STDOUT_FILENO))
        return lam_error_set(err, LAM_E_USAGE, "%s is no text for a terminal; say -o FILE%s",
                             set->to->name, set->to->suffix);
    return LAM_OK;
}

static int run_export(struct export_settings *set, struct lam_error *err)
{
    struct strbuf title = {0};
    strbuf_add(&title, set->title ? set->title : path_name(set->inputs[0]));
    if (!set->title && !title.length)
        strbuf_add(&title, set->inputs[0]);
    if (!set->title && set->count > 1)
        strbuf_addf(&title, " and %zu more", set->count - 1);
    set->options = (struct export_options){
        .redacts = set->redacts,
        .values = (enum export_values)set->of,
        .title = set->title || !set->redacts ? strbuf_text(&title) : set->to->name,
        .max_bytes = set->max_bytes,
        .is_inverted = set->is_inverted,
        .scratch_dir = "",
    };
    int rc = write_output(set, err);
    strbuf_free(&title);
    forget(set);
    return rc;
}

int cmd_export(int argc, char **argv)
{
    static const char *const formats[] = {"chrome",     "perfetto",    "firefox",
                                          "speedscope", "pprof",       "folded",
                                          "flamegraph", "mm_profdata", NULL};
    static const char *const values[] = {"auto", "intervals", "samples", "mixed", NULL};
    struct export_settings set = {.format = -1, .output = "-"};
    const struct option_row rows[] = {
        {"to", 't', "FORMAT", "what is written", OPTION_CHOICE, &set.format, formats, NULL},
        {"output", 'o', "FILE",
         "where it goes, compressed if it ends in .gz or .zst; - is standard output [-]",
         OPTION_TEXT, &set.output, NULL, NULL},
        {"force", 'f', NULL, "replace a file that is there", OPTION_FLAG, &set.replaces, NULL, NULL},
        {"redact", 'r', NULL, "leave out arguments, paths, command lines and the host", OPTION_FLAG,
         &set.redacts, NULL, NULL},
        {"max-size", 0,
         "BYTES", "keep to this size, before compression, by merging the finest detail; what is merged is counted",
         OPTION_BYTES, &set.max_bytes, NULL, NULL},
        {"minimum-duration", 0, "TIME", "merge shorter intervals that follow each other (timelines)",
         OPTION_SECONDS, &set.minimum_s, NULL, NULL},
        {"collapse-threads", 0, NULL,
         "threads that were never there at the same time share a row (chrome)", OPTION_FLAG,
         &set.collapses, NULL, NULL},
        {"of", 0, "VALUES",
         "what stacks are made of where there are both (pprof, folded, flamegraph); mixed: samples "
         "below the intervals they were in [auto]",
         OPTION_CHOICE, &set.of, values, NULL},
        {"inverted", 0, NULL, "innermost functions first (flamegraph)", OPTION_FLAG,
         &set.is_inverted, NULL, NULL},
        {"against", 0, "INPUT", "colour what grew and what shrank since INPUT (flamegraph)",
         OPTION_TEXT, &set.against, NULL, NULL},
        {"title", 0, "TEXT", "what the picture or profile is called [the input's name]",
         OPTION_TEXT, &set.title, NULL, NULL},
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella export",
        .operands = "INPUT...",
        .about =
            "Writes a recording or self-profiles in the format of another tool: Chrome's "
            "trace viewer, Perfetto, the "
            "Firefox Profiler, speedscope, pprof, folded stacks, or a flame graph (one SVG). - is "
            "standard input, a self-profile.",
        .example = "lamella export --to chrome -o trace.json.gz crate.mm_profdata\n"
                   "lamella export --to flamegraph -o flame.svg build.lamella",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct option_operands operands = {0};
    struct lam_error err = LAM_ERROR_INIT;
    int code = EXIT_DONE;
    int rc = options_parse(&spec, argc, argv, &operands, &err);
    if (rc == LAM_OK)
        rc = check(&set, &err);
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &err, EXIT_USAGE);
        option_operands_free(&operands);
        return code;
    }
    set.inputs = operands.items;
    set.count = operands.count;
    if (run_export(&set, &err) < 0) {
        launcher_say("%s", err.msg);
        code = EXIT_FAILED;
    }
    option_operands_free(&operands);
    return code;
}
