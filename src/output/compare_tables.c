/* The tables of a comparison, and the sentences below them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "output/run_losses.h"
#include "output/write_compare.h"

enum { KEY_COLUMNS = 56, NAMES_SHOWN = 4 };

struct maker {
    const struct compare *compare;
    const struct compare_view *view;
    struct compare_tables *tables;
};

void compare_tables_free(struct compare_tables *tables)
{
    array_each(tables, it) table_free(&it->table);
    array_free(tables);
}

bool compare_fails(const struct compare *compare, double fail_above)
{
    const struct compare_row *row = compare->judged;
    if (isnan(fail_above) || !row || !(row->change > 0))
        return false;
    bool is_large = isnan(row->share) || row->share > fail_above;
    return is_large && (row->verdict == COMPARE_UNKNOWN || compare_is_increase(row->verdict));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

enum amount_kind { AMOUNT_SECONDS, AMOUNT_UNITS, AMOUNT_BYTES, AMOUNT_COUNT };

static enum profile_measure measure_of(const struct compare *compare)
{
    array_each(&compare->matrix->runs, run) if (run->has_events) return run->measure;
    return PROFILE_MEASURE_TIME;
}

static enum amount_kind kind_of(const struct compare *compare, const struct run_row *row,
                                enum run_metric metric)
{
    enum profile_measure measure = measure_of(compare);
    bool is_time = measure == PROFILE_MEASURE_TIME || measure == PROFILE_MEASURE_CPU_TIME;
    bool is_of_events = row->section == RUN_LABELS ||
                        (row->section == RUN_TOTALS &&
                         strcmp(run_matrix_text(compare->matrix, row->key), run_total_labels) == 0);
    if (metric == RUN_COUNT || metric == RUN_CACHE_HITS)
        return AMOUNT_COUNT;
    if (row->section == RUN_ARTIFACTS)
        return AMOUNT_BYTES;
    return is_time || !is_of_events ? AMOUNT_SECONDS : AMOUNT_UNITS;
}

static struct unit_text amount_text(double value, enum amount_kind kind)
{
    switch (kind) {
    case AMOUNT_SECONDS:
        return unit_seconds(value);
    case AMOUNT_BYTES:
        return unit_bytes(value);
    case AMOUNT_UNITS:
        return unit_count_short(value);
    case AMOUNT_COUNT:
        break;
    }
    return unit_number(value, 0);
}

static struct unit_text signed_text(double value, enum amount_kind kind)
{
    struct unit_text plain = amount_text(value, kind), text = plain;
    if (value > 0)
        snprintf(text.text, sizeof text.text, "+%.30s", plain.text);
    return text;
}

/* "+4.5%", and from ten times on "×12". */
static struct unit_text share_text(double share)
{
    struct unit_text text = unit_percent_signed(share);
    if (share >= 9)
        snprintf(text.text, sizeof text.text, "×%.24s", unit_number(share + 1, 0).text);
    return text;
}

/* The metric that a row was judged by. */
static enum run_metric judged_by(const struct compare *compare, const struct compare_row *row)
{
    const struct run_row *source = &compare->matrix->rows.items[row->row];
    bool has_it =
        source->cells.count > 0 && !isnan(source->cells.items[0].values.of[compare->metric]);
    return has_it ? compare->metric : RUN_SELF;
}

static const char *verdict_text(enum compare_verdict verdict, enum amount_kind kind)
{
    bool is_time = kind == AMOUNT_SECONDS;
    switch (verdict) {
    case COMPARE_UNKNOWN:
        return "?";
    case COMPARE_SAME:
        return "same";
    case COMPARE_NOISE:
        return "noise";
    case COMPARE_INCREASE:
        return is_time ? "slower" : "more";
    case COMPARE_DECREASE:
        return is_time ? "faster" : "less";
    case COMPARE_LIKELY_INCREASE:
        return is_time ? "likely slower" : "likely more";
    case COMPARE_LIKELY_DECREASE:
        return is_time ? "likely faster" : "likely less";
    }
    return "";
}

