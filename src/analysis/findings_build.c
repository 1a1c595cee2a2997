/* What stands out in a build: who held it up, and what took time that need not be. A row says nothing rather than something that
 * nobody would act on: each has a time below which it is silent. */
#include <math.h>
#include <string.h>

#include "analysis/findings_inside.h"
#include "analysis/macro_costs.h"
#include "analysis/replay.h"
#include "base/file.h"
#include "base/map.h"
#include "base/units.h"

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* A second or more, and a tenth of the wall time. */
static bool is_long(const struct report *report, double wall_s)
{
    return wall_s >= 1 && wall_s >= 0.1 * finding_elapsed_s(report);
}

/* What a change saves by the replay; 0 where it cannot be told. LAM_E_NOMEM. */
static int ask_replay(const struct report *report, const char *change_text, double *saved_s)
{
    struct replay replay;
    struct what_if change = {0};
    struct arena arena = {0};
    double before_s = 0, after_s = 0;
    int rc = replay_open(&replay, report, NULL);
    if (rc < 0)
        return rc == LAM_E_NOMEM ? rc : LAM_OK;
    rc = what_if_parse(&change, change_text, &arena, NULL);
    if (rc == LAM_OK)
        rc = replay_run(&replay, NULL, &before_s);
    if (rc == LAM_OK)
        rc = replay_run(&replay, &change, &after_s);
    what_if_free(&change);
    arena_free(&arena);
    replay_close(&replay);
    *saved_s = before_s - after_s;
    return rc == LAM_E_NOMEM ? rc : LAM_OK;
}

/* ---- what held the build up -------------------------------------------------------------------------------------- */

/* A unit that others waited for while it ran alone. */
int find_gating_unit(struct draft *draft)
{
    struct report *report = draft->report;
    struct {
        uint32_t unit, blocked;
        double alone_s, idle_core_s;
    } worst = {.unit = GRAPH_NONE};
    if (report_is_crowded(report))
        return LAM_OK;
    array_each(&report->idle.items, stretch)
    {
        if (stretch->running != 1 || stretch->blocked < 2 || stretch->unit == worst.unit)
            continue;
        double alone_s = 0, idle_core_s = 0;
        array_each(&report->idle.items, other)
        {
            if (other->unit != stretch->unit || other->running != 1 || other->blocked < 2)
                continue;
            alone_s += seconds(other->end_ns - other->start_ns);
            idle_core_s += other->idle_core_s;
        }
        if (idle_core_s > worst.idle_core_s) {
            worst.unit = stretch->unit;
            worst.blocked = stretch->blocked;
            worst.alone_s = alone_s;
            worst.idle_core_s = idle_core_s;
        }
    }
    if (worst.unit == GRAPH_NONE || !is_long(report, worst.alone_s))
        return LAM_OK;
    return finding_add(
        draft,
        (struct report_finding){"gating_unit", REPORT_WARNING, NULL, worst.alone_s, worst.unit},
        arena_printf(
            &report->arena,
            "%s ran alone for %s while %s unit%s waited for it: %s of core time were idle. "
            "Splitting it, or needing less of it, lets the others begin sooner ('lamella report "
            "--by critical' shows the chain).",
            report->units.items[worst.unit].title, unit_seconds(worst.alone_s).text,
            unit_count(worst.blocked).text, unit_plural(worst.blocked),
            unit_seconds(worst.idle_core_s).text));
}

/* When the first thread that makes code of a unit began; INT64_MAX: none was seen. */
static int64_t codegen_start_ns(const struct report *report, uint32_t process)
{
    int64_t first_ns = INT64_MAX;
    array_each(&report->threads, thread)
    {
        bool makes_code = thread->role == ROLE_OPT || thread->role == ROLE_CODEGEN;
        if (thread->process == process && makes_code && thread->start_ns < first_ns)
            first_ns = thread->start_ns;
    }
    return first_ns;
}

