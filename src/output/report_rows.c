#include "output/report_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/units.h"

const char *report_severity_name(enum report_severity severity)
{
    static const char *const names[] = {"info", "note", "warning"};
    return names[severity];
}

double report_process_cpu_s(const struct report_process *process)
{
    return report_seconds(process->cpu_ns != PROFILE_UNKNOWN
                              ? process->cpu_ns
                              : process->amount.cpu_ns + process->amount.late_ns);
}

bool report_is_of_events(const struct report *report)
{
    return (report->session.has_intervals || report->end.refused_recorders > 0) &&
           !report->session.has_samples && report->session.charged_cpu_ns == PROFILE_UNKNOWN;
}

bool report_title_matches(const char *title, const char *wanted)
{
    return !wanted || glob_match_str(wanted, title) || strstr(title, wanted) != NULL;
}

bool report_unit_matches(const struct report_unit *unit, const char *wanted)
{
    return report_title_matches(unit->title, wanted);
}

bool report_process_matches(const struct report *report, uint32_t process, const char *wanted)
{
    uint32_t unit = report->processes.items[process].unit;
    return !wanted ||
           (unit != REPORT_NO_UNIT && report_unit_matches(&report->units.items[unit], wanted));
}

/* Whether events of any process were counted: with --unit, of those that are called so. */
static bool has_events(const struct report_view *view)
{
    bool has_any = false;
    for (size_t i = 0; view->labels && i < view->labels->processes.count; i++)
        has_any |= view->labels->processes.items[i].threads > 0;
    return has_any;
}

static void add_amount(struct report_amount *to, const struct report_amount *from)
{
    to->samples += from->samples;
    to->cpu_ns += from->cpu_ns;
    to->late_ns += from->late_ns;
}

static int compare_rows(const void *a, const void *b)
{
    const struct phase_row *left = a, *right = b;
    if (left->amount.cpu_ns != right->amount.cpu_ns)
        return left->amount.cpu_ns > right->amount.cpu_ns ? -1 : 1;
    return left->bucket < right->bucket ? -1 : left->bucket > right->bucket;
}

/* Sums of one selection: by bucket and by role. */
struct sums {
    struct report_amount *buckets;
    struct report_amount roles[ROLE_COUNT];
};

static void sum_process(const struct report *report, uint32_t process, struct sums *sums)
{
    struct report_cells cells = report_cells(report, process);
    for (size_t i = 0; i < cells.count; i++) {
        add_amount(&sums->buckets[cells.items[i].bucket], &cells.items[i].amount);
        add_amount(&sums->roles[cells.items[i].role], &cells.items[i].amount);
    }
}

static int fill_segments(const struct report *report, const struct sums *sums,
                         struct report_rows *rows)
{
    uint32_t phases = classifier_phase_count(report->cls),
             buckets = classifier_bucket_count(report->cls);
    for (uint32_t phase = 0; phase < phases; phase++) {
        struct segment_row *segment = &rows->segments[classifier_phase(report->cls, phase).segment];
        struct phase_row row = {.phase = phase, .bucket = phase};
        for (uint32_t bucket = 0; bucket < buckets; bucket++) {
            if (classifier_bucket(report->cls, bucket).phase != phase ||
                sums->buckets[bucket].samples == 0)
                continue;
            add_amount(&row.amount, &sums->buckets[bucket]);
            struct phase_row detail = {phase, bucket, sums->buckets[bucket]};
            if (array_push(&segment->details, detail) < 0)
                return LAM_E_NOMEM;
        }
        if (row.amount.samples == 0)
            continue;
        add_amount(&segment->amount, &row.amount);
        add_amount(&rows->total, &row.amount);
        if (array_push(&segment->phases, row) < 0)
            return LAM_E_NOMEM;
    }
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        rows->segments[i].segment = (enum phase_segment)i;
        array_sort(&rows->segments[i].phases, compare_rows);
        array_sort(&rows->segments[i].details, compare_rows);
    }
    return LAM_OK;
}

