#include "input/label_merge.h"

#include "base/error.h"

void label_merge_free(struct label_merge *merge)
{
    intern_free(&merge->labels);
    strbuf_free(&merge->key);
    *merge = (struct label_merge){0};
}

int label_merge_get(struct label_merge *merge, uint32_t kind, const char *text, size_t size,
                    uint32_t *out)
{
    strbuf_clear(&merge->key);
    strbuf_add_bytes(&merge->key, &kind, sizeof kind);
    strbuf_add_bytes(&merge->key, text, size);
    if (!strbuf_ok(&merge->key))
        return LAM_E_NOMEM;
    uint32_t before = intern_count(&merge->labels), id;
    int rc = intern_add(&merge->labels, merge->key.data, merge->key.length, &id);
    if (rc < 0)
        return rc;
    *out = id; /* the table's own 0 is the empty text, which no key is */
    if (id < before || !merge->sink->ops->label)
        return LAM_OK;
    struct profile_label label = {id, kind, {text, size}};
    return merge->sink->ops->label(merge->sink->ctx, &label);
}