static enum text_style verdict_style(const struct compare *compare, const struct compare_row *row)
{
    bool is_known = compare->has_repeats;
    if (compare_is_increase(row->verdict) || (!is_known && row->change > 0))
        return STYLE_RED;
    if (row->verdict == COMPARE_DECREASE || row->verdict == COMPARE_LIKELY_DECREASE ||
        (!is_known && row->change < 0))
        return STYLE_GREEN;
    return STYLE_DIM;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void change_cell(struct table *table, const struct compare_row *row, enum run_metric metric)
{
    double before = row->side[COMPARE_BEFORE].of[metric], after = row->side[COMPARE_AFTER].of[metric];
    /* Medians of counts may lie halfway between two of them. */
    bool is_worth = !isnan(before) && !isnan(after) && fabs(after - before) >= 0.5;
    table_cell(table, is_worth ? signed_text(after - before, AMOUNT_COUNT).text : "");
}

static void add_cells(struct maker *maker, struct table *table, const struct compare_row *row,
                      const bool *used)
{
    const struct compare *compare = maker->compare;
    const struct run_row *source = &compare->matrix->rows.items[row->row];
    enum run_metric metric = judged_by(compare, row);
    enum amount_kind kind = kind_of(compare, source, metric);
    size_t length;
    const char *key = intern_text(&compare->matrix->texts, source->key, &length);
    table_cell_n(table, length ? key : "(empty)", length ? length : 7);
    if (used[RUN_SELF]) /* of labels: the kind */
        table_cell(table, run_matrix_text(compare->matrix, source->kind));
    for (uint32_t side = 0; side < COMPARE_SIDES; side++)
        table_cell(table, amount_text(row->side[side].of[metric], kind).text);
    table_cell(table, signed_text(row->change, kind).text);
    table_style(table, verdict_style(compare, row));
    bool is_new = row->side[COMPARE_BEFORE].of[metric] == 0 && row->change > 0;
    table_cell(table, is_new ? "new" : isnan(row->share) ? "" : share_text(row->share).text);
    table_style(table, verdict_style(compare, row));
    if (compare->has_repeats) {
        if (isnan(row->low))
            table_cell(table, "");
        else
            table_cellf(table, "%s … %s", signed_text(row->low, kind).text,
                        signed_text(row->high, kind).text);
        table_cell(table, verdict_text(row->verdict, kind));
        table_style(table, verdict_style(compare, row));
    }
    if (used[RUN_COUNT])
        change_cell(table, row, RUN_COUNT);
    if (used[RUN_CACHE_HITS])
        change_cell(table, row, RUN_CACHE_HITS);
}

/* Nothing about the row changed. */
static bool is_same(const struct compare_row *row)
{
    for (size_t i = 0; i < RUN_METRICS; i++) {
        double before = row->side[COMPARE_BEFORE].of[i], after = row->side[COMPARE_AFTER].of[i];
        if (isnan(before) != isnan(after) || (!isnan(before) && before != after))
            return false;
    }
    return row->verdict == COMPARE_SAME || row->change == 0;
}

static void find_columns(const struct compare *compare, enum run_section section, bool *used)
{
    used[RUN_SELF] = section == RUN_LABELS;
    if (section == RUN_SEGMENTS || section == RUN_PHASES || section == RUN_UNITS)
        return; /* the number of samples follows from the time */
    array_each(&compare->rows[section], row)
    {
        static const enum run_metric metrics[] = {RUN_COUNT, RUN_CACHE_HITS};
        for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
            double before = row->side[COMPARE_BEFORE].of[metrics[i]],
                   after = row->side[COMPARE_AFTER].of[metrics[i]];
            used[metrics[i]] |= !isnan(before) && !isnan(after) && before != after;
        }
    }
}

static int make_table(struct maker *maker, enum run_section section, const char *heading,
                      const char *what)
{
    const struct compare *compare = maker->compare;
    bool used[RUN_METRICS] = {false};
    if (compare->rows[section].count == 0)
        return LAM_OK;
    struct compare_table *made = array_add(maker->tables);
    if (!made)
        return LAM_E_NOMEM;
    *made = (struct compare_table){.table = {.indent = 2}, .heading = heading};
    struct table *table = &made->table;
    find_columns(compare, section, used);
    table_column(table, what, TABLE_LEFT, KEY_COLUMNS);
    if (used[RUN_SELF])
        table_column(table, "kind", TABLE_LEFT, 0);
    table_column(table, "before", TABLE_RIGHT, 0);
    table_column(table, "after", TABLE_RIGHT, 0);
    table_column(table, "change", TABLE_RIGHT, 0);
    table_column(table, "", TABLE_RIGHT, 0);
    if (compare->has_repeats) {
        table_column(table, "95% of change", TABLE_RIGHT, 0);
        table_column(table, "verdict", TABLE_LEFT, 0);
    }
    if (used[RUN_COUNT])
        table_column(table, "count", TABLE_RIGHT, 0);
    if (used[RUN_CACHE_HITS])
        table_column(table, "cache hits", TABLE_RIGHT, 0);
    size_t shown = 0;
    array_each(&compare->rows[section], row)
    {
        if (section != RUN_TOTALS && is_same(row)) {
            made->same++;
        } else if (section != RUN_TOTALS && maker->view->top > 0 && shown >= maker->view->top) {
            made->hidden++;
        } else {
            add_cells(maker, table, row, used);
            shown++;
        }
    }
    made->shown = shown;
    return LAM_OK;
}