/* A crate whose code one thread made, while nothing else ran. */
int find_single_codegen_unit(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t worst = GRAPH_NONE;
    double worst_s = 0, saved_s = 0;
    if (report_is_crowded(report))
        return LAM_OK;
    for (uint32_t i = 0; i < report->units.count; i++) {
        const struct report_unit *unit = &report->units.items[i];
        if (!unit->info.codegen_units || strcmp(unit->info.codegen_units, "1") != 0)
            continue;
        int64_t from_ns = codegen_start_ns(report, unit->process);
        double alone_s = 0;
        array_each(&report->idle.items, stretch)
        {
            int64_t start_ns = stretch->start_ns > from_ns ? stretch->start_ns : from_ns;
            if (stretch->running == 1 && stretch->unit == i && stretch->end_ns > start_ns)
                alone_s += seconds(stretch->end_ns - start_ns);
        }
        if (alone_s > worst_s) {
            worst_s = alone_s;
            worst = i;
        }
    }
    if (worst == GRAPH_NONE || !is_long(report, worst_s))
        return LAM_OK;
    int rc = ask_replay(report, "codegen-units=16", &saved_s);
    if (rc < 0 || saved_s < 0.05 * finding_elapsed_s(report))
        return rc;
    return finding_add(
        draft, (struct report_finding){"one_codegen_unit", REPORT_NOTE, NULL, worst_s, worst},
        arena_printf(
            &report->arena,
            "%s has codegen-units = 1: one thread made its code for %s while nothing else "
            "ran. With 16 the build would be about %s shorter, and its code perhaps a little "
            "slower.",
            report->units.items[worst].title, unit_seconds(worst_s).text, unit_seconds(saved_s).text));
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

static bool is_fast_linker(const char *name)
{
    return strstr(name, "lld") || strstr(name, "mold") || strcmp(name, "wild") == 0;
}

/* Linkers start linkers: the time of the outer one is that of both. */
static bool is_inside_link(const struct report *report, uint32_t unit)
{
    uint32_t process = report->processes.items[report->units.items[unit].process].parent;
    for (; process != REPORT_NO_UNIT; process = report->processes.items[process].parent) {
        uint32_t outer = report->processes.items[process].unit;
        if (outer != REPORT_NO_UNIT)
            return report->units.items[outer].info.kind == UNIT_LINK;
    }
    return false;
}

/* Without what its main thread waited for a core: on a machine that others have, that is no time of linking. */
static double link_s(const struct report *report, uint32_t unit)
{
    const struct build_node *node = &report->graph.nodes.items[unit];
    const struct report_process *process =
        &report->processes.items[report->units.items[unit].process];
    return fmax(seconds(node->end_ns - node->start_ns) -
                    report_seconds(process->main_ledger.core_wait_ns),
                0);
}

int find_link_time(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t longest = GRAPH_NONE, count = 0;
    double sum_s = 0, longest_s = 0, saved_s = 0;
    for (uint32_t i = 0; i < report->units.count; i++) {
        if (report->units.items[i].info.kind != UNIT_LINK || is_inside_link(report, i))
            continue;
        double own_s = link_s(report, i);
        sum_s += own_s;
        count++;
        if (own_s > longest_s) {
            longest_s = own_s;
            longest = i;
        }
    }
    if (longest == GRAPH_NONE || !is_long(report, sum_s))
        return LAM_OK;
    int rc = ask_replay(report, "link=2x", &saved_s);
    saved_s = fmin(saved_s, sum_s / 2);
    if (rc < 0 || saved_s < 0.05 * finding_elapsed_s(report))
        return rc;
    const struct report_process *process =
        &report->processes.items[report->units.items[longest].process];
    const char *linker = path_name(process->exe);
    return finding_add(
        draft, (struct report_finding){"link_time", REPORT_NOTE, NULL, sum_s, longest},
        arena_printf(
            &report->arena,
            "Linking takes %s in %s link%s, the longest %s (%s, by %s). Were it twice as fast, "
            "the build would be about %s shorter. %s",
            unit_seconds(sum_s).text, unit_count(count).text, unit_plural(count),
            report->units.items[longest].title, unit_seconds(longest_s).text, linker,
            unit_seconds(saved_s).text,
            is_fast_linker(linker)
                ? "Less debug information (line-tables-only, split-debuginfo) and fewer "
                  "programs are less to link."
                : "Try lld or mold, or less debug information."));
}

/* ---- what took CPU time ------------------------------------------------------------------------------------------ */

/* Of all samples' CPU time; 0 when there is none. */
static double share_of_cpu(const struct report *report, uint64_t ns)
{
    return report->total.cpu_ns ? (double)ns / (double)report->total.cpu_ns : 0;
}

int find_debug_info(struct draft *draft)
{
    struct report *report = draft->report;
    uint64_t sum_ns = 0;
    array_each(&report->cells, cell)
    {
        struct phase_bucket bucket = classifier_bucket(report->cls, cell->bucket);
        if (bucket.segment == SEGMENT_BACKEND && bucket.detail &&
            strcmp(bucket.detail, "debug_info") == 0)
            sum_ns += cell->amount.cpu_ns;
    }
    double sum_s = report_seconds(sum_ns), share = share_of_cpu(report, sum_ns);
    if (sum_s < 1 || share < 0.12)
        return LAM_OK;
    return finding_add(
        draft, (struct report_finding){"debug_info", REPORT_NOTE, NULL, sum_s, REPORT_NO_UNIT},
        arena_printf(
            &report->arena,
            "Debug information takes %s of CPU (%s), what linkers do with it not counted. "
            "Where backtraces are enough, debug = \"line-tables-only\" (C: -g1) is cheaper, "
            "and dependencies can go without: [profile.dev.package.\"*\"] debug = false.",
            unit_seconds(sum_s).text, unit_percent(share).text));
}

int find_macro_time(struct draft *draft)
{
    struct report *report = draft->report;
    struct macro_costs costs = {0};
    uint64_t sum_ns = 0;
    int rc = macro_costs_make(report, NULL, NULL, &costs);
    array_each(&costs.crates, crate) sum_ns += crate->cpu_ns;
    double sum_s = report_seconds(sum_ns), share = share_of_cpu(report, sum_ns);
    if (rc == LAM_OK && sum_s >= 1 && share >= 0.1) {
        const struct macro_cost *first = &costs.crates.items[0];
        rc = finding_add(
            draft, (struct report_finding){"macro_time", REPORT_NOTE, NULL, sum_s, REPORT_NO_UNIT},
            arena_printf(
                &report->arena,
                "Procedural macros run for %s of CPU (%s), most of it those of %s (%s). A macro "
                "crate that is optimized runs faster: [profile.dev.build-override] "
                "opt-level = 3.",
                unit_seconds(sum_s).text, unit_percent(share).text, first->crate,
                unit_seconds(report_seconds(first->cpu_ns)).text));
    }
    macro_costs_free(&costs);
    return rc;
}

/* A run of a build script that the end of the build waited for: its slack says so. */
int find_build_scripts(struct draft *draft)
{
    struct report *report = draft->report;
    uint32_t worst = GRAPH_NONE;
    double worst_s = 0;
    for (uint32_t i = 0; i < report->units.count; i++) {
        const struct build_node *node = &report->graph.nodes.items[i];
        double wall_s = seconds(node->end_ns - node->start_ns);
        bool is_run =
            report->units.items[i].info.kind == UNIT_BUILD_SCRIPT && node->inside == GRAPH_NONE;
        if (is_run && seconds(node->slack_ns) < wall_s / 2 && wall_s > worst_s) {
            worst = i;
            worst_s = wall_s;
        }
    }
    if (worst == GRAPH_NONE || !is_long(report, worst_s))
        return LAM_OK;
    const struct build_node *node = &report->graph.nodes.items[worst];
    return finding_add(
        draft, (struct report_finding){"build_script", REPORT_NOTE, NULL, worst_s, worst},
        arena_printf(
            &report->arena,
            "'%s' takes %s, and the longest chain of the build %s. What it makes can often be "
            "made once and kept (a committed file, a system library in place of a bundled one).",
            report->units.items[worst].title, unit_seconds(worst_s).text,
            node->on_path ? "goes through it" : "has hardly more room than that"));
}

/* ---- duplicates -------------------------------------------------------------------------------------------------- */

/* One package by name: of its versions the dearest, and all of them. */
struct package_cost {
    const char *name, *dearest;
    uint64_t dearest_ns, sum_ns;
    uint32_t versions;
};

struct version_cost {
    const char *name, *version;
    uint64_t cpu_ns;
};

static int compare_versions(const void *left, const void *right)
{
    const struct version_cost *a = left, *b = right;
    int names = strcmp(a->name, b->name);
    return names ? names : strcmp(a->version, b->version);
}

/* Libraries alone: a package's build script and programs are versions of nothing. */
static bool is_counted(const struct report_unit *unit)
{
    const char *type = unit->info.crate_type;
    return unit->info.kind == UNIT_RUSTC && unit->info.package && unit->info.version && type &&
           (strstr(type, "lib") || strcmp(type, "proc-macro") == 0);
}

/* All but the dearest version of a package could go if everybody asked for the same one. */
static uint64_t spare_ns(const struct package_cost *package)
{
    return package->versions > 1 ? package->sum_ns - package->dearest_ns : 0;
}

static void sum_packages(const struct version_cost *rows, size_t count, struct package_cost *worst,
                         uint64_t *sum_ns, uint32_t *packages)
{
    for (size_t i = 0; i < count;) {
        struct package_cost package = {.name = rows[i].name};
        while (i < count && strcmp(rows[i].name, package.name) == 0) {
            uint64_t version_ns = 0;
            const char *version = rows[i].version;
            for (; i < count && strcmp(rows[i].name, package.name) == 0 &&
                   strcmp(rows[i].version, version) == 0;
                 i++)
                version_ns += rows[i].cpu_ns;
            package.versions++;
            package.sum_ns += version_ns;
            if (version_ns >= package.dearest_ns) {
                package.dearest_ns = version_ns;
                package.dearest = version;
            }
        }
        *sum_ns += spare_ns(&package);
        *packages += package.versions > 1;
        if (spare_ns(&package) > spare_ns(worst))
            *worst = package;
    }
}

int find_duplicate_versions(struct draft *draft)
{
    struct report *report = draft->report;
    LAM_ARRAY(struct version_cost) rows = {0};
    struct package_cost worst = {0};
    uint64_t sum_ns = 0;
    uint32_t packages = 0;
    int rc = LAM_OK;
    array_each(&report->units, unit)
    {
        const struct report_process *process = &report->processes.items[unit->process];
        struct version_cost row = {unit->info.package, unit->info.version,
                                   process->cpu_ns != PROFILE_UNKNOWN ? process->cpu_ns : 0};
        if (rc == LAM_OK && is_counted(unit))
            rc = array_push(&rows, row);
    }
    array_sort(&rows, compare_versions);
    sum_packages(rows.items, rows.count, &worst, &sum_ns, &packages);
    array_free(&rows);
    double sum_s = report_seconds(sum_ns), charged_s = report_seconds(report->coverage.charged_ns);
    if (rc < 0 || sum_s < 0.5 || !(sum_s >= 0.02 * charged_s))
        return rc;
    return finding_add(
        draft,
        (struct report_finding){"duplicate_versions", REPORT_NOTE, NULL, sum_s, REPORT_NO_UNIT},
        arena_printf(
            &report->arena,
            "%s package%s built in several versions: %s of CPU beside the dearest of each, "
            "most for %s (%u versions; %s beside %s). 'cargo tree --duplicates' shows who asks "
            "for them.",
            unit_count(packages).text, unit_either(packages, " is", "s are"),
            unit_seconds(sum_s).text, worst.name, worst.versions,
            unit_seconds(report_seconds(spare_ns(&worst))).text, worst.dearest));
}
