#include "analysis/label_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"

enum {
    SEPARATOR = 0x1e, /* between arguments in a key: ", " may stand inside of one */
    SLOTS_FIRST = 1024,
};

static void join(struct strbuf *out, const struct profile_interval *interval)
{
    strbuf_clear(out);
    for (size_t i = 0; i < interval->argc; i++) {
        if (i)
            strbuf_add_char(out, SEPARATOR);
        strbuf_add_bytes(out, interval->args[i].bytes, interval->args[i].size);
    }
}

static uint64_t hash_of(uint32_t name, uint32_t text)
{
    return hash_u64((uint64_t)name << 32 | text);
}

/* The slot of a row, or the free one where it belongs. */
static uint32_t *find_slot(const struct label_arguments *arguments, uint32_t name, uint32_t text)
{
    for (size_t at = hash_of(name, text) & arguments->mask;; at = (at + 1) & arguments->mask) {
        uint32_t *slot = &arguments->slots[at];
        if (!*slot)
            return slot;
        const struct label_argument *row = &arguments->rows.items[*slot - 1];
        if (row->name == name && row->text == text)
            return slot;
    }
}

static int grow_slots(struct label_arguments *arguments)
{
    size_t count = SLOTS_FIRST;
    while (arguments->rows.count >= count / 2) /* also after a sorting, which leaves none */
        count *= 2;
    uint32_t *grown = mem_zalloc(count, sizeof *grown);
    if (!grown)
        return LAM_E_NOMEM;
    mem_free(arguments->slots);
    arguments->slots = grown;
    arguments->mask = count - 1;
    for (size_t i = 0; i < arguments->rows.count; i++) {
        const struct label_argument *row = &arguments->rows.items[i];
        *find_slot(arguments, row->name, row->text) = (uint32_t)i + 1;
    }
    return LAM_OK;
}

static int find_row(struct label_arguments *arguments, uint32_t name, const struct strbuf *key,
                    struct label_argument **out)
{
    uint32_t text;
    int rc = intern_add(&arguments->texts, strbuf_text(key), key->length, &text);
    if (rc >= 0 && arguments->rows.count >= UINT32_MAX - 1)
        rc = LAM_E_FULL;
    if (rc >= 0 && (!arguments->slots || arguments->rows.count > arguments->mask / 4 * 3))
        rc = grow_slots(arguments);
    if (rc < 0)
        return rc;
    uint32_t *slot = find_slot(arguments, name, text);
    if (!*slot) {
        struct label_argument fresh = {.name = name, .text = text};
        if (array_push(&arguments->rows, fresh) < 0)
            return LAM_E_NOMEM;
        *slot = (uint32_t)arguments->rows.count;
    }
    *out = &arguments->rows.items[*slot - 1];
    return LAM_OK;
}

int label_arguments_add(struct label_arguments *arguments, uint32_t name,
                        const struct profile_interval *interval, bool is_helper)
{
    join(&arguments->scratch, interval);
    if (!strbuf_ok(&arguments->scratch) || arguments->scratch.length > UINT32_MAX)
        return LAM_E_NOMEM;
    struct label_argument *row;
    int rc = find_row(arguments, name, &arguments->scratch, &row);
    if (rc < 0)
        return rc;
    row->count += is_helper ? 0 : interval->weight;
    row->self_ns += interval->self_ns * interval->weight;
    if (!(interval->flags & PROFILE_INTERVAL_RECURSIVE))
        row->time_ns += interval->active_ns * interval->weight;
    if (interval->active_ns > row->max_ns)
        row->max_ns = interval->active_ns;
    return LAM_OK;
}

static int compare_rows(const void *a, const void *b, void *texts)
{
    const struct label_argument *left = a, *right = b;
    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    size_t left_bytes, right_bytes;
    const char *left_text = intern_text(texts, left->text, &left_bytes),
               *right_text = intern_text(texts, right->text, &right_bytes);
    int order = memcmp(left_text, right_text, left_bytes < right_bytes ? left_bytes : right_bytes);
    if (order != 0)
        return order;
    return left_bytes < right_bytes ? -1 : left_bytes > right_bytes;
}

void label_arguments_sort(struct label_arguments *arguments)
{
    mem_free(arguments->slots); /* rows move */
    arguments->slots = NULL;
    if (arguments->rows.count > 1)
        qsort_r(arguments->rows.items, arguments->rows.count, sizeof *arguments->rows.items,
                compare_rows, &arguments->texts);
}

bool label_argument_has_text(const struct label_arguments *arguments, const struct label_argument *row)
{
    size_t size;
    (void)intern_text(&arguments->texts, row->text, &size);
    return size > 0;
}

void label_argument_text(const struct label_arguments *arguments, const struct label_argument *row,
                         struct strbuf *out)
{
    size_t size;
    const char *text = intern_text(&arguments->texts, row->text, &size), *end = text + size;
    while (text < end) {
        const char *stop = memchr(text, SEPARATOR, (size_t)(end - text));
        strbuf_add_bytes(out, text, (size_t)((stop ? stop : end) - text));
        strbuf_add(out, stop ? ", " : "");
        text = stop ? stop + 1 : end;
    }
}

uint64_t label_arguments_bytes(const struct label_arguments *arguments)
{
    return intern_bytes(&arguments->texts) + arguments->rows.capacity * sizeof *arguments->rows.items;
}

void label_arguments_free(struct label_arguments *arguments)
{
    array_free(&arguments->rows);
    mem_free(arguments->slots);
    arguments->slots = NULL;
    intern_free(&arguments->texts);
    strbuf_free(&arguments->scratch);
}
