#include "output/write_cargo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cargo_join.h"
#include "base/file.h"
#include "base/units.h"

enum { NAMES_SHOWN = 5, REASONS_SHOWN = 8, UNSEEN_SHOWN = 8 };

/* ---- why ---- */

struct why_row { /* units with the same reason */
    enum cargo_status status;
    const char *reason;              /* NULL */
    bool by_dependency, has_several; /* of them */
    size_t count;
    struct strbuf names, after; /* the latter with what was built before each */
};
struct why_rows LAM_ARRAY_BODY(struct why_row);

static bool same_reason(const struct why_row *row, const struct report_unit *unit)
{
    bool by_dependency = unit->reason_dep != NULL;
    if (row->by_dependency || by_dependency)
        return row->by_dependency == by_dependency;
    if (row->status != unit->status || !row->reason != !unit->reason)
        return false;
    return !row->reason || strcmp(row->reason, unit->reason) == 0;
}

static int add_unit(struct why_rows *rows, const struct report_unit *unit)
{
    struct why_row *found = NULL;
    array_each(rows, row)
    {
        if (same_reason(row, unit))
            found = row;
    }
    if (!found) {
        found = array_add(rows);
        if (!found)
            return LAM_E_NOMEM;
        found->status = unit->status;
        found->reason = unit->reason;
        found->by_dependency = unit->reason_dep != NULL;
    } else if (found->by_dependency && strcmp(found->reason, unit->reason) != 0)
        found->has_several = true;
    if (found->count < NAMES_SHOWN) {
        const char *before = found->count ? ", " : "";
        strbuf_addf(&found->names, "%s%s", before, unit->title);
        if (found->by_dependency)
            strbuf_addf(&found->after, "%s%s after %s", before, unit->title, unit->reason_dep);
    }
    found->count++;
    return LAM_OK;
}

/* Causes first, what they took along behind them, what was never there before last; then the most units first. */
static int rank(const struct why_row *row)
{
    return row->by_dependency ? 1 : row->status == CARGO_STATUS_NEW && !row->reason ? 2 : 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct why_row *left = a, *right = b;
    if (rank(left) != rank(right))
        return rank(left) - rank(right);
    return (left->count < right->count) - (left->count > right->count);
}

static int find_why(const struct report *report, const char *wanted, struct why_rows *rows)
{
    array_each(&report->units, unit)
    {
        bool was_built = unit->status == CARGO_STATUS_NEW || unit->status == CARGO_STATUS_DIRTY;
        if (was_built && report_unit_matches(unit, wanted) && add_unit(rows, unit) < 0)
            return LAM_E_NOMEM;
    }
    array_sort(rows, compare_rows);
    return LAM_OK;
}

static void free_why(struct why_rows *rows)
{
    array_each(rows, row)
    {
        strbuf_free(&row->names);
        strbuf_free(&row->after);
    }
    array_free(rows);
}

static void reason_cell(struct table *table, const struct why_row *row)
{
    if (row->has_several)
        table_cell(table, "a dependency was built");
    else if (row->status == CARGO_STATUS_NEW && row->reason)
        table_cellf(table, "new settings: %s", row->reason);
    else if (row->status == CARGO_STATUS_NEW)
        table_cell(table, "not built here before");
    else
        table_cell(table, row->reason ? row->reason : "not known");
}

static void names_cell(struct table *table, const struct why_row *row)
{
    const char *names = strbuf_text(row->has_several ? &row->after : &row->names);
    if (row->count > NAMES_SHOWN)
        table_cellf(table, "%s and %s more", names, unit_count(row->count - NAMES_SHOWN).text);
    else
        table_cell(table, names);
}

static int why_table(const struct why_rows *rows, const struct term *term, struct strbuf *out)
{
    struct table table = {.hides_header = true, .indent = 2};
    table_column(&table, "", TABLE_LEFT, 60);
    table_column(&table, "", TABLE_RIGHT, 0);
    table_column(&table, "", TABLE_LEFT, 0);
    for (size_t i = 0; i < rows->count && i < REASONS_SHOWN; i++) {
        const struct why_row *row = &rows->items[i];
        reason_cell(&table, row);
        table_cellf(&table, "%s unit%s", unit_count(row->count).text, unit_plural(row->count));
        names_cell(&table, row);
    }
    int rc = table_print(&table, term, out);
    if (rows->count > REASONS_SHOWN)
        strbuf_addf(out, "  and %s more reason%s (--format json has them)\n",
                    unit_count(rows->count - REASONS_SHOWN).text,
                    unit_plural(rows->count - REASONS_SHOWN));
    table_free(&table);
    return rc;
}

static void heading(const struct term *term, struct strbuf *out, const char *text)
{
    strbuf_add_char(out, '\n');
    style_add(out, term, STYLE_BOLD, text);
    strbuf_add_char(out, '\n');
}

/* ---- cargo itself ---- */

