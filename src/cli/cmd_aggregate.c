/* lamella aggregate: many runs of the same work, and how much they vary. */
#include <stdio.h>
#include <string.h>

#include "base/file_input.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/launcher_talk.h"
#include "cli/read_runs.h"
#include "output/write_aggregate.h"

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_MARKDOWN };
enum { SORT_AMOUNT, SORT_SPREAD };
enum { TOP_DEFAULT = 20 };

struct aggregate_settings {
    struct option_list exclude, markers;
    int format, metric, sort;
    uint64_t top;
    bool has_sequence;
};

struct aggregate_work {
    const struct aggregate_settings *set;
    struct classifier *cls;
    struct run_matrix matrix;
    struct sequences sequences;
    bool has_order; /* every run so far has events */
    LAM_ARRAY(struct aggregate_skipped) skipped;
    size_t repeated; /* of the skipped, runs that are there already */
    size_t refused;  /* of the others, those that were named on the command line */
    struct file_set files;
};

static int skip(struct aggregate_work *work, const char *input, const char *why)
{
    struct aggregate_skipped skipped = {mem_strdup(input), mem_strdup(why)};
    if (!skipped.input || !skipped.why || array_push(&work->skipped, skipped) < 0) {
        mem_free(skipped.input);
        mem_free(skipped.why);
        return LAM_E_NOMEM;
    }
    launcher_say("skipped: %s", why);
    return LAM_OK;
}

/* The events once more, in their order. What the first reading bore the second one does, unless the file changed. */
static int read_order(struct aggregate_work *work, const char *input)
{
    enum input_kind kind;
    if (!work->set->has_sequence || !work->has_order)
        return LAM_OK;
    if (!array_last(&work->matrix.runs).has_events || input_kind_of(input, &kind, NULL) < 0 ||
        kind == INPUT_REPORT_JSON) {
        work->has_order = false;
        return LAM_OK;
    }
    struct profile_sink sink;
    int rc = sequences_begin(&work->sequences, &sink);
    if (rc == LAM_OK)
        rc = input_read(&input, 1, &sink, NULL);
    if (rc == LAM_E_NOMEM)
        return rc;
    work->has_order = rc == LAM_OK;
    return LAM_OK;
}

/* One run; what is no run, or a damaged one, is skipped. */
static int add_new_run(struct aggregate_work *work, const char *input, struct lam_error *err)
{
    struct run_damage damage;
    int rc = read_run(&work->matrix, input, 0, work->cls, &damage, err);
    if (rc == LAM_E_NOMEM)
        return rc;
    if (rc < 0)
        rc = skip(work, input, err->msg);
    else if (damage.damaged > 0 && damage.files <= 1) {
        struct strbuf why = {0};
        run_damage_text(&damage, input, "damaged", &why);
        run_matrix_drop(&work->matrix);
        rc = skip(work, input, strbuf_text(&why));
        strbuf_free(&why);
    } else {
        if (damage.damaged > 0)
            run_damage_warn(&damage, input);
        rc = read_order(work, input);
    }
    *err = (struct lam_error)LAM_ERROR_INIT;
    return rc < 0 ? lam_error_set(err, rc, "%s: %s", input, lam_code_text(rc)) : LAM_OK;
}

/* A run that is there twice would make the others look alike. */
static int add_run(struct aggregate_work *work, const char *input, struct lam_error *err)
{
    bool is_new;
    int rc = file_set_add(&work->files, input, &is_new);
    if (rc == LAM_OK && is_new)
        return add_new_run(work, input, err);
    struct strbuf why = {0};
    strbuf_addf(&why, "%s: is there already, under another name or given twice", input);
    if (rc == LAM_OK)
        rc = skip(work, input, strbuf_text(&why));
    strbuf_free(&why);
    work->repeated++;
    return rc < 0 ? lam_error_set(err, rc, "%s: %s", input, lam_code_text(rc)) : LAM_OK;
}

/* A directory that is no recording holds runs: each file is one, and each directory in it. */
static bool is_folder(const char *input)
{
    enum input_kind kind;
    if (!path_is_dir(input))
        return false;
    return input_kind_of(input, &kind, NULL) < 0 || kind == INPUT_PROFDATA_DIR;
}

static int add_folder(struct aggregate_work *work, const char *input, struct lam_error *err)
{
    struct dir_entries entries = {0};
    int rc = dir_list(input, &entries, err);
    for (size_t i = 0; rc == LAM_OK && i < entries.count; i++) {
        char *path = path_join(input, entries.items[i].name);
        rc = path ? add_run(work, path, err)
                  : lam_error_set(err, LAM_E_NOMEM, "aggregate: out of memory");
        mem_free(path);
    }
    dir_entries_free(&entries);
    return rc;
}

static int add_input(struct aggregate_work *work, const char *input, struct lam_error *err)
{
    if (is_folder(input))
        return add_folder(work, input, err);
    size_t before = work->skipped.count - work->repeated;
    int rc = add_run(work, input, err);
    work->refused += work->skipped.count - work->repeated - before;
    return rc;
}

