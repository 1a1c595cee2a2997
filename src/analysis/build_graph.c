#include "analysis/build_graph.h"

#include <string.h>

#include "analysis/build_graph_inside.h"
#include "base/file.h"
#include "base/map.h"

/* What can be named on another unit's command line, and who made it. Some are made several times in one recording. */
struct product {
    const char *name;
    uint32_t unit;
    uint32_t next; /* one with the same hash; GRAPH_NONE */
};

struct maker {
    struct report *report;
    struct build_graph *graph;
    LAM_ARRAY(struct product) products;
    struct map by_name;     /* hash of the name → the last product of it */
    struct told_edges told; /* by cargo */
    size_t next_told;
    struct strbuf name;
};

const char *build_need_name(enum build_need need)
{
    static const char *const names[BUILD_NEEDS] = {"metadata", "objects", "file", "run"};
    return need < BUILD_NEEDS ? names[need] : "?";
}

const char *rmeta_from_name(enum rmeta_from from)
{
    static const char *const names[] = {NULL, "cargo", "encode", "codegen", "dependent"};
    return names[from];
}

void build_graph_free(struct build_graph *graph)
{
    array_free(&graph->nodes);
    array_free(&graph->edges);
    array_free(&graph->path);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Appends the components of a path to an absolute or empty one: "." goes, ".." takes the one before it off. */
static void add_path(struct strbuf *out, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            const char *slash = out->length ? strrchr(strbuf_text(out), '/') : NULL;
            strbuf_truncate(out, slash ? (size_t)(slash - strbuf_text(out)) : 0);
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            strbuf_add_char(out, '/');
            strbuf_add_bytes(out, path, length);
        }
        path += length + (path[length] == '/');
    }
}

static const char *absolute(struct maker *maker, const struct unit *unit, const char *path)
{
    strbuf_clear(&maker->name);
    if (path[0] != '/' && unit->cwd)
        add_path(&maker->name, unit->cwd);
    add_path(&maker->name, path);
    return strbuf_text(&maker->name);
}

/* A library's file without its ending: .rmeta, .rlib and .so are made by one unit. */
static const char *without_ending(struct maker *maker)
{
    const char *text = strbuf_text(&maker->name), *name = path_name(text), *dot = strrchr(name, '.');
    if (dot && dot > name)
        strbuf_truncate(&maker->name, (size_t)(dot - text));
    return strbuf_text(&maker->name);
}

static int add_product(struct maker *maker, uint32_t unit, const char *name)
{
    struct product product = {.unit = unit, .next = GRAPH_NONE};
    if (!strbuf_ok(&maker->name))
        return LAM_E_NOMEM;
    product.name = arena_strdup(&maker->report->arena, name);
    uint64_t *slot =
        map_slot(&maker->by_name, hash_bytes(name, strlen(name)), maker->products.count, NULL);
    if (!product.name || !slot)
        return LAM_E_NOMEM;
    if (*slot != maker->products.count)
        product.next = (uint32_t)*slot;
    *slot = maker->products.count;
    return array_push(&maker->products, product);
}

/* The unit that made it before `unit` began: of several the last one. */
static uint32_t find_product(const struct maker *maker, uint32_t unit, const char *name)
{
    const struct build_node *nodes = maker->graph->nodes.items;
    uint64_t none = GRAPH_NONE;
    uint32_t found = GRAPH_NONE;
    for (uint64_t at = map_get_or(&maker->by_name, hash_bytes(name, strlen(name)), none);
         at != none; at = maker->products.items[at].next) {
        const struct product *product = &maker->products.items[at];
        bool is_before = nodes[product->unit].start_ns < nodes[unit].start_ns;
        if (strcmp(product->name, name) == 0 && is_before &&
            (found == GRAPH_NONE || nodes[product->unit].start_ns > nodes[found].start_ns))
            found = product->unit;
    }
    return found;
}

static const struct unit *unit_of(const struct maker *maker, uint32_t unit)
{
    return &maker->report->units.items[unit].info;
}

