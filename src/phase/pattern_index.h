/* Many globs against many names: a trie over the literal beginnings of the globs, so that a name meets only the globs that
 * begin as it does. Globs that begin with a wildcard meet every name; marker files have few of them. */
#ifndef LAMELLA_PHASE_PATTERN_INDEX_H
#define LAMELLA_PHASE_PATTERN_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct pattern_node {
    uint32_t child;   /* first child, 0: none */
    uint32_t sibling; /* next child of the same parent, 0: none */
    uint32_t entries; /* first entry + 1 of the globs whose literal beginning ends here, 0: none */
    uint8_t byte;
};

struct pattern_entry {
    const char *glob; /* borrowed */
    uint32_t length;
    uint32_t value;
    uint32_t next; /* entry + 1, 0: none */
};

/* All-zero is empty and valid. One writer, or any number of readers. */
struct pattern_index {
    LAM_ARRAY(struct pattern_node) nodes; /* [0] is the root */
    LAM_ARRAY(struct pattern_entry) entries;
};

/* Adds a glob (base/glob.h) with a value; the text is borrowed until pattern_index_free(). LAM_OK or LAM_E_NOMEM. */
int pattern_index_add(struct pattern_index *index, const char *glob, size_t length, uint32_t value);

/* Called for each glob that matches, in no order. */
typedef void (*pattern_found_fn)(void *ctx, uint32_t value);

void pattern_index_find(const struct pattern_index *index, const char *name, size_t length,
                        pattern_found_fn found, void *ctx);

void pattern_index_free(struct pattern_index *index);

#endif
