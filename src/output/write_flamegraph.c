#include "output/write_flamegraph.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "output/flamegraph_script.h"
#include "output/safe_text.h"
#include "output/stack_tree.h"
#include "output/time_text.h"

/* Pixels; a browser scales the picture as one. */
#define PICTURE_WIDTH 1200.0
#define MARGIN        10.0
#define ROW_HEIGHT    16.0
#define HEAD_HEIGHT   68.0
#define FOOT_HEIGHT   26.0
#define LETTER_WIDTH  7.3
#define SMALLEST      0.1 /* narrower frames are merged */

/* Rows drawn. A recursion can be 200,000 deep, which no picture shows. */
enum { ROWS_MAX = 1000 };

struct flamegraph {
    struct export_options options;
    struct byteout *out;
    struct stack_totals *totals;
    struct stack_tree tree, inverted;
    const struct stack_tree *drawn;
    struct strbuf line, name, figures;
    LAM_ARRAY(uint64_t) starts; /* of the nodes on the way, by depth, in values */
    uint64_t min_value, total, other_total;
    uint32_t rows;
    uint64_t merged, merged_value, deeper;
    bool is_counting;
    uint64_t bytes, vanished;
    bool is_time; /* what the values are */
};

int write_flamegraph_open(void **state, const struct export_options *options, struct byteout *out,
                          struct lam_error *err)
{
    struct flamegraph *flame = mem_zalloc(1, sizeof *flame);
    *state = flame;
    if (!flame)
        return lam_error_set(err, LAM_E_NOMEM, "flamegraph: out of memory");
    flame->options = *options;
    flame->out = out;
    int rc = stack_totals_open(&flame->totals, options, err);
    if (rc < 0)
        write_flamegraph_close(state);
    else /* the tree goes by names */
        flame->totals->takes_sums = options->values != EXPORT_VALUES_MIXED;
    return rc;
}

struct profile_sink write_flamegraph_sink(void *state)
{
    return stack_totals_sink(((struct flamegraph *)state)->totals);
}

/* ---- figures ---- */

static void add_value(struct flamegraph *flame, struct strbuf *to, uint64_t value)
{
    if (flame->is_time)
        strbuf_add(to, unit_seconds((double)value / 1e9).text);
    else
        strbuf_addf(to, "%llu %s", (unsigned long long)value,
                    export_measure_name(flame->totals->measure));
}

static double percent(const struct flamegraph *flame, uint64_t value)
{
    return flame->total ? 100.0 * (double)value / (double)flame->total : 0.0;
}

static void add_figures(struct flamegraph *flame, struct strbuf *to, uint64_t value, uint64_t other,
                        uint64_t count)
{
    add_value(flame, to, value);
    strbuf_addf(to, ", %.2f%%", percent(flame, value));
    if (count)
        strbuf_addf(to, ", %llu %s", (unsigned long long)count,
                    stack_totals_of_samples(flame->totals) ? "samples" : "times");
    if (!flame->options.against)
        return;
    strbuf_add(to, "; before ");
    add_value(flame, to, other);
    if (other)
        strbuf_addf(to, ", %+.1f%%", 100.0 * ((double)value - (double)other) / (double)other);
}

/* Warm colours by name, the same in every picture. */
static void name_colour(const char *name, size_t size, unsigned colour[3])
{
    uint64_t hash = hash_bytes(name, size);
    colour[0] = 205 + (unsigned)(hash % 50);
    colour[1] = 90 + (unsigned)(hash / 64 % 120);
    colour[2] = 40 + (unsigned)(hash / 8192 % 50);
}

/* Red grew, blue shrank: full colour where it doubled or halved, or is new. */
static void change_colour(uint64_t value, uint64_t other, unsigned colour[3])
{
    double ratio = other ? (double)value / (double)other : 2.0;
    double change = value || other ? log2(ratio > 0.01 ? ratio : 0.01) : 0.0;
    double strength = fabs(change) > 1.0 ? 1.0 : fabs(change);
    unsigned fade = (unsigned)(245.0 - 150.0 * strength);
    colour[0] = change >= 0 ? 245 : fade;
    colour[1] = fade;
    colour[2] = change >= 0 ? fade : 245;
}