int compare_tables_make(const struct compare *compare, const struct compare_view *view,
                        struct compare_tables *tables)
{
    static const struct {
        const char *heading, *what;
    } texts[RUN_SECTIONS] = {
        [RUN_TOTALS] = {"In all", "total"},
        [RUN_LABELS] = {"Labels by what changed", "label"},
        [RUN_SEGMENTS] = {"Segments by what changed (CPU time)", "segment"},
        [RUN_PHASES] = {"Phases by what changed (CPU time)", "phase"},
        [RUN_UNITS] = {"Units by what changed", "unit"},
        [RUN_ARTIFACTS] = {"Artifact sizes", "artifact"},
    };
    struct maker maker = {compare, view, tables};
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < RUN_SECTIONS; i++)
        rc = make_table(&maker, (enum run_section)i, texts[i].heading, texts[i].what);
    return rc;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

void compare_side_text(const struct compare *compare, uint32_t side, struct strbuf *out)
{
    size_t shown = 0;
    strbuf_addf(out, "%s run%s: ", unit_count(compare->runs[side]).text,
                unit_plural(compare->runs[side]));
    array_each(&compare->matrix->runs, run)
    {
        if (run->side != side)
            continue;
        const char *name = run_matrix_text(compare->matrix, run->name);
        if (shown++ >= NAMES_SHOWN)
            continue;
        strbuf_add(out, shown > 1 ? ", " : "");
        strbuf_add_printable(out, name, strlen(name));
    }
    if (shown > NAMES_SHOWN)
        strbuf_addf(out, " and %zu more", shown - NAMES_SHOWN);
}

static size_t count_verdicts(const struct compare *compare, bool decided)
{
    size_t count = 0;
    for (size_t section = RUN_TOTALS + 1; section < RUN_SECTIONS; section++)
        array_each(&compare->rows[section], row)
        {
            bool is_decided = row->verdict >= COMPARE_INCREASE;
            count += decided ? is_decided : is_decided || row->verdict == COMPARE_NOISE;
        }
    return count;
}

static void name_run(const struct compare *compare, const struct run_info *run, struct strbuf *out)
{
    const char *name = run_matrix_text(compare->matrix, run->name);
    strbuf_add_printable(out, name, strlen(name));
}

/* A command that failed did less work. */
static void remark_failed_runs(const struct compare *compare, struct strbuf *out)
{
    array_each(&compare->matrix->runs, run)
    {
        if (!run->has_failed)
            continue;
        name_run(compare, run, out);
        strbuf_add(out, ": the command failed or was not seen to end: what it did not get to looks "
                        "like time saved.\n");
    }
}

/* The first run that is unlike the first of all, in what times depend on beside the work. */
static void remark_conditions(const struct compare *compare, struct strbuf *out)
{
    const struct run_info *first = NULL;
    array_each(&compare->matrix->runs, run)
    {
        first = first ? first : run;
        bool other_machine = run->machine != INTERN_EMPTY && first->machine != INTERN_EMPTY &&
                             run->machine != first->machine;
        bool other_cores = run->cores != first->cores && !isnan(run->cores) && !isnan(first->cores);
        if (!other_machine && !other_cores)
            continue;
        name_run(compare, first, out);
        strbuf_add(out, " and ");
        name_run(compare, run, out);
        strbuf_add(out, " ran on different machines, or with different numbers of cores.\n");
        return;
    }
}

/* CPU time is what it was; what waits for a core takes as long as others let it. */
static void remark_crowds(const struct compare *compare, struct strbuf *out)
{
    const struct run_info *first = NULL;
    size_t count = 0;
    array_each(&compare->matrix->runs, run)
    {
        first = !first && run->is_crowded ? run : first;
        count += run->is_crowded;
    }
    if (!first)
        return;
    strbuf_add(out, "Other programs had the machine while ");
    name_run(compare, first, out);
    if (count > 1)
        strbuf_addf(out, " and %s other run%s were", unit_count(count - 1).text,
                    unit_plural(count - 1));
    else
        strbuf_add(out, " was");
    strbuf_add(out, " recorded: wall times say little of a change.\n");
}

