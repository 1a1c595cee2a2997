/* Text and Markdown of an aggregate: the same tables, printed two ways. */
#include "output/write_aggregate.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "output/run_losses.h"
#include "output/write_labels.h"

enum { KEY_COLUMNS = 56 };

struct writer {
    const struct aggregate *aggregate;
    const struct aggregate_view *view;
    const struct term *term; /* NULL: Markdown */
    struct strbuf *out;
    bool is_time;
};

/* ---- pieces that differ by format -------------------------------------------------------------------------------- */

static void heading(struct writer *w, const char *text)
{
    if (!w->term) {
        strbuf_addf(w->out, "\n## %s\n\n", text);
        return;
    }
    strbuf_add_char(w->out, '\n');
    style_add(w->out, w->term, STYLE_BOLD, text);
    strbuf_add_char(w->out, '\n');
}

static int print(struct writer *w, const struct table *table)
{
    return w->term ? table_print(table, w->term, w->out) : table_print_markdown(table, w->out);
}

static void hidden_line(struct writer *w, size_t hidden)
{
    if (hidden > 0)
        strbuf_addf(w->out, w->term ? "  and %s more (--top 0 shows all)\n" : "\nand %s more\n",
                    unit_count(hidden).text);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void amount_cell(struct writer *w, struct table *table, const struct run_row *row,
                        enum run_metric metric, double value)
{
    bool is_count = metric == RUN_COUNT || metric == RUN_CACHE_HITS;
    if (row->section == RUN_ARTIFACTS)
        table_cell(table, unit_bytes(value).text);
    else if (is_count)
        table_cell(table, unit_number(value, 0).text);
    else if (!w->is_time && (row->section == RUN_LABELS || row->section == RUN_TOTALS))
        table_cell(table, unit_count_short(value).text);
    else
        table_cell(table, unit_seconds(value).text);
}

static void add_cells(struct writer *w, struct table *table, const struct aggregate_row *row)
{
    const struct run_matrix *matrix = w->aggregate->matrix;
    const struct run_row *source = &matrix->rows.items[row->row];
    enum run_metric metric = aggregate_judged(source, w->aggregate->metric);
    size_t length;
    const char *key = intern_text(&matrix->texts, source->key, &length);
    table_cell_n(table, length ? key : "(empty)", length ? length : 7);
    if (source->section == RUN_LABELS)
        table_cell(table, run_matrix_text(matrix, source->kind));
    table_cellf(table, "%u", row->runs);
    amount_cell(w, table, source, metric, row->min);
    amount_cell(w, table, source, metric, row->median);
    amount_cell(w, table, source, metric, row->max);
    table_cell(table, isnan(row->spread) ? "" : unit_percent(row->spread).text);
    if (isnan(row->count_min))
        table_cell(table, "");
    else if (row->count_min == row->count_max)
        table_cell(table, unit_number(row->count_min, 0).text);
    else
        table_cellf(table, "%s – %s", unit_number(row->count_min, 0).text,
                    unit_number(row->count_max, 0).text);
}

static int write_section(struct writer *w, enum run_section section, const char *title,
                         const char *what)
{
    static const char *const columns[] = {"runs", "least", "median", "most", "spread", "count"};
    const struct aggregate_rows *rows = &w->aggregate->rows[section];
    if (rows->count == 0)
        return LAM_OK;
    struct table table = {.indent = 2};
    size_t shown = 0;
    table_column(&table, what, TABLE_LEFT, KEY_COLUMNS);
    if (section == RUN_LABELS)
        table_column(&table, "kind", TABLE_LEFT, 0);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_column(&table, columns[i], TABLE_RIGHT, 0);
    for (; shown < rows->count; shown++) {
        if (section != RUN_TOTALS && w->view->top > 0 && shown >= w->view->top)
            break;
        add_cells(w, &table, &rows->items[shown]);
    }
    heading(w, title);
    int rc = print(w, &table);
    hidden_line(w, rows->count - shown);
    table_free(&table);
    return rc;
}

/* ---- order of events --------------------------------------------------------------------------------------------- */

static void row_cells(const struct sequences *sequences, struct table *table, uint32_t row)
{
    size_t length = 7;
    const char *text = "(ended)";
    if (row != UINT32_MAX)
        text = intern_text(&sequences->texts, sequences->rows.items[row].label, &length);
    table_cell_n(table, text, length);
}

static int write_differences(struct writer *w)
{
    const struct sequences *sequences = w->view->sequences;
    struct table table = {.indent = 2};
    size_t shown = 0, count = sequences->differences.count;
    table_column(&table, "label", TABLE_LEFT, KEY_COLUMNS);
    table_column(&table, "kind", TABLE_LEFT, 0);
    table_column(&table, "differs", TABLE_LEFT, 0);
    table_column(&table, "events", TABLE_RIGHT, 0);
    for (; shown < count && (w->view->top == 0 || shown < w->view->top); shown++) {
        const struct sequence_difference *it = &sequences->differences.items[shown];
        row_cells(sequences, &table, it->row);
        table_cell(&table, intern_text(&sequences->texts, sequences->rows.items[it->row].kind, NULL));
        table_cell(&table, it->what == SEQUENCE_COUNT ? "number" : "order");
        if (it->what == SEQUENCE_COUNT)
            table_cellf(&table, "%s – %s", unit_count(it->least).text, unit_count(it->most).text);
        else
            table_cell(&table, unit_count(it->most).text);
    }
    heading(w, "Labels whose events differ in number or order from run to run");
    int rc = print(w, &table);
    hidden_line(w, count - shown);
    table_free(&table);
    return rc;
}

static int write_first_differences(struct writer *w)
{
    const struct sequences *sequences = w->view->sequences;
    struct table table = {.indent = 2};
    bool has_any = false;
    table_column(&table, "run", TABLE_LEFT, KEY_COLUMNS);
    table_column(&table, "event", TABLE_RIGHT, 0);
    table_column(&table, "at", TABLE_RIGHT, 0);
    table_column(&table, "has", TABLE_LEFT, KEY_COLUMNS);
    table_column(&table, "where the first run has", TABLE_LEFT, KEY_COLUMNS);
    for (size_t i = 1; i < sequences->runs.count && i < w->aggregate->matrix->runs.count; i++) {
        const struct sequence_run *run = &sequences->runs.items[i];
        if (!run->has_difference)
            continue;
        has_any = true;
        table_cell(&table,
                   run_matrix_text(w->aggregate->matrix, w->aggregate->matrix->runs.items[i].name));
        table_cell(&table, unit_count(run->position).text);
        table_cell(&table,
                   run->here == UINT32_MAX ? "" : unit_seconds((double)run->at_ns / 1e9).text);
        row_cells(sequences, &table, run->here);
        row_cells(sequences, &table, run->there);
    }
    int rc = LAM_OK;
    if (has_any) {
        heading(w, "Where main threads first went another way");
        rc = print(w, &table);
    }
    table_free(&table);
    return rc;
}

static int write_sequences(struct writer *w)
{
    if (!w->view->sequences || w->view->sequences->runs.count < 2)
        return LAM_OK;
    if (w->view->sequences->differences.count == 0) {
        strbuf_add(w->out, "\nEvents came in the same number and order in all runs.\n");
        return LAM_OK;
    }
    int rc = write_differences(w);
    return rc == LAM_OK ? write_first_differences(w) : rc;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* A table of what one run cannot have would show its nothing as a spread. */
static void write_lacking(struct writer *w, enum run_section section, const char *what)
{
    const struct run_matrix *matrix = w->aggregate->matrix;
    const struct run_info *run = run_matrix_lacking(matrix, section);
    bool is_shared = true;
    array_each(&matrix->runs, other) is_shared =
        is_shared && (section == RUN_LABELS ? !other->has_events : !other->has_phases);
    if (run && !is_shared) {
        const char *name = run_matrix_text(matrix, run->name);
        strbuf_add_printable(w->out, name, strlen(name));
        strbuf_addf(w->out, ": has no %s, so there is no table of them.\n", what);
    }
}

static void write_head(struct writer *w)
{
    const struct run_matrix *matrix = w->aggregate->matrix;
    if (!w->term)
        strbuf_add(w->out, "# Lamella aggregate\n\n");
    strbuf_addf(w->out, "%s run%s", unit_count(matrix->runs.count).text,
                unit_plural(matrix->runs.count));
    if (w->view->skipped_count > 0)
        strbuf_addf(w->out, ", %s input%s skipped", unit_count(w->view->skipped_count).text,
                    unit_plural(w->view->skipped_count));
    strbuf_add_char(w->out, '\n');
    run_losses_text(matrix, w->out);
    write_lacking(w, RUN_LABELS, "events");
    write_lacking(w, RUN_PHASES, "phases");
}

static bool measures_time(const struct run_matrix *matrix)
{
    array_each(&matrix->runs, run) if (run->has_events) return labels_measure_is_time(run->measure);
    return true;
}

static int write_all(struct writer *w, struct lam_error *err)
{
    static const struct {
        const char *title, *what;
    } texts[RUN_SECTIONS] = {
        [RUN_TOTALS] = {"In all", "total"},
        [RUN_LABELS] = {"By label", "label"},
        [RUN_SEGMENTS] = {"By segment (CPU time)", "segment"},
        [RUN_PHASES] = {"By phase (CPU time)", "phase"},
        [RUN_UNITS] = {"By unit", "unit"},
        [RUN_ARTIFACTS] = {"Artifact sizes", "artifact"},
    };
    int rc = LAM_OK;
    write_head(w);
    for (size_t i = 0; rc == LAM_OK && i < RUN_SECTIONS; i++)
        rc = write_section(w, (enum run_section)i, texts[i].title, texts[i].what);
    if (rc == LAM_OK)
        rc = write_sequences(w);
    if (rc < 0 || !strbuf_ok(w->out))
        return lam_error_set(err, LAM_E_NOMEM, "aggregate: out of memory");
    return LAM_OK;
}

int write_aggregate_text(const struct aggregate *aggregate, const struct aggregate_view *view,
                         const struct term *term, struct strbuf *out, struct lam_error *err)
{
    struct writer w = {aggregate, view, term, out, measures_time(aggregate->matrix)};
    return write_all(&w, err);
}

int write_aggregate_markdown(const struct aggregate *aggregate, const struct aggregate_view *view,
                             struct strbuf *out, struct lam_error *err)
{
    struct writer w = {aggregate, view, NULL, out, measures_time(aggregate->matrix)};
    return write_all(&w, err);
}