/* ---- frames ---- */

struct box {
    uint64_t start, value, other, count;
    uint32_t depth;
    const char *name; /* escaped */
    size_t size, letters;
    const char *kind; /* class of what is no function; "" */
};

static double x_of(const struct flamegraph *flame, uint64_t value)
{
    return flame->total ? (double)value * (PICTURE_WIDTH - 2 * MARGIN) / (double)flame->total : 0.0;
}

static double y_of(const struct flamegraph *flame, uint32_t depth)
{
    double row = flame->options.is_inverted ? depth : (double)flame->rows - 1 - depth;
    return HEAD_HEIGHT + row * ROW_HEIGHT;
}

/* The first letters of an escaped text, never part of an entity or a character. */
static size_t cut_letters(const char *text, size_t size, size_t letters)
{
    size_t at = 0;
    while (at < size && letters--) {
        uint32_t code;
        if (text[at] == '&') {
            while (text[at] != ';')
                at++;
            at++;
        } else {
            at += utf8_decode(text + at, size - at, &code);
        }
    }
    return at;
}

static void add_caption(struct flamegraph *flame, const struct box *box, double x, double y,
                        double width)
{
    double room = floor((width - 6) / LETTER_WIDTH);
    if (room < 3)
        return;
    strbuf_addf(&flame->line, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + 12);
    if (box->letters <= (size_t)room) {
        strbuf_add_bytes(&flame->line, box->name, box->size);
    } else {
        strbuf_add_bytes(&flame->line, box->name,
                         cut_letters(box->name, box->size, (size_t)room - 1));
        strbuf_add(&flame->line, "…");
    }
    strbuf_add(&flame->line, "</text>");
}

static int put_box(struct flamegraph *flame, const struct box *box, const unsigned colour[3])
{
    double x = MARGIN + x_of(flame, box->start), width = x_of(flame, box->value);
    double y = y_of(flame, box->depth);
    strbuf_clear(&flame->line);
    strbuf_clear(&flame->figures);
    add_figures(flame, &flame->figures, box->value, box->other, box->count);
    strbuf_addf(&flame->line, "<g class=\"f%s\" data-d=\"%u\"><title>", box->kind, box->depth);
    strbuf_add_bytes(&flame->line, box->name, box->size);
    strbuf_addf(&flame->line, "\n%s</title>", strbuf_text(&flame->figures));
    strbuf_addf(
        &flame->line,
        "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"#%02x%02x%02x\"/>", x, y,
        width < SMALLEST ? SMALLEST : width, ROW_HEIGHT - 1, colour[0], colour[1], colour[2]);
    add_caption(flame, box, x, y, width);
    strbuf_add(&flame->line, "</g>\n");
    if (!strbuf_ok(&flame->line) || !strbuf_ok(&flame->figures))
        return LAM_E_NOMEM;
    flame->bytes += flame->line.length;
    if (!flame->is_counting)
        byteout_write(flame->out, flame->line.data, flame->line.length);
    return flame->out->failed;
}

static size_t letters_of(const char *text, size_t size)
{
    size_t letters = 0;
    for (size_t at = 0; at < size; at += cut_letters(text + at, size - at, 1))
        letters++;
    return letters;
}

static int put_node(struct flamegraph *flame, uint32_t id, uint64_t start)
{
    const struct stack_tree_node *node = &flame->drawn->nodes.items[id];
    struct box box = {.start = start,
                      .value = node->total,
                      .other = node->other_total,
                      .depth = node->depth,
                      .count = flame->options.is_inverted ? 0 : node->count,
                      .kind = ""};
    unsigned colour[3];
    size_t size = 3;
    const char *name = id ? intern_text(&flame->drawn->names, node->name, &size) : "all";
    strbuf_clear(&flame->name);
    safe_text_add(&flame->name, SAFE_XML, name, size);
    box.name = strbuf_text(&flame->name);
    box.size = flame->name.length;
    box.letters = letters_of(box.name, box.size);
    if (flame->options.against)
        change_colour(box.value, box.other, colour);
    else
        name_colour(name, size, colour);
    return strbuf_ok(&flame->name) ? put_box(flame, &box, colour) : LAM_E_NOMEM;
}

