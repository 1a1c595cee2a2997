#include "analysis/class_ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/unit_class.h"
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
        const struct build_edge *edge = &graph->edges.items[node->first_edge + i];
        const char *id = report->units.items[edge->dep].class_id;
        rc = id && !edge->is_by_chance ? array_push(&ids, id) : LAM_OK;
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

/* "libserde-0123456789abcdef.rmeta" is of the crate serde. */
static size_t crate_of_file(const char *file, const char **crate)
{
    *crate = text_starts_with(file, "lib") ? file + strlen("lib") : file;
    return strcspn(*crate, "-.");
}

static bool wrote_file(const struct unit *unit, const char *file)
{
    const char *crate;
    size_t length = crate_of_file(file, &crate);
    if (unit->extra_filename && *unit->extra_filename)
        return strstr(file, unit->extra_filename) != NULL;
    return unit->crate && strlen(unit->crate) == length && strncmp(unit->crate, crate, length) == 0;
}

static void add_missing(struct strbuf *names, const char *name, size_t length)
{
    strbuf_add(names, names->length ? ", " : "");
    strbuf_add_bytes(names, name, length);
}

/* A crate that is handed to the compiler as a file, and that was not compiled in the recording: it left no command line to tell
 * it by. */
static void find_fresh_crates(const struct report *report, const struct unit *unit,
                              const struct build_node *node, struct strbuf *names)
{
    for (size_t i = 0; i < unit->input_count; i++) {
        const char *file = path_name(unit->inputs[i]), *crate;
        bool found = !strchr(unit->inputs[i], '/');
        for (uint32_t e = 0; node && !found && e < node->edge_count; e++) {
            const struct build_edge *edge = &report->graph.edges.items[node->first_edge + e];
            const struct unit *dep = &report->units.items[edge->dep].info;
            found = dep->kind == UNIT_RUSTC && edge->need != NEED_RUN && wrote_file(dep, file);
        }
        size_t length = crate_of_file(file, &crate);
        if (!found)
            add_missing(names, crate, length);
    }
}

/* The run of its package's script, when cargo says that it was fresh. */
static void find_fresh_script(const struct report *report, const struct report_unit *unit,
                              struct strbuf *names)
{
    const struct cargo_unit *own = report_cargo_unit(report, unit);
    if (!own || own->job != CARGO_JOB_COMPILE || strcmp(own->kind, "build-script") == 0)
        return;
    array_each(&report->cargo->units, other)
    {
        if (other->job == CARGO_JOB_RUN_SCRIPT && other->status == CARGO_STATUS_FRESH &&
            strcmp(other->package, own->package) == 0 && strcmp(other->version, own->version) == 0) {
            add_missing(names, "its build script", strlen("its build script"));
            return;
        }
    }
}

/* What a unit stands on and of which nothing is known, for people; empty: all is known. */
static void find_missing(const struct report *report, uint32_t index, struct strbuf *names)
{
    const struct report_unit *unit = &report->units.items[index];
    const struct build_node *node =
        index < report->graph.nodes.count ? &report->graph.nodes.items[index] : NULL;
    bool is_rust = unit->info.kind == UNIT_RUSTC || unit->info.kind == UNIT_RUSTDOC;
    if (is_rust) {
        find_fresh_crates(report, &unit->info, node, names);
        find_fresh_script(report, unit, names);
    } else if (unit->info.is_cache) {
        /* A driver's options are not those that its compiler gets, and would be another class. */
        add_missing(names, "its compiler's command line", strlen("its compiler's command line"));
    }
    for (uint32_t i = 0; node && i < node->edge_count; i++) {
        const struct build_edge *edge = &report->graph.edges.items[node->first_edge + i];
        const struct report_unit *dep = &report->units.items[edge->dep];
        if (!edge->is_by_chance && !dep->class_id && (is_rust || dep->info.is_cache))
            add_missing(names, dep->title, strlen(dep->title));
    }
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

/* The file that is worked on; of one whose name is made up each time what becomes of it. */
static const char *class_file(const struct unit *unit)
{
    const char *const files[] = {unit->source, unit->output};
    for (size_t i = 0; unit->source && i < sizeof files / sizeof *files; i++)
        if (files[i] && !unit_is_temporary(files[i]))
            return path_name(files[i]);
    return NULL;
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
    add_part(text, class_crate_type(&unit->info));
    add_part(text, unit->info.mode);
    add_part(text, unit->info.language);
    add_part(text, unit->info.target);
    add_part(text, report->cargo ? report->cargo->profile : NULL);
    add_part(text, is_rust ? NULL : class_file(&unit->info));
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
    find_missing(report, index, &text);
    if (text.length > 0 || !strbuf_ok(&text)) {
        report->units.items[index].class_missing =
            strbuf_ok(&text) ? arena_strdup(&report->arena, strbuf_text(&text)) : NULL;
        strbuf_free(&text);
        return report->units.items[index].class_missing ? LAM_OK : LAM_E_NOMEM;
    }
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
        unit->capture = unit->info.is_cache      ? "cached"
                        : !compiles              ? NULL
                        : unit->info.incremental ? "incremental"
                                                 : "clean";
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
