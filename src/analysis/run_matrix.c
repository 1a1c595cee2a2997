#include "analysis/run_matrix.h"

#include <math.h>
#include <string.h>

#include "analysis/unit_class.h"
#include "base/strbuf.h"

const char *const run_section_keys[RUN_SECTIONS] = {"totals", "labels", "segments",
                                                    "phases", "units",  "artifacts"};
const char *const run_metric_keys[RUN_METRICS] = {"self",    "time", "count",  "cache_hits",
                                                  "blocked", "load", "hashing"};
const char run_total_labels[] = "all labels", run_total_phases[] = "all phases",
           run_total_cpu[] = "CPU", run_total_wall[] = "wall";

int run_matrix_begin(struct run_matrix *matrix, const char *name, uint32_t side)
{
    struct run_info run = {.side = side, .coverage = NAN, .cores = NAN};
    int rc = intern_add_str(&matrix->texts, name, &run.name);
    return rc < 0 ? rc : array_push(&matrix->runs, run);
}

void run_matrix_drop(struct run_matrix *matrix)
{
    uint32_t run = (uint32_t)matrix->runs.count - 1;
    array_each(&matrix->rows, row) if (row->cells.count > 0 && array_last(&row->cells).run == run)
        row->cells.count--;
    matrix->runs.count--;
}

void run_matrix_free(struct run_matrix *matrix)
{
    array_each(&matrix->rows, row) array_free(&row->cells);
    array_free(&matrix->rows);
    array_free(&matrix->runs);
    map_free(&matrix->row_ids);
    intern_free(&matrix->texts);
}

struct run_values run_values_none(void)
{
    struct run_values values;
    for (size_t i = 0; i < RUN_METRICS; i++)
        values.of[i] = NAN;
    return values;
}

const char *run_matrix_text(const struct run_matrix *matrix, uint32_t text)
{
    return intern_text(&matrix->texts, text, NULL);
}

static struct run_row *find_row(struct run_matrix *matrix, enum run_section section, uint32_t kind,
                                uint32_t key)
{
    uint64_t hash = hash_combine(hash_combine(section, kind), key);
    for (;; hash++) {
        bool added;
        uint64_t *slot = map_slot(&matrix->row_ids, hash, matrix->rows.count, &added);
        struct run_row fresh = {.section = section, .kind = kind, .key = key};
        if (!slot || (added && array_push(&matrix->rows, fresh) < 0))
            return NULL;
        struct run_row *row = &matrix->rows.items[*slot];
        if (row->section == section && row->kind == kind && row->key == key)
            return row;
    }
}

