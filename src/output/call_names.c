#include "output/call_names.h"

#include <ctype.h>
#include <string.h>

#include "base/glob.h"
#include "base/memory.h"

static struct profile_text text_of(const struct intern *texts, uint32_t id)
{
    struct profile_text text;
    text.bytes = intern_text(texts, id, &text.size);
    return text;
}

/* ---- of events --------------------------------------------------------------------------------------------------- */

int calls_of_events(struct calls *calls, const struct labels *labels)
{
    calls->measure = labels->session.measure;
    calls->whole_ns = labels->whole_ns;
    array_each(&labels->names, name)
    {
        struct call_name fresh = {.name = text_of(&labels->texts, name->label),
                                  .kind = text_of(&labels->texts, name->kind)};
        if (array_push(&calls->names, fresh) < 0)
            return LAM_E_NOMEM;
    }
    int rc = LAM_OK;
    for (uint32_t i = 1; rc == LAM_OK && i < labels->paths.nodes.count; i++) {
        const struct label_path *path = &labels->paths.nodes.items[i];
        struct call_node node = {.parent = path->parent,
                                 .name = path->is_pushed ? path->row : CALL_NOBODY,
                                 .count = path->is_part ? 0 : path->count,
                                 .self.ns = path->self_ns};
        rc = call_graph_add(&calls->graph, &node);
    }
    return rc < 0 ? rc : call_graph_finish(&calls->graph);
}

/* ---- of samples -------------------------------------------------------------------------------------------------- */

static const char no_symbol[] = "(no symbol)";

struct sampled {
    struct calls *calls;
    struct stack_totals *totals;
    struct map children;            /* node << 32 | name → node */
    uint32_t *of_paths, *of_stacks; /* by path, by mixed node: the graph's */
    uint64_t *inside;               /* by mixed node: its time with what is below it */
    struct map lines;               /* name << 32 | line → time */
};

static int name_of(struct sampled *in, uint64_t key, const struct call_name *name, uint32_t *out)
{
    bool added;
    uint64_t *slot = map_slot(&in->calls->name_ids, key, in->calls->names.count, &added);
    if (!slot || (added && array_push(&in->calls->names, *name) < 0))
        return LAM_E_NOMEM;
    *out = (uint32_t)*slot;
    return LAM_OK;
}

static int child_of(struct sampled *in, uint32_t parent, uint32_t name, uint32_t *out)
{
    bool added;
    size_t count = in->calls->graph.nodes.count;
    uint64_t *slot =
        map_slot(&in->children, (uint64_t)parent << 32 | name, count ? count : 1, &added);
    if (!slot)
        return LAM_E_NOMEM;
    *out = (uint32_t)*slot;
    struct call_node node = {.parent = parent, .name = name};
    return added ? call_graph_add(&in->calls->graph, &node) : LAM_OK;
}

static int add_label(struct sampled *in, uint32_t parent, uint32_t label, uint32_t *out)
{
    const struct export_labels *labels = &in->totals->labels;
    struct call_name name = {.name = export_labels_get(labels, label)->text,
                             .kind = export_labels_kind(labels, label)};
    uint32_t id;
    int rc = name_of(in, (uint64_t)UINT32_MAX << 32 | label, &name, &id); /* no module has that */
    return rc < 0 ? rc : child_of(in, parent, id, out);
}

/* What has no symbol is one function a module: its addresses say nothing. */
static bool is_nameless(const struct export_frames *frames, uint32_t name)
{
    size_t size;
    const char *text = intern_text(&frames->names, name, &size);
    return memmem(text, size, "+0x", 3) != NULL;
}

static int add_line(struct sampled *in, uint32_t name, uint32_t line, uint64_t ns)
{
    uint64_t *slot = line ? map_slot(&in->lines, (uint64_t)name << 32 | line, 0, NULL) : NULL;
    if (slot)
        *slot += ns;
    return slot || !line ? LAM_OK : LAM_E_NOMEM;
}

/* A function, and with inlined calls several, the outer ones first. ns: of the frame, with what is below it. */
static int add_frame(struct sampled *in, uint32_t parent, uint32_t frame, uint64_t ns, uint32_t *out)
{
    struct export_frames *frames = &in->totals->frames;
    uint32_t count;
    const struct export_function *functions = export_frames_functions(frames, frame, &count);
    int rc = functions ? LAM_OK : LAM_E_NOMEM;
    *out = parent;
    for (uint32_t i = count; rc == LAM_OK && i-- > 0;) {
        const struct export_function *function = &functions[i];
        uint32_t module = function->module < frames->modules.count
                              ? frames->modules.items[function->module].path
                              : INTERN_EMPTY;
        struct call_name name = {.name = text_of(&frames->names, function->name),
                                 .module = text_of(&frames->names, module),
                                 .file = text_of(&frames->names, function->file)};
        uint32_t id, text = function->name;
        if (is_nameless(frames, text)) {
            name.name = (struct profile_text){no_symbol, sizeof no_symbol - 1};
            text = UINT32_MAX;
        }
        rc = name_of(in, (uint64_t)module << 32 | text, &name, &id);
        if (rc == LAM_OK)
            rc = add_line(in, id, function->line, ns);
        if (rc == LAM_OK)
            rc = child_of(in, *out, id, out);
    }
    return rc;
}

