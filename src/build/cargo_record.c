#include "build/cargo_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"

const char *cargo_status_name(enum cargo_status status)
{
    static const char *const names[CARGO_STATUS_COUNT] = {NULL, "fresh", "new", "dirty"};
    return (size_t)status < CARGO_STATUS_COUNT ? names[status] : NULL;
}

void cargo_record_init(struct cargo_record *record)
{
    *record = (struct cargo_record){.fresh = UINT64_MAX,
                                    .dirty = UINT64_MAX,
                                    .duration_s = NAN,
                                    .resolve_start_s = NAN,
                                    .resolve_end_s = NAN,
                                    .graph_end_s = NAN};
}

void cargo_record_free(struct cargo_record *record)
{
    array_free(&record->units);
    array_free(&record->concurrency);
    array_free(&record->cpu);
    arena_free(&record->arena);
    cargo_record_init(record);
}

struct cargo_unit *cargo_record_add(struct cargo_record *record)
{
    struct cargo_unit *unit = array_add(&record->units);
    if (unit)
        *unit = (struct cargo_unit){.package = "",
                                    .version = "",
                                    .kind = "lib",
                                    .mode = "build",
                                    .reason_unit = CARGO_NONE,
                                    .start_s = NAN,
                                    .end_s = NAN,
                                    .rmeta_s = NAN,
                                    .frontend_s = NAN,
                                    .codegen_s = NAN,
                                    .link_s = NAN,
                                    .other_s = NAN};
    return unit;
}

/* ---- order ---- */

/* NaN comes last. */
static int compare_times(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare_units(const void *a, const void *b)
{
    const struct cargo_unit *left = a, *right = b;
    int by_start = compare_times(left->start_s, right->start_s);
    return by_start ? by_start : (left->number > right->number) - (left->number < right->number);
}

/* Cargo's numbers become indexes; what is not in the record goes. The list lies in the record's arena, and is ours to change. */
static void to_indexes(struct cargo_ids *ids, const struct map *index_of)
{
    uint32_t *items = (uint32_t *)(uintptr_t)ids->items;
    size_t kept = 0;
    for (size_t i = 0; i < ids->count; i++) {
        uint64_t index;
        if (map_get(index_of, items[i], &index))
            items[kept++] = (uint32_t)index;
    }
    ids->count = kept;
}

static int number_units(struct cargo_record *record)
{
    struct map index_of = {0};
    int rc = LAM_OK;
    for (size_t i = 0; i < record->units.count && rc == LAM_OK; i++) {
        bool added;
        if (!map_slot(&index_of, record->units.items[i].number, i, &added))
            rc = LAM_E_NOMEM;
    }
    array_each(&record->units, unit)
    {
        to_indexes(&unit->deps, &index_of);
        to_indexes(&unit->unblocked, &index_of);
        to_indexes(&unit->unblocked_rmeta, &index_of);
        if (unit->reason_unit != CARGO_NONE)
            unit->reason_unit =
                (uint32_t)map_get_or(&index_of, unit->reason_unit, (uint64_t)CARGO_NONE);
    }
    map_free(&index_of);
    return rc;
}

/* ---- concurrency, where cargo did not sample it ---- */

struct step {
    double t_s;
    int active, waiting, inactive; /* changes */
};

static int compare_steps(const void *a, const void *b)
{
    const struct step *left = a, *right = b;
    return compare_times(left->t_s, right->t_s);
}

/* A unit is inactive until the last of those it waits for lets it start. */
static double ready_s(const struct cargo_record *record, const struct cargo_unit *unit)
{
    double ready = isnan(record->graph_end_s) ? 0 : record->graph_end_s;
    uint32_t self = (uint32_t)(unit - record->units.items);
    for (size_t i = 0; i < unit->deps.count; i++) {
        const struct cargo_unit *dep = &record->units.items[unit->deps.items[i]];
        double free_s = dep->end_s;
        for (size_t k = 0; k < dep->unblocked_rmeta.count; k++)
            if (dep->unblocked_rmeta.items[k] == self)
                free_s = dep->start_s + dep->rmeta_s;
        if (free_s > ready)
            ready = free_s;
    }
    return ready < unit->start_s ? ready : unit->start_s;
}

/* A record in which units end before they begin is none to trust, and none to count below nothing with. */
static uint32_t at_least_0(int64_t count)
{
    return count > 0 ? (uint32_t)count : 0;
}

static int derive_concurrency(struct cargo_record *record)
{
    LAM_ARRAY(struct step) steps = {0};
    int rc = LAM_OK;
    uint32_t total = 0;
    array_each(&record->units, unit)
    {
        if (isnan(unit->start_s) || rc < 0)
            continue;
        total++;
        struct step ready = {.t_s = ready_s(record, unit), .waiting = 1, .inactive = -1};
        struct step start = {.t_s = unit->start_s, .active = 1, .waiting = -1};
        struct step end = {.t_s = unit->end_s, .active = -1};
        if (array_push(&steps, ready) < 0 || array_push(&steps, start) < 0 ||
            (!isnan(unit->end_s) && array_push(&steps, end) < 0))
            rc = LAM_E_NOMEM;
    }
    array_sort(&steps, compare_steps);
    int64_t active = 0, waiting = 0, inactive = total;
    for (size_t i = 0; i < steps.count && rc == LAM_OK; i++) {
        const struct step *step = &steps.items[i];
        active += step->active;
        waiting += step->waiting;
        inactive += step->inactive;
        struct cargo_concurrency now = {step->t_s, at_least_0(active), at_least_0(waiting),
                                        at_least_0(inactive)};
        bool is_last = i + 1 == steps.count || steps.items[i + 1].t_s > step->t_s;
        if (is_last)
            rc = array_push(&record->concurrency, now);
    }
    array_free(&steps);
    record->is_concurrency_derived = true;
    return rc;
}

int cargo_record_finish(struct cargo_record *record)
{
    array_sort(&record->units, compare_units);
    int rc = number_units(record);
    if (rc == LAM_OK && record->source == CARGO_FROM_LOG && record->concurrency.count == 0)
        rc = derive_concurrency(record);
    return rc;
}

/* ---- texts ---- */

/* Digits of a fixed number, or -1. */
static int digits(const char **at, const char *end, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (*at == end || **at < '0' || **at > '9')
            return -1;
        value = value * 10 + (**at - '0');
    }
    return value;
}

