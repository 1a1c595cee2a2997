#include "analysis/replay_answers.h"

#include <math.h>
#include <string.h>

#include "base/map.h"

enum {
    UNITS_TRIED = 24, /* of which the best are shown */
    UNITS_SHOWN = 5,
    SPLITS_SHOWN = 2,
};

struct asking {
    struct replay_answers *answers;
    const struct replay *replay;
    struct lam_error *err;
};

static size_t count_named(const struct what_if *change, const struct report *report)
{
    size_t count = 0;
    array_each(&report->units, unit)
    {
        bool is_named = false;
        array_each(&change->units, named) is_named = is_named || what_if_names(named, unit);
        count += is_named;
    }
    return count;
}

static int ask(struct asking *asking, const char *text)
{
    struct what_if change;
    struct replay_answer answer = {.change = text};
    if (!text)
        return lam_error_set(asking->err, LAM_E_NOMEM, "replay: out of memory");
    int rc = what_if_parse(&change, text, &asking->answers->arena, asking->err);
    if (rc == LAM_OK)
        rc = what_if_check(&change, asking->replay->report, asking->err);
    if (rc == LAM_OK)
        rc = replay_run(asking->replay, &change, &answer.wall_s);
    answer.units = count_named(&change, asking->replay->report);
    what_if_free(&change);
    answer.saved_s = asking->answers->replayed_s - answer.wall_s;
    if (rc == LAM_OK)
        rc = array_push(&asking->answers->rows, answer);
    return rc == LAM_E_NOMEM ? lam_error_set(asking->err, rc, "replay: out of memory") : rc;
}

/* ---- what is usually asked --------------------------------------------------------------------------------------- */

static int compare_savings(const void *left, const void *right)
{
    const struct replay_answer *a = left, *b = right;
    if (a->saved_s != b->saved_s)
        return a->saved_s > b->saved_s ? -1 : 1;
    return strcmp(a->change, b->change);
}

/* Of the rows from `first` on the best; a saving that is not seen on a clock is none. */
static void keep_best(struct replay_answers *answers, size_t first, size_t most)
{
    double least_s = fmax(0.005 * answers->replayed_s, 0.01);
    struct replay_answer *rows = answers->rows.items + first;
    size_t count = answers->rows.count - first;
    if (count > 1)
        qsort(rows, count, sizeof *rows, compare_savings);
    while (count > 0 && (count > most || rows[count - 1].saved_s < least_s))
        count--;
    answers->rows.count = first + count;
}

static int ask_about_units(struct asking *asking, const char *how, size_t most)
{
    const struct report *report = asking->replay->report;
    const struct build_graph *graph = &report->graph;
    struct arena *arena = &asking->answers->arena;
    struct map asked = {0};
    size_t first = asking->answers->rows.count;
    int rc = LAM_OK;
    /* Those of the path, the last ones first, then the heaviest: units are sorted by CPU time. */
    for (size_t i = 0; rc == LAM_OK && i < graph->path.count + report->units.count &&
                       asking->answers->rows.count < first + UNITS_TRIED;
         i++) {
        uint32_t unit = i < graph->path.count ? graph->path.items[graph->path.count - 1 - i].unit
                                              : (uint32_t)(i - graph->path.count);
        const char *title = report->units.items[unit].title;
        bool is_new = true;
        if (graph->nodes.items[unit].inside != GRAPH_NONE || strpbrk(title, ",*?\\"))
            continue;
        if (!map_slot(&asked, hash_bytes(title, strlen(title)), 0, &is_new))
            rc = LAM_E_NOMEM;
        if (rc == LAM_OK && is_new)
            rc = ask(asking, arena_printf(arena, "%s=%s", how, title));
    }
    map_free(&asked);
    keep_best(asking->answers, first, most);
    return rc;
}

static bool has_single_codegen_unit(const struct report *report)
{
    array_each(&report->units, unit) if (unit->info.codegen_units &&
                                         strcmp(unit->info.codegen_units, "1") == 0) return true;
    return false;
}

static bool has_links(const struct replay *replay)
{
    array_each(&replay->tasks, task) if (task->link_share > 0) return true;
    return false;
}

static int ask_the_usual(struct asking *asking)
{
    const struct replay *replay = asking->replay;
    struct arena *arena = &asking->answers->arena;
    uint32_t cores = replay->report->session.cores;
    int rc = cores ? ask(asking, arena_printf(arena, "cores=%u", 2 * cores)) : LAM_OK;
    if (rc == LAM_OK)
        rc = ask(asking, "cores=all,jobs=all");
    if (rc == LAM_OK && has_links(replay))
        rc = ask(asking, "link=2x");
    if (rc == LAM_OK && has_single_codegen_unit(replay->report))
        rc = ask(asking, "codegen-units=16");
    if (rc == LAM_OK)
        rc = ask_about_units(asking, "unit", UNITS_SHOWN);
    return rc == LAM_OK ? ask_about_units(asking, "split", SPLITS_SHOWN) : rc;
}

/* At full demand: its group stands beside the others' with the same weight each. */
static double other_share(const struct replay *replay)
{
    if (replay->shares == REPLAY_BY_THREAD || !(replay->others > 0))
        return NAN;
    double slower = (replay->others + replay->company) / replay->cores;
    double groups = replay_others(replay->shares, replay->cores, replay->company, slower);
    return groups / (1 + groups);
}

int replay_answers_make(struct replay_answers *answers, const struct report *report,
                        const char *const *changes, size_t count, struct lam_error *err)
{
    struct replay replay;
    *answers = (struct replay_answers){0};
    int rc = replay_open(&replay, report, err);
    if (rc == LAM_E_NOTFOUND && count == 0)
        return LAM_OK;
    if (rc < 0)
        return rc;
    answers->is_there = true;
    answers->measured_s = replay.measured_s;
    answers->cores = replay.cores;
    answers->others = replay.others;
    answers->other_share = other_share(&replay);
    answers->latency_s = replay.latency_s;
    answers->jobs = replay.jobs;
    answers->jobs_are_seen = replay.jobs_are_seen;
    struct asking asking = {answers, &replay, err};
    rc = replay_run(&replay, NULL, &answers->replayed_s);
    for (size_t i = 0; rc == LAM_OK && i < count; i++)
        rc = ask(&asking, changes[i]);
    if (rc == LAM_OK && count == 0)
        rc = ask_the_usual(&asking);
    replay_close(&replay);
    return rc;
}

void replay_answers_free(struct replay_answers *answers)
{
    array_free(&answers->rows);
    arena_free(&answers->arena);
}