/* What rustc calls its files: libNAME-HASH.…, NAME-HASH, in the output directory or where it runs; or the file it was told. */
static int add_rust_products(struct maker *maker, uint32_t index)
{
    const struct unit *unit = unit_of(maker, index);
    const char *extra = unit->extra_filename ? unit->extra_filename : "";
    int rc = LAM_OK;
    if (!unit->crate)
        return LAM_OK;
    for (int i = 0; rc == LAM_OK && i < 2; i++) {
        absolute(maker, unit, unit->output ? unit->output : ".");
        strbuf_addf(&maker->name, "/%s%s%s", i ? "" : "lib", unit->crate, extra);
        rc = add_product(maker, index, strbuf_text(&maker->name));
    }
    if (rc == LAM_OK && unit->output) {
        absolute(maker, unit, unit->output);
        rc = add_product(maker, index, without_ending(maker));
    }
    strbuf_clear(&maker->name);
    strbuf_addf(&maker->name, "crate:%s", unit->crate);
    return rc == LAM_OK ? add_product(maker, index, strbuf_text(&maker->name)) : rc;
}

static int add_products(struct maker *maker)
{
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < maker->report->units.count; i++) {
        const struct unit *unit = unit_of(maker, i);
        if (unit->kind == UNIT_RUSTC)
            rc = add_rust_products(maker, i);
        else if (unit->output && unit->kind != UNIT_RUSTDOC)
            rc = add_product(maker, i, absolute(maker, unit, unit->output));
    }
    return rc;
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static bool is_library(const struct unit *unit)
{
    const char *type = unit->crate_type;
    return type && (strcmp(type, "lib") == 0 || strcmp(type, "rlib") == 0);
}

/* Whether an edge with `had` says what one with `need` would. */
static bool is_enough(enum build_need had, enum build_need need)
{
    return had == need || (need == NEED_FILE && had == NEED_OBJECTS);
}

static int add_edge(struct maker *maker, uint32_t unit, uint32_t dep, enum build_need need)
{
    const struct build_node *nodes = maker->graph->nodes.items;
    if (dep == GRAPH_NONE)
        return LAM_OK;
    if (nodes[dep].inside != GRAPH_NONE)
        dep = nodes[dep].inside;
    if (dep == unit || nodes[dep].start_ns >= nodes[unit].start_ns)
        return LAM_OK;
    struct build_graph *graph = maker->graph;
    for (size_t i = graph->edges.count; i > 0 && graph->edges.items[i - 1].unit == unit; i--)
        if (graph->edges.items[i - 1].dep == dep && is_enough(graph->edges.items[i - 1].need, need))
            return LAM_OK;
    struct build_edge edge = {.unit = unit, .dep = dep, .need = need};
    return array_push(&graph->edges, edge);
}

/* Cargo names the .rmeta where that is enough, and the .rlib where all below it must be there too. */
static enum build_need need_of(const struct unit *dep, const char *input)
{
    if (text_ends_with(input, ".rmeta"))
        return dep->emits_link ? NEED_METADATA : NEED_FILE;
    return is_library(dep) ? NEED_OBJECTS : NEED_FILE;
}

static int add_extern_edges(struct maker *maker, uint32_t index)
{
    const struct unit *unit = unit_of(maker, index);
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < unit->input_count; i++) {
        const char *input = unit->inputs[i], *name;
        if (strchr(input, '/') || strchr(input, '.')) {
            absolute(maker, unit, input);
            name = without_ending(maker);
        } else {
            strbuf_clear(&maker->name);
            strbuf_addf(&maker->name, "crate:%s", input);
            name = strbuf_text(&maker->name);
        }
        uint32_t dep = strbuf_ok(&maker->name) ? find_product(maker, index, name) : GRAPH_NONE;
        if (dep != GRAPH_NONE)
            rc = add_edge(maker, index, dep, need_of(unit_of(maker, dep), input));
    }
    return rc;
}

static int add_file_edges(struct maker *maker, uint32_t index)
{
    const struct unit *unit = unit_of(maker, index);
    int rc = LAM_OK;
    for (size_t i = 0; rc == LAM_OK && i < unit->input_count; i++)
        rc = add_edge(maker, index,
                      find_product(maker, index, absolute(maker, unit, unit->inputs[i])), NEED_FILE);
    return rc;
}