static double sum(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

int run_matrix_add(struct run_matrix *matrix, enum run_section section, struct profile_text kind,
                   struct profile_text key, const struct run_values *values)
{
    uint32_t kind_id = 0, key_id = 0, run = (uint32_t)matrix->runs.count - 1;
    int rc = intern_add(&matrix->texts, kind.bytes ? kind.bytes : "", kind.size, &kind_id);
    if (rc == LAM_OK)
        rc = intern_add(&matrix->texts, key.bytes ? key.bytes : "", key.size, &key_id);
    if (rc < 0)
        return rc;
    struct run_row *row = find_row(matrix, section, kind_id, key_id);
    if (!row)
        return LAM_E_NOMEM;
    if (row->cells.count == 0 || array_last(&row->cells).run != run)
        return array_push(&row->cells, ((struct run_cell){run, *values}));
    struct run_values *held = &array_last(&row->cells).values;
    for (size_t i = 0; i < RUN_METRICS; i++)
        held->of[i] = sum(held->of[i], values->of[i]);
    return LAM_OK;
}

int run_matrix_add_unit(struct run_matrix *matrix, const char *const *parts, const char *title,
                        const struct run_values *values)
{
    struct strbuf class_text = {0}, name = {0};
    uint32_t class_id = 0, key_id = 0, name_id = 0;
    unit_class_text(parts, title, &class_text);
    unit_class_name(parts, title, &name);
    int rc = strbuf_ok(&class_text) && strbuf_ok(&name)
                 ? run_matrix_add(matrix, RUN_UNITS,
                                  (struct profile_text){strbuf_text(&class_text), class_text.length},
                                  (struct profile_text){title, strlen(title)}, values)
                 : LAM_E_NOMEM;
    if (rc == LAM_OK)
        rc = intern_add(&matrix->texts, strbuf_text(&class_text), class_text.length, &class_id);
    if (rc == LAM_OK)
        rc = intern_add(&matrix->texts, title, strlen(title), &key_id);
    if (rc == LAM_OK)
        rc = intern_add(&matrix->texts, strbuf_text(&name), name.length, &name_id);
    struct run_row *row = rc == LAM_OK ? find_row(matrix, RUN_UNITS, class_id, key_id) : NULL;
    if (row)
        row->name = name_id;
    strbuf_free(&class_text);
    strbuf_free(&name);
    return rc < 0 ? rc : row ? LAM_OK : LAM_E_NOMEM;
}

const struct run_info *run_matrix_lacking(const struct run_matrix *matrix, enum run_section section)
{
    array_each(&matrix->runs, run)
    {
        bool lacks_events = run->has_samples && !run->has_events,
             lacks_samples = run->has_events && !run->has_samples;
        if ((section == RUN_LABELS || section == RUN_ARTIFACTS) && lacks_events)
            return run;
        if ((section == RUN_SEGMENTS || section == RUN_PHASES) &&
            (lacks_samples || (run->has_samples && !run->has_phases)))
            return run;
    }
    return NULL;
}

bool run_matrix_has_section(const struct run_matrix *matrix, enum run_section section)
{
    return !run_matrix_lacking(matrix, section);
}

static int check_measures(const struct run_matrix *matrix, const char *done, struct lam_error *err)
{
    const struct run_info *first = NULL;
    array_each(&matrix->runs, run)
    {
        if (!run->has_events)
            continue;
        if (first && first->measure != run->measure)
            return lam_error_set(
                err, LAM_E_INVAL, "%s and %s measured different things: they cannot be %s",
                run_matrix_text(matrix, first->name), run_matrix_text(matrix, run->name), done);
        first = run;
    }
    return LAM_OK;
}

/* Runs must have something in common. */
int run_matrix_check_alike(const struct run_matrix *matrix, const char *done, struct lam_error *err)
{
    const struct run_info *without_events = NULL, *without_samples = NULL;
    array_each(&matrix->runs, run)
    {
        if (run->has_samples && !run->has_events && !without_events)
            without_events = run;
        if (run->has_events && !run->has_samples && !without_samples)
            without_samples = run;
    }
    if (!without_events || !without_samples)
        return check_measures(matrix, done, err);
    return lam_error_set(
        err, LAM_E_INVAL,
        "%s is a recording of samples, %s holds the events of an instrumented program: they cannot "
        "be %s; give inputs of one kind",
        run_matrix_text(matrix, without_events->name),
        run_matrix_text(matrix, without_samples->name), done);
}

struct run_values run_matrix_values(const struct run_matrix *matrix, const struct run_row *row,
                                    uint32_t run)
{
    size_t low = 0, high = row->cells.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row->cells.items[middle].run < run)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < row->cells.count && row->cells.items[low].run == run)
        return row->cells.items[low].values;
    struct run_values values = run_values_none();
    /* A total is not zero because nobody measured it. */
    if (row->section == RUN_TOTALS || matrix->runs.items[run].is_cut[row->section])
        return values;
    for (size_t i = 0; row->cells.count > 0 && i < RUN_METRICS; i++)
        if (!isnan(row->cells.items[0].values.of[i]))
            values.of[i] = 0;
    return values;
}

/* ---- from a report ----------------------------------------------------------------------------------------------- */

static struct profile_text text_of(const char *text)
{
    return (struct profile_text){text ? text : "", text ? strlen(text) : 0};
}

static struct profile_text label_text(const struct labels *labels, uint32_t text)
{
    size_t size;
    const char *bytes = labels_text(labels, text, &size);
    return (struct profile_text){bytes, size};
}

static double measured(const struct labels *labels, uint64_t amount)
{
    bool is_time = labels->session.measure == PROFILE_MEASURE_TIME ||
                   labels->session.measure == PROFILE_MEASURE_CPU_TIME;
    return is_time ? (double)amount / 1e9 : (double)amount;
}

static int add_total(struct run_matrix *matrix, const char *key, double value)
{
    struct run_values values = run_values_none();
    values.of[RUN_SELF] = value;
    return isnan(value) ? LAM_OK
                        : run_matrix_add(matrix, RUN_TOTALS, text_of(""), text_of(key), &values);
}

static int add_labels(struct run_matrix *matrix, const struct labels *labels)
{
    array_each(&labels->rows, row)
    {
        const struct label_name *name = &labels->names.items[row->name];
        struct run_values values = {
            {measured(labels, row->self_ns), measured(labels, row->time_ns), (double)row->count,
             (double)row->cache_hits, measured(labels, row->blocked_ns),
             measured(labels, row->load_ns), measured(labels, row->hashing_ns)}};
        int rc = run_matrix_add(matrix, RUN_LABELS, label_text(labels, name->kind),
                                label_text(labels, name->label), &values);
        if (rc < 0)
            return rc;
    }
    array_each(&labels->artifacts, artifact)
    {
        struct run_values values = run_values_none();
        values.of[RUN_SELF] = (double)artifact->bytes;
        if (artifact->process != LABELS_ALL)
            continue;
        int rc = run_matrix_add(matrix, RUN_ARTIFACTS, text_of(""),
                                label_text(labels, artifact->label), &values);
        if (rc < 0)
            return rc;
    }
    return add_total(matrix, run_total_labels, measured(labels, labels->self_ns));
}