/* Shares of what was seen change with how much was seen. */
static void remark_coverage(const struct compare *compare, struct strbuf *out)
{
    const struct run_info *least = NULL, *most = NULL;
    array_each(&compare->matrix->runs, run)
    {
        if (isnan(run->coverage))
            continue;
        least = !least || run->coverage < least->coverage ? run : least;
        most = !most || run->coverage > most->coverage ? run : most;
    }
    if (!least || most->coverage - least->coverage <= 0.05)
        return;
    strbuf_addf(out, "Samples cover %s of the CPU time in ", unit_percent(least->coverage).text);
    name_run(compare, least, out);
    strbuf_addf(out, " and %s in ", unit_percent(most->coverage).text);
    name_run(compare, most, out);
    strbuf_add(out, ": a part of the change of segments and phases is only that.\n");
}

/* Of inputs that hold samples and events, what some of them lack. */
static void remark_lacks(const struct compare *compare, struct strbuf *out)
{
    if (!run_matrix_has_section(compare->matrix, RUN_LABELS))
        array_each(&compare->matrix->runs, run) if (run->has_events)
        {
            strbuf_add(out, "Events are in some of the inputs only, and are not compared.\n");
            break;
        }
    if (!run_matrix_has_section(compare->matrix, RUN_PHASES))
        array_each(&compare->matrix->runs, run) if (run->has_phases)
        {
            strbuf_add(out, "Samples are in some of the inputs only: segments and phases are not "
                            "compared.\n");
            break;
        }
}

static void remark_noise(const struct compare *compare, struct strbuf *out)
{
    if (!compare->has_repeats) {
        strbuf_add(out,
                   "With one run on a side nobody can know what is a change and what is noise. "
                   "Give several of each: lamella diff A1 A2 A3 A4 --against B1 B2 B3 B4\n");
        return;
    }
    size_t judged = count_verdicts(compare, false), decided = count_verdicts(compare, true);
    if (compare->luck > 0.05)
        strbuf_addf(out,
                    "So few runs fall apart by luck once in %.0f times: verdicts are likely ones. "
                    "Four of each settle it.\n",
                    1 / compare->luck);
    if (decided > 0)
        strbuf_addf(out,
                    "%s of %s rows changed by more than their noise; %s of all rows would by luck "
                    "alone.\n",
                    unit_count(decided).text, unit_count(judged).text,
                    unit_percent(compare->luck > 0.05 ? compare->luck : 0.05).text);
}

static void remark_cut(const struct compare *compare, struct strbuf *out)
{
    bool is_cut = false;
    array_each(&compare->matrix->runs, run) for (size_t i = 0; i < RUN_SECTIONS; i++) is_cut |=
        run->is_cut[i];
    if (is_cut)
        strbuf_add(out, "A stored report holds only a part of its rows (--top, --percent-above or "
                        "--unit): what it lacks is not known, and not compared.\n");
}

static void remark_failure(const struct compare *compare, const struct compare_view *view,
                           struct strbuf *out)
{
    if (isnan(view->fail_above))
        return;
    if (!compare->judged) {
        strbuf_add(out, "--fail-above: no total is known on both sides.\n");
        return;
    }
    const struct run_row *row = &compare->matrix->rows.items[compare->judged->row];
    strbuf_addf(out, "--fail-above %s: %s changed by %s: %s.\n",
                unit_percent(view->fail_above).text, run_matrix_text(compare->matrix, row->key),
                isnan(compare->judged->share)
                    ? signed_text(compare->judged->change, AMOUNT_SECONDS).text
                    : share_text(compare->judged->share).text,
                compare_fails(compare, view->fail_above)    ? "failed"
                : compare->judged->verdict == COMPARE_NOISE ? "passed, it is noise"
                                                            : "passed");
}

void compare_remarks(const struct compare *compare, const struct compare_view *view,
                     struct strbuf *out)
{
    remark_failed_runs(compare, out);
    run_losses_text(compare->matrix, out);
    remark_conditions(compare, out);
    remark_crowds(compare, out);
    remark_coverage(compare, out);
    remark_lacks(compare, out);
    remark_cut(compare, out);
    remark_noise(compare, out);
    remark_failure(compare, view, out);
}