/* A build script's run: the directory of its program is what its compilation was told to write to. */
static int add_script_edges(struct maker *maker, uint32_t index)
{
    const struct unit *unit = unit_of(maker, index);
    const struct build_node *nodes = maker->graph->nodes.items;
    uint32_t found = GRAPH_NONE;
    absolute(maker, unit, unit->program);
    const char *program = strbuf_text(&maker->name);
    size_t length = (size_t)(path_name(program) - program);
    for (uint32_t i = 0; i < maker->report->units.count; i++) {
        const struct unit *other = unit_of(maker, i);
        if (other->kind != UNIT_RUSTC || strcmp(other->mode, "build-script") != 0 ||
            !other->output || strncmp(other->output, program, length - 1) != 0 ||
            other->output[length - 1] != '\0' || nodes[i].start_ns >= nodes[index].start_ns)
            continue;
        if (found == GRAPH_NONE || nodes[i].start_ns > nodes[found].start_ns)
            found = i;
    }
    return add_edge(maker, index, found, NEED_FILE);
}

/* The rest of a source's path below a package's directory says whether it is that package's: src/lib.rs, build.rs; not
 * crates/other/src/lib.rs. */
static bool is_in_package(const char *rest)
{
    static const char *const dirs[] = {"src/", "tests/", "benches/", "examples/", "bin/"};
    if (!strchr(rest, '/'))
        return true;
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
        if (text_starts_with(rest, dirs[i]))
            return true;
    return false;
}

/* Cargo runs a build script in its package's directory. Of several runs for one package (two feature sets, host and target) the
 * last one that had ended is taken. */
static int add_run_edges(struct maker *maker, uint32_t index, const uint32_t *runs, size_t count)
{
    const struct unit *unit = unit_of(maker, index);
    const struct build_node *nodes = maker->graph->nodes.items;
    uint32_t found = GRAPH_NONE;
    if (strcmp(unit->mode, "build-script") == 0 || strcmp(unit->source, "-") == 0)
        return LAM_OK;
    absolute(maker, unit, unit->source);
    const char *source = strbuf_text(&maker->name);
    for (size_t i = 0; i < count; i++) {
        const struct unit *run = unit_of(maker, runs[i]);
        size_t length = run->cwd ? strlen(run->cwd) : 0;
        if (length == 0 || strncmp(run->cwd, source, length) != 0 || source[length] != '/' ||
            !is_in_package(source + length + 1) || nodes[runs[i]].end_ns > nodes[index].start_ns)
            continue;
        if (found == GRAPH_NONE || nodes[runs[i]].end_ns > nodes[found].end_ns)
            found = runs[i];
    }
    return add_edge(maker, index, found, NEED_RUN);
}

static int add_told_edges(struct maker *maker, uint32_t index)
{
    struct told_edges *told = &maker->told;
    int rc = LAM_OK;
    while (maker->next_told < told->count && told->items[maker->next_told].unit < index)
        maker->next_told++;
    for (; rc == LAM_OK && maker->next_told < told->count; maker->next_told++) {
        const struct build_edge *edge = &told->items[maker->next_told];
        if (edge->unit != index)
            break;
        size_t before = maker->graph->edges.count;
        rc = add_edge(maker, index, edge->dep, edge->need);
        if (maker->graph->edges.count > before)
            maker->graph->edges.items[before].is_by_chance = edge->is_by_chance;
    }
    return rc;
}