static bool accept(const char **at, const char *end, char wanted)
{
    if (*at == end || **at != wanted)
        return false;
    (*at)++;
    return true;
}

bool cargo_time_parse(const char *text, size_t length, int64_t *unix_ns)
{
    const char *at = text, *end = text + length;
    struct tm tm = {0};
    int year = digits(&at, end, 4);
    bool ok = accept(&at, end, '-');
    int month = digits(&at, end, 2);
    ok = accept(&at, end, '-') && ok;
    int day = digits(&at, end, 2);
    ok = accept(&at, end, 'T') && ok;
    int hour = digits(&at, end, 2);
    ok = accept(&at, end, ':') && ok;
    int minute = digits(&at, end, 2);
    ok = accept(&at, end, ':') && ok;
    int second = digits(&at, end, 2);
    if (!ok || year < 1970 || year > 2261 || month < 1 || month > 12 || day < 1 || day > 31 ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    int64_t fraction_ns = 0;
    if (accept(&at, end, '.'))
        for (int64_t unit = 100000000; at < end && *at >= '0' && *at <= '9'; at++, unit /= 10)
            fraction_ns += (*at - '0') * unit;
    if (!accept(&at, end, 'Z') || at != end)
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    tm.tm_hour = hour;
    tm.tm_min = minute;
    tm.tm_sec = second;
    *unix_ns = (int64_t)timegm(&tm) * 1000000000 + fraction_ns;
    return true;
}

bool cargo_kind_is_library(const char *kind)
{
    return strstr(kind, "lib") || strcmp(kind, "proc-macro") == 0;
}

const char *cargo_unit_title(const struct cargo_unit *unit, struct arena *arena)
{
    bool is_script = strcmp(unit->kind, "build-script") == 0;
    const char *mode = unit->job == CARGO_JOB_RUN_SCRIPT  ? " (run)"
                       : strcmp(unit->mode, "build") == 0 ? ""
                                                          : arena_printf(arena, " (%s)", unit->mode);
    if (!mode)
        return NULL;
    if (is_script)
        return arena_printf(arena, "%s v%s build script%s", unit->package, unit->version, mode);
    if (unit->target && !cargo_kind_is_library(unit->kind))
        return arena_printf(arena, "%s v%s %s \"%s\"%s", unit->package, unit->version, unit->target,
                            unit->kind, mode);
    return arena_printf(arena, "%s v%s%s", unit->package, unit->version, mode);
}