static void add_counts(const struct report *report, struct strbuf *out)
{
    const struct cargo_record *cargo = report->cargo;
    if (cargo->profile)
        strbuf_addf(out, "  profile %s ", cargo->profile);
    if (cargo->jobs)
        strbuf_addf(out, "  jobs %s ", unit_count(cargo->jobs).text);
    uint64_t left = report->cargo_not_begun;
    if (cargo->dirty != UINT64_MAX)
        strbuf_addf(out, "  units %s built",
                    unit_count(cargo->dirty > left ? cargo->dirty - left : 0).text);
    if (left > 0)
        strbuf_addf(out, ", %s not begun", unit_count(left).text);
    if (cargo->fresh != UINT64_MAX)
        strbuf_addf(out, ", %s fresh", unit_count(cargo->fresh).text);
    strbuf_add_char(out, '\n');
}

static void add_around(const struct report *report, struct strbuf *out)
{
    struct cargo_around around = cargo_around(report);
    if (isnan(around.before_s))
        return;
    strbuf_addf(out, "  before the first unit %s", unit_seconds(around.before_s).text);
    if (!isnan(around.after_s))
        strbuf_addf(out, "   after the last %s", unit_seconds(around.after_s).text);
    strbuf_addf(out, "   cargo's own CPU %s", unit_seconds((double)around.cpu_ns / 1e9).text);
    const char *before = ": ";
    for (size_t i = 0; i < around.part_count; i++) {
        const struct cargo_part *part = &around.parts[i];
        if (!part->detail || part->amount.cpu_ns * 50 < around.cpu_ns)
            continue;
        strbuf_addf(out, "%s%s %s", before, part->detail,
                    unit_seconds((double)part->amount.cpu_ns / 1e9).text);
        before = ", ";
    }
    strbuf_add_char(out, '\n');
}

/* Whether compilers were called through a program that may have had the result already. */
static bool has_wrapper(const struct report *report)
{
    static const char *const caches[] = {"sccache", "cachepot", "kache"};
    array_each(&report->settings, setting)
    {
        if (strstr(setting->key, "RUSTC") && strstr(setting->key, "WRAPPER") && setting->value[0])
            return true;
    }
    array_each(&report->processes, process)
    {
        for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
            if (strcmp(path_name(process->exe), caches[i]) == 0)
                return true;
    }
    return false;
}

static int add_unseen(const struct report *report, struct strbuf *out)
{
    size_t count = report->cargo_unseen.count;
    if (count == 0)
        return LAM_OK;
    struct arena arena = {0};
    strbuf_addf(out, "  %s unit%s that cargo ran left no process in the recording: ",
                unit_count(count).text, unit_plural(count));
    for (size_t i = 0; i < count && i < UNSEEN_SHOWN; i++) {
        const char *title =
            cargo_unit_title(&report->cargo->units.items[report->cargo_unseen.items[i]], &arena);
        strbuf_add(out, i ? ", " : "");
        if (title)
            strbuf_add_printable(out, title, strlen(title));
    }
    strbuf_add(out, count > UNSEEN_SHOWN ? ", …" : "");
    strbuf_add(out, has_wrapper(report)
                        ? "; a wrapper of rustc's is set, its cache may have had them\n"
                        : "\n");
    arena_free(&arena);
    return LAM_OK;
}

int write_cargo_text(const struct report *report, const struct report_view *view,
                     const struct term *term, struct strbuf *out)
{
    struct why_rows rows = {0};
    if (!view->by_unit)
        return LAM_OK;
    int rc = find_why(report, view->unit, &rows);
    if (rc == LAM_OK && rows.count > 0) {
        heading(term, out, "Why it was built");
        rc = why_table(&rows, term, out);
    }
    free_why(&rows);
    if (rc < 0 || view->unit || (!report->cargo && !report->cargo_note))
        return rc;
    heading(term, out, "What cargo says");
    if (report->cargo_note)
        strbuf_addf(out, "  %s\n", report->cargo_note);
    if (!report->cargo)
        return LAM_OK;
    add_counts(report, out);
    add_around(report, out);
    return add_unseen(report, out);
}

/* ---- JSON ---- */

static void put_seconds(struct json_writer *json, const char *key, double seconds)
{
    json_member_fixed(json, key, seconds, 9);
}

static void put_count(struct json_writer *json, const char *key, uint64_t count, uint64_t unknown)
{
    if (count == unknown)
        json_member_null(json, key);
    else
        json_member_u64(json, key, count);
}

