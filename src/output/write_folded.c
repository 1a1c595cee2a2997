#include "output/write_folded.h"

#include "base/memory.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "output/safe_text.h"
#include "output/stack_tree.h"

/* A line holds all names on the way, so that a very deep stack would make a file of the square of its depth. */
enum { FOLDED_DEPTH_MAX = 2048 };

static const char deeper[] = "(deeper)";

struct folded {
    struct export_options options;
    struct byteout *out;
    struct stack_totals *totals;
    struct stack_tree tree;
    struct strbuf line;
    LAM_ARRAY(size_t) lengths; /* of the line, by depth */
    uint64_t min_value;        /* less is merged into what is around it */
    uint64_t merged_stacks, merged_value, deep_stacks;
    bool is_counting; /* only how many bytes it would be */
    uint64_t bytes;
};

int write_folded_open(void **state, const struct export_options *options, struct byteout *out,
                      struct lam_error *err)
{
    struct folded *folded = mem_zalloc(1, sizeof *folded);
    *state = folded;
    if (!folded)
        return lam_error_set(err, LAM_E_NOMEM, "folded: out of memory");
    folded->options = *options;
    folded->out = out;
    int rc = stack_totals_open(&folded->totals, options, err);
    if (rc < 0)
        write_folded_close(state);
    else /* the tree goes by names */
        folded->totals->takes_sums = options->values != EXPORT_VALUES_MIXED;
    return rc;
}

struct profile_sink write_folded_sink(void *state)
{
    return stack_totals_sink(((struct folded *)state)->totals);
}

static int put_line(struct folded *folded, const char *last, uint64_t value)
{
    size_t length = folded->line.length;
    if (last) {
        strbuf_add_char(&folded->line, ';');
        strbuf_add(&folded->line, last);
    }
    strbuf_addf(&folded->line, " %llu\n", (unsigned long long)value);
    if (!strbuf_ok(&folded->line))
        return LAM_E_NOMEM;
    folded->bytes += folded->line.length;
    if (!folded->is_counting)
        byteout_write(folded->out, folded->line.data, folded->line.length);
    strbuf_truncate(&folded->line, length);
    return folded->out->failed;
}

static uint64_t stacks_below(const struct stack_tree *tree, uint32_t top)
{
    uint64_t stacks = 0;
    uint32_t node = top;
    for (;;) { /* without recursion: trees are as deep as stacks */
        const struct stack_tree_node *at = &tree->nodes.items[node];
        stacks += at->self || at->count;
        if (at->first_child) {
            node = at->first_child;
            continue;
        }
        while (node != top && !tree->nodes.items[node].next)
            node = tree->nodes.items[node].parent;
        if (node == top)
            return stacks;
        node = tree->nodes.items[node].next;
    }
}

/* The node's own line, and those of what is merged into it. *goes_on: its children get lines of their own. */
static int put_node(struct folded *folded, uint32_t id, bool *goes_on)
{
    const struct stack_tree_node *node = &folded->tree.nodes.items[id];
    uint64_t small = 0;
    bool is_deep = node->depth >= FOLDED_DEPTH_MAX && node->first_child;
    *goes_on = node->first_child && !is_deep;
    for (uint32_t child = node->first_child; child; child = folded->tree.nodes.items[child].next) {
        const struct stack_tree_node *below = &folded->tree.nodes.items[child];
        if (is_deep || below->total < folded->min_value) {
            small += below->total;
            if (!folded->is_counting) {
                uint64_t stacks = stacks_below(&folded->tree, child);
                *(is_deep ? &folded->deep_stacks : &folded->merged_stacks) += stacks;
                folded->merged_value += is_deep ? 0 : below->total;
            }
        }
    }
    /* What took no time was there all the same. */
    int rc = node->self || node->count ? put_line(folded, NULL, node->self) : LAM_OK;
    return rc < 0 || !small ? rc : put_line(folded, is_deep ? deeper : "(smaller)", small);
}