static int add_edges(struct maker *maker)
{
    struct report *report = maker->report;
    LAM_ARRAY(uint32_t) runs = {0};
    int rc = LAM_OK;
    for (uint32_t i = 0; rc == LAM_OK && i < report->units.count; i++)
        if (unit_of(maker, i)->kind == UNIT_BUILD_SCRIPT)
            rc = array_push(&runs, i);
    for (uint32_t i = 0; rc == LAM_OK && i < report->units.count; i++) {
        const struct unit *unit = unit_of(maker, i);
        struct build_node *node = &maker->graph->nodes.items[i];
        node->first_edge = (uint32_t)maker->graph->edges.count;
        if (node->inside != GRAPH_NONE)
            continue;
        bool is_rust = unit->kind == UNIT_RUSTC || unit->kind == UNIT_RUSTDOC;
        if (is_rust)
            rc = add_extern_edges(maker, i);
        else if (unit->kind == UNIT_BUILD_SCRIPT)
            rc = add_script_edges(maker, i);
        else
            rc = add_file_edges(maker, i);
        if (rc == LAM_OK && is_rust && runs.count > 0)
            rc = add_run_edges(maker, i, runs.items, runs.count);
        if (rc == LAM_OK)
            rc = add_told_edges(maker, i);
        node->edge_count = (uint32_t)maker->graph->edges.count - node->first_edge;
    }
    array_free(&runs);
    return rc;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static int add_nodes(struct maker *maker)
{
    struct report *report = maker->report;
    int64_t last_ns =
        report->session.elapsed_ns == PROFILE_UNKNOWN ? 0 : (int64_t)report->session.elapsed_ns;
    array_each(&report->units, unit)
    {
        const struct report_process *process = &report->processes.items[unit->process];
        struct build_node node = {.start_ns = process->start_ns,
                                  .end_ns = process->has_end ? process->end_ns : last_ns,
                                  .inside = GRAPH_NONE,
                                  .unblocked_by = GRAPH_NONE};
        if (node.end_ns < node.start_ns)
            node.end_ns = node.start_ns;
        node.rmeta_ns = node.end_ns;
        for (uint32_t parent = process->parent; parent != REPORT_NO_UNIT;
             parent = report->processes.items[parent].parent)
            if (report->processes.items[parent].unit != REPORT_NO_UNIT)
                node.inside = report->processes.items[parent].unit;
        if (array_push(&maker->graph->nodes, node) < 0)
            return LAM_E_NOMEM;
    }
    return LAM_OK;
}

static void infer_rmeta(struct build_node *node, int64_t at_ns, enum rmeta_from from)
{
    if (node->rmeta_from == RMETA_CARGO || at_ns <= node->start_ns || at_ns >= node->rmeta_ns)
        return;
    node->rmeta_ns = at_ns;
    node->rmeta_from = from;
}

static bool makes_metadata(const struct maker *maker, uint32_t unit)
{
    const struct unit *info = unit_of(maker, unit);
    return info->kind == UNIT_RUSTC && info->emits_metadata && info->emits_link;
}

/* The back end's coordinator is started right after the metadata was written. */
static void infer_from_threads(struct maker *maker)
{
    const struct report *report = maker->report;
    array_each(&report->threads, thread)
    {
        uint32_t unit = report->processes.items[thread->process].unit;
        if (unit != REPORT_NO_UNIT && thread->role == ROLE_COORDINATOR && makes_metadata(maker, unit))
            infer_rmeta(&maker->graph->nodes.items[unit], thread->start_ns, RMETA_CODEGEN);
    }
}

/* Without that thread: the last sample that encoded metadata, which is up to a long step of it early. */
static void infer_from_samples(struct maker *maker)
{
    const struct report *report = maker->report;
    array_each(&report->cells, cell)
    {
        struct phase_bucket bucket = classifier_bucket(report->cls, cell->bucket);
        uint32_t unit = report->processes.items[cell->process].unit;
        if (unit == REPORT_NO_UNIT || !bucket.detail || strcmp(bucket.detail, "encode") != 0 ||
            strcmp(bucket.phase_name, "metadata") != 0 || !makes_metadata(maker, unit))
            continue;
        struct build_node *node = &maker->graph->nodes.items[unit];
        if (node->rmeta_from == RMETA_ENCODE && cell->last_ns > node->rmeta_ns)
            node->rmeta_ns = cell->last_ns < node->end_ns ? cell->last_ns : node->end_ns;
        else if (node->rmeta_from == RMETA_NONE)
            infer_rmeta(node, cell->last_ns, RMETA_ENCODE);
    }
}

/* Without cargo's word; in any case before the first unit that needed it began. */
static void infer_metadata(struct maker *maker)
{
    struct build_graph *graph = maker->graph;
    infer_from_threads(maker);
    infer_from_samples(maker);
    array_each(&graph->edges, edge) if (edge->need == NEED_METADATA) infer_rmeta(
        &graph->nodes.items[edge->dep], graph->nodes.items[edge->unit].start_ns, RMETA_DEPENDENT);
}

int build_graph_make(struct report *report)
{
    struct maker maker = {.report = report, .graph = &report->graph};
    int rc = add_nodes(&maker);
    if (rc == LAM_OK)
        rc = add_products(&maker);
    if (rc == LAM_OK)
        rc = build_graph_cargo_edges(report, &maker.told);
    if (rc == LAM_OK)
        rc = add_edges(&maker);
    if (rc == LAM_OK) {
        build_graph_cargo_metadata(report);
        infer_metadata(&maker);
    }
    array_free(&maker.told);
    array_free(&maker.products);
    map_free(&maker.by_name);
    strbuf_free(&maker.name);
    return rc == LAM_OK ? build_graph_measure(&report->graph) : rc;
}
