#include "analysis/label_arguments.h"

#include <string.h>

#include "base/error.h"

enum { SEPARATOR = 0x1e }; /* between arguments in a key: ", " may stand inside of one */

static void join(struct strbuf *out, const struct profile_interval *interval)
{
    strbuf_clear(out);
    for (size_t i = 0; i < interval->argc; i++) {
        if (i)
            strbuf_add_char(out, SEPARATOR);
        strbuf_add_bytes(out, interval->args[i].bytes, interval->args[i].size);
    }
}

static int make_row(struct label_arguments *arguments, uint32_t name, const struct strbuf *key)
{
    const char *text = arena_strndup(&arguments->text, strbuf_text(key), key->length);
    if (!text)
        return LAM_E_NOMEM;
    struct label_argument row = {.name = name, .text = text, .text_bytes = (uint32_t)key->length};
    return array_push(&arguments->rows, row);
}

static struct label_argument *find_row(struct label_arguments *arguments, uint32_t name,
                                       const struct strbuf *key)
{
    uint64_t hash = hash_bytes_seed(strbuf_text(key), key->length, name);
    for (;; hash++) { /* another key with the same hash takes the next one */
        bool added;
        uint64_t *slot = map_slot(&arguments->ids, hash, arguments->rows.count, &added);
        if (!slot || (added && make_row(arguments, name, key) < 0))
            return NULL;
        struct label_argument *row = &arguments->rows.items[*slot];
        if (row->name == name && row->text_bytes == key->length &&
            memcmp(row->text, strbuf_text(key), key->length) == 0)
            return row;
    }
}

int label_arguments_add(struct label_arguments *arguments, uint32_t name,
                        const struct profile_interval *interval, bool is_helper)
{
    join(&arguments->scratch, interval);
    if (!strbuf_ok(&arguments->scratch) || arguments->scratch.length > UINT32_MAX)
        return LAM_E_NOMEM;
    struct label_argument *row = find_row(arguments, name, &arguments->scratch);
    if (!row)
        return LAM_E_NOMEM;
    row->count += is_helper ? 0 : interval->weight;
    row->self_ns += interval->self_ns * interval->weight;
    if (!(interval->flags & PROFILE_INTERVAL_RECURSIVE))
        row->time_ns += interval->active_ns * interval->weight;
    if (interval->active_ns > row->max_ns)
        row->max_ns = interval->active_ns;
    return LAM_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const struct label_argument *left = a, *right = b;
    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    uint32_t least = left->text_bytes < right->text_bytes ? left->text_bytes : right->text_bytes;
    int order = memcmp(left->text, right->text, least);
    if (order != 0)
        return order;
    return left->text_bytes < right->text_bytes ? -1 : left->text_bytes > right->text_bytes;
}

void label_arguments_sort(struct label_arguments *arguments)
{
    array_sort(&arguments->rows, compare_rows);
    map_free(&arguments->ids); /* rows have moved */
}

void label_argument_text(const struct label_argument *row, struct strbuf *out)
{
    const char *text = row->text, *end = text + row->text_bytes;
    while (text < end) {
        const char *stop = memchr(text, SEPARATOR, (size_t)(end - text));
        strbuf_add_bytes(out, text, (size_t)((stop ? stop : end) - text));
        strbuf_add(out, stop ? ", " : "");
        text = stop ? stop + 1 : end;
    }
}

uint64_t label_arguments_bytes(const struct label_arguments *arguments)
{
    return arguments->text.used_bytes + arguments->rows.capacity * sizeof *arguments->rows.items;
}

void label_arguments_free(struct label_arguments *arguments)
{
    array_free(&arguments->rows);
    map_free(&arguments->ids);
    arena_free(&arguments->text);
    strbuf_free(&arguments->scratch);
}
