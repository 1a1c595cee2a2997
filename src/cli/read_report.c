#include "cli/read_report.h"

#include "analysis/sink_tee.h"
#include "cli/launcher_talk.h"
#include "cli/read_cargo.h"
#include "cli/recording_ready.h"
#include "cli/recording_symbols.h"
#include "output/report_rows.h"

/* None is no failure: units, processes and waits are worth reading without. */
static int open_symbols(const char *recording, struct symbols **symbols, struct lam_error *err)
{
    int rc = recording_symbols_of(recording, symbols, err);
    if (rc == LAM_OK || rc == LAM_E_NOMEM)
        return rc;
    if (rc != LAM_E_NOTFOUND)
        launcher_say("warning: %s; names and phases will be missing", err->msg);
    *err = (struct lam_error)LAM_ERROR_INIT;
    return LAM_OK;
}

/* What a filter needs: processes are called as in the report, which has just taken the one that is asked about. */
struct wanted {
    const struct report *report;
    const char *unit;
};

static bool is_wanted_process(void *ctx, const struct profile_process *process)
{
    (void)process;
    const struct wanted *wanted = ctx;
    return wanted->report->processes.count > 0 &&
           report_title_matches(array_last(&wanted->report->processes).title, wanted->unit);
}

static int push(struct report_reading *reading, const struct input_group *group,
                const struct profile_sink *also, struct stack_slices *slices, struct lam_error *err)
{
    struct sink_tee both, all, with_stacks, with_totals;
    struct profile_sink first = report_sink(reading->report), second = labels_sink(reading->labels),
                        sink = sink_tee(&both, &first, &second);
    if (also) {
        struct profile_sink inner = sink;
        sink = sink_tee(&all, &inner, also);
    }
    struct profile_sink slots, outer = sink;
    if (slices) {
        slots = stack_slices_sink(slices);
        sink = sink_tee(&with_stacks, &outer, &slots);
    }
    struct profile_sink totals, whole = sink;
    if (reading->stacks) {
        totals = stack_totals_sink(reading->stacks);
        sink = sink_tee(&with_totals, &whole, &totals);
    }
    return input_group_read(group, &sink, err);
}

int report_reading_open_group(struct report_reading *reading, const struct input_group *group,
                              const struct report_reading_options *options, struct lam_error *err)
{
    bool is_recording = group->recording != NULL;
    int rc = is_recording ? open_symbols(group->recording, &reading->symbols, err) : LAM_OK;
    reading->names.symbols = reading->symbols;
    struct report_options report_options = {.cls = options->cls,
                                            .names = symbol_names_frames(&reading->names),
                                            .want_spans = options->want_spans,
                                            .read_files = is_recording,
                                            .sampled = options->slices ? stack_slices_sampled : NULL,
                                            .sampled_ctx = options->slices};
    if (rc == LAM_OK)
        rc = report_open(&reading->report, &report_options, err);
    struct wanted wanted = {reading->report, options->unit};
    struct labels_options label_options = {
        .by_unit = options->by_unit,
        .by_argument = options->by_argument,
        .by_path = options->by_path,
        .wants_process = options->unit ? is_wanted_process : NULL,
        .ctx = &wanted,
    };
    if (rc == LAM_OK)
        rc = labels_open(&reading->labels, &label_options, err);
    struct export_options mixed = {.values = EXPORT_VALUES_MIXED, .symbols = reading->symbols};
    if (rc == LAM_OK && options->want_stacks && is_recording)
        rc = stack_totals_open(&reading->stacks, &mixed, err);
    if (rc == LAM_OK && reading->stacks && options->unit)
        stack_totals_only(reading->stacks, is_wanted_process, &wanted);
    if (rc == LAM_OK)
        rc = push(reading, group, options->also, options->slices, err);
    if (rc == LAM_OK && options->slices)
        stack_slices_finish(options->slices);
    if (rc == LAM_OK)
        rc = labels_finish(reading->labels, err);
    if (rc == LAM_OK && is_recording)
        rc = read_cargo(reading->report, group->recording, err);
    return rc == LAM_OK ? report_finish(reading->report, err) : rc;
}

int report_reading_open(struct report_reading *reading, const char *const *inputs, size_t count,
                        const struct report_reading_options *options, struct lam_error *err)
{
    struct input_groups groups = {0};
    int rc = recording_groups_find(&groups, inputs, count, err);
    if (rc == LAM_OK && groups.items.count > 1)
        rc = lam_error_set(
            err, LAM_E_UNSUPPORTED,
            "%s and %s are not of one build: give one of them, or both with --compare "
            "(report, view and export take several)",
            groups.items.items[0].paths.items[0], groups.items.items[1].paths.items[0]);
    if (rc == LAM_OK)
        rc = report_reading_open_group(reading, &groups.items.items[0], options, err);
    input_groups_free(&groups);
    return rc;
}

void report_reading_close(struct report_reading *reading)
{
    stack_totals_close(&reading->stacks);
    labels_close(&reading->labels);
    report_close(&reading->report);
    symbol_names_free(&reading->names);
    symbols_close(&reading->symbols);
}