static int enter(struct folded *folded, uint32_t id)
{
    const struct stack_tree_node *node = &folded->tree.nodes.items[id];
    size_t size;
    const char *name = intern_text(&folded->tree.names, node->name, &size);
    if (array_push(&folded->lengths, folded->line.length) < 0)
        return LAM_E_NOMEM;
    if (node->depth > 1)
        strbuf_add_char(&folded->line, ';');
    safe_text_add(&folded->line, SAFE_FOLDED, name, size);
    return strbuf_ok(&folded->line) ? LAM_OK : LAM_E_NOMEM;
}

/* The first of a chain of siblings that is large enough to be shown. */
static uint32_t shown(const struct folded *folded, uint32_t node)
{
    while (node && folded->tree.nodes.items[node].depth > 1 &&
           folded->tree.nodes.items[node].total < folded->min_value)
        node = folded->tree.nodes.items[node].next;
    return node;
}

static int put_tree(struct folded *folded)
{
    const struct stack_tree_node *nodes = folded->tree.nodes.items;
    uint32_t node = nodes[0].first_child;
    folded->bytes = 0;
    strbuf_clear(&folded->line);
    array_clear(&folded->lengths);
    while (node) {
        bool goes_on;
        int rc = enter(folded, node);
        if (rc == LAM_OK)
            rc = put_node(folded, node, &goes_on);
        if (rc != LAM_OK)
            return rc;
        uint32_t next = goes_on ? shown(folded, nodes[node].first_child) : 0;
        while (!next && node) { /* up until there is a sibling */
            strbuf_truncate(&folded->line, array_pop(&folded->lengths));
            next = shown(folded, nodes[node].next);
            node = nodes[node].parent;
        }
        node = next;
    }
    return LAM_OK;
}

/* Raises the smallest value that is shown until all fits. */
static int fit(struct folded *folded, struct lam_error *err)
{
    uint64_t limit = folded->options.max_bytes;
    folded->is_counting = true;
    int rc = put_tree(folded);
    uint64_t total = folded->tree.nodes.items[0].total;
    if (rc == LAM_OK && limit && folded->bytes > limit)
        folded->min_value = total / 1000000 + 1;
    while (rc == LAM_OK && limit && folded->bytes > limit && folded->min_value <= total) {
        rc = put_tree(folded);
        if (folded->bytes > limit)
            folded->min_value += folded->min_value / 4 + 1;
    }
    if (rc == LAM_OK && limit && folded->bytes > limit)
        return lam_error_set(err, LAM_E_TOOBIG,
                             "folded: even with everything merged it takes %llu bytes",
                             (unsigned long long)folded->bytes);
    folded->is_counting = false;
    return rc;
}

int write_folded_finish(void *state, struct lam_error *err)
{
    struct folded *folded = state;
    int rc = stack_tree_add(&folded->tree, folded->totals, false);
    if (rc == LAM_OK)
        rc = stack_tree_finish(&folded->tree);
    if (rc == LAM_OK)
        rc = fit(folded, err);
    if (rc == LAM_OK)
        rc = put_tree(folded);
    if (rc < 0)
        return rc == LAM_E_TOOBIG ? rc : lam_error_set(err, rc, "folded: %s", lam_code_text(rc));
    if (folded->merged_stacks)
        export_note(&folded->options,
                    "%s stack%s below %s merged into \"(smaller)\", %.3g%% of the whole",
                    unit_count(folded->merged_stacks).text, unit_plural(folded->merged_stacks),
                    unit_seconds((double)folded->min_value / 1e9).text,
                    100.0 * (double)folded->merged_value / (double)folded->tree.nodes.items[0].total);
    if (folded->deep_stacks)
        export_note(&folded->options, "%s stack%s of more than %d names merged into \"%s\"",
                    unit_count(folded->deep_stacks).text, unit_plural(folded->deep_stacks),
                    FOLDED_DEPTH_MAX, deeper);
    return LAM_OK;
}

void write_folded_close(void **state)
{
    if (!state || !*state)
        return;
    struct folded *folded = *state;
    stack_totals_close(&folded->totals);
    stack_tree_free(&folded->tree);
    strbuf_free(&folded->line);
    array_free(&folded->lengths);
    mem_free(folded);
    *state = NULL;
}