static int choose_units(const struct report *report, const struct report_view *view,
                        struct report_rows *rows)
{
    double charged = report_seconds(report_used_ns(report));
    for (uint32_t i = 0; i < report->units.count; i++) {
        const struct report_unit *unit = &report->units.items[i];
        if (!report_unit_matches(unit, view->unit))
            continue;
        rows->units_matching++;
        double share = report_process_cpu_s(&report->processes.items[unit->process]) / charged;
        bool is_small = view->percent_above > 0 && 100 * share < view->percent_above;
        bool is_full = view->top > 0 && rows->units.count >= view->top;
        if (!is_small && !is_full && array_push(&rows->units, i) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

int report_rows_make(const struct report *report, const struct report_view *view,
                     struct report_rows *rows, struct lam_error *err)
{
    memset(rows, 0, sizeof *rows);
    struct sums sums = {.buckets = mem_zalloc((size_t)classifier_bucket_count(report->cls) + 1,
                                              sizeof *sums.buckets)};
    int rc = sums.buckets ? choose_units(report, view, rows) : LAM_E_NOMEM;
    if (rc == LAM_OK && view->unit && rows->units_matching == 0 && !has_events(view)) {
        mem_free(sums.buckets);
        return lam_error_set(err, LAM_E_NOTFOUND, "no unit is called '%s'", view->unit);
    }
    if (rc == LAM_OK && !view->unit)
        sum_process(report, REPORT_NO_UNIT, &sums);
    for (uint32_t i = 0; rc == LAM_OK && view->unit && i < report->units.count; i++)
        if (report_unit_matches(&report->units.items[i], view->unit))
            sum_process(report, report->units.items[i].process, &sums);
    if (rc == LAM_OK)
        rc = fill_segments(report, &sums, rows);
    for (size_t i = 0; i < ROLE_COUNT; i++)
        rows->roles[i] = (struct role_row){(enum thread_role)i, sums.roles[i]};
    mem_free(sums.buckets);
    if (rc < 0) {
        report_rows_free(rows);
        return lam_error_set(err, rc, "report: out of memory");
    }
    return LAM_OK;
}

void report_rows_free(struct report_rows *rows)
{
    for (size_t i = 0; i < SEGMENT_COUNT; i++) {
        array_free(&rows->segments[i].phases);
        array_free(&rows->segments[i].details);
    }
    array_free(&rows->units);
}

/* Takes the largest amounts out of the list and writes them down. */
static void add_top_phases(const struct report *report, struct report_amount *amounts,
                           unsigned count, struct strbuf *text)
{
    uint32_t phases = classifier_phase_count(report->cls);
    uint64_t total = 0;
    for (uint32_t i = 0; i < phases; i++)
        total += amounts[i].cpu_ns;
    for (unsigned n = 0; n < count; n++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < phases; i++)
            if (amounts[i].cpu_ns > amounts[best].cpu_ns)
                best = i;
        double share = total ? (double)amounts[best].cpu_ns / (double)total : 0;
        if (share < 0.005)
            return;
        struct phase_bucket phase = classifier_phase(report->cls, best);
        const char *name = phase.segment == SEGMENT_UNKNOWN ? "unknown" : phase.phase_name;
        strbuf_addf(text, "%s%s %.0f%%", n ? ", " : "", name, 100 * share);
        amounts[best].cpu_ns = 0;
    }
}

int report_top_phases(const struct report *report, uint32_t process, unsigned count,
                      struct strbuf *text)
{
    struct report_amount *amounts = mem_zalloc(classifier_phase_count(report->cls), sizeof *amounts);
    if (!amounts)
        return LAM_E_NOMEM;
    report_by_phase(report, process, amounts);
    add_top_phases(report, amounts, count, text);
    mem_free(amounts);
    return LAM_OK;
}

static int compare_unsampled(const void *a, const void *b)
{
    const struct unsampled_row *left = a, *right = b;
    if (left->cpu_ns != right->cpu_ns)
        return left->cpu_ns > right->cpu_ns ? -1 : 1;
    return strcmp(left->title, right->title);
}

int report_unsampled_rows(const struct report *report, struct unsampled_rows *rows)
{
    struct map seen = {0};
    int rc = LAM_OK;
    array_each(&report->processes, process)
    {
        if (process->sampled == PROFILE_SAMPLED_YES)
            continue;
        const char *reason = process->sampled == PROFILE_SAMPLED_ACCOUNT_ONLY && process->why_not == 0
                                 ? "account only"
                                 : report_why_not(process->why_not);
        uint64_t key = hash_bytes_seed(process->title, strlen(process->title),
                                       hash_bytes(reason, strlen(reason)));
        bool added;
        uint64_t *slot = map_slot(&seen, key, rows->count, &added);
        struct unsampled_row fresh = {.title = process->title, .reason = reason};
        if (!slot || (added && array_push(rows, fresh) < 0)) {
            rc = LAM_E_NOMEM;
            break;
        }
        struct unsampled_row *row = &rows->items[*slot];
        row->count++;
        if (process->cpu_ns != PROFILE_UNKNOWN) {
            row->cpu_ns += process->cpu_ns;
            row->has_cpu = true;
        }
    }
    map_free(&seen);
    array_sort(rows, compare_unsampled);
    return rc;
}

/* ---- processes by program ---------------------------------------------------------------------------------------- */

static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static void add_to_group(struct process_group *group, const struct report_process *process,
                         uint32_t index)
{
    group->count++;
    group->samples += process->amount.samples;
    group->cpu_s += report_process_cpu_s(process);
    group->longest_wall_s = larger(group->longest_wall_s, report_process_wall_s(process));
    if (process->sampled != PROFILE_SAMPLED_YES)
        group->unsampled = index;
    uint64_t rss = process->has_usage ? process->usage.max_rss_bytes : PROFILE_UNKNOWN;
    if (rss != PROFILE_UNKNOWN &&
        (group->max_rss_bytes == PROFILE_UNKNOWN || rss > group->max_rss_bytes))
        group->max_rss_bytes = rss;
}

static int compare_groups(const void *a, const void *b)
{
    const struct process_group *left = a, *right = b;
    if (left->cpu_s != right->cpu_s)
        return left->cpu_s > right->cpu_s ? -1 : 1;
    return strcmp(left->title, right->title);
}

/* The group of each process, in *group_of. */
static int make_groups(const struct report *report, struct process_groups *groups, uint32_t *group_of)
{
    struct map seen = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < report->processes.count; i++) {
        const struct report_process *process = &report->processes.items[i];
        struct process_group fresh = {.title = process->title,
                                      .longest_wall_s = NAN,
                                      .max_rss_bytes = PROFILE_UNKNOWN,
                                      .unsampled = REPORT_NO_UNIT};
        bool added;
        uint64_t *slot = map_slot(&seen, hash_bytes(process->title, strlen(process->title)),
                                  groups->count, &added);
        if (!slot || (added && array_push(groups, fresh) < 0)) {
            rc = LAM_E_NOMEM;
            break;
        }
        group_of[i] = (uint32_t)*slot;
        add_to_group(&groups->items[*slot], process, i);
    }
    map_free(&seen);
    return rc;
}

/* The phases of each group: the cells of its processes added up. */
static int fill_group_phases(const struct report *report, unsigned phase_count,
                             struct process_groups *groups, const uint32_t *group_of)
{
    uint32_t phases = classifier_phase_count(report->cls);
    struct report_amount *amounts = mem_zalloc(groups->count * phases + 1, sizeof *amounts);
    if (!amounts)
        return LAM_E_NOMEM;
    array_each(&report->cells, cell)
    {
        struct phase_bucket bucket = classifier_bucket(report->cls, cell->bucket);
        add_amount(&amounts[group_of[cell->process] * (size_t)phases + bucket.phase], &cell->amount);
    }
    for (size_t i = 0; i < groups->count; i++)
        add_top_phases(report, amounts + i * phases, phase_count, &groups->items[i].phases);
    mem_free(amounts);
    return LAM_OK;
}

int report_process_groups(const struct report *report, unsigned phase_count,
                          struct process_groups *groups)
{
    uint32_t *group_of = mem_zalloc(report->processes.count + 1, sizeof *group_of);
    if (!group_of)
        return LAM_E_NOMEM;
    int rc = make_groups(report, groups, group_of);
    if (rc == LAM_OK)
        rc = fill_group_phases(report, phase_count, groups, group_of);
    mem_free(group_of);
    array_sort(groups, compare_groups);
    return rc;
}

void report_process_groups_free(struct process_groups *groups)
{
    array_each(groups, group) strbuf_free(&group->phases);
    array_free(groups);
}