static int write_out(struct aggregate_work *work, const struct aggregate *aggregate,
                     struct lam_error *err)
{
    struct aggregate_view view = {
        .top = (uint32_t)work->set->top,
        .sequences = work->has_order && work->set->has_sequence ? &work->sequences : NULL,
        .skipped = work->skipped.items,
        .skipped_count = work->skipped.count,
    };
    struct byteout *out = mem_alloc(sizeof *out);
    if (!out)
        return lam_error_set(err, LAM_E_NOMEM, "aggregate: out of memory");
    byteout_init_file(out, stdout);
    int rc;
    if (work->set->format == FORMAT_JSON) {
        rc = write_aggregate_json(aggregate, &view, out, err);
    } else {
        struct strbuf text = {0};
        struct term term = term_of(stdout);
        rc = work->set->format == FORMAT_TEXT
                 ? write_aggregate_text(aggregate, &view, &term, &text, err)
                 : write_aggregate_markdown(aggregate, &view, &text, err);
        if (rc == LAM_OK)
            rc = launcher_print(&text, err);
        strbuf_free(&text);
    }
    mem_free(out);
    return rc;
}

static void free_work(struct aggregate_work *work)
{
    array_each(&work->skipped, it)
    {
        mem_free(it->input);
        mem_free(it->why);
    }
    array_free(&work->skipped);
    file_set_free(&work->files);
    sequences_free(&work->sequences);
    run_matrix_free(&work->matrix);
    classifier_close(&work->cls);
}

/* 1 when an input that was named could not be used. */
static int run_aggregate(const struct aggregate_settings *set, const struct option_operands *inputs,
                         struct lam_error *err)
{
    struct aggregate_work work = {.set = set, .has_order = true};
    struct classifier_options options = {.files = set->markers.items,
                                         .file_count = set->markers.count};
    struct aggregate aggregate = {0};
    int rc = classifier_open(&work.cls, &options, err);
    for (size_t i = 0; rc == LAM_OK && i < inputs->count; i++)
        rc = add_input(&work, inputs->items[i], err);
    if (rc == LAM_OK && work.matrix.runs.count == 0)
        rc = lam_error_set(err, LAM_E_NOTFOUND, "no input can be used: %zu %s skipped",
                           work.skipped.count, unit_either(work.skipped.count, "was", "were"));
    struct aggregate_options how = {.metric = (enum run_metric)set->metric,
                                    .by_spread = set->sort == SORT_SPREAD,
                                    .exclude = set->exclude.items,
                                    .exclude_count = set->exclude.count};
    if (rc == LAM_OK && sequences_finish(&work.sequences) < 0)
        rc = lam_error_set(err, LAM_E_NOMEM, "aggregate: out of memory");
    if (rc == LAM_OK)
        rc = aggregate_make(&aggregate, &work.matrix, &how, err);
    if (rc == LAM_OK)
        rc = write_out(&work, &aggregate, err);
    if (rc == LAM_OK && work.refused > 0)
        rc = 1;
    aggregate_free(&aggregate);
    free_work(&work);
    return rc;
}

int cmd_aggregate(int argc, char **argv)
{
    static const char *const formats[] = {"text", "json", "markdown", NULL};
    static const char *const metrics[] = {"self", "time", "count", "cache-hits", NULL};
    static const char *const sorts[] = {"amount", "spread", NULL};
    struct aggregate_settings set = {.top = TOP_DEFAULT, .has_sequence = true};
    const struct option_row rows[] = {
        {.long_name = "metric",
         .short_name = 'm',
         .arg_name = "NAME",
         .help = "what of labels counts [self]",
         .kind = OPTION_CHOICE,
         .target = &set.metric,
         .choices = metrics},
        {.long_name = "sort",
         .short_name = 's',
         .arg_name = "ORDER",
         .help = "largest median or largest spread first [amount]",
         .kind = OPTION_CHOICE,
         .target = &set.sort,
         .choices = sorts},
        {.long_name = "exclude",
         .short_name = 'e',
         .arg_name = "GLOB",
         .help = "leave out labels, phases and units called so; may be given several times",
         .kind = OPTION_LIST,
         .target = &set.exclude},
        {.long_name = "sequence",
         .help = "compare the order of events, which takes a second reading (on; --no-sequence)",
         .kind = OPTION_FLAG,
         .target = &set.has_sequence},
        OPTION_ROW_FORMAT(&set.format, formats),
        {.long_name = "top",
         .short_name = 'n',
         .arg_name = "N",
         .help = "show the N first rows of each table; 0 shows all (20)",
         .kind = OPTION_U64,
         .target = &set.top},
        OPTION_ROW_MARKERS(0, &set.markers),
        {0},
    };
    const struct option_spec spec = {
        .command = "lamella aggregate",
        .operands = "INPUT...",
        .about =
            "Puts many runs of the same work side by side: least, median and most of each label, "
            "phase and unit, how far they spread, and which events differ in number or order "
            "although the runs should be alike. Each input is a run; of a directory each file is "
            "one, and each directory in it; - is standard input. What cannot be used is skipped "
            "and "
            "named.",
        .example = "lamella aggregate run1.mm_profdata run2.mm_profdata run3.mm_profdata\n"
                   "lamella aggregate --sort spread runs/",
        .rows = rows,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    struct lam_error error = LAM_ERROR_INIT;
    struct option_operands operands = {0};
    int rc = options_parse(&spec, argc, argv, &operands, &error);
    if (rc == LAM_OK && set.top > UINT32_MAX)
        rc = lam_error_set(&error, LAM_E_USAGE, "--top is too large");
    int code = EXIT_DONE;
    if (rc != LAM_OK) {
        code = launcher_usage_end(&spec, rc, &error, EXIT_USAGE);
    } else {
        rc = run_aggregate(&set, &operands, &error);
        code = rc == LAM_OK ? EXIT_DONE : EXIT_FAILED;
        if (rc < 0)
            launcher_say("%s", error.msg);
    }
    array_free(&set.exclude);
    array_free(&set.markers);
    option_operands_free(&operands);
    return code;
}