static int add_event_units(struct run_matrix *matrix, const struct report *report,
                           const struct labels *labels)
{
    for (uint32_t i = 0; i < labels->processes.count && i < report->processes.count; i++) {
        const struct label_process *process = &labels->processes.items[i];
        if (process->threads == 0)
            continue;
        struct run_values values = run_values_none();
        values.of[RUN_SELF] = measured(labels, process->self_ns);
        values.of[RUN_TIME] = measured(labels, process->thread_ns);
        values.of[RUN_COUNT] = (double)process->events;
        int rc = run_matrix_add(matrix, RUN_UNITS, text_of(""),
                                text_of(report->processes.items[i].title), &values);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int add_phases(struct run_matrix *matrix, const struct report *report)
{
    struct strbuf key = {0};
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < report->cells.count; i++) {
        const struct report_cell *cell = &report->cells.items[i];
        struct phase_bucket bucket = classifier_bucket(report->cls, cell->bucket);
        const char *segment = phase_segment_name(bucket.segment);
        struct run_values values = run_values_none();
        values.of[RUN_SELF] = (double)cell->amount.cpu_ns / 1e9;
        values.of[RUN_COUNT] = (double)cell->amount.samples;
        strbuf_clear(&key);
        strbuf_addf(&key, "%s / %s", segment, bucket.phase_name);
        rc = run_matrix_add(matrix, RUN_SEGMENTS, text_of(""), text_of(segment), &values);
        if (rc == LAM_OK)
            rc = strbuf_ok(&key) ? run_matrix_add(matrix, RUN_PHASES, text_of(""),
                                                  text_of(strbuf_text(&key)), &values)
                                 : LAM_E_NOMEM;
    }
    strbuf_free(&key);
    return rc < 0 ? rc : add_total(matrix, run_total_phases, report_seconds(report->total.cpu_ns));
}

static int add_units(struct run_matrix *matrix, const struct report *report)
{
    array_each(&report->units, unit)
    {
        const struct report_process *process = &report->processes.items[unit->process];
        const char *parts[UNIT_CLASS_PARTS];
        struct run_values values = run_values_none();
        values.of[RUN_SELF] = process->cpu_ns != PROFILE_UNKNOWN
                                  ? report_seconds(process->cpu_ns)
                                  : report_seconds(process->amount.cpu_ns + process->amount.late_ns);
        values.of[RUN_TIME] = report_process_wall_s(process);
        values.of[RUN_COUNT] = (double)process->amount.samples;
        unit_class_of(&unit->info, parts);
        int rc = run_matrix_add_unit(matrix, parts, unit->title, &values);
        if (rc < 0)
            return rc;
    }
    return LAM_OK;
}

static int describe(struct run_matrix *matrix, const struct report *report,
                    const struct labels *labels)
{
    struct run_info *run = &array_last(&matrix->runs);
    run->measure = labels->session.measure;
    run->has_events = labels->events > 0 || labels->marks_seen > 0;
    run->has_samples =
        report->session.has_samples || report->session.charged_cpu_ns != PROFILE_UNKNOWN;
    run->has_phases = report->total.samples > 0;
    run->has_failed =
        report->session.exit_code > 0 || (run->has_samples && !report->session.complete);
    run->is_crowded = report_is_crowded(report);
    run->lost = (double)report->coverage.lost_samples;
    run->overwritten_pages = (double)report->end.overwritten_pages;
    run->coverage = run->has_phases ? report->coverage.ratio : (double)NAN;
    run->cores = report->session.cores > 0 ? report->session.cores : (double)NAN;
    const char *machine = report->machine.machine_id;
    return intern_add_str(&matrix->texts, machine ? machine : "", &run->machine);
}

int run_matrix_add_report(struct run_matrix *matrix, const struct report *report,
                          const struct labels *labels)
{
    int rc = describe(matrix, report, labels);
    const struct run_info *run = &array_last(&matrix->runs);
    if (rc == LAM_OK && run->has_events)
        rc = add_labels(matrix, labels);
    if (rc == LAM_OK && run->has_samples)
        rc = add_phases(matrix, report);
    if (rc == LAM_OK && run->has_samples)
        rc = add_units(matrix, report);
    else if (rc == LAM_OK)
        rc = add_event_units(matrix, report, labels);
    if (rc == LAM_OK && run->has_samples)
        rc = add_total(matrix, run_total_cpu, report_seconds(report_used_ns(report)));
    if (rc == LAM_OK)
        rc = add_total(matrix, run_total_wall, report_seconds(report->session.elapsed_ns));
    return rc;
}
