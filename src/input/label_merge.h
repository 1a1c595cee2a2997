/* Labels and kinds of all processes of a push, each told to the sink once. */
#ifndef LAMELLA_INPUT_LABEL_MERGE_H
#define LAMELLA_INPUT_LABEL_MERGE_H

#include "base/intern.h"
#include "base/strbuf.h"
#include "profile/sink.h"

struct label_merge {
    const struct profile_sink *sink;
    struct intern labels; /* the kind's id and the text; the number is the sink's id */
    struct strbuf key;
};

void label_merge_free(struct label_merge *merge);

/* The largest id that was given; 0: none. */
static inline uint32_t label_merge_last(const struct label_merge *merge)
{
    uint32_t count = intern_count(&merge->labels);
    return count ? count - 1 : 0;
}

/* The sink's id of a text within a kind (0: the text is a kind's own name), told before it returns. LAM_OK, LAM_E_NOMEM,
 * LAM_E_FULL or the sink's code. */
int label_merge_get(struct label_merge *merge, uint32_t kind, const char *text, size_t size,
                    uint32_t *out);

#endif
