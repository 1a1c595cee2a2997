#include "analysis/class_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"

const char *class_source(const struct unit *unit)
{
    const char *source = unit->source;
    if (!source || unit->kind == UNIT_LINK)
        return NULL;
    if (strstr(source, "/registry/src/"))
        return "registry";
    if (strstr(source, "/git/checkouts/"))
        return "git";
    return "path";
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int class_deps_text(const struct report *report, uint32_t unit, struct strbuf *text)
{
    LAM_ARRAY(const char *) ids = {0};
    const struct build_graph *graph = &report->graph;
    int rc = LAM_OK;
    if (unit >= graph->nodes.count)
        return LAM_OK;
    const struct build_node *node = &graph->nodes.items[unit];
    for (uint32_t i = 0; i < node->edge_count && rc == LAM_OK; i++) {
        uint32_t dep = graph->edges.items[node->first_edge + i].dep;
        const char *id = report->units.items[dep].class_id;
        rc = id ? array_push(&ids, id) : LAM_OK;
    }
    array_sort(&ids, compare_texts);
    const char *last = "";
    array_each(&ids, id)
    {
        if (strcmp(*id, last) != 0)
            strbuf_addf(text, "%s%s", *last ? " " : "", *id);
        last = *id;
    }
    array_free(&ids);
    return rc < 0 || !strbuf_ok(text) ? LAM_E_NOMEM : LAM_OK;
}

/* Whether all crates that a crate is compiled against were compiled in this recording, and have a class: what was fresh left no
 * command line to tell it by. */
static bool knows_cone(const struct report *report, uint32_t index)
{
    const struct unit *unit = &report->units.items[index].info;
    size_t wanted = 0, found = 0;
    if (unit->kind != UNIT_RUSTC && unit->kind != UNIT_RUSTDOC)
        return true;
    for (size_t i = 0; i < unit->input_count; i++)
        wanted += strchr(unit->inputs[i], '/') != NULL;
    const struct build_node *node =
        index < report->graph.nodes.count ? &report->graph.nodes.items[index] : NULL;
    for (uint32_t i = 0; node && i < node->edge_count; i++) {
        const struct build_edge *edge = &report->graph.edges.items[node->first_edge + i];
        const struct report_unit *dep = &report->units.items[edge->dep];
        if (!dep->class_id)
            return false;
        found += dep->info.kind == UNIT_RUSTC && edge->need != NEED_RUN;
    }
    return found >= wanted;
}

/* Each part with its length, so that no two lists of parts have the same text. */
static void add_part(struct strbuf *text, const char *part)
{
    if (part)
        strbuf_addf(text, "%zu:%s", strlen(part), part);
    strbuf_add_char(text, ';');
}

static int compare_pieces(const void *a, const void *b)
{
    return compare_texts(a, b);
}

/* Features are a set: the order on the command line is cargo's business. */
static int add_features(struct strbuf *text, struct arena *arena, const char *features)
{
    LAM_ARRAY(const char *) list = {0};
    int rc = LAM_OK;
    for (const char *at = features; at && *at && rc == LAM_OK;) {
        size_t length = strcspn(at, ",");
        const char *one = arena_strndup(arena, at, length);
        rc = one ? array_push(&list, one) : LAM_E_NOMEM;
        at += length;
        at += *at == ',';
    }
    array_sort(&list, compare_pieces);
    array_each(&list, one) add_part(text, *one);
    array_free(&list);
    strbuf_add_char(text, '|');
    return rc;
}

/* A crate in a path is called by its crate's name: the directory is somebody's own. */
static int describe(struct report *report, uint32_t index, struct strbuf *text)
{
    const struct report_unit *unit = &report->units.items[index];
    const struct cargo_unit *cargo = report_cargo_unit(report, unit);
    const char *package = cargo ? cargo->package : unit->info.version ? unit->info.package : NULL;
    bool is_rust = unit->info.kind == UNIT_RUSTC || unit->info.kind == UNIT_RUSTDOC;
    struct strbuf flags = {0};
    add_part(text, unit_kind_name(unit->info.kind));
    add_part(text, package ? package : unit->info.crate ? unit->info.crate : unit->info.package);
    add_part(text, unit->info.crate);
    add_part(text, cargo ? cargo->version : unit->info.version);
    add_part(text, class_source(&unit->info));
    add_part(text, unit->info.crate_type);
    add_part(text, unit->info.mode);
    add_part(text, unit->info.language);
    add_part(text, unit->info.target);
    add_part(text, report->cargo ? report->cargo->profile : NULL);
    add_part(text, !is_rust && unit->info.source ? path_name(unit->info.source) : NULL);
    if (unit->info.kind == UNIT_LINK)
        add_part(text, unit->title);
    unit_flags_text(&unit->flags, &flags);
    add_part(text, strbuf_text(&flags));
    strbuf_free(&flags);
    int rc = add_features(text, &report->arena, unit->info.features);
    return rc < 0 ? rc : class_deps_text(report, index, text);
}

static int name_class(struct report *report, uint32_t index)
{
    struct strbuf text = {0};
    if (!knows_cone(report, index))
        return LAM_OK;
    int rc = describe(report, index, &text);
    if (rc == LAM_OK && strbuf_ok(&text)) {
        uint64_t high = hash_bytes_seed(strbuf_text(&text), text.length, 1),
                 low = hash_bytes_seed(strbuf_text(&text), text.length, 2);
        report->units.items[index].class_id = arena_printf(
            &report->arena, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
    }
    strbuf_free(&text);
    return report->units.items[index].class_id ? rc : LAM_E_NOMEM;
}

struct by_start {
    uint32_t unit;
    int64_t start_ns;
};

static int compare_starts(const void *a, const void *b)
{
    const struct by_start *left = a, *right = b;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->unit > right->unit) - (left->unit < right->unit);
}

int class_ids_make(struct report *report)
{
    size_t count = report->units.count;
    struct by_start *order = mem_zalloc(count + 1, sizeof *order);
    int rc = order ? LAM_OK : LAM_E_NOMEM;
    for (uint32_t i = 0; i < count && rc == LAM_OK; i++) {
        struct report_unit *unit = &report->units.items[i];
        order[i] = (struct by_start){i, report->processes.items[unit->process].start_ns};
        bool compiles = unit->info.kind == UNIT_RUSTC || unit->info.kind == UNIT_COMPILE;
        unit->capture = !compiles ? NULL : unit->info.incremental ? "incremental" : "clean";
    }
    if (rc == LAM_OK) /* what a unit depends on began before it */
        qsort(order, count, sizeof *order, compare_starts);
    for (size_t i = 0; i < count && rc == LAM_OK; i++)
        rc = name_class(report, order[i].unit);
    mem_free(order);
    return rc;
}

/* ---- artifacts ---- */

static int take_artifacts(struct report *report, struct report_unit *unit,
                          const struct artifact_list *list)
{
    const struct report_process *process = &report->processes.items[unit->process];
    LAM_ARRAY(struct unit_artifact) own = {0};
    int rc = LAM_OK;
    for (size_t i = 0; i < list->rows.count && rc == LAM_OK; i++) {
        const struct artifact_row *row = &list->rows.items[i];
        if (row->pid != process->pid || row->start_ns != process->start_ns)
            continue;
        struct unit_artifact copy = {arena_strdup(&report->arena, row->artifact.file),
                                     arena_strdup(&report->arena, row->artifact.kind),
                                     row->artifact.bytes};
        rc = copy.file && copy.kind ? array_push(&own, copy) : LAM_E_NOMEM;
    }
    struct unit_artifact *items =
        rc == LAM_OK ? arena_array(&report->arena, own.count + 1, sizeof *items) : NULL;
    if (items && own.count > 0)
        memcpy(items, own.items, own.count * sizeof *items);
    unit->artifacts = (struct unit_artifacts){items, items ? own.count : 0};
    array_free(&own);
    return items ? LAM_OK : LAM_E_NOMEM;
}

int report_take_artifacts(struct report *report, const struct artifact_list *list)
{
    int rc = LAM_OK;
    array_each(&report->units, unit)
    {
        if (rc == LAM_OK)
            rc = take_artifacts(report, unit, list);
    }
    return rc;
}