/* Everything below a node, for the count of what is merged. */
static uint64_t nodes_below(const struct stack_tree *tree, uint32_t top)
{
    uint64_t count = 1;
    uint32_t node = tree->nodes.items[top].first_child;
    while (node) { /* without recursion: trees are as deep as stacks */
        count++;
        if (tree->nodes.items[node].first_child) {
            node = tree->nodes.items[node].first_child;
            continue;
        }
        while (node != top && !tree->nodes.items[node].next)
            node = tree->nodes.items[node].parent;
        node = node == top ? 0 : tree->nodes.items[node].next;
    }
    return count;
}

static bool is_drawn(const struct flamegraph *flame, const struct stack_tree_node *node)
{
    return node->total >= flame->min_value && node->total && node->depth < ROWS_MAX;
}

/* What is too small, or too far out, of a node's children, as one box behind those that are drawn. */
static int put_merged(struct flamegraph *flame, uint32_t id, uint64_t start)
{
    static const unsigned grey[3] = {200, 200, 200};
    const struct stack_tree_node *nodes = flame->drawn->nodes.items;
    uint64_t value = 0, other = 0, count = 0, drawn = 0;
    bool is_deep = nodes[id].depth + 1 >= ROWS_MAX;
    for (uint32_t child = nodes[id].first_child; child; child = nodes[child].next) {
        if (is_drawn(flame, &nodes[child])) {
            drawn += nodes[child].total;
            continue;
        }
        value += nodes[child].total;
        other += nodes[child].other_total;
        count += flame->is_counting ? 1 : nodes_below(flame->drawn, child);
    }
    if (!count)
        return LAM_OK;
    flame->deeper += is_deep ? count : 0;
    flame->merged += is_deep ? 0 : count;
    flame->merged_value += is_deep ? 0 : value;
    if (x_of(flame, value) < SMALLEST)
        return LAM_OK;
    char name[64];
    int size = snprintf(name, sizeof name, "(%llu %s)", (unsigned long long)count,
                        is_deep ? "deeper" : "smaller");
    struct box box = {.start = start + drawn,
                      .value = value,
                      .other = other,
                      .depth = nodes[id].depth + 1,
                      .name = name,
                      .size = (size_t)size,
                      .letters = (size_t)size,
                      .kind = " m"};
    return put_box(flame, &box, grey);
}

static uint32_t first_drawn(const struct flamegraph *flame, uint32_t node)
{
    while (node && !is_drawn(flame, &flame->drawn->nodes.items[node]))
        node = flame->drawn->nodes.items[node].next;
    return node;
}

/* Depth first, so that a frame follows the one it stands on. starts holds where the next child of each node goes. */
static int put_frames(struct flamegraph *flame)
{
    const struct stack_tree_node *nodes = flame->drawn->nodes.items;
    uint32_t node = 0;
    uint64_t start = 0;
    flame->bytes = 0;
    flame->merged = flame->merged_value = flame->deeper = 0;
    array_clear(&flame->starts);
    for (;;) {
        int rc = put_node(flame, node, start);
        if (rc == LAM_OK)
            rc = put_merged(flame, node, start);
        if (rc == LAM_OK)
            rc = array_push(&flame->starts, start);
        if (rc < 0)
            return rc;
        uint32_t next = first_drawn(flame, nodes[node].first_child);
        while (!next) {
            (void)array_pop(&flame->starts);
            if (!flame->starts.count)
                return LAM_OK;
            array_last(&flame->starts) += nodes[node].total;
            next = first_drawn(flame, nodes[node].next);
            node = nodes[node].parent;
        }
        start = array_last(&flame->starts);
        node = next;
    }
}

/* ---- the picture ---- */

static void count_rows(struct flamegraph *flame)
{
    uint32_t deepest = 0;
    array_each(&flame->drawn->nodes, node)
    {
        uint32_t depth = node->depth;
        if (node->total && (node->total >= flame->min_value) && depth > deepest)
            deepest = depth;
    }
    flame->rows = (deepest < ROWS_MAX ? deepest : ROWS_MAX) + 2; /* a row for what is merged on top */
}