/* The graph's node of a path or of a mixed node. */
static uint32_t node_of(const struct sampled *in, uint32_t node)
{
    if (node & MIXED_NODE) {
        uint32_t index = node & ~MIXED_NODE;
        return index < in->totals->mixed.nodes.count ? in->of_stacks[index] : 0;
    }
    return node < in->totals->paths.count ? in->of_paths[node] : 0;
}

/* Parents come before their children, and paths before all frames. */
static int add_nodes(struct sampled *in)
{
    const struct stack_totals *totals = in->totals;
    int rc = LAM_OK;
    for (uint32_t i = 1; rc == LAM_OK && i < totals->paths.count; i++) {
        const struct stack_path *path = &totals->paths.items[i];
        if (path->label)
            rc = add_label(in, node_of(in, path->parent), path->label, &in->of_paths[i]);
    }
    for (uint32_t i = 0; rc == LAM_OK && i < totals->mixed.nodes.count; i++) {
        const struct mixed_node *node = &totals->mixed.nodes.items[i];
        rc = add_frame(in, node_of(in, node->parent), node->frame, in->inside[i], &in->of_stacks[i]);
    }
    return rc;
}

/* Times of mixed nodes with what is below them: children come behind their parents. */
static void add_inside(struct sampled *in)
{
    const struct mixed_stacks *mixed = &in->totals->mixed;
    array_each(&in->totals->samples, row)
    {
        uint32_t index = row->node & ~MIXED_NODE;
        if (row->node & MIXED_NODE && index < mixed->nodes.count)
            in->inside[index] += row->value;
    }
    for (size_t i = mixed->nodes.count; i-- > 0;) {
        uint32_t parent = mixed->nodes.items[i].parent, index = parent & ~MIXED_NODE;
        if (parent & MIXED_NODE && index < i)
            in->inside[index] += in->inside[i];
    }
}

/* Of each name the line with most time; the first of those with as much. */
static int choose_lines(struct sampled *in)
{
    uint64_t key, ns, *most = mem_zalloc(in->calls->names.count + 1, sizeof *most);
    size_t at = 0;
    while (most && map_next(&in->lines, &at, &key, &ns)) {
        struct call_name *name = &in->calls->names.items[key >> 32];
        uint32_t line = (uint32_t)key;
        if (name->line && (ns < most[key >> 32] || (ns == most[key >> 32] && line > name->line)))
            continue;
        name->line = line;
        most[key >> 32] = ns;
    }
    mem_free(most);
    return most ? LAM_OK : LAM_E_NOMEM;
}

int calls_of_samples(struct calls *calls, struct stack_totals *totals)
{
    struct sampled in = {
        .calls = calls,
        .totals = totals,
        .of_paths = mem_zalloc(totals->paths.count + 1, sizeof *in.of_paths),
        .of_stacks = mem_zalloc(totals->mixed.nodes.count + 1, sizeof *in.of_stacks),
        .inside = mem_zalloc(totals->mixed.nodes.count + 1, sizeof *in.inside),
    };
    int rc = in.of_paths && in.of_stacks && in.inside ? LAM_OK : LAM_E_NOMEM;
    if (rc == LAM_OK) {
        add_inside(&in);
        rc = add_nodes(&in);
    }
    if (rc == LAM_OK)
        rc = choose_lines(&in);
    calls->is_of_samples = true;
    for (size_t i = 0; rc == LAM_OK && i < totals->samples.count; i++) {
        const struct stack_total *row = &totals->samples.items[i];
        uint32_t at = node_of(&in, row->node);
        calls->whole_ns += row->value;
        if (!at)
            continue;
        calls->graph.nodes.items[at].self.ns += row->value;
        calls->graph.nodes.items[at].self.samples += row->count;
    }
    if (rc == LAM_OK)
        rc = call_graph_finish(&calls->graph);
    map_free(&in.children);
    map_free(&in.lines);
    mem_free(in.inside);
    mem_free(in.of_paths);
    mem_free(in.of_stacks);
    return rc;
}

