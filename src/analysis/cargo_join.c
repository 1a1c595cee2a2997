#include "analysis/cargo_join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "build/cargo_unit.h"

enum {
    SLACK_NS = 100000000,      /* between cargo's clock and the launcher's */
    SLACK_OLD_NS = 2000000000, /* of pages that say whole seconds */
};

#define FRESH_S 0.5 /* a fresh unit takes a moment: to link its files into place */

struct pair {
    uint32_t unit, cargo;
    double away_s; /* between the two starts */
};

struct join {
    struct report *report;
    struct cargo_record *cargo;
    LAM_ARRAY(struct pair) pairs; /* that could be, before any clock */
    uint32_t *unit_of;            /* by cargo unit: index of report.units, REPORT_NO_UNIT */
};

/* ---- which could be which ---- */

/* Cargo's names of packages have dashes where crates have underscores. */
static bool same_crate(const char *name, const char *crate)
{
    if (!name || !crate)
        return false;
    for (; *name && *crate; name++, crate++)
        if (*name != *crate && !(*name == '-' && *crate == '_'))
            return false;
    return *name == *crate;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* "a,b" as the command line has them, in any order, against the list of cargo's: sorted, without repetition. */
static bool same_features(const struct cargo_unit *cargo, const char *features)
{
    size_t found = 0, count = 0;
    for (const char *at = features; at && *at;) {
        size_t length = strcspn(at, ",");
        count++;
        for (size_t i = 0; i < cargo->feature_count; i++)
            found +=
                strlen(cargo->features[i]) == length && memcmp(cargo->features[i], at, length) == 0;
        at += length;
        at += *at == ',';
    }
    return count == cargo->feature_count && found == count;
}

static bool is_test_mode(const char *mode)
{
    return strcmp(mode, "test") == 0 || strcmp(mode, "check-test") == 0 || strcmp(mode, "bench") == 0;
}

/* Cargo calls a unit that clippy looks at a check. */
static bool is_check_mode(const char *mode)
{
    return same_text(mode, "check") || same_text(mode, "clippy");
}

/* Program or library: what the command line says of the crate's type, else of the file. */
static bool same_kind(const struct cargo_unit *cargo, const struct unit *unit)
{
    bool wants_lib = cargo_kind_is_library(cargo->kind);
    if (unit->crate_type)
        return wants_lib != (strcmp(unit->crate_type, "bin") == 0);
    if (!unit->source || strcmp(cargo->kind, "bench") == 0)
        return true;
    bool is_lib = text_ends_with(unit->source, "lib.rs");
    bool is_main = text_ends_with(unit->source, "main.rs") || strstr(unit->source, "src/bin/");
    return wants_lib ? !is_main : !is_lib;
}

/* The directory of a package that lies in a path: "path+file:///DIR#0.1.0", of the session log. */
static bool same_directory(const struct cargo_unit *cargo, const struct unit *unit)
{
    static const char start[] = "path+file://";
    const char *id = cargo->package_id;
    if (!id || !text_starts_with(id, start) || !unit->source || unit->source[0] != '/')
        return true;
    id += strlen(start);
    size_t length = strcspn(id, "#");
    return strncmp(unit->source, id, length) == 0 && unit->source[length] == '/';
}

static bool same_compilation(const struct cargo_unit *cargo, const struct unit *unit)
{
    bool is_script = strcmp(cargo->kind, "build-script") == 0;
    if (is_script != same_text(unit->mode, "build-script"))
        return false;
    if (is_script)
        return same_text(unit->package, cargo->package);
    if (is_test_mode(cargo->mode) != same_text(unit->mode, "test"))
        return false;
    if (is_check_mode(unit->mode) != (strcmp(cargo->mode, "check") == 0) && !is_test_mode(cargo->mode))
        return false;
    /* The page does not name a library that is called otherwise than its package. */
    bool is_named = same_crate(cargo->target ? cargo->target : cargo->package, unit->crate) ||
                    (!cargo->target && same_text(unit->package, cargo->package));
    return is_named && same_kind(cargo, unit);
}

static bool same_platform(const struct cargo_record *record, const struct cargo_unit *cargo,
                          const struct unit *unit)
{
    if (!cargo->platform)
        return true;
    return unit->target ? strcmp(unit->target, cargo->platform) == 0
                        : !record->host || strcmp(record->host, cargo->platform) == 0;
}

/* The hash that cargo gives a unit is in the names of its files. */
static bool same_hash(const struct cargo_unit *cargo, const struct unit *unit)
{
    const char *name = unit->extra_filename;
    return !cargo->hash || !name || name[0] != '-' || strcmp(name + 1, cargo->hash) == 0;
}

static bool could_be(const struct cargo_record *record, const struct cargo_unit *cargo,
                     const struct unit *unit)
{
    static const enum unit_kind kinds[] = {
        [CARGO_JOB_COMPILE] = UNIT_RUSTC, [CARGO_JOB_DOC] = UNIT_RUSTDOC, [CARGO_JOB_RUN_SCRIPT] = UNIT_BUILD_SCRIPT};
    if (unit->kind != kinds[cargo->job] || same_text(unit->mode, "probe"))
        return false;
    if (unit->version && strcmp(unit->version, cargo->version) != 0)
        return false;
    if (cargo->job == CARGO_JOB_RUN_SCRIPT)
        return same_text(unit->package, cargo->package);
    if (cargo->job == CARGO_JOB_DOC)
        return same_crate(cargo->target ? cargo->target : cargo->package, unit->crate);
    return same_compilation(cargo, unit) && same_directory(cargo, unit) &&
           same_platform(record, cargo, unit) && same_hash(cargo, unit) &&
           (!cargo->has_features || same_features(cargo, unit->features));
}

static int find_pairs(struct join *join)
{
    const struct report *report = join->report;
    for (uint32_t c = 0; c < join->cargo->units.count; c++) {
        const struct cargo_unit *cargo = &join->cargo->units.items[c];
        bool has_times = join->cargo->source != CARGO_FROM_MESSAGES;
        if (cargo->status == CARGO_STATUS_FRESH || (has_times && isnan(cargo->start_s)))
            continue;
        for (uint32_t u = 0; u < report->units.count; u++) {
            struct pair pair = {.unit = u, .cargo = c};
            if (could_be(join->cargo, cargo, &report->units.items[u].info) &&
                array_push(&join->pairs, pair) < 0)
                return LAM_E_NOMEM;
        }
    }
    return LAM_OK;
}

/* ---- which is which ---- */

static double unit_start_s(const struct report *report, uint32_t unit)
{
    return (double)report->processes.items[report->units.items[unit].process].start_ns / 1e9;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    if (left->away_s != right->away_s)
        return left->away_s < right->away_s ? -1 : 1;
    if (left->cargo != right->cargo)
        return left->cargo < right->cargo ? -1 : 1;
    return (left->unit > right->unit) - (left->unit < right->unit);
}

/* The nearest first; each unit is taken once. Returns how many. */
static size_t choose(struct join *join, double zero_s)
{
    size_t count = 0;
    array_each(&join->pairs, pair)
    {
        double start_s = join->cargo->units.items[pair->cargo].start_s + zero_s;
        pair->away_s = isnan(start_s) ? 0 : fabs(unit_start_s(join->report, pair->unit) - start_s);
    }
    array_sort(&join->pairs, compare_pairs);
    for (size_t i = 0; i < join->cargo->units.count; i++)
        join->unit_of[i] = REPORT_NO_UNIT;
    array_each(&join->report->units, unit) unit->cargo = CARGO_NONE;
    array_each(&join->pairs, pair)
    {
        struct report_unit *unit = &join->report->units.items[pair->unit];
        if (unit->cargo != CARGO_NONE || join->unit_of[pair->cargo] != REPORT_NO_UNIT)
            continue;
        unit->cargo = pair->cargo;
        join->unit_of[pair->cargo] = pair->unit;
        count++;
    }
    return count;
}

/* ---- by who needed whom ---- */

static int compare_by_cargo(const void *a, const void *b)
{
    const struct pair *left = a, *right = b;
    if (left->cargo != right->cargo)
        return left->cargo < right->cargo ? -1 : 1;
    return (left->unit > right->unit) - (left->unit < right->unit);
}

/* Of pairs by cargo's units: the first of one. */
static size_t first_pair(const struct join *join, uint32_t cargo)
{
    size_t low = 0, high = join->pairs.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (join->pairs.items[middle].cargo < cargo)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool could_be_pair(const struct join *join, uint32_t cargo, uint32_t unit)
{
    for (size_t i = first_pair(join, cargo);
         i < join->pairs.count && join->pairs.items[i].cargo == cargo; i++)
        if (join->pairs.items[i].unit == unit)
            return true;
    return false;
}

/* The file of a dependency carries its hash, and whoever needs it names the file. */
static bool needs(const struct unit *unit, const struct unit *dep)
{
    size_t length = dep->extra_filename ? strlen(dep->extra_filename) : 0;
    for (size_t i = 0; length > 0 && i < unit->input_count; i++) {
        const char *at = strstr(path_name(unit->inputs[i]), dep->extra_filename);
        if (at && at[length] == '.')
            return true;
    }
    return false;
}

static size_t count_needing(const struct join *join, const struct cargo_ids *ids, uint32_t unit)
{
    const struct report_unit *units = join->report->units.items;
    size_t count = 0;
    for (size_t i = 0; i < ids->count; i++) {
        uint32_t other = ids->items[i] < join->cargo->units.count ? join->unit_of[ids->items[i]]
                                                                  : REPORT_NO_UNIT;
        count += other != REPORT_NO_UNIT && needs(&units[other].info, &units[unit].info);
    }
    return count;
}

/* How many of those that cargo says waited for this unit name that process's file. */
static size_t how_right(const struct join *join, uint32_t cargo, uint32_t unit)
{
    const struct cargo_unit *said = &join->cargo->units.items[cargo];
    if (unit == REPORT_NO_UNIT)
        return 0;
    return count_needing(join, &said->unblocked, unit) +
           count_needing(join, &said->unblocked_rmeta, unit);
}

static void put_together(struct join *join, uint32_t cargo, uint32_t unit)
{
    join->unit_of[cargo] = unit;
    if (unit != REPORT_NO_UNIT)
        join->report->units.items[unit].cargo = cargo;
}

/* One package can be compiled several times at the same moment: two versions of it, or for the host and for the target. Times then say
 * little. The page does not say a unit's hash, but whom it unblocked, and the command lines of those name what they waited for. From the
 * last units to the first, so that the ones that waited are settled. */
static void untangle(struct join *join)
{
    array_sort(&join->pairs, compare_by_cargo);
    for (uint32_t cargo = (uint32_t)join->cargo->units.count; cargo-- > 0;) {
        uint32_t own = join->unit_of[cargo];
        for (size_t i = first_pair(join, cargo);
             own != REPORT_NO_UNIT && i < join->pairs.count && join->pairs.items[i].cargo == cargo;
             i++) {
            uint32_t unit = join->pairs.items[i].unit, other = join->report->units.items[unit].cargo;
            if (unit == own || (other != CARGO_NONE && !could_be_pair(join, other, own)))
                continue;
            size_t before = how_right(join, cargo, own), after = how_right(join, cargo, unit);
            if (other != CARGO_NONE) {
                before += how_right(join, other, unit);
                after += how_right(join, other, own);
            }
            if (after <= before)
                continue;
            join->report->units.items[own].cargo = CARGO_NONE;
            if (other != CARGO_NONE)
                put_together(join, other, own);
            put_together(join, cargo, unit);
            own = unit;
        }
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Processes begin after cargo's note of it, on a busy machine long after: cargo's zero is among the least of the differences,
 * whatever its page says. Not the very least: times are rounded, and a pair may be wrong. */
static int measure_zero(struct join *join, double *zero_s)
{
    LAM_ARRAY(double) zeros = {0};
    int rc = LAM_OK;
    for (uint32_t c = 0; c < join->cargo->units.count && rc == LAM_OK; c++) {
        double start_s = join->cargo->units.items[c].start_s;
        if (join->unit_of[c] != REPORT_NO_UNIT && isfinite(start_s)) {
            double zero = unit_start_s(join->report, join->unit_of[c]) - start_s;
            rc = array_push(&zeros, zero);
        }
    }
    array_sort(&zeros, compare_doubles);
    if (zeros.count > 0)
        *zero_s = zeros.items[zeros.count / 10];
    array_free(&zeros);
    return rc;
}

/* ---- of this build ---- */

static bool is_outside(const struct report *report, const struct cargo_record *cargo)
{
    const struct profile_session *session = &report->session;
    if (!cargo->has_started_at || session->started_at_unix_ns == 0)
        return false;
    int64_t at_ns = cargo->started_at_unix_ns - session->started_at_unix_ns;
    int64_t slack_ns = cargo->started_at_unix_ns % 1000000000 ? SLACK_NS : SLACK_OLD_NS;
    return at_ns < -slack_ns || (session->elapsed_ns != PROFILE_UNKNOWN &&
                                 at_ns > (int64_t)session->elapsed_ns + slack_ns);
}

/* The page of a failed build lists what it did not get to as it lists what is fresh: from 0 to 0. */
static bool never_began(const struct cargo_record *cargo, const struct cargo_unit *unit)
{
    return cargo->source == CARGO_FROM_TIMINGS && unit->start_s == 0 && unit->end_s == 0;
}

/* What ran as a process of its own: cargo lists documentation tests as units that may never run. A list without times says it of
 * compilations alone. */
static bool has_run(const struct cargo_record *cargo, const struct cargo_unit *unit)
{
    if (cargo->source == CARGO_FROM_MESSAGES)
        return unit->is_built;
    return !never_began(cargo, unit) && unit->status != CARGO_STATUS_FRESH &&
           !isnan(unit->start_s) && strcmp(unit->mode, "doctest") != 0;
}

static size_t count_run(const struct cargo_record *cargo)
{
    size_t count = 0;
    array_each(&cargo->units, unit) count += has_run(cargo, unit);
    return count;
}

static size_t count_rust(const struct report *report)
{
    size_t count = 0;
    array_each(&report->units, unit) count +=
        (unit->info.kind == UNIT_RUSTC || unit->info.kind == UNIT_RUSTDOC) &&
        !same_text(unit->info.mode, "probe");
    return count;
}

static void drop_record(struct report *report, const char *why)
{
    report->cargo_note = arena_printf(&report->arena, "cargo's record was left out: %s", why);
    cargo_record_free(report->cargo);
    mem_free(report->cargo);
    report->cargo = NULL;
    array_each(&report->units, unit) unit->cargo = CARGO_NONE;
}

/* Whether the launcher saw the unit's fingerprint change. */
static bool was_caused(const struct cargo_notes *notes, const struct cargo_unit *unit)
{
    const char *prefix = unit->job == CARGO_JOB_RUN_SCRIPT         ? "run-build-script-"
                         : strcmp(unit->kind, "build-script") == 0 ? "build-script-"
                                                                   : "";
    for (size_t i = 0; i < notes->causes.count; i++) {
        const struct cargo_cause *cause = &notes->causes.items[i];
        bool is_script = strstr(cause->unit, "build-script-") != NULL;
        if (strcmp(cause->package, unit->package) == 0 && is_script == (*prefix != 0) &&
            text_starts_with(cause->unit, prefix))
            return true;
    }
    return false;
}

struct unjoined {
    uint32_t cargo;
    double seconds;
    bool was_caused;
};

static int compare_unjoined(const void *a, const void *b)
{
    const struct unjoined *left = a, *right = b;
    if (left->was_caused != right->was_caused)
        return left->was_caused - right->was_caused;
    return (left->seconds > right->seconds) - (left->seconds < right->seconds);
}

/* Cargo's page lists fresh units among the others and does not say which: only how many. Where cargo's list does not tell either, of those without a process they are
 * the ones whose fingerprints did not change, and which took no time. */
static int mark_fresh(struct join *join)
{
    struct cargo_record *cargo = join->cargo;
    LAM_ARRAY(struct unjoined) rest = {0};
    if (cargo->source != CARGO_FROM_TIMINGS || cargo->fresh == UINT64_MAX)
        return LAM_OK;
    int rc = LAM_OK;
    size_t left = cargo->fresh;
    array_each(&cargo->units, unit) left -= unit->status == CARGO_STATUS_FRESH && left > 0;
    for (uint32_t c = 0; c < cargo->units.count && rc == LAM_OK; c++) {
        const struct cargo_unit *unit = &cargo->units.items[c];
        struct unjoined one = {.cargo = c, .seconds = unit->end_s - unit->start_s};
        one.was_caused = join->report->cargo_notes && was_caused(join->report->cargo_notes, unit);
        if (join->unit_of[c] == REPORT_NO_UNIT && unit->status == CARGO_STATUS_UNKNOWN &&
            !unit->is_built && !isnan(one.seconds))
            rc = array_push(&rest, one);
    }
    array_sort(&rest, compare_unjoined);
    for (size_t i = 0; i < rest.count && i < left && rest.items[i].seconds <= FRESH_S; i++)
        cargo->units.items[rest.items[i].cargo].status = CARGO_STATUS_FRESH;
    array_free(&rest);
    return rc;
}

static int list_unseen(struct join *join)
{
    int rc = mark_fresh(join);
    if (rc < 0)
        return rc;
    for (uint32_t c = 0; c < join->cargo->units.count; c++) {
        const struct cargo_unit *unit = &join->cargo->units.items[c];
        if (join->unit_of[c] != REPORT_NO_UNIT)
            continue;
        join->report->cargo_not_begun +=
            unit->status == CARGO_STATUS_UNKNOWN && never_began(join->cargo, unit);
        if (has_run(join->cargo, unit) && array_push(&join->report->cargo_unseen, c) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static int join_units(struct join *join)
{
    struct report *report = join->report;
    struct cargo_record *cargo = join->cargo;
    double zero_s = 0;
    if (cargo->has_started_at && report->session.started_at_unix_ns)
        zero_s = (double)(cargo->started_at_unix_ns - report->session.started_at_unix_ns) / 1e9;
    int rc = find_pairs(join);
    if (rc < 0)
        return rc;
    (void)choose(join, zero_s);
    if ((rc = measure_zero(join, &zero_s)) < 0)
        return rc;
    size_t joined = choose(join, zero_s);
    untangle(join);
    size_t run = count_run(cargo), seen = count_rust(report);
    if (seen > 0 && joined * 2 < (run < seen ? run : seen)) {
        drop_record(report, "most of the units in it were not seen to run");
        return LAM_OK;
    }
    report->cargo_zero_ns = (int64_t)llround(zero_s * 1e9);
    return list_unseen(join);
}

/* ---- why ---- */

/* A library for C (and a program for the web) is written to a file that others look for by its name: cargo puts no hash into that.
 * Probes of build scripts, which borrow the crate's name, are not cargo's: those have no metadata of its making. */
static bool is_cause_by_name(const struct cargo_cause *cause, const struct unit *unit)
{
    static const char *const targets[] = {"lib-", "bin-", "example-"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (text_starts_with(cause->unit, targets[i]))
            return unit->kind == UNIT_RUSTC && same_text(unit->mode, "build") && unit->metadata &&
                   same_crate(cause->unit + strlen(targets[i]), unit->crate);
    return false;
}

/* The run of a script has no hash in its command line: its package and place tell. */
static bool is_cause_of(const struct cargo_cause *cause, const struct unit *unit)
{
    if (unit->kind == UNIT_BUILD_SCRIPT)
        return text_starts_with(cause->unit, "run-build-script-") &&
               same_text(cause->package, unit->package);
    const char *hash = unit->extra_filename;
    if (!hash)
        return is_cause_by_name(cause, unit);
    return hash[0] == '-' && strcmp(hash + 1, cause->hash) == 0;
}

static void join_causes(struct report *report)
{
    const struct cargo_notes *notes = report->cargo_notes;
    array_each(&report->units, unit)
    {
        const struct cargo_unit *cargo = report_cargo_unit(report, unit);
        if (cargo && cargo->status != CARGO_STATUS_UNKNOWN) { /* cargo's own word */
            unit->status = cargo->status;
            unit->reason = cargo->reason;
            unit->reason_dep =
                cargo->reason_unit == CARGO_NONE
                    ? NULL
                    : cargo_reason_name(&report->cargo->units.items[cargo->reason_unit], cargo);
            continue;
        }
        for (size_t i = 0; notes && i < notes->causes.count; i++) {
            const struct cargo_cause *cause = &notes->causes.items[i];
            if (!is_cause_of(cause, &unit->info))
                continue;
            unit->status = cause->status;
            unit->reason = cause->reason;
            unit->reason_dep = cause->dependency;
            break;
        }
    }
}

static int join_record(struct report *report)
{
    if (!report->cargo)
        return LAM_OK;
    if (is_outside(report, report->cargo)) {
        drop_record(report, "it is of a build at another time");
        return LAM_OK;
    }
    struct join join = {.report = report, .cargo = report->cargo};
    join.unit_of = mem_zalloc(report->cargo->units.count + 1, sizeof *join.unit_of);
    int rc = join.unit_of ? join_units(&join) : LAM_E_NOMEM;
    array_free(&join.pairs);
    mem_free(join.unit_of);
    return rc;
}

int cargo_join(struct report *report)
{
    array_each(&report->units, unit) unit->cargo = CARGO_NONE;
    int rc = join_record(report);
    if (rc == LAM_OK)
        join_causes(report);
    return rc;
}

int report_take_notes(struct report *report, struct cargo_notes *notes)
{
    report->cargo_notes = mem_alloc(sizeof *report->cargo_notes);
    if (!report->cargo_notes)
        return LAM_E_NOMEM;
    *report->cargo_notes = *notes;
    *notes = (struct cargo_notes){.known_before = UINT64_MAX};
    return LAM_OK;
}

int report_take_cargo(struct report *report, struct cargo_record *cargo)
{
    report->cargo = mem_alloc(sizeof *report->cargo);
    if (!report->cargo)
        return LAM_E_NOMEM;
    *report->cargo = *cargo;
    cargo_record_init(cargo);
    return LAM_OK;
}

const struct cargo_unit *report_cargo_unit(const struct report *report, const struct report_unit *unit)
{
    return report->cargo && unit->cargo != CARGO_NONE ? &report->cargo->units.items[unit->cargo]
                                                      : NULL;
}

int64_t report_cargo_ns(const struct report *report, double cargo_s)
{
    double ns = cargo_s * 1e9;
    return fabs(ns) < 1e18 ? report->cargo_zero_ns + (int64_t)ns : INT64_MAX;
}

/* ---- around the units ---- */

static int compare_parts(const void *a, const void *b)
{
    const struct cargo_part *left = a, *right = b;
    return (left->amount.cpu_ns < right->amount.cpu_ns) -
           (left->amount.cpu_ns > right->amount.cpu_ns);
}

/* Cells of a process have a bucket once for each role and codegen unit; cargo's threads have one. */
static void add_part(struct cargo_around *around, const struct report *report,
                     const struct report_cell *cell)
{
    struct cargo_part *part = NULL;
    for (size_t i = 0; i < around->part_count; i++)
        if (around->parts[i].bucket == cell->bucket)
            part = &around->parts[i];
    if (!part && around->part_count < CARGO_PARTS_MAX) {
        part = &around->parts[around->part_count++];
        *part = (struct cargo_part){.bucket = cell->bucket,
                                    .detail = classifier_bucket(report->cls, cell->bucket).detail};
    }
    around->cpu_ns += cell->amount.cpu_ns;
    if (!part)
        return;
    part->amount.samples += cell->amount.samples;
    part->amount.cpu_ns += cell->amount.cpu_ns;
    part->amount.late_ns += cell->amount.late_ns;
}

struct cargo_around cargo_around(const struct report *report)
{
    struct cargo_around around = {.before_s = NAN, .after_s = NAN};
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    array_each(&report->units, unit)
    {
        const struct report_process *process = &report->processes.items[unit->process];
        if (unit->cargo == CARGO_NONE)
            continue;
        first_ns = process->start_ns < first_ns ? process->start_ns : first_ns;
        last_ns = process->has_end && process->end_ns > last_ns ? process->end_ns : last_ns;
    }
    if (first_ns != INT64_MAX)
        around.before_s = (double)first_ns / 1e9;
    if (last_ns != INT64_MIN && report->session.elapsed_ns != PROFILE_UNKNOWN)
        around.after_s = ((double)report->session.elapsed_ns - (double)last_ns) / 1e9;
    array_each(&report->processes, process)
    {
        if (strcmp(path_name(process->exe), "cargo") != 0)
            continue;
        struct report_cells cells =
            report_cells(report, (uint32_t)(process - report->processes.items));
        for (size_t i = 0; i < cells.count; i++)
            add_part(&around, report, &cells.items[i]);
    }
    qsort(around.parts, around.part_count, sizeof *around.parts, compare_parts);
    return around;
}

void cargo_free(struct report *report)
{
    array_free(&report->cargo_unseen);
    if (report->cargo)
        cargo_record_free(report->cargo);
    mem_free(report->cargo);
    if (report->cargo_notes)
        cargo_notes_free(report->cargo_notes);
    mem_free(report->cargo_notes);
    header_costs_free(&report->headers);
    ninja_log_free(&report->ninja);
}