static void put_head(struct flamegraph *flame)
{
    double height = HEAD_HEIGHT + flame->rows * ROW_HEIGHT + FOOT_HEIGHT;
    byteout_printf(flame->out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                   "viewBox=\"0 0 %.0f %.0f\" "
                   "data-width=\"%.0f\"%s role=\"img\" tabindex=\"0\">\n",
                   PICTURE_WIDTH, height, PICTURE_WIDTH, height, PICTURE_WIDTH,
                   flame->options.is_inverted ? " data-down=\"1\"" : "");
    byteout_text(flame->out, "<style>");
    byteout_text(flame->out, flamegraph_style);
    byteout_printf(flame->out,
                   "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fafaf7\"/>\n"
                   "<text id=\"title\" x=\"%.0f\" y=\"24\">",
                   PICTURE_WIDTH / 2);
    const char *title = flame->options.title ? flame->options.title : "lamella";
    strbuf_clear(&flame->name);
    safe_text_add(&flame->name, SAFE_XML, title, strlen(title));
    byteout_write(flame->out, strbuf_text(&flame->name), flame->name.length);
    byteout_printf(flame->out,
                   "</text>\n<text id=\"search\" class=\"b\" x=\"%.0f\" y=\"24\">search (/)</text>"
                   "<text id=\"matched\" x=\"%.0f\" y=\"42\"></text>"
                   "<text id=\"reset\" class=\"b h\" x=\"%.0f\" y=\"24\">reset zoom (Esc)</text>"
                   "<text id=\"details\" x=\"%.0f\" y=\"%.0f\">",
                   MARGIN, MARGIN, PICTURE_WIDTH - 160, MARGIN, height - 9);
    byteout_text(flame->out, "</text>\n");
}

static void put_subtitle(struct flamegraph *flame)
{
    bool of_samples = stack_totals_of_samples(flame->totals);
    strbuf_clear(&flame->figures);
    add_value(flame, &flame->figures, flame->total);
    strbuf_add(&flame->figures,
               of_samples ? " of CPU time in samples" : " of self time in intervals");
    if (flame->options.is_inverted)
        strbuf_add(&flame->figures, ", innermost first");
    if (flame->options.against) {
        strbuf_add(&flame->figures, "; before: ");
        add_value(flame, &flame->figures, flame->other_total);
        strbuf_add(&flame->figures, " (red grew, blue shrank)");
    }
    byteout_printf(flame->out, "<text x=\"%.0f\" y=\"42\" text-anchor=\"middle\">%s</text>\n",
                   PICTURE_WIDTH / 2, strbuf_text(&flame->figures));
    if (!flame->merged && !flame->deeper)
        return;
    byteout_printf(flame->out, "<text x=\"%.0f\" y=\"58\" text-anchor=\"middle\">",
                   PICTURE_WIDTH / 2);
    if (flame->merged)
        byteout_printf(flame->out, "%s frame%s merged into what is around, %.2f%% of the whole",
                       unit_count(flame->merged).text, unit_plural(flame->merged),
                       percent(flame, flame->merged_value));
    if (flame->deeper)
        byteout_printf(flame->out, "%s%s beyond %d rows %s merged into the last one",
                       flame->merged ? "; " : "", unit_count(flame->deeper).text, ROWS_MAX,
                       unit_either(flame->deeper, "is", "are"));
    byteout_text(flame->out, "</text>\n");
}

/* Raises the smallest value that is drawn until all fits. */
static int fit(struct flamegraph *flame, struct lam_error *err)
{
    enum { AROUND_BYTES = 16384 }; /* head, style, script, texts: more than they take */
    uint64_t limit = flame->options.max_bytes;
    if (!limit)
        return LAM_OK;
    int rc;
    flame->is_counting = true;
    while ((rc = put_frames(flame)) == LAM_OK && flame->bytes + AROUND_BYTES > limit &&
           flame->min_value <= flame->total)
        flame->min_value += flame->min_value / 4 + 1;
    flame->is_counting = false;
    if (rc == LAM_OK && flame->bytes + AROUND_BYTES > limit)
        return lam_error_set(err, LAM_E_TOOBIG,
                             "flamegraph: even with everything merged it takes %llu bytes",
                             (unsigned long long)flame->bytes + AROUND_BYTES);
    return rc;
}