static void put_unseen(struct json_writer *json, const struct report *report)
{
    struct arena arena = {0};
    double zero_s = (double)report->cargo_zero_ns / 1e9;
    const char *capture = has_wrapper(report) ? "cached" : NULL;
    json_member_array(json, "unseen");
    array_each(&report->cargo_unseen, index)
    {
        const struct cargo_unit *unit = &report->cargo->units.items[*index];
        json_put_object(json);
        json_member_str(json, "unit", cargo_unit_title(unit, &arena));
        json_member_str(json, "package", unit->package);
        json_member_str(json, "version", unit->version);
        json_member_str(json, "mode", unit->mode);
        put_seconds(json, "start_s", unit->start_s + zero_s);
        put_seconds(json, "end_s", unit->end_s + zero_s);
        json_member_bool(json, "finished", unit->is_finished);
        json_member_str(json, "capture", capture);
        json_put_end(json);
    }
    json_put_end(json);
    arena_free(&arena);
}

/* By name: what the log and the list of messages say, and what was found of the page's. */
static void put_fresh(struct json_writer *json, const struct report *report)
{
    struct arena arena = {0};
    json_member_array(json, "fresh_units");
    array_each(&report->cargo->units, unit)
    {
        if (unit->status != CARGO_STATUS_FRESH)
            continue;
        struct strbuf features = {0};
        for (size_t i = 0; i < unit->feature_count; i++)
            strbuf_addf(&features, "%s%s", i ? "," : "", unit->features[i]);
        json_put_object(json);
        json_member_str(json, "unit", cargo_unit_title(unit, &arena));
        json_member_str(json, "package", unit->package);
        json_member_str(json, "version", unit->version);
        json_member_str(json, "mode", unit->mode);
        json_member_str(json, "features", unit->has_features ? strbuf_text(&features) : NULL);
        json_member_str(json, "opt_level", unit->opt_level);
        json_member_str(json, "debug_info", unit->debug_info);
        json_member_str(json, "files", unit->files);
        json_put_end(json);
        strbuf_free(&features);
    }
    json_put_end(json);
    arena_free(&arena);
}

static void put_concurrency(struct json_writer *json, const struct report *report)
{
    double zero_s = (double)report->cargo_zero_ns / 1e9;
    json_member_array(json, "concurrency");
    array_each(&report->cargo->concurrency, point)
    {
        json_put_object(json);
        put_seconds(json, "t_s", point->t_s + zero_s);
        json_member_u64(json, "running", point->active);
        json_member_u64(json, "waiting", point->waiting);
        json_member_u64(json, "inactive", point->inactive);
        json_put_end(json);
    }
    json_put_end(json);
}

static void put_own(struct json_writer *json, const struct report *report,
                    const struct cargo_around *around)
{
    json_member_array(json, "own");
    for (size_t i = 0; i < around->part_count; i++) {
        const struct cargo_part *part = &around->parts[i];
        struct phase_bucket bucket = classifier_bucket(report->cls, part->bucket);
        json_put_object(json);
        json_member_str(json, "segment", phase_segment_name(bucket.segment));
        json_member_str(json, "phase", bucket.phase_name);
        json_member_str(json, "detail", bucket.detail);
        json_member_u64(json, "samples", part->amount.samples);
        put_seconds(json, "cpu_s", (double)part->amount.cpu_ns / 1e9);
        put_seconds(json, "late_cpu_s", (double)part->amount.late_ns / 1e9);
        json_put_end(json);
    }
    json_put_end(json);
}

void write_cargo_json(struct json_writer *json, const struct report *report)
{
    const struct cargo_record *cargo = report->cargo;
    if (!cargo)
        return;
    static const char *const sources[] = {
        [CARGO_FROM_TIMINGS] = "timings", [CARGO_FROM_LOG] = "log", [CARGO_FROM_MESSAGES] = "messages"};
    struct cargo_around around = cargo_around(report);
    json_member_object(json, "cargo");
    json_member_str(json, "source", sources[cargo->source]);
    json_member_bool(json, "messages", cargo->has_messages);
    json_member_str(json, "profile", cargo->profile);
    json_member_str(json, "rustc", cargo->rustc);
    json_member_str(json, "host", cargo->host);
    put_count(json, "jobs", cargo->jobs, 0);
    put_count(json, "cores", cargo->cores, 0);
    put_count(json, "fresh", cargo->fresh, UINT64_MAX);
    put_count(json, "built", cargo->dirty, UINT64_MAX);
    json_member_u64(json, "not_begun", report->cargo_not_begun);
    put_count(json, "known_before",
              report->cargo_notes ? report->cargo_notes->known_before : UINT64_MAX, UINT64_MAX);
    if (cargo->has_success)
        json_member_bool(json, "success", cargo->success);
    else
        json_member_null(json, "success");
    put_seconds(json, "zero_s", (double)report->cargo_zero_ns / 1e9);
    put_seconds(json, "before_first_s", around.before_s);
    put_seconds(json, "after_last_s", around.after_s);
    put_seconds(json, "resolve_s", cargo->resolve_end_s - cargo->resolve_start_s);
    put_seconds(json, "units_known_s", cargo->graph_end_s);
    put_own(json, report, &around);
    put_concurrency(json, report);
    put_fresh(json, report);
    put_unseen(json, report);
    json_put_end(json);
}