void calls_free(struct calls *calls)
{
    call_graph_free(&calls->graph);
    array_free(&calls->names);
    map_free(&calls->name_ids);
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

/* Without the place that interpreters' names end in: "parse (main.lua:3)". */
static size_t bare_size(struct profile_text name)
{
    const char *place = name.size ? memmem(name.bytes, name.size, " (", 2) : NULL;
    return place && place > name.bytes ? (size_t)(place - name.bytes) : name.size;
}

static bool is_text(const char *bytes, size_t size, const char *wanted)
{
    return size == strlen(wanted) && memcmp(bytes, wanted, size) == 0;
}

enum { MATCH_EXACT, MATCH_BARE, MATCH_PART, MATCH_KINDS };

static bool matches(struct profile_text name, const char *wanted, bool is_pattern, int how)
{
    if (how == MATCH_EXACT)
        return is_pattern ? glob_match(wanted, strlen(wanted), name.bytes, name.size)
                          : is_text(name.bytes, name.size, wanted);
    if (how == MATCH_BARE)
        return !is_pattern && is_text(name.bytes, bare_size(name), wanted);
    return !is_pattern && memmem(name.bytes, name.size, wanted, strlen(wanted)) != NULL;
}

static int compare_total(const void *left, const void *right, void *graph)
{
    const struct call_function *functions = ((const struct call_graph *)graph)->functions.items;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (functions[a].total.ns != functions[b].total.ns)
        return functions[a].total.ns > functions[b].total.ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

int calls_find(const struct calls *calls, const char *wanted, struct call_names *found)
{
    bool is_pattern = glob_has_wildcard(wanted, strlen(wanted));
    for (int how = 0; how < MATCH_KINDS && found->count == 0; how++)
        for (uint32_t i = 0; i < calls->graph.functions.count; i++)
            if (calls->graph.functions.items[i].is_there &&
                matches(calls->names.items[i].name, wanted, is_pattern, how) &&
                array_push(found, i) < 0)
                return LAM_E_NOMEM;
    if (found->count > 1)
        qsort_r(found->items, found->count, sizeof *found->items, compare_total,
                (void *)(uintptr_t)&calls->graph);
    return LAM_OK;
}

/* ---- names that somebody may have meant -------------------------------------------------------------------------- */

enum { LIKE_MAX = 64 }; /* longer names are not compared */

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* How many letters to add, drop or change, upper and lower case being the same. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[LIKE_MAX + 1];
    if (a_size > LIKE_MAX || b_size > LIKE_MAX)
        return UINT32_MAX;
    for (unsigned i = 0; i <= b_size; i++)
        row[i] = i;
    for (size_t i = 0; i < a_size; i++) {
        unsigned before = row[0]; /* of the row above, one to the left */
        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < b_size; k++) {
            bool is_same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[k]);
            unsigned here = smallest(row[k + 1] + 1, row[k] + 1, before + !is_same);
            before = row[k + 1];
            row[k + 1] = here;
        }
    }
    return row[b_size];
}

/* Of a name as a whole, and of what is behind its last dot or colon. */
static unsigned unlikeness(struct profile_text name, const char *wanted)
{
    size_t size = bare_size(name), from = size;
    while (from > 0 && name.bytes[from - 1] != '.' && name.bytes[from - 1] != ':')
        from--;
    unsigned whole = distance(name.bytes, size, wanted, strlen(wanted)),
             last = distance(name.bytes + from, size - from, wanted, strlen(wanted));
    return whole < last ? whole : last;
}

int calls_most_like(const struct calls_likeness *among, const char *wanted, struct strbuf *text)
{
    enum { SHOWN = 3 };
    struct {
        struct profile_text name;
        unsigned unlikeness;
    } best[SHOWN];
    size_t count = 0;
    unsigned most = (unsigned)strlen(wanted) / 3 + 1;
    for (size_t k = 0; k < among->count; k++) {
        const struct calls *calls = among->sources[k];
        for (size_t i = 0; i < calls->graph.functions.count; i++) {
            if (!calls->graph.functions.items[i].is_there)
                continue;
            struct profile_text name = calls->names.items[i].name;
            unsigned how = unlikeness(name, wanted);
            if (how > most)
                continue;
            size_t at = count < SHOWN ? count++ : SHOWN;
            while (at > 0 && how < best[at - 1].unlikeness) {
                if (at < SHOWN)
                    best[at] = best[at - 1];
                at--;
            }
            if (at < SHOWN) {
                best[at].name = name;
                best[at].unlikeness = how;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        strbuf_add(text, i ? ", '" : "'");
        strbuf_add_printable(text, best[i].name.bytes, best[i].name.size);
        strbuf_add_char(text, '\'');
    }
    return strbuf_ok(text) ? LAM_OK : LAM_E_NOMEM;
}