static uint64_t visible_value(uint64_t total)
{
    return (uint64_t)((double)total * SMALLEST / (PICTURE_WIDTH - 2 * MARGIN)) + 1;
}

static int make_tree(struct flamegraph *flame)
{
    int rc = stack_tree_add(&flame->tree, flame->totals, false);
    if (rc == LAM_OK && flame->options.against)
        rc = stack_tree_add(&flame->tree, flame->options.against, true);
    if (rc == LAM_OK)
        rc = stack_tree_finish(&flame->tree);
    if (rc < 0)
        return rc;
    flame->total = flame->tree.nodes.items[0].total;
    flame->other_total = flame->tree.nodes.items[0].other_total;
    flame->min_value = visible_value(flame->total);
    flame->drawn = &flame->tree;
    if (!flame->options.is_inverted)
        return LAM_OK;
    flame->drawn = &flame->inverted;
    return stack_tree_invert(&flame->tree, flame->min_value, ROWS_MAX, &flame->inverted);
}

/* Time of stacks that are only in what is compared with: they have no width here. */
static uint64_t vanished_value(const struct stack_tree *tree)
{
    uint64_t value = 0;
    array_each(&tree->nodes, node)
    {
        if (!node->total && node->other_total &&
            (!node->depth || tree->nodes.items[node->parent].total))
            value += node->other_total;
    }
    return value;
}

static void note_merged(struct flamegraph *flame)
{
    if (flame->merged)
        export_note(
            &flame->options,
            "%s frame%s narrower than can be seen, or than --max-size allows, merged (%.2f%%)",
            unit_count(flame->merged).text, unit_plural(flame->merged),
            flame->total ? 100.0 * (double)flame->merged_value / (double)flame->total : 0.0);
    if (flame->deeper)
        export_note(&flame->options, "%s frame%s beyond %d rows merged into the last one",
                    unit_count(flame->deeper).text, unit_plural(flame->deeper), ROWS_MAX);
    if (flame->vanished) {
        strbuf_clear(&flame->figures);
        add_value(flame, &flame->figures, flame->vanished);
        export_note(&flame->options,
                    "%s are in stacks that only the input compared with has: they are not drawn",
                    strbuf_text(&flame->figures));
    }
}

static int put_picture(struct flamegraph *flame)
{
    count_rows(flame);
    put_head(flame);
    int rc = put_frames(flame);
    if (rc < 0)
        return rc;
    put_subtitle(flame);
    byteout_text(flame->out, "<script><![CDATA[\n");
    byteout_text(flame->out, flamegraph_script);
    byteout_text(flame->out, "]]></script>\n</svg>\n");
    return flame->out->failed;
}

int write_flamegraph_finish(void *state, struct lam_error *err)
{
    struct flamegraph *flame = state;
    flame->is_time = stack_totals_of_samples(flame->totals) ||
                     flame->totals->measure <= PROFILE_MEASURE_CPU_TIME;
    int rc = make_tree(flame);
    if (rc == LAM_OK)
        rc = fit(flame, err);
    if (rc == LAM_OK)
        rc = put_picture(flame);
    if (rc < 0)
        return rc == LAM_E_TOOBIG ? rc : lam_error_set(err, rc, "flamegraph: %s", lam_code_text(rc));
    flame->vanished = flame->options.against ? vanished_value(&flame->tree) : 0;
    note_merged(flame);
    return LAM_OK;
}

void write_flamegraph_close(void **state)
{
    if (!state || !*state)
        return;
    struct flamegraph *flame = *state;
    stack_totals_close(&flame->totals);
    stack_tree_free(&flame->tree);
    stack_tree_free(&flame->inverted);
    strbuf_free(&flame->line);
    strbuf_free(&flame->name);
    strbuf_free(&flame->figures);
    array_free(&flame->starts);
    mem_free(flame);
    *state = NULL;
}
